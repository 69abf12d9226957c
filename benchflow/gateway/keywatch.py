"""Watches whether the upstream takes the key: a run whose key is refused need not go on."""

from benchflow.gateway.message import RawRequest, RawResponse
from benchflow.gateway.upstream import TrialContext, Upstream

REFUSALS = 2
"""How many refusals, with none accepted in between, are no accident."""


class KeyWatch:
    """An upstream of which it is known whether it refuses the key."""

    def __init__(self, upstream: Upstream) -> None:
        self.name = upstream.name
        self.priced_as = upstream.priced_as
        self._upstream = upstream
        self._refusals = 0

    @property
    def refused(self) -> bool:
        """Whether the key was refused, with a 401, in the last requests that it was judged in."""
        return self._refusals >= REFUSALS

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Send the request on."""
        response = await self._upstream.send(request, context)
        if response.status == 401:
            self._refusals += 1
        elif response.status < 500 and response.origin == "upstream":
            self._refusals = 0
        return response

    async def aclose(self) -> None:
        """Close what is behind it."""
        await self._upstream.aclose()
