"""`benchflow scenarios`: what there is to run, what is in one, whether they measure anything, and a new one."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from benchflow.cli.options import SandboxWish

if TYPE_CHECKING:
    from benchflow.authoring.commit_proof import Settled
    from benchflow.authoring.from_commit import Draft
    from benchflow.authoring.prove import Proof
    from benchflow.scenario import Scenario

SandboxName = Literal["auto", "bubblewrap", "process"]


Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="[SCENARIO]...", help="Ids, paths, folders of many; default: all.", show_default=False),
]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="Only scenarios with this tag; may be repeated.")]
Exclude = Annotated[list[str] | None, typer.Option(help="Leave this scenario out; may be repeated.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else on stdout.")]

app = typer.Typer(help="List, show, check and make scenarios.", invoke_without_command=True)


@app.callback()
def default(context: typer.Context, as_json: Json = False) -> None:
    """List, show, check and make scenarios. Without a command: list the bundled ones."""
    if context.invoked_subcommand is None:
        list_command(None, None, None, as_json)


@app.command("list")
def list_command(names: Names = None, tag: Tags = None, exclude: Exclude = None, as_json: Json = False) -> None:
    """List scenarios: what each is about, how hard it is, and how many steps its solution has."""
    from benchflow.report.scenarios import describe, print_list
    from benchflow.report.terminal import open_console, print_json
    from benchflow.scenario import find_scenarios

    scenarios = find_scenarios(names or ["all"], tags=tag or (), exclude=exclude or ())
    if as_json:
        print_json([describe(scenario) for scenario in scenarios])
    else:
        print_list(open_console(), scenarios)


@app.command("show")
def show_command(
    name: Annotated[str, typer.Argument(metavar="SCENARIO", help="An id, or the path of a scenario.")],
    as_json: Json = False,
) -> None:
    """Show one scenario: its prompts, workspace, checks and solution."""
    from benchflow.errors import InputError
    from benchflow.report.scenarios import describe_whole, print_one
    from benchflow.report.terminal import open_console, print_json
    from benchflow.scenario import find_scenarios

    found = find_scenarios([name])
    if len(found) > 1:
        raise InputError(f"{name}: holds {len(found)} scenarios; `benchflow scenarios list {name}` lists them")
    if as_json:
        print_json(describe_whole(found[0]))
    else:
        print_one(open_console(), found[0])


@app.command("check")
def check_command(
    names: Names = None,
    tag: Tags = None,
    exclude: Exclude = None,
    repetitions: Annotated[
        int, typer.Option("-n", "--repetitions", min=1, help="How often the solution is carried out and scored.")
    ] = 10,
    concurrency: Annotated[int, typer.Option(min=1, help="How many scenarios are checked at once.")] = 2,
    sandbox: Annotated[SandboxWish, typer.Option(help="Where solutions and checks run.")] = SandboxWish.auto,
    as_json: Json = False,
) -> None:
    """Check that scenarios measure something. Ends with 1 if one does not.

    The solution must pass every check, doing nothing must not succeed and score at most 0.5, and all repetitions agree.
    """
    import anyio

    from benchflow.report.scenarios import print_proofs
    from benchflow.report.terminal import open_console, print_json
    from benchflow.scenario import find_scenarios

    scenarios = find_scenarios(names or ["all"], tags=tag or (), exclude=exclude or ())
    proofs = anyio.run(_prove, scenarios, sandbox.value, repetitions, concurrency)
    if as_json:
        print_json(proofs)
    else:
        print_proofs(open_console(), proofs)
    if not all(proof.passed for proof in proofs):
        raise typer.Exit(1)


async def _prove(scenarios: "list[Scenario]", wish: SandboxName, repetitions: int, concurrency: int) -> "list[Proof]":
    import os

    from benchflow.authoring.prove import prove_all
    from benchflow.machine.home import Home
    from benchflow.sandbox.choose import choose_sandbox

    def say(proof: "Proof") -> None:
        typer.echo(f"{proof.scenario}: {'ok' if proof.passed else 'FAILED'}", err=True)

    choice = await choose_sandbox(wish)
    typer.echo(f"sandbox: {choice.sandbox.isolation} ({choice.reason})", err=True)
    async with choice.sandbox as sandbox:
        return await prove_all(
            scenarios,
            sandbox=sandbox,
            home=Home.find(os.environ),
            repetitions=repetitions,
            concurrency=concurrency,
            on_proof=say,
        )


@app.command("new")
def new_command(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="Lower-case letters, digits, `-`, `.` and `_`.")],
    folder: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where its folder is made.")] = Path("scenarios"),
) -> None:
    """Make a small scenario that is complete and passes `benchflow scenarios check`, to be changed into your own."""
    from benchflow.authoring.scaffold import make_scenario

    made = make_scenario(identifier, folder)
    typer.echo(made)
    typer.echo(f"edit {made / 'scenario.toml'}, then: benchflow scenarios check {made}", err=True)


@app.command("from-commit")
def from_commit_command(
    repository: Annotated[str, typer.Argument(metavar="REPO", help="A repository's folder, or its URL.")],
    commit: Annotated[str, typer.Argument(metavar="SHA", help="The commit; of a URL its full id, or a tag.")],
    folder: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where its folder is made.")] = Path("scenarios"),
    package: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME==VERSION", help="What the tests import beside the repository; may be repeated."),
    ] = None,
    sandbox: Annotated[SandboxWish, typer.Option(help="Where the tests are run.")] = SandboxWish.auto,
) -> None:
    """Make a scenario of a commit that fixed something: its parent is the workspace, its tests are hidden.

    Its Python tests are run before and after it. Ends with 1 if they do not tell the one from the other.
    """
    import tempfile

    import anyio

    from benchflow.authoring.commit import read_commit
    from benchflow.authoring.from_commit import make_draft
    from benchflow.report.made_scenarios import print_settled
    from benchflow.report.terminal import open_console
    from benchflow.scenario_sources.git import Git

    with tempfile.TemporaryDirectory() as scratch:
        git = Git.create(Path(scratch) / "repository")
        draft = make_draft(read_commit(repository, commit, git), git, folder, package or ())
    settled = anyio.run(_settle, draft, sandbox.value)
    typer.echo(draft.folder)
    print_settled(open_console(stderr=True), settled)
    if settled.problem:
        raise typer.Exit(1)


async def _settle(draft: "Draft", wish: SandboxName) -> "Settled":
    import os

    from benchflow.authoring.commit_proof import settle
    from benchflow.machine.home import Home
    from benchflow.sandbox.choose import choose_sandbox

    choice = await choose_sandbox(wish)
    async with choice.sandbox as sandbox:
        return await settle(draft, sandbox, Home.find(os.environ))


@app.command("import")
def import_command(
    tasks: Annotated[Path, typer.Argument(metavar="DIR", help="A task of Harbor, or a folder of many.")],
    folder: Annotated[Path, typer.Option("--dir", metavar="DIR", help="Where the scenarios are made.")] = Path(
        "scenarios"
    ),
    as_json: Json = False,
) -> None:
    """Make scenarios of Harbor's tasks, without running anything of them. Ends with 1 if none could be.

    One that needs an image is listed with the reason. Prove the others: `benchflow scenarios check DIR`.
    """
    from benchflow.authoring.harbor.convert import convert
    from benchflow.authoring.harbor.task import find_tasks, read_task
    from benchflow.report.made_scenarios import print_imported
    from benchflow.report.terminal import open_console, print_json

    imported = [convert(read_task(place), folder) for place in find_tasks(tasks)]
    if as_json:
        print_json(imported)
    else:
        print_imported(open_console(), imported)
    if not any(entry.scenario for entry in imported):
        raise typer.Exit(1)
