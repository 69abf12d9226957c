"""The agent manifest: data that says how to install, start and route one agent, by a versioned contract."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, StrictBool, field_validator

from benchflow.errors import InputError
from benchflow.installing.versions import Constraint
from benchflow.manifests.backend import Backend
from benchflow.manifests.bridge import BridgeTable
from benchflow.manifests.source import SourceFile, copy_files, digest_files, files_beside, files_of_checkout
from benchflow.model import StrictModel, parse, suggest, wrong
from benchflow.strict import parse_toml, read_toml, unknown_keys, without
from benchflow.tiers import UNMEASURED, ClaimedTier, Declared, Measurement

CONTRACT = (1, 2)
"""Major and minor of the contract that this version of BenchFlow knows."""

BUILT_IN = "built-in"
"""The origin of the manifests that BenchFlow ships."""

ModelFormat = Literal["bare", "provider/model", "registered-provider/model"]


@dataclass(frozen=True)
class Since:
    """Marks a field with the minor of the contract that it came with; without it, the field is of 1.0."""

    minor: int


def _integral(value: Any) -> Any:
    """Take `900.0` for 900, as the public contract's schema does, and no other stand-in for an integer."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(f"must be a whole number, not {value!r}")
    return value


Text = Annotated[str, Field(min_length=1)]
Seconds = Annotated[int, BeforeValidator(_integral), Field(ge=1)]


class Client(StrictModel):
    """What the client offers to this agent."""

    fs: StrictBool = False
    """Reading and writing text files of the workspace."""
    terminal: StrictBool = False
    """Running commands in the workspace."""
    handshake_timeout_s: Seconds = 60
    """For each request before the first prompt."""


class Permissions(StrictModel):
    """How this agent's permission requests are answered, where the user does not say otherwise."""

    auto_approve: StrictBool = True
    allowed_tools: tuple[str, ...] | None = None
    """Tool names or kinds that are allowed; None: `auto_approve` alone decides."""


