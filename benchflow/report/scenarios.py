"""`benchflow scenarios`: lists of scenarios, one scenario in full, and proofs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from benchflow.report.text import block, one_line
from benchflow.scenario import RunStep, Scenario, files_below

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from benchflow.authoring.prove import Proof


def describe(scenario: Scenario) -> dict[str, Any]:
    """Return what a list says of a scenario."""
    return {
        "id": scenario.id,
        "name": scenario.name,
        "description": scenario.description,
        "difficulty": scenario.difficulty,
        "tags": scenario.tags,
        "prompts": len(scenario.prompts),
        "checks": len(scenario.checks),
        "solution_steps": len(scenario.solution.steps) if scenario.solution else None,
        "tools": list(scenario.tools.python),
        "path": str(scenario.source),
        "digest": scenario.digest,
    }


def describe_whole(scenario: Scenario) -> dict[str, Any]:
    """Return all of a scenario, as it was read, with its files."""
    whole = scenario.model_dump(mode="json", exclude={"prompt", "folder", "source"})
    return {**whole, "path": str(scenario.source), "files": workspace_files(scenario)}


def workspace_files(scenario: Scenario) -> list[str]:
    """Return the files that the agent finds, but for those that the setup makes."""
    folder = scenario.workspace_folder
    copied = [str(file.relative_to(folder)) for file in files_below(folder)] if folder else []
    return sorted({*copied, *scenario.workspace.files})


def print_list(console: "Console", scenarios: Sequence[Scenario]) -> None:
    """Print a line for each scenario, with its tags where there is room."""
    tags = ["tags"] if console.width > 100 else []
    table = _table("scenario", "difficulty", "steps", "what it is", *tags)
    for scenario in scenarios:
        steps = str(len(scenario.solution.steps)) if scenario.solution else "-"
        row = [scenario.id, scenario.difficulty, steps, one_line(scenario.name), one_line(", ".join(scenario.tags))]
        table.add_row(*row[: 4 + len(tags)])
    console.print(table)


def print_one(console: "Console", scenario: Scenario) -> None:
    """Print a scenario: what is asked, what is there, what is checked and what the solution does."""
    console.print(f"{scenario.id}: {one_line(scenario.name)}", style="bold")
    facts = [scenario.difficulty, f"{scenario.budget.timeout_s:g} s", *scenario.tags, *scenario.tools.python]
    console.print(one_line("  ".join(facts)))
    console.print(str(scenario.source), style="dim", soft_wrap=True)
    if scenario.description:
        console.print(f"\n{block(scenario.description.strip(), '', console.width)}")
    for number, prompt in enumerate(scenario.prompts, start=1):
        title = "Prompt" if len(scenario.prompts) == 1 else f"Prompt {number}"
        console.print(f"\n{title}", style="bold")
        console.print(block(prompt.strip(), "  ", console.width))
    console.print("\nWorkspace", style="bold")
    made = ["what its setup makes"] if scenario.workspace.setup else []
    for line in [*workspace_files(scenario), *made] or ["empty"]:
        console.print(f"  {one_line(line)}")
    console.print("\nChecks", style="bold")
    for check in scenario.checks:
        weight = "guard" if check.weight == 0 else f"{check.weight:g}"
        console.print(f"  {check.id} ({weight}): {one_line(check.says())}", soft_wrap=True)
    _print_solution(console, scenario)


def _print_solution(console: "Console", scenario: Scenario) -> None:
    console.print("\nSolution", style="bold")
    if scenario.solution is None:
        console.print("  none")
        return
    for number, step in enumerate(scenario.solution.steps, start=1):
        line = one_line(step.run, 100) if isinstance(step, RunStep) else f"write {one_line(step.write)}"
        console.print(f"  {number}. {line}", soft_wrap=True)
    console.print(f"  says: {one_line(scenario.solution.answer, 100)}", soft_wrap=True)


def print_proofs(console: "Console", proofs: Sequence["Proof"]) -> None:
    """Print a line for each proof, and why those that failed did."""
    table = _table("scenario", "verdict", "steps", "solution", "nothing")
    for proof in proofs:
        verdict = "ok" if proof.passed else "FAILED"
        table.add_row(proof.scenario, verdict, str(proof.steps), _score(proof.solved), _score(proof.nothing))
    console.print(table)
    for proof in proofs:
        for reason in proof.reasons:
            console.print(block(f"{proof.scenario}: {reason}", "  ", console.width), style="yellow")


def _table(*columns: str) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in columns:
        right = name in ("steps", "solution", "nothing")
        table.add_column(name, justify="right" if right else "left", overflow="fold", no_wrap=name == "scenario")
    return table


def _score(score: float | None) -> str:
    return "unscored" if score is None else f"{score:.2f}"
