"""What the gateway knows of one trial while it runs: its prompts, its tools, its exchanges; and the log of them.

Nothing here touches the bytes that pass by. An exchange is written the moment it ends, however it ends.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from benchflow.clock import Clock
from benchflow.errors import InputError, TrialError
from benchflow.gateway.altered import altered
from benchflow.gateway.classify import Quirks, TrialSoFar, Verdict, classify
from benchflow.gateway.handling import AgentTime
from benchflow.gateway.message import (
    Assembled,
    End,
    Exchange,
    ExchangeBegun,
    RawRequest,
    RawResponse,
)
from benchflow.gateway.prices import Pricing
from benchflow.gateway.records.exchanges import Recorded, write_line
from benchflow.gateway.records.pending import Pending, model_sent, origin_of, true_end
from benchflow.gateway.records.storing import Storage
from benchflow.gateway.records.tape import Taken
from benchflow.gateway.upstream import TrialContext
from benchflow.log import LogFile
from benchflow.redact import Redactor

KEPT_ANSWERS = 32
"""How many answers are kept in mind, for requests that go on with one of them by its id alone."""
ALONE = "there is no trial to have a role in"
_BESIDE = {
    "count_tokens": "counts tokens",
    "models": "asks for the models",
    "probe": "is a probe",
}


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
        self._upstream = upstream
        self._pricing = pricing
        self._on_begin = on_begin
        self._on_exchange = on_exchange
        self._storage = Storage(path.parent, redactor)
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
        if context.alone:
            return Verdict("main", ALONE)
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
        parsed = pending.context.parsed
        taken = self._taken(pending)
        answer = taken.answer if taken else Assembled(body=None)
        if pending.error and (answer.body is None or not answer.error):
            answer = altered(answer, error=pending.error)
        exchange = self._exchange(pending, answer, true_end(pending, answer, end))
        if exchange.turn is not None:
            self._turns += 1
            kept = [name for name in (answer.id, parsed and parsed.conversation) if name]
            self._trial = replace(self._trial, answers=(*self._trial.answers, *kept)[-KEPT_ANSWERS:])
        if not pending.context.alone:
            self.exchanges.append(exchange)  # else there is no end at which anybody would want them all
        if pending.handling.on_metered and exchange.tokens:
            pending.handling.on_metered(exchange.tokens)
        try:
            self._log.write(self._line(pending, exchange, taken))
        except InputError as exc:
            self.lose(exc)
        if self._on_exchange:
            self._on_exchange(exchange)

    def lose(self, error: InputError) -> None:
        """What was to be kept could not be written."""
        self.broken = str(error)
        self.failure = self.failure or TrialError("capture", self.broken)

    async def store_long(self, pending: Pending) -> bool:
        """Store a long request before it goes on. Return whether it could be."""
        pending.stored = {"withheld": "the agent left before it was stored"}
        try:
            pending.stored = await self._storage.long_request(pending.begun.seq, pending.request)
        except InputError as exc:
            pending.stored = {"withheld": str(exc)}
            self.lose(exc)
        return self.broken is None

    def answered(self, pending: Pending, response: RawResponse) -> None:
        """The head of a response has come."""
        dialect = pending.context.dialect if pending.kind == "generate" else None
        pending.response = response
        pending.tape = self._storage.tape(pending.begun.seq, response.headers, dialect)

    def passed(self, pending: Pending, chunk: bytes) -> None:
        """Bytes of a response go by."""
        if pending.first_byte_ms is None and chunk:
            pending.first_byte_ms = self.since(pending)
        if pending.tape:
            try:
                pending.tape.take(chunk)
            except InputError as exc:
                self.lose(exc)

    def _taken(self, pending: Pending) -> Taken | None:
        if pending.tape is None:
            return None
        try:
            return pending.tape.end()
        except InputError as exc:
            self.lose(exc)
            return pending.tape.end()

    def _exchange(self, pending: Pending, answer: Assembled, end: End) -> Exchange:
        begun, parsed = pending.begun, pending.context.parsed
        response = pending.response
        received = _digest(pending.request)
        asked = parsed.model if parsed else pending.context.route and pending.context.route.model
        status = response.status if response else None
        completed = begun.role == "main" and end == "complete" and status is not None and status < 400
        sent = model_sent(pending, asked)
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
            origin=origin_of(pending),
            status=status,
            end=end,
            model_asked=asked,
            model_sent=sent,
            model_answered=answer.model,
            answer=altered(answer, body=None),
            tokens=answer.tokens,
            cost=(response and response.cost) or self._pricing.price((answer.model, sent), answer.tokens, begun.ts),
            changes=pending.sent.changes if pending.sent else (),
            sha256_received=received,
            sha256_forwarded=_digest_sent(pending, received),
            after_prompt=pending.after_prompt,
            held_ms=pending.handling.held_ms,
            attempts=pending.handling.attempts,
            fault=pending.handling.fault,
            limit=pending.handling.limit,
            stopped=pending.handling.stopped,
        )

    def _line(self, pending: Pending, exchange: Exchange, taken: Taken | None) -> bytes:
        request, context = pending.request, pending.context
        long = request.long
        response = None
        if pending.response and taken:
            response = Recorded(
                headers=pending.response.headers, stored=taken.stored, size=taken.size, sha256=taken.sha256
            )
        return write_line(
            exchange,
            trial=context.trial,
            attempt=context.attempt,
            upstream=self._upstream,
            dialect=context.dialect.name if context.dialect else None,
            request=request,
            received=Recorded(
                headers=request.headers,
                stored=pending.stored if long else self._storage.request(exchange.seq, request),
                size=long.size if long else len(request.body),
                sha256=exchange.sha256_received,
            ),
            sha256_forwarded=exchange.sha256_forwarded,
            response=response,
            body=taken and taken.body,
            note=taken and taken.note,
        )

    def close(self) -> None:
        """Close the log; may be called again."""
        self._log.close()


def _digest(request: RawRequest) -> str:
    return request.long.sha256 if request.long else sha256(request.body).hexdigest()


def _digest_sent(pending: Pending, received: str) -> str | None:
    sent = pending.sent
    if sent is None:
        return None
    return received if not sent.long and sent.body is pending.request.body else _digest(sent)
