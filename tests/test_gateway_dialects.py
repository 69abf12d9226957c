"""What holds for every dialect: requests are read and changed, answers written and put together again, in its form."""

import json
from collections.abc import Sequence
from itertools import pairwise

import pytest
from dialect_samples import ERROR, SAMPLES, TEXT, TOKENS, Ask, Sample, in_every_dialect
from hypothesis import given
from hypothesis import strategies as st
from wire import MODEL, PROMPT

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.message import Assembled, ModelAnswer, RawRequest, RawResponse, ToolUse
from benchflow.gateway.reading import understand
from benchflow.gateway.upstream import TrialContext
from benchflow.gateway.upstreams.oracle import Oracle
from benchflow.scenario import RunStep, Solution

ASKS = [
    Ask(),
    Ask(stream=False, tools={}),
    Ask(system="Be good.", choice="required"),
    Ask(choice="bash", steps=[(ToolUse(id="call_1", name="bash", arguments={"command": "ls"}), "a.txt")]),
]
ANSWER = ModelAnswer(
    text="Let me see. é",
    tool_calls=(
        ToolUse(id="a", name="f", arguments={"x": "1\n"}),
        ToolUse(id="b", name="g", arguments={}),
    ),
    tokens=TokenBreakdown.of(input=10, output=4, reasoning=1, cache_read=3),
)


def raw(sample: Sample, ask: Ask) -> RawRequest:
    return RawRequest(
        method="POST",
        path=sample.path(ask),
        query=sample.query(ask),
        headers=(("Host", "gateway"),),
        body=sample.body(ask),
    )


def assembled(sample: Sample, pieces: Sequence[bytes]) -> Assembled:
    assembler = DIALECTS[sample.name].assembler()
    for piece in pieces:
        assembler.feed(piece)
    return assembler.result()


async def pieces_of(response: RawResponse) -> list[bytes]:
    return [piece async for piece in response.chunks]


def test_every_dialect_has_a_sample() -> None:
    assert [sample.name for sample in SAMPLES] == list(DIALECTS)


@in_every_dialect
@pytest.mark.parametrize("ask", ASKS)
def test_request_says_the_same_in_every_dialect(sample: Sample, ask: Ask) -> None:
    context = understand(raw(sample, ask), TrialContext(trial="t", attempt=1, model=MODEL), DIALECTS)

    assert context.dialect is DIALECTS[sample.name]
    assert context.route
    assert context.route.kind == "generate"
    parsed = context.parsed
    assert parsed
    assert (parsed.model, parsed.tool_choice, parsed.stream) == (MODEL, ask.choice, ask.stream)
    assert {tool.name: tool.parameters for tool in parsed.tools} == ask.tools
    texts = {role: [text for m in parsed.messages if m.role == role for text in m.texts] for role in ("system", "user")}
    assert texts == {"system": [ask.system] if ask.system else [], "user": [PROMPT]}
    assert [use for message in parsed.messages for use in message.tool_uses] == [use for use, _ in ask.steps]
    results = [result for message in parsed.messages for result in message.tool_results]
    assert [result.text for result in results] == [text for _, text in ask.steps]


@in_every_dialect
@pytest.mark.parametrize("ask", ASKS)
def test_model_is_changed_and_nothing_else(sample: Sample, ask: Ask) -> None:
    dialect, before = DIALECTS[sample.name], raw(sample, ask)

    after, change = dialect.set_model(before, "other/model-2")

    expected = raw(sample, Ask(**{**vars(ask), "model": "other/model-2"}))
    assert (after.path, after.query, after.body) == (expected.path, expected.query, expected.body)
    assert (change.kind, change.before, change.after) == ("model", MODEL, "other/model-2")
    assert after.changes == (change,)


@in_every_dialect
@pytest.mark.parametrize("ask", ASKS)
def test_text_is_added_where_the_conversation_ends(sample: Sample, ask: Ask) -> None:
    dialect, before = DIALECTS[sample.name], raw(sample, ask)

    after, change = dialect.append_text(before, 'Only "2" turns\nare left.')

    old, new = dialect.read(before), dialect.read(after)
    assert [text for m in new.messages for text in m.texts] == [
        *(text for m in old.messages for text in m.texts),
        'Only "2" turns\nare left.',
    ]
    assert new.messages[-1].texts[-1] == 'Only "2" turns\nare left.'
    assert [m.tool_results for m in new.messages if m.tool_results] == [
        m.tool_results for m in old.messages if m.tool_results
    ]
    assert change.kind == "wrap_up"
    assert after.changes == (change,)


@in_every_dialect
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("answer", [ANSWER, ModelAnswer(text="Done."), ModelAnswer(tool_calls=ANSWER.tool_calls)])
async def test_what_is_written_is_read_back(sample: Sample, answer: ModelAnswer, stream: bool) -> None:
    dialect = DIALECTS[sample.name]
    request = raw(sample, Ask(stream=stream))
    context = understand(request, TrialContext(trial="t", attempt=1, model=MODEL), DIALECTS)
    assert context.parsed

    response = dialect.write(answer, context.parsed)

    read = assembled(sample, await pieces_of(response))
    assert (read.text, read.tokens, read.complete, read.error) == (answer.text, answer.tokens, True, None)
    assert [(call.name, call.arguments) for call in read.tool_calls] == [
        (call.name, call.arguments) for call in answer.tool_calls
    ]
    assert read.model == MODEL
    kind = "text/event-stream" if stream else "application/json"
    assert dict(response.headers)["Content-Type"].startswith(kind)


