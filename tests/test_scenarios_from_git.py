import io
from pathlib import Path

import pytest
from command_line import TINY, Shell, open_shell
from repositories import commit, git

from benchflow.errors import InputError
from benchflow.machine.home import Home
from benchflow.scenario import load_scenario
from benchflow.scenario_sources.fetch import fetch_scenarios
from benchflow.scenario_sources.url import read_url


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    commit(
        folder, {"tiny/scenario.toml": TINY, "tiny/workspace/notes.txt": "one\r\ntwo\n", "README.md": "Scenarios.\n"}
    )
    return folder


def fetch(text: str, tmp_path: Path) -> tuple[Path, str]:
    """Fetch; return the folder and all that was said."""
    said = io.StringIO()
    folder = fetch_scenarios(text, Home(tmp_path / "home"), lambda line: print(line, file=said))
    return folder, said.getvalue()


def test_a_scenario_at_a_commit_runs_from_its_url(tmp_path: Path) -> None:
    shell = open_shell(tmp_path)
    id = commit(tmp_path / "repository", {"tiny/scenario.toml": TINY})

    row = shell_row(shell, f"file://{tmp_path}/repository@{id}#tiny")

    assert (row["scenario_id"], row["success"]) == ("tiny", True)
    assert row["scenario_digest"] == load_scenario(tmp_path / "tiny").digest


def shell_row(shell: Shell, scenario: str) -> dict[str, object]:
    import json

    ended = shell.run("run", "mini", scenario, "--json")
    assert ended.stdout, ended.stderr
    return json.loads(ended.stdout)["rows"][0]


def test_what_was_fetched_once_is_taken_from_the_cache(repository: Path, tmp_path: Path) -> None:
    id = git(repository, "rev-parse", "HEAD")
    first, said = fetch(f"file://{repository}@{id}#tiny", tmp_path)
    repository.rename(tmp_path / "gone")

    again, silence = fetch(f"file://{repository}@{id}#tiny", tmp_path)

    assert said.startswith(f"fetched file://{repository} at {id}, tiny: digest ")
    assert (again, silence) == (first, "")
    assert sorted(path.name for path in first.iterdir()) == ["scenario.toml", "workspace"]
    assert (first / "workspace" / "notes.txt").read_bytes() == b"one\r\ntwo\n"


def test_a_cached_file_that_was_changed_is_fetched_again(repository: Path, tmp_path: Path) -> None:
    url = f"file://{repository}@{git(repository, 'rev-parse', 'HEAD')}#tiny"
    folder, _ = fetch(url, tmp_path)
    (folder / "scenario.toml").write_text("planted")

    folder, said = fetch(url, tmp_path)

    assert said.startswith("fetched")
    assert (folder / "scenario.toml").read_text() == TINY


def test_a_tag_is_resolved_to_its_commit_and_that_is_said(repository: Path, tmp_path: Path) -> None:
    id = git(repository, "rev-parse", "HEAD")
    git(repository, "tag", "--annotate", "v1", "--message", "One")

    _, said = fetch(f"file://{repository}@v1#tiny", tmp_path)

    assert f"the tag v1 is {id}" in said


@pytest.mark.parametrize(
    ("at", "message"),
    [
        ("@{branch}", "has no tag {branch}; a branch moves: name a commit by all of its id, or a tag"),
        ("@{short}", "{short} is a part of a commit's id; write all of its 40 digits"),
        ("", "names no commit; write it as https://host/repo.git@COMMIT"),
        ("@{id}#nowhere", "there is no nowhere in it"),
        ("@{id}#../up", "leads out of the repository"),
        ("@" + "0" * 40, "git fetch: "),
    ],
)
def test_what_names_no_fixed_content_is_refused(at: str, message: str, repository: Path, tmp_path: Path) -> None:
    id = git(repository, "rev-parse", "HEAD")
    known = {"branch": git(repository, "rev-parse", "--abbrev-ref", "HEAD"), "id": id, "short": id[:12]}

    with pytest.raises(InputError) as error:
        fetch(f"file://{repository}{at.format(**known)}", tmp_path)

    assert message.format(**known) in str(error.value)


@pytest.mark.parametrize(
    "url", ["ext::sh -c id@1", "http://x/y@v1", "git://x/y@v1", "https://a:b@x/y@v1", "https://token@x/y@v1"]
)
def test_urls_that_could_run_something_or_hold_a_password_are_refused(url: str) -> None:
    with pytest.raises(InputError, match=r"leave the password out|is not of https, ssh, file|names no commit"):
        read_url(url)


def test_a_url_that_is_none_is_refused() -> None:
    with pytest.raises(InputError, match="is no URL"):
        read_url("https://[::1/y@v1")


def test_a_link_that_leads_out_through_another_link_is_refused(repository: Path, tmp_path: Path) -> None:
    deep = repository / "tiny" / "workspace" / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "top").symlink_to("../..")
    (repository / "tiny" / "workspace" / "out").symlink_to("a/b/top/../../../kept.txt")
    id = commit(repository, {})

    with pytest.raises(InputError, match="tiny/workspace/out: links to a/b/top/"):
        fetch(f"file://{repository}@{id}#tiny", tmp_path)


def test_nothing_of_a_repository_runs_or_changes_its_files_when_it_is_fetched(repository: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    attributes = "* filter=evil text eol=crlf export-subst\n"
    id = commit(repository, {"tiny/.gitattributes": attributes, "tiny/workspace/id.txt": "$Format:%H$\n"})
    for name in ("post-checkout", "post-merge", "reference-transaction"):
        hook = repository / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
        hook.chmod(0o755)
    for key in ("filter.evil.smudge", "core.fsmonitor", "uploadpack.packObjectsHook"):
        git(repository, "config", key, f"touch {mark}")

    folder, _ = fetch(f"file://{repository}@{id}#tiny", tmp_path)

    assert not mark.exists()
    assert (folder / "workspace" / "id.txt").read_bytes() == b"$Format:%H$\n"


def test_a_submodule_and_a_link_that_leads_out_are_refused(repository: Path, tmp_path: Path) -> None:
    (repository / "tiny" / "checks").symlink_to("/etc")
    linked = commit(repository, {})
    git(repository, "update-index", "--add", "--cacheinfo", f"160000,{linked},tiny/module")
    git(repository, "rm", "--quiet", "--cached", "tiny/checks")
    git(repository, "commit", "--quiet", "--message", "A submodule")
    with_module = git(repository, "rev-parse", "HEAD")

    with pytest.raises(InputError, match="tiny/checks: links to /etc, out of its folder"):
        fetch(f"file://{repository}@{linked}#tiny", tmp_path)
    with pytest.raises(InputError, match="tiny/module: is a submodule, which is never fetched"):
        fetch(f"file://{repository}@{with_module}#tiny", tmp_path)


def test_no_one_is_asked_for_a_password(tmp_path: Path) -> None:
    ended = Shell(tmp_path).run("scenarios", "list", f"https://127.0.0.1:1/x.git@{'a' * 40}")

    assert ended.returncode == 2
    assert ended.stderr.startswith(f"error: https://127.0.0.1:1/x.git@{'a' * 40}: git fetch: ")


def test_git_that_is_not_installed_is_an_error_that_says_how_to_get_it(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = git(repository, "rev-parse", "HEAD")
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(InputError, match="git: is not installed; install it"):
        fetch(f"file://{repository}@{id}", tmp_path)
