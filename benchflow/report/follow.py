"""A running trial as it goes on: the events of logs that still grow, and how they are printed."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from benchflow.contracts import Event
from benchflow.gateway.records.exchanges import read_exchanges
from benchflow.report import numbers
from benchflow.report.text import one_line, sanitize, tail
from benchflow.session.projection import Projection
from benchflow.store import ACP_LOG, EXCHANGE_LOG, StoredRun
from benchflow.trajectories.trajectory import Moment, Trajectory, entry_moment, exchange_moments

if TYPE_CHECKING:
    from rich.console import Console

_POLL_S = 0.2


def follow(
    run: StoredRun, key: str, is_alive: Callable[[], bool], wait: Callable[[], None] = lambda: time.sleep(_POLL_S)
) -> Iterator[Event]:
    """Yield a trial's events as they are logged, try after try, until it has ended or nobody runs it any more.

    Between two looks at the logs it waits.
    """
    followed = 0
    while True:
        now = StoredRun(run.folder)  # read anew: a run that is read keeps what it has read
        later = [number for number in now.trial(key).tries if number > followed]
        if later:
            followed = later[0]
            yield from _follow_try(run, key, followed, is_alive, wait)
        elif any(row.trial == key for row in now.rows) or not is_alive():
            return
        else:
            wait()


def _follow_try(
    run: StoredRun, key: str, attempt: int, is_alive: Callable[[], bool], wait: Callable[[], None]
) -> Iterator[Event]:
    logs = _GrowingLogs(run.trial(key).try_folder(attempt))
    while True:
        # Asked before the logs are read: what is written before the end is then not missed.
        over = _has_ended(run.folder, key, attempt) or not is_alive()
        yield from logs.read()
        if over:
            return
        wait()


def _has_ended(run: Path, key: str, attempt: int) -> bool:
    journal = StoredRun(run).journal
    return any((entry.trial, entry.attempt, entry.state) == (key, attempt, "ended") for entry in journal)


@dataclass
class _GrowingLogs:
    """The logs of a try, read from where the last look at them ended."""

    folder: Path
    _offset: int = 0
    _exchanges: int = 0
    _seq: int = 0
    _session_id: str = ""
    _projection: Projection = field(default_factory=Projection)

    def read(self) -> list[Event]:
        """Return what is new, in the order of the clock."""
        moments = sorted([*self._frames(), *self._turns()], key=lambda moment: moment.mono_ms)
        if moments and not self._session_id:
            self._session_id = Trajectory(self.folder).session_id
        return [self._number(moment) for moment in moments]

    def _number(self, moment: Moment) -> Event:
        seq, self._seq = self._seq, self._seq + 1
        return Event(
            seq=seq,
            ts=moment.ts,
            mono_ms=moment.mono_ms,
            type=moment.type,
            source=moment.source,
            session_id=self._session_id,
            data=moment.data,
        )

    def _frames(self) -> Iterator[Moment]:
        path = self.folder / ACP_LOG
        if not path.exists():
            return
        with path.open("rb") as lines:
            lines.seek(self._offset)
            for line in lines:
                if not line.endswith(b"\n"):
                    return  # the rest of it comes later
                self._offset += len(line)
                entry: dict[str, Any] = orjson.loads(line)
                if moment := entry_moment(entry, self._projection):
                    yield moment

    def _turns(self) -> Iterator[Moment]:
        path = self.folder / EXCHANGE_LOG
        for number, recorded in enumerate(read_exchanges(path) if path.exists() else ()):
            if number >= self._exchanges:
                self._exchanges = number + 1
                yield from exchange_moments(recorded.exchange)


class EventPrinter:
    """Prints events as they come: an agent's texts as they stream, the rest a line each."""

    def __init__(self, console: "Console") -> None:
        self._console = console
        self._streaming = ""
        """The type of the text that is being streamed; empty where none is."""

    def print(self, event: Event) -> None:
        """Print an event, if it is one for people."""
        if event.type in ("agent_message", "agent_thought"):
            self._stream(event)
            return
        line = describe(event)
        if line:
            self.close()
            self._console.print(line, soft_wrap=True)

    def close(self) -> None:
        """End the text that is being streamed."""
        if self._streaming:
            self._console.print()
            self._streaming = ""

    def _stream(self, event: Event) -> None:
        style = "dim italic" if event.type == "agent_thought" else None
        if self._streaming != event.type:
            self.close()
            self._streaming = event.type
        self._console.print(sanitize(str(event.data.get("text", ""))), end="", style=style, soft_wrap=True)


def describe(event: Event) -> str | None:
    """Say in a line what happened; None: nothing that a person would miss."""
    data = event.data
    match event.type:
        case "prompt_begin":
            return f"prompt: {one_line(str(data['text']), 200)}"
        case "prompt_end":
            return f"the agent ended its turn: {one_line(str(data.get('stop_reason') or data.get('error')), 200)}"
        case "turn_end":
            used = data["tokens"]
            tokens = f"{used['total'] - used['output']} in, {used['output']} out" if used else "? in, ? out"
            return f"turn {data['turn'] + 1}  {numbers.duration(data['duration_ms'])}  {tokens}"
        case "tool_call":
            return f"> {one_line(_tool(data), 200)}"
        case "tool_call_update" if data.get("status") in ("completed", "failed"):
            return f"< {data['status']}"
        case "permission":
            return f"permission for {one_line(_tool(data), 200)}: {one_line(str(data['option_id'] or data['outcome']))}"
        case "error":
            return f"error: {tail(str(data['message']), 5)}"
        case _:
            return None


def _tool(data: Any) -> str:
    known = [str(data[key]) for key in ("name", "title") if data.get(key)]
    return ": ".join(dict.fromkeys(known)) or str(data.get("id") or data.get("tool_call_id"))
