"""What an installed agent needs to see of a machine beside its own folder: found by looking where its files lead."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from benchflow.installing.runtimes import Runtime, folders_behind, is_of_system, outermost

_SHEBANG_LIMIT = 256


def needed_folders(agent: Path, runtimes: Sequence[Runtime], programs: Sequence[Path]) -> list[Path]:
    """Return the folders and files outside of the agent's folder that it cannot do without.

    Those are where its links and the first lines of its scripts lead, the Python behind a virtual environment, its
    runtimes, and the programs of an unregistered command.
    """
    found = [*_leads(agent), *(runtime.path for runtime in runtimes), *programs]
    folders = {folder for path in found for folder in folders_behind(path)}
    folders |= {path.parent for path in programs if _is_own_folder(path.parent)}
    return outermost(folder for folder in folders if not folder.is_relative_to(agent) and not is_of_system(folder))


def _leads(agent: Path) -> Iterator[Path]:
    """Yield the paths outside of the agent's folder to which something in it leads."""
    for above, folders, files in os.walk(agent):
        at = Path(above)
        for name in (*folders, *files):
            path = at / name
            if path.is_symlink() and _leads_out(path, agent):
                yield path
            elif at.name == "bin" and name in files and (interpreter := _interpreter(path)):
                yield interpreter
        if "pyvenv.cfg" in files:
            yield from _base_python(at / "pyvenv.cfg")


def _leads_out(link: Path, agent: Path) -> bool:
    return not Path(os.path.normpath(link.parent / os.readlink(link))).is_relative_to(agent)


def _interpreter(script: Path) -> Path | None:
    """Return what stands after `#!`, if it is a path."""
    try:
        with script.open("rb") as file:
            first = file.readline(_SHEBANG_LIMIT)
    except OSError:
        return None
    words = first[2:].split() if first.startswith(b"#!") else []
    return Path(os.fsdecode(words[0])) if words and words[0].startswith(b"/") else None


def _base_python(settings: Path) -> Iterable[Path]:
    """Return the Python that a virtual environment was made with."""
    for line in settings.read_text(errors="replace").splitlines():
        key, _, value = line.partition("=")
        if key.strip() == "home":
            return [Path(value.strip(), "python3")]
    return []


def _is_own_folder(folder: Path) -> bool:
    """Say whether a folder is there for a program, and is not one in which a user keeps everything."""
    return folder.name != "bin" and folder not in (Path("/"), Path("/tmp"), Path.home())
