"""All that the page has of one trial beyond its line: its checks, its timeline, and what else it left behind."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchflow.contracts import ScorerCheckResult
from benchflow.gateway.records.certificate import Certificate
from benchflow.report import numbers
from benchflow.report.certificate import describe_certificate
from benchflow.report.html.findings import Part, find_parts
from benchflow.report.html.items import Fact, make_facts
from benchflow.report.html.passages import Form, Passage, make_passage
from benchflow.report.html.timeline import Timeline, read_timeline
from benchflow.report.text import one_line, sanitize
from benchflow.row import ANALYSES, ProfileRow
from benchflow.store import DIFF, STDERR_LOG, StoredTrial, read_result

_MOST_READ = 1_000_000
_KEPT = 20_000
_MOST_CHECKS = 200


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
    parts: Sequence[Part]
    """What it changed, what it printed, what plugins found."""


def read_detail(trial: StoredTrial) -> TrialDetail:
    """Read a trial's last try."""
    folder = trial.try_folder() if trial.tries else None
    return TrialDetail(
        facts=make_facts(_facts(trial)),
        checks=[_check(check) for check in _failed_first(trial.row)],
        timeline=read_timeline(folder) if folder else None,
        parts=[*(_files(folder) if folder else ()), *find_parts(_extensions(trial, folder))],
    )


def _extensions(trial: StoredTrial, folder: Path | None) -> Mapping[str, Any]:
    """Return the extensions of its row, with the whole of each analysis whose summary the row has."""
    said = trial.row.extensions if trial.row else {}
    result = read_result(folder) if folder else None
    whole = (result.extensions.get(ANALYSES) if result else None) or {}
    analyses = {
        name: whole[name] if name in whole and whole[name].get("summary") == analysis.get("summary") else analysis
        for name, analysis in (said.get(ANALYSES) or {}).items()
    }
    return {**said, ANALYSES: analyses} if analyses else said


def _facts(trial: StoredTrial) -> Iterator[tuple[str, str | None]]:
    row = trial.row
    if len(trial.tries) > 1:
        yield "try", f"{trial.tries[-1]} of {len(trial.tries)}"
    if row is None:
        return
    yield "tokens", numbers.in_out(row.tokens)
    counts = row.exchanges
    yield "model requests", f"{counts.main} main, {counts.auxiliary} auxiliary, {counts.failed} failed upstream"
    if certificate := Certificate.read(row.extensions):
        yield "certificate", f"{describe_certificate(certificate)}; sha256 {certificate.digest}"
    yield "ended", row.completion_reason + (f" ({row.error_code})" if row.error_code else "")
    yield "stop reason", row.stop_reason
    yield "at", f"{row.completed_at[:19].replace('T', ' ')} UTC"
    times = (f"{name} {numbers.duration(ms)}" for name, ms in row.timing.segments.items() if ms >= 1)
    yield "times", ", ".join(times)


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


def _files(folder: Path) -> Iterator[Part]:
    files: Sequence[tuple[str, str, Form]] = (
        ("Changes in the workspace", DIFF, "diff"),
        ("What the agent wrote to stderr", STDERR_LOG, "code"),
    )
    for label, name, form in files:
        path = folder / name
        if path.is_file() and path.stat().st_size:
            size = numbers.size(path.stat().st_size)
            yield Part(label=label, note=size, passages=(read_passage("", path, form),))


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
