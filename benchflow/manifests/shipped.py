"""The agents that BenchFlow ships, by the evidence that it ships: the same on every machine."""

from collections.abc import Sequence

from benchflow.errors import InputError
from benchflow.manifest import BUILT_IN, Manifest
from benchflow.manifests.levels import Entry, FolderLevel, Problem
from benchflow.registry import built_in_folder


def shipped_agents() -> Sequence[Manifest | Entry]:
    """Return every shipped agent, by name. Raises InputError for the first that cannot be read."""
    agents: list[Manifest | Entry] = []
    for claim in FolderLevel(origin=BUILT_IN, folder=built_in_folder()).claims(None):
        if isinstance(claim, Problem):
            raise InputError(claim.message)
        agents.append(claim.load())
    return sorted(agents, key=lambda agent: agent.name)
