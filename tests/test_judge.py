"""The judge that is a model: asked through a gateway of its own, with a key of its own, on record, and metered."""

import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from rubrics import TOML, said
from scenario_rig import ONE_CHECK, BrokenSandbox, check, make_rig

from benchflow.clock import Clock
from benchflow.contracts import JudgeRequest, ScorerContext, ScorerResult
from benchflow.errors import InputError
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.dialects.writing import json_response
from benchflow.gateway.http.client import HttpClient
from benchflow.gateway.http.server import serve
from benchflow.gateway.message import RawRequest, RawResponse
from benchflow.gateway.own_prices import read_prices
from benchflow.gateway.records.exchanges import read_exchanges
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.opening import OpenedUpstream
from benchflow.gateway.upstreams.providers import providers
from benchflow.gateway.upstreams.script import Script, ScriptedAnswer, read_script
from benchflow.gateway.wrapping.retrying import Retries
from benchflow.judging.asking import SPOKEN, Asker, write_body
from benchflow.judging.choice import JudgeChoice
from benchflow.judging.gateway_judge import GatewayJudges
from benchflow.judging.opening import open_judge
from benchflow.judging.sitting import Case
from benchflow.redact import Redactor
from benchflow.scorers.rubric import RubricScorer

KEY = "sk-of-the-judge-0001"
QUICKLY = Retries(times=2, backoff_s=0.001)


def script(tmp_path: Path, *answers: Any) -> OpenedUpstream:
    """Open a judge that gives these answers."""
    path = tmp_path / "judge.json"
    path.write_text(json.dumps(answers))
    return open_judge(JudgeChoice(upstream=f"script:{path}"), {})


async def judged(
    tmp_path: Path, opened: OpenedUpstream, *, repeats: int = 1, output: str = "Done.", prices: Path | None = None
) -> ScorerResult:
    """Score an untouched workspace by the rubric, the judge's record in `try`."""
    rig = await make_rig(tmp_path, BrokenSandbox(), ONE_CHECK + check("rubric") + TOML)
    redactor = Redactor(opened.secrets)
    metadata = {"trial": "sample-mini-baseline-0-12345678", "attempt": 1, "folder": tmp_path / "try"}
    context = ScorerContext(agent_output=output, workspace=rig.workspace, metadata=metadata)
    own = read_prices(prices, named_by="--prices") if prices else None
    async with GatewayJudges(opened, clock=Clock(), redactor=redactor, prices=own, retries=QUICKLY) as judges:
        return await RubricScorer(judges, redactor, repeats=repeats).evaluate(rig.scenario, context)


def record(tmp_path: Path) -> list[Mapping[str, Any]]:
    return [recorded.line for recorded in read_exchanges(tmp_path / "try" / "judge" / "llm.jsonl")]


async def test_a_scripted_judge_scores_and_is_on_record(tmp_path: Path) -> None:
    result = await judged(tmp_path, script(tmp_path, "no verdict", said("pass", 3), said("fail", 4)), repeats=2)

    assert (result.success, result.score) == (False, 0.46875)  # 3/4 of (0.5 + 0.75) / 2; a tie of passes fails
    account = result.extensions["judge"]
    assert (account["judge"], account["calls"]) == (f"script (script:{tmp_path / 'judge.json'})", 3)
    assert account["cost"].source == "nothing was bought"
    exchanges = record(tmp_path)
    assert [(line["role"], line["status"], line["dialect"]) for line in exchanges] == [
        ("main", 200, "openai-completions")
    ] * 3
    assert account["tokens"].output == sum(line["usage"]["output"] for line in exchanges)


