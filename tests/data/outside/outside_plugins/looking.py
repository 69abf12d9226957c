"""What looks at trials that have ended: a collector and an analyzer."""

from benchflow.contracts import AnalysisResult, CustomMetric, NumberFinding


class FilesCollector:
    """Counts the checks, and the characters of the prompt."""

    id = "outside-files"

    async def collect(self, result, scenario, mode, *, trace=None):
        return [
            CustomMetric(name="outside.checks", value=result.checks_total, unit="checks"),
            CustomMetric(name="outside.asked", value=len(scenario.prompts[0]), unit="characters"),
        ]


class PromptsAnalyzer:
    """Counts the prompts that were sent."""

    name = "outside-prompts"

    async def analyze(self, trace, scenario, mode):
        prompts = sum(event.type == "prompt_begin" for event in trace.events)
        findings = [NumberFinding(name="prompts", value=prompts)]
        return AnalysisResult(analyzer=self.name, findings=findings, summary=f"{prompts} prompts in {mode}")
