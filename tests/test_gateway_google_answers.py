"""What Google's generateContent answers: written in all its forms, and put together again from any pieces."""

import json
from itertools import pairwise
from typing import Any

import pytest
from google_server import BLOCKED, CALLS, EMPTY, EXHAUSTED, MODEL, SEARCHED, as_array, as_events, piece, usage
from hypothesis import given
from hypothesis import strategies as st

from benchflow.contracts import TokenBreakdown
from benchflow.gateway.dialects.google import Google
from benchflow.gateway.dialects.json_text import items
from benchflow.gateway.message import Assembled, ModelAnswer, RawRequest, RawResponse, ToolUse

GOOGLE = Google()
PATH = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"


def raw(body: Any, path: str = PATH, query: str = "alt=sse") -> RawRequest:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return RawRequest(method="POST", path=path, query=query, headers=(), body=content)


def assembled(*pieces: bytes) -> Assembled:
    assembler = GOOGLE.assembler()
    for each in pieces:
        assembler.feed(each)
    return assembler.result()


async def body_of(response: RawResponse) -> bytes:
    return b"".join([each async for each in response.chunks])


texts = st.text(st.characters(codec="utf-8"), max_size=12)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)
spaces = st.text(" \t\r\n", max_size=3)

ANSWER = ModelAnswer(
    text="Let me see. é",
    tool_calls=(ToolUse(id="a", name="f", arguments={"x": "1\n"}), ToolUse(id="b", name="g", arguments={})),
    tokens=TokenBreakdown.of(input=10, output=4, reasoning=1, cache_read=3),
)


@pytest.mark.parametrize(
    "answer", [ANSWER, ModelAnswer(text="Done."), ModelAnswer(tool_calls=ANSWER.tool_calls), ModelAnswer()]
)
@pytest.mark.parametrize(("path", "query"), [(PATH, "alt=sse"), (PATH, ""), ("/v1beta/models/m:generateContent", "")])
async def test_what_is_written_is_read_back(answer: ModelAnswer, path: str, query: str) -> None:
    request = GOOGLE.read(raw({"contents": []}, path, query))

    written = await body_of(GOOGLE.write(answer, request))

    read = assembled(written)
    assert (read.text, read.tool_calls, read.tokens) == (answer.text, answer.tool_calls, answer.tokens)
    assert (read.finish, read.complete, read.error, read.model) == ("STOP", True, None, request.model)
    if not query and "stream" in path:
        assert isinstance(json.loads(written), list)


CALLED = Assembled(
    body={
        "candidates": [
            {
                "content": {
                    "parts": [
                        {"text": "**Looking around**\n\nI should list the files first.", "thought": True},
                        {"text": "I will look at what is there."},
                        *CALLS[4]["candidates"][0]["content"]["parts"],
                    ],
                    "role": "model",
                },
                "index": 0,
                "finishReason": "STOP",
            }
        ],
        "usageMetadata": CALLS[-1]["usageMetadata"],
        "modelVersion": MODEL,
        "responseId": CALLS[0]["responseId"],
    },
    model=MODEL,
    text="I will look at what is there.",
    thought="**Looking around**\n\nI should list the files first.",
    tool_calls=(
        ToolUse(id="", name="list_directory", arguments={"dir_path": "."}),
        ToolUse(id="", name="read_file", arguments={"file_path": "naïve.py", "limit": 1000.0}),
    ),
    finish="STOP",
    tokens=TokenBreakdown.of(input=1040, output=100, reasoning=54, cache_read=4080),
    complete=True,
)


@given(st.sampled_from([as_events, as_array]), st.lists(st.integers(0, 3_000), max_size=12))
def test_stream_may_be_cut_anywhere(form: Any, cuts: list[int]) -> None:
    stream = b"".join(form(CALLS))
    edges = [0, *sorted(min(cut, len(stream)) for cut in cuts), len(stream)]

    assert assembled(*(stream[start:end] for start, end in pairwise(edges))) == CALLED


@given(st.sampled_from([as_events, as_array]), st.integers(0, 5), st.integers(1, 60))
def test_stream_that_breaks_off_is_read_as_far_as_it_came(form: Any, whole: int, more: int) -> None:
    pieces = form(CALLS)
    read = assembled(b"".join(pieces[:whole]) + pieces[whole][:more])

    assert not read.complete
    assert CALLED.text.startswith(read.text)
    assert read.thought == CALLED.thought[: len(read.thought)]
    assert len(read.tool_calls) == (2 if whole == 5 else 0)
    if whole > 2:
        assert read.tokens
        assert read.tokens.output == 54 + (3, 8, 46)[whole - 3]


@given(
    st.binary(max_size=300)
    | st.lists(
        st.sampled_from(
            [
                b"data: ",
                b"{}",
                b"\n",
                b"[",
                b"]",
                b",",
                b'{"candidates":',
                b"[{}]}",
                b"null",
                b'{"error":1}',
                b'"',
                b"\\",
                b'{"candidates":[{"content":{"parts":[{"functionCall":{}},{"text":7},3]}}]}',
                b'{"usageMetadata":7}',
                b'{"x',
                b'{"candidates":[{"content":7,"index":"x","finishReason":[]}],"promptFeedback":[]}',
                b'{"promptFeedback":{}}',
            ]
        )
    ).map(b"".join)
)
def test_assembler_never_raises(stream: bytes) -> None:
    assembled(stream)


