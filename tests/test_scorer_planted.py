"""Whatever an agent plants in its workspace, a failing check stays one, in both sandboxes."""

import py_compile
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from sandboxes import BOTH, entered, needs_bubblewrap
from scenario_rig import Rig, check, make_rig

from benchflow.machine.home import Home

WRONG = "def double(n):\n    return n + 1 \n"
RIGHT = "def double(n):\n    return n * 2 \n"

CHECKS = {
    "unittest": check("command", run="python3 -m benchflow_tests --path . test_unit.py"),
    "pytest": check("command", run="python3 -m benchflow_tests --pytest --path . test_py.py"),
    "subject": check("command", run="python3 -m benchflow_tests test_subject.py"),
    "plain-pytest": check("command", run="pytest -q -p no:cacheprovider $BENCHFLOW_CHECKS/test_result.py"),
    "plain-python": check("command", run="python3 $BENCHFLOW_CHECKS/compare.py"),
    "shell": check("command", run="cmp result.txt $BENCHFLOW_CHECKS/expected.txt"),
    "git": check("command", run='test "$(git log -1 --format=%s)" = Released && git status --porcelain'),
    "git-and-shell": check("command", run="git status --short; cmp result.txt $BENCHFLOW_CHECKS/expected.txt"),
    "equals": check("file_equals", path="result.txt", file="expected.txt"),
    "guard": check("unchanged", paths=["test_double.py"], weight=1),
}
IMPORTING = ("unittest", "pytest", "subject")
"""Checks that run the code under test."""
TOOLS = """[tools]
python = ["pytest==8.4.2", "iniconfig==2.1.0", "packaging==25.0", "pluggy==1.6.0", "pygments==2.19.2"]
"""
SETUP = """[workspace]
setup = '''
git init --quiet --initial-branch=main .
git -c user.name=x -c user.email=x@example.com commit --quiet --allow-empty --message Begun
'''
"""
FILES = {
    "workspace/double.py": WRONG,
    "workspace/test_double.py": "original\n",
    "workspace/result.txt": "wrong\n",
    "checks/expected.txt": "right\n",
    "checks/test_unit.py": (
        "import unittest\nfrom double import double\n"
        "class Double(unittest.TestCase):\n    def test_double(self):\n        self.assertEqual(double(3), 6)\n"
    ),
    "checks/test_py.py": "from double import double\ndef test_double():\n    assert double(3) == 6\n",
    "checks/test_subject.py": (
        "import unittest\nfrom benchflow_subject import call\n"
        "class Double(unittest.TestCase):\n    def test_double(self):\n"
        "        self.assertEqual(call('double:double', 3), 6)\n"
    ),
    "checks/test_result.py": "def test_result():\n    assert open('result.txt').read() == 'right\\n'\n",
    "checks/compare.py": "import json, sys\nsys.exit(json.dumps(open('result.txt').read()) != '\"right\\\\n\"')\n",
}
EXIT = "import os\nos._exit(0)\n"
PASS_ALL = """
import pytest

@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"

def pytest_sessionfinish(session):
    session.exitstatus = 0
"""
PATCHED = """
import unittest
unittest.TestCase.assertEqual = lambda *_: None
unittest.TestResult.addFailure = unittest.TestResult.addError = lambda *_: None

def double(n):
    return n + 1
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """Return a home of BenchFlow's that keeps the tools of the checks."""
    return Home(tmp_path_factory.mktemp("home"))


@dataclass(frozen=True)
class Plant:
    """Files that an agent leaves, and the checks that they are aimed at."""

    at: tuple[str, ...]
    files: dict[str, str]


PLANTED = {
    "conftest.py": Plant(
        ("pytest", "plain-pytest"), dict.fromkeys(("conftest.py", "checks/conftest.py", "../conftest.py"), PASS_ALL)
    ),
    "a conftest that exits": Plant(("pytest", "plain-pytest"), {"conftest.py": EXIT}),
    "sitecustomize.py": Plant((*IMPORTING, "plain-python"), {"sitecustomize.py": EXIT, "usercustomize.py": EXIT}),
    ".pth": Plant(
        ("unittest", "plain-python"),
        dict.fromkeys(("evil.pth", "lib/python3/site-packages/evil.pth"), "import os; os._exit(0)\n"),
    ),
    "programs earlier on PATH": Plant(
        ("unittest", "plain-pytest", "plain-python", "shell", "git"),
        {
            f"{folder}{name}": "#!/bin/sh\nexit 0\n"
            for folder in ("", "bin/", ".venv/bin/", "node_modules/.bin/", "../home/.local/bin/")
            for name in ("pytest", "python3", "python", "git", "cmp", "test")
        },
    ),
    "pytest.ini": Plant(("pytest", "plain-pytest"), {"pytest.ini": "[pytest]\naddopts = --collect-only\n"}),
    "pyproject.toml": Plant(
        ("pytest", "plain-pytest"), {"pyproject.toml": '[tool.pytest.ini_options]\naddopts = "--collect-only"\n'}
    ),
    "tox.ini": Plant(("pytest", "plain-pytest"), {"tox.ini": "[pytest]\naddopts = --collect-only\n"}),
    "setup.cfg": Plant(("pytest", "plain-pytest"), {"setup.cfg": "[tool:pytest]\naddopts = --collect-only\n"}),
    "a plugin by entry point": Plant(
        ("pytest", "plain-pytest"),
        {
            "evil.py": PASS_ALL,
            "evil-1.0.dist-info/METADATA": "Name: evil\nVersion: 1.0\n",
            "evil-1.0.dist-info/entry_points.txt": "[pytest11]\nevil = evil\n",
        },
    ),
    "modules named like the graders'": Plant(
        (*IMPORTING, "plain-pytest", "plain-python"),
        dict.fromkeys(
            (
                "pytest.py",
                "_pytest/__init__.py",
                "unittest/__init__.py",
                "json.py",
                "benchflow_tests.py",
                "benchflow_subject.py",
                "pluggy.py",
            ),
            EXIT,
        ),
    ),
    "check files made beforehand": Plant(
        (*IMPORTING, "plain-pytest", "plain-python"),
        {
            f"{folder}{name}": ""
            for folder in ("", "checks/", "../checks/")
            for name in ("test_unit.py", "test_py.py", "test_subject.py", "test_result.py", "compare.py")
        },
    ),
    "an early exit": Plant(IMPORTING, {"double.py": EXIT}),
    "an exit that raises": Plant(IMPORTING, {"double.py": "import sys\nsys.exit(0)\n"}),
    "an exit at the end": Plant(IMPORTING, {"double.py": f"import atexit, os\natexit.register(os._exit, 0)\n{WRONG}"}),
    "assertions made harmless": Plant(IMPORTING, {"double.py": PATCHED}),
    "a claim of success": Plant(
        IMPORTING,
        {"double.py": "import os\nprint('1 passed\\nRan 1 test in 0.001s\\n\\nOK', flush=True)\nos._exit(0)\n"},
    ),
    "a changed test": Plant(("guard",), {"test_double.py": "def test_double():\n    pass\n"}),
}


