"""A scratch folder for work that is no run: claimed while it lasts, so that `benchflow gc` leaves it alone."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchflow.machine.home import Home
from benchflow.machine.liveness import claim
from benchflow.workspaces.snapshot import remove_tree


@contextmanager
def scratch_folder(home: Home, name: str) -> Iterator[Path]:
    """Make a folder whose name begins with `name`, and remove it at the end."""
    home.scratch.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=home.scratch))
    try:
        claim(folder)
        yield folder
    finally:
        remove_tree(folder)
