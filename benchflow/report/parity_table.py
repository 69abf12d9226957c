"""The table of all built-in agents whose parity was looked at, in Markdown."""

from collections.abc import Iterable, Iterator, Sequence

from benchflow.manifest import Manifest
from benchflow.manifests.levels import Entry
from benchflow.parity.record import ParityRecord
from benchflow.parity.shown import Shown, shown_of
from benchflow.report.parity_shown import rules_of
from benchflow.report.text import one_line

BEGIN = "<!-- parity: begin -->"
END = "<!-- parity: end -->"
EXPECTED = frozenset({"paths", "ids", "dates"})
"""The rules that no two runs can do without; what it takes beyond them is worth a look."""
_COLUMNS = (
    "agent",
    "version",
    "dialect",
    "parity",
    "requests",
    "byte for byte",
    "rules that it took",
    "noise",
    "compared",
)


def write_parity_table(agents: Iterable[Manifest | Entry]) -> str:
    """Return how many were looked at, on which scenarios, a row for each agent that has a record, and what diverges.

    What was shown on this machine alone does not count.
    """
    looked = [(agent, shown_of(agent, None)) for agent in agents if isinstance(agent, Manifest)]
    known = [(agent, shown, shown.record) for agent, shown in looked if shown.record]
    shown_count = sum(shown.answer == "yes" for _, shown, _ in known)
    scenarios = sorted({each.scenario for _, _, record in known for each in record.scenarios})
    rows = ["| " + " | ".join(map(_cell, _row(agent, shown, record))) + " |" for agent, shown, record in known]
    head = ["| " + " | ".join(_COLUMNS) + " |", "|" + "---|" * len(_COLUMNS)]
    on = ", ".join(f"`{name}`" for name in scenarios)
    said = f"{len(known)} agents were compared, and parity was shown of {shown_count}, on the scenarios {on}."
    reasons = list(_reasons(known))
    few = [
        agent.name for agent, shown, record in known if shown.answer == "yes" and rules_of(record).keys() <= EXPECTED
    ]
    least = f"No rule but {', '.join(sorted(EXPECTED))} was needed by {', '.join(few) or 'none'}."
    return "\n".join([said, "", *head, *rows, "", least, *(["", *reasons] if reasons else [])])


def _row(agent: Manifest, shown: Shown, record: ParityRecord) -> list[str]:
    every = record.scenarios
    requests = sum(each.requests for each in every)
    noise = sum(each.noise for each in every)
    routed = any(each.wire for each in every)
    return [
        agent.name,
        record.agent_version or record.declared_version or "-",
        agent.api_protocol or "-",
        shown.answer if routed else f"{shown.answer} (outcome alone)",
        f"{requests} on {len(every)}",
        str(sum(each.identical for each in every)),
        ", ".join(f"{name} {count}" for name, count in rules_of(record).items()) or "none",
        f"{noise} of {requests}" if noise else "-",
        record.measured,
    ]


def _reasons(known: Sequence[tuple[Manifest, Shown, ParityRecord]]) -> Iterator[str]:
    """Say of each agent that is not at parity why."""
    for agent, shown, record in known:
        if shown.stale:
            yield f"* `{agent.name}`: stale: {one_line(shown.stale)}"
        for each in record.scenarios:
            if each.word != "parity":
                reasons = "; ".join(one_line(reason, 200) for reason in each.reasons)
                yield f"* `{agent.name}` on `{one_line(each.scenario)}`: {each.word}: {reasons}"


def _cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")
