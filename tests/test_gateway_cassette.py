"""Recording an upstream and playing it again, at the gateway's own interface: requests in, responses out."""

import gzip
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
import pytest
from dialect_samples import SAMPLES, TEXT, Ask, Sample
from hypothesis import given
from hypothesis import strategies as st

from benchflow.contracts import CostBreakdown
from benchflow.errors import InputError
from benchflow.gateway.altered import altered
from benchflow.gateway.cassettes.cassette import Cassette, Head, TrialId, read_cassette
from benchflow.gateway.cassettes.delta import change, changed, fold, unfold
from benchflow.gateway.cassettes.recorder import CassetteRecorder
from benchflow.gateway.cassettes.replay import Replay
from benchflow.gateway.cassettes.streams import pack, unpack
from benchflow.gateway.cassettes.writer import CassetteFile
from benchflow.gateway.dialects.table import DIALECTS
from benchflow.gateway.differing import differences, word_difference
from benchflow.gateway.message import (
    Change,
    Chunks,
    Headers,
    RawRequest,
    RawResponse,
    Role,
    ToolUse,
    UpstreamCut,
)
from benchflow.gateway.places import Places
from benchflow.gateway.prices import Pricing
from benchflow.gateway.reading import understand
from benchflow.gateway.upstream import TrialContext
from benchflow.redact import Redactor

HERE = Places(workspace="/scratch/r-1/t-1/workspace", home="/scratch/r-1/t-1/home", tmp="/scratch/r-1/t-1/tmp")
THERE = Places(workspace="/workspace", home="/home/agent", tmp="/tmp")
HEAD = Head(
    agent="mini",
    agent_version="1",
    upstream="oracle",
    model="m-1",
    provider="openai",
    scenarios={"tiny": "0" * 64},
    benchflow="1",
)
JSON: Headers = (("Content-Type", "application/json"), ("Date", "Sun, 22 Nov 2026 00:00:00 GMT"), ("X-Own", "1"))
EVENTS: Headers = (("Content-Type", "text/event-stream"),)
CHAT = DIALECTS["openai-completions"]
NOTHING = CostBreakdown(total_usd=None, source="nothing was bought")


class Answers:
    """An upstream that gives these answers in order."""

    name = "answers"
    priced_as: str | None = None

    def __init__(self, *answers: RawResponse | UpstreamCut) -> None:
        self._answers = list(answers)

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        answer = self._answers.pop(0)
        if isinstance(answer, UpstreamCut):
            raise answer
        return answer

    async def aclose(self) -> None:
        """Nothing is held."""


class Broken(Chunks):
    """Chunks after which the upstream breaks off."""

    async def __anext__(self) -> bytes:
        try:
            return await super().__anext__()
        except StopAsyncIteration:
            raise UpstreamCut("reset by peer") from None


def answer(status: int = 200, *chunks: bytes, headers: Headers = JSON, **more: Any) -> RawResponse:
    return RawResponse(status=status, reason="", headers=headers, chunks=Chunks(chunks), **more)


def trial(places: Places = HERE, *, iteration: int = 0, attempt: int = 1, scenario: str = "tiny") -> TrialContext:
    return TrialContext(
        trial=f"{scenario}-{iteration}",
        attempt=attempt,
        model="m-1",
        prompts=("Do it.",),
        iteration=iteration,
        scenario_id=scenario,
        workspace=places.workspace,
        home=places.home,
        tmp=places.tmp,
        prompt=0,
    )


def ask_chat(*texts: str, **more: Any) -> RawRequest:
    body = {"model": "m-1", "messages": [{"role": "user", "content": text} for text in texts], **more}
    return post("/v1/chat/completions", orjson.dumps(body))


def post(path: str, body: bytes, query: str = "") -> RawRequest:
    headers = (("content-type", "application/json"),)
    return RawRequest(method="POST", path=path, query=query, headers=headers, body=body)


async def send(
    upstream: Any, request: RawRequest, context: TrialContext, role: Role = "main"
) -> tuple[int, list[bytes], str | None]:
    """Send a request; return status, chunks, and why the response broke off."""
    chunks: list[bytes] = []
    try:
        response = await upstream.send(request, altered(understand(request, context, DIALECTS), role=role))
    except UpstreamCut as cut:
        return 0, [], str(cut)
    try:
        async for chunk in response.chunks:
            chunks.append(chunk)  # noqa: PERF401 - what came before a cut counts
    except UpstreamCut as cut:
        return response.status, chunks, str(cut)
    finally:
        await response.chunks.aclose()
    return response.status, chunks, None


