"""`benchflow run`: the main job."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from benchflow.cli.beginning import Config, DryRun, Resume, RetryUnscored
from benchflow.cli.budgets import (
    Grace,
    GraceTurns,
    IdleInTools,
    IdleTimeout,
    MaxCost,
    MaxCostPerTrial,
    MaxOutputTokens,
    MaxSubagentTurns,
    MaxTokens,
    MaxToolCalls,
    MaxTurns,
    WrapUp,
    WrapUpMessage,
)
from benchflow.cli.matrix import (
    AnalyzerNames,
    Canary,
    CollectorNames,
    HookNames,
    MaxRepetitions,
    ModeNames,
    ModesFile,
    PluginTexts,
    ProviderName,
    ResolverNames,
    UntilCi,
)
from benchflow.cli.options import (
    Faults,
    JudgeModel,
    JudgeName,
    JudgeRecord,
    JudgeRepeats,
    JudgeUpstream,
    MaxRequests,
    MaxWait,
    Prices,
    RequestsPerMinute,
    RetryUpstream,
    SandboxWish,
    ScorerName,
    TokensPerMinute,
)
from benchflow.cli.reporting import FailOnRegression, Margin, RequirePower

WHAT, MODEL, PLACE, RESULT = "What runs", "What answers", "Where it runs", "What comes of it"
"""Headings of the options."""


class KeepWish(StrEnum):
    always = "always"
    failed = "failed"
    never = "never"


def command(
    context: typer.Context,
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="AGENT[,AGENT] SCENARIO...",
            help="Agents (name, name@version, or a manifest's path) and scenarios (ids, paths, folders, or all).",
            show_default=False,
        ),
    ] = None,
    config: Config = None,
    dry_run: DryRun = False,
    resume: Resume = None,
    retry_unscored: RetryUnscored = False,
    agent_command: Annotated[
        str | None,
        typer.Option(
            "--command", metavar="CMD", help="Run this unregistered ACP server instead of AGENT.", rich_help_panel=WHAT
        ),
    ] = None,
    repetitions: Annotated[
        int,
        typer.Option(
            "-n",
            "--repetitions",
            min=1,
            metavar="N",
            help="How often each cell runs; with --until-ci, at least.",
            rich_help_panel=WHAT,
        ),
    ] = 1,
    until_ci: UntilCi = None,
    max_repetitions: MaxRepetitions = None,
    concurrency: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many trials run at once.", rich_help_panel=WHAT)
    ] = 1,
    model: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODEL",
            help="A model: provider/model, or a name that --upstream URL knows; may be repeated. "
            "Default: the oracle plays.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    mode: ModeNames = None,
    modes: ModesFile = None,
    canary: Canary = False,
    upstream: Annotated[
        str | None,
        typer.Option(
            metavar="UPSTREAM",
            help="oracle, null, script:FILE, or the base URL of a compatible server.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    strict_model: Annotated[
        bool,
        typer.Option(
            "--strict-model",
            help="Refuse main requests for another model, instead of rewriting them.",
            rich_help_panel=MODEL,
        ),
    ] = False,
    own_backend: Annotated[
        bool,
        typer.Option(
            "--own-backend",
            help="Run the agent on the backend of its own that its manifest declares: ACP log only, no exchanges, "
            "its model not enforced, and of the network the declared hosts alone.",
            rich_help_panel=MODEL,
        ),
    ] = False,
    require_capture: Annotated[
        bool | None,
        typer.Option(
            "--require-capture/--no-require-capture",
            help="A trial without a captured exchange is an error. Default: where the manifest declares api_protocol.",
            show_default=False,
            rich_help_panel=MODEL,
        ),
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Record all that the models answer in this new cassette.",
            show_default=False,
            rich_help_panel=MODEL,
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Answer from this cassette: no key, no network, no model. What it does not have fails the trial.",
            show_default=False,
            rich_help_panel=MODEL,
        ),
    ] = None,
    prices: Prices = None,
    max_requests: MaxRequests = None,
    rpm: RequestsPerMinute = None,
    tpm: TokensPerMinute = None,
    retry_upstream: RetryUpstream = 0,
    max_wait: MaxWait = 300.0,
    faults: Faults = None,
    sandbox: Annotated[
        SandboxWish, typer.Option(help="How trials are isolated.", rich_help_panel=PLACE)
    ] = SandboxWish.auto,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0.1,
            metavar="SECONDS",
            help="Budget of each trial's prompts. Default: the scenario's.",
            rich_help_panel=WHAT,
        ),
    ] = None,
    max_turns: MaxTurns = None,
    grace_turns: GraceTurns = None,
    max_subagent_turns: MaxSubagentTurns = None,
    max_tool_calls: MaxToolCalls = None,
    max_tokens: MaxTokens = None,
    max_output_tokens: MaxOutputTokens = None,
    max_cost_per_trial: MaxCostPerTrial = None,
    idle_timeout: IdleTimeout = None,
    idle_in_tools: IdleInTools = None,
    grace: Grace = None,
    wrap_up: WrapUp = None,
    wrap_up_message: WrapUpMessage = None,
    max_cost: MaxCost = None,
    tag: Annotated[
        list[str] | None,
        typer.Option(metavar="TAG", help="Only scenarios with this tag; may be repeated.", rich_help_panel=WHAT),
    ] = None,
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="SCENARIO", help="Leave this scenario out; may be repeated.", rich_help_panel=WHAT),
    ] = None,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where runs are stored.", rich_help_panel=RESULT)] = Path(
        "runs"
    ),
    keep: Annotated[
        KeepWish, typer.Option(help="Whose workspaces are kept.", rich_help_panel=RESULT)
    ] = KeepWish.failed,
    reinstall: Annotated[
        bool, typer.Option("--reinstall", help="Install the agent anew.", rich_help_panel=PLACE)
    ] = False,
    agents_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder of manifests that is looked in first.", rich_help_panel=PLACE),
    ] = None,
    provider: ProviderName = None,
    plugin: PluginTexts = None,
    collector: CollectorNames = None,
    analyzer: AnalyzerNames = None,
    mode_resolver: ResolverNames = None,
    hooks: HookNames = None,
    scorer: ScorerName = None,
    judge_model: JudgeModel = None,
    judge_upstream: JudgeUpstream = None,
    judge: JudgeName = None,
    judge_repeats: JudgeRepeats = 1,
    judge_record: JudgeRecord = None,
    fail_under: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="SCORE",
            help="Exit 1 when the mean score of scored trials is below.",
            rich_help_panel=RESULT,
        ),
    ] = None,
    fail_on_regression: FailOnRegression = None,
    margin: Margin = 0.0,
    require_power: RequirePower = None,
    max_unscored: Annotated[
        str,
        typer.Option(
            metavar="N|P%", help="Exit 3 when more trials than this could not be scored.", rich_help_panel=RESULT
        ),
    ] = "0",
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object and nothing else on stdout.", rich_help_panel=RESULT)
    ] = False,
) -> None:
    """Run an agent on scenarios: launch it, give it each task, score what it leaves behind, and print the table.

    Without --model and --upstream the oracle plays each scenario's own solution through the agent's own tools: it
    needs no key, and shows that the agent and everything around it work. It says nothing about a model.
    """
    from benchflow.cli.given import given_options
    from benchflow.cli.output import print_plan, print_run
    from benchflow.runner.asking import ask

    given = given_options(context)
    asked = ask(targets or [], given, config=config, resume=resume, retry_unscored=retry_unscored)
    if dry_run:
        print_plan(asked.plan(), as_json=as_json)
        return
    result = asked.run()
    print_run(result, as_json=as_json)
    raise typer.Exit(result.exit_code)
