"""What the upstreams that are no model have in common: everything but the answers to the agent's main work."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import orjson

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.changing import answer_error
from benchflow.gateway.message import ModelAnswer, ModelRequest, RawRequest, RawResponse, ToolUse
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.fitting import fit

ASIDE = "Working on the task"
"""The answer to whatever an agent asks beside its work: fit to be a title."""
BYTES_PER_TOKEN = 4


@dataclass(frozen=True, kw_only=True)
class Played:
    """An answer to a main request."""

    answer: ModelAnswer
    unplayable: str | None = None
    """Why the trial cannot be played at all; None: it can."""


def play(
    request: RawRequest, context: TrialContext, main: Callable[[ModelRequest, TrialContext], Played]
) -> RawResponse:
    """Answer a request; `main` is asked for the answers to the agent's main work."""
    dialect, route, parsed = context.dialect, context.route, context.parsed
    context.on_sent(request)
    if dialect is None or route is None:
        return answer_error(404, f"no model API at {request.method} {request.path}")
    if route.kind == "count_tokens":
        return dialect.write_count(_count(request.body))
    if route.kind != "generate":
        if route.model:
            return dialect.write_model(route.model)
        return dialect.write_models([context.model] if context.model else [])
    if parsed is None:
        return dialect.refuse(request, 400, "the request cannot be read")
    played = main(parsed, context) if context.role == "main" else Played(answer=answer_aside(parsed))
    answer = replace(played.answer, tokens=_tokens(request, played.answer))
    return replace(dialect.write(answer, parsed), unplayable=played.unplayable)


def answer_aside(request: ModelRequest) -> ModelAnswer:
    """Answer what is beside the work: shortly, or, where the form is prescribed, so that the work goes on."""
    forced = [tool for tool in request.tools if tool.name == request.tool_choice]
    if not forced and request.tool_choice == "required":
        forced = list(request.tools[:1])
    if forced:
        arguments = fit(forced[0].parameters, note=ASIDE)
        call = ToolUse(id="call_aside", name=forced[0].name, arguments=arguments if isinstance(arguments, dict) else {})
        return ModelAnswer(tool_calls=(call,))
    if request.schema is not None:
        return ModelAnswer(text=orjson.dumps(fit(request.schema, note=ASIDE)).decode())
    return ModelAnswer(text=ASIDE)


def _tokens(request: RawRequest, answer: ModelAnswer) -> TokenBreakdown:
    """Estimate usage from bytes: plausible, and the same each time."""
    calls = sum(len(orjson.dumps(call.arguments)) + len(call.name) for call in answer.tool_calls)
    return TokenBreakdown.of(
        input=_count(request.body),
        output=-(-(len(answer.text.encode()) + calls) // BYTES_PER_TOKEN),
    )


def _count(body: bytes) -> int:
    return -(-len(body) // BYTES_PER_TOKEN)
