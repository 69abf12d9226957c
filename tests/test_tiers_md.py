"""The page about tiers says what the code does, and its table is what the code makes."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

from benchflow.cli.agents import app
from benchflow.errors import InputError
from benchflow.evidence import measure
from benchflow.manifests.levels import Entry
from benchflow.manifests.shipped import shipped_agents
from benchflow.report.agents_markdown import BEGIN, END, replace_table, write_table
from benchflow.tiers import HEIGHT, ClaimedTier, Declared, Shown, tier_of

PAGE = Path(__file__).parent.parent / "tiers.md"
PLAIN = Declared(routed=True, backend=False, maintained=False)
OWN = Declared(routed=False, backend=True, maintained=False)
SILENT = Declared(routed=False, backend=False, maintained=False)
GOOD = Shown(
    verdicts={"install": "pass", "initialize": "odd", "session": "pass", "model": "pass", "scenario": "odd"},
    details={},
    captured=3,
    login=None,
)


def failing(step: str) -> Shown:
    return replace(GOOD, verdicts={**GOOD.verdicts, step: "fail"})


def entry(claimed: ClaimedTier) -> str:
    about = {"reason": "No.", "next_step": "Ask.", "path": Path("entry.toml"), "origin": "test"}
    return Entry(name="x", claimed_tier=claimed, **about).measurement.tier


STARTS = ("install", "initialize", "session")
RULES: dict[str, list[str]] = {
    "1": [entry("out-of-scope")],
    "2": [entry("vendor-locked")],
    "3": [entry("catalog"), entry("wired"), entry("native")],
    "4": [measure(PLAIN, "digest", None, [])[0].tier],
    "5": [tier_of(PLAIN, replace(failing(step), login="vendor"))[0] for step in STARTS],
    "6": [tier_of(PLAIN, failing(step))[0] for step in STARTS],
    "7": [tier_of(replace(PLAIN, maintained=True), GOOD)[0]],
    "8": [tier_of(PLAIN, GOOD)[0]],
    "9": [tier_of(replace(PLAIN, maintained=True), failing(step))[0] for step in ("model", "scenario")],
    "10": [tier_of(OWN, replace(GOOD, captured=0))[0]],
    "11": [
        tier_of(OWN, replace(failing("scenario"), captured=0))[0],
        *(tier_of(declared, replace(GOOD, captured=0))[0] for declared in (PLAIN, SILENT)),
    ],
}
"""What the code makes of the cases of each rule."""


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the first table under a heading."""
    section = PAGE.read_text("utf-8").split(heading, 1)[1]
    lines = section[section.index("\n|") :].lstrip().split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_rule_has_its_row_and_every_row_its_tier() -> None:
    stated = {number: tier for number, _, _, tier in rows("## The rules")}

    assert {number: set(tiers) for number, tiers in RULES.items()} == {n: {tier} for n, tier in stated.items()}


def test_every_tier_is_explained() -> None:
    assert [row[0] for row in rows("# Tiers")] == list(HEIGHT)


def test_table_of_agents_is_up_to_date() -> None:
    page = PAGE.read_text("utf-8")

    assert page == replace_table(page, write_table(shipped_agents()), str(PAGE)), (
        "run `benchflow agents --markdown --update tiers.md`"
    )


def test_table_has_every_agent_once_and_its_tally() -> None:
    agents = shipped_agents()

    table = write_table(agents).splitlines()

    assert len(table) == len(agents) + 4
    assert sum(int(part.split()[0]) for part in table[0].split(": ")[1].split(", ")) == len(agents)


def test_table_is_the_same_whatever_was_measured_on_this_machine(tmp_path: Path) -> None:
    mine = tmp_path / "agents" / "mine"
    mine.mkdir(parents=True)
    (mine / "manifest.toml").write_text(
        'contract_version = "1.0"\nname = "mine"\ninstall_cmd = "true"\nlaunch_cmd = "x"\n'
    )
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "mini.json").write_text(json.dumps({"schema_version": 1}))

    printed = CliRunner().invoke(app, ["--markdown"], env={"BENCHFLOW_HOME": str(tmp_path)})

    assert printed.stdout == write_table(shipped_agents()) + "\n"


def test_update_writes_between_the_markers_and_nowhere_else(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n\n{BEGIN}\nold\n{END}\n\nafter\n")

    result = CliRunner().invoke(app, ["--update", str(page)])

    assert (result.exit_code, result.stdout) == (0, "")
    assert page.read_text() == f"before\n\n{BEGIN}\n\n{write_table(shipped_agents())}\n\n{END}\n\nafter\n"


@pytest.mark.parametrize("text", ["", BEGIN, f"{END}\n{BEGIN}", f"{BEGIN}{BEGIN}{END}"])
def test_page_without_its_markers_is_left_as_it_is(tmp_path: Path, text: str) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)

    result = CliRunner().invoke(app, ["--markdown", "--update", str(page)])

    assert isinstance(result.exception, InputError)
    assert page.read_text() == text
