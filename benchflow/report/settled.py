"""What adaptive repetition came to, in a line an arm. Pure."""

from benchflow.adaptive import Adaptive, Settled
from benchflow.report import figures_text, numbers
from benchflow.report.text import one_line


def settled_lines(adaptive: Adaptive) -> list[str]:
    """Say of each arm why it was repeated no more, and what that saved."""
    return [_line(arm, adaptive) for arm in adaptive.settled]


def _line(arm: Settled, adaptive: Adaptive) -> str:
    name = ", ".join(map(one_line, (arm.agent, arm.model, arm.mode)))
    head = f"{name}: stopped after {arm.repetitions} of {numbers.plural(arm.most, 'repetition')}"
    spared = arm.most - arm.repetitions
    exact = spared * arm.scenarios == arm.saved
    shown = f"{spared} x {arm.scenarios}" if exact and arm.scenarios > 1 else f"{arm.saved}"
    saved = f"; {shown} trials not run" if arm.saved else ""
    if arm.reason == "unscored":
        return f"{head}, since none of them could be scored{saved}"
    known = f"success is within {figures_text.interval('success', arm.low, arm.high)} at {adaptive.level:.0%}"
    asked = f"plus or minus {adaptive.half_width:g}"
    if arm.reason == "most":
        return f"{name}: repeated {arm.repetitions} times, the most allowed; {known}, not yet {asked}"
    return f"{head}: {known}, {asked} or better{saved}"
