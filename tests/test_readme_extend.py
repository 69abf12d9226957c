"""What the README says to those who extend BenchFlow: its files are written, its commands run, its results seen."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import PROGRAM, Shell, open_shell

README = (Path(__file__).parent.parent / "README.md").read_text()
EXTEND = README.split("\n## Extend\n")[1].split("\n## ")[0]
BLOCK = re.compile(r"```(python|sh|text)\n(.*?)```", re.DOTALL)
FILES = {text.splitlines()[0].removeprefix("# "): text for kind, text in BLOCK.findall(EXTEND) if kind == "python"}
SHOWN = re.findall(r"```sh\n([^`]*?)```\n\n```text\n(.*?)```", EXTEND, re.DOTALL)


def run(shell: Shell, line: str) -> str:
    """Run a line of the README, and return all that it prints in lines without their margins."""
    program, *words = shlex.split(line)
    argv = [*PROGRAM, *words] if program == "benchflow" else [sys.executable, *words]
    environ = {**shell.environ, "PYTHONPATH": str(shell.folder), "COLUMNS": "200"}
    ended = subprocess.run(
        argv, cwd=shell.folder, env=environ, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode in (0, 1), ended.stderr
    return f"{ended.stdout}{ended.stderr}"


def test_there_is_an_example_of_every_contract_that_can_be_plugged_in() -> None:
    shown = "\n".join(FILES.values())

    for method in ("evaluate", "collect", "analyze", "resolve", "after_run", "judge", "create_session"):
        assert f"def {method}(" in shown
    assert len(SHOWN) == 4


@pytest.mark.parametrize(("commands", "results"), SHOWN, ids=[commands.split()[-1] for commands, _ in SHOWN])
def test_example_of_the_readme_does_what_it_shows(tmp_path: Path, commands: str, results: str) -> None:
    shell = open_shell(tmp_path)
    for name, text in FILES.items():
        shell.write(name, text)

    printed = "".join(run(shell, line) for line in commands.replace("\\\n", "").splitlines())

    for line in results.splitlines():
        assert line in printed
