"""What a Dockerfile makes of a base image, as far as it needs none: copied files and a working directory."""

import json
import posixpath
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_BASES = re.compile(r"(?:docker\.io/)?(?:library/)?(?:ubuntu|debian|python|bash)(?::[\w.-]+)?$")
"""Images that hold a system and nothing of a task: this machine's own tools stand in for theirs."""
_PLAIN = re.compile(r"(?:/[\w.-]+)+|/")
"""Working directories that stand in scripts as they are."""
_ARCHIVE = re.compile(r"\.(?:tar|tgz|tbz2?|txz|gz|bz2|xz|zst)$|[*?\[]")
"""What ADD unpacks, or may."""
_HARMLESS_ENV = {"DEBIAN_FRONTEND", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "LANG", "LC_ALL", "TZ"}
_IGNORED = {"LABEL", "CMD", "MAINTAINER", "SHELL"}


@dataclass
class Image:
    """What a Dockerfile comes to."""

    base: str = ""
    workdir: str = "/"
    copies: list[tuple[str, str]] = field(default_factory=list)
    """Each a path in the context, and the absolute path that it is copied to."""
    folders: list[str] = field(default_factory=list)
    """Absolute paths of folders that are made."""
    reasons: list[str] = field(default_factory=list)
    """Why it cannot be had without building it."""


def read_dockerfile(path: Path) -> Image:
    """Read a Dockerfile; what is beyond us is among the reasons, with its line."""
    image = Image()
    for number, line in _instructions(path.read_text(encoding="utf-8", errors="replace")):
        word, _, rest = line.partition(" ")
        try:
            reason = _apply(image, word.upper(), rest.strip())
        except ValueError as exc:  # of quotes that do not close
            reason = f"{line}: {exc}"[:160]
        if reason:
            image.reasons.append(f"it needs an image: {path.parent.name}/{path.name}:{number}: {reason}")
    places = [target for _, target in image.copies] + image.folders
    if not image.base:
        image.reasons.append(f"it needs an image: {path.parent.name}/{path.name} names none with FROM")
    if image.workdir == "/":
        image.reasons.append(f"it needs an image: {path.parent.name}/{path.name} sets no WORKDIR")
    image.reasons += [
        f"it needs an image: {place} is outside of its WORKDIR {image.workdir}"
        for place in places
        if posixpath.commonpath([place, image.workdir]) != image.workdir
    ]
    return image


def _instructions(text: str) -> Iterator[tuple[int, str]]:
    """Yield each instruction on one line, with the number of its first."""
    begun, parts = 0, []
    for number, line in enumerate(text.splitlines(), start=1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        begun = begun if parts else number
        parts.append(stripped.removesuffix("\\").strip())
        if not stripped.endswith("\\"):
            yield begun, " ".join(parts)
            parts = []
    if parts:
        yield begun, " ".join(parts)


def _apply(image: Image, word: str, rest: str) -> str | None:
    """Take an instruction; return why it cannot be."""
    if word in _IGNORED:
        return None
    if not rest:
        return f"{word} of nothing"
    match word:
        case "FROM":
            return _from(image, rest)
        case "WORKDIR":
            image.workdir = posixpath.normpath(posixpath.join(image.workdir, rest.strip("\"'")))
            return None if _PLAIN.fullmatch(image.workdir) else f"WORKDIR {rest}"[:160]
        case "COPY" | "ADD":
            return _copy(image, word, rest)
        case "ENV":
            names = {part.partition("=")[0] for part in shlex.split(rest)} if "=" in rest else {rest.split()[0]}
            return f"ENV {', '.join(sorted(names - _HARMLESS_ENV))}" if names - _HARMLESS_ENV else None
        case "RUN":
            return _run(image, rest)
        case _:
            return f"{word} {rest}"[:160]


def _from(image: Image, rest: str) -> str | None:
    if image.base:
        return "it is built in several stages"
    image.base = rest.split()[0]
    return None if _BASES.fullmatch(rest) else f"FROM {rest}, which holds more than a system"


def _copy(image: Image, word: str, rest: str) -> str | None:
    if rest.startswith("["):
        try:
            parts = [str(part) for part in json.loads(rest)]
        except ValueError:
            parts = []
    else:
        parts = shlex.split(rest)
    if len(parts) < 2 or any(part.startswith("--") or "$" in part or "://" in part for part in parts):
        return f"{word} {rest}"[:160]
    *sources, target = parts
    if any(".." in source.split("/") for source in sources):
        return f"{word} {rest}, which leads out of its folder"[:160]
    if word == "ADD" and any(map(_ARCHIVE.search, sources)):
        return f"{word} {rest}, which unpacks an archive"[:160]
    place = posixpath.join(image.workdir, target)
    into = target.endswith(("/", ".")) or len(sources) > 1
    for source in sources:
        image.copies.append((source, f"{posixpath.normpath(place)}/" if into else posixpath.normpath(place)))
    return None


def _run(image: Image, rest: str) -> str | None:
    words = shlex.split(rest) if not re.search(r"[;&|<>$`*]", rest) else []
    if words[:2] != ["mkdir", "-p"] or any(word.startswith("-") for word in words[2:]):
        return f"RUN {rest}"[:160]
    image.folders += [posixpath.normpath(posixpath.join(image.workdir, word)) for word in words[2:]]
    return None
