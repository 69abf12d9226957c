"""A task of Harbor, as it lies in its folder, and why it cannot be a scenario, if so."""

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchflow.authoring.harbor.dockerfile import Image, read_dockerfile
from benchflow.authoring.harbor.scripts import Prepared, elsewhere, needs, prepare, unpinned
from benchflow.errors import InputError
from benchflow.strict import read_toml

TASK_FILE = "task.toml"
INSTRUCTION = "instruction.md"
TESTS = "/tests"
SOLUTION = "/solution"
LOGS = "/logs/verifier"
_UNSUPPORTED = {
    "environment": {
        "docker_image": "it needs the image {}",
        "gpus": "it needs {} GPUs",
        "tpu": "it needs a TPU",
        "mcp_servers": "it needs MCP servers beside its container",
        "healthcheck": "it waits for a service in its container",
        "env": "it sets variables for its container",
        "skills_dir": "it ships skills in its container",
    },
    "verifier": {
        "environment": "its verifier runs in a container of its own",
        "collect": "it collects from services",
        "env": "its verifier needs variables of the host",
    },
    "solution": {"env": "its solution needs variables of the host"},
}
"""What a sandbox cannot give, by section and key."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task that was read."""

    folder: Path
    config: Mapping[str, Any]
    instruction: str
    image: Image
    tests: Prepared | None
    """tests/test.sh; None: there is none."""
    solution: str | None
    reasons: tuple[str, ...]
    """Why it cannot be a scenario; empty: it can."""

    @property
    def name(self) -> str:
        return self.folder.name

    def section(self, name: str) -> Mapping[str, Any]:
        """Return a section of task.toml; empty where it is missing."""
        found = self.config.get(name)
        return found if isinstance(found, dict) else {}


def find_tasks(folder: Path) -> list[Path]:
    """Return the folders of tasks: this one, or those below it. Raises InputError where there is none."""
    if (folder / TASK_FILE).is_file():
        return [folder]
    found = sorted(path.parent for path in folder.glob(f"**/{TASK_FILE}")) if folder.is_dir() else []
    if not found:
        raise InputError(f"{folder}: holds no task; one is a folder with {TASK_FILE} and {INSTRUCTION}")
    return found


def read_task(folder: Path) -> Task:
    """Read a task. One that is broken has that among its reasons, so that it does not stop the others."""
    config, reasons = _read_config(folder / TASK_FILE)
    dockerfile = folder / "environment" / "Dockerfile"
    image = read_dockerfile(dockerfile) if dockerfile.is_file() else Image()
    tests = _read(folder / "tests" / "test.sh")
    prepared = prepare(tests) if tests is not None else None
    solution = _read(folder / "solution" / "solve.sh")
    instruction = _read(folder / INSTRUCTION) or ""
    reasons += [*_missing(folder, config, instruction), *_config_reasons(config), *image.reasons]
    if not reasons:
        reasons = [*_script_reasons(folder, image, instruction, prepared, solution)]
    return Task(
        folder=folder,
        config=config,
        instruction=instruction,
        image=image,
        tests=prepared,
        solution=solution,
        reasons=tuple(reasons),
    )


def _read_config(path: Path) -> tuple[Mapping[str, Any], list[str]]:
    try:
        return read_toml(path), []
    except InputError as exc:
        return {}, [str(exc)]


def _missing(folder: Path, config: Mapping[str, Any], instruction: str) -> Iterator[str]:
    if config.get("steps"):
        yield f"{TASK_FILE}: steps: it has several steps, each with its own verifier"
        return
    if not instruction.strip():
        yield f"{INSTRUCTION}: is missing or empty"
    if not (folder / "tests" / "test.sh").is_file():
        yield "tests/test.sh: is missing, so that nothing says what it is worth"
    for name in ("docker-compose.yaml", "docker-compose.yml"):
        if (folder / "environment" / name).is_file():
            yield f"environment/{name}: it needs several containers"
    if (folder / "environment" / ".dockerignore").is_file():
        yield "environment/.dockerignore: leaves files out of the image, which is not understood here"
    root = os.path.realpath(folder)
    for path in sorted(folder.rglob("*")):
        if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
            yield f"{path.relative_to(folder)}: links to {os.readlink(path)}, out of the task's folder"
    if (folder / "trajectory.json").is_file():
        yield "trajectory.json: it goes on from an earlier session"
    docker = config.get("environment")
    named = isinstance(docker, dict) and docker.get("docker_image")
    if not (folder / "environment" / "Dockerfile").is_file() and not named:
        yield "environment/Dockerfile: is missing, so that nobody knows where it works"


def _config_reasons(config: Mapping[str, Any]) -> Iterator[str]:
    for section, keys in _UNSUPPORTED.items():
        table = config.get(section)
        if not isinstance(table, dict):
            continue
        for key, reason in keys.items():
            if table.get(key):
                yield f"{TASK_FILE}: {section}.{key}: {reason.format(table[key])}"
    for section in ("agent", "verifier"):
        seconds = _value(config, section, "timeout_sec")
        if seconds is not None and (type(seconds) not in (int, float) or not 0 < seconds < math.inf):
            yield f"{TASK_FILE}: {section}.timeout_sec: {seconds!r} is no number of seconds"
    for section, key in (("metadata", "tags"), ("environment", "allowed_hosts")):
        if not isinstance(_value(config, section, key) or [], list):
            yield f"{TASK_FILE}: {section}.{key}: is no list"
    environment = config.get("environment")
    system = environment.get("os") if isinstance(environment, dict) else None
    if system and str(system).lower() != "linux":
        yield f"{TASK_FILE}: environment.os: it needs {system}"


def _value(config: Mapping[str, Any], section: str, key: str) -> Any:
    table = config.get(section)
    return table.get(key) if isinstance(table, dict) else None


def _script_reasons(
    folder: Path, image: Image, instruction: str, tests: Prepared | None, solution: str | None
) -> Iterator[str]:
    yield from elsewhere(INSTRUCTION, instruction, [image.workdir])
    yield from needs("tests/test.sh", tests.text if tests else "", [image.workdir, TESTS, LOGS])
    for package in unpinned(tests.packages if tests else ()):
        yield f"tests/test.sh: asks for {package} in any version; pin it with =="
    if solution is not None:
        yield from needs("solution/solve.sh", solution, [image.workdir, SOLUTION])
    for part, own in (("tests", [image.workdir, TESTS, LOGS]), ("solution", [image.workdir, SOLUTION])):
        for path in sorted((folder / part).rglob("*.py")):
            yield from elsewhere(str(path.relative_to(folder)), _read(path) or "", own)


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else None
