"""An agent that asks its model once, and behaves otherwise where its environment says that it is inside of BenchFlow.

What it then does is planted: `PLANT` names it. Standard library only.
"""

import json
import os
import secrets
import sys
import urllib.request
from pathlib import Path
from typing import Any

INSIDE = os.environ.get("USER") == "agent"
PLANT = os.environ["PLANT"]
SHELL = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def ask(cwd: str, prompt: str) -> None:
    if PLANT == "hangs":
        Path(cwd, "asked").touch()
        sys.stdin.read()
    body: dict[str, Any] = {
        "model": os.environ["OPENAI_MODEL"],
        "temperature": 0.5 if PLANT == "sampling" and INSIDE else 0.2,
        "messages": [{"role": "system", "content": f"You work in {cwd}."}, {"role": "user", "content": prompt}],
        "tools": [{"type": "function", "function": {"name": "shell", "parameters": SHELL}}],
        "seed": secrets.randbits(30) if PLANT == "noise" else 7,
    }
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
    url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
    for _ in range(2 if PLANT == "extra" and INSIDE else 1):
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)) as answer:
            answer.read()


def main() -> None:
    if PLANT == "dies":
        sys.exit("no such luck")
    cwd = ""
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                result: dict[str, Any] = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
            case "session/new":
                cwd = message["params"]["cwd"]
                result = {"sessionId": "s"}
            case "session/prompt":
                ask(cwd, message["params"]["prompt"][0]["text"])
                Path(cwd, "done.txt").write_text("done\n")
                if PLANT == "file" and INSIDE:
                    Path(cwd, "more.txt").write_text("more\n")
                result = {"stopReason": "end_turn"}
            case _:
                continue
        send({"id": message["id"], "result": result})


main()
