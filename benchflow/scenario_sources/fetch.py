"""Fetches scenarios from git once, and keeps them below the home's cache with the digest of what was fetched."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from benchflow.errors import InputError
from benchflow.machine.home import Home
from benchflow.scenario_sources.files import Entry, list_files, write_files
from benchflow.scenario_sources.git import Git
from benchflow.scenario_sources.url import GitUrl, read_url


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """What was fetched, as it stands beside the files."""

    repository: str
    commit: str
    path: str
    digest: str
    """SHA-256 over paths, modes and contents."""


def fetch_scenarios(text: str, home: Home, say: Callable[[str], None]) -> Path:
    """Return the folder of what a git URL names, fetched if it is not there yet. Raises InputError."""
    url = read_url(text)
    commit = url.at
    if not url.is_commit:
        commit = resolve_tag(url)
        say(f"{url.repository}: the tag {url.at} is {commit}; write that to have the same for ever")
    key = hashlib.sha256(f"{url.repository}\0{commit}\0{url.path}".encode()).hexdigest()[:24]
    place = home.cache / "scenarios" / key
    kept = _read_kept(place)
    if kept is not None and kept.digest == digest_of(place / "files"):
        return place / "files"
    shutil.rmtree(place, ignore_errors=True)  # cut in mid-write, or changed since
    digest = _fetch(url, commit, place)
    say(f"fetched {url.repository} at {commit}{f', {url.path}' if url.path else ''}: digest {digest[:16]}")
    return place / "files"


def digest_of(folder: Path) -> str:
    """Return the digest of a folder's files."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            kind, content = b"link", os.fsencode(os.readlink(path))
        elif path.is_file():
            kind = b"program" if os.access(path, os.X_OK) else b"file"
            content = path.read_bytes()
        else:
            continue
        name = os.fsencode(path.relative_to(folder))
        digest.update(b"\0".join((kind, name, hashlib.sha256(content).digest())) + b"\0")
    return digest.hexdigest()


def resolve_tag(url: GitUrl) -> str:
    """Return the commit that a tag names. Raises InputError where there is no such tag."""
    with tempfile.TemporaryDirectory() as scratch:
        commit = Git.create(Path(scratch) / "repository").find_tag(url.repository, url.at)
    if commit is None:
        said = f"{url.repository}: has no tag {url.at}"
        raise InputError(f"{said}; a branch moves: name a commit by all of its id, or a tag")
    return commit


def _fetch(url: GitUrl, commit: str, place: Path) -> str:
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=place.parent) as scratch:
        draft = Path(scratch) / "draft"
        (draft / "files").mkdir(parents=True)
        git = Git.create(Path(scratch) / "repository")
        try:
            git.fetch(url.repository, commit, depth=1)
            entries = list_files(git, commit, url.path)
            if not entries:
                raise InputError(f"there is no {url.path or 'file'} in it; look at the path behind #")
            write_files(git, entries, draft / "files", strip=_before(url.path, entries))
        except (InputError, OSError) as exc:
            raise InputError(f"{url.repository}@{commit}: {exc}") from exc
        digest = digest_of(draft / "files")
        fetched = Fetched(repository=url.repository, commit=commit, path=url.path, digest=digest)
        (draft / "fetched.json").write_bytes(orjson.dumps(asdict(fetched), option=orjson.OPT_INDENT_2) + b"\n")
        try:
            draft.rename(place)
        except OSError:
            if _read_kept(place) is None:  # else another process has just fetched the same
                raise
    return digest


def _before(path: str, entries: list[Entry]) -> str:
    """What stands before the files' own paths: the folder that was named, or the folder of the file that was."""
    return path.rpartition("/")[0] if any(entry.path == path for entry in entries) else path


def _read_kept(place: Path) -> Fetched | None:
    try:
        return Fetched(**orjson.loads((place / "fetched.json").read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
