"""Reads a judge's verdict from its answer, strictly: one JSON object that fits the rubric, or no verdict. Pure."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchflow.judging.rubrics import HIGHEST, LOWEST, Value
from benchflow.scenario_file import Criterion, Rubric

RATIONALE_KEPT = 2_000
"""Characters of a rationale that are kept."""
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n```", re.DOTALL)
_KEYS = frozenset({"rationale", "verdict"})


@dataclass(frozen=True, kw_only=True)
class Opinion:
    """What a judge said, once, of one criterion."""

    value: Value
    rationale: str


Verdict = Mapping[str, Opinion]
"""What a judge said, once, of every criterion of a rubric, by its id."""


class NoVerdict(ValueError):
    """The answer is no verdict. The message says why, without a word of the answer: an agent may have put it there."""


def read_verdict(text: str, rubric: Rubric) -> Verdict:
    """Read an answer that is one JSON object and nothing else, but for one code fence around all of it.

    `{"<criterion>": {"rationale": "...", "verdict": ...}, ...}` must have every criterion of the rubric, each with a
    verdict of its kind, and nothing more. Raises NoVerdict.
    """
    stripped = text.strip()
    fenced = _FENCED.fullmatch(stripped)
    given = _parse(fenced[1] if fenced else stripped)
    if not isinstance(given, dict):
        raise NoVerdict("the answer is JSON, but no object")
    wanted = {criterion.id for criterion in rubric.criteria}
    if missing := sorted(wanted - given.keys()):
        raise NoVerdict(f"there is no verdict on {', '.join(missing)}")
    if more := len(given.keys() - wanted):
        raise NoVerdict(f"there are {more} keys that are no criteria; give the criteria and nothing else")
    return {criterion.id: _opinion(given[criterion.id], criterion) for criterion in rubric.criteria}


def _parse(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except NoVerdict:
        raise
    except (ValueError, RecursionError) as exc:
        raise NoVerdict("the answer is not one JSON object and nothing else") from exc


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise NoVerdict("a key stands twice in one object")
    return made


def _refuse_constant(_: str) -> Any:
    raise NoVerdict("the answer has a number that JSON does not know")


def _opinion(given: Any, criterion: Criterion) -> Opinion:
    if not isinstance(given, dict) or given.keys() != _KEYS:
        raise NoVerdict(f"{criterion.id}: must be an object with `rationale` and `verdict` and nothing else")
    rationale, value = given["rationale"], given["verdict"]
    if not isinstance(rationale, str) or not rationale.strip():
        raise NoVerdict(f"{criterion.id}: the rationale must be a text that is not empty")
    readable = rationale.encode("utf-8", "replace").decode().strip()  # JSON can escape what no file can hold
    return Opinion(value=_value(value, criterion), rationale=readable[:RATIONALE_KEPT])


def _value(value: Any, criterion: Criterion) -> Value:
    if criterion.kind == "pass_fail":
        if value not in ("pass", "fail"):
            raise NoVerdict(f'{criterion.id}: the verdict must be "pass" or "fail"')
        return value
    if type(value) is not int or not LOWEST <= value <= HIGHEST:
        raise NoVerdict(f"{criterion.id}: the verdict must be a whole number from {LOWEST} to {HIGHEST}")
    return value
