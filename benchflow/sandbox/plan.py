"""From a launch spec to the plan that a supervisor carries out."""

from __future__ import annotations

from benchflow.errors import TrialError
from benchflow.sandbox.helper import wire
from benchflow.sandbox.interface import LaunchSpec, ResourceLimits

_RLIMITS = {
    "open_files": "NOFILE",
    "processes": "NPROC",
    "cpu_s": "CPU",
    "file_bytes": "FSIZE",
    "address_bytes": "AS",
}


def make_plan(spec: LaunchSpec, cwd: str, namespaces: wire.Namespaces | None = None) -> wire.Plan:
    """Return the plan of one launch."""
    return {
        "argv": list(spec.argv),
        "env": {"PWD": cwd, **spec.env},  # as bubblewrap sets it
        "cwd": cwd,
        "limits": rlimits(spec.limits),
        "namespaces": namespaces,
    }


def rlimits(limits: ResourceLimits) -> list[tuple[str, int]]:
    """Return the limits that are set, by the names of `resource`."""
    values = ((name, getattr(limits, field)) for field, name in _RLIMITS.items())
    return [(name, value) for name, value in values if value is not None]


def launch_error(report: wire.Report) -> TrialError:
    """Say why a program could not be executed."""
    path, text = report.get("path"), report.get("text", "")
    code = "launch" if report.get("stage") in ("exec", "cwd") else "sandbox"
    if report.get("stage") == "cwd":
        path = f"working directory {path}"
    return TrialError(code, f"{path}: {text}" if path else text)