class Quirks(StrictModel):
    """Where the agent is not what the general rules expect."""

    auxiliary: tuple[str, ...] = ()
    """Regular expressions; a model request whose texts match one is no main request."""
    tools_in_text: StrictBool = False
    """It writes its tool calls into the text, and offers no tools to the model's API."""
    sends_key: StrictBool = True
    """It sends the key that it was given."""

    @field_validator("auxiliary")
    @classmethod
    def _compiles(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as exc:
                raise wrong(f"{pattern!r} is no regular expression: {exc}") from exc
        return patterns


class Runtimes(StrictModel):
    """Language runtimes that install and launch need on PATH: `3.12`, `>=22`, `>=3.12,<3.14`."""

    python: Text | None = None
    node: Text | None = None

    @field_validator("python", "node")
    @classmethod
    def _constrains(cls, text: str | None) -> str | None:
        try:
            if text is not None:
                Constraint.parse(text)
        except ValueError as exc:
            raise wrong(str(exc)) from exc
        return text


class ManifestFields(StrictModel):
    """The fields of a manifest file."""

    contract_version: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$")]
    """The version of manifest, ACP and provider variables that it was written for."""
    name: Text
    """Unique id."""
    install_cmd: Text
    """Idempotent bash, run once in the agent's own folder."""
    launch_cmd: Text
    """Bash that starts the process which speaks ACP on stdio."""
    description: str | None = None
    protocol: Literal["acp"] = "acp"
    api_protocol: str | None = None
    """The dialect that its model calls speak; None: they are not routed."""
    install_timeout: Seconds = 900
    env_mapping: dict[str, str] = Field(default_factory=dict)
    """Canonical variable → the agent's own name for it."""
    acp_model_format: ModelFormat = "bare"
    """How the model's name is written over ACP."""
    supports_acp_set_model: StrictBool = True
    """False: the model is delivered at launch."""
    default_model: str | None = None
    skill_paths: tuple[str, ...] = ()
    """Where the agent looks for skills; `$HOME` may occur."""
    home_dirs: tuple[str, ...] = ()
    """Folders to be made below HOME."""
    requires_env: tuple[str, ...] = ()
    """Variables without which it cannot run."""
    aliases: tuple[str, ...] = ()

    version: Annotated[str | None, Since(1)] = None
    """The agent's version that this manifest installs."""
    homepage: Annotated[str | None, Since(1)] = None
    license: Annotated[str | None, Since(1)] = None
    claimed_tier: Annotated[ClaimedTier | None, Since(1)] = None
    maintained_by: Annotated[str | None, Since(1)] = None
    """`benchflow`: the adapter lives, or is pinned, here."""
    source: Annotated[Text | None, Since(1)] = None
    """A local checkout, relative to the manifest, whose files are installed; None: the files beside the manifest."""
    env: Annotated[dict[str, str], Since(1)] = Field(default_factory=dict)
    """Variables of the agent's process; `${BENCHFLOW_…}` expands."""
    home_files: Annotated[dict[str, str], Since(1)] = Field(default_factory=dict)
    """Path below HOME → text; `${BENCHFLOW_…}` expands."""
    prepare_cmd: Annotated[Text | None, Since(1)] = None
    """Bash, run in the trial's HOME before launch; `${BENCHFLOW_…}` expands."""
    client: Annotated[Client, Since(1)] = Client()
    permissions: Annotated[Permissions, Since(1)] = Permissions()
    quirks: Annotated[Quirks, Since(1)] = Quirks()
    runtimes: Annotated[Runtimes, Since(1)] = Runtimes()
    variants: Annotated[tuple[Text, ...], Since(1)] = ()
    """Names that `name:variant` may choose; the agent reads the choice in `BENCHFLOW_AGENT_VARIANT`."""
    programs: Annotated[tuple[Path, ...], Since(2)] = ()
    """Executables and files of this machine that `launch_cmd` needs as they are: absolute paths."""
    backend: Annotated[Backend | None, Since(2)] = None
    """A backend of the agent's own; None: it has none, or it is not known."""
    instruction_files: Annotated[tuple[Text, ...], Since(2)] = ()
    """Files below HOME in which it looks for instructions of the user's; `$HOME` may occur."""
    bridge: Annotated[BridgeTable | None, Since(2)] = None
    """A directory of the agent's own, in which it works; None: it works in that of its session."""


class Manifest(ManifestFields):
    """A manifest, with what is known of where it came from. A quirk becomes a field above, never an `if` elsewhere."""

    digest: str
    """SHA-256 of the manifest and of the files that are installed with it."""
    path: Path | None = None
    """The file; None: registered by code, or a command line."""
    origin: str = "path"
    """Which place of the registry it was found in."""
    warnings: tuple[str, ...] = ()
    """What its author should know; the command line prints it on stderr."""
    files: dict[str, str] = Field(default_factory=dict)
    """Files to install beside it, for one that was registered by code."""
    variant: str | None = None
    """The chosen one of `variants`."""
    local_evidence: Path | None = None
    """Where evidence stands, or would, that was measured on this machine."""

    @property
    def place(self) -> str:
        """The manifest's name in messages: its path, or what stands for it."""
        return str(self.path) if self.path else f"agent {self.name!r} ({self.origin})"

    @property
    def label(self) -> str:
        """The name under which it stands in rows: `name`, or `name:variant`."""
        return f"{self.name}:{self.variant}" if self.variant else self.name

    @cached_property
    def measurement(self) -> Measurement:
        """Its tier, by the newest evidence that is not stale. Nothing is measured without evidence."""
        return self._measured[0]

    @property
    def evidence_problems(self) -> tuple[str, ...]:
        """What is wrong with evidence that cannot be read."""
        return self._measured[1]

    @cached_property
    def _measured(self) -> tuple[Measurement, tuple[str, ...]]:
        places = [place for place in (self.own_evidence, self.local_evidence) if place and place.is_file()]
        if not places:
            return UNMEASURED, ()
        from benchflow.evidence import measure  # its models are built only where there is any evidence

        return measure(self.declared, self.digest, self.version, places)

    @property
    def declared(self) -> Declared:
        """What its tier depends on beside evidence."""
        return Declared(
            routed=self.api_protocol is not None,
            backend=self.backend is not None,
            maintained=self.origin == BUILT_IN and self.maintained_by == "benchflow",
        )

    @property
    def own_evidence(self) -> Path | None:
        """Where evidence stands that belongs to the manifest; None: it has no file."""
        return self.path.parent / "evidence.json" if self.path else None

    @property
    def tier(self) -> str:
        return self.measurement.tier

    def with_variant(self, variant: str) -> Self:
        """Choose a variant. Raises InputError if the manifest does not have it."""
        if variant not in self.variants:
            raise InputError(f"{self.place}: has no variant {variant!r}; {suggest(variant, self.variants)}")
        return self.model_copy(update={"variant": variant})

    def source_files(self) -> list[SourceFile]:
        """Return the files on this machine that belong to the agent."""
        if self.path is None:
            return []
        return files_of_checkout(self.path, self.source) if self.source else files_beside(self.path)

    def copy_into(self, folder: Path) -> None:
        """Copy all files of the agent into `folder`."""
        copy_files(self.source_files(), folder)
        for name, text in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)


