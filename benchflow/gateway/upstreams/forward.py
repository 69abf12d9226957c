"""The upstream `forward`: sends requests on to a provider, byte for byte. Real keys are put in here, nowhere else."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from benchflow.gateway.changing import answer_error, replace_credentials, strip_hop_headers
from benchflow.gateway.http.client import PATIENCE, HttpClient, Patience
from benchflow.gateway.message import RawRequest, RawResponse
from benchflow.gateway.upstream import TrialContext

_VERSION = re.compile(r"v\d\w*")


@dataclass(frozen=True, kw_only=True)
class Target:
    """A provider to send requests to."""

    name: str
    base_urls: Mapping[str, str]
    """By dialect."""
    key: str | None = None
    priced_as: str | None = None
    proxy: str | None = None
    """URL of the HTTP proxy on the way there."""
    patience: Patience = PATIENCE


class Forward:
    """Sends requests to one provider over kept connections."""

    def __init__(self, target: Target) -> None:
        self.name = target.name
        self.priced_as = target.priced_as
        self._target = target
        self._client = HttpClient(proxy=target.proxy, patience=target.patience)

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Send the request on; return as soon as the response's head is there. Raises UpstreamCut."""
        dialect, route = context.dialect, context.route
        if dialect is None or route is None or dialect.name not in self._target.base_urls:
            spoken = ", ".join(self._target.base_urls)
            return answer_error(404, f"{self.name} speaks {spoken}; not {request.method} {request.path}")
        outgoing = replace_credentials(strip_hop_headers(request), dialect, self._target.key)
        query = f"?{outgoing.query}" if outgoing.query else ""
        url = address(self._target.base_urls[dialect.name], route.tail) + query
        head, body = await self._client.send(
            outgoing.method, url, outgoing.headers, outgoing.long or outgoing.body, lambda: context.on_sent(outgoing)
        )
        return RawResponse(status=head.status, reason=head.reason, headers=head.headers, chunks=body)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def address(base_url: str, tail: str) -> str:
    """Join a provider's base URL and what follows it. A version that ends the one and begins the other stands once."""
    base = base_url.rstrip("/")
    version = tail.split("/", 2)[1]
    if _VERSION.fullmatch(version):
        base = base.removesuffix(f"/{version}")
    return base + tail
