"""`benchflow parity`: the agent alone against the agent inside."""

from pathlib import Path
from typing import Annotated

import typer

from benchflow.cli.options import SandboxWish


def command(
    agent: Annotated[str, typer.Argument(metavar="AGENT", help="An agent of the registry, or the path of a manifest.")],
    scenarios: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="SCENARIO",
            help="What both sides do. Default: three that are real work.",
            show_default=False,
        ),
    ] = None,
    repeat: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Runs on each side; the agent alone runs twice at least, to show in what it differs from itself.",
        ),
    ] = 1,
    without: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE", help="Do not apply this neutral rule; may be repeated.", show_default=False),
    ] = None,
    margin: Annotated[
        float,
        typer.Option(metavar="SCORE", help="With --repeat: how large a difference of mean scores still is none."),
    ] = 0.1,
    sandbox: Annotated[SandboxWish, typer.Option(help="How the agent inside is isolated.")] = SandboxWish.auto,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="Budget of all prompts of a run. Default: the scenario's.",
            show_default=False,
        ),
    ] = None,
    agents_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder of manifests that is looked in first.", show_default=False),
    ] = None,
    html: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page that shows both sides beside each other, their differences marked.",
            show_default=False,
        ),
    ] = None,
    fixture: Annotated[
        bool,
        typer.Option(
            "--fixture", help="Keep the runs alone in `fixtures/` beside the manifest, without what is this machine's."
        ),
    ] = False,
    against_fixture: Annotated[
        bool,
        typer.Option(
            "--against-fixture", help="Compare with the fixtures that are kept; the agent is not run alone. For CI."
        ),
    ] = False,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Keep what was shown beside the manifest, not in your own folder.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.")] = False,
) -> None:
    """Prove that the agent in here is the agent out there: run it alone and inside, and compare what it sends.

    Alone it runs as its own users run it, with no sandbox and no gateway; inside as `benchflow run` runs it. The oracle
    plays the model on both sides, so it costs nothing. The model requests are compared byte for byte, then after a
    short list of neutral rules; then score, tool calls, files and stop reasons. See parity.md.

    What was shown is kept for `benchflow agents`, unless a rule was switched off or a fixture compared with.

    Exit codes: 0 parity; 1 divergence; 2 something to be corrected; 3 it could not be decided.
    """
    from benchflow.parity.keeping import keep
    from benchflow.parity.request import ParityRequest
    from benchflow.parity.run import run_sync
    from benchflow.report.parity import describe, print_parity
    from benchflow.report.parity_html import check_writable, write_page
    from benchflow.report.terminal import open_console, print_json, say

    request = ParityRequest(
        agent=agent,
        scenarios=tuple(scenarios or ()),
        repeat=repeat,
        without=tuple(without or ()),
        margin=margin,
        sandbox=sandbox.value,
        timeout_s=timeout,
        agents_dir=agents_dir,
        fixture=fixture,
        against_fixture=against_fixture,
        in_place=in_place,
    )
    if html is not None:
        check_writable(html)
    done = run_sync(request)
    parity = done.parity
    if html is not None:
        write_page(html, parity)
    if as_json:
        print_json(describe(parity))
    else:
        print_parity(open_console(), parity)
    for path in keep(done.subject, parity, done.alone):
        say(f"kept: {path}")
    raise typer.Exit(parity.exit_code)
