"""Records what goes by: wraps an upstream, watches beside the stream, and changes nothing."""

from typing import Self

from benchflow.gateway.altered import altered
from benchflow.gateway.changing import answer_error
from benchflow.gateway.message import Body, End, RawRequest, RawResponse, UpstreamCut
from benchflow.gateway.records.ledger import Ledger
from benchflow.gateway.records.pending import Pending
from benchflow.gateway.upstream import TrialContext, Upstream


class Recording:
    """An upstream whose every exchange is entered in a trial's ledger, once, however it ends."""

    def __init__(self, upstream: Upstream, ledger: Ledger) -> None:
        self.name = upstream.name
        self.priced_as = upstream.priced_as
        self._upstream = upstream
        self._ledger = ledger

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Send the request on and watch its response. Nothing passes once it could not be recorded."""
        if self._ledger.broken:
            return self._unrecorded()
        pending = self._ledger.begin(request, context)

        def on_sent(sent: RawRequest) -> None:
            pending.sent = sent

        context = altered(
            context, role=pending.begun.role, prompt=self._ledger.prompt, handling=pending.handling, on_sent=on_sent
        )
        try:
            if request.long and not await self._ledger.store_long(pending):
                self._ledger.finish(pending, "refused")
                return self._unrecorded()
            response = await self._upstream.send(request, context)
        except UpstreamCut as cut:
            pending.error = str(cut)
            self._ledger.finish(pending, "upstream_cut")
            return self._unreachable(request, context, pending.error)
        except BaseException:
            self._ledger.finish(pending, "client_gone")
            raise
        if response.unplayable:
            self._ledger.unplayable(response.unplayable)
        self._ledger.answered(pending, response)
        return altered(response, chunks=_Watched(response.chunks, pending, self._ledger))

    def _unrecorded(self) -> RawResponse:
        return answer_error(503, f"this trial's model calls cannot be recorded: {self._ledger.broken}")

    def _unreachable(self, request: RawRequest, context: TrialContext, reason: str) -> RawResponse:
        message = f"the upstream {self.name} did not answer: {reason}"
        return context.dialect.refuse(request, 502, message) if context.dialect else answer_error(502, message)

    async def aclose(self) -> None:
        """Close what is behind it."""
        await self._upstream.aclose()


class _Watched:
    """A body whose chunks are kept as they pass. The exchange is entered when it is closed."""

    def __init__(self, body: Body, pending: Pending, ledger: Ledger) -> None:
        self._body = body
        self._pending = pending
        self._ledger = ledger
        self._end: End = "client_gone"
        self._entered = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        try:
            chunk = await self._body.__anext__()
        except StopAsyncIteration:
            self._end = "complete"
            raise
        except UpstreamCut as cut:
            self._end = "upstream_cut"
            self._pending.error = str(cut)
            raise
        self._ledger.passed(self._pending, chunk)
        return chunk

    async def aclose(self) -> None:
        """Enter the exchange, and let go of the sender."""
        try:
            if not self._entered:
                self._entered = True
                self._ledger.finish(self._pending, self._end)
        finally:
            await self._body.aclose()
