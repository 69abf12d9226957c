"""Fixtures: what a run alone looked like is kept without what is the machine's, small, and compared with later."""

import json
import socket
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell, open_shell
from hypothesis import given, settings
from hypothesis import strategies as st
from parity_samples import HEADERS, captured, request_of
from parity_samples import capture_of as sample
from test_parity_cli import plant
from typer.testing import CliRunner

from benchflow.cli import app
from benchflow.errors import InputError
from benchflow.manifest import load_manifest
from benchflow.parity import fixture
from benchflow.parity.capture import Capture, Setting
from benchflow.parity.comparison import compare
from benchflow.parity.fixture import read_fixture, read_fresh, write_fixture
from benchflow.parity.local import Local
from benchflow.parity.packing import pack, unpack
from benchflow.registry import built_in_folder
from benchflow.scenario import BUNDLED, load_scenario

TEXTS = st.sampled_from(["", "$", "a\nb\n", "short", "long " * 50, "line one\n" * 40]) | st.text(max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([0.0, 1.0, 2.5]) | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@settings(max_examples=40, deadline=None)
@given(VALUES)
def test_what_is_packed_is_unpacked_as_it_was(value: Any) -> None:
    doubled = [value, {"again": value}, value]

    assert repr(unpack(pack(doubled))) == repr(doubled)


def test_what_requests_repeat_is_written_once() -> None:
    messages = [{"role": "user", "content": "".join(f"line {n} of {at}\n" for n in range(30))} for at in range(20)]
    requests = [{"messages": messages[:count]} for count in range(20)]

    content = pack(requests)

    assert content.count(b'"line 3 of 4\\n"') == 1
    assert len(content) < len(json.dumps(requests)) / 5


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"nodes": [], "root": {"$": 4}}', b'{"nodes": [{"$": 0}], "root": 1}']
)
def test_what_is_no_packed_value_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match="no packed value"):
        unpack(content)


def on_machine(root: str, host: str, folder: str) -> tuple[Capture, Local]:
    """Return what one machine captured of a request that shows much of it."""
    text = (
        f"In {root}/scratch/parity-{folder}/s/workspace with {root}/installs/a/bin and {root}-other, on {host}, "
        f"not {host}-two; see {root}/scratch/parity-{folder}/s/home/.cfg"
    )
    setting = Setting(
        workspace=f"{root}/scratch/parity-{folder}/s/workspace", home=f"{root}/scratch/parity-{folder}/s/home"
    )
    request = request_of("/v1/chat/completions", "main", {"messages": [text], f"{root}/x": 1}, HEADERS)
    local = Local(root=root, folders={"benchflow_home": root}, words={"host": host})
    return sample([request], where="alone", setting=setting), local


def test_what_is_a_machines_own_is_hidden_and_nothing_else() -> None:
    capture, local = on_machine("/srv/flow", "mercury", "1")

    hidden = local.hide(capture)

    assert hidden.requests[0].body == {
        "messages": [
            "In /alone/s/workspace with [redacted:benchflow_home]/installs/a/bin and /srv/flow-other, "
            "on [redacted:host], not mercury-two; see /alone/s/home/.cfg"
        ],
        "[redacted:benchflow_home]/x": 1,
    }
    assert (hidden.setting.workspace, hidden.setting.home) == ("/alone/s/workspace", "/alone/s/home")
    assert hidden.requests[0].sha256 == capture.requests[0].sha256


def test_two_machines_come_to_the_same_and_a_mark_stands_for_its_own_kind_alone() -> None:
    (one, first), (two, second) = on_machine("/srv/flow", "mercury", "1"), on_machine("/home/x/.flow", "pluto-9", "22")
    kept, asked = first.hide(one), second.hide(replace(two, requests=two.requests))
    swapped = json.loads(json.dumps(asked.requests[0].body).replace("redacted:host", "redacted:benchflow_home"))
    other = replace(asked, requests=(replace(asked.requests[0], body=swapped),))

    same, differing = (
        compare([kept], [replace(each, where="inside")], scenario="s", scenario_digest="e") for each in (asked, other)
    )

    assert (
        kept.requests[0].body["messages"][0].replace("/srv/flow-", "/home/x/.flow-").replace("mercury", "pluto-9")
        == (asked.requests[0].body["messages"][0])
    )
    assert same.wire is not None
    assert differing.wire is not None
    assert [each.path for each in differing.wire.check.requests[0].differences] if differing.wire.check else []


def test_shipped_fixtures_are_small_and_name_nothing_of_the_machine_that_made_them() -> None:
    own = [word for word in (socket.gethostname(), str(Path.home()), str(Path.cwd())) if len(word) >= 5]
    fixtures = sorted(built_in_folder().glob("*/fixtures/*.json"))
    assert fixtures
    for path in fixtures:
        text = path.read_text()
        assert [word for word in own if word in text] == []
        assert text.count('"workspace":') == text.count('"workspace":"/alone/'), path
        assert len(text) <= fixture.MOST_BYTES


