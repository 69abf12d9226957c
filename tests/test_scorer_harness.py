"""What hidden tests can use: a runner that believes only what ran to its end, and a subject in its own process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchflow.scorers.execute import HARNESS


def run_tests(tmp_path: Path, tests: str, *words: str, code: str = "") -> tuple[int, str]:
    """Run hidden tests on a workspace with `code` as the module `thing`; return the exit code and what was printed."""
    for folder, name, text in (("checks", "test_it.py", tests), ("workspace", "thing.py", code)):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "benchflow_tests", *words, "--path", ".", "test_it.py"],
        cwd=tmp_path / "workspace",
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(HARNESS),
            "BENCHFLOW_CHECKS": str(tmp_path / "checks"),
            "TMPDIR": str(tmp_path),
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
        check=False,
    )
    return done.returncode, done.stdout


CASE = "import unittest\nfrom benchflow_subject import *\nclass It(unittest.TestCase):\n"


def case(*bodies: str) -> str:
    return CASE + "".join(f"    def test_{number}(self):\n        {body}\n" for number, body in enumerate(bodies))


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ("", "the files hold no test"),
        (case("self.skipTest('later')"), "test_it::It::test_0: failed"),
        (case("pass", "self.fail()"), "test_it::It::test_1: failed"),
        (case("1 / 0"), "test_it::It::test_0: failed"),
        (case("exit(0)"), "test_it::It::test_0: failed"),
        (CASE + "    @unittest.expectedFailure\n    def test_0(self):\n        pass\n", "test_it::It::test_0: failed"),
        (
            CASE + "    def test_0(self):\n        for i in (1, 2):\n            with self.subTest(i):\n"
            "                self.assertEqual(i, 1)\n",
            "test_it::It::test_0: failed",
        ),
        ("import no_such_module\n" + case("pass"), "did not run to their end"),
    ],
)
def test_unittest_tests_that_do_not_pass(tmp_path: Path, tests: str, said: str) -> None:
    code, output = run_tests(tmp_path, tests)

    assert (code, said in output) == (1, True), output


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        (
            "import pytest\n@pytest.mark.parametrize('i', [1, 2])\ndef test_0(i):\n    assert i == 1\n",
            "test_0[2]: failed",
        ),
        ("import pytest\n@pytest.mark.skip\ndef test_0():\n    pass\n", "test_it::test_0: failed"),
        (
            "import pytest\n@pytest.fixture\ndef f():\n    yield\n    1 / 0\ndef test_0(f):\n    pass\n",
            "test_0: failed",
        ),
        ("import no_such_module\ndef test_0():\n    pass\n", "did not run to their end"),
        ("def test_0():\n    import thing\n", "did not run to their end"),
    ],
)
def test_pytest_tests_that_do_not_pass(tmp_path: Path, tests: str, said: str) -> None:
    code, output = run_tests(tmp_path, tests, "--pytest", code="import os\nos._exit(0)\n")

    assert (code, said in output) == (1, True), output


@pytest.mark.parametrize("words", [(), ("--pytest",)])
def test_tests_that_pass(tmp_path: Path, words: tuple[str, ...]) -> None:
    tests = case("import thing; self.assertEqual(thing.double(2), 4)") + (
        "    def test_more(self):\n        for i in (1, 2):\n            with self.subTest(i):\n                pass\n"
    )

    assert run_tests(tmp_path, tests, *words, code="def double(n):\n    return n * 2\n")[0] == 0


THING = """
import os, sys, time

def double(n):
    return n * 2

def fail(text):
    raise KeyError(text)

def leave():
    os._exit(0)

def hang():
    time.sleep(1000)

def hidden():
    return sorted(name for name in os.environ if "CHECKS" in name or name == "PYTHONPATH")

if __name__ == "__main__":
    print(sys.argv[1:], sys.stdin.read())
"""


def test_the_subject_answers_from_a_process_of_its_own(tmp_path: Path) -> None:
    tests = case(
        "self.assertEqual(call('thing:double', 'x' * 100_000), 'x' * 200_000)",
        "self.assertEqual(evaluate('import thing\\nresult = [thing.double(n) for n in given]', given=[1, 2]), [2, 4])",
        "self.assertEqual(call('thing:hidden'), [])",
        "self.assertEqual(run('thing.py', 'a', given='b').stdout, \"['a'] b\\n\")",
        "self.assertEqual(run('-m', 'thing', 'a', path=['.']).stdout, \"['a'] \\n\")",
        "self.assertRaisesRegex(Raised, \"KeyError: 'no'\", call, 'thing:fail', 'no')",
        "self.assertRaisesRegex(Raised, 'ModuleNotFoundError', call, 'other:x')",
        "self.assertRaisesRegex(NoAnswer, 'ended with 0', call, 'thing:leave')",
        "self.assertRaisesRegex(NoAnswer, 'no value after', call, 'thing:hang', timeout_s=0.3)",
        "self.assertNotIn('thing', __import__('sys').modules)",
    )
    code, output = run_tests(tmp_path, tests, code=THING)

    assert (code, output) == (0, "")
