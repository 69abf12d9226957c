"""`benchflow agents`: which agents there are, and what is known of one."""

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on stdout.")]
AgentsDir = Annotated[
    Path | None, typer.Option(metavar="DIR", help="A folder of manifests that is looked in first.", show_default=False)
]

app = typer.Typer(help="List and show agents.", invoke_without_command=True)


@app.callback()
def default(context: typer.Context, agents_dir: AgentsDir = None, as_json: Json = False) -> None:
    """List and show agents. Without a command: list all of them."""
    if context.invoked_subcommand is None:
        list_command(agents_dir, as_json)


@app.command("list")
def list_command(agents_dir: AgentsDir = None, as_json: Json = False) -> None:
    """List agents: how much of a run is captured of each, as measured and as claimed, and what it is."""
    from benchflow.registry import Registry
    from benchflow.report.agents import describe, print_list
    from benchflow.report.terminal import open_console, print_json

    listing = Registry.open(agents_dir=agents_dir).listing()
    if as_json:
        print_json([describe(agent) for agent in listing.agents])
    else:
        print_list(open_console(), listing.agents)
    for problem in listing.problems:
        typer.echo(f"warning: {problem}", err=True)


@app.command("show")
def show_command(
    name: Annotated[
        str, typer.Argument(metavar="AGENT", help="A name, name@version, or the path of a manifest or of its folder.")
    ],
    agents_dir: AgentsDir = None,
    as_json: Json = False,
) -> None:
    """Show one agent: how it is installed, started and routed, and what is measured of it."""
    import os

    from benchflow.install import Place
    from benchflow.machine.home import Home
    from benchflow.manifest import Manifest
    from benchflow.registry import Registry
    from benchflow.report.agents import Installed, describe_whole, print_one
    from benchflow.report.terminal import open_console, print_json

    agent = Registry.open(agents_dir=agents_dir).look_up(name)
    installed = None
    if isinstance(agent, Manifest):
        place = Place.of(agent, Home.find(os.environ))
        installed = Installed(folder=place.agent, present=place.record.is_file())
        for warning in agent.warnings:
            typer.echo(f"warning: {warning}", err=True)
    if as_json:
        print_json(describe_whole(agent, installed))
    else:
        print_one(open_console(), agent, installed)