@pytest.mark.parametrize(
    ("failure", "said_why"),
    [
        ({"status": 429, "text": "slow down"}, "status 429: slow down"),
        ({"status": 503, "text": "overloaded"}, "status 503: overloaded"),
        ({"status": 400, "text": "no such model"}, "status 400: no such model"),
        ({"fault": "silent"}, "no answer: the script has no answer here"),
        ({"fault": "cut", "text": said()}, "cut off"),
        ({"text": ""}, "it said nothing"),
    ],
)
async def test_a_failing_judge_leaves_the_trial_unscored(
    tmp_path: Path, failure: dict[str, Any], said_why: str
) -> None:
    result = await judged(tmp_path, script(tmp_path, failure))

    assert (result.success, result.score) == (None, None)
    assert result.error is not None
    assert said_why in result.error
    assert result.extensions["judge"]["failed"] == 1


async def test_a_passing_failure_of_the_judge_is_repeated_by_its_gateway(tmp_path: Path) -> None:
    result = await judged(tmp_path, script(tmp_path, {"status": 429}, {"status": 503}, said()))

    assert result.score == 1.0
    assert result.extensions["judge"]["calls"] == 1
    assert len(record(tmp_path)[0]["attempts"]) == 3


@dataclass
class Provider:
    """A model's provider, which plays answers and knows what it was asked."""

    answers: Script
    name: str = "provider"
    priced_as: str | None = None
    asked: list[RawRequest] = field(default_factory=list)

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        if context.dialect is None:
            return json_response(404, {"detail": "Not Found"})
        if context.parsed:
            self.asked.append(request)
        return await self.answers.send(request, context)

    async def aclose(self) -> None: ...


@asynccontextmanager
async def provider(*dialects: str, answer: str = "") -> AsyncIterator[tuple[Provider, str]]:
    """Serve a provider that speaks only these dialects; yield it and its base URL."""
    behind = Provider(Script([ScriptedAnswer(text=answer or said())]))
    sock = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{sock.getsockname()[1]}/v1"
    context = TrialContext(trial="t", attempt=1, model="", alone=True)
    async with serve(behind, [sock], context=context, dialects={name: DIALECTS[name] for name in dialects}):
        yield behind, url


@pytest.mark.parametrize(
    ("dialect", "path", "key"),
    [
        ("openai-completions", "/v1/chat/completions", ("authorization", f"Bearer {KEY}")),
        ("anthropic-messages", "/v1/messages", ("x-api-key", KEY)),
    ],
)
async def test_a_judge_is_asked_in_its_upstreams_dialect_with_its_own_key(
    tmp_path: Path, dialect: str, path: str, key: tuple[str, str]
) -> None:
    environ = {"BENCHFLOW_JUDGE_KEY": KEY, "BENCHFLOW_UPSTREAM_KEY": "sk-of-the-agent"}
    (tmp_path / "prices.toml").write_text(
        '[[prices]]\nmodel = "judge-1"\ninput_usd_per_mtok = 1000000\noutput_usd_per_mtok = 0\n'
    )
    async with provider(dialect) as (behind, url):
        opened = open_judge(JudgeChoice(model="judge-1", upstream=url), environ)
        result = await judged(tmp_path, opened, output=f"my key is {KEY}", prices=tmp_path / "prices.toml")

    assert result.score == 1.0
    assert [request.path for request in behind.asked] == [path]
    assert behind.asked[0].header(key[0]) == key[1]
    body = json.loads(behind.asked[0].body)
    assert (body["model"], body["max_tokens"]) == ("judge-1", 8_000)
    assert "my key is [redacted:known]" in body["messages"][0]["content"]
    account = result.extensions["judge"]
    assert account["cost"].total_usd == account["tokens"].input
    written = (tmp_path / "try" / "judge" / "llm.jsonl").read_text()
    assert KEY not in written
    assert "sk-of-the-agent" not in written


async def test_a_judge_whose_upstream_speaks_nothing_that_we_do_is_refused(tmp_path: Path) -> None:
    async with provider("google-generative-ai") as (_, url):
        opened = open_judge(JudgeChoice(model="judge-1", upstream=url), {})
        with pytest.raises(InputError, match="speaks google-generative-ai; a judge is asked in openai-completions or"):
            await judged(tmp_path, opened)


