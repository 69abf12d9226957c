"""`benchflow agents`: the list of agents, and one agent in full."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.manifest import Manifest
from benchflow.manifests.levels import Entry
from benchflow.report.text import block, one_line

if TYPE_CHECKING:
    from rich.console import Console

_HIDDEN = {"digest", "path", "origin", "warnings", "files", "programs", "variant", "local_evidence"}
"""Fields of a manifest that are not its author's."""


@dataclass(frozen=True, kw_only=True)
class Installed:
    """Where an agent is installed, or would be."""

    folder: Path
    present: bool


def describe(agent: Manifest | Entry) -> dict[str, Any]:
    """Return what a list says of an agent."""
    facts = {
        "name": agent.name,
        "tier": agent.measurement.tier,
        "claimed_tier": agent.claimed_tier,
        "measured": agent.measurement.measured,
        "agent_version": agent.measurement.agent_version,
        "homepage": agent.homepage,
        "origin": agent.origin,
        "path": str(agent.path) if agent.path else None,
    }
    if isinstance(agent, Entry):
        return {
            **facts,
            "runs": False,
            "description": None,
            "distribution": agent.distribution,
            "reason": agent.reason,
            "next_step": agent.next_step,
        }
    return {
        **facts,
        "runs": True,
        "description": agent.description,
        "version": agent.version,
        "aliases": agent.aliases,
        "variants": agent.variants,
        "api_protocol": agent.api_protocol,
        "digest": agent.digest,
    }


def describe_whole(agent: Manifest | Entry, installed: Installed | None) -> dict[str, Any]:
    """Return all of an agent."""
    if isinstance(agent, Entry) or installed is None:
        return describe(agent)
    return {
        **describe(agent),
        "manifest": agent.model_dump(mode="json", exclude=_HIDDEN),
        "warnings": agent.warnings,
        "installed": str(installed.folder) if installed.present else None,
    }


def print_list(console: "Console", agents: Sequence[Manifest | Entry]) -> None:
    """Print a line for each agent."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in ("agent", "tier", "claimed", "version", "what it is"):
        table.add_column(name, overflow="fold", no_wrap=name in ("agent", "tier"))
    for agent in agents:
        if isinstance(agent, Entry):
            version, about = "-", f"cannot be run: {agent.reason}"
        else:
            version, about = agent.version or "-", agent.description or ""
        measured = agent.measurement.tier
        claimed = agent.claimed_tier if agent.claimed_tier and agent.claimed_tier != measured else "-"
        table.add_row(one_line(agent.name), measured, claimed, one_line(version), one_line(about, 200))
    console.print(table)


def print_one(console: "Console", agent: Manifest | Entry, installed: Installed | None) -> None:
    """Print an agent: what it is, how it is measured, and how it is installed, routed and started."""
    console.print(one_line(agent.name), style="bold")
    console.print(str(agent.path or agent.origin), style="dim", soft_wrap=True)
    for name, value in _facts(agent, installed).items():
        if value:
            console.print(f"{name}: {one_line(value)}", soft_wrap=True)
    if isinstance(agent, Entry):
        return
    for title, text in (("Install", agent.install_cmd), ("Launch", agent.launch_cmd)):
        console.print(f"\n{title}", style="bold")
        console.print(block(text.strip(), "  ", console.width))
    for title, values in (("Variables", {**agent.env_mapping, **agent.env}), ("Files of HOME", agent.home_files)):
        if values:
            console.print(f"\n{title}", style="bold")
            for name, value in values.items():
                console.print(f"  {one_line(name)} = {one_line(value, 100)}", soft_wrap=True)


def _facts(agent: Manifest | Entry, installed: Installed | None) -> dict[str, str | None]:
    measurement = agent.measurement
    measured = f", measured {measurement.measured}" if measurement.measured else ""
    claimed = f" (claims {agent.claimed_tier})" if agent.claimed_tier else ""
    facts = {"tier": f"{measurement.tier}{measured}{claimed}", "homepage": agent.homepage, "from": agent.origin}
    if isinstance(agent, Entry):
        more = {"distribution": agent.distribution, "cannot be run": agent.reason, "next step": agent.next_step}
        return facts | more
    runtimes = agent.runtimes.model_dump(exclude_none=True)
    return facts | {
        "about": agent.description,
        "version": agent.version,
        "license": agent.license,
        "aliases": ", ".join(agent.aliases),
        "variants": ", ".join(agent.variants),
        "dialect": agent.api_protocol or "none: its model calls are not routed",
        "runtimes": ", ".join(f"{name} {wanted}" for name, wanted in runtimes.items()),
        "needs": ", ".join(agent.requires_env),
        "installed": str(installed.folder) if installed and installed.present else "no",
    }
