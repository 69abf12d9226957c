"""`benchflow compare`: one run against another."""

from pathlib import Path
from typing import Annotated

import typer

from benchflow.cli.reporting import (
    GATES,
    AcrossUpstreams,
    Csv,
    FailUnder,
    Html,
    Json,
    Junit,
    Margin,
    Markdown,
    MaxCost,
    MaxUnscored,
    Parquet,
    RequirePower,
    Said,
    show,
)
from benchflow.cli.runs import Out


def command(
    base: Annotated[
        str,
        typer.Argument(metavar="BASE", help="What was before: a run, its rows, or a file of `report --baseline`."),
    ],
    head: Annotated[
        str,
        typer.Argument(metavar="HEAD", help="What is now: a run's path, id, a beginning of one, last, or its rows."),
    ] = "last",
    html: Html = None,
    markdown: Markdown = None,
    csv: Csv = None,
    json: Json = None,
    parquet: Parquet = None,
    junit: Junit = None,
    fail_on_regression: Annotated[
        bool,
        typer.Option(
            "--fail-on-regression",
            help="Exit 1 when success or score of head is surely worse than that of base.",
            rich_help_panel=GATES,
        ),
    ] = False,
    margin: Margin = 0.0,
    require_power: RequirePower = None,
    fail_under: FailUnder = None,
    max_cost: MaxCost = None,
    max_unscored: MaxUnscored = "0",
    upstream: Said = None,
    across_upstreams: AcrossUpstreams = False,
    out: Out = Path("runs"),
) -> None:
    """Compare two runs, scenario by scenario: differences with intervals, p-values, verdicts, and what could be seen.

    Cells with the same agent, model and mode are compared; where each run has one agent, or one mode, but another, that
    is what is compared. Runs that another model or upstream answered are refused, unless --across-upstreams says that
    this is what is compared. The gates are on head.
    """
    from benchflow.report.outputs import Outputs
    from benchflow.report.reporting import report_comparison
    from benchflow.runner.gate import Gate

    outputs = Outputs(html=html, markdown=markdown, csv=csv, json=json, parquet=parquet, junit=junit)
    outputs.check()
    gate = Gate(
        fail_under=fail_under,
        max_unscored=max_unscored,
        max_cost_usd=max_cost,
        fail_on_regression=base if fail_on_regression else None,
        margin=margin,
        require_power=require_power,
    )
    reported = report_comparison(base, head, out, gate, said=upstream, across_upstreams=across_upstreams)
    show(reported.document, outputs)
    raise typer.Exit(reported.exit_code)
