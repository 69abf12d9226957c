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
_BLOCK = re.compile(
    r"^(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^\n]*)\n(?P<body>.*?)^(?P=fence)[`~]*[ \t]*$", re.MULTILINE | re.DOTALL
)
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
    """Yield the files that a text has: blocks whose info string has `path=`, or ends with what looks like a path."""
    for block in _BLOCK.finditer(text):
        path = _path_in(block["info"])
        if path:
            yield FileBlock(path=path, text=block["body"])


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


def _path_in(info: str) -> str | None:
    if named := _NAMED.search(info):
        return next(filter(None, named.groups()))
    last = info.split()[-1] if info.split() else ""
    return last if "." in last or "/" in last else None
