"""The upstream `script`: fixed answers from a list, one for each main request of a trial, failures among them."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import orjson

from benchflow.errors import InputError
from benchflow.gateway.message import Body, Headers, ModelAnswer, RawRequest, RawResponse, ToolUse, UpstreamCut
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.playing import Played, play


@dataclass(frozen=True, kw_only=True)
class ScriptedAnswer:
    """One answer."""

    text: str = ""
    tool_calls: tuple[ToolUse, ...] = ()
    status: int = 200
    """From 400 on the answer is an error, and `text` its message."""
    headers: Headers = ()
    """Sent beside the answer's own."""
    fault: str | None = None
    """`cut`: the answer breaks off in its middle; `silent`: there is none at all; None: it is whole."""


class Script:
    """Plays a list of answers to each trial; the last one is repeated when they are used up."""

    name = "script"
    priced_as: str | None = None

    def __init__(self, answers: Sequence[ScriptedAnswer]) -> None:
        self._answers = answers
        self._served: Counter[tuple[str, int]] = Counter()

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Answer the request. Raises UpstreamCut where the script says so."""
        if context.parsed is None or context.role != "main" or context.dialect is None:
            return play(request, context, lambda parsed, _: Played(answer=ModelAnswer()))
        served = self._served[context.trial, context.attempt]
        self._served[context.trial, context.attempt] += 1
        answer = self._answers[min(served, len(self._answers) - 1)]
        if answer.fault == "silent":
            context.on_sent(request)
            raise UpstreamCut("the script has no answer here")
        if answer.status >= 400:
            context.on_sent(request)
            refusal = context.dialect.refuse(request, answer.status, answer.text)
            return replace(refusal, origin="upstream", headers=(*refusal.headers, *answer.headers))
        calls = [
            call if call.id else replace(call, id=f"call_{served}_{index}")
            for index, call in enumerate(answer.tool_calls)
        ]
        said = ModelAnswer(text=answer.text, tool_calls=tuple(calls))
        response = play(request, context, lambda parsed, _: Played(answer=said))
        response = replace(response, status=answer.status, headers=(*response.headers, *answer.headers))
        return replace(response, chunks=_Cut(response.chunks)) if answer.fault == "cut" else response

    async def aclose(self) -> None:
        """Nothing is held."""


class _Cut:
    """A body that breaks off in the middle of its first chunk."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._begun = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        if self._begun:
            raise UpstreamCut("the script breaks off here")
        self._begun = True
        chunk = await self._body.__anext__()
        return chunk[: len(chunk) // 2]

    async def aclose(self) -> None:
        await self._body.aclose()


def read_script(path: Path) -> list[ScriptedAnswer]:
    """Read a JSON list of answers: each a text, or an object with the fields of `ScriptedAnswer`. Raises InputError."""
    try:
        entries = orjson.loads(path.read_bytes())
    except OSError as exc:
        raise InputError(f"--upstream script:{path}: cannot be read ({exc.strerror})") from exc
    except ValueError as exc:
        raise InputError(f"{path}: not JSON ({exc})") from exc
    if not isinstance(entries, list) or not entries:
        raise InputError(f'{path}: must be a list of answers, as in ["Hello.", {{"status": 503}}]')
    return [_read_answer(entry, f"{path}: answer {number}") for number, entry in enumerate(entries, start=1)]


def _read_answer(entry: Any, place: str) -> ScriptedAnswer:
    if isinstance(entry, str):
        return ScriptedAnswer(text=entry)
    if not isinstance(entry, dict):
        raise InputError(f"{place}: must be a text or an object")
    known = {
        "text": lambda value: _checked(value, str, "a text", place),
        "status": lambda value: _status(value, place),
        "headers": lambda value: _headers(_checked(value, dict, "an object", place)),
        "fault": lambda value: _fault(value, place),
        "tool_calls": lambda value: _calls(_checked(value, list, "a list", place), place),
    }
    for key in entry:
        if key not in known:
            raise InputError(f"{place}: unknown key {key!r}; known are {', '.join(known)}")
    return ScriptedAnswer(**{key: known[key](value) for key, value in entry.items()})


def _checked(value: Any, kind: type, words: str, place: str) -> Any:
    if not isinstance(value, kind):
        raise InputError(f"{place}: {value!r} must be {words}")
    return value


def _status(value: Any, place: str) -> int:
    if not isinstance(value, int) or not (value == 200 or 400 <= value <= 599):
        raise InputError(f"{place}: status {value!r} must be 200 or an error, 400 to 599")
    return value


def _headers(value: Mapping[str, Any]) -> Headers:
    return tuple((str(name), str(text)) for name, text in value.items())


def _fault(value: Any, place: str) -> str:
    if value not in ("cut", "silent"):
        raise InputError(f"{place}: fault {value!r} must be `cut` or `silent`")
    return value


def _calls(values: list[Any], place: str) -> tuple[ToolUse, ...]:
    calls = []
    for value in values:
        if not isinstance(value, dict) or not value.keys() <= {"name", "arguments", "id"} or not value.get("name"):
            raise InputError(f"{place}: a tool call must have `name`, and may have `arguments` and `id`")
        arguments = _checked(value.get("arguments", {}), dict, "an object", place)
        calls.append(ToolUse(id=str(value.get("id", "")), name=str(value["name"]), arguments=arguments))
    return tuple(calls)
