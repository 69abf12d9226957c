"""Writes what changed between two snapshots as a unified diff that `git apply` takes.

It is made in this process: neither git nor anything in the workspace has a say in it.
"""

import json
from collections.abc import Iterator, Sequence

from benchflow.workspaces.snapshot import Entry, Snapshot

MAX_DIFF = 1 << 20
"""Characters of a whole diff; what is more is counted, not shown."""

_MANY_LINES = 2_000
"""A change of more lines than this is shown as one block, because comparing them line by line takes too long."""
_GIT_SHOWN = ("HEAD", "config", "packed-refs", "refs/", "hooks/")
"""What of a git repository is shown. The rest, objects and index and logs, says nothing to people."""


def write_diff(before: Snapshot, after: Snapshot) -> str:
    """Return the difference as text; empty if there is none."""
    parts: list[str] = []
    size = left_out = 0
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if not _is_shown(path) or (old and new and old.same_as(new) and old.executable == new.executable):
            continue
        part = "".join(_file_diff(path, old, new))
        if size + len(part) > MAX_DIFF:
            left_out += 1
            continue
        size += len(part)
        parts.append(part)
    if left_out:
        parts.append(f"# {left_out} more changed files are not shown\n")
    return "".join(parts)


def _is_shown(path: str) -> bool:
    inner = path[5:] if path.startswith(".git/") else path.partition("/.git/")[2]
    return not inner or inner.startswith(_GIT_SHOWN)


def _file_diff(path: str, old: Entry | None, new: Entry | None) -> Iterator[str]:
    left, right = _quote(f"a/{path}"), _quote(f"b/{path}")
    yield f"diff --git {left} {right}\n"
    if old is None and new is not None:
        yield f"new file mode {_mode(new)}\n"
    elif new is None and old is not None:
        yield f"deleted file mode {_mode(old)}\n"
    elif old is not None and new is not None and _mode(old) != _mode(new):
        yield f"old mode {_mode(old)}\nnew mode {_mode(new)}\n"
    if old is not None and new is not None and old.same_as(new):
        return
    before, after = _lines(old), _lines(new)
    if before is None or after is None:
        yield f"Binary files {left} and {right} differ ({_size(old)} to {_size(new)})\n"
        return
    if before or after:
        yield f"--- {left if old else '/dev/null'}\n+++ {right if new else '/dev/null'}\n"
        yield from _hunks(before, after)


def _hunks(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    if before and after and len(before) + len(after) <= _MANY_LINES:
        import difflib

        hunks = difflib.unified_diff(before, after)
        next(hunks, None)  # the two lines of the header, which name no files here
        next(hunks, None)
        lines: Iterator[str] = hunks
    else:
        lines = _one_hunk(before, after)
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _one_hunk(before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """Show everything between the common beginning and the common end as replaced."""
    start, shorter = 0, min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    lead, trail = min(start, 3), min(end, 3)
    old = before[start : len(before) - end]
    new = after[start : len(after) - end]
    yield f"@@ -{_span(start - lead, lead + len(old) + trail)} +{_span(start - lead, lead + len(new) + trail)} @@\n"
    yield from (f" {line}" for line in before[start - lead : start])
    yield from (f"-{line}" for line in old)
    yield from (f"+{line}" for line in new)
    yield from (f" {line}" for line in after[len(after) - end : len(after) - end + trail])


def _span(start: int, length: int) -> str:
    return f"{start + 1 if length else start},{length}"


def _lines(entry: Entry | None) -> list[str] | None:
    """Return the text's lines with their newlines. None: it is no text, or was not kept."""
    if entry is None:
        return []
    if entry.kind == "other" or entry.content is None or b"\0" in entry.content:
        return None
    try:
        text = entry.content.decode("utf-8")
    except UnicodeDecodeError:
        return None
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def _mode(entry: Entry) -> str:
    return "120000" if entry.kind == "link" else "100755" if entry.executable else "100644"


def _size(entry: Entry | None) -> str:
    return "nothing" if entry is None else f"{entry.size} bytes"


def _quote(name: str) -> str:
    """Write a name that is no plain text as git does: in double quotes, with escapes."""
    readable = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return readable if readable.isprintable() and '"' not in readable else json.dumps(readable)
