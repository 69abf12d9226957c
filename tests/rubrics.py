"""For tests of judging: a rubric, answers that fit it, and judges that say what they are told."""

import json
from collections.abc import Sequence
from typing import Any

from benchflow.contracts import CostBreakdown, JudgeRequest, JudgeResponse, TokenBreakdown
from benchflow.judging.evidence import Evidence
from benchflow.scenario_file import Criterion, Rubric

RUBRIC = Rubric(
    criteria=(
        Criterion(id="right", description="Is it right?"),
        Criterion(id="neat", description="How neat is it?", kind="scale", weight=3.0),
    )
)
TOML = """\
[[rubric.criteria]]
id = "right"
description = "Is it right?"
[[rubric.criteria]]
id = "neat"
description = "How neat is it?"
kind = "scale"
weight = 3
"""
EVIDENCE = Evidence(task="Do it.", answer="Done.", changes="", trajectory="")


def said(right: Any = "pass", neat: Any = 5, **more: Any) -> str:
    """Return a judge's answer to the rubric."""
    opinions = {"right": right, "neat": neat, **more}
    return json.dumps({id: {"rationale": f"{id} is {value}", "verdict": value} for id, value in opinions.items()})


class ToldJudge:
    """A judge that gives these answers in order, and the last one for ever; an exception among them is raised."""

    id = "told"

    def __init__(self, *answers: str | Exception) -> None:
        self._answers: Sequence[str | Exception] = answers
        self.asked: list[JudgeRequest] = []

    async def judge(self, request: JudgeRequest) -> JudgeResponse:
        answer = self._answers[min(len(self.asked), len(self._answers) - 1)]
        self.asked.append(request)
        if isinstance(answer, Exception):
            raise answer
        tokens = TokenBreakdown.of(input=100, output=10)
        return JudgeResponse(text=answer, tokens=tokens, cost=CostBreakdown(total_usd=0.25, source="told"))
