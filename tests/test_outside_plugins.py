"""A package of somebody else's with a plugin of each contract: used by name, by attribute, and broken."""

import json
import sys
import tomllib
from collections.abc import Iterator
from importlib import invalidate_caches
from pathlib import Path
from typing import Any

import pytest
from command_line import Shell, open_shell

from benchflow.errors import InputError
from benchflow.plugins import GROUPS, Kind, load
from benchflow.runner.modes import Modes

PACKAGE = Path(__file__).parent / "data" / "outside"


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    return open_shell(tmp_path)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the package as an installer leaves it: its modules, and what its pyproject.toml declares."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    folder = tmp_path / "site"
    declare(folder, project["name"], project["entry-points"])
    (folder / "outside_plugins").symlink_to(PACKAGE / "outside_plugins")
    return folder


def declare(folder: Path, name: str, points: dict[str, dict[str, str]]) -> None:
    """Write the metadata of a package."""
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in of.items()) for group, of in points.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))


def result_of(shell: Shell, site: Path, *words: str) -> tuple[dict[str, Any], str]:
    """Run, and return the JSON object with what was said beside it."""
    ended = shell.run("run", "./tiny", *words, "--json", "--sandbox", "process", environ={"PYTHONPATH": str(site)})
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout), ended.stderr


PLACES: dict[Kind, str] = {
    "provider": "outside_plugins.running:EchoProvider",
    "mode_resolver": "outside_plugins.running:VolumeResolver",
    "hooks": "outside_plugins.running:Diary",
    "scorer": "outside_plugins.scoring:HalfScorer",
    "collector": "outside_plugins.looking:FilesCollector",
    "analyzer": "outside_plugins.looking:PromptsAnalyzer",
}
DIARY = """\
run of loud, quiet on tiny
mode loud
trial tiny loud
score 1.0
end of loud
mode quiet
trial tiny quiet
score 0.5
end of quiet
2 rows
"""


@pytest.mark.parametrize("by_name", [True, False], ids=["entry-point", "attribute"])
def test_plugin_of_each_contract_is_called_and_its_values_are_in_rows_and_report(
    shell: Shell, site: Path, by_name: bool
) -> None:
    words = [
        word
        for kind, place in PLACES.items()
        for word in (f"--{kind.replace('_', '-')}", "outside" if by_name else place)
    ]

    result, _ = result_of(shell, site, *words, "--mode", "loud", "--mode", "quiet")
    shell.run("report", "last", "--json", "report.json")

    loud, quiet = result["rows"]
    assert (loud["agent"], loud["provider"], loud["agent_version"]) == ("echo", "echo", "1.0")
    assert [(row["mode"], row["score"], row["tokens"]["total"]) for row in (loud, quiet)] == [
        ("loud", 1.0, 7),
        ("quiet", 0.5, 7),
    ]
    assert [check["id"] for check in quiet["check_details"]] == ["file", "loud"]
    assert loud["extensions"]["metrics"]["outside.checks"]["value"] == 2
    assert loud["extensions"]["analyses"]["outside-prompts"]["summary"] == "1 prompts in loud"
    assert (shell.folder / "diary.txt").read_text() == DIARY
    cells = json.loads((shell.folder / "report.json").read_text())["profile"]["cells"]
    assert [(cell["label"], cell["score"]["value"]) for cell in cells] == [("loud", 1.0), ("quiet", 0.5)]
    metrics = {metric["name"]: metric["median"]["value"] for metric in cells[0]["metrics"]}
    assert metrics == {"outside.asked": len("Write the file done.txt with the word done in it."), "outside.checks": 2}


def test_judge_of_a_package_judges_an_agent(shell: Shell, site: Path) -> None:
    words = ("--provider", "outside", "--scorer", "rubric", "--judge", "outside")

    result, _ = result_of(shell, site, *words)

    (row,) = result["rows"]
    assert (row["success"], row["score"]) == (True, 1.0)
    assert {check["rationale"] for check in row["check_details"]} == {"As good as any."}


