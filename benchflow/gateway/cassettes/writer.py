"""Writes the file of a cassette: take by take while a run goes on, and in its lasting order at the end."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import orjson

from benchflow.contracts import CostBreakdown
from benchflow.errors import InputError
from benchflow.gateway.altered import altered
from benchflow.gateway.cassettes.cassette import FIRST, ROLES, VERSION, Answer, Head, Take, read_cassette
from benchflow.gateway.cassettes.delta import change, fold
from benchflow.log import LogFile, refused
from benchflow.redact import Redactor

BASES = 4
"""How many of the requests before are looked at for the one that a request is most like."""
_END = b"\n\n"


@dataclass
class Bases:
    """The requests of one role in one try that may be built upon, by their index: the last few."""

    bodies: dict[int | str, Any] = field(default_factory=dict)

    def add(self, index: int, body: Any) -> None:
        """Take the next request."""
        self.bodies[index] = body
        if len(self.bodies) > BASES:
            del self.bodies[next(iter(self.bodies))]


@dataclass
class _First:
    """The first main request of a file, upon which all others may be built."""

    body: Any = None
    known: bool = False

    def offer(self, take: Take) -> None:
        """Take it, if it is the first."""
        if take.role == "main" and not self.known:
            self.body, self.known = take.request["body"], True


class CassetteFile:
    """A cassette under way. Whoever opens it finishes it."""

    def __init__(self, path: Path, head: Head, redactor: Redactor) -> None:
        refuse_existing(path)
        self.path = path
        self._takes = 0
        self._first = _First()
        self._log = LogFile(path, redactor)
        self._log.write(write_head(head) + _END)

    def write(self, take: Take, bases: Bases) -> None:
        """Append a take. Raises InputError where that cannot be written."""
        self._log.write(write_take(take, bases, self._first) + _END)
        self._takes += 1

    def finish(self) -> None:
        """Put the takes into an order that does not depend on when each ended. Without any there is no file."""
        self._log.close()
        try:
            if not self._takes:
                self.path.unlink(missing_ok=True)
                return
            draft = self.path.with_name(self.path.name + ".draft")
            with draft.open("wb") as file:
                for number, part in enumerate(_sorted(self.path)):
                    file.write((b"\n" if number else b"") + part + b"\n")
            os.replace(draft, self.path)
        except OSError as exc:
            raise refused(self.path, exc) from exc


def refuse_existing(path: Path) -> None:
    """Raise InputError where there is a file already: a recording may have cost money."""
    if path.exists():
        raise InputError(f"--record {path}: is there already; replay it with --replay, or delete it to record anew")


def _sorted(path: Path) -> Iterator[bytes]:
    """Write a cassette anew, ordered by scenario, iteration, try, role and arrival, and numbered without gaps."""
    cassette = read_cassette(path)
    yield write_head(cassette.head)
    first = _First()
    for trial in sorted(cassette.records, key=lambda trial: (trial.scenario, trial.iteration, trial.attempt)):
        takes = sorted(cassette.expand(cassette.records[trial]), key=lambda take: (ROLES.index(take.role), take.index))
        for _, same in groupby(takes, key=lambda take: take.role):
            yield from _numbered(same, first)


def _numbered(takes: Iterable[Take], first: _First) -> Iterator[bytes]:
    bases = Bases()
    for index, take in enumerate(takes):
        yield write_take(altered(take, index=index), bases, first)


def write_head(head: Head) -> bytes:
    """Write what a file begins with."""
    return _json({"cassette": VERSION, **asdict(head)})


def write_take(take: Take, bases: Bases, first: _First) -> bytes:
    """Write a take by what is new in it, and add it to the bases."""
    trial, body = take.trial, take.request["body"]
    fields = {
        "scenario": trial.scenario,
        "iteration": trial.iteration,
        "try": trial.attempt,
        "role": take.role,
        "index": take.index,
        "prompt": take.prompt,
        "request": {"call": take.request["call"], **_shortest(body, bases, first)},
        "says": fold(take.says),
        "response": _stored(take.answer),
    }
    bases.add(take.index, body)
    first.offer(take)
    return _json({name: value for name, value in fields.items() if name != "says" or value})


def _shortest(body: Any, bases: Bases, first: _First) -> dict[str, Any]:
    """Write a body whole, or beside the one before that it is most like."""
    forms: list[dict[str, Any]] = [{"body": fold(body)}]
    before = bases.bodies or ({FIRST: first.body} if first.known else {})
    forms += [{"after": name, "body": fold(change(base, body))} for name, base in reversed(before.items())]
    return min(forms, key=lambda form: len(orjson.dumps(form)))


def _stored(answer: Answer) -> Mapping[str, Any]:
    """Write an answer without what is as usual."""
    usual = Answer()
    stored = {
        "status": answer.status,
        **{name: value for name, value in vars(answer).items() if value != getattr(usual, name)},
        "headers": [f"{name}: {value}" for name, value in answer.headers],
        **({"cost": _known(answer.cost)} if answer.cost else {}),
    }
    return {**stored, "chunks": stored.pop("chunks")} if "chunks" in stored else stored


def _known(cost: CostBreakdown) -> dict[str, Any]:
    return {name: value for name, value in asdict(cost).items() if value is not None or name == "total_usd"}


def _json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_INDENT_2)
