"""Watches whether the upstream takes the key: a run whose key is refused need not go on."""

from collections.abc import Callable

from benchflow.gateway.message import RawRequest, RawResponse
from benchflow.gateway.upstream import TrialContext, Upstream

REFUSALS = 2
"""How many refusals, with nothing accepted in between, are no accident."""


class KeyWatch:
    """An upstream of which it is known whether it refuses the key."""

    def __init__(self, upstream: Upstream, on_refused: Callable[[str], None] | None = None) -> None:
        self.name = upstream.name
        self.priced_as = upstream.priced_as
        self.refusal: str | None = None
        """That the key was refused, and what to do; once it is said it stays. None: it was not."""
        self._upstream = upstream
        self._on_refused = on_refused
        self._refusals = 0

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Send the request on."""
        response = await self._upstream.send(request, context)
        if response.origin == "upstream":
            self._judge(response.status)
        return response

    def _judge(self, status: int) -> None:
        if status == 401:
            self._refusals += 1
        elif status < 500:
            self._refusals = 0
        if self._refusals == REFUSALS and not self.refusal:
            from benchflow.gateway.upstreams.providers import key_variable

            self.refusal = (
                f"{self.name} refused the key (401) in {REFUSALS} requests, and took it in none between them; "
                f"check {key_variable(self.name)}"
            )
            if self._on_refused:
                self._on_refused(self.refusal)

    async def aclose(self) -> None:
        """Close what is behind it."""
        await self._upstream.aclose()
