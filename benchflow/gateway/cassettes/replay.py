"""`--replay`: the upstream that answers from a cassette. It needs no key, no network and no model.

What was not recorded fails the trial, with the difference from the nearest recording. What an agent asks beside its
work varies from run to run: there a fixed answer stands in for what is missing.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from benchflow.errors import InputError
from benchflow.gateway.altered import altered
from benchflow.gateway.cassettes.cassette import Answer, Cassette, Take, digest
from benchflow.gateway.cassettes.request import neutral_request, places_of
from benchflow.gateway.cassettes.streams import unpack
from benchflow.gateway.changing import answer_error
from benchflow.gateway.differing import Difference, differences
from benchflow.gateway.message import Change, Chunks, RawRequest, RawResponse, UpstreamCut
from benchflow.gateway.places import word
from benchflow.gateway.prices import NOTHING_BOUGHT
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.playing import Played, answer_aside, play
from benchflow.redact import Redactor

SHOWN = 8
"""Differences of a miss that are shown."""
ASIDE = Change(kind="replay", path="response", before=None, after="a fixed answer: nothing was recorded")
_MEMORY = "cassette replay"


@dataclass
class _Tape:
    """The takes of one try, and how far each request was played."""

    takes: Sequence[Take]
    played: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    misses: int = 0

    def next(self, key: tuple[Any, ...]) -> Take | None:
        """Return the next take of the key, in recorded order."""
        same = [take for take in self.takes if _key(take) == key]
        number = self.played[key]
        self.played[key] += 1
        return same[number] if number < len(same) else None


def _key(take: Take) -> tuple[Any, ...]:
    return (take.role, take.prompt, take.digest)


class Replay:
    """Answers as a cassette has it."""

    priced_as: str | None = None

    def __init__(self, cassette: Cassette, redactor: Redactor | None = None) -> None:
        self.name = f"cassette:{cassette.path.name}"
        self.misses: list[str] = []
        """What was asked and not recorded, one text a trial that failed for it."""
        self._cassette = cassette
        self._redactor = redactor or Redactor([])

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Answer the request. Raises UpstreamCut where that was recorded."""
        try:
            tape = self._tape(context)
            asked = neutral_request(request, context, self._redactor.fresh())
            take = tape.next((context.role, context.prompt, digest(asked)))
        except InputError as exc:
            return self._fail(request, context, str(exc))
        if take and take.answer.withheld is None:
            return _play(request, context, take.answer)
        if context.role == "auxiliary":
            aside = play(altered(request, changes=(*request.changes, ASIDE)), context, _aside)
            return altered(aside, cost=NOTHING_BOUGHT)
        if take:
            return self._fail(request, context, f"{self.name}: its answer was not recorded: {take.answer.withheld}")
        tape.misses += 1
        reason = self._explain(tape, context, asked)
        if tape.misses == 1:
            self.misses.append(f"{context.scenario_id} #{context.iteration + 1}: {reason}")
        return self._fail(request, context, reason)

    def _tape(self, context: TrialContext) -> _Tape:
        if _MEMORY not in context.memory:
            takes = self._cassette.takes(context.scenario_id, context.iteration, context.attempt)
            context.memory[_MEMORY] = _Tape(takes)
        return context.memory[_MEMORY]

    def _fail(self, request: RawRequest, context: TrialContext, reason: str) -> RawResponse:
        """Refuse in a way that no agent tries again, and say that the trial cannot be played."""
        context.on_sent(request)
        refused = context.dialect.refuse(request, 400, reason) if context.dialect else answer_error(400, reason)
        return altered(refused, unplayable=reason)

    def _explain(self, tape: _Tape, context: TrialContext, asked: dict[str, Any]) -> str:
        """Say what was asked that was not recorded, and in what it differs from the nearest that was."""
        number = sum(count for key, count in tape.played.items() if key[0] == context.role)
        what = f"{self.name} has no recording of {context.role} request {number}"
        nearest = _nearest([take for take in tape.takes if take.role == context.role], asked, number - 1)
        if nearest is None:
            return f"{what}, nor of any other of its kind in this trial"
        take, found = nearest
        if not found:
            return (
                f"{what}: it equals recorded request {take.index + 1}, which was asked less often, or by another prompt"
            )
        lines = [line for difference in found[:SHOWN] for line in difference.lines()]
        more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
        return "\n  ".join([f"{what}; it differs from recorded request {take.index + 1} in", *lines, *more])

    async def aclose(self) -> None:
        """Nothing is held."""


def _aside(parsed: Any, context: TrialContext) -> Played:
    return Played(answer=answer_aside(parsed))


def _nearest(takes: Sequence[Take], asked: dict[str, Any], place: int) -> tuple[Take, list[Difference]] | None:
    """Find the recorded request that differs least; of equally near ones that at the same place in the order."""
    found = [(take, list(differences(take.request, asked))) for take in takes]
    return min(found, key=lambda pair: (len(pair[1]), abs(pair[0].index - place)), default=None)


def _play(request: RawRequest, context: TrialContext, answer: Answer) -> RawResponse:
    places = places_of(context)
    chunks, used = unpack(answer.chunks, places)
    changes = [
        Change(kind="replay", path="response.body", before=word(name), after=places.by_name.get(name)) for name in used
    ]
    if answer.coding:
        path = "response.header.content-encoding"
        changes.append(Change(kind="replay", path=path, before=answer.coding, after=None))
    context.on_sent(altered(request, changes=(*request.changes, *changes)) if changes else request)
    if answer.status is None:
        raise UpstreamCut(answer.cut or "no response was recorded")
    is_stream = any(name.lower() == "content-type" and "event-stream" in value for name, value in answer.headers)
    length = () if is_stream or answer.cut else (("Content-Length", str(sum(map(len, chunks)))),)
    return RawResponse(
        status=answer.status,
        reason=answer.reason or _phrase(answer.status),
        headers=(*answer.headers, *length),
        chunks=_Cut(chunks, answer.cut) if answer.cut else Chunks(chunks),
        origin=answer.origin,
        unplayable=answer.unplayable,
        cost=answer.cost,
    )


class _Cut(Chunks):
    """Chunks after which the upstream broke off."""

    def __init__(self, chunks: Sequence[bytes], reason: str) -> None:
        super().__init__(chunks)
        self._reason = reason

    async def __anext__(self) -> bytes:
        try:
            return await super().__anext__()
        except StopAsyncIteration:
            raise UpstreamCut(self._reason) from None


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
