"""What an agent is started with: its environment, the files of its HOME, and its command.

Pure but for `write_home`. The environment is built from nothing, so that no setting of the user's machine (registries,
proxies, `NODE_OPTIONS`) reaches an agent unless its manifest names it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchflow.errors import InputError
from benchflow.manifest import Manifest, is_inside
from benchflow.model import suggest

_VARIABLE = re.compile(r"\$\{(BENCHFLOW_[A-Z0-9_]+)\}")
_HOME = re.compile(r"^(\$HOME|\$\{HOME\}|~)/")

_PREPARED = """\
(cd "$HOME" && exec bash -c "$1") </dev/null >&2 || { echo "prepare_cmd failed with status $?" >&2; exit 1; }
exec bash -c "$2"
"""


@dataclass(frozen=True, kw_only=True)
class LaunchValues:
    """What a trial tells its agent. Paths are as the agent sees them."""

    base_url: str
    """Of the gateway, with the path that the agent's dialect expects."""
    gateway_url: str
    """Of the gateway alone, for an agent that may speak any of several dialects."""
    api_key: str
    """The trial's key, never the real one."""
    model: str
    provider: str
    """The provider's name, which some agents put before the model's."""
    agent_dir: str
    home: str
    workspace: str
    python: str
    """The interpreter that BenchFlow runs on."""


def canonical_variables(manifest: Manifest, values: LaunchValues) -> dict[str, str]:
    """Return the variables by which every agent may learn what it needs to know."""
    known = {
        "BENCHFLOW_PROVIDER_BASE_URL": values.base_url,
        "BENCHFLOW_GATEWAY_URL": values.gateway_url,
        "BENCHFLOW_PROVIDER_API_KEY": values.api_key,
        "BENCHFLOW_PROVIDER_MODEL": values.model,
        "BENCHFLOW_PROVIDER_NAME": values.provider,
        "BENCHFLOW_PROVIDER_PROTOCOL": manifest.api_protocol,
        "BENCHFLOW_AGENT_DIR": values.agent_dir,
        "BENCHFLOW_AGENT_HOME": values.home,
        "BENCHFLOW_AGENT_VERSION": manifest.version,
        "BENCHFLOW_AGENT_VARIANT": manifest.variant,
        "BENCHFLOW_WORKSPACE": values.workspace,
        "BENCHFLOW_PYTHON": values.python,
    }
    return {name: value for name, value in known.items() if value is not None}


def base_environment(*, path: str, home: str, tmp: str) -> dict[str, str]:
    """Return what every process of a trial is given, the same on every machine."""
    return {
        "PATH": path,
        "HOME": home,
        "TMPDIR": tmp,
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "USER": "agent",
        "TERM": "dumb",
        "PYTHONHASHSEED": "0",
    }


def agent_environment(
    manifest: Manifest, variables: Mapping[str, str], *, path: str, tmp: str, environ: Mapping[str, str]
) -> dict[str, str]:
    """Return the agent's whole environment; of the user's own, `environ`, it has only what `requires_env` names.

    `variables` are the canonical ones. Raises InputError for a required variable that is not set.
    """
    renamed = {own: variables[name] for name, own in manifest.env_mapping.items() if name in variables}
    return {
        **base_environment(path=path, home=variables["BENCHFLOW_AGENT_HOME"], tmp=tmp),
        **required_values(manifest, environ),
        **renamed,
        **_expanded(manifest, "env", manifest.env, variables),
        **variables,
    }


def required_values(manifest: Manifest, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables of the user's environment that the agent needs and that the manifest does not set itself.

    They may be secrets. Raises InputError that names the missing ones.
    """
    given = {*manifest.env_mapping.values(), *manifest.env}
    names = [name for name in manifest.requires_env if name not in given]
    missing = [name for name in names if not environ.get(name)]
    if missing:
        own = manifest.backend.env if manifest.backend else ()
        field = "[backend] `env`" if set(missing) <= set(own) else "`requires_env`"
        raise InputError(
            f"{manifest.place}: {field} names {', '.join(missing)}, which "
            f"{'is' if len(missing) == 1 else 'are'} not set; set it in the environment that BenchFlow is started from"
        )
    return {name: environ[name] for name in names}


def expand(text: str, variables: Mapping[str, str], place: str) -> str:
    """Replace `${BENCHFLOW_…}`, and nothing else. Raises InputError, naming `place`, for one that is not set."""

    def value(match: re.Match[str]) -> str:
        if (name := match[1]) not in variables:
            raise InputError(f"{place}: there is no variable `{name}`; {suggest(name, variables)}")
        return variables[name]

    return _VARIABLE.sub(value, text)


def home_files(manifest: Manifest, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the files of the agent's HOME: path below it → text."""
    return _expanded(manifest, "home_files", manifest.home_files, variables)


def home_folders(manifest: Manifest) -> list[str]:
    """Return the folders to be made below HOME. Raises InputError for one that would not be."""
    folders = [_HOME.sub("", name) for name in manifest.home_dirs]
    for name, folder in zip(manifest.home_dirs, folders, strict=True):
        if not is_inside(folder):
            raise InputError(f"{manifest.place}: `home_dirs` has {name!r}, which is not below HOME")
    return folders


def below_home(places: Iterable[str]) -> list[str]:
    """Return those of a manifest's places that are below HOME, relative to it. `$HOME` may lead them."""
    relative = [_HOME.sub("", place) for place in places]
    return [place for place in relative if is_inside(place) and not place.startswith("$")]


def write_home(manifest: Manifest, variables: Mapping[str, str], home: Path) -> None:
    """Make the folders and files that the manifest wants in the fresh folder `home`."""
    for folder in home_folders(manifest):
        (home / folder).mkdir(parents=True, exist_ok=True)
    for name, text in home_files(manifest, variables).items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")


def launch_argv(manifest: Manifest, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the command that starts the agent, after `prepare_cmd`, whose output goes to stderr."""
    if manifest.prepare_cmd is None:
        return ("bash", "-c", manifest.launch_cmd)
    prepare = expand(manifest.prepare_cmd, variables, f"{manifest.place}: `prepare_cmd`")
    return ("bash", "-c", _PREPARED, "launch", prepare, manifest.launch_cmd)


def _expanded(manifest: Manifest, table: str, texts: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    return {key: expand(text, variables, f"{manifest.place}: `{table}.{key}`") for key, text in texts.items()}
