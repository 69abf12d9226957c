"""The upstream of a probe: plays the scenario's solution, or whatever else a step wants of a model."""

from typing import Literal

import anyio

from benchflow.gateway.altered import altered
from benchflow.gateway.changing import answer_error
from benchflow.gateway.message import ModelAnswer, RawRequest, RawResponse
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.oracle import Oracle
from benchflow.gateway.upstreams.playing import Played, play
from benchflow.scenario import Solution

Part = Literal["play", "talk", "hold", "refuse"]
"""play: the solution. talk: a word. hold: nothing, until it is released. refuse: 401, as for an unknown key."""

WORD = "Done."


class ProbeUpstream:
    """Plays one part at a time. Its state is the probe's, which sets it between prompts."""

    name = "probe"
    priced_as: str | None = None

    def __init__(self, solution: Solution) -> None:
        self.solution = solution
        """What `play` plays from now on."""
        self.part: Part = "play"
        self.refused = 0
        """Requests that were refused."""
        self.holding = anyio.Event()
        """Set when a main request is held."""
        self._release = anyio.Event()
        self._oracle = Oracle()

    def take(self, part: Part) -> None:
        """Play this part from now on; what is held is released."""
        self._release.set()
        self.part, self.refused = part, 0
        self.holding, self._release = anyio.Event(), anyio.Event()

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Answer the request."""
        if context.route is None or context.route.kind != "generate":
            return play(request, context, _say)
        if self.part == "refuse":
            return self._refuse(request, context)
        if self.part == "hold" and context.role == "main":
            release = self._release
            self.holding.set()
            await release.wait()
            return play(request, context, _say)
        if self.part == "play":
            return await self._oracle.send(request, altered(context, solution=self.solution))
        return play(request, context, _say)

    def _refuse(self, request: RawRequest, context: TrialContext) -> RawResponse:
        self.refused += 1
        context.on_sent(request)
        message = "the key is not known"
        refusal = context.dialect.refuse(request, 401, message) if context.dialect else answer_error(401, message)
        return altered(refusal, origin="upstream")

    async def aclose(self) -> None:
        """Nothing is held."""


def _say(*_: object) -> Played:
    return Played(answer=ModelAnswer(text=WORD))
