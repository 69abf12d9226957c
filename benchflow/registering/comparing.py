"""Compares an agent that was just registered, alone and inside, so that its adaptation ends with a proof."""

import os
from collections.abc import Mapping

from benchflow.errors import InputError
from benchflow.parity.keeping import keep
from benchflow.parity.request import ParityRequest
from benchflow.parity.run import run_sync
from benchflow.registering.register import Registered
from benchflow.registering.run import RegisterRequest
from benchflow.report.terminal import say

WORST_FIRST = (2, 3, 1)
"""Exit codes, the one that counts first."""


def refuse_parity(request: RegisterRequest, *, every: bool) -> None:
    """Raise InputError where there would be no one agent to compare."""
    if every:
        raise InputError("--parity compares one agent; leave --all away")
    if not request.keep:
        raise InputError("--parity compares an agent that is kept; leave --probe-only away")


def compare_registered(
    done: Registered,
    request: RegisterRequest,
    *,
    scenarios: tuple[str, ...] = (),
    environ: Mapping[str, str] = os.environ,
) -> int:
    """Compare the agent and keep what was shown; return the exit code of both. An unmeasured one cannot be compared.

    Without `scenarios` on those that `benchflow parity` takes. Raises InputError.
    """
    if done.measurement.tier == "unmeasured":
        say("parity: not compared, because the agent could not be measured")
        return done.exit_code
    compared = run_sync(
        ParityRequest(
            agent=done.called,
            scenarios=scenarios,
            sandbox=request.sandbox,
            agents_dir=request.wish.agents_dir,
            in_place=request.in_place,
        ),
        environ,
    )
    keep(compared.subject, compared.parity, compared.alone)
    codes = {done.exit_code, compared.parity.exit_code}
    return next((code for code in WORST_FIRST if code in codes), 0)
