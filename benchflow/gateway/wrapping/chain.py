"""The upstream chain of a run, built in this one place: what wraps the upstream that was opened, and in which order."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchflow.gateway.upstream import Upstream
from benchflow.gateway.wrapping.keywatch import KeyWatch
from benchflow.gateway.wrapping.limits import Pace
from benchflow.gateway.wrapping.pacing import Pacing
from benchflow.gateway.wrapping.retrying import Retries, Retrying

if TYPE_CHECKING:
    from benchflow.gateway.wrapping.fault_plan import FaultPlan


@dataclass(frozen=True, kw_only=True)
class Chain:
    """A run's upstream with all that stands before it. Whoever runs the gateway on it closes it."""

    upstream: Upstream
    """The outermost."""
    key: KeyWatch
    """Knows whether the upstream takes the key."""


def build_chain(
    opened: Upstream,
    *,
    pace: Pace | None = None,
    retries: Retries | None = None,
    faults: "FaultPlan | None" = None,
    on_key_refused: Callable[[str], None] | None = None,
    record: Callable[[Upstream], Upstream] | None = None,
) -> Chain:
    """Wrap the upstream that was opened: faults look to the rest as if it had failed by itself, and what `record` makes
    of it all sees what the agent sees.
    """
    upstream: Upstream = (key := KeyWatch(opened, on_key_refused))
    if faults:
        from benchflow.gateway.wrapping.faults import Faults

        upstream = Faults(upstream, faults)
    upstream = Pacing(upstream, pace or Pace())
    if retries and retries.times:
        upstream = Retrying(upstream, retries)
    if record:
        upstream = record(upstream)
    return Chain(upstream=upstream, key=key)