def recording(path: Path, upstream: Any, secrets: Sequence[str] = ()) -> CassetteRecorder:
    redactor = Redactor(secrets)
    file = CassetteFile(path, HEAD, redactor)
    return CassetteRecorder(upstream, file, pricing=Pricing(bought=False), redactor=redactor)


async def record(
    path: Path, exchanges: Sequence[tuple[RawRequest, RawResponse | UpstreamCut]], **more: Any
) -> Cassette:
    """Record the exchanges of one trial."""
    recorder = recording(path, Answers(*[response for _, response in exchanges]), **more)
    context = trial()
    for request, _ in exchanges:
        await send(recorder, request, context)
    await recorder.aclose()
    return read_cassette(path)


def said(text: str, model: str = "m-1") -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return orjson.dumps({"id": "c", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage})


# --- what is recorded is played


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
async def test_stream_of_any_dialect_is_played_chunk_for_chunk(sample: Sample, tmp_path: Path) -> None:
    request = post(sample.path(Ask()), sample.body(Ask()), sample.query(Ask()))
    chunks = [sample.stream[at : at + 37] for at in range(0, len(sample.stream), 37)]

    cassette = await record(tmp_path / "c", [(request, answer(200, *chunks, headers=EVENTS))])

    assert await send(Replay(cassette), request, trial(THERE)) == (200, chunks, None)
    (take,) = cassette.takes("tiny", 0, 1)
    assert take.says["text"] == TEXT
    assert take.answer.cost == NOTHING


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
async def test_request_of_any_dialect_is_the_same_in_another_trial_and_another_with_one_word_changed(
    sample: Sample, tmp_path: Path
) -> None:
    def request(places: Places, word: str = "look") -> RawRequest:
        call = ToolUse(id="call_1", name="bash", arguments={"command": f"ls {places.workspace}/a"})
        ask = Ask(text=f"Please {word} at {places.home}.", steps=[(call, f"{places.tmp}/x\n1 passed in 0.01s")])
        return post(sample.path(ask), sample.body(ask), sample.query(ask))

    cassette = await record(tmp_path / "c", [(request(HERE), answer(200, sample.whole))])

    assert (await send(Replay(cassette), request(THERE), trial(THERE)))[0] == 200
    replay = Replay(cassette)
    assert (await send(replay, request(THERE, "stare"), trial(THERE)))[0] == 400
    assert "[-look-]{+stare+}" in replay.misses[0] or 'asked:    "Please stare at ' in replay.misses[0]


async def test_errors_and_cuts_are_played_as_they_were(tmp_path: Path) -> None:
    request = ask_chat("Do it.")
    limited = answer(429, b'{"error": {}}', headers=(*JSON, ("Retry-After", "2")))
    broken = RawResponse(status=200, headers=EVENTS, chunks=Broken([b"data: {}\n\n", b"data: "]))
    exchanges = [
        (request, limited),
        (request, answer(503, b"<html>no</html>", headers=(("Content-Type", "text/html"),))),
        (request, broken),
        (request, UpstreamCut("refused")),
        (request, answer(200, said("done"))),
    ]

    replay, context = Replay(await record(tmp_path / "c", exchanges)), trial()

    assert [await send(replay, request, context) for _ in exchanges] == [
        (429, [b'{"error": {}}'], None),
        (503, [b"<html>no</html>"], None),
        (200, [b"data: {}\n\n", b"data: "], "reset by peer"),
        (0, [], "refused"),
        (200, [said("done")], None),
    ]
    assert replay.misses == []


async def test_headers_are_played_but_for_those_of_the_connection_the_day_and_cookies(tmp_path: Path) -> None:
    request = ask_chat("Do it.")
    headers = (*JSON, ("Set-Cookie", "session=1"), ("Retry-After", "2"), ("Transfer-Encoding", "chunked"))
    cassette = await record(tmp_path / "c", [(request, answer(429, b"{}", headers=headers))])

    response = await Replay(cassette).send(request, understand(request, trial(), DIALECTS))

    assert response.headers == (
        ("Content-Type", "application/json"),
        ("X-Own", "1"),
        ("Retry-After", "2"),
        ("Content-Length", "2"),
    )
    assert response.reason == "Too Many Requests"