def plant(rig: Rig, files: dict[str, str]) -> None:
    """Write files into the workspace as an agent would, all of them executable."""
    for name, content in files.items():
        path = rig.workspace.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(0o755)


@asynccontextmanager
async def planted(tmp_path: Path, home: Home, kind: str, at: Iterable[str]) -> AsyncIterator[Rig]:
    """Give a workspace that passes none of the checks."""
    text = "".join(CHECKS[name].replace("[[checks]]", f'[[checks]]\nid = "{name}"') for name in at)
    async with entered(kind) as sandbox:
        rig = await make_rig(tmp_path, sandbox, text + TOOLS + SETUP, FILES, home=home)
        (rig.workspace.path / "test_double.py").write_text("changed\n")
        yield rig


async def passed(rig: Rig) -> list[str]:
    """Return the ids of the checks that pass."""
    result = await rig.score("done")
    assert result.error is None, result.error
    return [detail.id for detail in result.details if detail.passed]


@pytest.mark.parametrize("kind", BOTH)
async def test_what_is_right_passes(tmp_path: Path, home: Home, kind: str) -> None:
    async with planted(tmp_path, home, kind, CHECKS) as rig:
        assert await passed(rig) == []
        plant(rig, {"double.py": RIGHT, "result.txt": "right\n", "test_double.py": "original\n"})
        commit = "git -c user.name=x -c user.email=x@example.com commit --quiet --allow-empty --message Released"
        assert (await rig.run(commit)).exit_code == 0

        assert await passed(rig) == list(CHECKS)


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        pytest.param(what, "process") if number % 2 else pytest.param(what, "bubblewrap", marks=needs_bubblewrap)
        for number, what in enumerate(PLANTED)
    ],
)
async def test_what_is_planted_passes_nothing(tmp_path: Path, home: Home, kind: str, what: str) -> None:
    async with planted(tmp_path, home, kind, PLANTED[what].at) as rig:
        plant(rig, PLANTED[what].files)

        assert await passed(rig) == []


@pytest.mark.parametrize("kind", BOTH)
async def test_poisoned_bytecode_passes_nothing(tmp_path: Path, home: Home, kind: str) -> None:
    async with planted(tmp_path, home, kind, IMPORTING) as rig:
        source = rig.workspace.path / "double.py"
        source.write_text(RIGHT)
        py_compile.compile(str(source), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        source.write_text(WRONG)

        trusting = await rig.run("python3 -c 'import double; print(double.double(3))'")
        assert trusting.output == "6\n"  # Python takes the bytecode for that of the wrong source
        assert await passed(rig) == []


@pytest.mark.parametrize("kind", BOTH)
async def test_links_to_what_is_expected_pass_nothing(tmp_path: Path, home: Home, kind: str) -> None:
    async with planted(tmp_path, home, kind, ("plain-pytest", "plain-python", "shell", "equals", "guard")) as rig:
        for name in ("result.txt", "test_double.py"):
            (rig.workspace.path / name).unlink()
        (rig.workspace.path / "result.txt").symlink_to(rig.scenario.folder / "checks/expected.txt")
        (rig.workspace.path / "test_double.py").symlink_to(rig.scenario.folder / "workspace/test_double.py")

        assert (rig.workspace.path / "result.txt").read_text() == "right\n"
        assert await passed(rig) == []


@pytest.mark.parametrize("kind", BOTH)
async def test_git_traps_pass_nothing(tmp_path: Path, home: Home, kind: str) -> None:
    hooks = ("post-index-change", "pre-commit", "reference-transaction", "fsmonitor-watchman")
    async with planted(tmp_path, home, kind, ("git", "git-and-shell", "equals")) as rig:
        plant(rig, {f".git/hooks/{name}": TRAP for name in hooks} | {"trap": TRAP})
        assert (await rig.run(GIT_TRAPS)).exit_code == 0
        (rig.workspace.path / "result.txt").write_text("wrong\n")

        assert (await rig.run("git log -1 --format=%s")).output == "Released\n"
        assert await passed(rig) == []


TRAP = "#!/bin/sh\necho right > result.txt\nexit 0\n"
GIT_TRAPS = """
git config user.name x
git config user.email x@example.com
git replace HEAD "$(git commit-tree -m Released 'HEAD^{tree}')"
git config core.hooksPath .git/hooks
git config core.pager ./trap
git config alias.log '!echo Released'
git config core.fsmonitor ./trap
"""
