"""An agent on its own backend: how its manifest is read without the gateway, and what it is given of the user's own.

Of what it asks of its model nothing is captured; how a row must be read then is decided here too.
"""

import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchflow.errors import InputError
from benchflow.gateway.changing import answer_error
from benchflow.gateway.message import RawRequest, RawResponse
from benchflow.gateway.upstream import TrialContext
from benchflow.manifest import Manifest
from benchflow.network.hosts import Host

OWN_BACKEND = "own-backend"
"""The upstream's name in the rows of such an agent."""
OWN_CHOICE = "agent-default"
"""The model's name in them where the user named none."""

_MODEL = "BENCHFLOW_PROVIDER_MODEL"
_OF_GATEWAY = frozenset(
    {
        "BENCHFLOW_GATEWAY_URL",
        "BENCHFLOW_PROVIDER_API_KEY",
        "BENCHFLOW_PROVIDER_BASE_URL",
        "BENCHFLOW_PROVIDER_NAME",
        "BENCHFLOW_PROVIDER_PROTOCOL",
    }
)
"""Canonical variables that lead to the gateway, or mean nothing without it."""
_VALUE = re.compile(r"\$\{(BENCHFLOW_[A-Z0-9_]+)\}")
_TOKEN = re.compile(r"[A-Za-z0-9_.+/=~-]{20,}")
"""What may be a credential in the file of a login; one has a digit in it, and is no path."""
_READ = 1 << 20
"""Bytes of a file that are searched for credentials."""


@dataclass(frozen=True, kw_only=True)
class OwnBackend:
    """What an agent is hosted with on its own backend."""

    manifest: Manifest
    """The agent's, without all that points it at the gateway."""
    hosts: tuple[Host, ...]
    files: Mapping[str, Path]
    """Path below the trial's HOME → what is copied there."""
    model: str | None
    """The model that it is asked to take, which nobody enforces; None: its own choice."""

    def variables(self, canonical: Mapping[str, str]) -> dict[str, str]:
        """Return the canonical variables that such an agent is given."""
        hidden = _hidden(self.model)
        return {name: value for name, value in canonical.items() if name not in hidden}

    def secrets(self) -> list[str]:
        """Return what looks like a credential in the files."""
        return list(dict.fromkeys(token for path in self.files.values() for token in _tokens(path)))

    def copy_files(self, home: Path) -> None:
        """Copy the files into the fresh HOME of a trial, where they can be read only."""
        for name, source in self.files.items():
            target = home / name
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                if source.is_dir():
                    shutil.copytree(source, target, copy_function=_copy, dirs_exist_ok=True)
                else:
                    _copy(source, target)
            except OSError as exc:  # shutil's own error is one
                raise InputError(f"{self.manifest.place}: [backend] `files`: cannot copy {source}: {exc}") from exc


def read_backend(manifest: Manifest, environ: Mapping[str, str], *, model: str | None = None) -> OwnBackend:
    """Prepare an agent for its own backend. Raises InputError where it declares none, or a file is missing."""
    backend = manifest.backend
    if backend is None:
        raise InputError(
            f"{manifest.place}: the agent declares no [backend], so it has none to run on; leave out --own-backend"
        )
    home = Path(environ.get("HOME", "/"))
    files = {name: home / name for name in backend.files}
    for name, path in files.items():
        if not path.exists():
            raise InputError(
                f"{manifest.place}: [backend] `files` names {name}, and there is no {path}; "
                "log in with the agent's own program first"
            )
    wanted = model or manifest.default_model
    return OwnBackend(
        manifest=_without(manifest, _hidden(wanted)),
        hosts=backend.allowed,
        files=files,
        model=wanted,
    )


def require_gateway(manifest: Manifest) -> None:
    """Refuse an agent that can only run on its own backend. Raises InputError."""
    if manifest.backend is not None and manifest.api_protocol is None:
        raise InputError(
            f"{manifest.place}: {manifest.label} runs on its own backend only: its model calls cannot be captured; "
            "say --own-backend to run it so (ACP log only: no exchanges, no enforced model)"
        )


class NoUpstream:
    """Stands behind the gateway of an agent that is not to use it."""

    name = OWN_BACKEND
    priced_as: str | None = None

    async def send(self, request: RawRequest, context: TrialContext) -> RawResponse:
        """Refuse the request."""
        return answer_error(403, "this session runs on the agent's own backend, not through the gateway")

    async def aclose(self) -> None:
        """Nothing is held."""


def _hidden(model: str | None) -> frozenset[str]:
    """Return the canonical variables that an agent is not given that is asked to take `model`, or none."""
    return _OF_GATEWAY if model else _OF_GATEWAY | {_MODEL}


def _without(manifest: Manifest, hidden: frozenset[str]) -> Manifest:
    """Return the manifest without what needs hidden variables; what [backend] needs of the user's is required."""

    def stays(text: str) -> bool:
        return hidden.isdisjoint(_VALUE.findall(text))

    mapped = {own for name, own in manifest.env_mapping.items() if name in hidden}
    needed = [name for name in manifest.requires_env if name not in mapped]
    own = manifest.backend.env if manifest.backend else ()
    return manifest.model_copy(
        update={
            "api_protocol": None,
            "env_mapping": {name: own for name, own in manifest.env_mapping.items() if name not in hidden},
            "env": {name: text for name, text in manifest.env.items() if stays(text)},
            "home_files": {name: text for name, text in manifest.home_files.items() if stays(text)},
            "prepare_cmd": manifest.prepare_cmd if stays(manifest.prepare_cmd or "") else None,
            "requires_env": tuple(dict.fromkeys((*needed, *own))),
        }
    )


def _copy(source: Path | str, target: Path | str) -> None:
    Path(target).unlink(missing_ok=True)
    shutil.copyfile(source, target)
    Path(target).chmod(0o400)


def _tokens(path: Path) -> Iterator[str]:
    files = sorted(found for found in path.rglob("*") if found.is_file()) if path.is_dir() else [path]
    for file in files:
        with file.open("rb") as content:
            text = content.read(_READ).decode("utf-8", "replace")
        for token in _TOKEN.findall(text):
            if any(character.isdigit() for character in token) and not token.startswith("/"):
                yield token
