"""What tests of the command line need: the real program, with a home and a folder of its own."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = (sys.executable, "-m", "benchflow")

TINY = """\
schema_version = 1
id = "tiny"
name = "One file"
prompt = "Write the file done.txt with the word done in it."
timeout_s = 20
[[checks]]
kind = "file_exists"
path = "done.txt"
[[solution.steps]]
write = "done.txt"
content = "done\\n"
"""


def with_step(line: str, *, id: str = "tiny") -> str:
    """Return the tiny scenario with a shell step before its own, under another id."""
    before = f"[[solution.steps]]\nrun = {json.dumps(line)}\n[[solution.steps]]"
    return TINY.replace('"tiny"', f'"{id}"').replace("[[solution.steps]]", before)


@dataclass(frozen=True)
class Shell:
    """A folder to work in, and the environment of a user."""

    folder: Path

    @property
    def environ(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder / "user"),
            "BENCHFLOW_HOME": str(self.folder / "home"),
            "NO_COLOR": "1",
            "COLUMNS": "80",
        }

    def run(
        self, *words: str, environ: Mapping[str, str] | None = None, before: Sequence[str] = ()
    ) -> subprocess.CompletedProcess[str]:
        """Run `benchflow` with these words, as an argument of the command `before`; return how it ended."""
        return subprocess.run(
            [*before, *PROGRAM, *words],
            cwd=self.folder,
            env={**self.environ, **(environ or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start `benchflow` in a process group of its own."""
        return subprocess.Popen(
            [*PROGRAM, *words],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def row(self, agent: str, *words: str) -> dict[str, Any]:
        """Run one trial of the tiny scenario, and return its row."""
        ended = self.run("run", agent, "./tiny", "--json", *words)
        assert ended.stdout, ended.stderr
        return json.loads(ended.stdout)["rows"][0]

    def write(self, name: str, text: str) -> Path:
        """Write a file in the folder."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path


def open_shell(folder: Path) -> Shell:
    """Make a folder with the tiny scenario in it."""
    shell = Shell(folder)
    shell.write("tiny/scenario.toml", TINY)
    (folder / "user").mkdir()
    return shell
