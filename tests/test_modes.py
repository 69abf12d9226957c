"""Modes: what an agent gets in one, by which words it is told, and what is refused before anything starts."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell, open_shell
from sandboxes import BOTH

from benchflow.contracts import Limits, ModeConfig
from benchflow.errors import InputError
from benchflow.manifest import load_manifest
from benchflow.mode import Mode
from benchflow.runner.lookup import look_up
from benchflow.runner.modes import Modes, read_modes
from benchflow.runner.plan import Cell, NamedSubject, Trial
from benchflow.runner.request import RunRequest
from benchflow.scenario import find_scenarios

NOSY = """\
contract_version = "1.2"
name = "nosy"
install_cmd = "true"
launch_cmd = '''
(env; cat "$HOME/.nosy/NOTES.md" "$HOME/.nosy/skills/review/SKILL.md"; "$SERVER") > seen.txt 2>&1
exec "$BENCHFLOW_PYTHON" -I -m benchflow.agents.fake'''
api_protocol = "openai-completions"
env_mapping = { BENCHFLOW_PROVIDER_BASE_URL = "NOSY_URL" }
env = { TASTE = "plain" }
skill_paths = ["$HOME/.nosy/skills"]
instruction_files = ["$HOME/.nosy/NOTES.md"]
home_files = { ".nosy/NOTES.md" = "Notes of its own." }
"""
MODES = """\
[modes.full]
environment = { TASTE = "salty", SERVER = "FOLDER/tools/serve" }
requires_env = ["TOKEN"]
instructions = "Look twice."
instructions_as = "file"
skills = ["skills/review"]
[[modes.full.mcp_servers]]
name = "docs"
command = "tools/serve"
args = ["${BENCHFLOW_MODE_DIR}/tools", "${BENCHFLOW_WORKSPACE}"]
env = { LEVEL = "2" }

[modes.told]
instructions = "Look twice."

[modes.other]
model = "z"
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = open_shell(tmp_path)
    shell.write("nosy/manifest.toml", NOSY)
    shell.write("plain/manifest.toml", NOSY.replace("nosy", "plain").replace("skill_paths", "aliases"))
    shell.write("cfg/modes.toml", MODES.replace("FOLDER", str(tmp_path / "cfg")))
    shell.write("cfg/skills/review/SKILL.md", "Review it.")
    shell.write("cfg/tools/serve", "#!/bin/sh\necho served\n").chmod(0o755)
    return shell


def run_of(shell: Shell, *words: str) -> dict[str, Any]:
    """Run in modes of the file, and return the JSON object."""
    words = ("run", *words, "./tiny", "--modes", "cfg/modes.toml", "--json", "--keep", "always")
    ended = shell.run(*words, environ={"TOKEN": "tok-12345678"})
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)


def request_of(shell: Shell, agent: str, mode: str) -> RunRequest:
    """Return the request to run an agent in a mode of the file."""
    return RunRequest(
        agents=(str(shell.folder / agent),),
        scenarios=(str(shell.folder / "tiny"),),
        modes=(mode,),
        modes_file=shell.folder / "cfg" / "modes.toml",
    )


def frames_of(shell: Shell, row: dict[str, Any], method: str) -> list[dict[str, Any]]:
    """Return the params of what the client sent with a method."""
    folder = shell.folder / "runs" / row["run_id"] / "trials" / row["trial"] / "try-1"
    lines = [json.loads(line) for line in (folder / "acp.ndjson").read_text().splitlines()]
    return [line["frame"]["params"] for line in lines if line.get("frame", {}).get("method") == method]


