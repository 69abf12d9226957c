"""Wire parity: every kind of planted divergence is found in real requests of every dialect, and nothing else is."""

import copy
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parity_samples import AGENTS, ALONE, HEADERS, capture_of, captured, elsewhere, request_of

from benchflow.gateway.neutral import RULES
from benchflow.parity.capture import Capture
from benchflow.parity.capture import capture_of as read_back
from benchflow.parity.wire import DIVERGES, compare_wire

in_every_dialect = pytest.mark.parametrize("dialect", AGENTS)
Entries = list[dict[str, Any]]


def main(entries: Entries, number: int = 0) -> dict[str, Any]:
    """The body of a main request."""
    return [entry for entry in entries if entry["role"] == "main"][number]["body"]


def tools(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The list of tools in any dialect."""
    first = body["tools"][0]
    return first["functionDeclarations"] if "functionDeclarations" in first else body["tools"]


def change_text(value: Any, old: str, new: str) -> Any:
    """Change a text wherever it stands in a value."""
    return json.loads(json.dumps(value).replace(old, new))


def sampling(entries: Entries) -> None:
    body = main(entries)
    body.get("generationConfig", body)["temperature"] = 0.73


def word_in_system(entries: Entries) -> None:
    for key in ("system", "systemInstruction", "messages", "input"):
        if key in main(entries):
            main(entries)[key] = change_text(main(entries)[key], "You are ", "You were ")


def tool_dropped(entries: Entries) -> None:
    del tools(main(entries))[1]


def tool_reordered(entries: Entries) -> None:
    listed = tools(main(entries))
    listed[0], listed[1] = listed[1], listed[0]


def schema_reshaped(entries: Entries) -> None:
    tool = tools(main(entries))[0]
    tool = tool.get("function", tool)
    schema = next(tool[key] for key in ("parameters", "input_schema", "parametersJsonSchema") if key in tool)
    schema["properties"]["planted"] = {"type": "string"}


def extra_request(entries: Entries) -> None:
    entries.insert(3, copy.deepcopy(entries[2]))


def missing_request(entries: Entries) -> None:
    entries.pop()


def missing_auxiliary(entries: Entries) -> None:
    beside = next(entry for entry in entries if entry["role"] != "main")
    entries.remove(beside)


def other_model(entries: Entries) -> None:
    for entry in entries:
        if "model" in entry["body"]:
            entry["body"]["model"] = "gpt-4o-mini"
        else:
            entry["path"] = entry["path"].replace("models/gemini", "models/other")


def other_file_in_the_same_place(entries: Entries) -> None:
    last = [entry for entry in entries if entry["role"] == "main"][-1]
    last["body"] = change_text(last["body"], "hello.txt", "other.txt")


def header(entries: Entries) -> None:
    entries[-1]["headers"]["anthropic-beta"] = "tools-2026-02-02"


def header_dropped(entries: Entries) -> None:
    del entries[0]["headers"]["user-agent"]


def path(entries: Entries) -> None:
    entries[-1]["path"] += "/other"


def order_of_keys(entries: Entries) -> None:
    body = main(entries)
    first = next(iter(body))
    body[first] = body.pop(first)


PLANTED: dict[str, tuple[Callable[[Entries], None], str]] = {
    "a sampling parameter": (sampling, "temperature"),
    "one word in the system prompt": (word_in_system, "{+were+}"),
    "a tool dropped": (tool_dropped, "tools"),
    "a tool reordered": (tool_reordered, "tools"),
    "a schema reshaped": (schema_reshaped, "planted"),
    "an extra request": (extra_request, "request"),
    "a missing request": (missing_request, "request"),
    "a missing auxiliary request": (missing_auxiliary, "request"),
    "a different model": (other_model, "o"),
    "a different file in the same place": (other_file_in_the_same_place, "other"),
    "a changed header": (header, "headers.anthropic-beta"),
    "a header left out": (header_dropped, "headers.user-agent"),
    "a different path": (path, "call"),
    "another order of keys": (order_of_keys, "order of keys"),
}


@in_every_dialect
@pytest.mark.parametrize("name", PLANTED)
def test_planted_divergence_is_found(name: str, dialect: str) -> None:
    plant, shown = PLANTED[name]

    check = compare_wire(captured(dialect, where="alone"), captured(dialect, edit=plant))

    assert not check.parity
    diverging = [request for request in check.requests if request.found in DIVERGES]
    said = "\n".join(line for request in diverging for each in request.differences for line in each.lines())
    assert shown in said


@in_every_dialect
def test_same_requests_are_identical_without_any_rule(dialect: str) -> None:
    check = compare_wire(captured(dialect, where="alone"), captured(dialect), without=RULES)

    assert (check.parity, check.identical, check.fired) == (True, len(check.requests), {})


OWN = {
    "/workspace": "/srv/parity-x1/workspace",
    "2026-11-22": "2026-11-23",
    "November 22": "November 23",
    "Sunday": "Monday",
    "01a200d4-": "0b1c2d3e-",
}


@in_every_dialect
def test_what_is_each_sides_own_is_neutral(dialect: str) -> None:
    inside = captured(dialect)
    alone = elsewhere(inside, OWN)

    check = compare_wire(alone, inside)

    assert check.parity, [each for request in check.requests for each in request.differences]
    assert "paths" in check.fired
    assert set(check.fired) <= {"paths", "dates", "ids"}
    assert check.identical < len(check.requests)


@in_every_dialect
def test_rule_that_is_switched_off_leaves_what_it_takes_out(dialect: str) -> None:
    inside = captured(dialect)

    check = compare_wire(elsewhere(inside, {"/workspace": ALONE.workspace}), inside, without=["paths"])

    assert not check.parity
    assert check.fired == {}


def test_page_on_parity_lists_the_rules_in_their_order() -> None:
    page = (Path(__file__).parent.parent / "parity.md").read_text()

    assert re.findall(r"^\| `(\w+)` \|.*\|.*\|.*\|$", page, re.MULTILINE) == list(RULES)


def chat(*texts: str, **more: Any) -> Capture:
    return capture_of([request_of("/v1/chat/completions", "main", {"messages": list(texts), **more}, HEADERS)])


@pytest.mark.parametrize(
    ("alone", "inside"),
    [
        ("in /srv/parity-x1/workspace", "in /application"),
        ("in /srv/parity-x1/workspace/a", "in /workspace/b"),
        ("today is 2026-11-23", "today is 2026-11-25"),
        ("at 127.0.0.1:45123", "at 127.0.0.1:8000"),
        ("see 0f8fad5b-d9cb-469f-a165-70867728950e", "see that one"),
        ("wrote 52 bytes", "wrote 53 bytes"),
    ],
)
def test_what_is_beyond_a_rules_boundary_diverges(alone: str, inside: str) -> None:
    assert not compare_wire(replace(chat(alone), setting=ALONE), chat(inside)).parity


def test_only_rules_that_are_needed_are_counted() -> None:
    """A date and an id that are the same on both sides take no rule."""
    same = " 2026-11-22 0f8fad5b-d9cb-469f-a165-70867728950e"

    check = compare_wire(replace(chat(f"{ALONE.workspace}{same}"), setting=ALONE), chat(f"/workspace{same}"))

    assert check.fired == {"paths": 1}


def test_null_content_and_none_are_the_same_but_an_empty_one_is_not() -> None:
    def said(**content: Any) -> Capture:
        return chat(messages=[{"role": "assistant", **content}])

    assert compare_wire(said(content=None), said()).fired == {"null_content": 1}
    assert not compare_wire(said(content=""), said()).parity


def test_spaces_between_values_are_a_divergence() -> None:
    one = chat("a")
    other = replace(one, requests=(replace(one.requests[0], sha256="x", form="y"),))

    assert not compare_wire(one, other).parity


def test_requests_beside_the_work_may_come_in_any_order() -> None:
    def first(entries: Entries) -> None:
        entries.sort(key=lambda entry: entry["role"] == "main")

    def last(entries: Entries) -> None:
        entries.sort(key=lambda entry: entry["role"] != "main")

    for dialect in AGENTS:
        assert compare_wire(captured(dialect, edit=first), captured(dialect, edit=last)).parity


def test_order_of_the_main_requests_counts() -> None:
    def swapped(entries: Entries) -> None:
        places = [place for place, entry in enumerate(entries) if entry["role"] == "main"][:2]
        entries[places[0]], entries[places[1]] = entries[places[1]], entries[places[0]]

    assert not compare_wire(captured("openai-completions"), captured("openai-completions", edit=swapped)).parity


def test_extra_request_does_not_make_those_after_it_differ() -> None:
    check = compare_wire(captured("openai-completions"), captured("openai-completions", edit=extra_request))

    assert [request.found for request in check.requests].count("identical") == len(check.requests) - 1
    assert [request.name for request in check.requests if request.found == "extra"] == ["extra main 1"]


def test_request_that_races_with_the_end_is_late_and_no_divergence() -> None:
    inside = captured("openai-completions")
    title = replace(inside.requests[0], role="auxiliary", after_prompt=True, sha256="other")
    check = compare_wire(inside, replace(inside, requests=(*inside.requests, title)))

    assert check.parity
    assert [request.found for request in check.requests][-1] == "late"


def test_main_request_after_the_prompt_is_never_late() -> None:
    inside = captured("openai-completions")
    more = replace(inside.requests[1], after_prompt=True)

    assert not compare_wire(inside, replace(inside, requests=(*inside.requests, more))).parity


def test_what_the_gateway_changed_is_told() -> None:
    inside = captured("openai-completions")
    changed = tuple(replace(request, forwarded="else") for request in inside.requests)

    check = compare_wire(inside, replace(inside, requests=changed))

    assert check.parity
    assert {request.forwarded for request in check.requests} == {False}


def test_capture_that_was_written_is_read_as_it_was() -> None:
    for dialect in AGENTS:
        capture = captured(dialect)
        assert read_back(json.loads(capture.to_json()), "here") == capture


WORDS = st.sampled_from(["/workspace", "/workspace/a.py", "2026-11-22", "x", "wrote 5 bytes", "(", "127.0.0.1:4141"])
TEXTS = st.lists(st.lists(WORDS, max_size=5).map(" ".join), max_size=3)


@settings(max_examples=60)
@given(TEXTS, TEXTS)
def test_comparison_is_the_same_from_either_side(mine: list[str], theirs: list[str]) -> None:
    def there(texts: list[str]) -> Capture:
        return replace(chat(*[text.replace("/workspace", ALONE.workspace) for text in texts]), setting=ALONE)

    one, other = compare_wire(there(mine), chat(*theirs)), compare_wire(chat(*theirs), there(mine))

    assert one.parity == other.parity == (mine == theirs)
    assert not one.parity or one.fired == other.fired
