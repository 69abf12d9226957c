"""Agents that are registered by code: by packages that are installed, and by a file `register.py` that a user names."""

import runpy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchflow.errors import InputError
from benchflow.manifest import Manifest, manifest_of_code
from benchflow.manifests.levels import Claim, Problem

ENTRY_POINTS = "benchflow.agents"
"""The entry point group of packages that bring agents: a module, or a callable, that calls `register_agent`."""
CODE_FILE = "register.py"
"""What a folder has that is an agent by code."""

_registered: list[Manifest] = []
_loaded: dict[str, Problem | None] = {}
"""The entry points that were loaded, once in a process, and what became of them."""
_origin = "code"


class CodeLevel:
    """The agents that were registered by code, those of installed packages included."""

    def claims(self, name: str | None) -> Iterator[Claim | Problem]:
        yield from _load_entry_points()
        for manifest in _registered:
            yield Claim(
                name=manifest.name,
                aliases=manifest.aliases,
                version=manifest.version,
                place=manifest.place,
                load=lambda found=manifest: found,
            )


def register_agent(
    name: str,
    install_cmd: str,
    launch_cmd: str,
    protocol: str = "acp",
    *,
    api_protocol: str | None = None,
    env_mapping: Mapping[str, str] | None = None,
    acp_model_format: str = "bare",
    requires_env: Sequence[str] = (),
    files: Mapping[str, str | Path] | None = None,
    **fields: Any,
) -> Manifest:
    """Register an agent that has no manifest file. Other fields of a manifest may be given by their names.

    `files` are put into the agent's folder before its install: name → text, or the path of a file to copy. Raises
    InputError for a field that is wrong, and for a name that is taken by code already.
    """
    given = dict(fields)
    given |= {"name": name, "install_cmd": install_cmd, "launch_cmd": launch_cmd, "protocol": protocol}
    given |= {"env_mapping": dict(env_mapping or {}), "requires_env": list(requires_env)}
    given |= {"acp_model_format": acp_model_format}
    if api_protocol is not None:
        given["api_protocol"] = api_protocol
    texts = {key: value.read_text() if isinstance(value, Path) else value for key, value in (files or {}).items()}
    manifest = manifest_of_code(given, origin=_origin, files=texts)
    for other in _registered:
        taken = {other.name, *other.aliases} & {manifest.name, *manifest.aliases}
        if taken and other.digest != manifest.digest:
            raise InputError(f"the agent name {sorted(taken)[0]!r} is claimed twice: {other.place}, {manifest.place}")
        if taken:
            return other
    _registered.append(manifest)
    return manifest


def code_file(path: Path) -> Path | None:
    """Return the file that registers an agent at this path: itself, or that of the folder, if it has no manifest."""
    if path.is_dir():
        code = path / CODE_FILE
        return code if code.is_file() and not (path / "manifest.toml").exists() else None
    return path if path.suffix == ".py" and path.is_file() else None


def load_code(file: Path) -> Manifest:
    """Run a file that registers one agent, and return that, which is registered for nobody else.

    Raises InputError, naming the file, for whatever goes wrong in it.
    """
    global _registered, _origin
    before = _registered, _origin
    _registered, _origin = [], str(file)
    try:
        runpy.run_path(str(file), run_name=file.stem)
        found = _registered
    except InputError:
        raise
    except (Exception, SystemExit) as exc:
        raise InputError(f"{file}: {type(exc).__name__}: {exc}; correct it, and try again") from exc
    finally:
        _registered, _origin = before
    if len(found) != 1:
        names = ", ".join(manifest.name for manifest in found) or "none"
        raise InputError(f"{file}: should register one agent by `register_agent(...)`, and registers {names}")
    return found[0]


def _load_entry_points() -> Iterator[Problem]:
    """Load every entry point that was not loaded yet, and yield those that failed."""
    global _origin
    from importlib.metadata import entry_points

    for point in entry_points(group=ENTRY_POINTS):
        key = f"{point.name} = {point.value}"
        if key not in _loaded:
            _loaded[key] = None
            _origin = f"entry point {key}"
            try:
                if callable(loaded := point.load()):
                    loaded()
            except Exception as exc:  # noqa: BLE001 - foreign code: its bug must not take the other agents away
                message = f"entry point {key}: {type(exc).__name__}: {exc}; fix or uninstall that package"
                _loaded[key] = Problem(name=point.name, message=message)
            finally:
                _origin = "code"
        if problem := _loaded[key]:
            yield problem
