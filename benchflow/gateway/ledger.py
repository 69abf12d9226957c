"""What the gateway knows of one trial while it runs: its prompts, its tools, its exchanges; and the log of them.

Nothing here touches the bytes that pass by. An exchange is written the moment it ends, however it ends.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson

from benchflow.clock import Clock
from benchflow.errors import InputError, TrialError
from benchflow.gateway.altered import altered
from benchflow.gateway.bodies import BodyStore, Stored, store_compressed
from benchflow.gateway.classify import Quirks, TrialSoFar, Verdict, classify
from benchflow.gateway.encoding import Undecodable, decode
from benchflow.gateway.exchanges import Recorded, write_line
from benchflow.gateway.handling import AgentTime, Handling
from benchflow.gateway.message import (
    Assembled,
    End,
    Exchange,
    ExchangeBegun,
    Headers,
    Origin,
    RawRequest,
    RawResponse,
    find_header,
)
from benchflow.gateway.prices import Pricing
from benchflow.gateway.upstream import TrialContext
from benchflow.log import LogFile
from benchflow.redact import Redactor

KEPT_ANSWERS = 32
"""How many answers are kept in mind, for requests that go on with one of them by its id alone."""
_BESIDE = {
    "count_tokens": "counts tokens",
    "models": "asks for the models",
    "probe": "is a probe",
}


@dataclass(kw_only=True)
class Pending:
    """An exchange under way."""

    begun: ExchangeBegun
    request: RawRequest
    context: TrialContext
    after_prompt: bool
    handling: Handling
    sent: RawRequest | None = None
    """As it was taken or sent on; None: it was not."""
    response: RawResponse | None = None
    chunks: list[bytes] = field(default_factory=list)
    first_byte_ms: float | None = None
    error: str | None = None
    """What broke it off."""

    @property
    def kind(self) -> Any:
        return self.context.route.kind if self.context.route else "other"


class Ledger:
    """The state of one trial's exchanges. Whoever makes it closes it."""

    def __init__(
        self,
        path: Path,
        *,
        clock: Clock,
        redactor: Redactor,
        upstream: str,
        pricing: Pricing,
        quirks: Quirks | None = None,
        on_begin: Callable[[ExchangeBegun], None] | None = None,
        on_exchange: Callable[[Exchange], None] | None = None,
    ) -> None:
        self.exchanges: list[Exchange] = []
        self.agent_time = AgentTime()
        self.failure: TrialError | None = None
        self.broken: str | None = None
        """Why nothing can be written any more, and so nothing may pass."""
        self._log = LogFile(path, redactor)
        self._clock = clock
        self._redactor = redactor
        self._upstream = upstream
        self._pricing = pricing
        self._on_begin = on_begin
        self._on_exchange = on_exchange
        self._bodies = BodyStore(redactor)
        self._seq = 0
        self._turns = 0
        self._trial = TrialSoFar(
            prompts=(),
            prompt_open=False,
            tools=None,
            auxiliary=tuple(re.compile(pattern) for pattern in quirks.auxiliary) if quirks else (),
            tools_in_text=quirks.tools_in_text if quirks else False,
        )

    def prompt_sent(self, text: str) -> None:
        """The client is about to send this prompt."""
        self._trial = replace(self._trial, prompts=(*self._trial.prompts, text), prompt_open=True)

    def prompt_answered(self) -> None:
        """The agent has answered the prompt."""
        self._trial = replace(self._trial, prompt_open=False)

    @property
    def prompt(self) -> int | None:
        """Index of the last prompt that was sent; None: there was none yet."""
        return len(self._trial.prompts) - 1 if self._trial.prompts else None

    def begin(self, request: RawRequest, context: TrialContext) -> Pending:
        """Take a request in: give it its number and its role."""
        verdict = self._verdict(context)
        if verdict.role == "main" and context.parsed:
            tools = frozenset([tool.name for tool in context.parsed.tools])
            if tools != self._trial.tools:
                self._trial = replace(self._trial, tools=tools)
        stamp = self._clock.now()
        begun = ExchangeBegun(
            id=f"{context.trial[-8:]}-{context.attempt}-{self._seq}",
            seq=self._seq,
            ts=stamp.ts,
            mono_ms=stamp.mono_ms,
            role=verdict.role,
            role_reason=verdict.reason,
            turn=self._turns if verdict.role == "main" else None,
        )
        self._seq += 1
        if self._on_begin:
            self._on_begin(begun)
        after = bool(self._trial.prompts) and not self._trial.prompt_open
        return Pending(
            begun=begun, request=request, context=context, after_prompt=after, handling=self.agent_time.begin()
        )

    def _verdict(self, context: TrialContext) -> Verdict:
        if context.route is None:
            return Verdict("auxiliary", "is of no known dialect")
        if context.route.kind != "generate":
            return Verdict("auxiliary", _BESIDE[context.route.kind])
        if context.parsed is None:
            return Verdict("auxiliary", "cannot be read")
        return classify(context.parsed, self._trial)

    def since(self, pending: Pending) -> float:
        """Return the milliseconds that an exchange has taken so far."""
        return round(self._clock.mono_ms() - pending.begun.mono_ms, 3)

    def unplayable(self, reason: str) -> None:
        """The upstream cannot do its part in this trial."""
        self.failure = self.failure or TrialError("setup", reason)

    def finish(self, pending: Pending, end: End) -> None:
        """Close an exchange: assemble its answer, meter it, write it, tell of it."""
        self.agent_time.end(pending.handling)
        raw = b"".join(pending.chunks)
        answer = _assemble(pending, raw)
        exchange = self._exchange(pending, answer, _true_end(pending, answer, end))
        if exchange.turn is not None:
            self._turns += 1
            if answer.id:
                self._trial = replace(self._trial, answers=(*self._trial.answers[1 - KEPT_ANSWERS :], answer.id))
        self.exchanges.append(exchange)
        if pending.handling.on_metered and exchange.tokens:
            pending.handling.on_metered(exchange.tokens)
        try:
            self._log.write(self._line(pending, exchange, raw, answer.body))
        except InputError as exc:
            self.broken = str(exc)
            self.failure = self.failure or TrialError("capture", self.broken)
        if self._on_exchange:
            self._on_exchange(exchange)

    def _exchange(self, pending: Pending, answer: Assembled, end: End) -> Exchange:
        begun, parsed = pending.begun, pending.context.parsed
        response = pending.response
        asked = parsed.model if parsed else pending.context.route and pending.context.route.model
        status = response.status if response else None
        completed = begun.role == "main" and end == "complete" and status is not None and status < 400
        sent = _model_sent(pending, asked)
        return Exchange(
            id=begun.id,
            seq=begun.seq,
            kind=pending.kind,
            path=pending.request.path,
            ts=begun.ts,
            mono_ms=begun.mono_ms,
            duration_ms=self.since(pending),
            ttft_ms=pending.first_byte_ms,
            role=begun.role,
            role_reason=begun.role_reason,
            turn=self._turns if completed else None,
            origin=_origin(pending),
            status=status,
            end=end,
            model_asked=asked,
            model_sent=sent,
            model_answered=answer.model,
            answer=altered(answer, body=None),
            tokens=answer.tokens,
            cost=(response and response.cost) or self._pricing.price((answer.model, sent), answer.tokens, begun.ts),
            changes=pending.sent.changes if pending.sent else (),
            after_prompt=pending.after_prompt,
            held_ms=pending.handling.held_ms,
            attempts=pending.handling.attempts,
            fault=pending.handling.fault,
        )

    def _line(self, pending: Pending, exchange: Exchange, raw: bytes, body: Any) -> bytes:
        request, context = pending.request, pending.context
        digest = sha256(request.body).hexdigest()
        sent = pending.sent
        response = pending.response
        return write_line(
            exchange,
            trial=context.trial,
            attempt=context.attempt,
            upstream=self._upstream,
            dialect=context.dialect.name if context.dialect else None,
            request=request,
            received=Recorded(
                headers=request.headers,
                stored=self._store_request(exchange.seq, request),
                size=len(request.body),
                sha256=digest,
            ),
            sha256_forwarded=None if sent is None else _digest(sent.body, request.body, digest),
            response=None
            if response is None
            else Recorded(
                headers=response.headers,
                stored=self._store_response(raw, response.headers, body),
                size=len(raw),
                sha256=sha256(raw).hexdigest(),
            ),
            body=body,
        )

    def _store_request(self, seq: int, request: RawRequest) -> Stored:
        """Store the request's own bytes, unless they are compressed and a secret is, or may be, in them."""
        if request.header("content-encoding") and self._may_hide(request.body, request.headers):
            return {"withheld": "a secret is in the compressed body, or may be"}
        return self._bodies.store(seq, request.body)

    def _store_response(self, raw: bytes, headers: Headers, body: Any) -> Stored:
        """Store the response's own bytes, unless a secret is in them where it cannot be replaced."""
        if find_header(headers, "content-encoding") and self._may_hide(raw, headers):
            return {"withheld": "a secret is in the compressed body, or may be"}
        clean = self._redactor.redact(raw)
        if clean is raw and body is not None and self._redactor.finds(orjson.dumps(body)):
            return {"withheld": "a secret is spread over several pieces of the stream"}
        return store_compressed(clean)

    def _may_hide(self, body: bytes, headers: Headers) -> bool:
        try:
            return self._redactor.finds(decode(body, headers))
        except Undecodable:
            return True

    def close(self) -> None:
        """Close the log; may be called again."""
        self._log.close()


