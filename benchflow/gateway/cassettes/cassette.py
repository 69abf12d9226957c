"""The file of a cassette: what a run's models were asked and what they answered, to be played again. No behaviour.

The file is a head and one record an exchange, each a JSON object over several lines, with a blank line between them:
a change shows line by line, and a file that was cut in mid-write can be read up to there. A request is stored by what
is new in it beside an earlier one of its trial.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from benchflow.contracts import CostBreakdown
from benchflow.errors import InputError
from benchflow.gateway.cassettes.delta import changed, unfold
from benchflow.gateway.cassettes.streams import Chunk
from benchflow.gateway.message import Headers, Origin, Role

VERSION = 1
ROLES: tuple[Role, ...] = ("main", "subagent", "auxiliary")
"""In the order of the file."""


@dataclass(frozen=True, kw_only=True)
class Head:
    """What was recorded."""

    agent: str
    agent_version: str | None
    upstream: str
    """Its label, as rows have it."""
    model: str
    provider: str
    """What stood before the model's name, for agents that want something there."""
    scenarios: Mapping[str, str]
    """Id → digest."""
    benchflow: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A recorded response."""

    status: int | None = None
    """None: no response came."""
    reason: str = ""
    headers: Headers = ()
    """Without those of the connection; a body in a coding is stored decoded."""
    coding: str | None = None
    """The coding that the body came in."""
    chunks: Sequence[Chunk] = ()
    cut: str | None = None
    """Why it broke off, or why none came; None: it did not break off."""
    origin: Origin = "upstream"
    unplayable: str | None = None
    withheld: str | None = None
    """Why the body is not here."""
    cost: CostBreakdown | None = None


FIRST = "first"
"""Names, in a record, the first main request of the file as what it is built upon."""


@dataclass(frozen=True)
class TrialId:
    """A try of a trial, as a cassette tells them apart."""

    scenario: str
    iteration: int
    attempt: int


@dataclass(frozen=True, kw_only=True)
class Take:
    """One recorded exchange."""

    trial: TrialId
    role: Role
    index: int
    """Order among those of its role in the try, from 0."""
    prompt: int | None
    """Index of the last prompt that had been sent; None: there was none yet."""
    request: Mapping[str, Any]
    """`call`, the method and path, and `body`, both after the neutral rules."""
    answer: Answer
    says: Mapping[str, Any] = field(default_factory=dict)
    """What the answer says, for readers alone."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the neutral request."""
        return digest(self.request)


