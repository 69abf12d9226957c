"""The live view of a run on a terminal: what each trial is doing now, the time left, the cost so far."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.text import Text

from benchflow.contracts import Event
from benchflow.report import numbers
from benchflow.report.progress import describe_event, describe_row
from benchflow.report.text import one_line
from benchflow.report.verdict import is_played, judge
from benchflow.row import ProfileRow

if TYPE_CHECKING:
    from benchflow.runner.plan import Trial

_STYLES = {"pass": "green", "fail": "red", "unscored": "yellow"}


@dataclass(kw_only=True)
class _Running:
    """What is known of a trial that runs."""

    name: str
    began: float
    budget_s: float | None
    doing: str = "starts"
    turns: int = 0
    cost_usd: float | None = None


class LiveProgress:
    """Redraws four times a second, in a thread of Rich's, so that times go on while an agent is silent."""

    watches = True

    def __init__(self, total: int, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._total = total
        self._now = now
        self._began = now()
        self._running: dict[str, _Running] = {}
        self._spent_usd: float | None = None
        self._bought = True
        self._words = {"pass": 0, "fail": 0, "unscored": 0}
        console = Console(file=stream, markup=False, highlight=False, emoji=False)
        self._live = Live(self, console=console, refresh_per_second=4, transient=True, redirect_stdout=False)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._live.stop()

    def trial_started(self, trial: "Trial") -> None:
        """Show it, from its beginning."""
        cell = trial.cell
        self._bought = not is_played(cell.upstream)
        self._running[trial.key] = _Running(
            name=f"{one_line(cell.scenario.id)} #{trial.iteration + 1} {one_line(cell.agent.label)}",
            began=self._now(),
            budget_s=cell.limits.timeout_s,
        )

    def trial_event(self, trial: "Trial", event: Event) -> None:
        """Show what it means."""
        running = self._running.get(trial.key)
        if running is None:
            return
        running.doing = describe_event(event) or running.doing
        if event.type == "turn_end":
            running.turns += 1
            running.cost_usd = _add(running.cost_usd, event.data.get("cost_usd"))

    def trial_ended(self, row: ProfileRow) -> None:
        """Leave a line above the live view."""
        self._running.pop(row.trial, None)
        self._spent_usd = _add(self._spent_usd, row.cost.total_usd)
        verdict = judge(row)
        self._words[verdict.word] += 1
        self._live.console.print(Text(describe_row(row), _STYLES[verdict.word]), soft_wrap=True)

    def left_out(self, count: int) -> None:
        """Count them out of the total."""
        self._total -= count

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        running = list(self._running.values())
        yield Text(self._headline(running), "bold")
        room = max(1, (options.max_height or console.height) - 3)
        shown = running[:room]
        wide = min(max((len(each.name) for each in shown), default=0), console.width // 3)
        for each in shown:
            turns = numbers.plural(each.turns, "turn")
            line = f"{one_line(each.name, wide):{wide}}  {self._elapsed(each):>15}  {turns:8}  {each.doing}"
            yield Text(line, no_wrap=True, overflow="ellipsis")
        if len(running) > room:
            yield Text(f"and {len(running) - room} more", "dim")

    def _headline(self, running: list[_Running]) -> str:
        ended = sum(self._words.values())
        words = ", ".join(f"{times} {word}" for word, times in self._words.items() if times)
        spent = self._spent_usd
        for each in running:
            spent = _add(spent, each.cost_usd)
        parts = [f"{ended} of {self._total} ended" + (f" ({words})" if words else "")]
        if self._bought or spent is not None:
            parts.append(f"cost {numbers.cost(spent)}")
        left_s = self._left_s(ended)
        if left_s is not None:
            parts.append(f"about {numbers.duration(left_s * 1000)} left")
        return " · ".join(parts)

    def _left_s(self, ended: int) -> float | None:
        """The time that the rest needs at the pace so far; None before the first trial has ended."""
        if not ended:
            return None
        return (self._now() - self._began) / ended * (self._total - ended)

    def _elapsed(self, running: _Running) -> str:
        elapsed = numbers.duration((self._now() - running.began) * 1000)
        return f"{elapsed} of {numbers.duration(running.budget_s * 1000)}" if running.budget_s else elapsed


def _add(known: float | None, more: float | None) -> float | None:
    return known if more is None else (known or 0.0) + more
