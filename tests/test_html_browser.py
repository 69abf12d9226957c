"""The HTML page in a real browser: what is to be seen, what can be done with the keys, and what never happens."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium import Chromium, Page, find_chromium, open_chromium
from html_pages import BROKEN, FAILED, PASSED, long_run, make_page, small_run
from stored import make_row, try_folder, write_run
from trials import Asked, TryLogs

from benchflow.contracts.verdict import ScorerCheckResult
from benchflow.runner.gate import GateVerdict

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(find_chromium() is None, reason="no Chromium is installed (Debian: apt-get install chromium)"),
]


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with open_chromium(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


def open_page(chromium: Chromium, path: Path, hash: str = "", **options: int | bool) -> Page:
    """Open a report, at the place that the address names."""
    return chromium.open(f"file://{path}{hash}", **options)  # type: ignore[arg-type]


def assert_quiet(page: Page) -> None:
    """Assert that the page asked for nothing, and that the browser found nothing wrong with it."""
    assert page.complaints() == []
    assert page.requests() == []
    page.close()


def test_a_run_shows_its_figures_and_every_trial_and_asks_for_nothing(chromium: Chromium, tmp_path: Path) -> None:
    missed = GateVerdict(option="--fail-under", missed=True, reason="mean score 0.50")
    path = make_page(tmp_path / "page.html", small_run(tmp_path / "runs"), verdicts=[missed])
    page = open_page(chromium, path)

    assert page.text("h1") == "mini"
    assert page.text(".callout.fail") == "--fail-under missed: mean score 0.50"
    assert "1 of 2" in page.text(".tiles")
    assert page.run("document.querySelectorAll('.plot circle').length") == 4
    assert page.run("[...document.querySelectorAll('.matrix .mark')].map((mark) => mark.textContent)") == [
        "✓",
        "✕",
        "?",
    ]
    assert page.run("document.querySelectorAll('a.row').length") == 4
    assert_quiet(page)


def test_a_mark_opens_its_trial_and_a_link_leads_to_an_item(chromium: Chromium, tmp_path: Path) -> None:
    path = make_page(tmp_path / "page.html", small_run(tmp_path / "runs"))
    page = open_page(chromium, path)

    page.run("document.querySelector('.mark.fail').click()")
    page.until("document.querySelector('.items .item')")

    assert page.run("decodeURIComponent(location.hash)") == f"#trial={FAILED}"
    assert "check tests-pass failed: got 2 of 3 failed" in page.text("article header")
    titles = "[...document.querySelectorAll('.item summary b')].map((title) => title.textContent)"
    assert page.run(titles) == ["Prompt 1", "Turn 1", "Message", "shell", "Turn 2", "Message", "Prompt 1 ended"]
    assert page.run("document.querySelectorAll('.clock [data-index]').length") == 7
    page.run(f"location.hash = '#trial={PASSED}&item=3'")
    assert page.until("document.querySelector('#item-3 details[open] .body')?.innerText").split("\n")[-1] == "file.txt"
    assert page.run("document.activeElement.closest('#item-3') !== null")
    assert_quiet(page)


def test_hostile_output_stays_text(chromium: Chromium, tmp_path: Path) -> None:
    hostile = "</script><script>pwned=1</script><img src=x onerror=pwned=1><a href='javascript:pwned=1'>x</a><!--"
    check = ScorerCheckResult(id=hostile, description=hostile, passed=False, actual=hostile)
    row = make_row(
        trial=PASSED, agent=hostile, scenario_id=hostile, model=hostile, error=hostile, success=False, score=0.0,
        check_details=(check,), extensions={hostile: hostile, "judge": {"why": hostile}},
    )  # fmt: skip
    folder = write_run(tmp_path / "runs", row)
    logs = TryLogs(try_folder(folder, PASSED))
    logs.opened()
    logs.prompted(10, hostile)
    logs.exchange(20, text=hostile, thought=hostile, calls=[Asked(name=hostile, arguments={hostile: hostile})])
    logs.said(40, hostile + "\x1b[31m\u202e\x00")
    logs.update(41, "tool_call", toolCallId="call_abcdef", title=hostile, kind=hostile, rawInput={hostile: hostile})
    logs.update(42, "plan", entries=[{"content": hostile, "status": hostile}])
    logs.permission(43, toolCallId="call_abcdef", title=hostile)
    (logs.folder / "workspace.diff").write_text(f"+{hostile}\n-{hostile}\n")
    path = make_page(tmp_path / "page.html", folder)

    page = open_page(chromium, path)
    assert hostile in page.text(".row .c-scenario b")
    page.run(f"location.hash = '#trial={PASSED}'")
    page.until("document.querySelector('.items .item')")
    page.run("[...document.querySelectorAll('details')].forEach((part) => { part.open = true; })")
    page.until("[...document.querySelectorAll('.part')].every((part) => part.childElementCount > 1)")

    assert page.text(".message pre") == hostile + "\ufffd\ufffd"
    assert hostile in page.text(".tool pre")
    assert hostile in page.text("pre.diff")
    assert page.run("typeof pwned") == "undefined"
    assert page.run("document.querySelectorAll('main img, main script, main a[href^=javascript]').length") == 0
    assert_quiet(page)


def test_what_comes_into_the_page_beside_our_code_is_refused(chromium: Chromium, tmp_path: Path) -> None:
    page = open_page(chromium, make_page(tmp_path / "page.html", small_run(tmp_path / "runs")))
    refused = "(() => { try { %s; return false } catch (error) { return error.name } })()"

    assert page.run(refused % "document.body.innerHTML = '<b>x</b>'") == "TypeError"
    assert page.run(refused % "document.body.setAttribute('onclick', 'pwned = 1')") == "TypeError"
    page.run("document.body.setAttribute('style', 'color: rgb(1, 2, 3)')")

    assert page.run("getComputedStyle(document.body).color") != "rgb(1, 2, 3)"
    assert any("Content Security Policy" in complaint for complaint in page.complaints())
    page.close()


def test_trials_are_searched_and_filtered_and_the_address_keeps_it(chromium: Chromium, tmp_path: Path) -> None:
    path = make_page(tmp_path / "page.html", small_run(tmp_path / "runs"))
    page = open_page(chromium, path)
    shown = "[...document.querySelectorAll('a.row .c-word')].map((word) => word.innerText.replace(/\\s/g, ' '))"

    page.run("document.querySelector('.chip.unscored').click()")
    assert page.run(shown) == ["? unscored (upstream)"]
    page.run("document.querySelectorAll('.chip')[0].click()")
    page.press("/")
    page.write("status 503")
    page.until("document.querySelectorAll('a.row').length === 1")
    assert page.run("location.hash") == "#q=status+503"
    other = open_page(chromium, path, "#verdict=fail")
    assert other.run(shown) == ["✕ fail"]
    other.run("document.querySelector('.row.head .c-score').click()")
    assert other.run("location.hash") == "#verdict=fail&sort=score"
    assert_quiet(other)
    assert_quiet(page)


def test_a_trial_is_searched_and_what_is_found_is_marked(chromium: Chromium, tmp_path: Path) -> None:
    page = open_page(chromium, make_page(tmp_path / "page.html", small_run(tmp_path / "runs")), f"#trial={PASSED}")
    page.until("document.querySelector('.items .item')")

    page.press("/")
    page.write("There is")
    page.until("document.querySelectorAll('.items .item').length === 2")

    assert page.run("[...new Set([...document.querySelectorAll('mark')].map((one) => one.textContent))]") == [
        "There is"
    ]
    assert page.text(".trial .count-said") == "2 of 7 items"
    assert_quiet(page)


def test_keys_lead_through_the_trials_and_back(chromium: Chromium, tmp_path: Path) -> None:
    page = open_page(chromium, make_page(tmp_path / "page.html", small_run(tmp_path / "runs")))

    page.run("document.querySelector('a.row').focus()")
    page.press("Enter")
    page.until("document.querySelector('.items .item')")
    page.press("j")
    page.until(f"location.hash === '#trial={FAILED}' && document.querySelector('.badge.fail')")
    page.press("j")
    page.until(f"location.hash === '#trial={BROKEN}' && document.querySelector('.callout.unscored')")
    page.press("Escape")
    page.until("document.querySelector('.overview')")
    assert_quiet(page)


def test_of_a_long_trial_only_what_is_near_is_there(chromium: Chromium, tmp_path: Path) -> None:
    path = make_page(tmp_path / "page.html", long_run(tmp_path / "runs", 3_000))
    page = open_page(chromium, path, f"#trial={PASSED}")
    page.until("document.querySelector('.items .item')")
    rows = "document.querySelectorAll('.items .item').length"

    assert page.until(f"{rows} < 400 && {rows}")
    page.run("window.scrollTo(0, document.documentElement.scrollHeight)")
    page.until("document.querySelector('#item-3001') && !document.querySelector('#item-0')")
    page.run(f"location.hash = '#trial={PASSED}&item=1500'")
    page.until("document.querySelector('#item-1500 details[open]')")
    assert page.run(rows) < 400
    assert_quiet(page)


@pytest.mark.parametrize("hash", ["", f"#trial={FAILED}"])
def test_a_phone_shows_all_without_scrolling_sideways(chromium: Chromium, tmp_path: Path, hash: str) -> None:
    path = make_page(tmp_path / "page.html", small_run(tmp_path / "runs"))
    page = open_page(chromium, path, hash, width=390, height=844, dark=True)
    page.until("document.querySelector('a.row, .items .item')")

    assert page.run("document.documentElement.scrollWidth") == 390
    assert page.run("document.documentElement.dataset.theme") == "dark"
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.run(ground)
    page.run("document.getElementById('theme').click()")
    assert page.run(ground) != dark
    assert page.run("document.documentElement.dataset.theme") == "light"
    assert_quiet(page)
