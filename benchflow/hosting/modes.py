"""What a mode means for an agent in its sandbox: its variables, files of its HOME, and MCP servers."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchflow.contracts import McpServer
from benchflow.errors import InputError
from benchflow.hosting.launch import below_home, expand
from benchflow.manifest import Manifest
from benchflow.mode import Mode


def require_fit(mode: Mode, manifest: Manifest) -> None:
    """Refuse a mode that would not reach this agent, or lead its model calls elsewhere. Raises InputError."""
    refused = f"the mode {mode.name} cannot be used with {manifest.label}: {manifest.place}"
    if mode.skills and not below_home(manifest.skill_paths):
        raise InputError(f"{refused} names no `skill_paths` below HOME, and the mode has skills")
    if mode.instructions and mode.instructions_as == "file" and not below_home(manifest.instruction_files):
        raise InputError(
            f'{refused} names no `instruction_files` below HOME; give them with the prompt: instructions_as = "prompt"'
        )
    routed = {*manifest.env_mapping.values(), *(name for name, text in manifest.env.items() if "_PROVIDER_" in text)}
    if taken := sorted(routed & set(mode.environment)):
        raise InputError(f"{refused} routes the agent's model calls by {', '.join(taken)}; leave it out of the mode")


def write_mode(mode: Mode, manifest: Manifest, home: Path) -> None:
    """Put the mode's skills and instructions where the agent looks for them, below its fresh HOME."""
    for place in below_home(manifest.skill_paths):
        for skill in mode.skills:
            shutil.copytree(skill.folder, home / place / skill.name, symlinks=True, dirs_exist_ok=True)
    if mode.instructions and mode.instructions_as == "file":
        for place in below_home(manifest.instruction_files):
            file = home / place
            file.parent.mkdir(parents=True, exist_ok=True)
            before = file.read_text(encoding="utf-8") + "\n" if file.exists() else ""
            file.write_text(f"{before}{mode.instructions}\n", encoding="utf-8")


def servers_inside(servers: Sequence[McpServer], variables: Mapping[str, str]) -> list[McpServer]:
    """Return MCP servers with what their texts stand for in the agent's environment. Raises InputError."""

    def inside(server: McpServer) -> McpServer:
        place = f"mcp_servers.{server.name}"
        return McpServer(
            name=server.name,
            command=expand(server.command, variables, place),
            args=[expand(argument, variables, place) for argument in server.args],
            env={name: expand(value, variables, place) for name, value in server.env.items()},
        )

    return [inside(server) for server in servers]
