"""How much of a run BenchFlow captures from an agent. A tier is only ever computed from evidence that a probe measured;
what somebody states is a claimed tier.
"""

from dataclasses import dataclass
from typing import Literal

ClaimedTier = Literal["native", "wired", "runnable", "catalog", "vendor-locked", "out-of-scope"]
"""native: as wired, and maintained with BenchFlow. wired: its model calls arrive at the gateway, with the enforced
model. runnable: it installs, launches and converses, on a backend of its own. catalog: could be adapted, is not yet.
vendor-locked: authenticates only to its vendor. out-of-scope: no single coding or evaluation agent.
"""

Tier = Literal["native", "wired", "runnable", "catalog", "vendor-locked", "out-of-scope", "unmeasured"]


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What is known of an agent's tier, and since when."""

    tier: Tier
    measured: str | None
    """The day of the measurement, ISO 8601; None: never."""
    agent_version: str | None
    """What the agent said of itself then."""


UNMEASURED = Measurement(tier="unmeasured", measured=None, agent_version=None)
"""The tier of an agent without evidence."""
