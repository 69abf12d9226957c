"""What a user wants to register: found, or made, and not yet stored."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchflow.errors import InputError
from benchflow.manifest import CONTRACT, Manifest, ManifestFields, load_manifest
from benchflow.manifests.coded import code_file, load_code
from benchflow.manifests.levels import Entry
from benchflow.manifests.unregistered import manifest_of_command
from benchflow.registering.public import GENERIC_ENV, manifest_text, read_entry
from benchflow.registering.writing import write_manifest
from benchflow.registry import Registry, is_path

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
"""A name that is also a folder's."""

Kind = Literal["path", "known", "made"]
"""path: a manifest of the user's. known: one of the registry. made: one that was made here, of an entry or command."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """An agent to be registered."""

    manifest: Manifest
    kind: Kind


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What stands on the command line."""

    target: str | None = None
    source: str | None = None
    """`FILE#id` of a public registry's document."""
    command: str | None = None
    name: str | None = None
    """The name of the agent that `command` starts, or another one for what `source` names."""
    agents_dir: Path | None = None


def find_target(wish: Wish, staging: Path, environ: Mapping[str, str] = os.environ) -> Target:
    """Find the manifest, or make it in a folder below `staging`.

    Raises InputError for what is not there, not valid, or called as another agent is.
    """
    given = [value for value in (wish.target, wish.source, wish.command) if value is not None]
    if len(given) != 1:
        raise InputError("name one agent to register: TARGET, --from FILE#id, or --command CMD --name NAME")
    if wish.name is not None and wish.target is not None:
        raise InputError("--name goes with --command or --from; a manifest has a name of its own")
    registry = Registry.open(agents_dir=wish.agents_dir, environ=environ)
    if wish.target is not None:
        return _named(wish.target, registry, staging)
    name, text = _of_entry(wish) if wish.source is not None else _of_command(wish, environ)
    target = Target(manifest=_staged(text, staging / name), kind="made")
    refuse_collision(target.manifest, registry)
    return target


def _named(text: str, registry: Registry, staging: Path) -> Target:
    if not is_path(text):
        return Target(manifest=registry.find(text), kind="known")
    code = code_file(Path(text).expanduser().absolute())
    manifest = load_manifest(text) if code is None else load_code(code)
    _check_name(manifest.name, manifest.place)
    if code is not None:
        manifest = _as_data(manifest, staging / manifest.name, code)
    refuse_collision(manifest, registry)
    return Target(manifest=manifest, kind="path" if code is None else "made")


def _as_data(manifest: Manifest, folder: Path, code: Path) -> Manifest:
    """Write down what code has registered, with its files, as it is to be found from now on."""
    known = {key for key in ManifestFields.model_fields if getattr(manifest, key) is not None}
    fields = manifest.model_dump(mode="json", include=known, exclude_defaults=True, exclude_none=True)
    manifest.copy_into(folder)
    return _staged(write_manifest(fields, comment=f"Made by `benchflow register` of {code.name}."), folder)


def _of_entry(wish: Wish) -> tuple[str, str]:
    """Return name and manifest of a public registry's entry."""
    assert wish.source is not None
    entry = read_entry(wish.source)
    if wish.name is not None:
        entry = {**entry, "id": wish.name}
    _check_name(str(entry["id"]), f"--from {wish.source}")
    return str(entry["id"]), manifest_text(entry, source=wish.source)


def _of_command(wish: Wish, environ: Mapping[str, str]) -> tuple[str, str]:
    """Return name and manifest of an agent that is a command of this machine."""
    assert wish.command is not None
    if wish.name is None:
        raise InputError("--command: say with --name what the agent is to be called")
    _check_name(wish.name, "--name")
    made = manifest_of_command(wish.command, cwd=Path.cwd(), environ=environ, name=wish.name)
    fields = {
        "contract_version": f"{CONTRACT[0]}.{CONTRACT[1]}",
        "name": made.name,
        "api_protocol": "openai-completions",
        "install_cmd": made.install_cmd,
        "launch_cmd": made.launch_cmd,
        "programs": [str(program) for program in made.programs],
        "env": GENERIC_ENV,
    }
    comment = (
        "Made by `benchflow register --command`. Nothing said where the agent's model calls go:\n"
        "[env] has the variables that most agents know. Correct it, and api_protocol, where the probe says so."
    )
    return made.name, write_manifest(fields, comment=comment)


def _staged(text: str, folder: Path) -> Manifest:
    """Write a manifest that was made here, and read it as any other."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "manifest.toml").write_text(text)
    return load_manifest(folder, origin="user")


def _check_name(name: str, place: str) -> None:
    if not NAME.fullmatch(name):
        raise InputError(f"{place}: {name!r} is no name for an agent: letters, digits, dots, hyphens and underscores")


def refuse_collision(manifest: Manifest, registry: Registry) -> None:
    """Raise InputError if another agent is called so; the user's own manifest of that name may be replaced."""
    for name in (manifest.name, *manifest.aliases):
        try:
            other = registry.look_up(name)
        except InputError:
            continue
        if isinstance(other, Entry) or other.path is None or not _same(other, manifest):
            raise InputError(
                f"{manifest.place}: the name {name!r} is taken by {other.path or other.origin}; choose another name"
            )


def _same(other: Manifest, manifest: Manifest) -> bool:
    """Whether it is the agent that was registered before, or the very same file."""
    if other.origin == "user":
        return other.name == manifest.name
    return other.path is not None and manifest.path is not None and other.path.samefile(manifest.path)