async def test_compressed_response_is_stored_readable_and_its_change_is_noted(tmp_path: Path) -> None:
    request = ask_chat("Do it.")
    events = [b'data: {"a": 1}\n\n', b"data: [DONE]\n\n"]
    packed = gzip.compress(b"".join(events))
    headers = (*EVENTS, ("Content-Encoding", "gzip"), ("Content-Length", str(len(packed))))
    cassette = await record(tmp_path / "c", [(request, answer(200, packed[:9], packed[9:], headers=headers))])
    seen: list[RawRequest] = []
    context = altered(understand(request, trial(), DIALECTS), on_sent=seen.append)

    response = await Replay(cassette).send(request, context)

    assert [chunk async for chunk in response.chunks] == events
    assert response.headers == EVENTS
    assert seen[0].changes == (
        Change(kind="replay", path="response.header.content-encoding", before="gzip", after=None),
    )


async def test_folders_of_the_recorded_trial_become_those_of_the_one_that_plays(tmp_path: Path) -> None:
    request = ask_chat("Do it.")
    cassette = await record(tmp_path / "c", [(request, answer(200, said(f"see {HERE.workspace}/a and /other")))])
    seen: list[RawRequest] = []
    context = altered(understand(request, trial(THERE), DIALECTS), on_sent=seen.append)

    response = await Replay(cassette).send(request, context)

    assert [chunk async for chunk in response.chunks] == [said("see /workspace/a and /other")]
    assert dict(response.headers)["Content-Length"] == str(len(said("see /workspace/a and /other")))
    assert seen[0].changes == (Change(kind="replay", path="response.body", before="⟦workspace⟧", after="/workspace"),)
    assert "/scratch" not in (tmp_path / "c").read_text()


async def test_second_try_is_played_from_the_recorded_second_try_or_from_the_last_there_is(tmp_path: Path) -> None:
    request = ask_chat("Do it.")
    recorder = recording(tmp_path / "c", Answers(answer(500, b"{}"), answer(200, said("better"))))
    await send(recorder, request, trial())
    await send(recorder, request, trial(attempt=2))
    await recorder.aclose()
    replay = Replay(read_cassette(tmp_path / "c"))

    statuses = [(await send(replay, request, trial(attempt=number)))[0] for number in (1, 2, 3)]

    assert statuses == [500, 200, 200]


async def test_prompt_role_and_ordinal_are_part_of_the_key(tmp_path: Path) -> None:
    request = ask_chat("Do it.")
    cassette = await record(tmp_path / "c", [(request, answer(200, said("one"))), (request, answer(200, said("two")))])
    replay, context = Replay(cassette), trial()

    assert (await send(replay, request, context, "subagent"))[0] == 400
    assert (await send(replay, request, altered(context, prompt=1)))[0] == 400
    assert [(await send(replay, request, context))[1] for _ in range(2)] == [[said("one")], [said("two")]]
    replay, context = Replay(cassette), trial()
    assert [(await send(replay, request, context))[0] for _ in range(3)] == [200, 200, 400]
    assert replay.misses[-1].endswith("it equals recorded request 2, which was asked less often, or by another prompt")


async def test_replay_can_be_recorded(tmp_path: Path) -> None:
    request = ask_chat(f"Do it in {HERE.workspace}.")
    first = await record(tmp_path / "first", [(request, answer(200, said(HERE.workspace)))])
    recorder = recording(tmp_path / "second", Replay(first))
    await send(recorder, ask_chat("Do it in /workspace."), trial(THERE))
    await recorder.aclose()

    assert (tmp_path / "second").read_bytes() == (tmp_path / "first").read_bytes()


# --- what was not recorded


async def test_missing_main_request_fails_the_trial_and_is_told_once_with_the_difference(tmp_path: Path) -> None:
    requests = [ask_chat("Fix the test."), ask_chat("Fix the test.", "go on")]
    cassette = await record(tmp_path / "c", [(request, answer(200, said("yes"))) for request in requests])
    replay, context = Replay(cassette), trial()
    asked = ask_chat("Fix the test.", "go back", temperature=0)
    await send(replay, requests[0], context)

    response = await replay.send(asked, understand(asked, context, DIALECTS))

    assert response.status == 400
    assert response.unplayable == (
        "cassette:c has no recording of main request 2; it differs from recorded request 2 in\n"
        "  body.messages[1].content:\n"
        '    recorded: "go on"\n'
        '    asked:    "go back"\n'
        "  body.temperature:\n"
        "    recorded: nothing\n"
        "    asked:    0"
    )
    await send(replay, asked, context)
    assert replay.misses == [f"tiny #1: {response.unplayable}"]


