"""The fake agent at work: asks the model over chat completions, and does what it says with a shell and a file tool."""

import json
import os
from typing import TYPE_CHECKING, Any

from benchflow.agents.fake.post import Broken, post

if TYPE_CHECKING:
    from benchflow.agents.fake.play import Player


def _tool(name: str, description: str, *parameters: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {key: {"type": "string"} for key in parameters}, "required": parameters}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


TOOLS = [
    _tool("shell", "Run a command in a shell; returns its output and exit status.", "command"),
    _tool("write_file", "Write a text file, replacing what is there.", "path", "content"),
]
KINDS = {"shell": "execute", "write_file": "edit"}
SYSTEM = "You are a coding agent. Use the tools to do what is asked, then say what you did."


def work(player: "Player", options: dict[str, Any]) -> str | None:
    """Ask and act until the model answers with text, or the turn is cancelled; return what went wrong, if anything.

    Without a gateway there is nothing to do.
    """
    if not os.environ.get("BENCHFLOW_PROVIDER_BASE_URL"):
        return None
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": player.fill("${prompt}")},
    ]
    for _ in range(options.get("requests", 200)):
        try:
            message = _ask_model(player, messages, slow=options.get("slow", False))
        except Broken as error:
            return f"the model failed: {error}"
        if message is None or player.cancelled:
            return None
        messages.append(message)
        if message.get("content"):
            player.say(message["content"])
        if not message.get("tool_calls"):
            return None
        messages.extend(_do(player, call, ask=options.get("permission", False)) for call in message["tool_calls"])
    return None


def _ask_model(player: "Player", messages: list[dict[str, Any]], *, slow: bool) -> dict[str, Any] | None:
    """Return the model's message; None if the turn was cancelled before it came."""
    request = {"model": os.environ.get("BENCHFLOW_PROVIDER_MODEL", "model"), "messages": messages, "tools": TOOLS}
    url = os.environ["BENCHFLOW_PROVIDER_BASE_URL"].rstrip("/") + "/chat/completions"
    key = os.environ.get("BENCHFLOW_PROVIDER_API_KEY", "")
    body = post(url, key, json.dumps(request).encode(), wait=lambda fd: _wait(player, fd, slow=slow))
    if body is None:
        return None
    try:
        return json.loads(body)["choices"][0]["message"]
    except (ValueError, LookupError, TypeError):
        raise Broken(f"its answer cannot be read: {body[:200]!r}") from None


def _wait(player: "Player", fd: int, *, slow: bool) -> bool:
    """Wait until there is something to read; False: the turn was cancelled, and that is not put off."""
    while fd not in player.listen(None, fd):
        if player.cancelled and not slow:
            return False
    return True


def _do(player: "Player", call: dict[str, Any], *, ask: bool) -> dict[str, Any]:
    """Do one tool call, shown to the client; return its result as a message."""
    function = call["function"]
    arguments = json.loads(function["arguments"])
    title = arguments.get("command") or arguments.get("path") or function["name"]
    shown = {
        "toolCallId": call["id"],
        "title": title,
        "kind": KINDS.get(function["name"], "other"),
        "rawInput": arguments,
    }
    player.update({"sessionUpdate": "tool_call", "status": "pending", **shown})
    if ask and not player.permitted(shown):
        result, failed = "the user refused", True
    else:
        result, failed = _run(player, function["name"], arguments)
    player.update(
        {
            "sessionUpdate": "tool_call_update",
            "toolCallId": call["id"],
            "status": "failed" if failed else "completed",
            "content": [{"type": "content", "content": {"type": "text", "text": result}}],
            "rawOutput": {"output": result},
        }
    )
    return {"role": "tool", "tool_call_id": call["id"], "content": result}


def _run(player: "Player", name: str, arguments: dict[str, Any]) -> tuple[str, bool]:
    """Run a tool; return its output, and whether it failed."""
    try:
        if name == "write_file":
            path = os.path.join(player.cwd, arguments["path"])
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(arguments["content"])
            return f"wrote {arguments['path']}", False
        if name == "shell":
            return _shell(player, arguments["command"])
    except (OSError, KeyError) as error:
        return f"{type(error).__name__}: {error}", True
    return f"no tool {name}", True


def _shell(player: "Player", command: str) -> tuple[str, bool]:
    """Run a command; a cancelled turn ends it."""
    import subprocess  # only the shell tool needs it, and it is slow to import

    with subprocess.Popen(
        ["/bin/sh", "-c", command],
        cwd=player.cwd,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        assert process.stdout
        fd, output = process.stdout.fileno(), []
        while _wait(player, fd, slow=False) and (block := os.read(fd, 65536)):
            output.append(block)
        if player.cancelled:
            os.killpg(process.pid, 9)
    text = b"".join(output).decode("utf-8", "replace")
    return f"{text}\n[exit status {process.returncode}]", process.returncode != 0
