"""The HTML page as a file: what is in it, what nothing can get into it, and what it leaves out."""

import base64
import hashlib
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from html_pages import BROKEN, FAILED, PASSED, STARTED, long_run, make_page, read_details, read_document, small_run
from stored import make_row, try_folder, write_run
from trials import TryLogs, two_turns

from benchflow.contracts import TokenBreakdown
from benchflow.report import figures_text, numbers
from benchflow.report.html.passages import make_passage, shorten
from benchflow.report.html.timeline import fit, read_timeline
from benchflow.report.profile.making import make_profile
from benchflow.store import StoredRun


class _Elements(HTMLParser):
    """Collects a page's elements with their attributes, and what style and code stand in them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.contents: dict[str, str] = {}
        self._open: tuple[str, dict[str, str | None]] = ("", {})
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._open = (tag, dict(attrs))
        self.elements.append(self._open)

    def handle_endtag(self, tag: str) -> None:
        self._open = ("", {})

    def handle_data(self, data: str) -> None:
        tag, attributes = self._open
        if tag == "style" or (tag == "script" and not attributes):
            self.contents[tag] = self.contents.get(tag, "") + data


def test_only_our_own_style_and_code_may_run_and_nothing_is_loaded(tmp_path: Path) -> None:
    page = _Elements(make_page(tmp_path / "page.html", small_run(tmp_path / "runs")).read_text())
    policy = next(a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy
    rules = dict(rule.split(" ", 1) for rule in unescape(policy).split("; "))

    assert rules["default-src"] == "'none'"
    assert rules["img-src"] == "data:"
    for tag in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.contents[tag].encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"
    assert not any(name in attributes for _, attributes in page.elements for name in ("src", "style", "onclick"))
    assert [a["href"] for _, a in page.elements if "href" in a] == ["data:,", "#main", "#"]


def test_what_an_agent_writes_neither_ends_nor_begins_an_element(tmp_path: Path) -> None:
    hostile = "</script><script>alert(1)</script><!--<script>\x1b[31m\u202e\x00"
    folder = write_run(tmp_path / "runs", make_row(trial=PASSED, scenario_id=hostile, agent=hostile, error=hostile))
    logs = TryLogs(try_folder(folder, PASSED))
    logs.opened()
    logs.prompted(10, hostile)
    logs.said(20, hostile)

    path = make_page(tmp_path / "page.html", folder)

    tags = [tag for tag, _ in _Elements(path.read_text()).elements if tag == "script"]
    assert len(tags) == 4, "document, places, one trial, our code"
    assert read_document(path)["trials"][0]["scenario"] == "</script><script>alert(1)</script><!--<script>\ufffd\ufffd"
    texts = [item["passages"][0]["text"] for item in read_details(path)[PASSED]["timeline"]["items"]]
    assert texts == ["</script><script>alert(1)</script><!--<script>\ufffd\ufffd"] * 2


def test_a_lone_surrogate_is_shown_as_what_cannot_be_read() -> None:
    assert make_passage("\ud800", "a\ud800b").text == "a\ufffdb"


def test_acp_events_and_model_requests_stand_on_one_clock(tmp_path: Path) -> None:
    two_turns(tmp_path)

    timeline = read_timeline(tmp_path)

    assert timeline is not None
    assert [(item.kind, item.at, item.title, item.brief) for item in timeline.items] == [
        ("prompt", 0, "Prompt 1", "do it"),
        ("model", 10, "Turn 1", "Let me see."),
        ("message", 21, "Message", "Let me see."),
        ("tool", 23, "shell", "ls"),
        ("model", 40, "Turn 2", "There is file.txt."),
        ("message", 51, "Message", "There is file.txt."),
        ("prompt", 60, "Prompt 1 ended", "end_turn"),
    ]
    tool = timeline.items[3]
    assert (tool.ms, tool.state) == (7, "good")
    assert [(passage.label, passage.text) for passage in tool.passages] == [("command", "ls"), ("output", "file.txt")]
    assert timeline.ms == 60


def test_requests_that_are_no_turn_say_what_they_were(tmp_path: Path) -> None:
    logs = TryLogs(tmp_path)
    logs.opened()
    logs.prompted(10)
    logs.exchange(20, role="auxiliary", text="A title")
    logs.exchange(40, status=503)
    logs.permission(60, toolCallId="call-1", title="rm -rf /", kind="execute")
    logs.update(70, "plan", entries=[{"content": "look", "status": "completed"}, {"content": "do"}])

    timeline = read_timeline(tmp_path)

    assert timeline is not None
    shown = [(item.kind, item.role, item.title, item.brief, item.state) for item in timeline.items[1:]]
    assert shown == [
        ("model", "auxiliary", "Auxiliary request", "A title", None),
        ("model", "main", "Model request", "main model request: status 503, complete: overloaded", "bad"),
        ("permission", "", "Permission: Allow", "rm -rf /", None),
        ("tool", "", "rm -rf /", "", "odd"),
        ("plan", "", "Plan", "1 of 2 done", None),
    ]


def test_a_long_text_is_cut_in_its_middle_and_says_by_how_much() -> None:
    passage = shorten(make_passage("output", "a" * 30_000 + "end"), 100)

    assert passage.text == "a" * 75
    assert passage.tail == "a" * 22 + "end"
    assert len(passage.text) + len(passage.tail) + passage.cut == 30_003


def test_a_very_long_timeline_is_fitted_and_says_what_is_missing(tmp_path: Path) -> None:
    folder = try_folder(long_run(tmp_path, 300), PASSED)
    timeline = read_timeline(folder)
    assert timeline is not None

    short = fit(timeline, most_items=100)

    assert (len(short.items), short.dropped, short.dropped_at) == (100, 202, 50)
    assert short.items[49].title == "call number 48"
    assert short.items[50].title == "call number 251"


def test_figures_are_those_of_the_profile_to_the_digit(tmp_path: Path) -> None:
    folder = small_run(tmp_path / "runs")
    profile = make_profile(StoredRun(folder).rows)

    document = read_document(make_page(tmp_path / "page.html", folder))

    [cell], [shown] = profile.cells, document["cells"]
    assert shown["passed"] == "1 of 2"
    assert shown["unscored"] == "1 unscored"
    figure = shown["figures"]["success"]
    assert (figure["value"], figure["low"], figure["high"]) == (cell.success.value, cell.success.low, cell.success.high)
    assert figure["text"] == figures_text.value("success", cell.success.value) == "50%"
    assert figure["range"] == figures_text.interval("success", cell.success.low, cell.success.high)
    assert shown["figures"]["wall_ms"]["text"] == numbers.duration(cell.wall_ms.value)
    assert shown["bounds"] == [cell.success_bounds.as_zero, cell.success_bounds.as_one]
    assert document["notes"] == list(profile.notes)
    assert document["scenarios"] == [
        {"scenario": "fix", "counts": [{"trials": 2, "passed": 1, "unscored": 0}]},
        {"scenario": "mend", "counts": [{"trials": 1, "passed": 0, "unscored": 1}]},
    ]


def test_every_trial_is_listed_with_its_verdict_also_one_without_a_result(tmp_path: Path) -> None:
    document = read_document(make_page(tmp_path / "page.html", small_run(tmp_path / "runs")))

    told = [(trial["id"], trial["word"], trial["label"], trial["score"]) for trial in document["trials"]]
    assert told == [
        (PASSED, "pass", "pass", "1.00"),
        (FAILED, "fail", "fail", "0.25"),
        (BROKEN, "unscored", "unscored (upstream)", "-"),
        (STARTED, "open", "no result", "-"),
    ]
    assert document["trials"][1]["reason"] == "check tests-pass failed: got 2 of 3 failed"


def test_what_does_not_fit_is_left_out_passed_and_oldest_first_and_said(tmp_path: Path) -> None:
    rows = [
        make_row(trial="old-00000001", completed_at="2026-11-21T10:00:00.000000Z"),
        make_row(trial="new-00000002", completed_at="2026-11-21T11:00:00.000000Z"),
        make_row(trial="failed-00000003", completed_at="2026-11-21T09:00:00.000000Z", success=False, score=0.0),
    ]
    folder = write_run(tmp_path / "runs", *rows)
    for row in rows:
        two_turns(try_folder(folder, row.trial))
    whole = make_page(tmp_path / "whole.html", folder)
    blocks = [len(block) for block in re.findall(r'id="trial-\d+">([^<]*)<', whole.read_text())]

    path = make_page(tmp_path / "page.html", folder, most_bytes=sum(blocks) - 1)

    assert list(read_details(path)) == ["failed-00000003", "new-00000002"]
    document = read_document(path)
    assert (document["left_out"], len(document["trials"])) == (1, 3)


def test_two_runs_with_the_same_trials_are_told_apart(tmp_path: Path) -> None:
    base = small_run(tmp_path / "runs", "20261121-101010-mini-ab12")
    head = small_run(tmp_path / "runs", "20261122-101010-mini-cd34")

    path = make_page(tmp_path / "page.html", base, head)

    document = read_document(path)
    assert document["title"] == "mini, head against base"
    assert [cell["label"] for cell in document["cells"]] == ["base: mini", "head: mini"]
    assert [trial["cell"] for trial in document["trials"]] == [0, 0, 0, None, 1, 1, 1, None]
    assert f"{base.name}/{FAILED}" in read_details(path)
    [versus] = document["versus"]
    assert [(line["metric"], line["difference"]["text"]) for line in versus["lines"]][:2] == [
        ("success", "0 pp"),
        ("score", "0.00"),
    ]


def test_what_agents_send_in_place_of_lists_does_no_harm(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "runs", make_row(trial=PASSED))
    logs = TryLogs(try_folder(folder, PASSED))
    logs.opened()
    asked = {"sessionId": "s-1", "toolCall": {"toolCallId": "c"}, "options": 5}
    logs.received(20, {"jsonrpc": "2.0", "id": 7, "method": "session/request_permission", "params": asked})
    logs.sent(21, {"jsonrpc": "2.0", "id": 7, "result": {"outcome": {"outcome": "cancelled"}}})
    logs.update(22, "plan", entries="first this")

    items = read_details(make_page(tmp_path / "page.html", folder))[PASSED]["timeline"]["items"]

    assert [(item["kind"], item["title"]) for item in items if item["kind"] != "tool"] == [
        ("permission", "Permission: cancelled"),
        ("plan", "Plan"),
    ]


def test_a_page_that_cannot_be_put_in_place_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "runs", make_row(trial=PASSED))
    (tmp_path / "taken").mkdir()

    with pytest.raises(IsADirectoryError):
        make_page(tmp_path / "taken", folder)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["runs", "taken"]


def test_an_empty_run_still_makes_a_page(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "runs", unfinished=(STARTED,))

    document = read_document(make_page(tmp_path / "page.html", folder))

    assert document["title"] == "No trials"
    assert [trial["word"] for trial in document["trials"]] == ["open"]


def test_what_plugins_found_stands_in_parts_of_its_own(tmp_path: Path) -> None:
    extensions = {
        "measured": {"tokens.output": {"value": 1234, "unit": "tokens", "source": "gateway"}},
        "analyses": {
            "strategy": {
                "analyzer": "strategy",
                "summary": "direct",
                "findings": [
                    {"kind": "ratio", "name": "productive", "numerator": 3, "denominator": 4},
                    {"kind": "list", "name": "tools", "items": ["shell", "edit"]},
                    {"kind": "table", "name": "odd", "columns": 2, "rows": [1, None]},
                ],
            },
        },
        "network": {"passed": ["example.org"]},
    }
    row = make_row(trial=PASSED, extensions=extensions, tokens=TokenBreakdown.of(input=1))
    folder = write_run(tmp_path / "runs", row)

    parts = read_details(make_page(tmp_path / "page.html", folder))[PASSED]["parts"]

    assert [(part["label"], part["note"]) for part in parts] == [
        ("Measured", "1 figure"),
        ("Analysis: strategy", "direct"),
        ("More of its row", ""),
    ]
    assert parts[0]["facts"] == [{"label": "tokens.output", "value": "1,234 tokens"}]
    assert parts[1]["facts"] == [{"label": "productive", "value": "3 of 4"}]
    assert parts[1]["passages"][0]["text"] == "shell\nedit"
