import io
from pathlib import Path

import pytest
from rich.console import Console
from stored import make_row, make_unscored

from benchflow.contracts import CostBreakdown, Event, EventType, Limits
from benchflow.manifest import load_manifest
from benchflow.report.live import LiveProgress
from benchflow.report.progress import PlainProgress, describe_row, open_progress
from benchflow.runner.plan import Cell, Trial
from benchflow.scenario import find_scenarios

ACP = Path(__file__).parent.parent / "acp"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Hands:
    """A clock that is moved by hand."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def make_trial(iteration: int = 0, timeout_s: float | None = 60) -> Trial:
    cell = Cell(
        agent=load_manifest(ACP / "mini"),
        model="gpt-x",
        upstream="oracle",
        scenario=find_scenarios(["fix-failing-test"])[0],
        limits=Limits(timeout_s=timeout_s),
        sandbox="process",
    )
    return Trial(cell=cell, iteration=iteration)


def happened(type: EventType, **data: object) -> Event:
    return Event(seq=0, ts="", mono_ms=0, type=type, source="acp", session_id="s", data=data)


def seen(progress: LiveProgress, width: int = 80, height: int = 25) -> list[str]:
    """What the live view shows now."""
    output = io.StringIO()
    Console(file=output, width=width, height=height).print(progress)
    return [line.rstrip() for line in output.getvalue().splitlines()]


def test_without_a_terminal_there_is_one_plain_line_as_each_trial_ends() -> None:
    output = io.StringIO()

    with open_progress(2, stream=output) as progress:
        progress.trial_started(make_trial())
        progress.trial_event(make_trial(), happened("agent_message", text="hello"))
        assert output.getvalue() == ""
        progress.trial_ended(make_row())
        progress.trial_ended(make_unscored(error="broke \x1b[2J"))

    assert output.getvalue() == (
        "[1/2] fix #1 mini: pass 1.00 (3/3 checks), 4 turns, 1.23s, cost $0.0123\n"
        "[2/2] fix #1 mini: unscored (upstream), 4 turns, 1.23s - broke\n"
    )


def test_a_dumb_terminal_gets_plain_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")

    with open_progress(1, stream=Terminal()) as progress:
        assert isinstance(progress, PlainProgress)


def test_a_live_view_leaves_a_line_of_each_trial_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    terminal = Terminal()

    with open_progress(1, stream=terminal) as progress:
        progress.trial_started(make_trial())
        progress.trial_ended(make_row(trial=make_trial().key))

    assert describe_row(make_row()) in terminal.getvalue()
    assert "\x1b[32m" not in terminal.getvalue()


def test_a_live_view_says_what_each_trial_does_now() -> None:
    clock = Hands()
    progress = LiveProgress(3, Terminal(), clock)
    trial, other = make_trial(), make_trial(1, timeout_s=None)
    progress.trial_started(trial)
    clock.now_s += 5
    progress.trial_started(other)
    clock.now_s += 7.5

    assert seen(progress) == [
        "0 of 3 ended",
        "fix-failing-test #1 mini   12.5s of 1m00s  0 turns   starts",
        "fix-failing-test #2 mini            7.50s  0 turns   starts",
    ]

    progress.trial_event(trial, happened("tool_call", id="1", title="pytest \x1b[31m-q", status="pending"))
    progress.trial_event(trial, happened("turn_end", cost_usd=0.5))
    progress.trial_event(other, happened("agent_message", text="I am looking\nat it"))
    assert [line[43:] for line in seen(progress)[1:]] == [
        "1 turn    runs: pytest -q",
        "0 turns   says: I am looking at it",
    ]
    assert seen(progress)[0] == "0 of 3 ended · cost $0.500"


def test_a_live_view_says_the_time_left_and_the_cost_so_far() -> None:
    clock = Hands()
    progress = LiveProgress(4, Terminal(), clock)
    trial = make_trial()
    progress.trial_started(trial)
    progress.trial_event(trial, happened("turn_end", cost_usd=0.5))
    clock.now_s += 10
    progress.trial_ended(make_row(trial=trial.key, cost=CostBreakdown(total_usd=0.25)))

    assert seen(progress) == ["1 of 4 ended (1 pass) · cost $0.250 · about 30.0s left"]


def test_a_live_view_fits_its_terminal() -> None:
    progress = LiveProgress(50, Terminal(), Hands())
    for iteration in range(50):
        progress.trial_started(make_trial(iteration))

    shown = seen(progress, height=10)

    assert len(shown) <= 10
    assert shown[-1] == "and 43 more"


@pytest.mark.parametrize(
    ("event", "doing"),
    [
        (happened("prompt_begin", index=0, text="x"), "reads the prompt"),
        (happened("turn_begin", turn=0), "waits for the model"),
        (happened("agent_thought", text="x"), "thinks"),
        (happened("tool_call_update", id="1", title="ls", status="failed"), "failed: ls"),
        (happened("permission", title="rm x", kind="edit"), "runs: rm x"),
        (happened("permission", title=None, kind="edit"), "starts"),
        (happened("prompt_end", index=0), "ended its turn"),
        (happened("usage", used=1), "starts"),
    ],
)
def test_events_are_told_in_a_few_words(event: Event, doing: str) -> None:
    progress = LiveProgress(1, Terminal(), Hands())
    trial = make_trial()
    progress.trial_started(trial)

    progress.trial_event(trial, event)

    assert seen(progress)[1].endswith(doing)