@given(st.lists(json_values, max_size=4), spaces, st.integers(0, 200))
def test_items_of_an_array_are_found_as_far_as_they_are_whole(values: list[Any], space: str, cut: int) -> None:
    texts = [json.dumps(value) for value in values]
    array = f"{space}[{space}{f'{space},{space}'.join(texts)}{space}]{space}".encode()

    assert [json.loads(item) for item in items(array)] == values
    found = [item for item in items(array[:cut]) if _is_json(item)]
    assert [item.decode() for item in found][:-1] == texts[: max(len(found) - 1, 0)]


def test_nothing_behind_an_array_is_an_item() -> None:
    assert list(items(b'[1, {"a": [2]}] , {"b": 3}]')) == [b"1", b'{"a": [2]}']


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("pieces", "finish", "tokens"),
    [
        ([SEARCHED], "STOP", TokenBreakdown.of(input=110, output=18, reasoning=11)),
        ([EMPTY], "MAX_TOKENS", TokenBreakdown.of(input=15, output=2, reasoning=2)),
        ([piece([{"text": "x"}], {}, "SAFETY")], "SAFETY", None),
        ([piece([{"text": "x"}], {"trafficType": "ON_DEMAND"}, "STOP")], "STOP", None),
        (
            [piece([], usage(10, 9, totalTokenCount=19, thoughtsTokenCount=4), "STOP")],
            "STOP",
            TokenBreakdown.of(input=10, output=9, reasoning=4),
        ),
        (
            [piece([], {"promptTokenCount": -7, "candidatesTokenCount": "3", "totalTokenCount": 1}, "STOP")],
            "STOP",
            TokenBreakdown.of(),
        ),
        (
            [piece([], {"promptTokenCount": 7, "cachedContentTokenCount": 9}, "STOP")],
            "STOP",
            TokenBreakdown.of(cache_read=9),
        ),
    ],
)
def test_usage_is_read_as_far_as_it_makes_sense(pieces: Any, finish: str, tokens: TokenBreakdown | None) -> None:
    for read in (
        assembled(json.dumps(pieces[0]).encode()),
        assembled(*as_events(pieces)),
        assembled(*as_array(pieces)),
    ):
        assert (read.finish, read.tokens, read.complete, read.error) == (finish, tokens, True, None)


def test_usage_is_the_last_that_was_told() -> None:
    pieces = [
        piece([{"text": "a"}], usage(55, 4)),
        piece([{"text": "b"}], usage(165, 8), "STOP"),
        {"usageMetadata": usage(165, 9)},
    ]

    assert assembled(*as_events(pieces)).tokens == TokenBreakdown.of(input=165, output=9)


def test_prompt_that_was_blocked_is_a_complete_answer_that_says_so() -> None:
    for stream in ([json.dumps(BLOCKED).encode()], as_events([BLOCKED]), as_array([BLOCKED])):
        read = assembled(*stream)

        assert (read.finish, read.complete, read.text) == ("PROHIBITED_CONTENT", True, "")
        assert read.error == "the prompt was blocked: PROHIBITED_CONTENT"


@pytest.mark.parametrize(
    "stream",
    [
        json.dumps(EXHAUSTED).encode(),
        json.dumps([EXHAUSTED]).encode(),
        b"".join(as_events([CALLS[0], EXHAUSTED])),
        b"".join(as_events([*CALLS, EXHAUSTED])),
        b"".join(as_array([CALLS[0], EXHAUSTED])),
        as_events(CALLS)[0] + json.dumps(EXHAUSTED, indent=2).encode(),
    ],
    ids=["whole", "array", "event", "last event", "item", "stray"],
)
def test_error_is_found_wherever_it_stands(stream: bytes) -> None:
    read = assembled(stream)

    assert read.error == "You exceeded your current quota, please check your plan and billing details."
    assert not read.complete


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"", None),
        (b"<html>no</html>", "not JSON: <html>no</html>"),
        (b"[1]", "not JSON: [1]"),
        (b'{"cand', 'not JSON: {"cand'),
        (b'{"error": {"code": 7}}', '{"code":7}'),
        (b'{"candidates": []}', None),
    ],
)
def test_what_is_no_answer_is_shown(body: bytes, error: str | None) -> None:
    assert assembled(body).error == error


@pytest.mark.parametrize(
    ("status", "word"),
    [
        (400, "INVALID_ARGUMENT"),
        (401, "UNAUTHENTICATED"),
        (403, "PERMISSION_DENIED"),
        (404, "NOT_FOUND"),
        (413, "INVALID_ARGUMENT"),
        (429, "RESOURCE_EXHAUSTED"),
        (500, "INTERNAL"),
        (502, "UNAVAILABLE"),
        (503, "UNAVAILABLE"),
        (504, "DEADLINE_EXCEEDED"),
    ],
)
async def test_refusal_has_the_form_of_googles_own(status: int, word: str) -> None:
    expected = {"error": {"code": status, "message": "no", "status": word}}

    response = GOOGLE.refuse(raw(b""), status, "no")

    assert (response.status, response.origin) == (status, "gateway")
    assert json.loads(await body_of(response)) == expected
    assert json.loads(await body_of(GOOGLE.refuse(raw(b"", query=""), status, "no"))) == [expected]


async def test_tokens_are_counted() -> None:
    assert json.loads(await body_of(GOOGLE.write_count(12)))["totalTokens"] == 12
