"""A scenario: the task an agent is given, the workspace it finds, the checks of what it leaves, and a solution.

Finds and reads scenarios, also in git repositories; runs nothing.
"""

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import orjson

from benchflow.checks import Check, FileEquals
from benchflow.contracts import Limits
from benchflow.errors import InputError
from benchflow.model import parse, suggest
from benchflow.scenario_file import RunStep, ScenarioText, Solution, Tools, WriteStep
from benchflow.strict import read_toml
from benchflow.workspaces.snapshot import BYTECODE

__all__ = ["RunStep", "Scenario", "Solution", "Tools", "WriteStep", "find_scenarios", "load_scenario"]

SCENARIO_FILE = "scenario.toml"
BUNDLED = Path(__file__).parent / "scenarios"


class Scenario(ScenarioText):
    """A scenario as it was read, with where it is and what it is."""

    folder: Path
    """Holds `workspace/` and `checks/`, if there are any."""
    source: Path
    """The file that was read."""
    digest: str
    """SHA-256 over everything that decides how a trial goes and is scored."""

    @property
    def budget(self) -> Limits:
        """The scenario's own limits of a trial."""
        own = self.limits.model_dump()
        return Limits(**{**own, "timeout_s": self.timeout_s if self.limits.timeout_s is None else own["timeout_s"]})

    @property
    def workspace_folder(self) -> Path | None:
        """The folder whose files are copied into the workspace; None: there is none."""
        return self._part("workspace")

    @property
    def checks_folder(self) -> Path | None:
        """The hidden folder that only checks see; None: there is none."""
        return self._part("checks")

    def _part(self, name: str) -> Path | None:
        if self.source.name != SCENARIO_FILE:
            return None  # a scenario of one file has nothing beside it
        part = self.folder / name
        return part if part.is_dir() else None


def load_scenario(path: Path) -> Scenario:
    """Read a scenario: a folder with `scenario.toml`, or one `.toml` file. Raises InputError for a mistake in it."""
    source = path / SCENARIO_FILE if path.is_dir() else path
    read = parse(ScenarioText, read_toml(source), source)
    known = {name: getattr(read, name) for name in ScenarioText.model_fields}
    known["prompts"] = read.prompts or (read.prompt,)
    known["checks"] = tuple(_named(check, number) for number, check in enumerate(read.checks, start=1))
    found = Scenario.model_construct(**known, folder=source.parent.absolute(), source=source, digest="")
    _require_hidden_files(found)
    digest = hashlib.sha256(orjson.dumps(read.model_dump(mode="json", exclude_unset=True), option=orjson.OPT_SORT_KEYS))
    for part in (found.workspace_folder, found.checks_folder):
        for file in () if part is None else files_below(part):
            digest.update(b"\0" + os.fsencode(file.relative_to(found.folder)) + b"\0" + _content_digest(file))
    return found.model_copy(update={"digest": digest.hexdigest()})


def files_below(folder: Path) -> Iterator[Path]:
    """Yield the files of a scenario's folder in order, links to files among them.

    Raises InputError for a link that leads out of the folder, and for what is neither file, folder nor link.
    """
    root = folder.resolve()
    for place, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != BYTECODE)
        for name in sorted([*names, *(name for name in folders if (Path(place) / name).is_symlink())]):
            file = Path(place) / name
            if file.is_symlink() and not Path(os.path.realpath(file)).is_relative_to(root):
                raise InputError(f"{file}: links to {os.readlink(file)}, out of {folder}; put the file itself there")
            if not file.is_symlink() and not file.is_file():
                raise InputError(f"{file}: is no regular file; remove it")
            yield file


