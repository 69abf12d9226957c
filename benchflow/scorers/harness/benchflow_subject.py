"""For tests in a scenario's `checks`: runs the code under test in a process of its own, and returns values.

The test's own process never imports a line of the workspace, so that nothing planted there (a module named like one of
ours, a patched assertion, an early exit) can pass a test. Standard library only.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

_DRIVER = """
import json, os, sys
descriptor = int(sys.argv[1])
request = json.load(sys.stdin)
sys.path[:0] = request["path"]
scope = {"given": request["given"]}
try:
    exec(compile(request["code"], "<check>", "exec"), scope)
    answer = {"value": scope["result"]}
except BaseException as error:
    answer = {"raised": type(error).__name__, "message": str(error)}
os.write(descriptor, json.dumps(answer).encode())
"""


class Raised(Exception):
    """The code under test raised; `kind` is the name of the exception's class."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind


class NoAnswer(Exception):
    """The code under test ended its process, or did not end in time, before it gave a value."""


def call(target: str, *args: Any, path: Sequence[str] = (".",), timeout_s: float = 30, **kwargs: Any) -> Any:
    """Call `module:function` and return what it returns, all of it JSON. Raises Raised or NoAnswer."""
    module, _, name = target.partition(":")
    code = f"import {module}\nresult = {module}.{name}(*given['args'], **given['kwargs'])"
    return evaluate(code, path=path, timeout_s=timeout_s, given={"args": args, "kwargs": kwargs})


def evaluate(code: str, *, path: Sequence[str] = (".",), timeout_s: float = 30, given: Any = None) -> Any:
    """Run code that sets `result`, with `given` and with `path` first among the folders of modules, and return it."""
    request = json.dumps({"code": code, "path": [os.path.abspath(entry) for entry in path], "given": given})
    with tempfile.TemporaryFile() as report:
        try:
            done = subprocess.run(
                [sys.executable, "-P", "-c", _DRIVER, str(report.fileno())],
                input=request,
                text=True,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=(report.fileno(),),
                env=_environment(),
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NoAnswer(f"no value after {timeout_s} s") from error
        report.seek(0)
        said = report.read()
    if not said:
        raise NoAnswer(f"the process ended with {done.returncode} and no value:\n{done.stdout[-2000:]}")
    answer = json.loads(said)
    if "raised" in answer:
        raise Raised(answer["raised"], answer["message"])
    return answer["value"]


def run(
    *argv: str, path: Sequence[str] = (), folder: str = ".", timeout_s: float = 30, given: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run a program in a folder, Python for `argv` that begins with `-m` or a `.py` file, and return how it ended.

    Raises NoAnswer if it does not end in time.
    """
    python = argv[0] == "-m" or argv[0].endswith(".py")
    try:
        return subprocess.run(
            [sys.executable, *argv] if python else argv,
            input=given,
            text=True,
            capture_output=True,
            env=_environment(path),
            cwd=folder,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise NoAnswer(f"{' '.join(argv)}: not done after {timeout_s} s") from error


def _environment(path: Sequence[str] = ()) -> dict[str, str]:
    """Return the environment without what tells of the checks."""
    hidden = ("BENCHFLOW_CHECKS", "PYTHONPATH", "PYTHONSAFEPATH")
    env = {key: value for key, value in os.environ.items() if key not in hidden}
    if path:
        env["PYTHONPATH"] = os.pathsep.join(os.path.abspath(entry) for entry in path)
    return env