def load_manifest(path: Path | str, *, origin: str = "path") -> Manifest:
    """Read a manifest from its file or its folder. Raises InputError naming file, key or line, and remedy."""
    file = Path(path).expanduser().absolute()
    if file.is_dir():
        file = file / "manifest.toml"
    if not file.is_file():
        raise InputError(f"{file}: there is no such manifest")
    return manifest_of(read_toml(file), file, origin=origin)


def parse_manifest(content: bytes, path: Path, *, origin: str) -> Manifest:
    """Make a manifest of a file's content, already read."""
    return manifest_of(parse_toml(content, str(path)), path, origin=origin)


def manifest_of(data: Mapping[str, Any], path: Path, *, origin: str) -> Manifest:
    """Make a manifest of the parsed file at `path`."""
    fields, warnings = _read_fields(data, str(path))
    manifest = _whole(fields, path=path, origin=origin, warnings=warnings, digest="")
    return manifest.model_copy(update={"digest": digest_files(manifest.source_files())})


def manifest_of_code(
    fields: Mapping[str, Any],
    *,
    origin: str,
    files: Mapping[str, str] | None = None,
) -> Manifest:
    """Make a manifest that has no file. Raises InputError as for a file."""
    data = {"contract_version": f"{CONTRACT[0]}.{CONTRACT[1]}", **fields}
    known, warnings = _read_fields(data, f"agent {fields.get('name', '?')!r} ({origin})")
    for name in files or {}:
        if not is_inside(name):
            raise InputError(f"agent {known.name!r} ({origin}): `files` has {name!r}, outside of the agent's folder")
    canonical = json.dumps([known.model_dump(mode="json"), dict(files or {})], sort_keys=True)
    digest = hashlib.sha256(canonical.encode()).hexdigest()
    return _whole(known, origin=origin, warnings=warnings, digest=digest, files=dict(files or {}))


def is_inside(name: str) -> bool:
    """Say whether a relative path stays below the folder that it starts from."""
    return bool(name) and not name.startswith("/") and ".." not in Path(name).parts and Path(name) != Path()


def _whole(fields: ManifestFields, **context: Any) -> Manifest:
    return Manifest.model_construct(**{name: getattr(fields, name) for name in ManifestFields.model_fields}, **context)


def _read_fields(data: Mapping[str, Any], place: str) -> tuple[ManifestFields, tuple[str, ...]]:
    minor = _minor(data.get("contract_version"), place)
    unknown = list(unknown_keys(ManifestFields, data))
    known = dict(data)
    warnings: list[str] = []
    if unknown and minor <= CONTRACT[1]:
        raise InputError(f"{place}: {'; '.join(map(str, unknown))}")
    for key in unknown:
        known = without(known, key.path)
        warnings.append(f"{place}: {key}; ignored, because the manifest is of a newer contract ({CONTRACT[0]}.{minor})")
    fields = parse(ManifestFields, known, place)
    _check_paths(fields, place)
    return fields, (*warnings, *_too_early(known, minor, place))


def _minor(version: Any, place: str) -> int:
    """Return the contract's minor. Raises InputError for another major, or where it cannot be told."""
    if not isinstance(version, str) or not re.fullmatch(r"[0-9]+\.[0-9]+(\.[0-9]+)?", version):
        found = "is missing" if version is None else f"should be a text like '{CONTRACT[0]}.0', not {version!r}"
        raise InputError(f"{place}: `contract_version` {found}")
    major, minor = (int(part) for part in version.split(".")[:2])
    if major != CONTRACT[0]:
        raise InputError(
            f"{place}: `contract_version` is {version}, and this BenchFlow knows {CONTRACT[0]}.x; "
            + ("upgrade BenchFlow" if major > CONTRACT[0] else "update the manifest")
        )
    return minor


def _too_early(data: Mapping[str, Any], minor: int, place: str) -> tuple[str, ...]:
    """Warn of fields that other readers of the stated contract would refuse."""
    came_with = {
        key: mark.minor
        for key in data
        for mark in ManifestFields.model_fields[key].metadata
        if isinstance(mark, Since) and mark.minor > minor
    }
    if not came_with:
        return ()
    keys = ", ".join(f"`{key}`" for key in came_with)
    needed = f"{CONTRACT[0]}.{max(came_with.values())}"
    return (f'{place}: {keys} came with a newer contract; say contract_version = "{needed}"',)


def _check_paths(fields: ManifestFields, place: str) -> None:
    for name in fields.home_files:
        if not is_inside(name):
            raise InputError(f"{place}: `home_files` has {name!r}; its paths are relative to HOME, and stay below it")
