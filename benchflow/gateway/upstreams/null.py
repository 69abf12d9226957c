"""The upstream `null`: a model that talks and does nothing. No scenario may be passed with it."""

from benchflow.gateway.message import ModelAnswer, ModelRequest, RawRequest, RawResponse
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.playing import Played, play

TEXT = "There is nothing that this model can do."


class Null:
    """Answers every main request with the same text."""

    name = "null"
    priced_as: str | None = None

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Answer the request."""
        return play(request, context, _nothing)

    async def aclose(self) -> None:
        """Nothing is held."""


def _nothing(request: ModelRequest, context: TrialContext) -> Played:
    return Played(answer=ModelAnswer(text=TEXT))
