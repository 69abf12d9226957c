"""Whether a run has become worse than its base: judged on success and on score, cell by cell. Pure."""

from collections.abc import Iterator

from benchflow.report import figures_text as text
from benchflow.report.profile import CellComparison, Comparison, MetricComparison
from benchflow.runner.gate import Gate, GateVerdict
from benchflow.stats.gate import GateDecision, decide
from benchflow.stats.interval import Interval
from benchflow.stats.paired import PairedComparison

OPTION = "--fail-on-regression"


def judge_regression(gate: Gate, comparison: Comparison) -> Iterator[GateVerdict]:
    """Yield a verdict for success and for score of each cell.

    Each is judged by its own interval at 95 %, of which a drop has the one tail of 2.5 %: of runs that are no worse, at
    most one in twenty is said to be, by either of a cell's two.
    """
    for cell in comparison.cells:
        where = f"{cell.head_label}: " if len(comparison.cells) > 1 else ""
        for name in ("success", "score"):
            metric = cell.metric(name)
            yield (
                _judge(gate, cell, metric, where)
                if metric
                else GateVerdict(
                    option=OPTION, missed=True, reason=f"{where}no scenario has scored trials on both sides"
                )
            )


def _judge(gate: Gate, cell: CellComparison, metric: MetricComparison, where: str) -> GateVerdict:
    decision = decide(_pair(cell, metric), margin=gate.margin, require_power=gate.require_power)
    reason = f"{where}{metric.metric.title}: {_said(metric, decision)}"
    return GateVerdict(option=OPTION, missed=decision.missed, reason=reason)


def _said(metric: MetricComparison, decision: GateDecision) -> str:
    name = metric.metric.name
    shown = text.difference(name, metric.difference.value)
    if metric.difference.low is not None:
        shown += f", {text.difference_interval(name, metric.difference)}"
    match decision.reason:
        case "regression":
            margin = (
                f" less than the margin of {text.difference(name, -decision.margin)}" if decision.margin else " worse"
            )
            return f"surely{margin} ({shown})"
        case "too small a sample":
            return f"too small a sample: {_detectable(metric)} ({shown})"
        case "no regression":
            return f"no drop is sure ({shown}); {_detectable(metric)}"


def _detectable(metric: MetricComparison) -> str:
    if metric.detectable is None:
        return "no drop, however large, would have been seen"
    size = text.difference(metric.metric.name, metric.detectable).removeprefix("+")
    return f"the smallest drop that would have been seen is {size}"


def _pair(cell: CellComparison, metric: MetricComparison) -> PairedComparison:
    """Return the comparison as the gate of the statistics takes it: with the verdict of this metric alone."""
    figure = metric.difference
    interval = None
    if figure.low is not None and figure.high is not None:
        interval = Interval(low=figure.low, high=figure.high, level=cell.level)
    return PairedComparison(
        left_out=cell.left_out,
        over=cell.over,
        difference=figure.value,
        interval=interval,
        p=metric.p,
        verdict=metric.verdict_alone,
        detectable=metric.detectable,
    )
