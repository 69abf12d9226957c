"""What was measured of a session: from its exchanges, or, where there are none to be had, by the agent's word."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from benchflow.budgets.trial import TrialBudgets
from benchflow.contracts import Fault, SessionFacts
from benchflow.gateway.gateway import Tap
from benchflow.gateway.message import Exchange
from benchflow.gateway.records.certificate import CERTIFICATE, certify
from benchflow.hosting import metering
from benchflow.hosting.acp_usage import AcpUsage
from benchflow.hosting.cutoff import Cutoff
from benchflow.outcome import exchange_fault
from benchflow.redact import REDACTIONS, Redactor


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


def find_fault(tap: Tap | None, exchanges: Sequence[Exchange], *, require_capture: bool) -> Fault | None:
    """Say what went wrong with the model requests of a session that was prompted."""
    if tap is None:
        return None
    if tap.failure is not None:
        return Fault(code=tap.failure.code, message=str(tap.failure))
    return exchange_fault(exchanges, require_capture=require_capture)


def budget_facts(budgets: TrialBudgets, cutoff: Cutoff) -> dict[str, Any]:
    """Return what a row says of the budgets, and of what was done after the end of one; nothing where there is none."""
    found = {**budgets.facts().get("budgets", {}), **cutoff.facts()}
    return {"budgets": found} if found else {}


def certificate_facts(tap: Tap | None) -> dict[str, Any]:
    """Return the certificate of all that was asked at a place of the gateway; nothing where nothing was."""
    return {CERTIFICATE: asdict(certify(tap.exchanges))} if tap and tap.exchanges else {}


def redaction_facts(redactor: Redactor) -> dict[str, Any]:
    """Return how many secrets were replaced in the logs, by category; nothing where there were none."""
    return {REDACTIONS: dict(redactor.counts)} if redactor.counts else {}
