"""What a run would do, on the terminal."""

from typing import TYPE_CHECKING

from benchflow.report.numbers import plural
from benchflow.report.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from benchflow.runner.planning import DryRun

FIRST = 10
"""How many of the trials are shown in their order."""


def print_dry_run(console: "Console", plan: "DryRun") -> None:
    """Print the cells, the first trials, and what would be installed and spent."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("scenario", "agent", "model", "mode", "upstream"):
        table.add_column(name, overflow="fold")
    table.add_column("trials", justify="right", no_wrap=True)
    for cell in plan.cells:
        names = (cell.scenario, cell.agent, cell.model, cell.mode, cell.upstream)
        table.add_row(*map(one_line, names), str(cell.trials))
    console.print(table)
    console.print("begins with:")
    for number, trial in enumerate(plan.order[:FIRST], start=1):
        name = f"{trial.scenario} #{trial.iteration + 1} {trial.agent}, {trial.model}, {trial.mode}"
        console.print(f"  {number}. {one_line(name)}", soft_wrap=True)
    for line in _facts(plan):
        console.print(one_line(line), soft_wrap=True)


def _facts(plan: "DryRun") -> list[str]:
    count = plan.matrix or plural(plan.trials, "trial")
    if plan.ended:
        count += f", of which {plan.ended} ended before: {plural(plan.trials, 'trial')} to run"
    elif plan.matrix is None and plan.warm_ups:
        count += f", and {plural(plan.warm_ups, 'warm-up')}"
    facts = [count, f"sandbox: {plan.sandbox}"]
    if plan.max_cost_usd is not None and plan.matrix is None:
        facts.append(f"at most ${plan.max_cost_usd:,.2f}, but for tries that are repeated")
    facts.append(f"would be installed first: {', '.join(plan.installs)}" if plan.installs else "nothing to install")
    return [*facts, *plan.notes, "nothing was started"]
