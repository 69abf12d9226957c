"""The folders that are a trial's own, as words in a text and back: `/tmp/x/workspace/a.py` ↔ `⟦workspace⟧/a.py`.

Two trials never share these folders, so whatever is compared or recorded names them by words. Pure.
"""

import hashlib
import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

OPEN, CLOSE = "⟦", "⟧"
"""Stand around every neutral word: brackets that texts hardly ever have of their own."""
_ESCAPED = "⟦(⟧"
"""Stands for an opening bracket that a text has of its own."""
_FOLDERS = ("workspace", "home", "tmp")
_WORD = re.compile(r"⟦([a-z ]+|\()⟧")

BEFORE = r"(?:(?<![\w.~+%⟧/-])|(?<=file://)|(?<=\\[nrt])|(?<=\s-[A-Za-z]))"
"""What may stand before a path: no part of a name or of another path; a URL's scheme, an escaped line break, `-I`."""
AFTER = r"(?![\w~+@%⟦-])(?!\.\w)"
"""What may follow a path: no more of its last name."""


def word(name: str) -> str:
    """Write a neutral word."""
    return f"{OPEN}{name}{CLOSE}"


@dataclass(frozen=True, kw_only=True)
class Places:
    """The folders of one trial as its agent sees them. An empty one is not known."""

    workspace: str = ""
    home: str = ""
    tmp: str = ""

    @cached_property
    def by_name(self) -> Mapping[str, str]:
        """What each neutral word stands for here; agents also name things after the workspace's path."""
        found = {name: path for name, path in vars(self).items() if name in _FOLDERS and len(path) > 1}
        if "workspace" in found:
            for name in [name for name in found if name != "workspace"]:
                found[f"{name} from workspace"] = posixpath.relpath(found[name], self.workspace)
            found["workspace slug"] = re.sub(r"[^A-Za-z0-9]", "-", self.workspace)
            found["workspace digest"] = hashlib.sha256(self.workspace.encode()).hexdigest()
        return found

    @cached_property
    def _pattern(self) -> re.Pattern[str] | None:
        paths = [path for name, path in self.by_name.items() if name not in ("workspace slug", "workspace digest")]
        parts = [f"{BEFORE}(?:{_any_of(paths)}){AFTER}"] if paths else []
        if slug := self.by_name.get("workspace slug"):
            parts.append(rf"(?<=/){re.escape(slug)}(?![\w-])")
        if digest := self.by_name.get("workspace digest"):
            parts.append(rf"(?<![0-9A-Za-z]){digest}(?![0-9A-Za-z])")
        return re.compile("|".join(parts)) if parts else None

    @cached_property
    def _names(self) -> Mapping[str, str]:
        names: dict[str, str] = {}
        for name, path in self.by_name.items():
            names.setdefault(path, word(name))
        return names

    def neutral(self, text: str) -> tuple[str, int]:
        """Write words for the paths; return how many there were too."""
        if self._pattern is None:
            return text, 0
        return self._pattern.subn(lambda match: self._names[match[0]], text)

    def pack(self, text: str) -> tuple[str, int]:
        """Write words for the paths so that `unpack` gives back the very same text; return how many there were too."""
        if self._pattern is None:
            return escape(text), 0
        parts, at, count = [], 0, 0
        for match in self._pattern.finditer(text):
            parts += [escape(text[at : match.start()]), self._names[match[0]]]
            at, count = match.end(), count + 1
        return "".join([*parts, escape(text[at:])]), count

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return where the paths stand."""
        return [match.span() for match in self._pattern.finditer(text)] if self._pattern else []

    def unpack(self, text: str, write: Callable[[str], str] = str) -> tuple[str, tuple[str, ...]]:
        """Write this trial's paths, as `write` writes them, for the words; return the words that stood there too.

        A word that means nothing here stays.
        """
        used: dict[str, None] = {}

        def put(match: re.Match[str]) -> str:
            if match[1] == "(":
                return OPEN
            path = self.by_name.get(match[1])
            if path is None:
                return match[0]
            used[match[1]] = None
            return write(path)

        return _WORD.sub(put, text), tuple(used)


def escape(text: str) -> str:
    """Mark the brackets that a text has of its own."""
    return text.replace(OPEN, _ESCAPED) if OPEN in text else text


def _any_of(paths: list[str]) -> str:
    return "|".join(re.escape(path) for path in sorted(set(paths), key=len, reverse=True))
