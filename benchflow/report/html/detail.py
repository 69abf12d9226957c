"""All that the page has of one trial beyond its line: its checks, its timeline, and what else it left behind."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchflow.contracts import ScorerCheckResult
from benchflow.report import numbers
from benchflow.report.html.items import Fact, make_facts
from benchflow.report.html.passages import Form, Passage, as_text, make_passage
from benchflow.report.html.timeline import Timeline, read_timeline
from benchflow.report.text import one_line, sanitize
from benchflow.row import ProfileRow
from benchflow.store import DIFF, STDERR_LOG, StoredTrial

_MOST_READ = 1_000_000
_KEPT = 20_000
_MOST_CHECKS = 200
_FINDINGS = ("analyses", "judge")
"""What is long, of a row's extensions."""


@dataclass(frozen=True, kw_only=True)
class CheckLine:
    """One check."""

    name: str
    description: str
    passed: bool
    passages: Sequence[Passage]


@dataclass(frozen=True, kw_only=True)
class TrialDetail:
    """One trial, opened."""

    facts: Sequence[Fact]
    checks: Sequence[CheckLine]
    timeline: Timeline | None
    """None: the trial has no logs."""
    passages: Sequence[Passage]
    """What it changed, what it printed, what plugins found."""


def read_detail(trial: StoredTrial) -> TrialDetail:
    """Read a trial's last try."""
    folder = trial.try_folder() if trial.tries else None
    return TrialDetail(
        facts=make_facts(_facts(trial)),
        checks=[_check(check) for check in _failed_first(trial.row)],
        timeline=read_timeline(folder) if folder else None,
        passages=[*_extensions(trial.row), *(_files(folder) if folder else ())],
    )


def _facts(trial: StoredTrial) -> Iterator[tuple[str, str | None]]:
    row = trial.row
    if len(trial.tries) > 1:
        yield "try", f"{trial.tries[-1]} of {len(trial.tries)}"
    if row is None:
        return
    yield "tokens", numbers.in_out(row.tokens)
    counts = row.exchanges
    yield "model requests", f"{counts.main} main, {counts.auxiliary} auxiliary, {counts.failed} failed upstream"
    yield "ended", row.completion_reason + (f" ({row.error_code})" if row.error_code else "")
    yield "stop reason", row.stop_reason
    yield "at", f"{row.completed_at[:19].replace('T', ' ')} UTC"
    times = (f"{name} {numbers.duration(ms)}" for name, ms in row.timing.segments.items() if ms >= 1)
    yield "times", ", ".join(times)
    metrics = row.extensions.get("metrics")
    for name, metric in metrics.items() if isinstance(metrics, dict) else ():
        yield str(name), _metric(metric)


def _metric(metric: Any) -> str:
    if not isinstance(metric, dict):
        return as_text(metric)
    value = metric.get("value")
    told = f"{value:,.4g}" if isinstance(value, int | float) and not isinstance(value, bool) else as_text(value)
    return f"{told} {metric.get('unit') or ''}".rstrip()


def _failed_first(row: ProfileRow | None) -> Sequence[ScorerCheckResult]:
    return sorted(row.check_details, key=lambda check: check.passed)[:_MOST_CHECKS] if row else ()


def _check(check: ScorerCheckResult) -> CheckLine:
    told = (("error", check.error), ("expected", check.expected), ("actual", check.actual))
    return CheckLine(
        name=one_line(check.id, 200),
        description=one_line(check.description, 1_000),
        passed=check.passed,
        passages=[make_passage(name, text) for name, text in told if text is not None],
    )


def _extensions(row: ProfileRow | None) -> Iterator[Passage]:
    """What plugins found, each by itself, and the rest of the row together."""
    rest = {name: value for name, value in row.extensions.items() if value not in (None, {}, [])} if row else {}
    rest.pop("metrics", None)
    for name in _FINDINGS:
        if name in rest:
            yield make_passage(name, as_text(rest.pop(name)))
    if rest:
        yield make_passage("more of its row", as_text(rest))


def _files(folder: Path) -> Iterator[Passage]:
    files: Sequence[tuple[str, str, Form]] = (
        ("changes in the workspace", DIFF, "diff"),
        ("stderr of the agent", STDERR_LOG, "code"),
    )
    for label, name, form in files:
        path = folder / name
        if path.is_file() and path.stat().st_size:
            yield read_passage(label, path, form)


def read_passage(label: str, path: Path, form: Form) -> Passage:
    """Read a file's text; of a very long one, its beginning and end alone."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if size <= _MOST_READ:
            return make_passage(label, file.read().decode("utf-8", "replace"), form)
        head = file.read(_KEPT * 3 // 4).decode("utf-8", "replace")
        file.seek(size - _KEPT // 4)
        tail = file.read().decode("utf-8", "replace")
    return replace(make_passage(label, head, form), tail=sanitize(tail), cut=size - _KEPT)
