"""Makes a new agent: one file that serves ACP, and the code that registers it; small, complete, and wired."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from benchflow.errors import InputError
from benchflow.registering.target import NAME
from benchflow.registry import Registry, is_path

Language = Literal["python", "node"]

TEMPLATES = Path(__file__).with_name("agents")
"""A folder for each language."""
PLACEHOLDER = "my-agent"
"""What stands for the name in the templates."""

_FILES: Mapping[Language, tuple[str, ...]] = {
    "python": ("server.py", "register.py"),
    "node": ("server.mjs", "register.py"),
}
_NEEDED: Mapping[Language, str] = {"python": "Python 3.11 or newer", "node": "Node 20 or newer"}


def make_agent(name: str, language: Language, folder: Path) -> Path:
    """Write a new agent's folder into `folder` and return it. Raises InputError if it cannot be, or is there."""
    if not NAME.fullmatch(name) or is_path(name):
        raise InputError(
            f"--scaffold: {name!r} is no name for an agent: letters, digits, dots, hyphens and underscores"
        )
    if name in Registry.open().names():
        raise InputError(f"--scaffold: there is an agent {name!r} already; choose another name")
    made = folder / name
    try:
        made.mkdir(parents=True)
        for file in _FILES[language]:
            text = (TEMPLATES / language / file).read_text(encoding="utf-8")
            (made / file).write_text(text.replace(PLACEHOLDER, name), encoding="utf-8")
    except FileExistsError as exc:
        raise InputError(f"{made}: is there already; choose another name, or remove it") from exc
    except OSError as exc:
        raise InputError(f"{made}: cannot be made: {exc.strerror or exc}") from exc
    return made


def what_now(made: Path, language: Language) -> str:
    """Return what its author does next."""
    return (
        f"it needs {_NEEDED[language]} and nothing else; {made / 'register.py'} says how it is installed and started\n"
        f"measure it: benchflow register ./{made}\n"
        f"run it:     benchflow run ./{made} fix-failing-test"
    )
