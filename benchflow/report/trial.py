"""One trial as `benchflow show` tells it: its verdict, its checks, and its turns with their tool calls. Values only."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from benchflow.contracts import Event, TokenBreakdown
from benchflow.gateway.message import Exchange
from benchflow.report.certificate import CertificateView, view_certificate
from benchflow.row import ProfileRow
from benchflow.store import StoredRun, StoredTrial, read_result
from benchflow.trace import find_tool_calls
from benchflow.trajectories.output import output_text
from benchflow.trajectories.tools import ToolCall
from benchflow.trajectories.trajectory import Trajectory

State = Literal["running", "ended", "interrupted"]


@dataclass(frozen=True, kw_only=True)
class CallView:
    """A tool call with what went in and what came out."""

    id: str
    name: str
    title: str
    kind: str
    status: str
    ms: float | None
    input: Any
    """As the agent showed it, else as the model asked for it."""
    output: str
    output_source: Literal["acp", "gateway"] | None
    """`acp`: the agent showed it; `gateway`: it was sent to the model; None: there is none."""


@dataclass(frozen=True, kw_only=True)
class TurnView:
    """A turn: what the model said, and what came of the calls that it asked for."""

    index: int
    exchange: str
    began_ms: float
    duration_ms: float
    tokens: TokenBreakdown | None
    text: str
    thought: str
    calls: Sequence[CallView]
    not_shown: Sequence[str]
    """Tools that the model called and the agent never showed over ACP."""


@dataclass(frozen=True, kw_only=True)
class TrialView:
    """All that is shown of a trial."""

    run_id: str
    trial: str
    folder: Path
    attempt: int
    tries: Sequence[int]
    state: State
    workspace: Path | None
    """Where the workspace was kept; None: it was not."""
    row: ProfileRow | None
    certificate: CertificateView | None
    """That its model requests were sent on as they came; None: there is none."""
    prompts: Sequence[str]
    turns: Sequence[TurnView]
    other_calls: Sequence[CallView]
    """Calls that no turn asked for: the agent's own doing, or of a session whose exchanges the gateway did not see."""
    messages: Sequence[str]
    """What the agent said over ACP, where there are no turns to show it."""
    errors: Sequence[str]


def view_trial(run: StoredRun, trial: StoredTrial, attempt: int | None = None) -> TrialView:
    """Read a try: the one that the trial's row tells of, if none is named. Raises InputError if there is none."""
    folder = trial.try_folder(attempt)
    number = attempt or trial.told
    trajectory = Trajectory(folder)
    events = list(trajectory.events())
    calls = find_tool_calls(events, trajectory.exchanges)
    turns = [_turn(exchange, calls, trajectory) for exchange in trajectory.exchanges if exchange.turn is not None]
    shown = {turn.exchange for turn in turns}
    result = read_result(folder)
    workspace = folder / "workspace"
    row = (trial.row if number == trial.told else None) or result
    return TrialView(
        run_id=run.id,
        trial=trial.key,
        folder=folder,
        attempt=number,
        tries=trial.tries,
        state="ended" if row else "running" if run.is_running else "interrupted",
        workspace=workspace if workspace.is_dir() else None,
        row=row,
        certificate=view_certificate(row, folder),
        prompts=[str(event.data["text"]) for event in events if event.type == "prompt_begin"],
        turns=turns,
        other_calls=[view_call(call, trajectory) for call in calls if call.exchange not in shown],
        messages=[] if turns else _messages(events),
        errors=[_error(event) for event in events if event.type == "error" or event.data.get("error")],
    )


def _turn(exchange: Exchange, calls: Iterable[ToolCall], trajectory: Trajectory) -> TurnView:
    asked = Counter(call.name for call in exchange.answer.tool_calls)
    own = [call for call in calls if call.exchange == exchange.id]
    return TurnView(
        index=exchange.turn or 0,
        exchange=exchange.id,
        began_ms=exchange.mono_ms,
        duration_ms=exchange.latency_ms,
        tokens=exchange.tokens,
        text=exchange.answer.text,
        thought=exchange.answer.thought,
        calls=[view_call(call, trajectory) for call in own],
        not_shown=sorted((asked - Counter(call.name for call in own)).elements()),
    )


def view_call(call: ToolCall, trajectory: Trajectory) -> CallView:
    """Join what the agent showed of a tool call with what the model was told of it."""
    record = call.record()
    shown = output_text(call)
    result = None if shown else trajectory.results.get(call.exchange or "", {}).get(call.asked_id)
    return CallView(
        id=call.id,
        name=record.name,
        title=call.title,
        kind=call.kind,
        status=call.status,
        ms=record.ms,
        input=call.raw_input,
        output=result.text if result else shown,
        output_source="gateway" if result else "acp" if shown else None,
    )


def _messages(events: Iterable[Event]) -> list[str]:
    """The agent's messages, their chunks joined: anything else that happens begins a new one."""
    messages: list[str] = []
    joined = False
    for event in events:
        if event.type != "agent_message":
            joined = joined and event.type in ("usage", "notice", "unknown")
            continue
        text = str(event.data.get("text", ""))
        if joined:
            messages[-1] += text
        else:
            messages.append(text)
        joined = True
    return messages


def _error(event: Event) -> str:
    return str(event.data.get("message") or event.data.get("error"))
