"""The neutral rules, each on both sides of its boundary."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchflow.gateway.neutral import RULES, Side, neutralize
from benchflow.gateway.places import Places

DAY = date(2026, 11, 22)
SIDE = Side(
    places=Places(workspace="/app", home="/home/agent", tmp="/tmp"),
    model="gpt-4.1",
    port=4141,
    prompts=("Fix the test.",),
    day=DAY,
)
OTHER = Side(
    places=Places(workspace="/srv/x-1/work", home="/srv/x-1/home", tmp="/srv/x-1/tmp"),
    model="openai/big",
    port=8123,
    prompts=("Fix the test.\n",),
    day=date(2027, 3, 1),
)
UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
OTHER_UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"


def tool(text: str) -> dict[str, Any]:
    """A request with one result of a tool."""
    return {"messages": [{"role": "tool", "tool_call_id": "c", "content": text}]}


def told(text: str) -> dict[str, Any]:
    """A request with one text of the user."""
    return {"messages": [{"role": "user", "content": text}]}


def test_rules_are_these() -> None:
    assert list(RULES) == [
        "prompt_space",
        "paths",
        "dates",
        "ports",
        "ids",
        "model",
        "null_content",
        "byte_counts",
        "durations",
        "process_ids",
    ]


@pytest.mark.parametrize(
    ("rule", "value", "expected"),
    [
        ("paths", "/app", "⟦workspace⟧"),
        ("paths", "see /app/a.py, (/app), /app. And", "see ⟦workspace⟧/a.py, (⟦workspace⟧), ⟦workspace⟧. And"),
        ("paths", "file:///app/a.py -I/app/include", "file://⟦workspace⟧/a.py -I⟦workspace⟧/include"),
        ("paths", r'{"text":"a\n/app/b"}', r'{"text":"a\n⟦workspace⟧/b"}'),
        ("paths", "/home/agent/.x and /tmp/y", "⟦home⟧/.x and ⟦tmp⟧/y"),
        ("paths", "/home/agent/.claude/projects/-app/memory", "⟦home⟧/.claude/projects/⟦workspace slug⟧/memory"),
        ("paths", "../home/agent/x from ../tmp/y", "⟦home from workspace⟧/x from ⟦tmp from workspace⟧/y"),
        ("paths", {"/app/a": ["/app"]}, {"⟦workspace⟧/a": ["⟦workspace⟧"]}),
        ("dates", "Today is Sunday, November 22, 2026.", "Today is ⟦date⟧."),
        ("dates", "2026-11-22 at 2026-11-21T23:59:59.123Z", "⟦date⟧ at ⟦date⟧"),
        ("dates", "-rw-r--r-- 1 a a 5 Nov 22 00:42 x", "-rw-r--r-- 1 a a 5 ⟦date⟧ x"),
        ("dates", "Sun Nov 22 00:42:11 UTC 2026", "⟦date⟧"),
        ("dates", "Date: Sun, 22 Nov 2026 00:42:11 GMT", "Date: ⟦date⟧"),
        ("dates", "11/22/2026, 12:42:11 AM or 22.11.2026", "⟦date⟧ or ⟦date⟧"),
        ("dates", "1795309200 1795309200123 20261122-004211", "⟦date⟧ ⟦date⟧ ⟦date⟧"),
        ("dates", "20261122_004211_123456.json 20261122_004211_12", "⟦date⟧.json ⟦date⟧_12"),
        ("dates", "zone Etc/UTC, zone UTC", "zone UTC, zone UTC"),
        ("ports", "http://127.0.0.1:4141/v1 localhost:45123", "http://127.0.0.1:⟦port⟧/v1 localhost:⟦port⟧"),
        ("ids", [UUID, OTHER_UUID, f"again {UUID}!"], ["⟦id 1⟧", "⟦id 2⟧", "again ⟦id 1⟧!"]),
        ("ids", "ses_3e8c1b2a0ffeXyZab01", "⟦id 1⟧"),
        ("ids", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "⟦id 1⟧"),
        ("ids", f"{UUID}########3", "⟦id 1⟧########3"),
        ("ids", f'{{"device_id":"{"0f" * 32}"}}', '{"device_id":"⟦id 1⟧"}'),
        ("ids", "Chunk ID: c57ff3\n", "Chunk ID: ⟦id 1⟧\n"),
        ("ids", "⟦tmp⟧/tmp.WBweKxyAYH ⟦tmp⟧/tmpab_12cde", "⟦tmp⟧/⟦id 1⟧ ⟦tmp⟧/⟦id 2⟧"),
        ("model", {"model": "gpt-4.1"}, {"model": "⟦model⟧"}),
        ("model", {"model": "openai/gpt-4.1"}, {"model": "⟦model⟧"}),
        ("prompt_space", told("Fix the test.\n\n"), told("Fix the test.")),
        ("prompt_space", told("<t>1</t>\nFix the test. "), told("<t>1</t>\nFix the test.")),
        ("null_content", [{"role": "a", "content": None}], [{"role": "a"}]),
        ("byte_counts", tool("Wrote 52 bytes to a.py"), tool("Wrote ⟦count⟧ bytes to a.py")),
        ("byte_counts", tool("File written (1,052 characters)"), tool("File written (⟦count⟧ characters)")),
        ("byte_counts", tool("52 bytes were written"), tool("⟦count⟧ bytes were written")),
        ("durations", tool("Ran 4 tests in 0.003s"), tool("Ran 4 tests in ⟦duration⟧")),
        ("durations", tool("real\t0m0.012s"), tool("real\t⟦duration⟧")),
        ("process_ids", tool("Process Group PGID: 4711"), tool("Process Group PGID: ⟦process⟧")),
    ],
)
def test_rule_takes_out_what_is_the_sides_own(rule: str, value: Any, expected: Any) -> None:
    neutral = neutralize(value, SIDE, without=RULES.keys() - {rule})

    assert neutral.value == expected
    assert list(neutral.fired) == [rule]


@pytest.mark.parametrize(
    ("rule", "value"),
    [
        ("paths", "/application"),
        ("paths", "/app2 /app-old /app.bak /app_x"),
        ("paths", "x/app ./app ../app ~/app https://host/app"),
        ("paths", "../../home/agent ../home ../tmpfile x../tmp"),
        ("paths", "the flag -app and pre-app-post"),
        ("dates", "2026-11-20 and November 24, 2026"),
        ("dates", "Nov 22, 2025 and Nov 22"),
        ("dates", "12026-11-22 and 2026-11-2200"),
        ("dates", "1790000000"),
        ("dates", "Etc/UTC+1 and /usr/share/zoneinfo/Etc/UTC"),
        ("ports", "localhost:8000 10.0.0.5:4141 ratio 1:4141"),
        ("ids", "deadbeef-0000-0000-0000 session_started request_timeout30 message-12"),
        ("ids", f"x{UUID}"),
        ("ids", f'{{"digest":"{"0f" * 32}"}} commit {"0f" * 20} ID: c57ff3'),
        ("ids", "⟦tmp⟧/tmpfile12 ⟦workspace⟧/tmp.WBweKxyAYH"),
        ("model", {"model": "gpt-4o"}),
        ("model", {"model": "gpt-4.1-mini", "text": "gpt-4.1"}),
        ("model", {"messages": [{"model": "gpt-4.1"}]}),
        ("prompt_space", told("Fix the tests.\n")),
        ("prompt_space", told("Fix the test. Now. ")),
        ("null_content", {"content": "", "name": None}),
        ("byte_counts", told("It wrote 52 bytes to a.py")),
        ("byte_counts", tool("There are 52 bytes in a.py; 3 lines were written")),
        ("durations", told("Ran 4 tests in 0.003s")),
        ("durations", tool("timeout = 30s, retry 5s")),
        ("durations", tool("Ran 4 tests in 3 suites")),
        ("process_ids", tool("process 4711 of 5000")),
        ("process_ids", told("PGID: 4711")),
    ],
)
def test_rule_leaves_alone_what_is_beyond_its_boundary(rule: str, value: Any) -> None:
    neutral = neutralize(value, SIDE, without=RULES.keys() - {rule})

    assert (neutral.value, neutral.fired) == (value, {})


def test_two_sides_of_the_same_request_are_equal() -> None:
    mine = {
        "model": "gpt-4.1",
        "messages": [
            {"role": "system", "content": f"cwd /app, session {UUID}, Sunday, November 22, 2026"},
            {"role": "user", "content": "Fix the test."},
            {"role": "assistant", "content": None, "tool_calls": [{"arguments": '{"path":"/app/a.py"}'}]},
            {"role": "tool", "content": "wrote 123 bytes to /app/a.py"},
        ],
    }
    theirs = {
        "messages": [
            {"content": f"cwd /srv/x-1/work, session {OTHER_UUID}, Monday, March 1, 2027", "role": "system"},
            {"content": "Fix the test.\n", "role": "user"},
            {"tool_calls": [{"arguments": '{"path":"/srv/x-1/work/a.py"}'}], "role": "assistant"},
            {"content": "wrote 132 bytes to /srv/x-1/work/a.py", "role": "tool"},
        ],
        "model": "openai/big",
    }

    assert neutralize(mine, SIDE).digest == neutralize(theirs, OTHER).digest


@pytest.mark.parametrize(
    "other",
    [
        told("cd /app/b"),
        told("cd /app/a please"),
        {**told("cd /app/a"), "temperature": 0},
        {"messages": [*told("cd /app/a")["messages"], {"role": "user", "content": ""}]},
    ],
)
def test_any_other_difference_stays_one(other: Any) -> None:
    assert neutralize(other, SIDE).digest != neutralize(told("cd /app/a"), SIDE).digest


def test_rule_counts_how_often_it_fired_and_can_be_left_out() -> None:
    value = told(f"/app /app {UUID}")

    assert neutralize(value, SIDE).fired == {"paths": 2, "ids": 1}
    assert neutralize(value, SIDE, without=["paths"]).fired == {"ids": 1}


def test_order_of_keys_does_not_number_ids() -> None:
    mine = {"a": UUID, "b": OTHER_UUID}
    theirs = {"b": UUID, "a": OTHER_UUID}

    assert neutralize(mine, SIDE).digest == neutralize(theirs, SIDE).digest


PIECES = st.sampled_from(
    [
        "/app", "/application", "/home/agent", "/tmp", "/", "-app", ".py", " ", "\n", "\\n", '"', "⟦", "⟧", "⟦date⟧",
        "2026-11-22", "Nov 22", " 00:42", "2026", "11/22/2026", "20261122", "1795309200", "T00:42:11Z", "1", "x", "Z",
        UUID, "ses_3e8c1b2a0ffeXyZab01", "127.0.0.1:4141", "localhost:", "45123", "wrote ", "5 bytes", " written",
        "in ", "0.1s", "PGID: ", "7", "Fix the test.", "file://", " -I",
    ]
)  # fmt: skip
TEXTS = st.lists(PIECES, max_size=8).map("".join)
BODIES = st.recursive(
    TEXTS | st.none() | st.integers(0, 9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["content", "model", "text", "/app"]), inner, max_size=3)
        | inner.map(lambda value: {"role": "tool", "content": value})
    ),
    max_leaves=6,
)


@settings(max_examples=400)
@given(BODIES)
def test_rules_applied_twice_change_nothing_more(body: Any) -> None:
    once = neutralize(body, SIDE)

    again = neutralize(once.value, SIDE)

    assert (again.value, again.fired) == (once.value, {})


@given(BODIES)
def test_each_rule_alone_applied_twice_changes_nothing_more(body: Any) -> None:
    for name in RULES:
        without = RULES.keys() - {name}
        once = neutralize(body, SIDE, without)
        assert neutralize(once.value, SIDE, without).value == once.value


OWN = {
    "<workspace>": ("/app", "/srv/x-1/work"),
    "<home>": ("/home/agent", "/srv/x-1/home"),
    "<tmp>": ("/tmp", "/srv/x-1/tmp"),
    "<date>": ("2026-11-22", "Monday, March 1, 2027"),
    "<port>": ("127.0.0.1:4141", "127.0.0.1:8123"),
    "<id>": (UUID, OTHER_UUID),
    "<took>": ("in 0.1s", "in 12.34 ms"),
    "<wrote>": ("wrote 5 bytes", "wrote 1234 bytes"),
}
"""What each of two sides has of its own."""


def rendered(value: Any, side: int) -> Any:
    """Write the own things of one side for their names."""
    if isinstance(value, list):
        return [rendered(item, side) for item in value]
    if isinstance(value, dict):
        return {key: rendered(item, side) for key, item in value.items()}
    for name, own in OWN.items():
        value = value.replace(name, own[side])
    return value


WORDS = st.sampled_from([*OWN, "/a.py", "text", "(", ")", "\n", ": ", "/usr/bin", "12", '"'])
TEMPLATES = st.lists(
    st.lists(WORDS, max_size=8).map(" ".join).map(lambda text: {"role": "tool", "content": text}), max_size=3
)


@given(TEMPLATES, TEMPLATES)
def test_comparison_holds_from_either_side(mine: Any, theirs: Any) -> None:
    """What one side renders as the other does is equal, whichever is which; what differs beyond that never is."""
    there = neutralize(rendered(mine, 0), SIDE).digest == neutralize(rendered(theirs, 1), OTHER).digest
    back = neutralize(rendered(mine, 1), OTHER).digest == neutralize(rendered(theirs, 0), SIDE).digest

    assert there == back == (mine == theirs)
