"""One trial on a terminal: why it ended as it did, what the checks saw, and what happened in its turns."""

import os
import shlex
from collections.abc import Iterator, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import orjson
from rich.text import Text

from benchflow.contracts import ScorerCheckResult
from benchflow.judging.account import judge_of
from benchflow.report import numbers
from benchflow.report.analysis import AnalysisLine, analysis_lines
from benchflow.report.certificate import describe_certificate
from benchflow.report.console import STYLES, headline
from benchflow.report.text import block, head, one_line, tail
from benchflow.report.trial import CallView, TrialView, TurnView
from benchflow.report.verdict import UNTRUSTED, describe_limit, is_played, judge
from benchflow.row import ProfileRow

if TYPE_CHECKING:
    from rich.console import Console

_ACTUAL_LINES = 20
_OUTPUT_LINES = 12
_TEXT_LINES = 12
_INPUT_LINES = 8
_LONGEST_INPUT = 2_000


def print_trial(console: "Console", view: TrialView, argument: str, *, turns: bool = True) -> None:
    """Print a trial, with or without its turns. `argument` is what names run and trial on a command line."""
    _print_verdict(console, view)
    if view.row:
        _print_checks(console, view.row.check_details)
        _print_analyses(console, analysis_lines(view.row.extensions))
    if turns:
        _print_turns(console, view)
    _print_paths(console, view, argument)


def _print_verdict(console: "Console", view: TrialView) -> None:
    row = view.row
    console.print(one_line(view.trial), style="bold", soft_wrap=True)
    if row is None:
        why = "it runs" if view.state == "running" else "BenchFlow was ended before it could say how the trial ended"
        console.print(f"no result: {why}", style="yellow")
        return
    verdict = judge(row)
    console.print(headline(row), soft_wrap=True)
    line = Text(verdict.label, STYLES[verdict.word])
    checks = f"{row.checks_passed} of {numbers.plural(row.checks_total, 'check')} passed"
    console.print(
        line.append(f" · score {numbers.score(row.score)}{'' if row.success is None else f' · {checks}'}", "")
    )
    console.print(_figures(row))
    for text in (f"ended: {_ending(row)}", _requests(row), _certificate(view), _times(row), _hosts(row), _judge(row)):
        if text:
            console.print(fill(text, console.width, subsequent_indent="     "))
    if verdict.reason:
        console.print(fill(f"why: {verdict.reason}", console.width, subsequent_indent="     "))
    if row.isolation == "process":
        console.print(fill(UNTRUSTED, console.width), style="yellow")


def _figures(row: ProfileRow) -> str:
    return " · ".join(
        [
            numbers.plural(row.agent_turns, "turn"),
            numbers.plural(row.tool_calls.total, "tool call"),
            f"tokens {numbers.in_out(row.tokens)}",
            f"cost {numbers.cost(row.cost.total_usd, bought=not is_played(row.upstream))}",
            f"wall {numbers.duration(row.timing.wall_ms)}",
        ]
    )


def _ending(row: ProfileRow) -> str:
    parts = [f"{row.completion_reason}{f' ({row.error_code})' if row.error_code else ''}"]
    if row.stop_reason:
        parts.append(f"the agent's stop reason: {one_line(row.stop_reason)}")
    if row.limit:
        parts.append(describe_limit(row.limit) + (", and the agent wrapped up" if row.wrapped_up else ""))
    if discarded := (row.extensions.get("budgets") or {}).get("discarded"):
        parts.append(f"{numbers.plural(discarded, 'path')} that were changed after it were put back")
    return "; ".join(parts)


def _requests(row: ProfileRow) -> str:
    counts = row.exchanges
    return f"model requests: {counts.main} main, {counts.auxiliary} auxiliary; {counts.failed} failed at the upstream"


def _certificate(view: TrialView) -> str:
    """What became of its model requests on the way, and whether the log still says so."""
    if view.certificate is None:
        return ""
    verdicts = {
        "holds": "the log says the same",
        "broken": "THE LOG SAYS SOMETHING ELSE: one of the two was changed",
        "no log": "there is no log to check it against",
    }
    said = describe_certificate(view.certificate.certificate)
    return f"certificate: {said} ({verdicts[view.certificate.verdict]})"


def _times(row: ProfileRow) -> str:
    """The stages of the trial, without those that took no time to speak of."""
    segments = row.timing.segments
    shown = [f"{one_line(name)} {numbers.duration(ms)}" for name, ms in segments.items() if ms >= 1]
    return f"times: {', '.join(shown)}" if shown else ""


def _hosts(row: ProfileRow) -> str:
    """The hosts that the agent tried to reach beside the gateway, as far as that could be seen."""
    network = row.extensions.get("network") or {}
    told = {"looked up, in vain": row.extensions.get("hosts_looked_up"), **network}
    names = {what: told.get(what) for what in ("passed", "refused", "looked up, in vain")}
    shown = [f"{what}: {', '.join(map(one_line, found))}" for what, found in names.items() if found]
    return f"hosts {'; '.join(shown)}" if shown else ""


