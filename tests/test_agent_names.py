"""No agent is named in the code: what is special about one stands in its manifest."""

import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

import benchflow
from benchflow.manifests.shipped import shipped_agents

PACKAGE = Path(benchflow.__file__).parent
OURS = {"mini", "fake"}
"""What BenchFlow itself is built with."""
WORDS = {"amp", "crow", "cursor", "droid", "gemini", "goose", "hermes", "kit", "nova", "pool", "vibe"}
"""Names that are words, or families of models, as well: only as a whole text or a program's name are they agents."""


@cache
def names() -> set[str]:
    return {name.lower() for agent in shipped_agents() for name in (agent.name, *agent.aliases)} - OURS


def code() -> list[Path]:
    """Return the files of the package, but for the agents that ship with it and the material of scenarios."""
    left_out = {"agents", "scenarios", "acp"}
    return [path for path in PACKAGE.rglob("*.py") if not left_out & set(path.relative_to(PACKAGE).parts)]


def named(text: str, name: str) -> bool:
    """Whether `name` occurs by itself: no part of a longer word, path of a module or hyphenated name."""
    return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", text, re.IGNORECASE) is not None


def texts(path: Path) -> list[str]:
    """Return the texts and comments of a file. Names of agents cannot be told from others elsewhere."""
    kinds = (tokenize.STRING, tokenize.COMMENT, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING))
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text("utf-8")).readline)
    return [token.string for token in tokens if token.type in kinds]


def test_no_agent_is_named_in_the_code() -> None:
    found = [
        (path.relative_to(PACKAGE).as_posix(), name, text[:100])
        for path in code()
        if (mentioned := [name for name in names() if name in path.read_text("utf-8").lower()])
        for text in texts(path)
        for name in mentioned
        if (text.strip("rbf'\"").lower() == name if name in WORDS else named(text, name))
    ]

    assert found == []


def test_names_that_are_words_are_names() -> None:
    assert WORDS - names() == set()


@pytest.mark.parametrize(
    ("text", "name", "hit"),
    [
        ('"kilo"', "kilo", True),
        ("# as kilo does", "kilo", True),
        ("# a kilogram", "kilo", False),
        ("openai.codex-acp-x", "codex-acp", False),
        ('"codex-acp"', "codex-acp", True),
    ],
)
def test_a_name_counts_only_by_itself(text: str, name: str, hit: bool) -> None:
    assert named(text, name) == hit