async def test_missing_auxiliary_request_is_answered_aside_and_noted(tmp_path: Path) -> None:
    title = ask_chat("Make a title.")
    cassette = await record(tmp_path / "c", [(ask_chat("Do it."), answer(200, said("yes")))])
    seen: list[RawRequest] = []
    context = altered(understand(title, trial(), DIALECTS), role="auxiliary", on_sent=seen.append)
    replay = Replay(cassette)

    response = await replay.send(title, context)

    assert (response.status, response.unplayable, response.cost) == (200, None, NOTHING)
    assert [(note.kind, note.path) for note in seen[0].changes] == [("replay", "response")]
    assert replay.misses == []


async def test_trial_that_was_not_recorded_at_all_is_said_so(tmp_path: Path) -> None:
    request = ask_chat("Do it.")
    replay = Replay(await record(tmp_path / "c", [(request, answer(200, said("yes")))]))

    await send(replay, request, trial(scenario="other"))

    assert replay.misses == [
        "other #1: cassette:c has no recording of main request 1, nor of any other of its kind in this trial"
    ]


def test_long_texts_are_shown_by_their_words() -> None:
    old = "Read it. Find out why the tests fail and fix them, and then tell me what was wrong.\nThen stop, please."
    new = old.replace("fix them", "fix it").replace("stop", "go home")

    assert word_difference(old, new) == (
        "… Find out why the tests fail and fix [-them-]{+it+}, and then tell me what was wrong.⏎ Then [-stop-]"
        "{+go home+}, please."
    )


def test_item_that_was_put_in_is_the_one_difference() -> None:
    found = list(differences([{"a": 1}, {"b": 2}], [{"a": 1}, {"c": 3}, {"b": 2}], "messages"))

    assert [line for difference in found for line in difference.lines()] == [
        "messages[1]:",
        "  recorded: nothing",
        '  asked:    {"c":3}',
    ]


# --- the file


def conversation(turns: int, size: int = 2_000) -> list[tuple[RawRequest, RawResponse | UpstreamCut]]:
    """The exchanges of a trial whose every request repeats all that was said."""
    texts = [f"message {number} " + "x" * size for number in range(turns)]
    return [(ask_chat(*texts[: turn + 1]), answer(200, said(f"turn {turn}"))) for turn in range(turns)]


async def test_file_grows_with_what_is_new_alone(tmp_path: Path) -> None:
    ten, forty = conversation(10), conversation(40)

    await record(tmp_path / "ten", ten)
    await record(tmp_path / "forty", forty)

    assert (tmp_path / "forty").stat().st_size < 4.5 * (tmp_path / "ten").stat().st_size
    assert (tmp_path / "forty").stat().st_size < 1.5 * 40 * 2_800


async def test_what_trials_have_in_common_is_stored_once(tmp_path: Path) -> None:
    tools = [
        {"type": "function", "function": {"name": f"tool {number}", "description": "x" * 500}} for number in range(20)
    ]
    request = ask_chat("Do it.", tools=tools)
    recorder = recording(tmp_path / "c", Answers(*[answer(200, said("yes")) for _ in range(5)]))
    for iteration in range(5):
        await send(recorder, request, trial(iteration=iteration))
    await recorder.aclose()

    assert (tmp_path / "c").stat().st_size < 20_000
    replay = Replay(read_cassette(tmp_path / "c"))
    assert [(await send(replay, request, trial(iteration=number)))[0] for number in range(5)] == [200] * 5


async def test_order_of_the_file_does_not_depend_on_when_trials_ended(tmp_path: Path) -> None:
    async def recorded(name: str, order: Sequence[int]) -> bytes:
        recorder = recording(tmp_path / name, Answers(*[answer(200, said("yes")) for _ in range(9)]))
        contexts = [trial(iteration=number) for number in range(3)]
        done = [0, 0, 0]
        for number in order:
            texts = [f"{number}.{turn}" for turn in range(done[number] + 1)]
            await send(recorder, ask_chat(*texts), contexts[number])
            done[number] += 1
        await recorder.aclose()
        return (tmp_path / name).read_bytes()

    assert await recorded("a", [0, 0, 0, 1, 1, 1, 2, 2, 2]) == await recorded("b", [2, 1, 0, 2, 1, 1, 0, 2, 0])


