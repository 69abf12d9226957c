"""The judge that is a model: asked through a gateway of its own, so that its calls are on record and metered apart."""

import secrets
import socket
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

import anyio

from benchflow.clock import Clock
from benchflow.contracts import JudgeProvider
from benchflow.errors import InputError, TrialError
from benchflow.gateway.gateway import Gateway, Tap
from benchflow.gateway.guard import Guard
from benchflow.gateway.http.client import HttpClient
from benchflow.gateway.upstream import TrialContext, Upstream
from benchflow.gateway.upstreams.opening import OpenedUpstream
from benchflow.gateway.upstreams.providers import providers
from benchflow.gateway.upstreams.spoken import spoken_dialects
from benchflow.gateway.wrapping.chain import build_chain
from benchflow.gateway.wrapping.retrying import Retries
from benchflow.judging.asking import SPOKEN, Asker, LastExchange
from benchflow.judging.sitting import Case
from benchflow.redact import Redactor

if TYPE_CHECKING:
    from benchflow.gateway.own_prices import OwnPrices

RECORD = "judge"
"""Name of the folder, in a try's own, with the exchanges of its judge."""
RETRIES = Retries(times=2, max_wait_s=120.0)
"""What the gateway repeats of a judge's failures: a trial that is over is dearer than another request."""


class GatewayJudges:
    """A model as the judge of a run's trials. An asynchronous context manager."""

    def __init__(
        self,
        opened: OpenedUpstream,
        *,
        clock: Clock,
        redactor: Redactor,
        prices: "OwnPrices | None" = None,
        retries: Retries = RETRIES,
        record: Callable[[Upstream], Upstream] | None = None,
    ) -> None:
        self._opened = opened
        chain = build_chain(opened.upstream, retries=retries, record=record)
        self._gateway = Gateway(chain.upstream, clock=clock, redactor=redactor, prices=prices)
        self._dialect = SPOKEN[0]

    @property
    def model(self) -> str:
        return self._opened.model

    async def __aenter__(self) -> Self:
        """Find out what the upstream speaks. Raises InputError where it is not there, or speaks nothing that we do."""
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self._gateway)
            spoken = await spoken_dialects(self._opened)
            self._dialect = _common(spoken, self._opened.label)
            stack.pop_all()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._gateway.__aexit__(*exc)

    @asynccontextmanager
    async def sit(self, case: Case) -> AsyncIterator[JudgeProvider]:
        """Hear one case: its exchanges go to `judge/llm.jsonl` in the case's folder."""
        key = secrets.token_hex(16)  # nobody else on this machine may spend the judge's
        ended = LastExchange()
        with _folder_for(case.folder) as folder:
            port, tap = await self._attach(case, folder, key, ended)
            client = HttpClient()
            try:
                yield Asker(
                    id=f"{self._opened.model} ({self._opened.label})",
                    client=client,
                    base=f"http://127.0.0.1:{port}",
                    key=key,
                    dialect=self._dialect,
                    cap=self._output_cap(),
                    ended=ended,
                )
            finally:
                with anyio.CancelScope(shield=True):  # an interrupted run must leave no connection behind
                    await client.aclose()
                    await tap.close(grace_s=0.5)

    async def _attach(self, case: Case, folder: Path, key: str, ended: LastExchange) -> tuple[int, Tap]:
        """Listen for the case. Raises TrialError(`scorer`) where its record cannot be written."""
        try:
            with ExitStack() as stack:
                sock = stack.enter_context(_listen(folder))
                tap = await self._gateway.attach(
                    sock,
                    self._context(case),
                    folder,
                    (self._dialect,),
                    guard=lambda recording: Guard(recording, key, lambda _: None),
                    on_exchange=ended.add,
                )
                stack.pop_all()  # the gateway has taken the socket over
                return sock.getsockname()[1], tap
        except (InputError, OSError) as exc:
            raise TrialError("scorer", f"the judge's calls cannot be recorded: {exc}") from exc

    def _context(self, case: Case) -> TrialContext:
        return TrialContext(
            trial=case.trial,
            attempt=case.attempt,
            model=self._opened.model,
            alone=True,  # every request is the judge's main work
            scenario_id=case.trial,  # by which a cassette finds the case: it is the agent's, too
            iteration=case.iteration,
        )

    def _output_cap(self) -> str:
        """Return what the provider calls the most tokens of an answer, in chat completions."""
        known = providers().get(self._opened.target.name) if self._opened.target else None
        return known.output_cap if known else "max_tokens"


def _common(spoken: list[str], label: str) -> str:
    """Return the dialect to ask in. Raises InputError."""
    known = [name for name in SPOKEN if name in spoken]
    if not known:
        raise InputError(
            f"the judge's upstream {label} speaks {', '.join(spoken)}; a judge is asked in {' or '.join(SPOKEN)}"
        )
    return known[0]


def _listen(folder: Path) -> socket.socket:
    """Make the folder of a record, and open the socket by which it fills."""
    folder.mkdir(parents=True, exist_ok=True)
    return socket.create_server(("127.0.0.1", 0))


@contextmanager
def _folder_for(folder: Path | None) -> Iterator[Path]:
    """Yield the folder of the record; None: one that is removed again."""
    if folder is not None:
        yield folder / RECORD
        return
    with tempfile.TemporaryDirectory(prefix="benchflow-judge-") as made:
        yield Path(made)
