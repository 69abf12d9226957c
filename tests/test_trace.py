from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from trials import TOKENS, Asked, TryLogs, two_turns

from benchflow.contracts import SessionTrace, ToolCallRecord, ToolStatus, TraceSummary, Turn
from benchflow.trace import build_trace, export_trace, write_events


def trace_of(folder: Path, write: Callable[[TryLogs], object]) -> SessionTrace:
    """The trace of one prompt in which `write` happened, from 20 ms on."""
    logs = TryLogs(folder)
    logs.opened()
    logs.prompted(10)
    write(logs)
    logs.answered(1_000)
    return build_trace(folder)


def record(
    id: str,
    name: str = "shell",
    kind: str = "execute",
    status: ToolStatus = "completed",
    ms: float | None = None,
    exchange: str | None = None,
) -> ToolCallRecord:
    return ToolCallRecord(id=id, name=name, kind=kind, status=status, ms=ms, exchange=exchange)


def test_a_trace_joins_frames_and_exchanges_on_one_clock(tmp_path: Path) -> None:
    two_turns(tmp_path)

    trace = build_trace(tmp_path)

    assert [(event.seq, event.mono_ms, event.type, event.source) for event in trace.events] == [
        (0, 10, "prompt_begin", "acp"),
        (1, 20, "turn_begin", "gateway"),
        (2, 30, "turn_end", "gateway"),
        (3, 31, "agent_message", "acp"),
        (4, 32, "agent_message", "acp"),
        (5, 33, "tool_call", "acp"),
        (6, 40, "tool_call_update", "acp"),
        (7, 50, "turn_begin", "gateway"),
        (8, 60, "turn_end", "gateway"),
        (9, 61, "agent_message", "acp"),
        (10, 70, "prompt_end", "acp"),
    ]
    assert {event.session_id for event in trace.events} == {"s-1"}


def test_a_trace_has_turns_with_their_tool_calls(tmp_path: Path) -> None:
    two_turns(tmp_path)

    trace = build_trace(tmp_path)

    call = record("call_abcdef", ms=7.0, exchange="x-0")
    assert trace.turns == [
        Turn(
            index=0,
            exchange="x-0",
            started_ms=20,
            duration_ms=10,
            text="Let me see.",
            thought="I look.",
            tool_calls=[call],
            tokens=TOKENS,
            ttft_ms=1.0,
            cost_usd=0.001,
        ),
        Turn(
            index=1,
            exchange="x-1",
            started_ms=50,
            duration_ms=10,
            text="There is file.txt.",
            thought="",
            tool_calls=[],
            tokens=TOKENS,
            ttft_ms=1.0,
            cost_usd=0.001,
        ),
    ]
    assert trace.tool_calls.records == (call,)
    assert (trace.tool_calls.total, trace.tool_calls.by_category, trace.tool_calls.error_rate) == (
        1,
        {"execute": 1},
        0.0,
    )
    assert trace.summary == TraceSummary(total_turns=2, total_tool_calls=1, total_tokens=220, total_duration_ms=60.0)


def test_what_a_turn_ends_with_is_in_its_event(tmp_path: Path) -> None:
    two_turns(tmp_path)

    assert build_trace(tmp_path).events[2].data == {
        "turn": 0,
        "exchange": "x-0",
        "tokens": vars(TOKENS),
        "cost_usd": 0.001,
        "duration_ms": 10,
        "text": "Let me see.",
        "thought": "I look.",
        "tool_calls": [{"id": "call_abcdef", "name": "shell", "arguments": {"command": "ls"}}],
        "finish": "tool_calls",
    }


