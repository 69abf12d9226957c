"""`benchflow agents`: the list of agents, and one agent in full."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchflow.machine.home import Home
from benchflow.manifest import Manifest
from benchflow.manifests.levels import Entry
from benchflow.parity.shown import shown_of
from benchflow.report.parity_shown import describe_shown, shown_lines
from benchflow.report.text import block, one_line
from benchflow.tiers import HEIGHT, claimed_above

if TYPE_CHECKING:
    from rich.console import Console

_HIDDEN = {"digest", "path", "origin", "warnings", "files", "programs", "variant", "local_evidence"}
"""Fields of a manifest that are not its author's."""


@dataclass(frozen=True, kw_only=True)
class Installed:
    """Where an agent is installed, or would be."""

    folder: Path
    present: bool


def describe(agent: Manifest | Entry, home: Home | None) -> dict[str, Any]:
    """Return what a list says of an agent. `home` None: what was shown on this machine does not count."""
    facts = {
        "name": agent.name,
        "tier": agent.measurement.tier,
        "claimed_tier": agent.claimed_tier,
        "measured": agent.measurement.measured,
        "measured_where": agent.measurement.where,
        "stale": agent.measurement.stale,
        "agent_version": agent.measurement.agent_version,
        "version": agent.version,
        "homepage": agent.homepage,
        "origin": agent.origin,
        "path": str(agent.path) if agent.path else None,
    }
    if isinstance(agent, Entry):
        return {
            **facts,
            "runs": False,
            "description": agent.description,
            "aliases": agent.aliases,
            "distribution": agent.distribution,
            "reason": agent.reason,
            "next_step": agent.next_step,
            "instead": agent.instead,
        }
    return {
        **facts,
        "runs": True,
        "description": agent.description,
        "reason": agent.measurement.reason,
        "parity": describe_shown(shown_of(agent, home)),
        "aliases": agent.aliases,
        "variants": agent.variants,
        "api_protocol": agent.api_protocol,
        "digest": agent.digest,
    }


def describe_whole(agent: Manifest | Entry, home: Home, installed: Installed | None) -> dict[str, Any]:
    """Return all of an agent."""
    if isinstance(agent, Entry) or installed is None:
        return describe(agent, home)
    return {
        **describe(agent, home),
        "manifest": agent.model_dump(mode="json", exclude=_HIDDEN),
        "warnings": agent.warnings,
        "installed": str(installed.folder) if installed.present else None,
    }


def print_list(console: "Console", agents: Sequence[Manifest | Entry], home: Home) -> None:
    """Print a line for each agent, with days, places and versions where there is room, and how many there are."""
    from rich import box
    from rich.table import Table

    wide = console.width > 100
    columns = ["agent", "tier", "claims", *(["measured", "where", "version"] if wide else []), "parity"]
    rows = [_cells(agent, home, wide) for agent in agents]
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    room = max(20, console.width - sum(widths) - 2 * len(columns))  # a space and a divider behind each
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for name in (*columns, "what it is"):
        table.add_column(name, no_wrap=True)
    for agent, row in zip(agents, rows, strict=True):
        table.add_row(*row, one_line(_about(agent), room))
    console.print(table)
    counted = Counter(agent.measurement.tier for agent in agents)
    console.print(f"{len(agents)} agents: " + ", ".join(f"{counted[tier]} {tier}" for tier in HEIGHT if counted[tier]))


def _cells(agent: Manifest | Entry, home: Home, wide: bool) -> list[str]:
    seen = agent.measurement
    cells = [agent.name, seen.tier, claimed_above(agent.claimed_tier, seen.tier)]
    cells += [seen.measured, seen.where, seen.agent_version or agent.version] if wide else []
    cells.append(None if isinstance(agent, Entry) else shown_of(agent, home).answer)
    return [one_line(cell or "-", 25) for cell in cells]


def _about(agent: Manifest | Entry) -> str:
    if agent.measurement.stale:
        return f"stale: {agent.measurement.stale}"
    return agent.description or agent.measurement.reason


def print_one(console: "Console", agent: Manifest | Entry, home: Home, installed: Installed | None) -> None:
    """Print an agent: what it is, how it is measured, and how it is installed, routed and started."""
    console.print(one_line(agent.name), style="bold")
    console.print(str(agent.path or agent.origin), style="dim", soft_wrap=True)
    for name, value in _facts(agent, installed).items():
        if value:
            console.print(f"{name}: {one_line(value)}", soft_wrap=True)
    if isinstance(agent, Entry):
        return
    for line in shown_lines(shown_of(agent, home), agent.label):
        console.print(line, soft_wrap=True)
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
    above = claimed_above(agent.claimed_tier, measurement.tier)
    facts: dict[str, str | None] = {"tier": measurement.tier + (f" (claims {above})" if above else "")}
    facts["cannot be run" if isinstance(agent, Entry) else "why"] = measurement.reason
    if measurement.measured:
        facts["measured"] = f"{measurement.measured} on {measurement.where}, version {measurement.agent_version}"
    facts |= {"homepage": agent.homepage, "from": agent.origin}
    if isinstance(agent, Entry):
        more = {"about": agent.description, "version": agent.version, "license": agent.license}
        more |= {"distribution": agent.distribution, "next step": agent.next_step, "use instead": agent.instead}
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
