"""Takes out of a capture what is this machine's alone, so that it can be kept, shown, and compared on another machine.

Each kind has a mark of its own: what stands there is equal to the same kind at the same place, and to nothing else.
"""

import platform
import posixpath
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import orjson

from benchflow.gateway.places import AFTER, BEFORE
from benchflow.machine.home import Home
from benchflow.parity.capture import Capture, capture_of
from benchflow.redact import mark

_WORD = r"(?<![\w.-]){}(?![\w-])"
_LEAST = 4
"""Characters of a name that is looked for: a shorter one occurs in any text."""


@dataclass(frozen=True)
class Local:
    """What is a machine's own, by its kind."""

    root: str
    """BenchFlow's folder on it."""
    folders: Mapping[str, str]
    words: Mapping[str, str]

    def hide(self, capture: Capture) -> Capture:
        """Return the capture as any machine could have made it. Digests are still those of what was really sent."""
        value = orjson.loads(capture.to_json())
        if (workspace := capture.setting.workspace).startswith(f"{self.root}/"):
            folder = posixpath.dirname(workspace)
            value = _changed(value, _moved(folder, f"/{capture.where}/{posixpath.basename(folder)}", workspace))
        return capture_of(_changed(value, self.hidden), f"the capture of {capture.agent}")

    def hidden(self, text: str) -> str:
        """Return the text with a mark for each thing in it that is the machine's."""
        return self._pattern.sub(_marked, text)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts = [f"(?P<{kind}>{BEFORE}{re.escape(path)}{AFTER})" for kind, path in self.folders.items() if path != "/"]
        parts += [
            f"(?P<{kind}>{_WORD.format(re.escape(word))})" for kind, word in self.words.items() if len(word) >= _LEAST
        ]
        return re.compile("|".join(parts))


def local_of(home: Home, environ: Mapping[str, str]) -> Local:
    """Return what is this machine's own."""
    return Local(
        root=str(home.root),
        folders={"benchflow_home": str(home.root), "home": environ.get("HOME", "").rstrip("/") or "/"},
        words={"host": socket.gethostname(), "kernel": platform.release()},
    )


def _marked(match: re.Match[str]) -> str:
    assert match.lastgroup is not None
    return mark(match.lastgroup).decode()


def _moved(folder: str, to: str, workspace: str) -> Callable[[str], str]:
    """Return what writes another path for a run's folder, also where the workspace's is written as a name or digest."""
    there = to + workspace[len(folder) :]
    writings = {
        f"{BEFORE}{re.escape(folder)}{AFTER}": to,
        rf"(?<=/){re.escape(_slug(workspace))}(?![\w-])": _slug(there),
        _digest(workspace): _digest(there),
    }
    patterns = [(re.compile(pattern), text) for pattern, text in writings.items()]

    def write(text: str) -> str:
        for pattern, new in patterns:
            text = pattern.sub(lambda _, new=new: new, text)
        return text

    return write


def _slug(path: str) -> str:
    return re.sub(r"[^A-Za-z0-9]", "-", path)


def _digest(path: str) -> str:
    return sha256(path.encode()).hexdigest()


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    """Change all texts, keys among them."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _changed(each, change) for key, each in value.items()}
    if isinstance(value, list):
        return [_changed(each, change) for each in value]
    return value
