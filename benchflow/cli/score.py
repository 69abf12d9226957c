"""`benchflow score`: a stored run, scored and analyzed again."""

from pathlib import Path
from typing import Annotated

import typer

from benchflow.cli.options import (
    SCORING,
    JudgeModel,
    JudgeName,
    JudgeRecord,
    JudgeRepeats,
    JudgeUpstream,
    Prices,
    SandboxWish,
    ScorerName,
)
from benchflow.cli.runs import Json, Out, Run


def command(
    run: Run = "last",
    scorer: ScorerName = None,
    judge_model: JudgeModel = None,
    judge_upstream: JudgeUpstream = None,
    judge: JudgeName = None,
    judge_repeats: JudgeRepeats = 1,
    judge_record: JudgeRecord = None,
    keep_verdicts: Annotated[
        bool,
        typer.Option(
            "--keep-verdicts", help="Ask collectors and analyzers anew, and no scorer.", rich_help_panel=SCORING
        ),
    ] = False,
    collector: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Ask this collector too; may be repeated.", show_default=False),
    ] = None,
    analyzer: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Ask this analyzer too; may be repeated.", show_default=False),
    ] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SCENARIO",
            help="Where the run's scenarios are now; may be repeated. Default: where they were.",
            show_default=False,
        ),
    ] = None,
    changed_scenarios: Annotated[
        bool,
        typer.Option(
            "--changed-scenarios",
            help="Score by checks and rubrics that were changed since; the task must still be the same.",
        ),
    ] = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Let the new rows count from now on, in every table: they are added to the run's own."
        ),
    ] = False,
    concurrency: Annotated[int, typer.Option(min=1, help="How many trials are scored at once.")] = 1,
    sandbox: Annotated[SandboxWish, typer.Option(help="How checks are isolated.")] = SandboxWish.auto,
    prices: Prices = None,
    out: Out = Path("runs"),
    as_json: Json = False,
) -> None:
    """Score a stored run again, and ask collectors and analyzers anew, without running any agent.

    Checks see the workspace that was kept, or one that is made again from the scenario and the trial's diff where that
    is surely the same; a trial of which neither is to be had stays as it was. Nothing is overwritten: the new rows go
    to a file beside the run's own. Exit code 3: a trial that should have been scored could not be.
    """
    from benchflow.judging.choice import JudgeChoice, ScorerChoice
    from benchflow.report.rescoring import print_rescored, rescore_value
    from benchflow.report.terminal import open_console, print_json
    from benchflow.runner.plugged import PluginNames
    from benchflow.runner.rescore import RescoreRequest, rescore_sync

    result = rescore_sync(
        RescoreRequest(
            run=run,
            out=out,
            scoring=ScorerChoice(
                scorer=scorer,
                judge=JudgeChoice(
                    provider=judge,
                    model=judge_model,
                    upstream=judge_upstream,
                    repeats=judge_repeats,
                    record=judge_record,
                ),
            ),
            keep_verdicts=keep_verdicts,
            plugins=PluginNames(collectors=tuple(collector or ()), analyzers=tuple(analyzer or ())),
            scenarios=tuple(scenario or ()),
            changed_scenarios=changed_scenarios,
            sandbox=sandbox.value,
            prices=prices,
            concurrency=concurrency,
            replace=replace,
        )
    )
    if as_json:
        print_json(rescore_value(result))
    else:
        print_rescored(open_console(), result)
    raise typer.Exit(result.exit_code)
