"""`run --config`: the file has every option, says what is wrong with it, and gives way to the command line."""

import json
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
import typer
from command_line import Shell, open_shell
from pydantic import BaseModel, ValidationError
from typer.core import TyperOption

from benchflow.cli import run
from benchflow.cli.given import option_name
from benchflow.errors import InputError
from benchflow.runner.asking import Asked, ask
from benchflow.runner.config import GateText, LimitsText, RunText, read_config, read_stored
from benchflow.runner.options import OF_ONE_CALL, TABLES, make_request, merge, stored

MODELS: dict[str, type[BaseModel]] = {"limits": LimitsText, "gate": GateText}

PROFILE = """\
agents = ["fake", "fake:noise"]
scenarios = ["../tiny"]
mode = ["baseline", "careful"]
repetitions = 2
sandbox = "process"
faults = "faults.toml"

[limits]
max_turns = 20
timeout = 15

[gate]
max_unscored = "50%"

[modes.careful]
environment = { EFFORT = "high" }
instructions = "Look first."
"""


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    shell = open_shell(tmp_path)
    shell.write("suite/profile.toml", PROFILE)
    shell.write("suite/faults.toml", "slow = 0.5\nslow_bytes_per_s = 100000\n")
    return shell


def options_of_run() -> dict[str, TyperOption]:
    """Return the options of the command, by the names that a file has for them."""
    app = typer.Typer(add_completion=False)
    app.command()(run.command)
    command = typer.main.get_command(app)
    return {
        option_name(param): param for param in command.params if isinstance(param, TyperOption) and param.name != "help"
    }


def keys_of_file() -> dict[str, tuple[type[BaseModel], str]]:
    """Return the keys of a file with the tables that have them."""
    tables = [RunText, *MODELS.values()]
    return {name: (table, name) for table in tables for name in table.model_fields if name not in TABLES}


def test_a_file_has_every_option_and_no_other_key() -> None:
    assert set(keys_of_file()) == {*(set(options_of_run()) - OF_ONE_CALL), "agents", "scenarios"}
    assert {name: tuple(model.model_fields) for name, model in MODELS.items()} == {
        name: tuple(sorted(keys, key=list(MODELS[name].model_fields).index)) for name, keys in TABLES.items()
    }


def test_a_file_takes_what_the_command_line_takes() -> None:
    for name, option in options_of_run().items():
        if name not in OF_ONE_CALL:
            table, key = keys_of_file()[name]
            for value, taken in _samples(option):
                assert _takes(table, key, value) == taken, f"{name} = {value!r}"


def _samples(option: TyperOption) -> Iterator[tuple[Any, bool]]:
    """Yield values of an option, and whether it takes them."""
    kind = option.type_descriptor.annotation
    if option.min is not None:
        yield from ((option.min, True), (option.min - (1 if kind is int else 0.0001), False))
    if option.max is not None:
        yield from ((option.max, True), (option.max + 0.0001, False))
    yield (["x"], bool(option.multiple))
    yield (True, kind is bool)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        yield from ((each, True) for each in kind)
        yield ("nothing", False)


def _takes(table: type[BaseModel], key: str, value: Any) -> bool:
    try:
        table.model_validate({key: value})
    except ValidationError:
        return False
    return True


def test_defaults_that_the_help_shows_are_those_of_the_request() -> None:
    targets = {"agents": ("mini",), "scenarios": ("all",)}
    shown = {
        name: getattr(option.default, "value", option.default)
        for name, option in options_of_run().items()
        if name not in OF_ONE_CALL
    }

    request = make_request({**targets, **shown})

    assert replace(request, options={}) == replace(make_request(targets), options={})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('modle = ["x"]', "profile.toml: unknown key `modle`; did you mean "),
        ("max_turns = 3", "profile.toml: key `max_turns` belongs into the table `[limits]`; write it there"),
        ("[limits]\nmax_turn = 3", "profile.toml: limits: unknown key `max_turn`; did you mean `max_turns`"),
        ("[gate]\nfail_under = 2", "profile.toml: gate.fail_under: input should be less than or equal to 1 (it is 2)"),
        ("repetitions = 0", "profile.toml: repetitions: input should be greater than or equal to 1 (it is 0)"),
        ('repetitions = "3"', "profile.toml: repetitions: must be a whole number, not text"),
        ('model = "x"', "profile.toml: model: must be a list, not text"),
        ("prices = 3", "profile.toml: prices: must be text, not a number"),
        ('canary = "yes"', "profile.toml: canary: input should be a valid boolean (it is 'yes')"),
        ('keep = "some"', "profile.toml: keep: must be 'always', 'failed' or 'never', not 'some'"),
        ('[modes.x]\ninstruction = "y"', "profile.toml: modes.x: unknown key `instruction`; did you mean "),
        ("agents = [", "profile.toml: is not valid TOML: "),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "profile.toml").write_text(text)

    with pytest.raises(InputError) as error:
        read_config(tmp_path / "profile.toml")

    assert str(tmp_path / said.partition(":")[0]) + ":" + said.partition(":")[2] in str(error.value)


def test_options_survive_being_stored() -> None:
    options = {
        "agents": ("mini",),
        "scenarios": ("a", "b"),
        "out": Path("somewhere"),
        "modes": Path("profile.toml"),
        "max_turns": 5,
        "max_cost": 1.5,
        "fail_under": 0.5,
        "canary": False,
    }

    kept = json.loads(json.dumps(stored(options)))

    assert read_stored(kept, "run.json") == options
    assert (kept["limits"], kept["gate"], kept["max_cost"]) == ({"max_turns": 5}, {"fail_under": 0.5}, 1.5)


