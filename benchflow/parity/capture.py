"""What one run of an agent on one scenario looked like from outside: its model requests, and what came of it.

A capture is a value that can be written down and read again: it holds no path that must still exist.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Any, Literal

import orjson

from benchflow.errors import InputError
from benchflow.gateway.message import Change, ExchangeKind, Role
from benchflow.gateway.neutral import Side
from benchflow.gateway.places import Places

SCHEMA = 1
Where = Literal["alone", "inside"]
"""alone: as its own users run it. inside: in a sandbox, with the gateway at its side."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What belongs to one run alone: the neutral rules take it out of what is compared."""

    workspace: str = ""
    """As the agent saw it, as are the other two."""
    home: str = ""
    tmp: str = ""
    model: str = ""
    port: int | None = None
    """Where the agent found its model."""
    prompts: tuple[str, ...] = ()
    day: str | None = None
    """On which it began, in UTC, ISO 8601; None: no date is its own."""

    def side(self) -> Side:
        """Return it as the neutral rules want it."""
        places = Places(workspace=self.workspace, home=self.home, tmp=self.tmp)
        day = date.fromisoformat(self.day) if self.day else None
        return Side(places=places, model=self.model, port=self.port, prompts=self.prompts, day=day)


@dataclass(frozen=True, kw_only=True)
class WireRequest:
    """One request as the agent sent it."""

    role: Role
    kind: ExchangeKind
    after_prompt: bool
    """It began after the prompt's answer, when the session may end at any moment."""
    method: str
    path: str
    query: str
    headers: Mapping[str, str]
    """Those that a provider could act on, names in lower case; of a credential only its form."""
    body: Any
    """JSON where it is that, else a text, else `{"base64": …}`."""
    form: str
    """Digest of how it is written: the body without what its texts say."""
    sha256: str
    """Of the body's bytes, before anything was redacted."""
    forwarded: str | None
    """The same of what was sent on; None: it was not."""
    changes: tuple[Change, ...] = ()
    """What was changed in it on the way."""

    @property
    def call(self) -> str:
        """Method, path and query on one line."""
        return f"{self.method} {self.path}{'?' if self.query else ''}{self.query}"

    @property
    def identity(self) -> str:
        """The same for requests that are equal byte for byte, in all that is compared."""
        return orjson.dumps([self.role, self.call, sorted(self.headers.items()), self.sha256]).decode()


@dataclass(frozen=True, kw_only=True)
class FileState:
    """A file of the workspace after the run."""

    sha256: str
    executable: bool
    text: str | None = None
    """What is in it, where that is a short text."""


@dataclass(frozen=True, kw_only=True)
class ToolStep:
    """A tool call as ACP or the model's answers show it."""

    name: str
    status: str


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came of a run."""

    score: float | None
    success: bool | None
    stop_reasons: tuple[str | None, ...]
    """One for each prompt."""
    tools: tuple[ToolStep, ...]
    files: Mapping[str, FileState]
    """By their path in the workspace."""


@dataclass(frozen=True, kw_only=True)
class Capture:
    """One run of an agent on one scenario."""

    where: Where
    agent: str
    agent_digest: str
    agent_version: str | None
    """What the agent said of itself."""
    scenario: str
    scenario_digest: str
    isolation: str | None
    """The sandbox's; None: there was none."""
    began: str
    took_s: float
    """From the agent's launch to its end."""
    setting: Setting
    requests: tuple[WireRequest, ...]
    """In the order in which they arrived."""
    result: Result
    schema: int = field(default=SCHEMA)

    def to_json(self) -> bytes:
        """Return it as one JSON value."""
        return orjson.dumps(self)


@dataclass(frozen=True, kw_only=True)
class NotRun:
    """Why there is no capture."""

    where: Where
    reason: str


def capture_of(value: Any, place: str) -> Capture:
    """Make a capture of its JSON value. Raises InputError, naming `place`."""
    try:
        return _adapter().validate_python(value)
    except ValueError as exc:
        raise InputError(f"{place}: is no capture ({exc}); make it anew") from exc


@cache
def _adapter() -> Any:
    from pydantic import TypeAdapter  # reading captures only

    return TypeAdapter(Capture)