BROKEN = """\
from benchflow.contracts import RunHooks


class Collector:
    id = "bad-collector"

    async def collect(self, result, scenario, mode, *, trace=None):
        raise KeyError("x")


class Analyzer:
    name = "bad-analyzer"

    async def analyze(self, trace, scenario, mode):
        return None


class Hooks(RunHooks):
    async def before_scenario(self, context):
        raise ValueError("bad hooks")


class Scorer:
    id = "bad-scorer"

    async def evaluate(self, scenario, context):
        return None


class Resolver:
    async def resolve(self, mode):
        return {"environment": {}}


class Slow:
    id = "slow"

    def collect(self, result, scenario, mode, *, trace=None):
        return []


class Short:
    id = "short"

    async def evaluate(self, scenario):
        return None


class Told:
    name = "told"
    analyze = "by a text"
"""


def test_plugins_that_fail_are_noted_and_void_nothing(shell: Shell, site: Path) -> None:
    shell.write("broken.py", BROKEN)
    words = [word for name in ("Collector", "Analyzer", "Hooks") for word in ("--plugin", f"broken:{name}")]

    result, said = result_of(shell, site, "--provider", "outside", *words)

    (row,) = result["rows"]
    assert (row["success"], row["error_code"]) == (True, None)
    assert row["extensions"]["plugin_errors"] == {
        "bad-collector": "KeyError: 'x'",
        "bad-analyzer": "TypeError: it returned NoneType, and not AnalysisResult",
    }
    assert "hook Hooks.before_scenario failed, and the run goes on: ValueError: bad hooks" in said


def test_scorer_that_returns_nothing_leaves_the_trial_unscored(shell: Shell, site: Path) -> None:
    shell.write("broken.py", BROKEN)

    result, _ = result_of(shell, site, "--provider", "outside", "--scorer", "broken:Scorer")

    (row,) = result["rows"]
    assert (row["success"], row["error_code"], row["tries"]) == (None, "scorer", 2)
    assert "the scorer bad-scorer failed: TypeError: it returned NoneType, and not ScorerResult" in row["error"]


@pytest.fixture
def imported(site: Path) -> Iterator[Path]:
    """The site, where this process finds it, with the module of broken plugins."""
    (site / "broken_plugins.py").write_text(BROKEN)
    sys.path.insert(0, str(site))
    invalidate_caches()
    yield site
    sys.path.remove(str(site))
    for name in [name for name in sys.modules if name.partition(".")[0] in ("outside_plugins", "broken_plugins")]:
        del sys.modules[name]


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        (
            "collector",
            "Slow",
            "`collect` is not async; write `async def collect(self, result, scenario, mode, *, trace=",
        ),
        (
            "scorer",
            "Short",
            "`evaluate` cannot be called as it will be (too many positional arguments); write `async def",
        ),
        ("analyzer", "Told", "`analyze` is no method; write `async def analyze(self, trace, scenario, mode)`"),
    ],
)
def test_plugin_that_cannot_be_called_as_it_will_be_is_refused(
    imported: Path, kind: Kind, name: str, said: str
) -> None:
    with pytest.raises(InputError) as error:
        load(kind, f"broken_plugins:{name}")

    assert str(error.value).startswith(f"broken_plugins:{name}: is no {kind} as it stands: {said}")


def test_resolver_that_returns_no_mode_is_an_error_that_names_it(imported: Path) -> None:
    modes = Modes(resolvers=[load("mode_resolver", "broken_plugins:Resolver")])

    with pytest.raises(InputError, match="--mode x: the resolver Resolver returned dict; it returns a ModeConfig, or"):
        modes.find("x")


def test_entry_point_that_leads_nowhere_is_named_with_its_package(imported: Path) -> None:
    declare(imported, "careless", {GROUPS["scorer"]: {"lost": "outside_plugins.gone:Scorer"}})

    with pytest.raises(InputError) as error:
        load("scorer", "lost")

    assert str(error.value).startswith("lost (benchflow.scorers of careless: outside_plugins.gone:Scorer): cannot be")
    assert str(error.value).endswith("mend or reinstall the package")


def test_name_that_two_packages_claim_is_refused_with_both(imported: Path) -> None:
    declare(imported, "other", {GROUPS["scorer"]: {"outside": "broken_plugins:Scorer"}})

    with pytest.raises(InputError, match=r"is there twice.*HalfScorer of outside-plugins.*Scorer of other"):
        load("scorer", "outside")


def test_every_plugin_of_the_package_follows_its_contract(imported: Path) -> None:
    for kind in GROUPS:
        assert load(kind, "outside")
