"""What a run runs: a provider, the modes that it runs in, and hooks that keep a diary of it."""

from pathlib import Path

from benchflow.contracts import (
    CostBreakdown,
    Event,
    ModeConfig,
    PromptMetrics,
    PromptResult,
    RunHooks,
    SessionFacts,
    SessionHandle,
    SessionTrace,
    TimingBreakdown,
    TokenBreakdown,
    ToolCallBreakdown,
    TraceSummary,
)

NO_CALLS = ToolCallBreakdown()


class VolumeResolver:
    """Knows the modes `loud` and `quiet`."""

    async def resolve(self, mode):
        volume = {"loud": "!", "quiet": "."}
        return ModeConfig(environment={"VOLUME": volume[mode]}, system_instructions=f"Be {mode}.")


class Diary(RunHooks):
    """Writes down what it is told, in `diary.txt`."""

    def __init__(self):
        self.path = Path("diary.txt").absolute()

    def note(self, line):
        with self.path.open("a") as file:
            file.write(f"{line}\n")

    async def before_run(self, context):
        self.note(f"run of {', '.join(context.modes)} on {', '.join(context.scenarios)}")

    async def before_mode(self, mode):
        self.note(f"mode {mode}")

    async def before_scenario(self, context):
        self.note(f"trial {context.scenario.id} {context.mode}")

    async def after_scenario(self, context):
        self.note(f"score {context.result.score}")

    async def after_mode(self, mode):
        self.note(f"end of {mode}")

    async def after_run(self, context, rows):
        self.note(f"{len(rows)} rows")


class EchoProvider:
    """Says what it is told, as loudly as its mode says, and writes `done.txt`."""

    id = "echo"
    capabilities = frozenset()

    def __init__(self):
        self.volume = ""
        self.sessions = {}

    async def init(self, config):
        self.volume = config.environment.get("VOLUME", "")

    async def create_session(self, params):
        self.sessions[params.trial] = (params, [])
        created = params.clock.now().ts
        return SessionHandle(session_id="echo-1", provider=self.id, created_at=created, trial=params.trial)

    async def prompt(self, handle, text, timeout_s=None):
        params, events = self.sessions[handle.trial]
        stamp = params.clock.now()
        events.append(
            Event(
                seq=len(events),
                ts=stamp.ts,
                mono_ms=stamp.mono_ms,
                type="prompt_begin",
                source="harness",
                session_id=handle.session_id,
                data={"index": 0, "text": text},
            )
        )
        (params.workspace.path / "done.txt").write_text("done\n")
        metrics = PromptMetrics(
            tokens=None,
            timing=TimingBreakdown(wall_ms=params.clock.now().mono_ms - stamp.mono_ms),
            tool_calls=NO_CALLS,
            cost=CostBreakdown(total_usd=None),
        )
        said = f"{params.system_instructions} {text}{self.volume}"
        return PromptResult(text=said, metrics=metrics, completion_reason="stop", stop_reason="end_turn")

    async def stop_session(self, handle):
        return self.sessions[handle.trial][0].workspace

    async def export_session(self, handle):
        summary = TraceSummary(total_turns=1, total_tool_calls=0, total_tokens=7, total_duration_ms=1.0)
        return SessionTrace(
            session_id=handle.session_id,
            events=self.sessions[handle.trial][1],
            turns=(),
            tool_calls=NO_CALLS,
            summary=summary,
        )

    def facts(self, handle):
        return SessionFacts(agent_version="1.0", tokens=TokenBreakdown.of(input=3, output=4))

    async def destroy_session(self, handle):
        del self.sessions[handle.trial]

    async def shutdown(self):
        assert not self.sessions