def test_openai_is_told_the_cap_in_its_own_word() -> None:
    request = JudgeRequest(prompt="?", model="m", max_output_tokens=7)
    bodies = [write_body(SPOKEN[0], request, cap=providers()[name].output_cap) for name in ("openai", "mistral")]

    assert [body.get("max_completion_tokens") for body in bodies] == [7, None]
    assert [body.get("max_tokens") for body in bodies] == [None, 7]


@pytest.mark.parametrize(
    ("choice", "environ", "complaint"),
    [
        (JudgeChoice(model="openai/gpt-4.1"), {}, "no key for openai; set OPENAI_API_KEY, or BENCHFLOW_JUDGE_KEY"),
        (JudgeChoice(model="gpt-4.1"), {}, "--judge-model gpt-4.1: say whose it is"),
        (JudgeChoice(upstream="openai"), {}, "--judge-upstream openai: say with --judge-model which"),
        (JudgeChoice(upstream="http://127.0.0.1:1/v1"), {}, "say with --judge-model which of its models"),
        (JudgeChoice(upstream="oracle"), {}, "--judge-upstream oracle: it cannot judge"),
        (JudgeChoice(upstream="openia", model="x"), {}, "--judge-upstream openia: not known"),
        (JudgeChoice(upstream="script:missing.json"), {}, "script:missing.json: cannot be read"),
    ],
)
def test_what_is_wrong_with_a_judge_is_said_before_anything_starts(
    choice: JudgeChoice, environ: Mapping[str, str], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        open_judge(choice, environ)


@pytest.mark.parametrize(
    ("environ", "key"),
    [
        ({"OPENAI_API_KEY": "agents"}, "agents"),
        ({"OPENAI_API_KEY": "agents", "BENCHFLOW_JUDGE_KEY": "judges"}, "judges"),
        ({"BENCHFLOW_JUDGE_KEY": "judges"}, "judges"),
    ],
)
def test_a_judges_key_is_the_providers_or_its_own(environ: Mapping[str, str], key: str) -> None:
    opened = open_judge(JudgeChoice(model="openai/gpt-4.1"), environ)

    assert opened.secrets == (key,)


def test_the_agents_key_is_not_sent_to_another_server() -> None:
    environ = {"BENCHFLOW_UPSTREAM_KEY": "sk-of-the-agent"}
    opened = open_judge(JudgeChoice(model="m", upstream="http://127.0.0.1:9/v1"), environ)

    assert opened.secrets == ()


def test_a_judges_script_is_that_of_an_upstream(tmp_path: Path) -> None:
    (tmp_path / "judge.json").write_text(json.dumps([said()]))

    assert read_script(tmp_path / "judge.json") == [ScriptedAnswer(text=said())]


async def test_a_judge_whose_calls_cannot_be_recorded_leaves_the_trial_unscored(tmp_path: Path) -> None:
    (tmp_path / "try").write_text("a file, where a folder should be")
    result = await judged(tmp_path, script(tmp_path, said()))

    assert result.success is None
    assert result.error is not None
    assert result.error.startswith("the judge's calls cannot be recorded: ")


async def test_nobody_else_can_ask_the_judge(tmp_path: Path) -> None:
    case = Case(iteration=0, trial="t", attempt=1, folder=tmp_path)
    async with (
        GatewayJudges(script(tmp_path, said()), clock=Clock(), redactor=Redactor([])) as judges,
        judges.sit(case) as judge,
    ):
        assert isinstance(judge, Asker)
        client = HttpClient()
        head, body = await client.send(
            "POST", f"{judge.base}/v1/chat/completions", (("Authorization", "Bearer another"),), b"{}", lambda: None
        )
        await body.aclose()
        await client.aclose()

    assert head.status == 401