def _judge(row: ProfileRow) -> str:
    """What the judge of a rubric took, and how far it agrees with itself. None of it is in the trial's own figures."""
    account = judge_of(row)
    if account is None:
        return ""
    parts = [
        one_line(account.judge),
        numbers.plural(account.verdicts, "verdict"),
        numbers.plural(account.calls, "call"),
        f"tokens {numbers.in_out(account.tokens)}",
        f"cost {numbers.cost(account.cost_usd, bought=account.bought)}",
    ]
    if account.agreement is not None:
        parts.append(f"agrees with itself {account.agreement:.2f}")
    return f"judge: {' · '.join(parts)}"


def _print_checks(console: "Console", checks: Sequence[ScorerCheckResult]) -> None:
    if checks:
        console.print("\nchecks", style="bold")
    for check in checks:
        word, style = ("ok  ", "green") if check.passed else ("FAIL", "red")
        name = block(one_line(f"{check.id}: {check.description}"), "       ", console.width)
        console.print(Text(f"  {word} ", style).append(name[7:], "default"))
        if check.rationale is not None:
            said = f"{check.actual}: {check.rationale}" if check.actual else check.rationale
            console.print(Text(block(head(said, _TEXT_LINES), "       ", console.width), "dim"))
        if check.passed or check.rationale is not None:
            continue
        for name, text in (("error", check.error), ("expected", check.expected), ("actual", check.actual)):
            if text is not None:
                console.print(Text(f"       {name}", "dim"))
                console.print(Text(block(tail(text, _ACTUAL_LINES), "         ", console.width)))


def _print_analyses(console: "Console", lines: Sequence[AnalysisLine]) -> None:
    if lines:
        console.print("\nanalysis", style="bold")
    for line in lines:
        text = block(one_line(f"{line.analyzer}: {line.summary}"), "    ", console.width)
        console.print(Text(f"  {text[4:]}"))


def _print_turns(console: "Console", view: TrialView) -> None:
    for prompt in view.prompts:
        console.print("\nprompt", style="bold")
        console.print(Text(block(head(prompt, _TEXT_LINES), "  ", console.width)))
    for turn in view.turns:
        _print_turn(console, turn)
    if view.messages:
        console.print("\nmessages of the agent", style="bold")
        for message in view.messages:
            console.print(Text(block(head(message, _TEXT_LINES), "  ", console.width)))
    if view.other_calls:
        console.print("\ntool calls that no captured exchange asked for", style="bold")
        for call in view.other_calls:
            _print_call(console, call)
    if view.errors:
        console.print("\nerrors", style="bold")
        for error in view.errors:
            console.print(Text(block(head(error, _TEXT_LINES), "  ", console.width), "yellow"))


def _print_turn(console: "Console", turn: TurnView) -> None:
    line = Text(f"\nturn {turn.index + 1}", "bold")
    console.print(line.append(f"  {numbers.duration(turn.duration_ms)}  {numbers.in_out(turn.tokens)}", "not bold dim"))
    if turn.thought.strip():
        console.print(Text(block(head(turn.thought, _TEXT_LINES), "  ", console.width), "dim italic"))
    if turn.text.strip():
        console.print(Text(block(head(turn.text, _TEXT_LINES), "  ", console.width)))
    for call in turn.calls:
        _print_call(console, call)
    if turn.not_shown:
        names = ", ".join(one_line(name) for name in turn.not_shown)
        console.print(Text(f"  called, and never shown by the agent: {names}", "yellow"))


def _print_call(console: "Console", call: CallView) -> None:
    styles = {"completed": "green", "failed": "red"}
    line = Text("  > ").append(one_line(call.name, 40), "bold")
    if call.title and call.title != call.name and not _is_in(call.title, call.input):
        line.append(f" {one_line(call.title, 80)}")
    line.append(f"  {call.status}", styles.get(call.status, "yellow"))
    line.append(f" {numbers.duration(call.ms)}" if call.ms is not None else " (never closed)", "dim")
    console.print(line)
    for text in _input_texts(call.input):
        console.print(Text(block(head(text, _INPUT_LINES), "      ", console.width), "cyan"))
    if call.output_source == "gateway":
        console.print(Text("    the agent did not show its output; the model got:", "dim"))
    if call.output.strip():
        console.print(Text(block(tail(call.output, _OUTPUT_LINES), "    | ", console.width), "dim"))


def _is_in(title: str, given: Any) -> bool:
    """Many agents make the title of what the call is given."""
    return isinstance(given, dict) and any(isinstance(value, str) and title in value for value in given.values())


def _input_texts(given: Any) -> Iterator[str]:
    """What a call was given, a text for each argument."""
    if isinstance(given, dict):
        for name, value in given.items():
            text = value if isinstance(value, str) else orjson.dumps(value).decode()
            yield f"{name}: {text[:_LONGEST_INPUT]}{'…' if len(text) > _LONGEST_INPUT else ''}"
    elif given is not None:
        yield given if isinstance(given, str) else orjson.dumps(given).decode()


def _print_paths(console: "Console", view: TrialView, argument: str) -> None:
    console.print(f"\nfiles: {shlex.quote(os.path.relpath(view.folder))}", soft_wrap=True)
    if len(view.tries) > 1:
        others = ", ".join(str(number) for number in view.tries if number != view.attempt)
        console.print(f"this is try {view.attempt}; others, shown with --try: {others}")
    console.print(f"more: benchflow show {argument} --diff | --stderr | --raw acp | --raw llm", soft_wrap=True)
    if view.workspace:
        console.print(f"its workspace: benchflow shell {argument}", soft_wrap=True)
