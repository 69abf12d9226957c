"""A secret that an agent streams in pieces is in no file of the trial, though no single frame holds it."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from benchflow.redact import Redactor
from benchflow.trajectories.mend import mend

SECRET = "correct-horse-battery-9"


def chunk(text: str, kind: str = "agent_message_chunk", **more: Any) -> dict[str, Any]:
    update = {"sessionUpdate": kind, "content": {"type": "text", "text": text}, **more}
    return {"frame": {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": "s", "update": update}}}


def write(path: Path, entries: list[dict[str, Any]]) -> None:
    path.write_bytes(b"".join(orjson.dumps({"seq": seq, **entry}) + b"\n" for seq, entry in enumerate(entries)))


def texts(path: Path) -> list[str]:
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    return [line["frame"]["params"]["update"]["content"]["text"] for line in lines]


def test_secret_over_three_frames_is_marked_where_it_began(tmp_path: Path) -> None:
    log = tmp_path / "acp.ndjson"
    write(log, [chunk("it is correct-"), chunk("horse-"), chunk("battery-9, I think")])
    redactor = Redactor([SECRET])

    mend(log, redactor)

    assert texts(log) == ["it is [redacted:known]", "", ", I think"]
    assert redactor.counts == {"known": 1}
    assert sorted(tmp_path.iterdir()) == [log]


def test_other_streams_between_the_pieces_hide_nothing(tmp_path: Path) -> None:
    log = tmp_path / "acp.ndjson"
    first, between, last = chunk("correct-horse"), chunk("thinking", "agent_thought_chunk"), chunk("-battery-9")
    write(log, [first, between, last])

    mend(log, Redactor([SECRET]))

    assert texts(log) == ["[redacted:known]", "thinking", ""]


def test_tool_calls_are_told_apart(tmp_path: Path) -> None:
    log = tmp_path / "acp.ndjson"
    write(
        log,
        [
            chunk("correct-horse", "tool_call_update", toolCallId="a"),
            chunk("-battery-9", "tool_call_update", toolCallId="b"),
            chunk("-battery-9", "tool_call_update", toolCallId="a"),
        ],
    )

    mend(log, Redactor([SECRET]))

    assert texts(log) == ["[redacted:known]", "-battery-9", ""]


def test_log_without_a_spread_secret_stays_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "acp.ndjson"
    content = b'{"seq":0,"noise":"x \\"session/update\\""}\n{"seq":1, "frame":{"method":"session/update"}}\n{"seq":2'
    log.write_bytes(content)

    mend(log, Redactor([SECRET]))

    assert log.read_bytes() == content


@settings(deadline=None)
@given(before=st.text(max_size=5), after=st.text(max_size=5), cuts=st.lists(st.integers(0, 33), max_size=6))
def test_secret_is_gone_however_it_is_cut(tmp_path_factory: Any, before: str, after: str, cuts: list[int]) -> None:
    log = tmp_path_factory.mktemp("mend") / "acp.ndjson"
    whole = before + SECRET + after
    bounds = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    write(log, [chunk(whole[start:end]) for start, end in pairwise(bounds)])

    mend(log, Redactor([SECRET]))

    joined = "".join(texts(log))
    assert joined == (whole if len(bounds) == 2 else f"{before}[redacted:known]{after}")  # one frame: done at its write
