"""The scripts of a task: what they need beyond the workspace, and what of their set-up is done beforehand. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_BOOTSTRAP = re.compile(
    r"""\s*(?:
        (?:sudo\s+)?apt(?:-get)?\s+(?:-\S+\s+)*update(?:\s+-\S+)*
      | (?:sudo\s+)?apt(?:-get)?\s+(?:-\S+\s+)*install(?:\s+-\S+)*(?:\s+(?:curl|ca-certificates|-\S+))+
      | curl\s+\S+\s+https://astral\.sh/uv/(?:[\d.]+/)?install\.sh\s*\|\s*(?:ba)?sh
      | (?:source|\.)\s+["']?\$HOME/\.local/bin/env["']?
      )\s*(?:&&\s*)?(?:\#.*)?$""",
    re.VERBOSE,
)
"""Lines by which test scripts get uv, to run pytest with it: ours is there already."""
_UVX = re.compile(r"\buvx((?:\s+(?:-p|--python|-w|--with)[ =]\S+)+)\s+")
_WITH = re.compile(r"(?:-w|--with)[ =](\S+)")
_NETWORK = re.compile(
    r"(?<![\w./-])(apt-get|apt|apk|yum|dnf|pip3?|uvx?|curl|wget|npm|npx|conda|cargo|docker|git\s+clone)\s"
)
_PINNED = re.compile(r"[A-Za-z0-9._-]+(?:\[[\w,-]+\])?==[\w.+!-]+")
_ABSOLUTE = re.compile(r"(?:^|(?<=[\s\"'`(=,\[>:]))/([A-Za-z][\w.-]*)(?:/[\w.-]+)*", re.MULTILINE)
_EVERYWHERE = {"bin", "dev", "proc", "tmp", "usr", "lib", "sbin", "sys"}


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A test script that needs nothing to be fetched any more."""

    text: str
    packages: tuple[str, ...]
    """Python packages, pinned, that it is to find."""


def prepare(text: str) -> Prepared:
    """Take out of a test script what gets uv, and the uvx before a command, whose packages are returned."""
    joined = re.sub(r"\\\n\s*", " ", text)
    packages: list[str] = []
    lines = []
    for line in joined.splitlines():
        if _BOOTSTRAP.match(line):
            continue
        for options in _UVX.findall(line):
            packages += _WITH.findall(options)
        lines.append(_UVX.sub("", line))
    return Prepared(text="\n".join(lines) + "\n", packages=tuple(dict.fromkeys(packages)))


def needs(name: str, text: str, own: Sequence[str]) -> Iterator[str]:
    """Yield what a script needs that a sandbox without network, with the folders `own` alone, has not."""
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.lstrip().startswith("#") and (found := _NETWORK.search(line + " ")):
            yield f"{name}:{number}: needs the network: {found[1]}"
    yield from elsewhere(name, text, own)


def elsewhere(name: str, text: str, own: Sequence[str]) -> Iterator[str]:
    """Yield the absolute paths in a text that are neither in the folders `own` nor on every machine."""
    seen = set()
    for found in _ABSOLUTE.finditer(text):
        path = found[0].rstrip(".")
        inside = any(path == folder or path.startswith(f"{folder}/") for folder in own)
        if not inside and found[1] not in _EVERYWHERE and f"/{found[1]}" not in seen:
            seen.add(f"/{found[1]}")
            yield f"{name}: uses {path}, which is outside of the task's folders ({', '.join(own)})"


def unpinned(packages: Sequence[str]) -> list[str]:
    """Return the packages without one version."""
    return [package for package in packages if not _PINNED.fullmatch(package)]
