"""Which of a commit's files are tests, and how they are run. Pure."""

import ast
import re
from collections.abc import Collection, Iterable
from pathlib import PurePosixPath

_FOLDERS = {"test", "tests", "testing", "spec", "specs", "__tests__"}
_NAMES = re.compile(
    r"(test_.*|.*_test|conftest)\.py$|.*_test\.(go|rs|c|cc|cpp)$|.*\.(test|spec)\.[cm]?[jt]sx?$|.*Tests?\.(java|kt|cs)$"
)
_PYTHON_TEST = re.compile(r"(test_.*|.*_test|tests?)\.py$")


def is_test(path: str) -> bool:
    """Tell whether a file is a test, or belongs to tests only."""
    pure = PurePosixPath(path)
    return not _FOLDERS.isdisjoint(part.lower() for part in pure.parts[:-1]) or _NAMES.match(pure.name) is not None


def is_python_test(path: str) -> bool:
    """Tell whether a file has tests that a Python runner finds."""
    return is_test(path) and _PYTHON_TEST.match(PurePosixPath(path).name) is not None


def beside(tests: Iterable[str], paths: Collection[str]) -> list[str]:
    """Return the paths that tests may need of what is around them: all that stands in their folders of tests."""
    roots = {_root(path) for path in tests}
    return [path for path in sorted(paths) if is_test(path) and any(path.startswith(root) for root in roots)]


def _root(path: str) -> str:
    """The outermost folder of tests above a test; for one that stands among the code, itself."""
    parts = PurePosixPath(path).parts
    for number, part in enumerate(parts[:-1], start=1):
        if part.lower() in _FOLDERS:
            return "/".join(parts[:number]) + "/"
    return path


def needs_pytest(source: str) -> bool:
    """Tell whether tests are written for pytest: functions of a module, classes of no case, or its import."""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return True
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            return True
        if isinstance(node, ast.ClassDef) and node.name.startswith("Test") and not node.bases:
            return True
        if isinstance(node, ast.Import) and any(name.name.partition(".")[0] == "pytest" for name in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "pytest":
            return True
    return False
