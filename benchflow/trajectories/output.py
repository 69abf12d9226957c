"""What came out of a tool call, as text, whatever form the agent showed it in. Pure."""

from typing import Any

import orjson

from benchflow.trajectories.tools import ToolCall


def output_text(call: ToolCall) -> str:
    """Return what came out of a call as text: what the agent showed of it, else its raw output."""
    shown = [text for block in call.content if (text := _block_text(block))]
    if shown:
        return "\n".join(shown)
    raw = call.raw_output
    if isinstance(raw, dict):
        raw = next((raw[key] for key in ("output", "stdout", "content", "text") if isinstance(raw.get(key), str)), raw)
    return raw if isinstance(raw, str) else "" if raw is None else orjson.dumps(raw).decode()


def _block_text(block: Any) -> str:
    if not isinstance(block, dict):
        return str(block)
    content = block.get("content")
    match block.get("type"):
        case "diff":
            return f"changed {block.get('path')}"
        case "terminal":
            return f"in terminal {block.get('terminalId')}"
        case _:
            text = content.get("text") if isinstance(content, dict) else content or block.get("text")
            return text if isinstance(text, str) else ""
