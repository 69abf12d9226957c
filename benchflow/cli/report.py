"""`benchflow report`: a run in figures, in every format."""

from pathlib import Path
from typing import Annotated

import typer

from benchflow.cli.reporting import (
    FILES,
    AcrossUpstreams,
    Csv,
    FailOnRegression,
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
    run: Annotated[
        str,
        typer.Argument(metavar="RUN", help="A run's path, id, a unique beginning of one, or last; or a file of rows."),
    ] = "last",
    html: Html = None,
    markdown: Markdown = None,
    csv: Csv = None,
    json: Json = None,
    parquet: Parquet = None,
    junit: Junit = None,
    baseline: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what --fail-on-regression needs of this run: small, and fit to commit.",
            show_default=False,
            rich_help_panel=FILES,
        ),
    ] = None,
    fail_under: FailUnder = None,
    fail_on_regression: FailOnRegression = None,
    margin: Margin = 0.0,
    require_power: RequirePower = None,
    max_cost: MaxCost = None,
    max_unscored: MaxUnscored = "0",
    upstream: Said = None,
    across_upstreams: AcrossUpstreams = False,
    out: Out = Path("runs"),
) -> None:
    """Report a run in figures: rates with intervals, medians, pass@k, flaky scenarios, and its cells compared.

    What varies defines the comparisons: every other cell (agent, model, mode) is compared with the first, scenario by
    scenario. Unscored trials are in no mean; they are counted, with the bounds that they leave open.
    """
    from benchflow.report.outputs import Outputs
    from benchflow.report.reporting import report_run
    from benchflow.runner.gate import Gate

    outputs = Outputs(html=html, markdown=markdown, csv=csv, json=json, parquet=parquet, junit=junit, baseline=baseline)
    outputs.check()
    gate = Gate(
        fail_under=fail_under,
        max_unscored=max_unscored,
        max_cost_usd=max_cost,
        fail_on_regression=fail_on_regression,
        margin=margin,
        require_power=require_power,
    )
    reported = report_run(run, out, gate, said=upstream, across_upstreams=across_upstreams)
    show(reported.document, outputs)
    raise typer.Exit(reported.exit_code)
