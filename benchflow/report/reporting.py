"""Makes a report of stored runs: opens them, makes the figures, judges the gates."""

import math
from dataclasses import dataclass
from pathlib import Path

from benchflow.contracts import TokenBreakdown
from benchflow.errors import InputError
from benchflow.report.document import Document
from benchflow.report.profile import Comparison, Profile
from benchflow.report.profile.making import compare_measured, profile_of
from benchflow.report.source import Source, open_source
from benchflow.report.verdict import is_played
from benchflow.runner.gate import Gate, GateVerdict, Summary
from benchflow.store import StoredRun


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A report, and the exit code that its gates come to."""

    document: Document
    exit_code: int


def report_run(text: str, out: Path, gate: Gate, *, said: str | None, across_upstreams: bool) -> Reported:
    """Report the run that `text` names. Raises InputError."""
    source = open_source(text, out)
    if source.rows is None:
        raise InputError(f"{text}: is a baseline, which has no rows to report; compare a run with it instead")
    _refuse_played(gate, source, said)
    profile = profile_of(source.trials, planned=source.planned, adaptive=source.adaptive)
    comparison = None
    if gate.fail_on_regression:
        base = open_source(gate.fail_on_regression, out)
        comparison = compare_measured(base.trials, source.trials, across_upstreams=across_upstreams)
    document = Document(
        figures=profile,
        rows={"run": source.rows},
        measured=source.trials,
        runs=_folders(source),
        verdicts=judge(gate, summarize_profile(profile), comparison),
    )
    return _reported(document, gate, profile)


def report_comparison(
    base: str, head: str, out: Path, gate: Gate, *, said: str | None, across_upstreams: bool
) -> Reported:
    """Compare the runs that the two texts name. Raises InputError where they cannot be compared."""
    first, second = open_source(base, out), open_source(head, out)
    _refuse_played(gate, second, said)
    comparison = compare_measured(
        first.trials,
        second.trials,
        planned=(first.planned, second.planned),
        adaptive=(first.adaptive, second.adaptive),
        across_upstreams=across_upstreams,
    )
    rows = {"base": first.rows, "head": second.rows}
    document = Document(
        figures=comparison,
        rows={side: iterable for side, iterable in rows.items() if iterable is not None},
        measured=second.trials,
        runs=_folders(first, second),
        verdicts=judge(gate, summarize_profile(comparison.head), comparison),
    )
    return _reported(document, gate, comparison.head)


def judge(gate: Gate, summary: Summary, comparison: Comparison | None) -> list[GateVerdict]:
    """Judge all gates; the regression where there is a comparison."""
    verdicts = gate.verdicts(summary)
    if gate.fail_on_regression is not None and comparison is not None:
        from benchflow.runner.regression import judge_regression

        verdicts += judge_regression(gate, comparison)
    return verdicts


def summarize_profile(profile: Profile) -> Summary:
    """Return what the gates judge, of the rows that a profile was made of."""
    tokens = [cell.totals.tokens for cell in profile.cells if cell.totals.tokens]
    costs = [cell.totals.cost_usd for cell in profile.cells if cell.totals.cost_usd is not None]
    unknown = sum(cell.totals.cost_unknown for cell in profile.cells)
    return Summary(
        trials=profile.trials + profile.missing,
        passed=profile.passed,
        failed=profile.scored - profile.passed,
        unscored=profile.unscored,
        missing=profile.missing,
        mean_score=profile.score,
        success_rate=profile.passed / profile.scored if profile.scored else None,
        tokens=sum(tokens, TokenBreakdown()),
        cost_usd=math.fsum(costs) if costs and not unknown else None,
        upstream=", ".join(sorted({cell.name.upstream for cell in profile.cells})),
        spent_usd=math.fsum(costs),
        cost_unknown=sum(cell.totals.cost_unknown for cell in profile.cells if not cell.played),
        adaptive=profile.adaptive,
    )


def _reported(document: Document, gate: Gate, profile: Profile) -> Reported:
    code = gate.exit_code(summarize_profile(profile), document.verdicts) if gate.judges else 0
    return Reported(document=document, exit_code=code)


def _refuse_played(gate: Gate, source: Source, said: str | None) -> None:
    """Refuse to judge a run that no model answered, unless somebody said that this is meant. Raises InputError."""
    upstreams = sorted({cell.upstream for cell in {trial.cell for trial in source.trials}})
    played = [upstream for upstream in upstreams if is_played(upstream)]
    if said and not any(said in upstream.split() for upstream in upstreams):
        shown = ", ".join(upstreams)
        raise InputError(f"--upstream {said}: this run was answered by {shown}")
    if played and not said and not source.upstream_chosen and (gate.fail_under is not None or gate.fail_on_regression):
        option = "--fail-under" if gate.fail_under is not None else "--fail-on-regression"
        raise InputError(
            f"{option}: {', '.join(played)} answered, not a model, so the gate would judge nothing; "
            "say --upstream oracle if that is what you want"
        )


def _folders(*sources: Source) -> list[StoredRun]:
    return [source.run for source in sources if source.run]