async def test_killed_run_leaves_a_file_that_can_be_read_up_to_there(tmp_path: Path) -> None:
    exchanges = conversation(3, size=20)
    recorder = recording(tmp_path / "c", Answers(*[response for _, response in exchanges]))
    context = trial()
    for request, _ in exchanges:
        await send(recorder, request, context)
    content = (tmp_path / "c").read_bytes()

    for size in range(content.rindex(b"\n\n{") + 2, len(content) - 2):
        (tmp_path / "cut").write_bytes(content[:size])
        assert len(read_cassette(tmp_path / "cut").takes("tiny", 0, 1)) == 2
    assert len(read_cassette(tmp_path / "c").takes("tiny", 0, 1)) == 3


async def test_secrets_are_in_no_recording(tmp_path: Path) -> None:
    secret = "s3cr3t-value-that-nobody-knows"
    pieces = [f'data: {{"choices":[{{"index":0,"delta":{{"content":"{part}"}}}}]}}\n\n'.encode() for part in secret]
    exchanges = [
        (ask_chat(f"my key is {secret}"), answer(200, said(f"it is {secret}"))),
        (ask_chat("and now"), answer(200, *pieces, b"data: [DONE]\n\n", headers=EVENTS)),
    ]

    cassette = await record(tmp_path / "c", exchanges, secrets=[secret])

    assert secret not in (tmp_path / "c").read_text()
    assert [take.answer.withheld for take in cassette.takes("tiny", 0, 1)] == [
        None,
        "a secret is spread over several pieces of the stream",
    ]
    assert (await send(Replay(cassette, Redactor([secret])), exchanges[0][0], trial()))[0] == 200


async def test_without_any_exchange_there_is_no_file(tmp_path: Path) -> None:
    await recording(tmp_path / "c", Answers()).aclose()

    assert not (tmp_path / "c").exists()


async def test_recording_is_never_overwritten(tmp_path: Path) -> None:
    await record(tmp_path / "c", conversation(1))

    with pytest.raises(InputError, match="is there already; replay it with --replay, or delete it to record anew"):
        recording(tmp_path / "c", Answers())


async def test_file_may_have_been_through_an_editor_for_windows(tmp_path: Path) -> None:
    exchanges = conversation(2)
    await record(tmp_path / "c", exchanges)
    (tmp_path / "c").write_bytes((tmp_path / "c").read_bytes().replace(b"\n", b"\r\n"))

    assert (await send(Replay(read_cassette(tmp_path / "c")), exchanges[0][0], trial()))[0] == 200


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"cassette": 1', '"cassette": 9', "c: line 1: `cassette` is 9; this BenchFlow reads up to 1: upgrade it"),
        ('"cassette": 1', '"tape": 1', "c: line 1: is no head of a cassette"),
        ('"model": "m-1",\n  "prov', '"prov', "c: line 1: `model` is missing; restore the file, or record it anew"),
        ('"role": "main"', '"role": "boss"', "c: line 14: `role` is 'boss'; it is one of main, subagent, auxiliary"),
        ('"prompt": 0,', "", "c: line 14: `prompt` is missing"),
        ('"iteration": 0', '"iteration": "0"', "c: line 14: `iteration` has a value of another kind"),
        ('"try": 1,', '"try": 1', "c: line 14: no JSON object"),
        ('"call"', '"kall"', "c: line 14: `request.call` is missing"),
    ],
)
async def test_bad_file_is_an_error_that_names_line_key_and_remedy(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    await record(tmp_path / "c", conversation(1))
    (tmp_path / "c").write_text((tmp_path / "c").read_text().replace(old, new, 1))

    with pytest.raises(InputError) as caught:
        read_cassette(tmp_path / "c")

    assert message in str(caught.value)


def test_file_that_is_not_there_or_empty_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()

    with pytest.raises(InputError, match="is empty; delete it and record it anew"):
        read_cassette(tmp_path / "empty")
    with pytest.raises(InputError, match=r"cannot be read \(No such file or directory\); record it with --record"):
        read_cassette(tmp_path / "nothing")


async def test_take_that_was_broken_by_hand_fails_the_trial_and_names_the_line(tmp_path: Path) -> None:
    exchanges = conversation(2)
    await record(tmp_path / "c", exchanges)
    (tmp_path / "c").write_text((tmp_path / "c").read_text().replace('"after": 0', '"after": 7'))
    cassette = read_cassette(tmp_path / "c")
    second = cassette.records[TrialId("tiny", 0, 1)][1]

    response = await Replay(cassette).send(exchanges[0][0], understand(exchanges[0][0], trial(), DIALECTS))

    assert (response.unplayable or "").startswith(f"{second.place}: this take cannot be read")


# --- properties

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "a", "a\nb", "\n", "|", "x" * 50]),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["|", "||", "a", "b", "list"]), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(JSON_VALUES, JSON_VALUES)
def test_change_makes_the_value_of_its_base(base: Any, value: Any) -> None:
    how = orjson.loads(orjson.dumps(change(base, value)))

    made = changed(base, how)

    assert json.dumps(made, sort_keys=True) == json.dumps(value, sort_keys=True)


