"""The table of all built-in agents in Markdown, with its tally by tier, and where it stands in a page. Pure."""

from collections import Counter
from collections.abc import Sequence

from benchflow.errors import InputError
from benchflow.manifest import Manifest
from benchflow.manifests.levels import Entry
from benchflow.report.text import one_line
from benchflow.tiers import HEIGHT, claimed_above

BEGIN = "<!-- agents: begin -->"
END = "<!-- agents: end -->"

_COLUMNS = ("agent", "tier", "claims", "version", "dialect", "measured", "what is captured, or what stands in the way")
_CAPTURED = {
    "native": "raw exchanges, ACP log",
    "wired": "raw exchanges, ACP log",
    "runnable": "ACP log; its model is on a backend of its own",
}


def write_table(agents: Sequence[Manifest | Entry]) -> str:
    """Return the tally of the agents and a row for each of them, those with the highest tier first."""
    counted = Counter(agent.measurement.tier for agent in agents)
    tally = ", ".join(f"{counted[tier]} {tier}" for tier in HEIGHT if counted[tier])
    ordered = sorted(agents, key=lambda agent: (-HEIGHT[agent.measurement.tier], agent.name))
    rows = ["| " + " | ".join(_row(agent)) + " |" for agent in ordered]
    head = ["| " + " | ".join(_COLUMNS) + " |", "|" + "---|" * len(_COLUMNS)]
    return "\n".join([f"{len(agents)} agents: {tally}.", "", *head, *rows])


def replace_table(page: str, table: str, place: str, *, begin: str = BEGIN, end: str = END) -> str:
    """Return the page with the table between its two markers. Raises InputError where they are not there, once each."""
    if page.count(begin) != 1 or page.count(end) != 1 or page.index(begin) > page.index(end):
        raise InputError(f"{place}: needs the lines `{begin}` and, after it, `{end}`, once each")
    before, after = page.split(begin)[0], page.split(end)[1]
    return f"{before}{begin}\n\n{table}\n\n{end}{after}"


def _row(agent: Manifest | Entry) -> list[str]:
    measurement = agent.measurement
    dialect = agent.api_protocol if isinstance(agent, Manifest) else None
    cells = [
        f"[{_cell(agent.name)}]({agent.homepage})" if agent.homepage else _cell(agent.name),
        measurement.tier,
        claimed_above(agent.claimed_tier, measurement.tier),
        measurement.agent_version or agent.version,
        dialect,
        measurement.measured,
        _about(agent),
    ]
    return [_cell(cell or "-") for cell in cells]


def _about(agent: Manifest | Entry) -> str:
    measurement = agent.measurement
    if isinstance(agent, Entry):
        return f"{agent.reason} Next: {agent.next_step}"
    if measurement.stale:
        return f"the evidence is stale: {measurement.stale}"
    return _CAPTURED.get(measurement.tier, measurement.reason)


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")
