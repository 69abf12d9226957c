"""The upstream chain of a run, built in this one place: what wraps the upstream that was opened, and in which order."""

from dataclasses import dataclass

from benchflow.gateway.upstream import Upstream


@dataclass(frozen=True, kw_only=True)
class Chain:
    """A run's upstream with all that stands before it. Whoever runs the gateway on it closes it."""

    upstream: Upstream
    """The outermost."""


def build_chain(opened: Upstream) -> Chain:
    """Wrap the upstream that was opened."""
    return Chain(upstream=opened)
