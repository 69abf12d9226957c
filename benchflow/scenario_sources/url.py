"""What a git URL at a commit says: `https://host/repo.git@COMMIT#path`. Pure."""

import re
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from benchflow.errors import InputError

SCHEMES = ("https", "ssh", "file")
_FULL = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SHORT = re.compile(r"[0-9a-f]{7,63}")
_FORM = "write it as https://host/repo.git@COMMIT, and #path behind it where the scenario is in a folder"


@dataclass(frozen=True, kw_only=True)
class GitUrl:
    """A repository, a commit or a tag of it, and a folder in it."""

    repository: str
    at: str
    path: str
    """Empty: the whole repository."""

    @property
    def is_commit(self) -> bool:
        """Whether `at` is a commit's full id; else it can only be a tag."""
        return _FULL.fullmatch(self.at) is not None


def read_url(text: str) -> GitUrl:
    """Read a git URL. Raises InputError with how one is written."""
    before, _, path = text.partition("#")
    repository, _, at = before.rpartition("@")
    if not at or not _split(repository).path.strip("/"):
        raise InputError(f"{text}: names no commit; {_FORM}")
    check_repository(repository)
    check_revision(text, at)
    if ".." in path.split("/") or path.startswith("/"):
        raise InputError(f"{text}: #{path} leads out of the repository; {_FORM}")
    return GitUrl(repository=repository, at=at, path=path.strip("/"))


def check_repository(url: str) -> None:
    """Refuse a repository's URL that could run something, or that has a secret in it. Raises InputError."""
    split = _split(url)
    if split.scheme not in SCHEMES:
        raise InputError(f"{url}: is not of {', '.join(SCHEMES)}; {_FORM}")
    if split.password is not None or (split.username and split.scheme == "https"):  # a token may be the name
        raise InputError(
            f"{split.scheme}://{split.hostname}: leave the password out of the URL: it would be written down"
        )


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as exc:
        raise InputError(f"{url}: is no URL ({exc}); {_FORM}") from exc


def check_revision(text: str, at: str) -> None:
    """Refuse a commit id that is not whole: it may mean another commit tomorrow. Raises InputError."""
    if _SHORT.fullmatch(at) and not _FULL.fullmatch(at):
        raise InputError(f"{text}: {at} is a part of a commit's id; write all of its 40 digits")
    if at.startswith("-") or any(letter in at for letter in " \t\n~^:?*[\\") or ".." in at:
        raise InputError(f"{text}: {at!r} is neither a commit nor a tag; {_FORM}")
