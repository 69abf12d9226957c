"""A shell in the workspace that a trial left behind."""

import os
import subprocess
import sys
from collections.abc import Mapping

from benchflow.errors import InputError
from benchflow.store import StoredTrial

_DEFAULT_SHELL = "/bin/sh"


def open_shell(trial: StoredTrial, environ: Mapping[str, str] = os.environ) -> int:
    """Run the user's shell in the kept workspace until it ends; return its exit status.

    Raises InputError where the workspace was not kept.
    """
    workspace = trial.try_folder() / "workspace"
    if not workspace.is_dir():
        raise InputError(
            f"{trial.key}: its workspace was not kept; "
            "run it again with `--keep always` (by default only those of trials that did not pass are kept)"
        )
    shell = environ.get("SHELL") or _DEFAULT_SHELL
    print(f"the workspace of {trial.key}: {workspace.resolve()}; `exit` leaves it", file=sys.stderr)
    try:
        ended = subprocess.run([shell], cwd=workspace, env=dict(environ), check=False).returncode
    except OSError as exc:
        raise InputError(f"{shell}: cannot be run ({exc.strerror}); set SHELL to another shell") from exc
    return ended if ended >= 0 else 128 - ended
