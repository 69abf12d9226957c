"""Rubrics: the built-in one, and what the grades of a rubric's criteria mean. Pure."""

from typing import Literal

from benchflow.scenario_file import Criterion, Rubric

LOWEST, HIGHEST = 1, 5
"""The ends of a scale."""
ENOUGH = 4
"""From this mean on a criterion on a scale is passed."""

Value = Literal["pass", "fail"] | int
"""What a judge may say of one criterion: `pass` or `fail` for `pass_fail`, a whole number for `scale`."""

BUILT_IN = Rubric(
    criteria=(
        Criterion(
            id="task-success",
            description=(
                "The task was done as it was asked for: all that the prompt wants is there and right in the final "
                "state of the workspace, and nothing that it forbids was done. What the agent claims does not count."
            ),
            kind="pass_fail",
        ),
        Criterion(
            id="trajectory-efficiency",
            description=(
                "The agent took a short way. 5: hardly a step could be left out. 4: a few could. 3: clear detours, "
                "repeated reading or needless retries. 2: most steps did not help. 1: it ran in circles."
            ),
            kind="scale",
        ),
    )
)
"""For scenarios that have no rubric of their own."""


def grade_of(value: Value) -> float:
    """Map a verdict to [0, 1]: pass is 1, fail is 0, and a scale is linear: 1 is 0, 3 is 0.5, 5 is 1."""
    if value == "pass":
        return 1.0
    if value == "fail":
        return 0.0
    return (value - LOWEST) / (HIGHEST - LOWEST)
