"""`benchflow agents`: which agents there are, and what is known of one."""

from pathlib import Path
from typing import Annotated

import typer

from benchflow.errors import InputError

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on stdout.")]
AgentsDir = Annotated[
    Path | None, typer.Option(metavar="DIR", help="A folder of manifests that is looked in first.", show_default=False)
]

Markdown = Annotated[
    bool,
    typer.Option("--markdown", help="Print the built-in agents as a Markdown table, the same on every machine."),
]
Update = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="With --markdown: put the table between the two markers of FILE.", show_default=False
    ),
]

app = typer.Typer(help="List and show agents.", invoke_without_command=True)


@app.callback()
def default(
    context: typer.Context,
    agents_dir: AgentsDir = None,
    as_json: Json = False,
    markdown: Markdown = False,
    update: Update = None,
) -> None:
    """List and show agents. Without a command: list all of them."""
    if context.invoked_subcommand is None:
        list_command(agents_dir, as_json, markdown, update)


@app.command("list")
def list_command(
    agents_dir: AgentsDir = None, as_json: Json = False, markdown: Markdown = False, update: Update = None
) -> None:
    """List agents: how much of a run is captured of each, as measured and, where that is more, as claimed.

    Of an agent that cannot be run it says why; `agents show` has the next step, and when and where it was measured.
    """
    if markdown or update:
        if agents_dir or as_json:
            raise typer.BadParameter(
                "is of the built-in agents alone: leave --agents-dir and --json out", param_hint="--markdown"
            )
        _markdown(update)
        return
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


def _markdown(page: Path | None) -> None:
    from benchflow.manifests.shipped import shipped_agents
    from benchflow.report.agents_markdown import replace_table, write_table

    table = write_table(shipped_agents())
    if page is None:
        typer.echo(table)
        return
    try:
        page.write_text(replace_table(page.read_text("utf-8"), table, str(page)), "utf-8")
    except OSError as exc:
        raise InputError(f"{page}: {exc.strerror}") from exc


@app.command("schema")
def schema_command(
    entry: Annotated[bool, typer.Option("--entry", help="The schema of entry.toml instead.")] = False,
) -> None:
    """Print the JSON Schema of manifest.toml, for editors and other tools: it accepts just what BenchFlow loads."""
    from benchflow.manifests.schema import entry_schema, manifest_schema
    from benchflow.report.terminal import print_json

    print_json(entry_schema() if entry else manifest_schema())


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