def _digest(body: bytes, known: bytes, digest: str) -> str:
    return digest if body is known else sha256(body).hexdigest()


def _origin(pending: Pending) -> Origin:
    return pending.response.origin if pending.response else "upstream"


def _model_sent(pending: Pending, asked: str | None) -> str | None:
    if pending.sent is None:
        return None
    changed = [change.after for change in pending.sent.changes if change.path in ("body.model", "url.model")]
    return changed[-1] if changed else asked


def _assemble(pending: Pending, raw: bytes) -> Assembled:
    response, dialect = pending.response, pending.context.dialect
    if response is None or dialect is None or pending.kind != "generate":
        return Assembled(body=_json_or_none(raw), error=pending.error)
    assembler = dialect.assembler()
    try:
        assembler.feed(decode(raw, response.headers))
    except Undecodable as exc:
        return Assembled(body=None, error=str(exc))
    answer = assembler.result()
    return altered(answer, error=pending.error) if pending.error and not answer.error else answer


def _json_or_none(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except ValueError:
        return None


def _true_end(pending: Pending, answer: Assembled, end: End) -> End:
    """Correct how the connection ended by what the answer itself says."""
    response = pending.response
    if response and response.origin == "gateway" and response.status >= 400:
        return "refused"
    if response is None or pending.kind != "generate" or response.status >= 400:
        return end
    if answer.complete and end == "client_gone":
        return "complete"  # many clients leave as soon as they have read the end of the stream
    if end == "complete" and not answer.complete:
        return "upstream_cut"  # a stream that ends before its end, or with an error in it, however politely
    return end