def find_scenarios(
    names: Iterable[str], *, tags: Collection[str] = (), exclude: Collection[str] = ()
) -> list[Scenario]:
    """Return the scenarios that are named, each once, in order.

    A name is `all` (the bundled ones), a bundled id, the path of a scenario, or of a folder of many, or a git URL at a
    commit, which is fetched once. With `tags`, only those that have one of them; `exclude` are ids. Raises InputError
    for what is not there, for two scenarios of one id, and where nothing is left.
    """
    found: dict[Path, Scenario] = {}
    for name in names:
        for source in _sources(name):
            if source not in found:
                found[source] = load_scenario(source)
    _refuse_doubles(found.values())
    _refuse_unknown(exclude, [scenario.id for scenario in found.values()])
    chosen = [scenario for scenario in found.values() if scenario.id not in exclude]
    if tags:
        known = {tag for scenario in chosen for tag in scenario.tags}
        chosen = [scenario for scenario in chosen if not known.isdisjoint(tags) and set(tags) & set(scenario.tags)]
        if not chosen:
            raise InputError(f"no scenario has the tag {', '.join(sorted(tags))}; {suggest(sorted(tags)[0], known)}")
    if not chosen:
        raise InputError("no scenario is left; exclude fewer")
    return chosen


def is_scenario_path(name: str) -> bool:
    """Tell whether a name is looked for as a path: it is not `all`, no bundled id and no URL."""
    return name != "all" and "://" not in name and not _is_bundled(name)


def _is_bundled(name: str) -> bool:
    return "/" not in name and (BUNDLED / name / SCENARIO_FILE).is_file()


def _sources(name: str) -> Iterator[Path]:
    if name == "all":
        yield from _below(BUNDLED)
        return
    if _is_bundled(name):
        yield (BUNDLED / name / SCENARIO_FILE).resolve()
        return
    path = _fetched(name) if "://" in name else Path(name).expanduser()
    if path.is_file():
        yield path.resolve()
    elif path.is_dir():
        sources = list(_below(path))
        if not sources:
            raise InputError(f"{path}: holds no scenario; one is a folder with {SCENARIO_FILE}, or a .toml file")
        yield from sources
    else:
        bundled = [source.parent.name for source in _below(BUNDLED)]
        raise InputError(f"there is no scenario `{name}`, as an id or a path; {suggest(name, bundled)}")


def _fetched(url: str) -> Path:
    from benchflow.machine.home import Home
    from benchflow.report.terminal import say
    from benchflow.scenario_sources.fetch import fetch_scenarios  # only who names a URL needs it

    return fetch_scenarios(url, Home.find(os.environ), say)


def _below(folder: Path) -> list[Path]:
    """Return the scenarios in a folder; where it has none in folders, its own .toml files count."""
    sources = sorted(source.resolve() for source in _scenario_files(folder))
    return sources or sorted(source.resolve() for source in folder.glob("*.toml"))


def _scenario_files(folder: Path) -> Iterator[Path]:
    """Find scenario files, but none inside another scenario: its workspace is its own matter."""
    if (folder / SCENARIO_FILE).is_file():
        yield folder / SCENARIO_FILE
        return
    for entry in folder.iterdir():
        if entry.is_dir() and not entry.is_symlink() and not entry.name.startswith("."):
            yield from _scenario_files(entry)


def _refuse_doubles(scenarios: Iterable[Scenario]) -> None:
    seen: dict[str, Path] = {}
    for scenario in scenarios:
        if scenario.id in seen:
            raise InputError(
                f"two scenarios have the id `{scenario.id}`: {seen[scenario.id]} and {scenario.source}; rename one"
            )
        seen[scenario.id] = scenario.source


def _refuse_unknown(exclude: Collection[str], known: Collection[str]) -> None:
    for name in exclude:
        if name not in known:
            raise InputError(f"cannot exclude `{name}`, which is not among the scenarios; {suggest(name, known)}")


def _require_hidden_files(scenario: Scenario) -> None:
    hidden = scenario.checks_folder
    for check in scenario.checks:
        if not isinstance(check, FileEquals) or check.file is None:
            continue
        if hidden is None or not (hidden / check.file).is_file():
            raise InputError(f"{scenario.source}: {check.id}: there is no checks/{check.file} beside it; add it")


def _named(check: Check, number: int) -> Check:
    return check if check.id else check.model_copy(update={"id": f"{check.kind}-{number}"})


def _content_digest(file: Path) -> bytes:
    if file.is_symlink():
        return b"link\0" + os.fsencode(os.readlink(file))
    with file.open("rb") as stream:
        content = hashlib.file_digest(stream, "sha256").digest()
    return (b"program\0" if os.access(file, os.X_OK) else b"file\0") + content
