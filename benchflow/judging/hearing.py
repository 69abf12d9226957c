"""Asks a judge for its verdicts, one after another, and meters what that took. Knows no scenario and no gateway."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchflow.contracts import CostBreakdown, JudgeProvider, JudgeRequest, JudgeResponse, TokenBreakdown
from benchflow.errors import TrialError
from benchflow.judging.asking import NoAnswer
from benchflow.judging.prompt import ask_again
from benchflow.judging.verdict import NoVerdict, Verdict, read_verdict
from benchflow.scenario_file import Rubric

ANSWER_TOKENS = 8_000
"""Tokens that a judge may spend on one verdict, reasoning included."""


@dataclass
class Meter:
    """What a judge was asked, and what it took."""

    calls: int = 0
    failed: int = 0
    """Of them, those that were not answered."""
    refused: int = 0
    """Of them, those whose answer was no verdict."""
    responses: list[JudgeResponse] = field(default_factory=list)

    def tokens(self) -> TokenBreakdown | None:
        """Return the tokens of all answers; None where none was metered."""
        metered = [response.tokens for response in self.responses if response.tokens]
        return sum(metered, TokenBreakdown()) if metered else None

    def cost(self) -> CostBreakdown:
        """Return the cost of all answers; not known as soon as that of one is not."""
        costs = [response.cost.total_usd for response in self.responses]
        known = [cost for cost in costs if cost is not None]
        sources = [response.cost.source for response in self.responses if response.cost.source]
        whole = bool(known) and len(known) == len(costs)
        return CostBreakdown(total_usd=sum(known) if whole else None, source=sources[-1] if sources else None)


@dataclass(frozen=True, kw_only=True)
class Hearing:
    """What came of asking."""

    verdicts: Sequence[Verdict]
    failure: str | None
    """Why there are not as many verdicts as were wanted; None: there are."""


async def hear(judge: JudgeProvider, request: JudgeRequest, rubric: Rubric, meter: Meter, *, repeats: int) -> Hearing:
    """Ask for so many verdicts. What is no verdict is asked for once more; after that the judge has failed."""
    verdicts: list[Verdict] = []
    for number in range(1, repeats + 1):
        try:
            verdicts.append(await _verdict(judge, request, rubric, meter))
        except (TrialError, NoVerdict) as exc:
            which = f" (verdict {number} of {repeats})" if repeats > 1 else ""
            return Hearing(verdicts=verdicts, failure=f"the judge {judge.id} failed{which}: {exc}")
    return Hearing(verdicts=verdicts, failure=None)


async def _verdict(judge: JudgeProvider, request: JudgeRequest, rubric: Rubric, meter: Meter) -> Verdict:
    try:
        return read_verdict(await _ask(judge, request, meter), rubric)
    except NoVerdict as exc:
        meter.refused += 1
        again = JudgeRequest(
            prompt=ask_again(request.prompt, str(exc)),
            model=request.model,
            max_output_tokens=request.max_output_tokens,
        )
    try:
        return read_verdict(await _ask(judge, again, meter), rubric)
    except NoVerdict as exc:
        meter.refused += 1
        raise NoVerdict(f"it gave no verdict, asked twice: {exc}") from exc


async def _ask(judge: JudgeProvider, request: JudgeRequest, meter: Meter) -> str:
    """Raises TrialError(`scorer`) where the judge does not answer."""
    meter.calls += 1
    try:
        response = _checked(await judge.judge(request))
    except NoAnswer as exc:
        meter.failed += 1
        meter.responses += [exc.spent] if exc.spent else []
        raise
    except TrialError:
        meter.failed += 1
        raise
    except Exception as exc:  # a judge may be anybody's code, and its bug must not cost the run
        meter.failed += 1
        raise TrialError("scorer", f"{type(exc).__name__}: {exc}") from exc
    meter.responses.append(response)
    return response.text


def _checked(response: object) -> JudgeResponse:
    """Refuse what is no response: it comes from somebody's own code. Raises TrialError."""
    if not isinstance(response, JudgeResponse):
        raise TrialError("scorer", f"it returned {type(response).__name__}, and not JudgeResponse")
    for name, kinds in (("text", str), ("tokens", TokenBreakdown | None), ("cost", CostBreakdown)):
        if not isinstance(value := getattr(response, name), kinds):
            raise TrialError("scorer", f"it returned a response whose {name} is {type(value).__name__}")
    return response
