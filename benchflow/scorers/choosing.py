"""Which scorer judges a run's trials: from what the user said to one that is open. Knows no run."""

from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from benchflow.clock import Clock
from benchflow.contracts import JudgeProvider, Scorer
from benchflow.errors import InputError
from benchflow.gateway.upstreams.opening import OpenedUpstream
from benchflow.judging.choice import JudgeChoice, ScorerChoice
from benchflow.plugins import load
from benchflow.redact import Redactor
from benchflow.sandbox.interface import Sandbox
from benchflow.scenario import Scenario
from benchflow.scorers.checks import ChecksScorer
from benchflow.scorers.foreign import ForeignScorer
from benchflow.workspaces.toolchain import Toolchains

if TYPE_CHECKING:
    from benchflow.gateway.own_prices import OwnPrices
    from benchflow.judging.sitting import Judges

BUILT_IN = ("checks", "rubric", "composite")


@dataclass(frozen=True, kw_only=True)
class Scoring:
    """How a run's trials are scored, looked up and not yet open."""

    name: str
    """One of `BUILT_IN`, or a plugin's id."""
    own: Scorer | None = None
    """A plugin; None: `name` is built in."""
    judge: OpenedUpstream | JudgeProvider | None = None
    repeats: int = 1
    record: Path | None = None
    """The cassette of the judge that is written; None: none."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be in any file of the run."""
        return self.judge.secrets if isinstance(self.judge, OpenedUpstream) else ()

    @property
    def judge_label(self) -> str | None:
        """The judge's name and where it is asked; None: there is none."""
        if isinstance(self.judge, OpenedUpstream):
            return f"{self.judge.model} ({self.judge.label})"
        return self.judge.id if self.judge else None

    @property
    def needs_workspace(self) -> bool:
        """Whether it looks at the workspace itself. A judge is shown no more than its diff."""
        return self.own is not None or self.name != "rubric"

    @asynccontextmanager
    async def open(
        self,
        *,
        sandbox: Sandbox,
        toolchains: Toolchains,
        clock: Clock,
        redactor: Redactor,
        prices: "OwnPrices | None" = None,
    ) -> AsyncIterator[Scorer]:
        """Have the scorer while the block runs. Raises InputError where the judge is not there."""
        checks = ChecksScorer(sandbox, toolchains)
        if self.own or self.judge is None:
            yield ForeignScorer(self.own) if self.own else checks
            return
        from benchflow.scorers.composite import CompositeScorer
        from benchflow.scorers.rubric import RubricScorer

        async with _open_judges(self.judge, clock, redactor, prices, self.record) as judges:
            rubric = RubricScorer(judges, redactor, repeats=self.repeats)
            yield rubric if self.name == "rubric" else CompositeScorer(checks, rubric)


@asynccontextmanager
async def _open_judges(
    judge: OpenedUpstream | JudgeProvider,
    clock: Clock,
    redactor: Redactor,
    prices: "OwnPrices | None",
    record: Path | None,
) -> "AsyncIterator[Judges]":
    if isinstance(judge, OpenedUpstream):
        from benchflow.judging.gateway_judge import GatewayJudges

        recorder = None
        if record:
            from benchflow.judging.tape import judge_recorder

            recorder = judge_recorder(record, judge, redactor)
        async with GatewayJudges(judge, clock=clock, redactor=redactor, prices=prices, record=recorder) as judges:
            yield judges
    else:
        from benchflow.judging.sitting import OneJudge

        yield OneJudge(judge)


def choose_scoring(
    choice: ScorerChoice,
    scenarios: Iterable[Scenario],
    environ: Mapping[str, str],
    plugged: Mapping[str, Scorer] = MappingProxyType({}),
) -> Scoring:
    """Find the scorer, and the judge if it needs one. Raises InputError for what is missing, unknown or of no use.

    `plugged` has a scorer that is there already, by its name; it is taken unless another one is asked for.
    """
    ruled = [scenario.id for scenario in scenarios if scenario.rubric]
    name = choice.scorer or next(iter(plugged), "composite" if ruled else "checks")
    if name not in BUILT_IN:
        own = plugged[name] if name in plugged else _load_scorer(name)
        if choice.judge.named:
            raise InputError(f"a judge was named, and the scorer `{name}` asks none of ours; leave the judge out")
        return Scoring(name=own.id, own=own)
    needs = name == "rubric" or (name == "composite" and bool(ruled))
    if not needs:
        if choice.judge.named:
            raise InputError(
                f"a judge was named, and the scorer `{name}` would never ask it: {_why_not(bool(ruled))}; add "
                "--scorer rubric, or leave the judge out"
            )
        return Scoring(name=name)
    if not choice.judge.named:
        reason = f"scenario {ruled[0]} has a [rubric]" if name == "composite" else "the scorer `rubric` was asked for"
        without = "; or leave rubrics out with --scorer checks" if ruled else ""
        raise InputError(
            f"{reason}, and there is no judge; name one with --judge-model, as in openai/gpt-4.1, or --judge-upstream"
            f"{without}"
        )
    if choice.judge.record:
        from benchflow.gateway.cassettes.writer import refuse_existing

        refuse_existing(choice.judge.record)
    return Scoring(
        name=name,
        judge=_judge(choice.judge, environ),
        repeats=choice.judge.repeats,
        record=choice.judge.record,
    )


def _load_scorer(name: str) -> Scorer:
    try:
        return load("scorer", name)
    except InputError as exc:
        raise InputError(f"--scorer: {exc} ({', '.join(BUILT_IN)} are built in)") from exc


def _judge(choice: JudgeChoice, environ: Mapping[str, str]) -> OpenedUpstream | JudgeProvider:
    if choice.provider:
        return load("judge", choice.provider)
    from benchflow.judging.opening import open_judge

    return open_judge(choice, environ)


def _why_not(ruled: bool) -> str:
    return "it leaves rubrics out" if ruled else "no scenario has a [rubric]"
