"""Executes one program with exactly the descriptors and the environment that it was given."""

from __future__ import annotations

import errno
import os
import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_IGNORED = [
    signal.SIGPIPE,
    signal.SIGXFSZ,
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
]
"""By Python, by the helper, or by a shell that started BenchFlow in the background."""
_SHELL = "/bin/sh"
_DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def spawn(argv: Sequence[str], env: Mapping[str, str], stdio: Sequence[int]) -> int:
    """Execute a program in a session of its own and return its process id. What has no `#!` line is run by the shell.

    Raises OSError with the file's name, its `strerror` made for people.
    """
    program = find_program(argv[0], env.get("PATH", _DEFAULT_PATH))
    try:
        return _execute(program, argv, env, stdio)
    except FileNotFoundError as error:
        raise OSError(error.errno, f"its interpreter {_interpreter(program)} does not exist", program) from error
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
        return _execute(_SHELL, [_SHELL, program, *argv[1:]], env, stdio)


def _execute(program: str, argv: Sequence[str], env: Mapping[str, str], stdio: Sequence[int]) -> int:
    return os.posix_spawn(
        program,
        list(argv),
        dict(env),
        file_actions=[(os.POSIX_SPAWN_DUP2, fd, target) for target, fd in enumerate(stdio)],
        setsid=True,
        setsigmask=[],
        setsigdef=_IGNORED,
    )


def find_program(name: str, path: str) -> str:
    """Return the file to execute, as a shell would find it. Raises FileNotFoundError or PermissionError."""
    candidates = [name] if "/" in name else [os.path.join(folder or ".", name) for folder in path.split(":")]
    files = [candidate for candidate in candidates if os.path.isfile(candidate)]
    for file in files:
        if os.access(file, os.X_OK):
            return file
    if files:
        raise PermissionError(errno.EACCES, "is not executable", files[0])
    missing = "does not exist" if "/" in name else f"is not on PATH, which is {path}"
    raise FileNotFoundError(errno.ENOENT, missing, name)


def _interpreter(program: str) -> str:
    with open(program, "rb") as file:
        line = file.readline(256)
    return os.fsdecode((line[2:].split() or [b"?"])[0]) if line.startswith(b"#!") else "(the loader named in it)"
