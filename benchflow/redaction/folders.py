"""Takes known secrets out of the files of a folder that is kept: what an agent wrote may hold a key that it was given.

What only has the shape of a credential stays: such files are what the agent was asked for.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from benchflow.redact import KNOWN, Redactor, mark

BLOCK = 8 << 20
"""Bytes that are looked at at once."""


def clean_folder(folder: Path, redactor: Redactor) -> None:
    """Replace known secrets in all regular files below `folder`. Links are not followed; times and modes are kept."""
    for root, _, names in os.walk(folder):
        for name in names:
            path = Path(root, name)
            if path.is_file() and not path.is_symlink():
                _clean(path, redactor)


def _clean(path: Path, redactor: Redactor) -> None:
    with path.open("rb") as file:
        if not any(found for _, found in _blocks(file, redactor)):
            return
        file.seek(0)
        draft = path.with_name(path.name + ".draft")
        with draft.open("wb") as clean:
            for data, found in _blocks(file, redactor):
                clean.write(data)
                redactor.counts[KNOWN] += found
    before = path.stat()
    draft.chmod(before.st_mode)
    os.utime(draft, ns=(before.st_atime_ns, before.st_mtime_ns))
    os.replace(draft, path)


def _blocks(file: BinaryIO, redactor: Redactor) -> Iterator[tuple[bytes, int]]:
    """Return the file's bytes without the secrets, a block at a time, with the number of those replaced in each."""
    held = b""
    while True:
        block = file.read(BLOCK)
        data = held + block
        spans = [span for span in redactor.find(data) if span.category == KNOWN]
        until = len(data) if not block else max(0, len(data) - redactor.longest)  # a secret may begin in what follows
        until = next((span.start for span in spans if span.start < until < span.end), until)
        pieces, at = [], 0
        done = [span for span in spans if span.end <= until]
        for span in done:
            pieces += [data[at : span.start], mark(KNOWN)]
            at = span.end
        yield b"".join((*pieces, data[at:until])), len(done)
        held = data[until:]
        if not block:
            return
