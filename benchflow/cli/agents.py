"""`benchflow agents`: which agents there are, and what is known of one."""

import os
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
ParityMarkdown = Annotated[
    bool,
    typer.Option("--parity-markdown", help="The same of what `benchflow parity` has shown of the built-in agents."),
]
Update = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="With one of these: put the table between the two markers of FILE.", show_default=False
    ),
]

app = typer.Typer(help="List and show agents.", invoke_without_command=True)


@app.callback()
def default(
    context: typer.Context,
    agents_dir: AgentsDir = None,
    as_json: Json = False,
    markdown: Markdown = False,
    parity_markdown: ParityMarkdown = False,
    update: Update = None,
) -> None:
    """List and show agents. Without a command: list all of them."""
    if context.invoked_subcommand is None:
        list_command(agents_dir, as_json, markdown, parity_markdown, update)


@app.command("list")
def list_command(
    agents_dir: AgentsDir = None,
    as_json: Json = False,
    markdown: Markdown = False,
    parity_markdown: ParityMarkdown = False,
    update: Update = None,
) -> None:
    """List agents: how much of a run is captured of each, as measured and, where that is more, as claimed; and whether
    parity was shown of it as it is now.

    Of an agent that cannot be run it says why; `agents show` has the next step, and when and where it was measured.
    """
    if markdown or parity_markdown or update:
        if agents_dir or as_json or (markdown and parity_markdown):
            raise typer.BadParameter(
                "is one table, of the built-in agents alone: leave --agents-dir, --json and the other one out",
                param_hint="--parity-markdown" if parity_markdown else "--markdown",
            )
        _parity_markdown(update) if parity_markdown else _markdown(update)
        return
    from benchflow.machine.home import Home
    from benchflow.registry import Registry
    from benchflow.report.agents import describe, print_list
    from benchflow.report.terminal import open_console, print_json

    listing, home = Registry.open(agents_dir=agents_dir).listing(), Home.find(os.environ)
    if as_json:
        print_json([describe(agent, home) for agent in listing.agents])
    else:
        print_list(open_console(), listing.agents, home)
    for problem in listing.problems:
        typer.echo(f"warning: {problem}", err=True)


def _markdown(page: Path | None) -> None:
    from benchflow.manifests.shipped import shipped_agents
    from benchflow.report.agents_markdown import BEGIN, END, write_table

    _put(write_table(shipped_agents()), page, BEGIN, END)


def _parity_markdown(page: Path | None) -> None:
    from benchflow.manifests.shipped import shipped_agents
    from benchflow.report.parity_table import BEGIN, END, write_parity_table

    _put(write_parity_table(shipped_agents()), page, BEGIN, END)


def _put(table: str, page: Path | None, begin: str, end: str) -> None:
    """Print a table, or put it into a page."""
    from benchflow.report.agents_markdown import replace_table

    if page is None:
        typer.echo(table)
        return
    try:
        page.write_text(replace_table(page.read_text("utf-8"), table, str(page), begin=begin, end=end), "utf-8")
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
    from benchflow.install import Place
    from benchflow.machine.home import Home
    from benchflow.manifest import Manifest
    from benchflow.registry import Registry
    from benchflow.report.agents import Installed, describe_whole, print_one
    from benchflow.report.terminal import open_console, print_json

    agent = Registry.open(agents_dir=agents_dir).look_up(name)
    home, installed = Home.find(os.environ), None
    if isinstance(agent, Manifest):
        place = Place.of(agent, home)
        installed = Installed(folder=place.agent, present=place.record.is_file())
        for warning in agent.warnings:
            typer.echo(f"warning: {warning}", err=True)
    if as_json:
        print_json(describe_whole(agent, home, installed))
    else:
        print_one(open_console(), agent, home, installed)
