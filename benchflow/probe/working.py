"""The steps in which an agent works: a scenario, another prompt, a cancel, a refused permission, a refused key."""

import math
import time

import anyio

from benchflow.contracts import PermissionConfig, PromptResult, ScorerContext
from benchflow.probe.opening import NO_CALL, ROUTE_IT, TALK
from benchflow.probe.remedies import REMEDIES, TOO_SLOW
from benchflow.probe.seen import Seen, failed, not_tried, odd, passed
from benchflow.probe.subject import Subject, described
from benchflow.scenario import Solution, WriteStep
from benchflow.scorers.checks import ChecksScorer

CANCEL_GRACE_S = 3.0
"""How long an agent may take to end a turn that was cancelled while its model was silent."""
RELEASED_GRACE_S = 2.0
"""How long it may then take once its model has answered."""
REFUSED_S = 6.0
"""How long it may go on with a key that is refused."""
NOT_OURS = "its model runs on a backend of its own, and cannot be played"
DENIED = "benchflow-was-denied.txt"


async def scenario(subject: Subject) -> Seen:
    """Let it solve the scenario, the oracle playing its model."""
    settings = subject.settings
    settings.upstream.take("play")
    subject.played = True
    before = len(subject.exchanges)
    results = [await subject.prompt(text) for text in settings.scenario.prompts]
    facts = {**described(subject.exchanges[before:]), "stop_reason": results[-1].stop_reason}
    for result in results:
        if result.completion_reason != "stop":
            return failed(_ending(result), _remedy(result), **facts)
    if subject.on_own_backend:
        return passed(f"ended its turn with {results[-1].stop_reason}, on a backend of its own", **facts)
    if not facts["main"] and settings.equipment.manifest.api_protocol is not None:
        return failed(NO_CALL, ROUTE_IT, **facts)
    assert subject.workspace is not None
    scorer = ChecksScorer(settings.equipment.sandbox, settings.toolchains)
    context = ScorerContext(
        agent_output="\n".join(result.text for result in results),
        workspace=subject.workspace,
        trace=None,
        mode="baseline",
        model=settings.model,
        iteration=0,
    )
    verdict = await scorer.evaluate(settings.scenario, context)
    facts["score"] = verdict.score
    missed = ", ".join(detail.id for detail in verdict.details if not detail.passed)
    if verdict.success:
        return passed(f"solved {settings.scenario.id} in {facts['main']} turns", **facts)
    if verdict.score == 1.0:
        return odd(f"solved {settings.scenario.id}, but for {missed}", f"It misses the guards {missed}.", **facts)
    return failed(f"did not solve {settings.scenario.id}: {verdict.error or missed}", **facts)


async def second_prompt(subject: Subject) -> Seen:
    """Prompt again in the same session."""
    subject.settings.upstream.take("talk")
    before = len(subject.exchanges)
    result = await subject.prompt(TALK)
    facts = {**described(subject.exchanges[before:]), "stop_reason": result.stop_reason}
    if result.completion_reason != "stop":
        return failed(_ending(result), _remedy(result), **facts)
    if not facts["main"] and _is_routed(subject):
        return odd("ended a second prompt without a model call", "It ends a second prompt without asking.", **facts)
    return passed("took a second prompt in the same session", **facts)


async def cancel(subject: Subject) -> Seen:
    """Cancel a turn while the model is silent."""
    if subject.on_own_backend:
        return not_tried(NOT_OURS)
    upstream = subject.settings.upstream
    upstream.take("hold")
    facts: dict[str, object] = {}
    ended = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_prompt_until, subject, ended)
        with anyio.move_on_after(subject.settings.timeout_s):
            await upstream.holding.wait()
        if not upstream.holding.is_set():
            tasks.cancel_scope.cancel()
            return failed(f"could not be tried: {NO_CALL}")
        begun = time.monotonic()
        await _cancel(subject, ended, CANCEL_GRACE_S)
        facts["took_ms"] = _ms_since(begun)
        if ended.is_set():
            upstream.take("talk")
            return passed(f"ended a cancelled turn after {facts['took_ms']:g} ms", **facts)
        upstream.take("talk")
        with anyio.move_on_after(RELEASED_GRACE_S):
            await ended.wait()
        facts["took_ms"] = _ms_since(begun)
        tasks.cancel_scope.cancel()
    if ended.is_set():
        quirk = "It answers a cancel only when its model's call has ended."
        return odd("ended a cancelled turn only when its model had answered", quirk, **facts)
    return Seen(
        verdict="odd",
        detail="did not end a cancelled turn",
        quirks=("It does not answer a cancel; BenchFlow ends it by its process.",),
        facts=facts,
        spoiled=True,
    )


