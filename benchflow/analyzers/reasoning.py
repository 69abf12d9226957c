"""How much an agent reasons, whether it thinks before it acts, and where it says that it is confused."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

from benchflow.analyzers.excerpts import counted, excerpt
from benchflow.behaviour.steps import Step, Steps, read_steps
from benchflow.contracts import (
    AnalysisResult,
    Finding,
    ListFinding,
    NumberFinding,
    RatioFinding,
    SessionTrace,
    StringFinding,
)

if TYPE_CHECKING:
    from benchflow.scenario import Scenario

PlanningQuality = Literal["proactive", "reactive", "mixed", "none"]

_DELIBERATE = 40
"""Characters of thought or text from which on they count as thinking before acting: about one sentence."""
_DECISIONS, _DECISION_LENGTH = 20, 80
_SIGNALS, _SIGNAL_LENGTH = 20, 120
_BEFORE = 40
"""Characters that are shown before a sign of confusion."""
_PHRASES = (
    *("confused", "confusing", "unclear", "not sure", "unsure", "do not understand", "don't understand"),
    *("does not make sense", "doesn't make sense", "puzzled", "puzzling", "strange", "weird", "unexpected"),
    *("my mistake", "i was wrong", "i misunderstood", "i misread", "no idea why", "hmm", "wait,"),
    *("that's odd", "that's wrong", "that's not right"),
)
"""By which an agent says that it is confused, in English."""
_CONFUSION = re.compile(r"\b(?:" + "|".join(map(re.escape, _PHRASES)) + ")")


class ReasoningAnalyzer:
    """Reasoning density, planning quality, key decisions, signs of confusion."""

    name = "reasoning"

    async def analyze(self, trace: SessionTrace, scenario: "Scenario", mode: str) -> AnalysisResult:
        """Judge what the agent thought and said; its tokens where the provider counts them, else its characters."""
        steps = read_steps(trace)
        planning, planned = planning_quality(steps.steps)
        signals = list(_confusion(steps.steps))
        findings: list[Finding] = [
            *_density(steps),
            StringFinding(name="planning_quality", value=planning, source="derived"),
            planned,
            *_plan(trace),
            ListFinding(name="key_decisions", items=_decisions(steps.steps), source=steps.source),
            NumberFinding(name="confusion_count", value=len(signals), unit="signals", source="derived"),
            ListFinding(name="confusion_signals", items=signals[:_SIGNALS], source="derived"),
        ]
        return AnalysisResult(analyzer=self.name, findings=findings, summary=_summary(planning, planned, len(signals)))


def planning_quality(steps: Sequence[Step]) -> tuple[PlanningQuality, RatioFinding]:
    """Say whether the agent thinks before it acts.

    A step that calls tools is planned if it, or a step without calls since the last one with calls, announces a plan or
    has 40 characters or more of thought and text. `proactive`: the first of them is planned, and at least two thirds of
    all. `reactive`: the first is not, and at most a third of all. Else `mixed`; without any call `none`.
    """
    planned: list[bool] = []
    pending = False
    for step in steps:
        pending = pending or bool(step.plans) or len(step.thought.strip()) + len(step.text.strip()) >= _DELIBERATE
        if step.calls:
            planned.append(pending)
            pending = False
    ratio = RatioFinding(name="planned_steps", numerator=sum(planned), denominator=len(planned), source="derived")
    share = ratio.value
    if share is None:
        return "none", ratio
    if planned[0] and share >= 2 / 3:
        return "proactive", ratio
    return ("reactive" if not planned[0] and share <= 1 / 3 else "mixed"), ratio


def _density(steps: Steps) -> Iterator[Finding]:
    """Reasoning tokens of the turns; not known where the agent thinks and its provider does not count that apart."""
    metered = [step.tokens for step in steps.steps if step.tokens]
    thought = sum(len(step.thought) for step in steps.steps)
    said = sum(len(step.text) for step in steps.steps)
    reasoning = sum(tokens.reasoning for tokens in metered)
    known = bool(metered) and bool(reasoning or not thought)
    ratios = {
        "reasoning_density": sum(tokens.total for tokens in metered),
        "reasoning_share_of_output": sum(tokens.output for tokens in metered),
        "reasoning_per_tool_call": len(steps.calls),
    }
    for name, denominator in ratios.items():
        yield RatioFinding(
            name=name,
            numerator=reasoning if known else None,
            denominator=denominator if known else None,
            source="gateway" if known else "",
        )
    source = "gateway" if steps.source == "gateway" else "acp"
    yield RatioFinding(name="thought_share", numerator=thought, denominator=thought + said, source=source)


def _plan(trace: SessionTrace) -> Iterator[Finding]:
    """How often the agent changed its plan over ACP, and how much of the last one it had completed."""
    plans = [event.data.get("entries") for event in trace.events if event.type == "plan"]
    last = plans[-1] if plans and isinstance(plans[-1], list) else []
    entries = [entry for entry in last if isinstance(entry, dict)]
    completed = sum(entry.get("status") == "completed" for entry in entries)
    yield NumberFinding(name="plan_updates", value=len(plans), unit="updates", source="acp")
    yield RatioFinding(name="plan_completed", numerator=completed, denominator=len(entries), source="acp")


def _decisions(steps: Sequence[Step]) -> list[str]:
    """The beginnings of the first twenty thoughts."""
    thoughts = [step.thought for step in steps if step.thought.strip()]
    return [excerpt(thought, _DECISION_LENGTH) for thought in thoughts[:_DECISIONS]]


def _confusion(steps: Sequence[Step]) -> Iterator[str]:
    """Every sign of confusion in thoughts and texts, by a closed list of English phrases, with what is around it."""
    for text in (text for step in steps for text in (step.thought, step.text) if text):
        plain = text.lower().replace("\u2019", "'")
        if not any(map(plain.__contains__, _PHRASES)):
            continue  # many times as fast as to search for them
        for found in _CONFUSION.finditer(plain):
            start = max(0, found.start() - _BEFORE)
            yield excerpt(("…" if start else "") + text[start : found.start() + _SIGNAL_LENGTH], _SIGNAL_LENGTH)


def _summary(planning: PlanningQuality, planned: RatioFinding, signals: int) -> str:
    if planning == "none":
        return f"no tool call to plan; {counted(signals, 'sign')} of confusion"
    share = f"{planned.numerator} of {counted(int(planned.denominator or 0), 'step')} with calls planned"
    return f"{planning}: {share}; {counted(signals, 'sign')} of confusion"
