"""What is going on in a run, on stderr: a live view on a terminal, elsewhere one plain line as each trial ends."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TextIO

from benchflow.contracts import Event
from benchflow.report import numbers
from benchflow.report.text import one_line
from benchflow.report.verdict import is_played, judge
from benchflow.row import ProfileRow

if TYPE_CHECKING:
    from benchflow.runner.plan import Trial


class Progress(Protocol):
    """Is told what happens to the trials of a run."""

    @property
    def watches(self) -> bool:
        """Whether it does anything with events; they need not be made where nobody looks."""
        ...

    def trial_started(self, trial: "Trial") -> None: ...

    def trial_event(self, trial: "Trial", event: Event) -> None: ...

    def trial_ended(self, row: ProfileRow) -> None: ...

    def left_out(self, count: int) -> None:
        """So many of the trials will not be run, since enough is known without them."""
        ...


@contextmanager
def open_progress(
    total: int, *, stream: TextIO | None = None, now: Callable[[], float] = time.monotonic
) -> Iterator[Progress]:
    """Show the progress of `total` trials on `stream` (stderr) until the block ends."""
    output = stream or sys.stderr
    if not output.isatty() or os.environ.get("TERM") in ("dumb", "unknown"):
        yield PlainProgress(total, output)
        return
    from benchflow.report.live import LiveProgress  # Rich, which a run without a terminal need not load

    with LiveProgress(total, output, now) as progress:
        yield progress


class Silence:
    """Says nothing at all."""

    watches = False

    def trial_started(self, trial: "Trial") -> None:
        """Say nothing."""

    def trial_event(self, trial: "Trial", event: Event) -> None:
        """Say nothing."""

    def trial_ended(self, row: ProfileRow) -> None:
        """Say nothing."""

    def left_out(self, count: int) -> None:
        """Say nothing."""


class PlainProgress:
    """One line as each trial ends."""

    watches = False

    def __init__(self, total: int, stream: TextIO) -> None:
        self._total = total
        self._ended = 0
        self._stream = stream

    def trial_started(self, trial: "Trial") -> None:
        """Say nothing: there is nobody to watch."""

    def trial_event(self, trial: "Trial", event: Event) -> None:
        """Say nothing."""

    def trial_ended(self, row: ProfileRow) -> None:
        """Print how it ended."""
        self._ended += 1
        print(f"[{self._ended}/{self._total}] {describe_row(row)}", file=self._stream, flush=True)

    def left_out(self, count: int) -> None:
        """Count them out of the total."""
        self._total -= count


def describe_row(row: ProfileRow) -> str:
    """Say in one line how a trial ended."""
    verdict = judge(row)
    scored = (
        f" {numbers.score(row.score)} ({row.checks_passed}/{row.checks_total} checks)" if row.score is not None else ""
    )
    turns, wall = numbers.plural(row.agent_turns, "turn"), numbers.duration(row.timing.wall_ms)
    bought = row.cost.total_usd is not None or not is_played(row.upstream)
    figures = f"{turns}, {wall}" + (f", cost {numbers.cost(row.cost.total_usd)}" if bought else "")
    reason = f" - {one_line(verdict.reason, 160)}" if verdict.reason else ""
    name = f"{one_line(row.scenario_id)} #{row.iteration + 1} {one_line(row.agent)}"
    return f"{name}: {verdict.label}{scored}, {figures}{reason}"


def describe_event(event: Event) -> str | None:
    """Say in a few words what an event shows that the agent is doing now; None: it says nothing of that."""
    data = event.data
    match event.type:
        case "prompt_begin":
            return "reads the prompt"
        case "turn_begin":
            return "waits for the model"
        case "agent_thought":
            return "thinks"
        case "agent_message":
            return f"says: {one_line(str(data.get('text', '')), 60)}"
        case "tool_call" | "tool_call_update" if data.get("title"):
            ended = data.get("status") in ("completed", "failed")
            return f"{data['status'] if ended else 'runs'}: {one_line(str(data['title']), 60)}"
        case "permission" if data.get("title"):
            return f"runs: {one_line(str(data['title']), 60)}"
        case "prompt_end":
            return "ended its turn"
        case _:
            return None