@pytest.mark.parametrize(
    ("base", "given", "words", "merged"),
    [
        ({"agents": ("a",)}, {"model": ("x",)}, [], {"agents": ("a",), "model": ("x",)}),
        ({"model": ("x", "y")}, {"model": ("z",)}, [], {"model": ("z",)}),
        ({"agents": ("a",), "scenarios": ("s",)}, {}, ["b,c"], {"agents": ("b", "c"), "scenarios": ("s",)}),
        ({"agents": ("a",)}, {}, ["b", "t", "u"], {"agents": ("b",), "scenarios": ("t", "u")}),
        ({"agents": ("a",)}, {"command": "x"}, ["t"], {"command": "x", "scenarios": ("t",)}),
        ({"provider": "p", "scenarios": ("s",)}, {}, ["t"], {"provider": "p", "scenarios": ("t",)}),
    ],
)
def test_the_command_line_wins_over_the_file(base: Any, given: Any, words: list[str], merged: Any) -> None:
    assert merge(base, given, words) == merged


def test_what_is_missing_is_said_before_anything_else() -> None:
    with pytest.raises(InputError, match="no agent was named"):
        make_request({"scenarios": ("all",)})
    with pytest.raises(InputError, match="no scenario was named"):
        make_request({"agents": ("mini",)})
    with pytest.raises(InputError, match="agents and command: one stands in the place of the other"):
        make_request({"agents": ("mini",), "command": "x", "scenarios": ("all",)})


def asked_in(shell: Shell, monkeypatch: pytest.MonkeyPatch, *words: str, **given: Any) -> Asked:
    monkeypatch.chdir(shell.folder)
    return ask(words, given, config=Path("suite/profile.toml"))


def test_paths_are_relative_to_the_file_and_those_of_flags_to_the_user(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.write("small/scenario.toml", (shell.folder / "tiny/scenario.toml").read_text().replace('"tiny"', '"small"'))
    shell.write("prices.toml", "")

    options = asked_in(shell, monkeypatch, "fake", "./small", prices=Path("prices.toml")).options

    assert options["faults"] == "faults.toml"
    assert options["out"] == shell.folder / "runs"
    assert options["prices"] == shell.folder / "prices.toml"
    assert (options["agents"], options["scenarios"]) == (("fake",), (str(shell.folder / "small"),))


def test_baseline_alone_needs_none_of_the_modes_in_the_file(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = asked_in(shell, monkeypatch, mode=("baseline",)).plan()

    assert {cell.mode for cell in plan.cells} == {"baseline"}


def test_dry_run_shows_the_plan_and_leaves_nothing_behind(shell: Shell) -> None:
    before = sorted(shell.folder.rglob("*"))

    shown = shell.run("run", "--config", "suite/profile.toml", "--dry-run", "--max-cost-per-trial", "0.25")

    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[lines.index("begins with:") + 1] == "  1. tiny #1 fake, gpt-4.1, baseline"
    assert "2 agents x 2 modes x 2 = 8 trials; at most $2.00, but for tries that are repeated" in lines
    assert "would be installed first: fake, fake:noise" in lines
    assert sorted(shell.folder.rglob("*")) == before


def test_plan_of_a_run_is_one_json_object(shell: Shell) -> None:
    found = shell.run("run", "--config", "suite/profile.toml", "--dry-run", "--json", "-n", "1")

    plan = json.loads(found.stdout)
    assert (plan["trials"], plan["installs"], plan["sandbox"]) == (4, ["fake", "fake:noise"], "process")
    assert [(each["agent"], each["mode"]) for each in plan["order"]] == [
        (agent, mode) for agent in ("fake", "fake:noise") for mode in ("baseline", "careful")
    ]
    assert {(cell["limits"]["max_turns"], cell["limits"]["timeout_s"], cell["trials"]) for cell in plan["cells"]} == {
        (20, 15.0, 1)
    }


def test_a_run_of_a_file_is_stored_with_its_options_and_goes_on_from_anywhere(shell: Shell) -> None:
    ended = shell.run("run", "--config", "suite/profile.toml", "fake", "-n", "1", "--json")

    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert {(row["mode"], row["success"]) for row in result["rows"]} == {("baseline", True), ("careful", True)}
    folder = Path(result["run_dir"])
    assert folder.parent == shell.folder / "runs"
    description = json.loads((folder / "run.json").read_text())
    assert description["folder"] == str(shell.folder / "suite")
    assert "EFFORT" not in (folder / "run.json").read_text()
    options = read_stored(description["config"], "run.json")
    assert {name: options[name] for name in ("agents", "repetitions", "max_turns", "modes")} == {
        "agents": ("fake",),
        "repetitions": 1,
        "max_turns": 20,
        "modes": Path("profile.toml"),
    }
    again = shell.run("run", "--resume", str(folder), "--json")
    assert (again.returncode, json.loads(again.stdout)["rows"]) == (0, result["rows"]), again.stderr


def test_names_stay_names_where_folders_are_called_so(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fake", "all", "fix-failing-test"):
        (shell.folder / name).mkdir()

    options = asked_in(shell, monkeypatch, "fake", "all", "fix-failing-test", "tiny").options

    assert options["agents"] == ("fake",)
    assert options["scenarios"] == ("all", "fix-failing-test", str(shell.folder / "tiny"))
