"""What `benchflow register` shows: each step as it ends, the verdict, and a table of many agents."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TextIO

from benchflow.evidence import Step, StepName
from benchflow.machine.home import Home
from benchflow.parity.shown import shown_of
from benchflow.registering.every import Outcome
from benchflow.registering.register import Registered
from benchflow.report.parity_shown import describe_shown, shown_lines
from benchflow.report.text import one_line
from benchflow.tiers import HEIGHT

if TYPE_CHECKING:
    from rich.console import Console

_MARKS = {"pass": "ok  ", "odd": "odd ", "fail": "FAIL", "skipped": "-   "}
_WIDTH = 14


class StepLines:
    """One line a step, on stderr: as it ends, and on a terminal already while it goes on."""

    def __init__(self, stream: TextIO = sys.stderr) -> None:
        self._stream = stream
        self._live = stream.isatty()

    def began(self, name: StepName) -> None:
        """Say what is under way."""
        if self._live:
            self._write(f"\r…    {name:<{_WIDTH}}")

    def ended(self, step: Step) -> None:
        """Say how it ended, and what helps where it failed."""
        took = "" if step.verdict == "skipped" else f"{step.took_ms / 1000:6.2f}s"
        start = "\r\x1b[K" if self._live else ""
        self._write(f"{start}{_MARKS[step.verdict]} {step.name:<{_WIDTH}} {took:>7}  {one_line(step.detail, 500)}\n")
        if step.remedy:
            self._write(f"{'':{_WIDTH + 15}}what helps: {one_line(step.remedy, 500)}\n")

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def describe(done: Registered, home: Home) -> dict[str, Any]:
    """Return all that became known, for `--json`."""
    measurement = done.measurement
    return {
        "parity": describe_shown(shown_of(done.manifest, home)),
        "name": done.manifest.name,
        "tier": measurement.tier,
        "reason": measurement.reason,
        "claimed_tier": done.manifest.claimed_tier,
        "measured": measurement.measured,
        "agent_version": measurement.agent_version,
        "manifest": str(done.manifest.path) if done.manifest.path else None,
        "evidence_path": str(done.evidence_path) if done.evidence_path else None,
        "logs": str(done.logs),
        "evidence": done.evidence.model_dump(mode="json"),
    }


def print_verdict(console: "Console", done: Registered, home: Home) -> None:
    """Print the tier, why it is that one, what users should know of, and whether parity was shown."""
    measurement, claimed = done.measurement, done.manifest.claimed_tier
    console.print(f"{one_line(done.manifest.name)}: {measurement.tier}", style="bold", soft_wrap=True)
    console.print(one_line(measurement.reason, 500), soft_wrap=True)
    if claimed and HEIGHT[measurement.tier] < HEIGHT[claimed]:
        console.print(f"its manifest claims more: {claimed}", soft_wrap=True)
    for quirk in done.evidence.quirks:
        console.print(f"  {one_line(quirk, 500)}", soft_wrap=True)
    for line in shown_lines(shown_of(done.manifest, home), done.called):
        console.print(line, soft_wrap=True)
    if done.evidence_path:
        console.print(f"evidence: {done.evidence_path}", style="dim", soft_wrap=True)
    console.print(f"logs: {done.logs}", style="dim", soft_wrap=True)


def describe_outcome(outcome: Outcome, home: Home) -> dict[str, Any]:
    """Return what became of one of many."""
    if outcome.registered:
        return describe(outcome.registered, home)
    return {"name": outcome.manifest.name, "tier": "unmeasured", "reason": outcome.error}


def print_outcomes(console: "Console", outcomes: Sequence[Outcome]) -> None:
    """Print a line for each agent."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("agent", "tier", "claimed", "version", "memory", "why"):
        table.add_column(name, overflow="fold", no_wrap=name in ("agent", "tier"))
    for outcome in outcomes:
        done = outcome.registered
        if done is None:
            table.add_row(
                one_line(outcome.manifest.name), "unmeasured", "-", "-", "-", one_line(outcome.error or "", 200)
            )
            continue
        memory = f"{done.evidence.memory_mb:.0f} MB" if done.evidence.memory_mb else "-"
        table.add_row(
            one_line(done.manifest.name),
            done.measurement.tier,
            done.manifest.claimed_tier or "-",
            one_line(done.measurement.agent_version or "-"),
            memory,
            one_line(done.measurement.reason, 200),
        )
    console.print(table)
