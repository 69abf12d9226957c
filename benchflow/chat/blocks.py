"""Files in a text, as fenced code blocks that name them: how a model without tools reads and writes a workspace."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchflow.errors import TrialError
from benchflow.workspaces.workspace import Workspace

MOST_SHOWN = 100_000
"""Characters of files that a model is shown."""
_FENCE = re.compile(r"`{3,}|~{3,}")
_NAMED = re.compile(r"""(?:path|file|filename|title)=(?:"([^"]+)"|'([^']+)'|(\S+))""")
_HIDDEN = frozenset({".git", "__pycache__"})
"""Folders that are not shown."""


@dataclass(frozen=True, kw_only=True)
class FileBlock:
    """A file as a block of text."""

    path: str
    text: str

    def __str__(self) -> str:
        runs = re.findall(r"^`{3,}", self.text, re.MULTILINE)
        fence = "`" * max(3, *(len(run) + 1 for run in runs), 0)
        end = "" if self.text.endswith("\n") else "\n"
        return f"{fence}path={self.path}\n{self.text}{end}{fence}"


def read_blocks(text: str) -> Iterator[FileBlock]:
    """Yield the files that a text has: blocks whose info string has `path=`, or ends with what looks like a path.

    A block without an end is none: what was cut is not written. Its end is looked for once, and not again for each
    of the blocks that a model which repeats itself opens.
    """
    lines = text.split("\n")
    endless: set[str] = set()
    at = 0
    while at < len(lines):
        opening = _FENCE.match(lines[at])
        at += 1
        if not opening or opening[0].startswith(tuple(endless)):
            continue
        end = next((number for number in range(at, len(lines)) if _closes(lines[number], opening[0])), None)
        if end is None:
            endless.add(opening[0])
            continue
        if path := _path_in(lines[at - 1][opening.end() :]):
            yield FileBlock(path=path, text="".join(f"{line}\n" for line in lines[at:end]))
        at = end + 1


def write_block(block: FileBlock, workspace: Workspace) -> str | None:
    """Write a file whole. Return why it was not: it leads out of the workspace, or is no file."""
    try:
        if os.path.lexists(workspace.path / block.path) and not workspace.is_file(block.path):
            return "leads out of the folder, or is no file"
        workspace.write_text(block.path, block.text)
    except TrialError:
        return "leads out of the folder"
    except (OSError, ValueError) as exc:  # whatever a model may take for a path
        return str(exc)
    return None


def show_files(workspace: Workspace) -> str:
    """Return a workspace's text files as blocks; the rest, and what is too much, by their names."""
    shown: list[str] = []
    left_out: list[str] = []
    room = MOST_SHOWN
    for path in _files(workspace.path):
        content = workspace.read_bytes(path, limit=room)
        try:
            text = None if content is None or b"\0" in content else content.decode()
        except UnicodeDecodeError:
            text = None
        if text is None:
            left_out.append(path)
            continue
        room -= len(content or b"")
        shown.append(str(FileBlock(path=path, text=text)))
    names = [f"Not shown: {', '.join(left_out)}"] if left_out else []
    return "\n\n".join([*shown, *names]) or "The folder is empty."


def _files(root: Path) -> Iterator[str]:
    for folder, inner, files in os.walk(root):
        inner[:] = sorted(name for name in inner if name not in _HIDDEN)
        for name in sorted(files):
            yield os.path.relpath(os.path.join(folder, name), root)


def _closes(line: str, fence: str) -> bool:
    return line.startswith(fence) and not line.lstrip("`~").strip()


def _path_in(info: str) -> str | None:
    if named := _NAMED.search(info):
        return next(filter(None, named.groups()))
    last = info.split()[-1] if info.split() else ""
    return last if "." in last or "/" in last else None
