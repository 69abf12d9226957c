"""Plays a behaviour: answers the client's requests with the steps that its data gives for them.

    {"description": "says hello twice", "on": {"session/prompt": [
        {"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hello"}}, "times": 2},
        {"answer": {"stopReason": "${stop}"}}]}}

`on` has a list of steps for `start`, `end` (of stdin), and any method; what it leaves out is done as a well-behaved
agent would. A step is an object with one verb of `steps.py`, and `times` to repeat it. In its strings `${id}` is the id
of the request being answered, `${text_id}` the same as text, `${session}` the session's, `${cwd}` its folder,
`${prompt}` the prompt, `${stop}` the right stop reason, `${answer}` what the client answered last, `${n}` the number of
the repetition, `${fill:1000}` so many letters. `"deaf": true` ignores cancel, the end of stdin and SIGTERM.
"""

import json
import os
import re
import signal
import sys
from collections import deque
from typing import Any

from benchflow.agents.fake.steps import VERBS, TurnOver
from benchflow.agents.fake.wire import Wire

DEFAULTS: dict[str, list[dict[str, Any]]] = {
    "initialize": [
        {
            "answer": {
                "protocolVersion": 1,
                "agentInfo": {"name": "fake", "title": "Fake agent", "version": "1"},
                "agentCapabilities": {"loadSession": False},
                "authMethods": [],
            }
        }
    ],
    "authenticate": [{"answer": {}}],
    "session/new": [{"answer": {"sessionId": "${session}"}}],
    "session/set_model": [{"answer": {}}],
    "session/set_config_option": [{"answer": {"configOptions": []}}],
    "session/prompt": [{"model": {}}, {"answer": {"stopReason": "${stop}"}}],
}
PERMISSIONS = [
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    {"optionId": "always", "name": "Always allow", "kind": "allow_always"},
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
]
_PLACE = re.compile(r"\$\{(\w+)(?::(\d+))?\}")


class Leave(Exception):
    """The client closed stdin: there is nothing left to do."""


class Player:
    """The state of one fake agent: its current request, its session, and what the client has said so far."""

    def __init__(self, behaviour: dict[str, Any]) -> None:
        self.wire = Wire()
        self.deaf = bool(behaviour.get("deaf"))
        self.cancelled = False
        self.cwd = os.getcwd()
        self.silent = False
        self.unlocked = False
        self._steps = {**DEFAULTS, **behaviour.get("on", {})}
        self._request: dict[str, Any] = {}
        self._later: deque[dict[str, Any]] = deque()
        self._responses: dict[Any, dict[str, Any]] = {}
        self._asked = 0
        self._prompt = ""
        self._answer: Any = None
        self._turn = 0

    def run(self) -> int:
        """Serve until stdin ends; return the exit status."""
        if self.deaf:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        try:
            self.play(self._steps.get("start", []))
            while True:
                while self._later:
                    self._serve(self._later.popleft())
                self.listen(None)
        except Leave:
            self.play(self._steps.get("end", []))
        except BrokenPipeError:
            return 1
        return 0

    def listen(self, timeout_s: float | None, *fds: int) -> set[int]:
        """Wait for something to happen and take in what the client says. Requests are left for later."""
        if self.wire.ended and not self.deaf:
            raise Leave
        ready = self.wire.poll(timeout_s, *fds)
        while (message := self.wire.message()) is not None:
            if "method" not in message:
                self._responses[message.get("id")] = message
            elif "id" in message:
                self._later.append(message)
                self.cancelled = self.cancelled and message["method"] != "session/prompt"
            elif message["method"] == "session/cancel" and not self.deaf:
                self.cancelled = True
        return ready

    def play(self, steps: list[dict[str, Any]]) -> None:
        """Do the steps one after the other."""
        for step in steps:
            (verb, argument), *wrong = [(key, value) for key, value in step.items() if key != "times"]
            if wrong or verb not in VERBS:
                sys.stderr.write(f"fake: no such step: {json.dumps(step)}; verbs: {', '.join(sorted(VERBS))}\n")
                raise SystemExit(2)
            for self._turn in range(step.get("times", 1)):
                VERBS[verb](self, self.fill(argument))

    def fill(self, value: Any) -> Any:
        """Put values in place of `${...}` in all strings of a value."""
        if isinstance(value, dict):
            return {key: self.fill(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if not isinstance(value, str) or "${" not in value:
            return value
        whole = _PLACE.fullmatch(value)
        if whole:
            return self._value(whole)
        return _PLACE.sub(lambda place: str(self._value(place)), value)

    def respond(self, **body: Any) -> None:
        """Answer the current request."""
        self.wire.send({"jsonrpc": "2.0", "id": self._request.get("id"), **body})

    def update(self, update: dict[str, Any]) -> None:
        """Send a `session/update`, unless this agent never does."""
        if self.silent:
            return
        self.wire.send(
            {"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": self.session, "update": update}}
        )

    def say(self, text: str) -> None:
        """Send a chunk of the agent's message."""
        self.update({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}})

    def permitted(self, call: dict[str, Any]) -> bool:
        """Ask for permission to do a tool call."""
        self.ask("session/request_permission", {"sessionId": self.session, "toolCall": call, "options": PERMISSIONS})
        outcome = self._answer.get("outcome", {}) if isinstance(self._answer, dict) else {}
        return outcome.get("optionId") == "yes"

    def ask(self, method: str, params: Any) -> dict[str, Any]:
        """Send a request of ours, and wait for its response."""
        request_id, self._asked = self._asked, self._asked + 1
        self.wire.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        while request_id not in self._responses:
            self.listen(None)
        response = self._responses.pop(request_id)
        self._answer = response.get("result", response.get("error"))
        return response

    @property
    def params(self) -> dict[str, Any]:
        """The params of the current request."""
        return self._request.get("params") or {}

    @property
    def session(self) -> str:
        return f"fake-{os.getpid()}"

    @property
    def stop_reason(self) -> str:
        return "cancelled" if self.cancelled else "end_turn"

    def _serve(self, request: dict[str, Any]) -> None:
        """Play the steps for a request of the client."""
        self._request = request
        if request["method"] == "session/new":
            self.cwd = self.params.get("cwd", self.cwd)
        if request["method"] == "session/prompt":
            self._prompt = "\n".join(block.get("text", "") for block in self.params.get("prompt", []))
        steps = self._steps.get(request["method"])
        if steps is None:
            self.respond(error={"code": -32601, "message": f"no method {request['method']}"})
            return
        try:
            self.play(steps)
        except TurnOver:
            return

    def _value(self, place: re.Match[str]) -> Any:
        """Return what stands for a `${...}`; a name that is not known stays as it is."""
        name, number = place.groups()
        if name == "fill":
            return "x" * int(number or 1)
        values = {
            "id": self._request.get("id"),
            "text_id": str(self._request.get("id")),
            "session": self.session,
            "prompt": self._prompt,
            "stop": self.stop_reason,
            "answer": json.dumps(self._answer),
            "cwd": self.cwd,
            "n": self._turn,
        }
        return values.get(name, place.group())