def test_a_call_first_seen_in_an_update_counts(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        logs.update(30, "tool_call_update", toolCallId="u", title="ls", kind="execute", status="in_progress")
        logs.update(35, "tool_call_update", toolCallId="u", status="completed")

    assert trace_of(tmp_path, write).tool_calls.records == (record("u", name="ls", ms=5.0),)


def test_a_call_only_in_a_permission_request_counts(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, lambda logs: logs.permission(30, toolCallId="p", title="rm", kind="delete"))

    assert trace.tool_calls.records == (record("p", name="rm", kind="delete", status="pending"),)


def test_a_permission_under_an_id_of_its_own_is_no_second_call(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        logs.update(30, "tool_call", toolCallId="c", title="rm x", kind="delete", status="pending")
        logs.permission(31, toolCallId="permission-1", title="rm x")
        logs.update(35, "tool_call_update", toolCallId="c", status="completed")

    assert trace_of(tmp_path, write).tool_calls.records == (record("c", name="rm x", kind="delete", ms=5.0),)


def test_a_permission_that_no_exchange_explains_is_no_second_call(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        logs.exchange(20, calls=[Asked()])
        logs.permission(31, toolCallId="permission-1", title="May I?", kind="execute")
        logs.update(32, "tool_call", toolCallId="1", title="ls", kind="execute", status="completed")

    assert [call.id for call in trace_of(tmp_path, write).tool_calls.records] == ["1"]


def test_a_gated_call_that_is_shown_only_by_its_permission_belongs_to_its_exchange(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        logs.exchange(20, calls=[Asked(), Asked(id="call_second", name="write_file", arguments={"path": "a"})])
        logs.permission(31, toolCallId="7", title="Writing to a", kind="edit")
        logs.update(32, "tool_call", toolCallId="8", title="ls", kind="execute", rawInput={"command": "ls"})

    assert trace_of(tmp_path, write).tool_calls.records == (
        record("7", name="write_file", kind="edit", status="pending", exchange="x-0"),
        record("8", status="pending", exchange="x-0"),
    )


def test_a_call_that_is_never_closed_keeps_its_last_status(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        logs.update(30, "tool_call", toolCallId="c", title="sleep", kind="execute")
        logs.update(31, "tool_call_update", toolCallId="c", status="in_progress")

    assert trace_of(tmp_path, write).tool_calls.records == (record("c", name="sleep", status="in_progress"),)


def test_a_call_announced_twice_counts_once(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        logs.update(30, "tool_call", toolCallId="c", title="", kind="other", status="pending")
        logs.update(31, "tool_call", toolCallId="c", title="ls", kind="execute", status="in_progress")
        logs.update(39, "tool_call_update", toolCallId="c", status="completed")
        logs.update(40, "tool_call", toolCallId="c", title="ls", kind="execute", status="completed")

    assert trace_of(tmp_path, write).tool_calls.records == (record("c", name="ls", ms=9.0),)


def test_an_id_that_is_used_again_names_another_call(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        for start in (30, 40):
            logs.update(start, "tool_call", toolCallId="0", title="ls", kind="execute", status="pending")
            logs.update(start + 5, "tool_call_update", toolCallId="0", status="completed")

    assert trace_of(tmp_path, write).tool_calls.records == (record("0", name="ls", ms=5.0),) * 2


def test_what_agents_send_in_place_of_texts_does_no_harm(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        logs.update(30, "tool_call", toolCallId=5, title=["x"], kind={"a": 1}, status=3, content="text", rawInput=7)
        logs.update(31, "tool_call_update")
        logs.update(32, "tool_call_update", toolCallId=None, status="cancelled")

    assert [(call.id, call.kind, call.status) for call in trace_of(tmp_path, write).tool_calls.records] == [
        ("5", "other", "pending"),
        ("", "other", "failed"),
    ]


def test_what_an_agent_nests_without_end_is_cut_and_the_session_is_read(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        logs.update(30, "tool_call", toolCallId="c", title="x", rawInput="DEEP", rawOutput={"kept": [[1]]})

    trace_of(tmp_path, write)
    log = tmp_path / "acp.ndjson"
    log.write_bytes(log.read_bytes().replace(b'"DEEP"', b"[" * 400 + b"]" * 400))
    trace = export_trace(tmp_path)

    (call,) = [event.data for event in trace.events if event.type == "tool_call"]
    assert b"nested too deeply" in orjson.dumps(call["raw_input"])
    assert call["raw_output"] == {"kept": [[1]]}


@pytest.mark.parametrize(
    ("asked_id", "shown_id", "fields"),
    [
        ("c2", "c2", {}),
        ("call_abcdef", "0:call_abcdef", {}),
        ("call_abcdef", "1", {"rawInput": {"command": "ls"}}),
        ("call_abcdef", "1", {"title": "Shell: list files"}),
    ],
)
def test_a_call_finds_the_exchange_that_asked_for_it(
    tmp_path: Path, asked_id: str, shown_id: str, fields: dict[str, object]
) -> None:
    def write(logs: TryLogs) -> None:
        logs.exchange(20, calls=[Asked(id="call_zzzzzz", name="todo", arguments={"items": []}), Asked(id=asked_id)])
        logs.update(32, "tool_call", **{"toolCallId": shown_id, "title": "x", **fields})

    assert [(call.name, call.exchange) for call in trace_of(tmp_path, write).tool_calls.records] == [("shell", "x-0")]


def test_calls_that_nothing_else_tells_apart_are_taken_in_order(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        logs.exchange(20, calls=[Asked(name="first"), Asked(name="second")])
        logs.update(31, "tool_call", toolCallId="1", title="x")
        logs.update(32, "tool_call", toolCallId="2", title="y")
        logs.exchange(50, calls=[Asked(name="third")])
        logs.update(61, "tool_call", toolCallId="3", title="z")
        logs.update(62, "tool_call", toolCallId="4", title="of the agent's own")

    records = trace_of(tmp_path, write).tool_calls.records

    assert [(call.name, call.exchange) for call in records] == [
        ("first", "x-0"),
        ("second", "x-0"),
        ("third", "x-1"),
        ("of the agent's own", None),
    ]


def test_calls_shown_while_the_answer_still_streams_find_it(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        logs.exchange(20, 100, calls=[Asked()])
        logs.update(60, "tool_call", toolCallId="1", title="x")

    assert trace_of(tmp_path, write).tool_calls.records[0].exchange == "x-0"


def test_a_subagents_calls_find_its_exchange_and_are_no_turns(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        logs.exchange(20, calls=[Asked(name="task")])
        logs.exchange(30, role="subagent", calls=[Asked(id="call_inner1")])
        logs.update(41, "tool_call", toolCallId="call_inner1", title="ls")

    trace = trace_of(tmp_path, write)

    assert trace.tool_calls.records[0].exchange == "x-1"
    assert trace.summary.total_turns == 1


def test_side_calls_ask_for_no_tools(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        logs.exchange(20, role="auxiliary", calls=[Asked(name="judge")])
        logs.update(41, "tool_call", toolCallId="1", title="x")

    trace = trace_of(tmp_path, write)

    assert (trace.tool_calls.records[0].exchange, trace.summary.total_turns) == (None, 0)
    assert trace.summary.total_tokens == 110


def test_failures_and_repeats_are_counted(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        for number, status in enumerate(("failed", "failed", "completed", "completed")):
            fields = {"title": "ls", "rawInput": {"a": 1}, "kind": "execute", "status": status}
            logs.update(30 + number, "tool_call", toolCallId=str(number), **fields)
        logs.update(40, "tool_call", toolCallId="5", title="ls", rawInput={"a": 2}, kind="read", status="completed")

    calls = trace_of(tmp_path, write).tool_calls

    assert (calls.total, calls.failed, calls.retried, calls.error_rate) == (5, 2, 2, 0.4)
    assert calls.by_category == {"execute": 4, "read": 1}


def test_calls_of_an_agent_that_shows_none_are_derived_from_its_exchanges(tmp_path: Path) -> None:
    def write(logs: TryLogs) -> None:
        logs.exchange(20, calls=[Asked(), Asked(id="call_2", name="write_file", arguments={"path": "a"}, result="ok")])
        logs.exchange(50, calls=[Asked(result="never sent back")])

    trace = trace_of(tmp_path, write)

    assert trace.tool_calls.records == (
        record("call_abcdef", kind="other", ms=20.0, exchange="x-0"),
        record("call_2", name="write_file", kind="other", ms=20.0, exchange="x-0"),
        record("call_abcdef", kind="other", status="pending", exchange="x-1"),
    )
    derived = [event for event in trace.events if event.source == "derived"]
    assert [(event.mono_ms, event.type, event.data["id"]) for event in derived] == [
        (30, "tool_call", "call_abcdef"),
        (30, "tool_call", "call_2"),
        (50, "tool_call_update", "call_abcdef"),
        (50, "tool_call_update", "call_2"),
        (60, "tool_call", "call_abcdef"),
    ]
    assert derived[3].data["content"] == [{"type": "content", "content": {"type": "text", "text": "ok"}}]


def test_a_failed_request_is_an_error_and_no_turn(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, lambda logs: logs.exchange(20, status=503))

    errors = [event for event in trace.events if event.type == "error"]
    assert [(event.source, event.data["message"]) for event in errors] == [
        ("gateway", "main model request: status 503, complete: overloaded")
    ]
    assert trace.turns == []


def test_a_try_that_left_nothing_has_an_empty_trace(tmp_path: Path) -> None:
    trace = build_trace(tmp_path)

    assert (trace.session_id, trace.events, trace.turns) == ("", [], [])
    assert trace.summary == TraceSummary(total_turns=0, total_tool_calls=0, total_tokens=None, total_duration_ms=0.0)


@pytest.mark.parametrize("cut", [2, 10, 200])
def test_logs_that_were_cut_by_a_kill_give_a_trace_of_what_is_there(tmp_path: Path, cut: int) -> None:
    two_turns(tmp_path)
    for name in ("acp.ndjson", "llm.jsonl"):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[:-cut])

    trace = build_trace(tmp_path)

    assert "prompt_end" not in [event.type for event in trace.events]
    assert [turn.index for turn in trace.turns] == [0]
    assert trace.summary.total_duration_ms > 0


def test_events_are_written_flat_and_can_be_written_again(tmp_path: Path) -> None:
    two_turns(tmp_path)

    write_events(tmp_path)
    first = (tmp_path / "events.jsonl").read_bytes()
    write_events(tmp_path)

    assert (tmp_path / "events.jsonl").read_bytes() == first
    lines = [orjson.loads(line) for line in first.splitlines()]
    assert lines[0] == {
        "seq": 0,
        "ts": lines[0]["ts"],
        "mono_ms": 10,
        "type": "prompt_begin",
        "source": "acp",
        "session_id": "s-1",
        "index": 0,
        "text": "do it",
    }
    assert [line["type"] for line in lines] == [event.type for event in build_trace(tmp_path).events]
    assert [path.name for path in tmp_path.iterdir() if "draft" in path.name] == []


def test_an_agents_keys_never_hide_those_of_an_event(tmp_path: Path) -> None:
    trace_of(tmp_path, lambda logs: logs.update(20, "notice", text="hi", seq=99, type="prompt_end", mono_ms=-1))

    write_events(tmp_path)

    notice = orjson.loads((tmp_path / "events.jsonl").read_bytes().splitlines()[1])
    assert (notice["seq"], notice["type"], notice["mono_ms"], notice["text"]) == (1, "notice", 20, "hi")
