"""Which headers are compared, and how a comparison is shown: nothing that an agent wrote is obeyed by anything."""

import base64
import hashlib
import io
import re

import pytest
from parity_samples import HEADERS, capture_of, request_of
from rich.console import Console

from benchflow.parity.comparison import Parity, compare
from benchflow.parity.headers import compared_headers
from benchflow.report.parity import describe, print_parity
from benchflow.report.parity_html import marked, page_of


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("User-Agent", "agent/1", {"user-agent": "agent/1"}),
        ("anthropic-beta", "a,b", {"anthropic-beta": "a,b"}),
        ("X-Stainless-Retry-Count", "0", {"x-stainless-retry-count": "0"}),
        ("Authorization", "Bearer sk-1234", {"authorization": "Bearer …"}),
        ("x-api-key", "sk-1234", {"x-api-key": "…"}),
        ("Host", "127.0.0.1:4141", {}),
        ("Content-Length", "12", {}),
        ("Connection", "keep-alive", {}),
    ],
)
def test_headers_that_a_provider_could_act_on_are_compared(name: str, value: str, expected: dict[str, str]) -> None:
    assert compared_headers(((name, value),)) == expected


def test_header_that_is_repeated_is_joined() -> None:
    assert compared_headers((("Accept", "a"), ("accept", "b"))) == {"accept": "a, b"}


def hostile() -> Parity:
    """A comparison in which all that an agent wrote is an attack."""
    attack = '<script>alert("1")</script>\x1b]0;title\x07'
    one, two = (
        capture_of(
            [request_of(f"/v1/{attack}", "main", {"messages": [f"{attack}{side}"]}, HEADERS)], agent_version=attack
        )
        for side in ("a", "b")
    )
    scenario = compare([one, one], [two], scenario=attack, scenario_digest="d")
    return Parity(
        agent=attack,
        agent_version=attack,
        agent_digest="d",
        isolation="process",
        upstream="oracle",
        without=(),
        margin=0.1,
        scenarios=(scenario,),
        took_s=1.0,
    )


def test_page_escapes_what_agents_wrote_and_allows_its_own_style_alone() -> None:
    page = page_of(hostile())

    [style] = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in page
    assert "<script" not in page
    assert "\x1b" not in page
    assert "<del>" in page


def test_terminal_is_told_nothing_that_it_would_obey() -> None:
    stream = io.StringIO()

    print_parity(Console(file=stream, markup=False, highlight=False, width=80), hostile())

    assert "\x1b" not in stream.getvalue()
    assert "verdict: divergence" in stream.getvalue()


def test_json_leaves_out_what_is_not_there() -> None:
    [scenario] = describe(hostile())["scenarios"]

    assert [each["path"] for each in scenario["wire"]["requests"][0]["differences"]] == ["body.messages[0]"]


def test_only_what_differs_is_marked() -> None:
    assert marked("be kind", "be brief") == ("be <del>kind</del>", "be <ins>brief</ins>")
    assert marked("", "new") == ("", "<ins>new</ins>")
