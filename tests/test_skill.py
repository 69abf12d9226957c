"""The skill for coding agents: its loaders can read it, and what it shows works."""

import json
import re
import shlex
from pathlib import Path
from typing import Any, get_args

import pytest
from command_line import open_shell
from typer.main import get_command
from typer.testing import CliRunner

from benchflow.authoring.skill import skill_text
from benchflow.cli import app
from benchflow.evidence import StepName
from benchflow.manifest import load_manifest

SKILL = skill_text()
FRONT, BODY = SKILL.removeprefix("---\n").split("\n---\n", 1)


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", BODY, re.MULTILINE | re.DOTALL)


COMMANDS = [
    shlex.split(line, comments=True)[1:] for block in blocks("sh") for line in block.splitlines() if line.strip()
]


def test_skill_is_printed_as_it_is_shipped() -> None:
    assert CliRunner().invoke(app, ["register", "--skill"]).stdout == SKILL


def test_frontmatter_is_what_loaders_of_skills_expect() -> None:
    fields = dict(line.split(": ", 1) for line in FRONT.splitlines())

    assert SKILL.startswith("---\n")
    assert list(fields) == ["name", "description"]
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", fields["name"])
    assert len(fields["name"]) <= 64
    assert 50 <= len(fields["description"]) <= 1024
    assert ": " not in fields["description"]  # else it is no plain scalar of YAML


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_that_it_shows_can_be_said(words: list[str]) -> None:
    command: Any = get_command(app)
    context = None
    rest = words
    while hasattr(command, "commands"):
        context = command.make_context(command.name or "benchflow", list(rest), parent=context)
        left = [*context._protected_args, *context.args]
        if not left:
            return
        _, command, rest = command.resolve_command(context, left)
    command.make_context(command.name, list(rest), parent=context)


def test_steps_of_the_probe_that_it_explains_are_steps_of_the_probe() -> None:
    explained = re.findall(r"`([a-z_0-9]+)`", "".join(re.findall(r"^\| (`[^|]*) \|", BODY, re.MULTILINE)))

    assert set(explained) == set(get_args(StepName)) - {"second_prompt"}


def test_manifest_that_it_shows_is_sound(tmp_path: Path) -> None:
    [text] = blocks("toml")
    (tmp_path / "manifest.toml").write_text(text)

    manifest = load_manifest(tmp_path)

    assert manifest.warnings == ()
    assert (manifest.api_protocol, manifest.env["OPENAI_MODEL"]) == (
        "openai-completions",
        "${BENCHFLOW_PROVIDER_MODEL}",
    )


def test_what_it_shows_first_works_without_a_network(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    shown = [words for words in COMMANDS if words[0] == "agents" and "--update" not in words]
    assert len(shown) == 4
    for words in shown:
        ended = CliRunner().invoke(app, words, env=shell.environ)
        assert ended.exit_code == 0, ended.output

    made, probed = (next(words for words in COMMANDS if flag in words) for flag in ("--scaffold", "--probe-only"))
    assert shell.run(*made).returncode == 0
    ended = shell.run(*probed, "--sandbox", "process", "--json")

    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout)
    assert (found["tier"], found["parity"]["answer"]) == ("wired", "never")
