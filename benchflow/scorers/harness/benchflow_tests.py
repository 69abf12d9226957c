"""Runs hidden tests that import the code under test, and passes only if every one of them ran to its end and passed.

    python3 -m benchflow_tests [--pytest] [--path FOLDER]... TEST_FILE...

TEST_FILEs are relative to $BENCHFLOW_CHECKS; FOLDERs, in the workspace, are where the code's modules are, looked in
last. The tests run in a child process. Which tests there are is read from the files, not from the run, and a test that
must fail runs along: an early exit, a test that was not run, and an assertion made harmless are failures. Code that is
out to forge the child's report can: where that matters, test through `benchflow_subject`. Standard library only, but
for pytest itself.
"""

import argparse
import ast
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

CANARY = "test_that_must_fail"


def main() -> int:
    """Run the tests and print what failed; return the exit code."""
    options = _options(sys.argv[1:])
    os.environ.setdefault("BENCHFLOW_CHECKS", os.getcwd())
    if options.report is not None:
        return _child(options)
    files = [Path(os.environ["BENCHFLOW_CHECKS"], name) for name in options.files]
    outcomes = _run_child(sys.argv[1:])
    problems = _problems({name for file in files for name in _test_names(file)}, outcomes)
    for problem in problems:
        print(f"benchflow_tests: {problem}")
    return 1 if problems else 0


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benchflow_tests", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pytest", action="store_true", help="run with pytest; default: unittest")
    parser.add_argument("--path", action="append", default=[], help="folder of the code under test; may be repeated")
    parser.add_argument("--report", type=int, help=argparse.SUPPRESS)
    parser.add_argument("files", nargs="+")
    return parser.parse_args(arguments)


def _test_names(file: Path) -> Iterable[str]:
    """Yield `file::[Class::]test` for each test function that a test file has."""
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
            yield f"{file.stem}::{node.name}"
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef) and inner.name.startswith("test"):
                    yield f"{file.stem}::{node.name}::{inner.name}"


def _run_child(arguments: list[str]) -> dict[str, str] | None:
    """Return each test's outcome as the child reported it at its very end. None: it did not get there."""
    word = os.urandom(16).hex()
    with tempfile.TemporaryFile() as file:
        command = [sys.executable, "-P", "-m", "benchflow_tests", "--report", str(file.fileno()), *arguments]
        subprocess.run(command, input=word, text=True, pass_fds=(file.fileno(),), check=False)
        file.seek(0)
        report = json.loads(file.read() or b"{}")
    return report["outcomes"] if report.get("word") == word else None


def _problems(wanted: set[str], outcomes: dict[str, str] | None) -> list[str]:
    if not wanted:
        return ["the files hold no test"]
    canary = [name for name in outcomes or () if name.endswith(CANARY)]
    if outcomes is None or not canary:
        return ["the tests did not run to their end"]
    if [outcomes[name] for name in canary] != ["failed"]:
        return ["a test that must fail did not: something tampered with the tests"]
    ran = {name.partition("[")[0] for name in outcomes}
    failed = [f"{name}: {how}" for name, how in outcomes.items() if how != "passed" and name not in canary]
    return sorted(failed) + [f"{name}: did not run" for name in sorted(wanted - ran)]


def _child(options: argparse.Namespace) -> int:
    word = sys.stdin.read()
    files = [Path(os.environ["BENCHFLOW_CHECKS"], name) for name in options.files]
    run = _with_pytest if options.pytest else _with_unittest
    outcomes = run(files, [os.path.abspath(entry) for entry in options.path])
    os.write(options.report, json.dumps({"word": word, "outcomes": outcomes}).encode())
    return 0


def _with_unittest(files: list[Path], path: list[str]) -> dict[str, str]:
    import importlib.util
    import unittest

    outcomes: dict[str, str] = {}

    class Canary(unittest.TestCase):
        def test_that_must_fail(self) -> None:
            self.assertEqual(1, 2)  # noqa: PT009 - what the tests beside it use

    class Result(unittest.TestResult):
        def stopTest(self, test: unittest.TestCase) -> None:
            super().stopTest(test)
            bad = [failed for failed, _ in [*self.failures, *self.errors, *self.skipped]]
            own = [getattr(failed, "test_case", failed) for failed in bad]
            name = f"{type(test).__module__}::{type(test).__name__}::{test._testMethodName}"
            outcomes[name] = "failed" if test in own or test in self.unexpectedSuccesses else "passed"

    suite = unittest.TestSuite()
    sys.path.extend(path)
    for file in files:
        spec = importlib.util.spec_from_file_location(file.stem, file)
        assert spec is not None, file
        assert spec.loader is not None, file
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        suite.addTests(unittest.defaultTestLoader.loadTestsFromModule(module))
    suite.addTest(Canary(CANARY))
    result = Result()
    suite.run(result)
    for test, text in [*result.failures, *result.errors]:
        if not isinstance(test, Canary):
            print(f"{test}\n{text}")
    return outcomes


def _with_pytest(files: list[Path], path: list[str]) -> dict[str, str]:
    import pytest

    outcomes: dict[str, str] = {}

    class Recorder:
        def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
            file, _, rest = report.nodeid.partition("::")
            name = f"{Path(file).stem}::{rest}"
            if report.when == "call" or not report.passed:
                outcomes[name] = "passed" if report.passed and outcomes.get(name, "passed") == "passed" else "failed"

    own = Path(tempfile.mkdtemp())
    (own / "test_canary.py").write_text(f"def {CANARY}():\n    assert 1 == 2\n")
    (own / "pytest.ini").write_text("[pytest]\n")
    root = os.environ["BENCHFLOW_CHECKS"]
    sys.path.extend(path)
    plain = ["-q", "--tb=short", "-p", "no:cacheprovider", "--import-mode=importlib"]
    placed = [f"--rootdir={root}", f"--confcutdir={root}", "-c", str(own / "pytest.ini")]
    pytest.main([*plain, *placed, *map(str, files), str(own / "test_canary.py")], plugins=[Recorder()])
    return outcomes


if __name__ == "__main__":
    sys.exit(main())
