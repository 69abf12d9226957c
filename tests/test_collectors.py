"""What collectors say of a trial. Every number here can be reckoned by hand from the session that is written."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import make_row, make_unscored
from trials import TOKENS, Asked, TryLogs, two_turns
from worked import Did, Took, collected, read, run, session

from benchflow.collectors.cost import CostCollector
from benchflow.collectors.latency import LatencyCollector, percentile
from benchflow.collectors.token import TokenCollector
from benchflow.collectors.tool_call import OTHER_NAMES, ToolCallCollector
from benchflow.contracts import CostBreakdown, ExchangeCounts, TimingBreakdown, TokenBreakdown, ToolCallBreakdown
from benchflow.row import ProfileRow
from benchflow.trace import build_trace

FIRST = TokenBreakdown.of(input=100, output=20, reasoning=5, cache_write=50)
SECOND = TokenBreakdown.of(input=30, output=10, cache_read=150, cache_write=20)
ROLES = {
    "main": {"exchanges": 2, "tokens": FIRST + SECOND},
    "auxiliary": {"exchanges": 1, "tokens": vars(TokenBreakdown.of(input=7, output=3))},
}


def row_of(**changes: Any) -> ProfileRow:
    """The row of a session of two turns and a side call."""
    tokens = FIRST + SECOND + TokenBreakdown.of(input=7, output=3)
    return make_row(**{"tokens": tokens, "extensions": {"by_role": ROLES, "held_ms": 12.5}, **changes})


async def test_tokens_are_counted_by_category_by_role_and_by_turn(tmp_path: Path) -> None:
    trace = session(tmp_path, Took(calls=[run("make")], tokens=FIRST), Took(text="Done.", tokens=SECOND))

    assert await collected(TokenCollector(), row_of(), trace) == {
        "tokens.input": (137, "tokens", "gateway"),
        "tokens.output": (33, "tokens", "gateway"),
        "tokens.reasoning": (5, "tokens", "gateway"),
        "tokens.cache_read": (150, "tokens", "gateway"),
        "tokens.cache_write": (70, "tokens", "gateway"),
        "tokens.total": (390, "tokens", "gateway"),
        "tokens.active": (240, "tokens", "gateway"),
        "tokens.cache_hit_share": (150 / 357, "share", "gateway"),
        "tokens.main": (380, "tokens", "gateway"),
        "tokens.auxiliary": (10, "tokens", "gateway"),
        "tokens.subagent": (0, "tokens", "gateway"),
        "tokens.per_turn": (190.0, "tokens/turn", "gateway"),
        "tokens.output_per_turn": (15.0, "tokens/turn", "gateway"),
        "tokens.context_first": (150, "tokens", "gateway"),
        "tokens.context_last": (200, "tokens", "gateway"),
        "tokens.context_peak": (200, "tokens", "gateway"),
        "tokens.context_growth": (50.0, "tokens/turn", "gateway"),
    }


async def test_what_was_not_metered_is_unknown_and_has_no_source() -> None:
    for collector in (TokenCollector(), CostCollector(), ToolCallCollector()):
        row = make_unscored(tool_calls=ToolCallBreakdown())
        found = await collected(collector, row, None)

        assert {(value, source) for value, _, source in found.values()} == {(None, "")}


async def test_what_an_agent_says_of_itself_is_marked_so(tmp_path: Path) -> None:
    row = make_row(
        tokens=TokenBreakdown.of(input=10, output=2),
        cost=CostBreakdown(total_usd=0.5, source="acp"),
        extensions={"by_role": {}, "usage_source": "acp"},
    )
    trace = session(tmp_path, Took(calls=[run("make")]), captured=False)

    tokens = await collected(TokenCollector(), row, trace)
    costs = await collected(CostCollector(), row, trace)

    assert tokens["tokens.total"] == (12, "tokens", "acp")
    assert [tokens[name][0] for name in ("tokens.main", "tokens.per_turn", "tokens.context_growth")] == [None] * 3
    assert costs["cost.total"] == (0.5, "USD", "acp")
    assert [costs[f"cost.{name}"][0] for name in ("main", "auxiliary", "subagent", "per_turn")] == [None] * 4


async def test_times_are_those_of_stages_turns_and_shares(tmp_path: Path) -> None:
    trace = session(tmp_path, Took(calls=[run("make"), read("a", took_ms=50)]), Took(text="Done."))
    row = row_of(timing=TimingBreakdown(wall_ms=251.0, segments={"launch": 40.0, "prompt": 251.5}))

    assert await collected(LatencyCollector(), row, trace) == {
        "latency.wall": (251.0, "ms", "harness"),
        "latency.segment.launch": (40.0, "ms", "harness"),
        "latency.segment.prompt": (251.5, "ms", "harness"),
        "latency.held": (12.5, "ms", "gateway"),
        "latency.turn_p50": (10.0, "ms", "gateway"),
        "latency.turn_p95": (10.0, "ms", "gateway"),
        "latency.ttft_p50": (1.0, "ms", "gateway"),
        "latency.ttft_p95": (1.0, "ms", "gateway"),
        "latency.model": (20.0, "ms", "gateway"),
        "latency.tools": (50.0, "ms", "acp"),
        "latency.agent": (180.0, "ms", "derived"),
    }


async def test_times_of_a_trial_that_never_began_are_unknown() -> None:
    row = make_unscored(timing=TimingBreakdown(wall_ms=0.0), exchanges=ExchangeCounts(), extensions={"held_ms": 0.0})

    found = await collected(LatencyCollector(), row, None)

    assert {value for value, _, _ in found.values()} == {None}


@settings(max_examples=50)
@given(values=st.lists(st.floats(min_value=0, max_value=1e6), min_size=1, max_size=30), percent=st.floats(0, 100))
def test_percentiles_are_those_of_numpy(values: list[float], percent: float) -> None:
    assert percentile(values, percent) == pytest.approx(float(np.percentile(values, percent)), rel=1e-9, abs=1e-6)


async def test_cost_is_split_by_role_by_direction_and_by_turn(tmp_path: Path) -> None:
    cost = CostBreakdown(
        total_usd=0.006, main_usd=0.003, auxiliary_usd=0.001, input_usd=0.002, output_usd=0.004, source="a list"
    )
    roles = {**ROLES, "subagent": {"exchanges": 1, "tokens": TOKENS}}

    found = await collected(CostCollector(), row_of(cost=cost, extensions={"by_role": roles}), two_turn_trace(tmp_path))

    assert found == {
        "cost.total": (0.006, "USD", "gateway"),
        "cost.main": (0.003, "USD", "gateway"),
        "cost.auxiliary": (0.001, "USD", "gateway"),
        "cost.subagent": (0.002, "USD", "gateway"),
        "cost.input": (0.002, "USD", "gateway"),
        "cost.output": (0.004, "USD", "gateway"),
        "cost.per_turn": (0.001, "USD/turn", "gateway"),
        "cost.turn_max": (0.001, "USD", "gateway"),
    }


def two_turn_trace(folder: Path) -> Any:
    """A trace whose turns cost 0.001 each."""
    two_turns(folder)
    return build_trace(folder)


async def test_roles_that_did_not_occur_cost_nothing(tmp_path: Path) -> None:
    cost = CostBreakdown(total_usd=0.003, main_usd=0.003)
    row = row_of(cost=cost, extensions={"by_role": {"main": ROLES["main"]}})

    found = await collected(CostCollector(), row, None)

    assert [found[f"cost.{role}"][0] for role in ("main", "auxiliary", "subagent")] == [0.003, 0.0, 0.0]
    assert found["cost.per_turn"][0] is None


async def test_tool_calls_are_counted_by_kind_and_name(tmp_path: Path) -> None:
    trace = session(
        tmp_path,
        Took(calls=[run("make", status="failed"), read("a")]),
        Took(calls=[run("make"), Did(name="rm -rf everything", kind="delete", given={"path": "a"}, took_ms=None)]),
    )

    assert await collected(ToolCallCollector(), row_of(tool_calls=trace.tool_calls), trace) == {
        "tool_calls.total": (4, "calls", "acp"),
        "tool_calls.failed": (1, "calls", "acp"),
        "tool_calls.retried": (1, "calls", "acp"),
        "tool_calls.unclosed": (1, "calls", "acp"),
        "tool_calls.unique": (3, "calls", "acp"),
        "tool_calls.error_rate": (0.25, "share", "acp"),
        "tool_calls.time": (90.0, "ms", "acp"),
        "tool_calls.kind.delete": (1, "calls", "acp"),
        "tool_calls.kind.execute": (2, "calls", "acp"),
        "tool_calls.kind.read": (1, "calls", "acp"),
        "tool_calls.name.shell": (2, "calls", "acp"),
        "tool_calls.name.read_file": (1, "calls", "acp"),
        "tool_calls.name.delete": (1, "calls", "acp"),
    }


async def test_calls_of_an_agent_that_shows_none_are_derived(tmp_path: Path) -> None:
    logs = TryLogs(tmp_path)
    logs.prompted(10)
    logs.exchange(20, calls=[], text="x")
    logs.exchange(40, calls=[Asked()])
    logs.exchange(60, text="done")
    trace = build_trace(tmp_path)

    found = await collected(ToolCallCollector(), row_of(tool_calls=trace.tool_calls), trace)

    assert found["tool_calls.total"] == (1, "calls", "derived")
    assert found["tool_calls.time"] == (10.0, "ms", "derived")


async def test_an_agent_that_makes_up_names_makes_up_no_metrics(tmp_path: Path) -> None:
    calls = [Did(name=f"tool-{number:02}") for number in range(40)]
    trace = session(tmp_path, Took(calls=calls))

    found = await collected(ToolCallCollector(), row_of(tool_calls=trace.tool_calls), trace)

    names = {name: value for name, (value, _, _) in found.items() if name.startswith("tool_calls.name.")}
    assert (len(names), names[f"tool_calls.name.{OTHER_NAMES}"], sum(names.values())) == (33, 8, 40)


@settings(max_examples=30)
@given(counts=st.lists(st.tuples(*[st.integers(0, 10_000)] * 5), min_size=1, max_size=6))
async def test_categories_add_up_to_totals_and_shares_are_shares(counts: list[tuple[int, ...]]) -> None:
    each = [
        TokenBreakdown.of(input=a, output=b + c, reasoning=c, cache_read=d, cache_write=e) for a, b, c, d, e in counts
    ]
    tokens = sum(each, TokenBreakdown())
    found = await collected(TokenCollector(), row_of(tokens=tokens), None)
    value = {name.removeprefix("tokens."): content[0] for name, content in found.items()}

    assert value["total"] == value["input"] + value["output"] + value["cache_read"] + value["cache_write"]
    assert value["active"] == value["total"] - value["cache_read"]
    assert value["reasoning"] <= value["output"]
    assert value["cache_hit_share"] is None or 0 <= value["cache_hit_share"] <= 1


async def test_calls_whose_input_is_not_known_are_like_no_other(tmp_path: Path) -> None:
    logs = TryLogs(tmp_path)
    logs.prompted(10)
    logs.update(20, "tool_call", toolCallId="1", title="x", status="completed")
    logs.update(30, "tool_call", toolCallId="2", title="x", status="completed")
    trace = build_trace(tmp_path)

    found = await collected(ToolCallCollector(), row_of(tool_calls=trace.tool_calls), trace)

    assert found["tool_calls.unique"][0] == 2
