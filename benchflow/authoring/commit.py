"""A commit of a repository, read without a working tree: what it says, what it changed, what was there before."""

from dataclasses import dataclass
from pathlib import Path

from benchflow.errors import InputError
from benchflow.scenario_sources.fetch import resolve_tag
from benchflow.scenario_sources.files import Entry, list_files
from benchflow.scenario_sources.git import Git
from benchflow.scenario_sources.url import GitUrl, check_repository, check_revision

_TRAILERS = ("signed-off-by:", "co-authored-by:", "reviewed-by:", "acked-by:", "tested-by:", "cc:", "change-id:")


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A commit and its first parent."""

    repository: str
    name: str
    """What the repository is called."""
    id: str
    parent: str
    message: str
    """Without trailers."""
    before: dict[str, Entry]
    """The parent's files, by path."""
    after: dict[str, Entry]

    @property
    def changed(self) -> list[str]:
        """The paths that were added, changed or removed, in order."""
        paths = sorted({*self.before, *self.after})
        return [path for path in paths if _content(self.before.get(path)) != _content(self.after.get(path))]

    @property
    def subject(self) -> str:
        return self.message.splitlines()[0] if self.message else self.id[:12]


def read_commit(repository: str, revision: str, git: Git) -> Commit:
    """Fetch a commit with its parent into `git`, and read both. Raises InputError.

    `repository` is a folder, where any name of a commit will do, or a URL, where it is the full id or a tag.
    """
    url, commit = _locate(repository, revision)
    try:
        git.fetch(url, commit, depth=2)
        parents = git.run("rev-list", "--parents", "-n", "1", commit).decode().split()[1:]
        if not parents:
            raise InputError("it is the first commit, so that nothing was there before it")
        before, after = (list_files(git, each) for each in (parents[0], commit))
    except InputError as exc:
        raise InputError(f"{repository}: commit {revision}: {exc}") from exc
    message = git.run("log", "-1", "--format=%B", "--no-show-signature", commit).decode("utf-8", "replace")
    return Commit(
        repository=repository,
        name=url.rstrip("/").removesuffix("/.git").rpartition("/")[2].removesuffix(".git"),
        id=commit,
        parent=parents[0],
        message=_without_trailers(message),
        before={entry.path: entry for entry in before},
        after={entry.path: entry for entry in after},
    )


def _locate(repository: str, revision: str) -> tuple[str, str]:
    if "://" in repository:
        check_repository(repository)
        check_revision(repository, revision)
        url = GitUrl(repository=repository, at=revision, path="")
        return repository, revision if url.is_commit else resolve_tag(url)
    folder = Path(repository).expanduser().resolve()
    if not repository or not folder.is_dir():
        raise InputError(f"{repository}: is no folder; name a repository's folder, or its URL")
    if revision.startswith("-"):
        raise InputError(f"{revision}: is no commit")
    outside = Git(folder)
    try:
        found = outside.run("-C", str(folder), "rev-parse", "--verify", f"{revision}^{{commit}}", inside=False)
        top = outside.run("-C", str(folder), "rev-parse", "--absolute-git-dir", inside=False)
    except InputError as exc:
        raise InputError(f"{repository}: {revision} names no commit in it ({exc})") from exc
    return f"file://{top.decode().strip()}", found.decode().strip()


def _content(entry: Entry | None) -> tuple[str, str] | None:
    return (entry.mode, entry.blob) if entry else None


def _without_trailers(message: str) -> str:
    lines = [line.rstrip() for line in message.splitlines()]
    return "\n".join(line for line in lines if not line.lower().startswith(_TRAILERS)).strip()