@pytest.mark.parametrize("sandbox", BOTH)
def test_agent_gets_variables_instructions_skills_and_servers_of_its_mode(shell: Shell, sandbox: str) -> None:
    result = run_of(shell, "./nosy", "--mode", "baseline", "--mode", "full", "--sandbox", sandbox)

    rows = {row["mode"]: row for row in result["rows"]}
    run = shell.folder / result["run_dir"]
    seen = {
        mode: (run / "trials" / row["trial"] / "try-1/workspace/seen.txt").read_text() for mode, row in rows.items()
    }
    assert "TASTE=plain\n" in seen["baseline"]
    assert "Notes of its own." in seen["baseline"]
    assert "Look twice." not in seen["baseline"]
    assert "TASTE=salty\n" in seen["full"]
    for text in ("Notes of its own.\nLook twice.", "Review it.", "served"):
        assert text in seen["full"]
    assert frames_of(shell, rows["baseline"], "session/new")[0]["mcpServers"] == []
    tools, cwd = str(shell.folder / "cfg" / "tools"), frames_of(shell, rows["full"], "session/new")[0]["cwd"]
    assert frames_of(shell, rows["full"], "session/new")[0]["mcpServers"] == [
        {"name": "docs", "command": f"{tools}/serve", "args": [tools, cwd], "env": [{"name": "LEVEL", "value": "2"}]}
    ]
    assert "mode" not in rows["baseline"]["extensions"]
    facts = rows["full"]["extensions"]["mode"]
    assert (facts["instructions_as"], facts["mcp_servers"], facts["skills"]) == ("file", ["docs"], ["review"])
    assert facts["environment"] == ["SERVER", "TASTE", "TOKEN"]
    assert len(frames_of(shell, rows["full"], "session/prompt")[0]["prompt"]) == 1


def test_values_of_variables_are_in_no_file_of_the_run(shell: Shell) -> None:
    result = run_of(shell, "./nosy", "--mode", "full", "--sandbox", "process")

    run = shell.folder / result["run_dir"]
    files = [path for path in run.rglob("*") if path.is_file()]
    assert not [path for path in files if b"tok-12345678" in path.read_bytes()]
    assert "salty" not in (run / "run.json").read_text()
    assert result["rows"][0]["success"]


@pytest.mark.parametrize("agent", ["fake", "mini"])
def test_instructions_before_the_prompt_leave_its_requests_the_main_ones(shell: Shell, agent: str) -> None:
    row = run_of(shell, agent, "--mode", "told", "--sandbox", "process")["rows"][0]

    (prompt,) = frames_of(shell, row, "session/prompt")
    before, task = (block["text"] for block in prompt["prompt"])
    assert (before, task.partition(" ")[0]) == ("Look twice.", "Write")
    assert (row["success"], row["exchanges"]["main"], row["exchanges"]["auxiliary"], row["agent_turns"]) == (
        True,
        2,
        0,
        2,
    )
    assert row["extensions"]["mode"]["instructions_as"] == "prompt"


def test_mode_with_a_model_of_its_own_is_one_arm_whatever_else_is_asked(shell: Shell) -> None:
    words = ("--upstream", "oracle", "--model", "x", "--model", "y", "--mode", "baseline", "--mode", "other")

    result = run_of(shell, "fake", *words, "--sandbox", "process")

    assert sorted((row["mode"], row["model"]) for row in result["rows"]) == [
        ("baseline", "x"),
        ("baseline", "y"),
        ("other", "z"),
    ]


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("", "a", "modes: is missing"),
        ("[modes.a]\n", "b", "there is no mode `b` in .*modes.toml; valid are a, baseline"),
        ("[modes.careful]\n", "carefull", "did you mean `careful`"),
        ("[modes.a]\nenvirnment = {}\n", "a", "unknown key `envirnment`; did you mean `environment`"),
        ("[modes.baseline]\n", "a", "modes.baseline: is the mode that varies nothing"),
        ("[modes.a]\n", "baseline", "no mode of it was named; name some with --mode: a"),
        ("[modes.a]\nenvironment = { HOME = '/' }\n", "a", "`HOME` is set by BenchFlow itself"),
        ("[modes.a]\nenvironment = { NOSY_URL = 'x' }\n", "a", "routes the agent's model calls by NOSY_URL"),
        ("[modes.a]\nrequires_env = ['NO_SUCH']\n", "a", "`requires_env` names NO_SUCH"),
        ("[modes.a]\nskills = ['none']\n", "a", "`skills` has 'none', and there is no"),
        ("[modes.a]\nfolders = ['none']\n", "a", "`folders` has 'none', and"),
        ("[modes.a]\nmcp_servers = [{ name = 'x', command = './none' }]\n", "a", "no program that can be run"),
        (
            "[modes.a]\nmcp_servers = [{ name = 'x', command = 'x', args = ['${BENCHFLOW_PYTON}'] }]\n",
            "a",
            "did you mean `BENCHFLOW_PYTHON`",
        ),
        ("[modes.a]\nskills = ['one/same', 'two/same']\n", "a", "`skills` has two of the name same"),
    ],
)
def test_mistake_in_a_mode_is_named(shell: Shell, text: str, mode: str, said: str) -> None:
    shell.write("cfg/modes.toml", text)
    for folder in ("one", "two"):
        shell.write(f"cfg/{folder}/same/SKILL.md", folder)

    with pytest.raises(InputError, match=said):
        look_up(request_of(shell, "nosy", mode), shell.environ)