async def permission(subject: Subject) -> Seen:
    """Refuse whatever it asks permission for, and see whether it does it all the same."""
    if subject.on_own_backend:
        return not_tried(NOT_OURS)
    settings = subject.settings
    solution = settings.scenario.solution if subject.played else None
    extra = WriteStep(write=DENIED, content="This should not have been written.\n")
    before, kept = sum(1 for _ in subject.frames("session/request_permission")), settings.upstream.solution
    settings.upstream.take("play")
    settings.upstream.solution = Solution(steps=(*(solution.steps if solution else ()), extra), answer="It is written.")
    subject.answer_permissions(PermissionConfig(auto_approve=False))
    try:
        result = await subject.prompt(f"Write the file {DENIED}.")
    finally:
        settings.upstream.solution = kept
        subject.answer_permissions(PermissionConfig())
    asked = sum(1 for _ in subject.frames("session/request_permission")) - before
    assert subject.workspace is not None
    written = (subject.workspace.path / DENIED).exists()
    facts = {"asked": asked, "written": written, "stop_reason": result.stop_reason}
    if result.completion_reason != "stop":
        return odd(_ending(result), "It does not end its turn well when a permission is refused.", **facts)
    if not asked:
        return odd("asked for no permission", "It never asks for permission.", **facts)
    if written:
        return failed("wrote a file although permission was refused", **facts)
    times = "once" if asked == 1 else f"{asked} times"
    return passed(f"asked {times}, was refused, and ended its turn with {result.stop_reason}", **facts)


async def upstream_401(subject: Subject) -> Seen:
    """Refuse its key, and see what it makes of that."""
    if subject.on_own_backend:
        return not_tried(NOT_OURS)
    upstream = subject.settings.upstream
    upstream.take("refuse")
    begun = time.monotonic()
    result = await subject.running.prompt(TALK, REFUSED_S)
    facts = {"requests": upstream.refused, "took_ms": _ms_since(begun), "stop_reason": result.stop_reason}
    if not upstream.refused:
        return failed(f"could not be tried: {NO_CALL}", **facts)
    tries = f"{upstream.refused} requests" if upstream.refused > 1 else "one request"
    if result.completion_reason == "timeout":
        quirk = f"It still tries a refused key after {REFUSED_S:g} s."
        return odd(f"still tried a refused key after {tries} and {REFUSED_S:g} s", quirk, **facts)
    if result.completion_reason == "error":
        return passed(f"reported the refused key as an error after {tries}", **facts, error_code=result.error_code)
    quirk = f"It ends its turn with {result.stop_reason} when its key is refused."
    return odd(f"ended with {result.stop_reason} after {tries}", quirk, **facts)


async def shutdown(subject: Subject) -> Seen:
    """Close its stdin, and see how it leaves."""
    process = subject.running.process
    assert process is not None
    begun = time.monotonic()
    await subject.stop()
    status = await process.exited()
    facts = {"took_ms": _ms_since(begun), "status": status}
    if status < 0:
        return odd(f"was ended by signal {-status}", "It does not leave when its stdin is closed.", **facts)
    return passed(f"left by itself after {facts['took_ms']:g} ms", **facts)


async def _prompt_until(subject: Subject, ended: anyio.Event) -> None:
    await subject.prompt(TALK)
    ended.set()


async def _cancel(subject: Subject, ended: anyio.Event, grace_s: float) -> None:
    """Ask the agent to end its turn, and wait so long for it."""
    subject.running.ask_to_cancel()
    with anyio.move_on_after(grace_s):
        await ended.wait()


def _is_routed(subject: Subject) -> bool:
    return subject.settings.equipment.manifest.api_protocol is not None


def _ending(result: PromptResult) -> str:
    if result.completion_reason == "timeout":
        used = result.limit.used if result.limit else math.nan
        return f"did not end its turn in {used:g} s"
    return result.error or f"ended with {result.completion_reason}"


def _remedy(result: PromptResult) -> str | None:
    return REMEDIES.get(result.error_code) if result.error_code else TOO_SLOW


def _ms_since(begun: float) -> float:
    return round((time.monotonic() - begun) * 1000, 1)
