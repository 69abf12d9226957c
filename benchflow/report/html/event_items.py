"""What was said over ACP on the timeline: prompts, messages, thoughts, tool calls, permissions, plans, and the rest."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchflow.contracts import Event
from benchflow.report.html.items import Item, Kind, State, brief, make_facts, took
from benchflow.report.html.passages import Passage, argument_passages, as_text, make_passage
from benchflow.report.text import one_line
from benchflow.report.trial import view_call
from benchflow.trajectories.tools import ToolCall
from benchflow.trajectories.trajectory import Trajectory

_TEXTS: Mapping[str, tuple[Kind, str]] = {
    "agent_message": ("message", "Message"),
    "agent_thought": ("thought", "Thought"),
    "user_message": ("user", "User message"),
}
_TRANSPARENT = ("turn_end", "tool_call_update", "usage", "notice", "unknown")
"""What may come between two pieces of one text."""


def tool_item(call: ToolCall, trajectory: Trajectory) -> Item:
    """Make the item of one tool call."""
    view = view_call(call, trajectory)
    states: Mapping[str, State] = {"completed": "good", "failed": "bad"}
    given = argument_passages(view.input)
    first = next((passage.text for passage in given), "")
    hidden = view.output_source == "gateway"
    output = "output, as the model got it; the agent did not show it" if hidden else "output"
    return Item(
        kind="tool",
        at=call.began_ms,
        ms=view.ms,
        ms_text=took(view.ms),
        title=one_line(view.name, 60),
        brief=brief(view.title if view.title and view.title != view.name else first),
        state=states.get(view.status, "odd"),
        facts=make_facts(
            [
                ("status", view.status if view.ms is not None else f"{view.status}, never closed"),
                ("kind", view.kind),
                ("asked for by", call.exchange),
                ("id", view.id),
            ]
        ),
        passages=(*given, *([make_passage(output, view.output)] if view.output else [])),
    )


def event_items(events: Iterable[Event]) -> Iterator[Item]:
    """Yield the items of all events but turns and tool calls, which have items of their own.

    Pieces of a text that nothing else interrupts are one item; so is a prompt with its end.
    """
    text: list[Event] = []
    for event in events:
        if event.type in _TEXTS:
            if text and text[0].type != event.type:
                yield _text_item(text)
                text = []
            text.append(event)
            continue
        if text and event.type not in _TRANSPARENT:
            yield _text_item(text)
            text = []
        yield from _item(event)
    if text:
        yield _text_item(text)


def _text_item(pieces: list[Event]) -> Item:
    kind, title = _TEXTS[pieces[0].type]
    text = "".join(str(piece.data.get("text", "")) for piece in pieces)
    others = [piece.data["content"] for piece in pieces if piece.data.get("content")]
    ms = round(pieces[-1].mono_ms - pieces[0].mono_ms, 3) if len(pieces) > 1 else None
    return Item(
        kind=kind,
        at=pieces[0].mono_ms,
        ms=ms,
        ms_text=took(ms),
        title=title,
        brief=brief(text),
        passages=(make_passage("", text, "prose"), *(make_passage("content", as_text(other)) for other in others)),
    )


def _item(event: Event) -> Iterator[Item]:
    data = event.data
    match event.type:
        case "prompt_begin":
            text = str(data.get("text", ""))
            number = int(data.get("index", 0)) + 1
            yield _moment(event, "prompt", f"Prompt {number}", text, passages=(make_passage("", text, "prose"),))
        case "prompt_end":
            yield _prompt_end(event)
        case "permission":
            yield _permission(event)
        case "plan":
            yield _plan(event)
        case "usage":
            used = ", ".join(f"{name} {data[name]}" for name in ("used", "size", "cost") if data.get(name) is not None)
            yield _moment(event, "usage", "Usage, as the agent says", used)
        case "limit":
            yield _limit(event)
        case "error" if not data.get("exchange"):  # a failed model request has an item of its own
            message = str(data.get("message", ""))
            yield _moment(event, "error", "Error", message, state="bad", passages=(make_passage("", message),))
        case "notice" | "unknown":
            yield _notice(event)


def _moment(event: Event, kind: Kind, title: str, text: str = "", **more: Any) -> Item:
    return Item(kind=kind, at=event.mono_ms, title=title, brief=brief(text), **more)


def _prompt_end(event: Event) -> Item:
    data = event.data
    error = data.get("error")
    passages = [make_passage(name, as_text(data[name])) for name in ("error", "usage") if data.get(name)]
    told = str(error or data.get("stop_reason") or "without a stop reason")
    title = f"Prompt {int(data.get('index', 0)) + 1} ended"
    return _moment(event, "prompt", title, told, state="bad" if error else None, passages=tuple(passages))


def _permission(event: Event) -> Item:
    data = event.data
    options = _tables(data.get("options"))
    chosen = next((option for option in options if option.get("optionId") == data.get("option_id")), {})
    answer = str(chosen.get("name") or data.get("option_id") or data.get("outcome") or "no answer")
    denied = not str(chosen.get("kind") or "allow").startswith("allow")
    offered = ", ".join(str(option.get("name") or option.get("optionId")) for option in options)
    return _moment(
        event,
        "permission",
        f"Permission: {one_line(answer, 60)}",
        str(data.get("title") or data.get("tool_call_id") or ""),
        state="odd" if denied else None,
        facts=make_facts([("kind", data.get("kind") and str(data["kind"])), ("options", offered)]),
        passages=tuple(argument_passages(data.get("raw_input"))),
    )


def _tables(value: object) -> list[dict[str, Any]]:
    """Return the tables of what should be a list of them: it comes from an agent."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _plan(event: Event) -> Item:
    entries = _tables(event.data.get("entries"))
    marks = {"completed": "[x]", "in_progress": "[~]"}
    lines = [f"{marks.get(str(entry.get('status')), '[ ]')} {entry.get('content')}" for entry in entries]
    done = sum(entry.get("status") == "completed" for entry in entries)
    passages = (make_passage("", "\n".join(lines), "prose"),) if lines else ()
    return _moment(event, "plan", "Plan", f"{done} of {len(entries)} done", passages=passages)


def _limit(event: Event) -> Item:
    data = {key: str(value) for key, value in event.data.items() if value is not None}
    told = f"{data.get('kind')}: {data.get('used')} of {data.get('allowed')} ({data.get('phase')})"
    return _moment(event, "limit", "Budget", told, state="odd", facts=make_facts(data.items()))


def _notice(event: Event) -> Item:
    data = event.data
    told = data.get("update") if event.type == "unknown" else data.get("update") or data.get("params")
    passages: tuple[Passage, ...] = (make_passage("", as_text(told)),) if told else ()
    text = str(data.get("text") or data.get("kind") or "")
    return _moment(event, "notice", "Unknown" if event.type == "unknown" else "Notice", text, passages=passages)
