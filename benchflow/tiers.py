"""How much of a run BenchFlow captures from an agent. A tier is only ever computed, from declared facts and from the
evidence that a probe measured; what somebody states is a claimed tier. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

ClaimedTier = Literal["native", "wired", "runnable", "catalog", "vendor-locked", "out-of-scope"]
"""native: as wired, and maintained with BenchFlow. wired: its model calls arrive at the gateway, with the enforced
model. runnable: it installs, launches and converses, on a backend of its own. catalog: could be adapted, is not yet.
vendor-locked: authenticates only to its vendor. out-of-scope: no single coding or evaluation agent.
"""

Tier = Literal["native", "wired", "runnable", "catalog", "vendor-locked", "out-of-scope", "unmeasured"]

HEIGHT: Mapping[str, int] = {
    "native": 6,
    "wired": 5,
    "runnable": 4,
    "catalog": 3,
    "vendor-locked": 2,
    "out-of-scope": 1,
    "unmeasured": 0,
}
"""How much a tier promises; what was not measured promises nothing."""


def claimed_above(claimed: ClaimedTier | None, tier: Tier) -> ClaimedTier | None:
    """Return the claimed tier where it promises more than the tier does; None: it does not."""
    return claimed if claimed and HEIGHT[claimed] > HEIGHT[tier] else None


Verdict = Literal["pass", "fail", "odd", "skipped"]
"""odd: it works, in a way that its users should know of."""


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What is known of an agent's tier, and since when."""

    tier: Tier
    reason: str
    """Why it is this one: a sentence's end."""
    measured: str | None = None
    """The day of the measurement, ISO 8601; None: never."""
    agent_version: str | None = None
    """What the agent said of itself then."""
    where: str | None = None
    """The system and the sandbox that it was measured in."""
    stale: str | None = None
    """Why the measurement says nothing of the agent as it is now; None: it does, or there is none."""


UNMEASURED = Measurement(tier="unmeasured", reason="no evidence; `benchflow register` measures it")
"""The tier of an agent without evidence."""


@dataclass(frozen=True, kw_only=True)
class Declared:
    """The facts of a manifest that its tier depends on."""

    routed: bool
    """It declares `api_protocol`: its model calls are to arrive at the gateway."""
    backend: bool
    """It declares `[backend]`: its model runs on a backend of its own."""
    maintained: bool
    """It is built in, and declares `maintained_by = "benchflow"`."""


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the probe's steps showed, as far as the tier depends on it."""

    verdicts: Mapping[str, Verdict]
    """By the step's name."""
    details: Mapping[str, str]
    """What was seen in a step, by its name."""
    captured: int
    """Completed main exchanges of the scenario's prompt."""
    login: str | None
    """The login that it asked for instead of opening a session; None: it did not."""


def tier_of(declared: Declared, shown: Shown) -> tuple[Tier, str]:
    """Return the tier that the evidence deserves, never a higher one, and why.

    The rules, the first that applies:

    1. It does not install or shake hands: `unmeasured`. But where it asks for a login instead: `vendor-locked`.
    2. Exchanges arrived with the enforced model, and it solved the scenario that the oracle played: `wired`, or
       `native` where it is maintained here.
    3. No exchange arrived, it declares a backend of its own, and it ended a prompt: `runnable`.
    4. It converses, but neither of these holds: `catalog`. What failed is what is to be done next.
    """
    for step in ("install", "initialize", "session"):
        if not _passed(shown, step):
            if shown.login is not None:
                return "vendor-locked", f"asks for a login before it opens a session: {shown.login}"
            return "unmeasured", f"fails at {step}: {shown.details.get(step, 'not reached')}"
    if shown.captured:
        failed = next((step for step in ("model", "scenario") if not _passed(shown, step)), None)
        if failed is None:
            return ("native" if declared.maintained else "wired"), "its model calls arrive, and it solves the scenario"
        return (
            "catalog",
            f"its model calls arrive, but it fails at {failed}: {shown.details.get(failed, 'not reached')}",
        )
    if declared.backend and _passed(shown, "scenario"):
        return "runnable", "converses on a backend of its own"
    if declared.backend or not declared.routed:
        return "catalog", f"shakes hands, but ends no prompt: {shown.details.get('scenario', 'not reached')}"
    return "catalog", f"no model call reached the gateway: {shown.details.get('scenario', 'not reached')}"


def _passed(shown: Shown, step: str) -> bool:
    return shown.verdicts.get(step) in ("pass", "odd")
