"""Captures an agent inside of BenchFlow: an ordinary run, by the runner itself, whose folder is read at its end."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import anyio.to_thread

from benchflow.parity.capture import Capture, NotRun, Result, Setting
from benchflow.parity.reading import port_of, read_files, read_requests, read_stops, read_tools
from benchflow.row import ProfileRow
from benchflow.runner.lookup import look_up
from benchflow.runner.request import RunRequest
from benchflow.runner.run import RunResult, perform
from benchflow.sandbox.profile import INSIDE
from benchflow.scenario import Scenario
from benchflow.store import ACP_LOG, StoredRun
from benchflow.trace import build_trace
from benchflow.trajectories.trajectory import read_entries


async def run_inside(request: RunRequest, environ: Mapping[str, str], say: Callable[[str], None]) -> RunResult:
    """Run the request, whose workspaces must be kept, as `benchflow run` does."""
    return await perform(look_up(request, environ), say)


async def read_run(run: RunResult, scenarios: Iterable[Scenario]) -> dict[str, list[Capture | NotRun]]:
    """Return what was captured of each scenario, one for each repetition."""
    stored, known = StoredRun(run.run_dir), {scenario.id: scenario for scenario in scenarios}
    found: dict[str, list[Capture | NotRun]] = {name: [] for name in known}
    for row in stored.rows:
        folder = stored.trial(row.trial).try_folder()
        found[row.scenario_id].append(await anyio.to_thread.run_sync(_read, row, folder, known[row.scenario_id]))
    return found


def _read(row: ProfileRow, folder: Path, scenario: Scenario) -> Capture | NotRun:
    if row.score is None:
        return NotRun(where="inside", reason=row.error or row.completion_reason)
    trace = build_trace(folder)
    return Capture(
        where="inside",
        agent=row.agent,
        agent_digest=row.agent_digest,
        agent_version=row.agent_version,
        scenario=row.scenario_id,
        scenario_digest=row.scenario_digest,
        isolation=row.isolation,
        began=row.started_at,
        took_s=_took_s(row),
        setting=_setting(row, folder, scenario),
        requests=read_requests(folder),
        result=Result(
            score=row.score,
            success=row.success,
            stop_reasons=read_stops(trace),
            tools=read_tools(trace),
            files=read_files(folder / "workspace"),
        ),
    )


def _took_s(row: ProfileRow) -> float:
    """Seconds from the agent's launch to its end."""
    segments = row.timing.segments
    return round(sum(segments.get(name, 0.0) for name in ("session", "prompt", "stop")) / 1000, 3)


def _setting(row: ProfileRow, folder: Path, scenario: Scenario) -> Setting:
    """Return what was the trial's own. Its three folders stand side by side, but for where bubblewrap shows them."""
    workspace = _working_directory(folder)
    inside = replace(INSIDE, workspace=workspace)
    if row.isolation != "bubblewrap":
        beside = Path(workspace).parent
        inside = replace(inside, home=str(beside / "home"), tmp=str(beside / "tmp"))
    return Setting(
        workspace=inside.workspace,
        home=inside.home,
        tmp=inside.tmp,
        model=row.model,
        port=port_of(folder),
        prompts=tuple(scenario.prompts),
        day=row.started_at[:10],
    )


def _working_directory(folder: Path) -> str:
    """Return where the session was opened, as the agent was told."""
    for entry in read_entries(folder / ACP_LOG):
        frame = entry.get("frame")
        if isinstance(frame, dict) and frame.get("method") == "session/new":
            return str(frame["params"]["cwd"])
    return ""
