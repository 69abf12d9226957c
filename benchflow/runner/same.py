"""In what two runs differ that decides what their rows say, told from what stands in run.json. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from benchflow.row import ProfileRow

_REQUEST = {
    "repetitions": "repetitions",
    "until_ci": "until-ci",
    "max_repetitions": "max-repetitions",
    "strict_model": "strict-model",
    "own_backend": "own-backend",
    "require_capture": "require-capture",
    "timeout_s": "timeout",
    "plugins": "plugins",
    "prices": "prices",
}
"""What of the request decides, and how it is called."""
_NONE = "none"
_DIGEST = 12


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Something that is not what it was."""

    what: str
    before: str
    now: str


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[Difference]:
    """Return in what two descriptions of a run differ that decides its rows; where none is named, in their trials."""
    old, new = dict(_facts(_plain(before))), dict(_facts(_plain(now)))
    found = [
        Difference(what=what, before=_shown(old.get(what)), now=_shown(new.get(what)))
        for what in dict.fromkeys([*old, *new])
        if old.get(what) != new.get(what)
    ]
    told = [each for each in found if each.what != "trials"]
    return told or found


def version_notes(rows: Iterable[ProfileRow]) -> list[str]:
    """Return a warning for each agent that said of itself, in the rows of one run, that it was of several versions."""
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        if row.agent_version is not None:
            found.setdefault(row.agent, {})[row.agent_version] = None
    return [
        f"{agent} changed within the run: it says of itself that it is {', then '.join(versions)}"
        for agent, versions in found.items()
        if len(versions) > 1
    ]


def _facts(run: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what decides, each with its name, from the general to the particular."""
    request, arms = run.get("request") or {}, run.get("arms") or []
    yield "schema of runs", run.get("schema")
    yield "sandbox", (run.get("sandbox") or {}).get("isolation")
    yield "agents", _names(arm["agent"]["name"] + _variant(arm) for arm in arms)
    yield "models", _names(arm["model"] for arm in arms)
    yield "upstreams", _names(arm["upstream"] for arm in arms)
    yield "modes", _names(arm["mode"]["name"] for arm in arms)
    yield "scenarios", ", ".join(sorted(run.get("scenarios") or {}))
    yield "scorer", run.get("scorer")
    yield "judge", run.get("judge")
    for arm in arms:
        yield f"manifest of {arm['agent']['name']}", arm["agent"]["digest"]
        yield f"what mode {arm['mode']['name']} varies", arm["mode"]["digest"]
    for scenario, digest in sorted((run.get("scenarios") or {}).items()):
        yield f"scenario {scenario}", digest
    for field, name in _REQUEST.items():
        yield name, request.get(field)
    for field, value in (request.get("limits") or {}).items():
        yield f"limits.{field}", value
    yield "judge's repeats", ((request.get("scoring") or {}).get("judge") or {}).get("repeats")
    yield "trials", run.get("trials")


def _names(names: Iterator[str]) -> str:
    return ", ".join(dict.fromkeys(names))


def _variant(arm: Mapping[str, Any]) -> str:
    variant = arm["agent"].get("variant")
    return f":{variant}" if variant else ""


def _shown(value: Any) -> str:
    if value is None:
        return _NONE
    if isinstance(value, str):
        return value[:_DIGEST] if len(value) == 64 and value.isalnum() else value
    if isinstance(value, Sequence):
        return f"{len(value)} with other keys"
    return orjson.dumps(value).decode()


def _plain(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return it as it comes out of a file."""
    return orjson.loads(orjson.dumps(value, default=str))