def digest(request: Mapping[str, Any]) -> str:
    """Return what is the same for equal neutral requests."""
    return sha256(orjson.dumps(request, option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Record:
    """A take as it stands in the file."""

    place: str
    """File and line, for messages."""
    trial: TrialId
    role: Role
    index: int
    fields: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Cassette:
    """A file that was read. The takes of a trial are made when they are asked for."""

    path: Path
    head: Head
    records: Mapping[TrialId, Sequence[Record]]
    first: Record | None
    """The first main request of the file; None: it has none."""

    @property
    def label(self) -> str:
        """How rows name it as their upstream, with the one that it was recorded from."""
        return f"cassette:{self.path.name} of {self.head.upstream}"

    def iterations(self, scenario: str) -> int:
        """Return how many iterations of the scenario there are."""
        return max((trial.iteration + 1 for trial in self.records if trial.scenario == scenario), default=0)

    def takes(self, scenario: str, iteration: int, attempt: int) -> list[Take]:
        """Return what was recorded of a try, or of the last one before it. Raises InputError."""
        tries = [trial.attempt for trial in self.records if (trial.scenario, trial.iteration) == (scenario, iteration)]
        known = [number for number in tries if number <= attempt] or tries
        if not known:
            return []
        return list(self.expand(self.records[TrialId(scenario, iteration, max(known))]))

    def expand(self, records: Sequence[Record]) -> Iterator[Take]:
        """Make the takes of one try, in the file's order. Raises InputError."""
        yield from _expand(records, self._first)

    @cached_property
    def _first(self) -> Any:
        return unfold(self.first.fields["request"]["body"]) if self.first else None


def _expand(records: Sequence[Record], first: Any) -> Iterator[Take]:
    bodies: dict[tuple[Role, int | str], Any] = {(role, FIRST): first for role in ROLES}
    for record in records:
        fields, request = record.fields, record.fields["request"]
        try:
            body = unfold(request["body"])
            if "after" in request:
                body = changed(bodies[record.role, request["after"]], body)
            bodies[record.role, record.index] = body
            yield Take(
                trial=record.trial,
                role=record.role,
                index=record.index,
                prompt=fields["prompt"],
                request={"call": request["call"], "body": body},
                answer=_answer(fields["response"]),
                says=unfold(fields.get("says", {})),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise InputError(f"{record.place}: this take cannot be read ({exc!r}); restore the file") from exc


def _answer(stored: Mapping[str, Any]) -> Answer:
    cost = stored.get("cost")
    headers = tuple((name, value) for name, _, value in (line.partition(": ") for line in stored.get("headers", ())))
    return Answer(**{**stored, "headers": headers, "cost": CostBreakdown(**cost) if cost else None})


def read_cassette(path: Path) -> Cassette:
    """Read a cassette. What was cut in mid-write at its end is left out. Raises InputError."""
    try:
        content = path.read_bytes().replace(b"\r\n", b"\n")
    except OSError as exc:
        raise InputError(f"{path}: cannot be read ({exc.strerror}); record it with --record {path}") from exc
    head: Head | None = None
    records: dict[TrialId, list[Record]] = {}
    first: Record | None = None
    for line, text in _parts(content):
        place = f"{path}: line {line}"
        try:
            fields = orjson.loads(text)
        except ValueError as exc:
            if head and content.endswith(text) and not text.rstrip().endswith(b"\n}"):
                break  # the writer was killed here
            raise InputError(f"{place}: no JSON object ({exc}); restore the file, or record it anew") from exc
        if head is None:
            head = _read_head(place, fields)
            continue
        record = _read_record(place, fields)
        records.setdefault(record.trial, []).append(record)
        first = first or (record if record.role == "main" else None)
    if head is None:
        raise InputError(f"{path}: is empty; delete it and record it anew with --record {path}")
    return Cassette(path=path, head=head, records=records, first=first)


def _parts(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield each object's text, and the number of its first line."""
    line = 1
    for part in content.split(b"\n\n"):
        text = part.lstrip(b"\n")
        if text.strip():
            yield line + len(part) - len(text), text
        line += part.count(b"\n") + 2


def _read_head(place: str, fields: Any) -> Head:
    version = fields.get("cassette") if isinstance(fields, dict) else None
    if not isinstance(version, int):
        raise InputError(f"{place}: is no head of a cassette: its key `cassette` is missing; name a recorded file")
    if version > VERSION:
        raise InputError(f"{place}: `cassette` is {version}; this BenchFlow reads up to {VERSION}: upgrade it")
    known = {name: fields[name] for name in Head.__annotations__ if name in fields}
    _check_keys(place, fields, ("agent", "upstream", "model", "provider", "benchflow"), str)
    _check_keys(place, fields, ("scenarios",), dict)
    return Head(**{"agent_version": None, **known})


def _read_record(place: str, fields: Any) -> Record:
    if not isinstance(fields, dict):
        raise InputError(f"{place}: no JSON object; restore the file, or record it anew")
    _check_keys(place, fields, ("scenario", "role"), str)
    _check_keys(place, fields, ("iteration", "try", "index"), int)
    _check_keys(place, fields, ("request", "response"), dict)
    if fields["role"] not in ROLES:
        raise InputError(f"{place}: `role` is {fields['role']!r}; it is one of {', '.join(ROLES)}")
    if "prompt" not in fields:
        raise InputError(f"{place}: `prompt` is missing; restore the file, or record it anew")
    for key in ("call", "body"):
        if key not in fields["request"]:
            raise InputError(f"{place}: `request.{key}` is missing; restore the file, or record it anew")
    return Record(
        place=place,
        trial=TrialId(fields["scenario"], fields["iteration"], fields["try"]),
        role=fields["role"],
        index=fields["index"],
        fields=fields,
    )


def _check_keys(place: str, fields: Mapping[str, Any], keys: Sequence[str], kind: type) -> None:
    for key in keys:
        if not isinstance(fields.get(key), kind):
            what = "has a value of another kind" if key in fields else "is missing"
            raise InputError(f"{place}: `{key}` {what}; restore the file, or record it anew")
