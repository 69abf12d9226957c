"""The paths that a manifest may name."""

from pathlib import Path

from benchflow.model import wrong


def in_home(path: str) -> str:
    """Return a path relative to HOME, and below it, as it is. Raises what a validator raises for any other."""
    if not path or path.startswith(("/", "~", "$")) or ".." in Path(path).parts or Path(path) == Path():
        raise wrong(f"{path!r} is no path relative to HOME, and below it")
    return path
