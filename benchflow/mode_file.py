"""Modes as text in a TOML file: its keys, and nothing of what they mean on this machine."""

from typing import Annotated

from pydantic import Field

from benchflow.mode import InstructionsAs
from benchflow.model import StrictModel

Text = Annotated[str, Field(min_length=1)]


class McpServerText(StrictModel):
    """`[[modes.NAME.mcp_servers]]`: an MCP server that speaks over stdio, which the agent is asked to start."""

    name: Text
    command: Text
    """A program on the agent's PATH, or a path relative to the file. In it, in `args` and in `env` `${BENCHFLOW_…}`
    expands, and `${BENCHFLOW_MODE_DIR}` is the file's folder."""
    args: tuple[str, ...] = ()
    env: dict[str, str] = Field(default_factory=dict)
    requires_env: tuple[Text, ...] = ()
    """Variables of the user's that it needs; their values are secrets."""


class ModeText(StrictModel):
    """`[modes.NAME]`: what a mode varies. Paths are relative to the file."""

    environment: dict[str, str] = Field(default_factory=dict)
    """Variables of the agent's process."""
    requires_env: tuple[Text, ...] = ()
    """Variables of the user's that the agent is given as they are; their values are secrets."""
    instructions: Text | None = None
    """What the agent is told beside the task."""
    instructions_as: InstructionsAs = "prompt"
    mcp_servers: tuple[McpServerText, ...] = ()
    skills: tuple[Text, ...] = ()
    """Folders with a `SKILL.md`, copied to where the agent looks for skills."""
    folders: tuple[Text, ...] = ()
    """What else of this machine the agent is shown, read only."""
    model: Text | None = None
    """Asked in place of the run's models."""


class ModesText(StrictModel):
    """A file of modes."""

    modes: dict[str, ModeText]
