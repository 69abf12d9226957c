"""A mode: a named variation of the environment that is compared.

Knows nothing of agents: what a mode means for one of them is decided where that agent is started.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import orjson

from benchflow.contracts import McpServer

BASELINE_NAME = "baseline"
"""The mode that varies nothing."""

InstructionsAs = Literal["prompt", "file"]
"""As the first block of the first prompt, or as the agent's own instruction files."""


@dataclass(frozen=True, kw_only=True)
class Skill:
    """A skill, as agents know them: a folder with `SKILL.md`."""

    folder: Path
    digest: str
    """SHA-256 of all its files."""

    @property
    def name(self) -> str:
        return self.folder.name


@dataclass(frozen=True, kw_only=True)
class Mode:
    """What the trials of a mode get beside what every trial gets."""

    name: str
    environment: Mapping[str, str] = field(default_factory=dict)
    """Variables of the agent's process. Their values may be secrets: they are written nowhere."""
    instructions: str | None = None
    instructions_as: InstructionsAs = "prompt"
    mcp_servers: tuple[McpServer, ...] = ()
    skills: tuple[Skill, ...] = ()
    folders: tuple[Path, ...] = ()
    """Folders of this machine that the agent is shown, read only, where they are."""
    model: str | None = None
    """Asked in place of the run's models; None: those."""
    secrets: tuple[str, ...] = ()
    """Values that must not be in any file of a run."""

    @cached_property
    def digest(self) -> str | None:
        """SHA-256 of all that it varies, of variables' values their digests alone; None: it varies nothing."""
        if self == Mode(name=self.name):
            return None
        known = [
            _digests(self.environment),
            self.instructions,
            self.instructions_as,
            [[server.name, server.command, list(server.args), _digests(server.env)] for server in self.mcp_servers],
            [[skill.name, skill.digest] for skill in self.skills],
            [str(folder) for folder in self.folders],
            self.model,
        ]
        return hashlib.sha256(orjson.dumps(known)).hexdigest()

    @property
    def facts(self) -> dict[str, Any]:
        """What stands of it in rows: names, and no variable's value. Empty where it varies nothing."""
        if self.digest is None:
            return {}
        facts = {
            "digest": self.digest,
            "environment": sorted(self.environment),
            "instructions_as": self.instructions_as if self.instructions else None,
            "mcp_servers": [server.name for server in self.mcp_servers],
            "skills": [skill.name for skill in self.skills],
            "model": self.model,
        }
        return {"mode": {key: value for key, value in facts.items() if value}}


BASELINE = Mode(name=BASELINE_NAME)


def _digests(variables: Mapping[str, str]) -> list[list[str]]:
    return [[name, hashlib.sha256(value.encode()).hexdigest()] for name, value in sorted(variables.items())]
