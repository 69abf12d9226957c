"""What judges: a scorer, and a judge for rubrics."""

import json
import re

from benchflow.contracts import CostBreakdown, JudgeResponse, ScorerCheckResult, ScorerResult


class HalfScorer:
    """Gives half a point for a word that was asked for, and half for its file."""

    id = "half"

    async def evaluate(self, scenario, context):
        checks = (
            ScorerCheckResult(id="file", description="the file is there", passed=context.workspace.is_file("done.txt")),
            ScorerCheckResult(id="loud", description="it was said loudly", passed="!" in context.agent_output),
        )
        passed = sum(check.passed for check in checks)
        return ScorerResult(success=passed == 2, passed=passed, total=2, details=checks, score=passed / 2)


class GenerousJudge:
    """Passes whatever it is asked about."""

    id = "generous"

    async def judge(self, request):
        ids = re.findall(r"task-success|trajectory-efficiency", request.prompt)
        kinds = {"task-success": "pass", "trajectory-efficiency": 5}
        verdicts = {id: {"rationale": "As good as any.", "verdict": kinds[id]} for id in dict.fromkeys(ids)}
        return JudgeResponse(text=json.dumps(verdicts), tokens=None, cost=CostBreakdown(total_usd=None))