def test_fixture_gives_back_its_captures(tmp_path: Path) -> None:
    captures = [captured("openai-responses", where="alone"), captured("openai-responses", where="alone")]

    write_fixture(tmp_path / "fixtures" / "s.json", captures)

    assert read_fixture(tmp_path / "fixtures" / "s.json") == captures
    assert [path.name for path in (tmp_path / "fixtures").iterdir()] == ["s.json"]


def test_fixture_that_would_be_large_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    bodies = [{"messages": [f"{n} " * 5_000 for n in range(part, part + 30)]} for part in (0, 100)]
    requests = [request_of("/v1/chat/completions", "main", body, HEADERS) for body in bodies]

    with pytest.raises(InputError, match=f"more than {fixture.MOST_BYTES:,}"):
        write_fixture(tmp_path / "s.json", [sample(requests)])

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        ({}, ""),
        ({"agent_digest": "other"}, "is stale: the manifest, or a file beside it, was changed"),
        ({"scenario_digest": "other"}, "is stale: the scenario fix-failing-test was changed"),
        ({"schema": 0}, "is stale: it is of schema 0"),
    ],
)
def test_stale_fixture_is_refused_with_its_reason(tmp_path: Path, edit: dict[str, Any], says: str) -> None:
    (tmp_path / "manifest.toml").write_text(
        'contract_version = "1.0"\nname = "a"\ninstall_cmd = "true"\nlaunch_cmd = "x"\n'
    )
    manifest, scenario = load_manifest(tmp_path), load_scenario(BUNDLED / "fix-failing-test")
    fresh: dict[str, Any] = {"agent_digest": manifest.digest, "scenario_digest": scenario.digest}
    write_fixture(tmp_path / "fixtures" / "fix-failing-test.json", [sample([], where="alone", **(fresh | edit))])

    if not says:
        assert read_fresh(manifest, scenario)
        return
    with pytest.raises(InputError, match=says):
        read_fresh(manifest, scenario)


def test_fixture_of_the_bundled_agent_holds(tmp_path: Path) -> None:
    ended = open_shell(tmp_path).run(
        "parity", "mini", "fix-failing-test", "--against-fixture", "--sandbox", "process", "--json"
    )

    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads(ended.stdout)
    assert (found["verdict"], found["against_fixture"]) == ("parity", True)
    assert (found["scenarios"][0]["runs_alone"], found["scenarios"][0]["runs_inside"]) == (2, 1)
    assert not (tmp_path / "home" / "evidence").exists()


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    """An agent of which a fixture and a record were kept."""
    shell = plant(tmp_path_factory.mktemp("kept"), "none")
    ended = invoke(shell, "--fixture", "--in-place")
    assert ended[0] == 0, ended
    return shell


def invoke(shell: Shell, *words: str) -> tuple[int, str]:
    """Compare in this process; return the exit code and what was said."""
    planted, tiny = str(shell.folder / "planted"), str(shell.folder / "tiny")
    ended = CliRunner().invoke(app, ["parity", planted, tiny, "--sandbox", "process", *words], env=shell.environ)
    return ended.exit_code, ended.output + str(ended.exception or "")


def test_what_was_shown_is_kept_beside_the_manifest_and_changes_no_digest(kept: Shell) -> None:
    folder = kept.folder / "planted"
    ended = CliRunner().invoke(app, ["agents", "show", str(folder), "--json"], env=kept.environ)
    shown = json.loads(ended.stdout)

    assert sorted(path.name for path in folder.iterdir()) == ["agent.py", "fixtures", "manifest.toml", "parity.json"]
    assert shown["parity"]["answer"] == "yes"
    assert shown["parity"]["record"]["manifest_digest"] == load_manifest(folder).digest


def test_agent_of_another_version_than_its_fixture_is_undecided(kept: Shell) -> None:
    path = kept.folder / "planted" / "fixtures" / "tiny.json"
    path.write_bytes(path.read_bytes().replace(b'"agent_version":null', b'"agent_version":"9.9"'))

    code, said = invoke(kept, "--against-fixture")

    assert code == 3
    assert "the fixture is stale: it is of version 9.9" in " ".join(said.split())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["mini", "explain-wrong-invoice", "--against-fixture"], "there is no such fixture; make it"),
        (["mini", "--against-fixture", "--fixture"], "name one of them"),
        (["fake:trivial", "--in-place"], "--in-place: fake:trivial has no manifest of its own"),
    ],
)
def test_what_cannot_be_kept_or_compared_is_said_before_anything_runs(
    tmp_path: Path, words: list[str], says: str
) -> None:
    ended = CliRunner().invoke(app, ["parity", *words], env=open_shell(tmp_path).environ)

    assert isinstance(ended.exception, InputError)
    assert says in str(ended.exception)
    assert not (tmp_path / "home").exists()
