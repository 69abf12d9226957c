"""Git for repositories that nobody vouches for: without hooks, filters, submodules, prompts or the user's settings."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchflow.errors import InputError

TIMEOUT_S = 300
_SETTINGS = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "credential.helper=",
    "fetch.recurseSubmodules=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "protocol.ext.allow=never",
)
_PASSED_ON = ("PATH", "HOME", "SSH_AUTH_SOCK", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy")
_CERTIFICATES = ("GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR")


@dataclass(frozen=True)
class Git:
    """A repository without a working tree. Each method raises InputError with what git said."""

    folder: Path

    @classmethod
    def create(cls, folder: Path) -> "Git":
        """Make an empty repository."""
        git = cls(folder)
        git.run("init", "--quiet", "--bare", "--template=", str(folder), inside=False)
        return git

    def fetch(self, url: str, commit: str, depth: int) -> None:
        """Fetch a commit with `depth - 1` generations before it, and nothing else."""
        self.run("fetch", "--quiet", "--no-tags", "--no-recurse-submodules", f"--depth={depth}", "--", url, commit)

    def find_tag(self, url: str, tag: str) -> str | None:
        """Return the commit that a tag of a remote repository names; None: it has no such tag."""
        names = [f"refs/tags/{tag}", f"refs/tags/{tag}^{{}}"]
        said = self.run("ls-remote", "--tags", "--", url, *names).decode("utf-8", "replace")
        lines = [line.split("\t", 1) for line in said.splitlines() if "\t" in line]
        found = {name: commit for commit, name in lines}
        return found.get(names[1]) or found.get(names[0])

    def run(self, *words: str, given: bytes | None = None, inside: bool = True) -> bytes:
        """Run git and return what it printed."""
        program = shutil.which("git")
        if program is None:
            raise InputError("git: is not installed; install it (Debian: apt-get install git)")
        settings = [word for setting in _SETTINGS for word in ("-c", setting)]
        place = [f"--git-dir={self.folder}"] if inside else []
        try:
            done = subprocess.run(
                [program, *settings, *place, *words],
                input=given if given is not None else b"",
                capture_output=True,
                env=_environment(os.environ),
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as exc:
            raise InputError(f"git {words[0]}: not done after {TIMEOUT_S} s; try again") from exc
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise InputError(f"git {words[0]}: {said[-1] if said else f'exit code {done.returncode}'}")
        return done.stdout


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {name: environ[name] for name in (*_PASSED_ON, *_CERTIFICATES) if name in environ}
    return {
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "false",
        "SSH_ASKPASS": "false",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_ALLOW_PROTOCOL": "https:ssh:file",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "LC_ALL": "C",
    }
