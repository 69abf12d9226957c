"""The options that `report` and `compare` share: which files to write, and which gates to keep."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from benchflow.report.document import Document
    from benchflow.report.outputs import Outputs

FILES, GATES = "Files", "Gates"


def _file(what: str, *names: str) -> Any:
    return typer.Option(*names, metavar="FILE", help=f"{what}; - is stdout.", show_default=False, rich_help_panel=FILES)


Html = Annotated[Path | None, _file("Write one self-contained page, trajectories included")]
Markdown = Annotated[Path | None, _file("Write what is printed as Markdown")]
Csv = Annotated[Path | None, _file("Write a row a trial as CSV")]
Json = Annotated[Path | None, _file("Write all figures and rows as JSON", "--json")]
Parquet = Annotated[Path | None, _file("Write a row a trial as Parquet; needs the extra `parquet`")]
Junit = Annotated[Path | None, _file("Write a test case a trial as JUnit XML")]

FailUnder = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        metavar="SCORE",
        help="Exit 1 when the mean score of scored trials is below.",
        show_default=False,
        rich_help_panel=GATES,
    ),
]
MaxUnscored = Annotated[
    str,
    typer.Option(
        metavar="N|P%", help="With a gate: exit 3 when more trials than this are unscored.", rich_help_panel=GATES
    ),
]
MaxCost = Annotated[
    float | None,
    typer.Option(
        min=0,
        metavar="USD",
        help="Exit 1 when all trials together cost more, or nobody knows what they cost.",
        show_default=False,
        rich_help_panel=GATES,
    ),
]
FailOnRegression = Annotated[
    str | None,
    typer.Option(
        metavar="BASE",
        help="Exit 1 when success or score is surely worse than that of BASE: a run, its rows, or a baseline.",
        show_default=False,
        rich_help_panel=GATES,
    ),
]
Margin = Annotated[
    float,
    typer.Option(
        min=0,
        max=1,
        metavar="SHARE",
        help="The drop of success or score that a regression must surely exceed: 0.05 is 5 points.",
        rich_help_panel=GATES,
    ),
]
RequirePower = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        metavar="SHARE",
        help="Exit 1 when the sample is too small to show a drop of this size.",
        show_default=False,
        rich_help_panel=GATES,
    ),
]
AcrossUpstreams = Annotated[
    bool,
    typer.Option(
        "--across-upstreams",
        help="Compare although another model or upstream answered: that is what is compared.",
    ),
]
Said = Annotated[
    str | None,
    typer.Option(
        "--upstream",
        metavar="UPSTREAM",
        help="Say that this upstream is meant: gates refuse an oracle's run otherwise.",
        show_default=False,
        rich_help_panel=GATES,
    ),
]


def show(document: "Document", outputs: "Outputs") -> None:
    """Write the files, add to a CI job's summary, print the report unless stdout is taken, and say what was missed."""
    from benchflow.report.outputs import append_step_summary, write_outputs
    from benchflow.report.terminal import open_console, say

    write_outputs(document, outputs)
    append_step_summary(document.parts())
    if not outputs.takes_stdout:
        from benchflow.report.layout_console import print_parts

        print_parts(open_console(), document.parts())
    for verdict in document.verdicts:
        if verdict.missed:
            say(f"{verdict.option} missed: {verdict.reason}")