@given(st.sampled_from(SAMPLES), st.lists(st.integers(0, 2_000), max_size=12))
def test_stream_may_be_cut_in_any_pieces(sample: Sample, cuts: list[int]) -> None:
    stream = sample.stream
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]

    read = assembled(sample, [stream[start:end] for start, end in pairwise(edges)])

    assert (read.text, read.tokens, read.complete, read.error) == (TEXT, TOKENS, True, None)
    assert read == assembled(sample, [stream])


@in_every_dialect
def test_whole_response_says_what_the_streamed_one_says(sample: Sample) -> None:
    whole, streamed = assembled(sample, [sample.whole]), assembled(sample, [sample.stream])

    assert (whole.text, whole.tokens, whole.finish, whole.model, whole.complete) == (
        streamed.text,
        streamed.tokens,
        streamed.finish,
        streamed.model,
        True,
    )


@in_every_dialect
@given(data=st.data())
def test_stream_that_breaks_off_is_not_complete(sample: Sample, data: st.DataObject) -> None:
    half = len(sample.stream) // 2
    read = assembled(sample, [sample.stream[: data.draw(st.integers(0, half))]])

    assert not read.complete


@in_every_dialect
def test_error_is_told_and_is_no_answer(sample: Sample) -> None:
    read = assembled(sample, [sample.error])

    assert (read.error, read.complete, read.text) == (ERROR, False, "")


@in_every_dialect
@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 429, 500, 502, 529])
async def test_refusal_has_the_dialects_own_form(sample: Sample, status: int) -> None:
    response = DIALECTS[sample.name].refuse(raw(sample, Ask()), status, ERROR)

    assert (response.status, response.origin) == (status, "gateway")
    assert assembled(sample, await pieces_of(response)).error == ERROR


@given(st.sampled_from(SAMPLES), st.binary(max_size=300))
def test_junk_is_a_value_error_and_nothing_else(sample: Sample, junk: bytes) -> None:
    request = RawRequest(method="POST", path=sample.path(Ask()), query="", headers=(), body=junk)
    assembled(sample, [junk])

    with pytest.raises(ValueError, match=r"."):
        DIALECTS[sample.name].read(request)


@in_every_dialect
@pytest.mark.parametrize("body", [b"", b"[]", b"7", b"null", b"{", b"\xff", b"[" * 100_000, b'{"messages": {}}'])
def test_what_is_no_request_is_a_value_error(sample: Sample, body: bytes) -> None:
    request = RawRequest(method="POST", path=sample.path(Ask()), query="", headers=(), body=body)

    with pytest.raises(ValueError, match=r"."):
        DIALECTS[sample.name].read(request)


@in_every_dialect
@pytest.mark.parametrize("stream", [True, False])
async def test_oracle_plays_its_steps_in_every_dialect(sample: Sample, stream: bool) -> None:
    solution = Solution(steps=(RunStep(run="make"), RunStep(run="make test")), answer="It builds.")
    context = TrialContext(trial="t", attempt=1, model=MODEL, solution=solution)
    steps: list[tuple[ToolUse, str]] = []
    for number in (1, 2):
        answer = await answer_of(sample, Ask(steps=tuple(steps), stream=stream), context)
        assert [call.name for call in answer.tool_calls] == ["bash"]
        assert f"[step {number}: exit" in answer.tool_calls[0].arguments["command"]
        steps.append((answer.tool_calls[0], f"[step {number}: exit 0]"))

    assert (await answer_of(sample, Ask(steps=tuple(steps), stream=stream), context)).text == "It builds."


async def answer_of(sample: Sample, ask: Ask, context: TrialContext) -> Assembled:
    request = raw(sample, ask)
    response = await Oracle().send(request, understand(request, context, DIALECTS))
    return assembled(sample, await pieces_of(response))


@in_every_dialect
async def test_models_are_listed_in_every_dialect(sample: Sample) -> None:
    response = DIALECTS[sample.name].write_models(["m-1", "m-2"])

    listed = json.loads(b"".join(await pieces_of(response)))
    names = [model.get("id") or model["name"] for model in listed.get("data") or listed["models"]]
    assert [name.removeprefix("models/") for name in names] == ["m-1", "m-2"]


@in_every_dialect
async def test_one_model_is_shown_as_it_stands_in_the_list(sample: Sample) -> None:
    dialect = DIALECTS[sample.name]

    listed = json.loads(b"".join(await pieces_of(dialect.write_models(["m-1"]))))
    shown = json.loads(b"".join(await pieces_of(dialect.write_model("m-1"))))

    assert (listed.get("data") or listed["models"]) == [shown]
    asked = dialect.route("GET", f"{dialect.base_path or '/v1'}/models/org%2Fm-1")
    assert asked
    assert (asked.kind, asked.model) == ("models", "org/m-1")
