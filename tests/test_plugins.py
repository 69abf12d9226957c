"""Plugins from outside of the package: by entry point, by `module:attribute`, and what is said of one that is none."""

import json
import sys
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path

import pytest
from command_line import open_shell

from benchflow.errors import InputError
from benchflow.plugins import BUILT_IN, GROUPS, HOOKS, Kind, lacks, load, load_any
from benchflow.runner.plugged import PluginNames, load_plugins

MODULE = """\
from benchflow.contracts import AnalysisResult, CustomMetric, ModeConfig, NumberFinding, RunHooks, ScorerResult


class Files:
    id = "files"

    async def collect(self, result, scenario, mode, *, trace=None):
        return [CustomMetric(name="mine.checks", value=result.checks_total, unit="checks")]


class Length:
    name = "length"

    async def analyze(self, trace, scenario, mode):
        findings = [NumberFinding(name="events", value=len(trace.events))]
        return AnalysisResult(analyzer=self.name, findings=findings, summary="Counted.")


class Lenient:
    id = "lenient"

    async def evaluate(self, scenario, context):
        return ScorerResult(success=True, passed=1, total=1, details=(), score=1.0)


class Loud(RunHooks):
    async def after_run(self, context, rows):
        print("loud", len(rows), file=__import__("sys").stderr)


class Modes:
    async def resolve(self, mode):
        return ModeConfig(environment={"A": mode})


class Judge:
    id = "judge"

    async def judge(self, request): ...


class Broken:
    def __init__(self):
        raise OSError("no disk")


def make_files():
    return Files()


files = Files()
lenient = Lenient()
nothing = 3
"""
KINDS: list[tuple[Kind, str]] = [
    ("scorer", "Lenient"),
    ("collector", "Files"),
    ("analyzer", "Length"),
    ("mode_resolver", "Modes"),
    ("hooks", "Loud"),
    ("judge", "Judge"),
]


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Path]:
    """A module of somebody's, and the metadata of the package that it was installed with."""
    (tmp_path / "outside_plugins.py").write_text(MODULE)
    declared = tmp_path / "outside-1.0.dist-info"
    declared.mkdir()
    (declared / "METADATA").write_text("Metadata-Version: 2.1\nName: outside\nVersion: 1.0\n")
    lines = [f"[{GROUPS[kind]}]\nmine = outside_plugins:{name}\n" for kind, name in KINDS]
    (declared / "entry_points.txt").write_text("\n".join(lines))
    sys.path.insert(0, str(tmp_path))
    invalidate_caches()
    yield tmp_path
    sys.path.remove(str(tmp_path))
    del sys.modules["outside_plugins"]


@pytest.mark.parametrize(("kind", "name"), KINDS)
def test_plugin_of_each_contract_is_found_by_entry_point_and_by_attribute(module: Path, kind: Kind, name: str) -> None:
    assert type(load(kind, "mine")).__name__ == type(load(kind, f"outside_plugins:{name}")).__name__ == name
    assert load_any(f"outside_plugins:{name}")[1] == [kind]


def test_class_and_function_are_called_and_an_object_is_taken_as_it_is(module: Path) -> None:
    import outside_plugins  # pyright: ignore[reportMissingImports]

    assert type(load("collector", "outside_plugins:make_files")) is outside_plugins.Files
    assert load("collector", "outside_plugins:files") is outside_plugins.files


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("outside_plugins:Length", "is no collector: it has no `id`, `collect`"),
        ("outside_plugins:nothing", "is no collector"),
        ("outside_plugins:Flies", "cannot be loaded: AttributeError"),
        ("no_such_module:Files", "cannot be loaded: ModuleNotFoundError"),
        ("outside_plugins:Broken", "cannot be made without arguments: OSError: no disk"),
        ("tokn", "there is no collector `tokn`; did you mean `token`?"),
    ],
)
def test_what_is_no_collector_is_an_error_that_says_why(module: Path, text: str, said: str) -> None:
    load("collector", "outside_plugins:Files")

    with pytest.raises(InputError) as error:
        load("collector", text)

    assert said in str(error.value)
    assert str(error.value).startswith(text) or text == "tokn"


def test_object_of_no_kind_is_refused_with_what_each_kind_needs(module: Path) -> None:
    load("collector", "outside_plugins:Files")

    with pytest.raises(InputError, match=r"no plugin of any kind.*`evaluate`.*`collect`.*before_run"):
        load_any("outside_plugins:nothing")


def test_two_scorers_are_refused(module: Path) -> None:
    with pytest.raises(InputError, match="one verdict"):
        load_plugins(PluginNames(any=("outside_plugins:Lenient", "outside_plugins:lenient")))


def test_every_built_in_plugin_is_what_its_list_says() -> None:
    for kind, names in BUILT_IN.items():
        for name in names:
            assert lacks(load(kind, name), kind) == []
    assert HOOKS == ("before_run", "before_mode", "before_scenario", "after_scenario", "after_mode", "after_run")


def test_run_uses_plugins_that_lie_beside_the_user(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    shell.write("outside_plugins.py", MODULE)
    names = ("Files", "Length", "Lenient", "Loud")
    words = [word for name in names for word in ("--plugin", f"outside_plugins:{name}")]

    ended = shell.run("run", "fake", "./tiny", *words, "--upstream", "null", "--json", "--sandbox", "process")

    row = json.loads(ended.stdout)["rows"][0]
    assert row["extensions"]["metrics"]["mine.checks"]["value"] == 1
    assert row["extensions"]["analyses"]["length"]["findings"][0]["value"] > 0
    assert "reasoning" in row["extensions"]["analyses"], "the built-in ones are on beside it"
    assert (row["success"], row["score"]) == (True, 1.0), "the scorer is the lenient one"
    assert "loud 1\n" in ended.stderr


def test_provider_stands_in_the_place_of_an_agent(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    shell.write("own_provider.py", (Path(__file__).parent / "own_provider.py").read_text())
    words = ("./tiny", "--provider", "own_provider:OwnProvider", "--model", "x", "--json", "--sandbox", "process")

    result = json.loads(shell.run("run", *words).stdout)

    row = result["rows"][0]
    assert (row["agent"], row["provider"], row["model"], row["upstream"]) == ("own", "own", "x", "provider:own")
    assert (row["success"], row["tokens"]["total"], row["exchanges"]["main"]) == (True, 7, 0)
    arm = json.loads((shell.folder / result["run_dir"] / "run.json").read_text())["arms"][0]
    assert arm["agent"]["place"] == "own_provider:OwnProvider"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--provider", "x:y"), "x:y: cannot be loaded"),
        (("--provider", "x:y", "--command", "cat"), "--command and --provider"),
        (
            ("--provider", "own_provider:OwnProvider", "--upstream", "null"),
            "--provider: the provider own_provider:OwnProvider asks its model by itself; leave out --upstream",
        ),
    ],
)
def test_wrong_provider_is_an_error_that_names_it(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    shell = open_shell(tmp_path)
    shell.write("own_provider.py", (Path(__file__).parent / "own_provider.py").read_text())

    ended = shell.run("run", "./tiny", *words)

    assert (ended.returncode, ended.stdout) == (2, "")
    assert said in ended.stderr
