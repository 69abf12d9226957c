"""How often arms are repeated: a fixed number of times, or until their rate of success is known well enough. Pure.

An arm, one agent with one model in one mode, is what is decided on, over all its scenarios together: its rate is the
figure that tables show, and no scenario then weighs more than another for having been the less reliable one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchflow.adaptive import Adaptive, Reason, Settled
from benchflow.row import ProfileRow
from benchflow.runner.plan import ArmName, Trial
from benchflow.stats.sequential import look


@dataclass(frozen=True, kw_only=True)
class UntilSure:
    """When an arm has been repeated often enough."""

    half_width: float
    """How well the rate of success is to be known: within so much either way."""
    least: int = 1
    """How many repetitions there are before the first look."""
    at_once: int = 1
    """How many trials run at once. So many are at least begun between two looks, so that none waits for the others."""
    level: float = 0.95


@dataclass(frozen=True, kw_only=True)
class Standing:
    """How far a run is."""

    wanted: Sequence[Trial]
    """The trials that are to be run as far as is known by now, in the plan's order."""
    adaptive: Adaptive | None = None
    """What was decided; None: the number of repetitions is fixed."""

    @property
    def settled(self) -> Sequence[Settled]:
        return self.adaptive.settled if self.adaptive else ()


def standing(plan: Sequence[Trial], rows: Mapping[str, ProfileRow], until: UntilSure | None) -> Standing:
    """Decide from the rows that there are, by the trial's key, what is to be run of a plan with the most repetitions.

    It looks after the first `least` repetitions, and then after each, or after as many as keep `at_once` trials busy;
    at each look, only at the repetitions before it, all of whose rows must be there. So what comes out of trials
    decides which trials there are, never how long they took, and a run that is resumed decides as if it had not been
    stopped. The confidence sequence holds at all these looks together: between two of them each scenario has as many
    trials as the others, and the sum of trials with different rates is no more spread than of as many with their mean
    (Hoeffding, Annals of Mathematical Statistics 27, 1956), so that the mixture is still a supermartingale.
    """
    if until is None:
        return Standing(wanted=plan)
    arms: dict[ArmName, list[Trial]] = {}
    for trial in plan:
        arms.setdefault(trial.cell.arm, []).append(trial)
    most = max((trial.iteration + 1 for trial in plan), default=0)
    settled: dict[ArmName, Settled] = {}
    asked, upto = dict.fromkeys(arms, 0), min(until.least, most)
    while going := {arm: trials for arm, trials in arms.items() if arm not in settled}:
        asked.update(dict.fromkeys(going, upto))
        if any(trial.iteration < upto and trial.key not in rows for trials in going.values() for trial in trials):
            break
        for arm, trials in going.items():
            if found := _settle(arm, trials, rows, until, upto, most):
                settled[arm] = found
        together = sum(len(trials) // most for arm, trials in going.items() if arm not in settled)
        upto = min(most, upto + -(-until.at_once // max(1, together)))
    return Standing(
        wanted=[trial for trial in plan if trial.iteration < asked[trial.cell.arm]],
        adaptive=Adaptive(half_width=until.half_width, level=until.level, settled=tuple(settled.values())),
    )


def _settle(
    arm: ArmName, trials: Sequence[Trial], rows: Mapping[str, ProfileRow], until: UntilSure, upto: int, most: int
) -> Settled | None:
    outcomes = [rows[trial.key].success for trial in trials if trial.iteration < upto]
    known = look([float(success) for success in outcomes if success is not None], level=until.level)
    reason: Reason
    if known.narrow_enough(until.half_width):
        reason = "sure"
    elif upto >= most:
        reason = "most"
    elif not known.count:
        reason = "unscored"
    else:
        return None
    return Settled(
        agent=arm.agent,
        model=arm.model,
        upstream=arm.upstream,
        mode=arm.mode,
        reason=reason,
        repetitions=upto,
        most=most,
        scenarios=len(trials) // most,
        saved=sum(trial.key not in rows for trial in trials),
        scored=known.count,
        success=known.mean,
        low=known.interval.low,
        high=known.interval.high,
    )
