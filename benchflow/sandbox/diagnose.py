"""Why bubblewrap does not work on a machine, and what would allow it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_APPARMOR = "kernel.apparmor_restrict_unprivileged_userns"
_INSTALL = "install it: `apt install bubblewrap`, `dnf install bubblewrap` or `pacman -S bubblewrap`"
_APPARMOR_REMEDY = (
    "this system's AppArmor keeps programs from making user namespaces. Allow bubblewrap: `sudo apt install "
    "apparmor-profiles && sudo ln -s /usr/share/apparmor/extra-profiles/bwrap-userns-restrict /etc/apparmor.d/ && sudo "
    f"apparmor_parser -r /etc/apparmor.d/bwrap-userns-restrict`, or everything: `sudo sysctl -w {_APPARMOR}=0`"
)
_CONTAINER_REMEDY = (
    "this is a container, which may not make namespaces of its own: start it with `--security-opt seccomp=unconfined "
    "--security-opt apparmor=unconfined --security-opt systempaths=unconfined` (Docker) or `--privileged` (Podman)"
)
_SETTINGS = {
    "kernel.unprivileged_userns_clone": "1",
    "user.max_user_namespaces": "15000",
    "user.max_net_namespaces": "15000",
}
"""Settings that forbid namespaces where they are 0, and a value that allows them."""


@dataclass(frozen=True, kw_only=True)
class Machine:
    """What of a machine decides whether bubblewrap works."""

    linux: bool
    program: str | None
    """Where bubblewrap is."""
    version: str | None
    settings: dict[str, str]
    """Kernel settings by name; those that this kernel does not have are left out."""
    container: bool

    @classmethod
    def read(cls, root: Path = Path("/"), program: str = "bwrap") -> Machine:
        """Look at this machine; its files are read below `root`."""
        found = shutil.which(program)
        settings = {}
        for name in (_APPARMOR, *_SETTINGS):
            file = root / "proc/sys" / name.replace(".", "/")
            if file.is_file():
                settings[name] = file.read_text().strip()
        return cls(
            linux=sys.platform.startswith("linux"),
            program=found,
            version=_version(found) if found else None,
            settings=settings,
            container=any((root / mark).exists() for mark in (".dockerenv", "run/.containerenv")),
        )


def _version(program: str) -> str | None:
    try:
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip().removeprefix("bubblewrap ") or None


def remedy(failure: str, machine: Machine) -> str:
    """Say what to do about a failed trial run; `failure` is bubblewrap's own message."""
    if not machine.linux:
        return "use `--sandbox process`, which works everywhere"
    if machine.program is None:
        return _INSTALL
    if "nknown option" in failure:
        return f"bubblewrap 0.8 or later is needed, and this is {machine.version or 'an unknown version'}"
    for name, value in _SETTINGS.items():
        if machine.settings.get(name) == "0":
            return f"the kernel is set to forbid it: `sudo sysctl -w {name}={value}`"
    if machine.settings.get(_APPARMOR) == "1":
        return _APPARMOR_REMEDY
    if machine.container:
        return _CONTAINER_REMEDY
    return "use `--sandbox process`, or ask whoever runs this machine to allow unprivileged user namespaces"


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One line of a diagnosis."""

    subject: str
    ok: bool
    detail: str
    remedy: str | None = None
    """What would help; None where all is well."""


def findings(machine: Machine, failure: str | None) -> tuple[Finding, ...]:
    """Return what is to be said of a machine after a trial run, which is what counts: `failure` None, it worked."""
    help_text = None if failure is None else remedy(failure, machine)
    program = f"{machine.program} {machine.version}" if machine.program else "not found"
    lines = [
        Finding(subject="bubblewrap", ok=failure is None, detail=failure or "a trial run worked", remedy=help_text),
        Finding(subject="bubblewrap program", ok=machine.program is not None, detail=program),
    ]
    forbidding = {name: "0" for name in _SETTINGS} | {_APPARMOR: "1"}
    for name, value in machine.settings.items():
        lines.append(Finding(subject=name, ok=value != forbidding[name], detail=value))
    lines.append(Finding(subject="container", ok=True, detail="yes" if machine.container else "no"))
    return tuple(lines)
