"""An agent of any dialect, as a program: sends the requests that a file has for its prompt, and ends as the file says.

It does its work, a file, in any case, and makes nothing of the answers. Standard library only.
"""

import http.client
import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit


def send(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def ask_model(path: str, body: str) -> None:
    connection = http.client.HTTPConnection(urlsplit(os.environ["BENCHFLOW_PROVIDER_BASE_URL"]).netloc, timeout=60)
    try:
        connection.request("POST", path, body.encode(), {"Content-Type": "application/json"})
        connection.getresponse().read()
    except (http.client.HTTPException, OSError):
        pass
    finally:
        connection.close()


def work(case: dict[str, Any], cwd: Path) -> str:
    (cwd / "done.txt").write_text("done\n")
    for path, body in case["requests"]:
        ask_model(path, body)
    return case["end"]


def main() -> None:
    cases = json.loads(Path(sys.argv[1]).read_text())
    cwd = Path()
    for line in sys.stdin:
        message = json.loads(line)
        match message.get("method"):
            case "initialize":
                result: dict[str, Any] = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
            case "session/new":
                cwd = Path(message["params"]["cwd"])
                result = {"sessionId": "s"}
            case "session/prompt":
                end = work(cases[message["params"]["prompt"][0]["text"]], cwd)
                if end == "dies":
                    os._exit(1)
                result = {"stopReason": end}
            case _:
                continue
        send({"id": message["id"], "result": result})


main()
