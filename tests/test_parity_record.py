"""What parity has shown is kept, goes stale as evidence does, and stands in a table that the command makes."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from parity_samples import HEADERS, RESULT, capture_of, request_of
from typer.testing import CliRunner

from benchflow.cli import app
from benchflow.errors import InputError
from benchflow.machine.home import Home
from benchflow.manifest import Manifest, load_manifest
from benchflow.manifests.shipped import shipped_agents
from benchflow.parity.comparison import Parity, compare
from benchflow.parity.record import ParityRecord, read_record, record_of, write_record
from benchflow.parity.shown import judge, local_record, shown_of
from benchflow.report.agents_markdown import replace_table
from benchflow.report.parity_shown import shown_lines
from benchflow.report.parity_table import BEGIN, END, write_parity_table
from benchflow.scenario import BUNDLED, load_scenario

PAGE = Path(__file__).parent.parent / "parity.md"
MANIFEST = 'contract_version = "1.1"\nname = "a"\nversion = "1"\ninstall_cmd = "true"\nlaunch_cmd = "x"\n'


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    (tmp_path / "manifest.toml").write_text(MANIFEST)
    return load_manifest(tmp_path)


def compared(manifest: Manifest, *, scenario: str = "s", inside: str = "same", digest: str = "e") -> Parity:
    """Return a comparison on one scenario, in which the agent inside says this."""
    alone, other = (
        capture_of([request_of("/v1/chat/completions", "main", {"messages": [said]}, HEADERS)])
        for said in ("same", inside)
    )
    return Parity(
        agent=manifest.label,
        agent_version="1.0",
        agent_digest=manifest.digest,
        isolation="process",
        upstream="oracle",
        without=(),
        margin=0.1,
        scenarios=(compare([alone, alone], [other], scenario=scenario, scenario_digest=digest),),
        took_s=1.0,
    )


def recorded(manifest: Manifest, *, measured: str = "2026-11-22T00:00:00Z", **said: Any) -> ParityRecord:
    return record_of(compared(manifest, **said), manifest, measured=measured, benchflow_version="0.1.0")


def test_record_is_read_as_it_was_written(tmp_path: Path, manifest: Manifest) -> None:
    record = recorded(manifest, inside="other")

    write_record(tmp_path / "new" / "parity.json", record)

    assert read_record(tmp_path / "new" / "parity.json") == record
    assert (record.word, record.scenarios[0].reasons) == (
        "divergence",
        ('main 1: body.messages[0]: alone: "same", inside: "other"',),
    )
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["parity.json"]


def test_another_scenario_is_added_and_the_same_one_is_replaced(tmp_path: Path, manifest: Manifest) -> None:
    path = tmp_path / "parity.json"
    for said in ({"scenario": "b", "inside": "other"}, {"scenario": "a"}, {"scenario": "b"}):
        write_record(path, recorded(manifest, **said))

    record = read_record(path)

    assert [(each.scenario, each.word) for each in record.scenarios] == [("a", "parity"), ("b", "parity")]


def test_what_was_shown_of_another_manifest_is_not_added_to(tmp_path: Path, manifest: Manifest) -> None:
    path = tmp_path / "parity.json"
    write_record(path, recorded(manifest, scenario="a").model_copy(update={"manifest_digest": "other"}))
    write_record(path, recorded(manifest, scenario="b"))

    assert [each.scenario for each in read_record(path).scenarios] == ["b"]


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ({}, None),
        ({"manifest_digest": "other"}, "before its manifest, or a file beside it, was changed"),
        ({"declared_version": "0.9"}, "at version 0.9, and the manifest now installs 1"),
        ({"compared": 0}, "by schema 0"),
    ],
)
def test_record_of_something_else_is_stale_and_says_why(
    manifest: Manifest, edit: dict[str, Any], says: str | None
) -> None:
    shown = judge(manifest, [recorded(manifest).model_copy(update=edit)])

    assert shown.answer == ("stale" if says else "yes")
    assert (shown.stale or "").endswith(says) if says and "schema" not in says else (says or "") in (shown.stale or "")
    assert ("stale" in next(shown_lines(shown, "a"))) == bool(says)


def test_scenario_that_was_changed_since_makes_its_record_stale(manifest: Manifest) -> None:
    bundled = load_scenario(BUNDLED / "fix-failing-test")
    fresh, old = (recorded(manifest, scenario=bundled.id, digest=digest) for digest in (bundled.digest, "old"))

    assert judge(manifest, [fresh]).answer == "yes"
    assert judge(manifest, [old]).stale == "compared before fix-failing-test was changed"


def test_divergence_is_no_and_what_was_never_compared_is_never(manifest: Manifest) -> None:
    assert judge(manifest, [recorded(manifest, inside="other")]).answer == "no"
    assert judge(manifest, []).answer == "never"


def test_fresh_record_counts_more_than_a_newer_stale_one(tmp_path: Path, manifest: Manifest) -> None:
    home = Home(tmp_path / "home")
    newer = recorded(manifest, measured="2027-01-01T00:00:00Z").model_copy(update={"manifest_digest": "other"})
    write_record(tmp_path / "parity.json", recorded(manifest))
    write_record(local_record(manifest, home), newer)

    assert shown_of(manifest, home).answer == "yes"
    assert shown_of(manifest, None).record == recorded(manifest)


def test_record_that_cannot_be_read_is_stale_and_named(tmp_path: Path, manifest: Manifest) -> None:
    (tmp_path / "parity.json").write_text("{")

    shown = shown_of(manifest, None)

    assert (shown.answer, shown.record) == ("stale", None)
    assert str(tmp_path / "parity.json") in next(shown_lines(shown, "a"))
    with pytest.raises(InputError, match="compare again"):
        read_record(tmp_path / "parity.json")


def test_outcome_alone_is_said_to_be_that(manifest: Manifest) -> None:
    parity = compared(manifest)
    alone = compare([capture_of([])], [capture_of([])], scenario="s", scenario_digest="e", captured=False)
    record = record_of(replace(parity, scenarios=(alone,)), manifest, measured="2026-11-22", benchflow_version="0.1.0")

    assert (record.scenarios[0].wire, record.word) == (None, "parity")
    assert "outcome alone" in "".join(shown_lines(judge(manifest, [record]), "a"))
    assert RESULT.score == 1.0


def test_table_of_parity_is_up_to_date() -> None:
    page = PAGE.read_text("utf-8")
    table = write_parity_table(shipped_agents())

    assert page == replace_table(page, table, str(PAGE), begin=BEGIN, end=END), (
        "run `benchflow agents --parity-markdown --update parity.md`"
    )


def test_table_has_reasons_for_what_is_not_at_parity(tmp_path: Path, manifest: Manifest) -> None:
    write_record(tmp_path / "parity.json", recorded(manifest, inside="other"))

    table = write_parity_table([manifest])

    assert "| a | 1.0 | - | no | 1 on 1 | 0 |" in table
    assert "* `a` on `s`: divergence: main 1: body.messages[0]: " in table


def test_page_is_updated_by_the_command_whatever_was_shown_on_this_machine(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    (tmp_path / "evidence" / "parity").mkdir(parents=True)
    (tmp_path / "evidence" / "parity" / "mini.json").write_text(json.dumps({"schema_version": 1}))

    ended = CliRunner().invoke(
        app, ["agents", "--parity-markdown", "--update", str(page)], env={"BENCHFLOW_HOME": str(tmp_path)}
    )

    assert (ended.exit_code, ended.stdout) == (0, "")
    assert page.read_text() == f"before\n{BEGIN}\n\n{write_parity_table(shipped_agents())}\n\n{END}\nafter\n"