def test_mode_that_would_not_reach_the_agent_is_refused(shell: Shell) -> None:
    environ = {**shell.environ, "TOKEN": "tok-12345678"}

    with pytest.raises(InputError, match=r"the mode full cannot be used with plain: .*skill_paths"):
        look_up(request_of(shell, "plain", "full"), environ)


def test_modes_file_in_this_folder_is_found(shell: Shell) -> None:
    shell.write("modes.toml", '[modes.told]\ninstructions = "Look twice."\n')

    row = shell.row("fake", "--mode", "told", "--sandbox", "process")

    assert row["mode"] == "told"


def test_resolver_knows_modes_that_no_file_has(shell: Shell) -> None:
    shell.write(
        "shop.py",
        "from benchflow.contracts import ModeConfig\n"
        "class Shop:\n"
        "    async def resolve(self, mode):\n"
        "        known = {'salty': ModeConfig(environment={'TASTE': 'salty'}, system_instructions='Look twice.')}\n"
        "        return known[mode]\n",
    )
    words = ("run", "fake", "./tiny", "--mode-resolver", "shop:Shop", "--json", "--sandbox", "process")

    row = json.loads(shell.run(*words, "--mode", "salty").stdout)["rows"][0]
    unknown = shell.run(*words, "--mode", "sweet")

    assert (row["mode"], row["extensions"]["mode"]["environment"]) == ("salty", ["TASTE"])
    assert (unknown.returncode, "there is no mode `sweet`" in unknown.stderr) == (2, True)


def test_what_a_mode_varies_is_part_of_a_trials_key_and_where_it_is_read_is_not(tmp_path: Path) -> None:
    def key(text: str, folder: str) -> str:
        file = tmp_path / folder / "modes.toml"
        (file.parent / "skill").mkdir(parents=True, exist_ok=True)
        (file.parent / "skill" / "SKILL.md").write_text("Do it.")
        file.write_text(text)
        texts, place = read_modes(file, ["a"])
        return key_of(Modes(texts=texts, place=place).find("a"))

    same = '[modes.a]\nenvironment = { X = "1" }\nskills = ["skill"]\n'
    assert key(same, "one") == key(same, "two")
    others = [same.replace('"1"', '"2"'), same + 'instructions = "x"\n', "[modes.a]\n", same + 'model = "y"\n']
    assert len({key(text, "one") for text in (same, *others)}) == 5


def test_digest_of_a_mode_tells_the_value_of_no_variable_apart_from_its_hash() -> None:
    mode = Mode(name="a", environment={"TOKEN": "tok-12345678"})

    assert mode.digest != replace(mode, environment={"TOKEN": "tok-12345679"}).digest
    assert "tok" not in json.dumps(mode.facts)
    assert Mode(name="a").digest is None


def test_instruction_files_came_with_contract_1_2(tmp_path: Path) -> None:
    (tmp_path / "manifest.toml").write_text(NOSY.replace('"1.2"', '"1.1"'))

    assert any("`instruction_files`" in warning for warning in load_manifest(tmp_path).warnings)


def test_resolver_whose_overrides_are_unknown_is_an_error_that_names_the_key() -> None:
    class Odd:
        async def resolve(self, mode: str) -> Any:
            return ModeConfig(provider_overrides={"modle": "x"})

    with pytest.raises(InputError, match="unknown key `modle`; did you mean `model`"):
        Modes(resolvers=[Odd()]).find("odd")


def test_resolver_that_gives_no_tables_is_an_error_that_names_the_field() -> None:
    class Odd:
        async def resolve(self, mode: str) -> Any:
            return ModeConfig(environment=None)  # type: ignore[arg-type]

    with pytest.raises(InputError, match="resolver Odd returned a ModeConfig whose `environment` is no mapping"):
        Modes(resolvers=[Odd()]).find("odd")


def key_of(mode: Mode) -> str:
    """Return the key of a trial in this mode."""
    cell = Cell(
        agent=NamedSubject(label="a", digest="1"),
        model="m",
        upstream="u",
        mode=mode,
        scenario=find_scenarios(["fix-failing-test"])[0],
        limits=Limits(),
        sandbox="process",
    )
    return Trial(cell=cell, iteration=0).key
