"""What a step of a behaviour can do: one function a verb, each taking the player and the verb's argument."""

import os
import signal
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchflow.agents.fake.play import Player

_HIGHEST_FD = 64


class TurnOver(Exception):
    """The current request is answered: its remaining steps are left out."""


def answer(player: "Player", result: Any) -> None:
    """Answer the current request with a result."""
    player.respond(result=result)


def error(player: "Player", body: Any) -> None:
    """Answer the current request with an error: `{"code", "message"}`."""
    player.respond(error=body)


def update(player: "Player", body: Any) -> None:
    """Send a `session/update` with this content."""
    player.update(body)


def say(player: "Player", text: str) -> None:
    """Send a chunk of the agent's message."""
    player.say(text)


def send(player: "Player", message: Any) -> None:
    """Send any JSON value as a line."""
    player.wire.send(message)


def text(player: "Player", raw: str) -> None:
    """Write text to stdout as it is, without a newline."""
    player.wire.write(raw.encode("utf-8", "surrogatepass"))


def bytes_(player: "Player", hexadecimal: str) -> None:
    """Write bytes, given in hexadecimal, to stdout."""
    player.wire.write(bytes.fromhex(hexadecimal))


def stderr(player: "Player", raw: str) -> None:
    """Write text to stderr, all of it, however long nobody reads."""
    sys.stderr.write(raw)
    sys.stderr.flush()


def ask(player: "Player", request: dict[str, Any]) -> None:
    """Send a request `{"method", "params"}` to the client and wait for its response."""
    player.ask(request["method"], request.get("params"))


def model(player: "Player", options: dict[str, Any]) -> None:
    """Work on the prompt with the model. Options: at most so many `requests`; `permission` asked before each tool call;
    `slow` to follow a cancel, only after the model's answer; `silent`, without any update; `hide` an upstream's failure
    behind the agent's own words.
    """
    from benchflow.agents.fake.work import work  # an agent that never gets so far starts the quicker

    player.silent = options.get("silent", False)
    failure = work(player, options)
    if failure and options.get("hide"):
        player.say(failure)
    elif failure:
        player.respond(error={"code": -32603, "message": failure})
        raise TurnOver


def fetch(player: "Player", url: str) -> None:
    """Ask an `http://` URL of the agent's own backend, through the proxy if there is one, and say what it answers."""
    from benchflow.agents.fake.fetch import fetch as get  # few agents have such a backend

    player.say(get(url))


def unlock(player: "Player", method: str) -> None:
    """Take the client for authenticated if it chose this method; refuse any other."""
    if player.params.get("methodId") != method:
        player.respond(error={"code": -32602, "message": "not this method"})
        raise TurnOver
    player.unlocked = True


def locked(player: "Player", body: Any) -> None:
    """Answer with this error as long as nothing was unlocked."""
    if not player.unlocked:
        player.respond(error=body)
        raise TurnOver


def write(player: "Player", file: dict[str, str]) -> None:
    """Write a file, `{"path", "content"}`, in the session's folder."""
    with open(os.path.join(player.cwd, file["path"]), "w", encoding="utf-8") as target:
        target.write(file["content"])


def hang(player: "Player", forever: Any) -> None:
    """Do nothing until the turn is cancelled; with true not even then."""
    while forever or not player.cancelled:
        player.listen(1.0 if player.wire.ended else None)


def sleep(player: "Player", seconds: float) -> None:
    """Do nothing for so long."""
    time.sleep(seconds)


def exit_(player: "Player", status: int) -> None:
    """End with this status, at once."""
    os._exit(status)


def kill(player: "Player", name: str) -> None:
    """End by this signal."""
    os.kill(os.getpid(), signal.Signals[f"SIG{name}"])
    time.sleep(10)


def close(player: "Player", stream: str) -> None:
    """Close `stdin` or `stdout`."""
    os.close({"stdin": 0, "stdout": 1}[stream])


def child(player: "Player", options: dict[str, Any]) -> None:
    """Leave a child behind that sleeps for `seconds`, ignores SIGTERM, and writes its id to `pid_file`.

    It holds stdout open if `stdout` says so; with `daemon` it leaves the process group and session, and its parent.
    """
    ready, started = os.pipe()
    if os.fork():
        os.close(started)
        os.read(ready, 1)  # it ends when the child closes everything
        os.close(ready)
        return
    if options.get("daemon"):
        os.setsid()
        if os.fork():
            os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.get("pid_file"):
        write(player, {"path": options["pid_file"], "content": str(os.getpid())})
    keep = 1 if options.get("stdout") else None
    for fd in range(_HIGHEST_FD):
        if fd != keep:
            try:
                os.close(fd)
            except OSError:
                continue
    time.sleep(options.get("seconds", 60))
    os._exit(0)


VERBS: dict[str, Callable[["Player", Any], None]] = {
    "answer": answer,
    "ask": ask,
    "bytes": bytes_,
    "child": child,
    "close": close,
    "error": error,
    "exit": exit_,
    "fetch": fetch,
    "hang": hang,
    "kill": kill,
    "locked": locked,
    "model": model,
    "say": say,
    "send": send,
    "sleep": sleep,
    "stderr": stderr,
    "text": text,
    "unlock": unlock,
    "update": update,
    "write": write,
}
