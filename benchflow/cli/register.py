"""`benchflow register`: adopt an agent, and measure its tier."""

import os
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from benchflow.cli.options import SandboxWish


class Language(StrEnum):
    """What a new agent can be written in."""

    python = "python"
    node = "node"


def command(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="TARGET",
            help="A manifest, a register.py, or the folder of one of them; or an agent of the registry by its name.",
            show_default=False,
        ),
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE#ID", help="An entry of a public ACP registry's document.", show_default=False
        ),
    ] = None,
    agent_command: Annotated[
        str | None,
        typer.Option("--command", metavar="CMD", help="A command that serves ACP on stdio.", show_default=False),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What the agent of --command is to be called.", show_default=False)
    ] = None,
    scaffold: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Instead: make the folder NAME with a new agent, to be changed into your own.",
            show_default=False,
        ),
    ] = None,
    language: Annotated[
        Language, typer.Option("--lang", help="With --scaffold: what the agent is written in.")
    ] = Language.python,
    every: Annotated[bool, typer.Option("--all", help="Measure every agent of the registry that can be run.")] = False,
    parity: Annotated[
        bool,
        typer.Option("--parity", help="Then compare it alone and inside, as `benchflow parity` does."),
    ] = False,
    skill: Annotated[
        bool,
        typer.Option(
            "--skill", help="Instead: print how an agent is adapted, from beginning to end, for a coding agent to do."
        ),
    ] = False,
    probe_only: Annotated[bool, typer.Option("--probe-only", help="Measure, and store nothing.")] = False,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Keep the evidence beside the manifest, not in your own folder.")
    ] = False,
    allow_network: Annotated[
        bool, typer.Option("--allow-network", help="Probe with the network open; the evidence says so.")
    ] = False,
    own_backend: Annotated[
        bool,
        typer.Option(
            "--own-backend",
            help="Probe the agent on the backend of its own that its manifest declares. Its vendor may charge for it.",
        ),
    ] = False,
    sandbox: Annotated[SandboxWish, typer.Option(help="How the agent is isolated.")] = SandboxWish.auto,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="For each request to the agent. Default: 60, or what its manifest says for the handshake.",
            show_default=False,
        ),
    ] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="With --all: how many agents at once.")] = 2,
    reinstall: Annotated[bool, typer.Option("--reinstall", help="Install the agent anew.")] = False,
    agents_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder of manifests that is looked in first.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value and nothing else on stdout.")] = False,
) -> None:
    """Adopt an agent: validate its manifest, install it, probe it, and keep the evidence of its tier.

    The probe shakes hands, opens a session, looks which model arrives on the wire, lets it solve a scenario that the
    oracle plays, prompts it again, cancels it, refuses it a permission and its key, and sees how it leaves. It costs
    nothing: no model is asked.

    It ends with whether parity was shown of this manifest at this version, and with the command that shows it.

    Exit codes: 0 measured; 1 measured lower than its manifest claims, or not the same inside; 2 something to be
    corrected; 3 it could not be measured or compared.
    """
    if skill:
        from benchflow.authoring.skill import skill_text

        typer.echo(skill_text(), nl=False)
        return None
    if scaffold is not None:
        given = (target, source, agent_command, name)
        return _make(scaffold, language, alone=not (every or parity) and all(value is None for value in given))
    from benchflow.machine.home import Home
    from benchflow.registering.comparing import compare_registered, refuse_parity
    from benchflow.registering.run import RegisterRequest, run_every, run_one
    from benchflow.registering.target import Wish
    from benchflow.report.registering import StepLines, describe, describe_outcome, print_outcomes, print_verdict
    from benchflow.report.terminal import open_console, print_json

    request = RegisterRequest(
        wish=Wish(target=target, source=source, command=agent_command, name=name, agents_dir=agents_dir),
        keep=not probe_only,
        in_place=in_place,
        network="open" if allow_network else "hosts" if own_backend else "gateway",
        own_backend=own_backend,
        sandbox=sandbox.value,
        timeout_s=timeout,
        reinstall=reinstall,
        at_once=concurrency,
    )
    home = Home.find(os.environ)
    if parity:
        refuse_parity(request, every=every)
    if every:
        outcomes = run_every(request)
        if as_json:
            print_json([describe_outcome(outcome, home) for outcome in outcomes])
        else:
            print_outcomes(open_console(), outcomes)
        codes = [outcome.registered.exit_code if outcome.registered else 2 for outcome in outcomes]
        raise typer.Exit(next((code for code in (2, 3, 1) if code in codes), 0))
    done = run_one(request, StepLines())
    code = compare_registered(done, request) if parity else done.exit_code
    if as_json:
        print_json(describe(done, home))
    else:
        print_verdict(open_console(), done, home)
    raise typer.Exit(code)


def _make(name: str, language: Language, *, alone: bool) -> None:
    """Make a new agent in the current folder, and say what comes next."""
    from benchflow.authoring.scaffold_agent import make_agent, what_now
    from benchflow.errors import InputError

    if not alone:
        raise InputError(
            "--scaffold makes a new agent; leave TARGET, --from, --command, --name, --all and --parity away"
        )
    made = make_agent(name, language.value, Path())
    typer.echo(made)
    typer.echo(what_now(made, language.value), err=True)