@given(JSON_VALUES)
def test_folded_texts_come_back(value: Any) -> None:
    assert unfold(orjson.loads(orjson.dumps(fold(value)))) == value


PIECES = st.sampled_from(
    ["/scratch/r-1/t-1/workspace", "/scratch/r-1/t-1", "/workspace", "/home", "/tmp", "/", "-", ".", "2", " ", '"',
     "\\", "\n", "⟦", "⟧", "⟦workspace⟧", "⟦(⟧", "é", "workspace", "/a.py", "x"]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=8).map("".join)


@given(TEXTS)
def test_words_for_folders_go_back_to_the_very_same_text(text: str) -> None:
    packed, count = HERE.pack(text)

    assert HERE.unpack(packed)[0] == text
    assert count == len(HERE.spans(text))
    assert HERE.spans(packed) == []


@st.composite
def streams(draw: st.DrawFn) -> tuple[str, bool, list[bytes]]:
    """A text, the events of a stream that says it piece by piece, and where the chunks are cut."""
    text = draw(TEXTS)
    ascii_only = draw(st.booleans())
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=6)) | {0, len(text)})
    events = []
    for start, end in pairwise(cuts):
        delta = {"choices": [{"delta": {"content": text[start:end]}, "index": 0}], "id": "c"}
        events.append(b"data: " + json.dumps(delta, ensure_ascii=ascii_only).encode() + b"\n\n")
    body = b"".join([*events, b": keep-alive\n\n", b"data: [DONE]\n\n"])
    bounds = sorted(draw(st.sets(st.integers(0, len(body)), max_size=5)) | {0, len(body)})
    return text, ascii_only, [body[start:end] for start, end in pairwise(bounds)]


def content(chunks: Sequence[bytes]) -> str:
    """What a stream says. Every event of it must be JSON."""
    lines = [line[6:] for line in b"".join(chunks).split(b"\n") if line.startswith(b"data: {")]
    return "".join(json.loads(line)["choices"][0]["delta"]["content"] for line in lines)


@given(streams())
def test_stream_stays_valid_and_says_the_same_with_the_folders_of_the_trial(
    stream: tuple[str, bool, list[bytes]],
) -> None:
    text, _, chunks = stream
    packed = json.loads(json.dumps(pack(chunks, HERE)))

    back, elsewhere = unpack(packed, HERE)[0], unpack(packed, THERE)[0]

    assert content(back) == text
    assert content(elsewhere) == THERE.unpack(HERE.pack(text)[0])[0]
    assert len(back) == len(elsewhere) == len(chunks)
    assert b"".join(back).count(b"\n\n") == b"".join(chunks).count(b"\n\n")


@given(st.lists(st.binary(max_size=6), max_size=4))
def test_bytes_that_are_no_text_come_back_chunk_for_chunk(chunks: list[bytes]) -> None:
    back, _ = unpack(pack(chunks, HERE), HERE)

    assert b"".join(back) == b"".join(chunks)
    assert len(back) == len(chunks)


@given(st.lists(st.text('ab\n⟦{"', max_size=6).map(str.encode), max_size=4))
def test_chunks_without_folders_come_back_as_they_were(chunks: list[bytes]) -> None:
    if all(chunk.decode("utf-8", "ignore").encode() == chunk for chunk in chunks):
        assert unpack(pack(chunks, HERE), HERE)[0] == chunks
