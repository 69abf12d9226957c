"""Makes git repositories for tests of what reads them."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

MODULE = '''"""Make "slugs"."""


def slug(text):
    return text.lower().replace(" ", "-")
'''
FIXED = '''"""Make "slugs"."""

import re


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
'''
TESTS = """import unittest

from slug import slug


class Slugs(unittest.TestCase):
    def test_lower(self):
        self.assertEqual(slug("A b"), "a-b")
"""
MORE_TESTS = f"""{TESTS}
    def test_punctuation(self):
        self.assertEqual(slug("Hello, World!"), "hello-world")
"""


def git(folder: Path, *words: str) -> str:
    """Run git in a folder, as nobody in particular."""
    environ = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org")
    command = ["git", "-C", str(folder), *who, *words]
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.strip()


def commit(folder: Path, files: Mapping[str, str | None], message: str = "Change things") -> str:
    """Write files (None: remove), commit them all, and return the commit's id. Makes the repository if need be."""
    if not (folder / ".git").exists():
        folder.mkdir(parents=True, exist_ok=True)
        git(folder, "init", "--quiet")
    for name, text in files.items():
        path = folder / name
        if text is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", message)
    return git(folder, "rev-parse", "HEAD")
