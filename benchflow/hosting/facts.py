"""What was measured of a session: from its exchanges, or, where there are none to be had, by the agent's word. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchflow.contracts import Fault, SessionFacts
from benchflow.gateway.message import Exchange
from benchflow.hosting import metering
from benchflow.hosting.acp_usage import AcpUsage


def session_facts(
    exchanges: Sequence[Exchange],
    *,
    agent_version: str | None,
    isolation: str,
    segments: Mapping[str, float],
    fault: Fault | None,
    usage: AcpUsage | None,
    extensions: Mapping[str, Any],
) -> SessionFacts:
    """Return the facts of a session. `usage` is what an agent on its own backend says of itself; None: it has none."""
    own = {} if usage is None else {"model_enforced": False, "usage_source": usage.source}
    return SessionFacts(
        agent_version=agent_version,
        model_served=metering.model_served(exchanges),
        isolation=isolation,
        tokens=usage.tokens if usage else metering.total_tokens(exchanges),
        cost=usage.cost if usage else metering.total_cost(exchanges),
        exchanges=metering.count(exchanges),
        segments={**segments, "model": metering.model_ms(exchanges)},
        fault=fault,
        extensions={
            "by_role": metering.by_role(exchanges),
            **metering.handling(exchanges),
            **metering.asides(exchanges),
            **own,
            **extensions,
        },
    )
