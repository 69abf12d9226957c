"""What a tool call is for: to look at something, to change files, or to run something. A closed table, no model.

The kind that the agent gives decides, where it is one of ACP's; of kind `other`, the words of the tool's name; of a
command line, its programs. Only its first 600 characters count, and of a here-document nothing.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

Purpose = Literal["look", "change", "run", "other"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_BY_KIND: dict[str, Purpose] = {
    "read": "look",
    "search": "look",
    "fetch": "look",
    "edit": "change",
    "delete": "change",
    "move": "change",
    "execute": "run",
    "think": "other",
    "switch_mode": "other",
}
_BY_WORD: dict[Purpose, frozenset[str]] = {
    "change": _words("write edit create patch replace apply delete insert remove move rename update"),
    "run": _words("bash shell exec execute run terminal command cmd"),
    "look": _words("read view cat open get list ls glob grep search find fetch tree"),
}
_NO_WORK = _words("todo todos plan task tasks memory think thought question notebook")
_LOOK = _words(
    "cat head tail less more ls tree find grep egrep fgrep rg ag fd wc stat file pwd which type diff cmp nl sort uniq "
    "cut column od xxd hexdump strings jq yq awk sed du df date whoami printenv id uname realpath readlink basename "
    "dirname test ["
)
_CHANGE = _words("rm mv cp mkdir rmdir touch tee ln chmod chown patch install truncate dd rsync unzip")
_NEUTRAL = _words("cd echo printf true false : export set exit source . sleep pushd popd ulimit umask")
_GIT_LOOK = _words(
    "status log diff show blame ls-files ls-tree grep rev-parse rev-list branch describe cat-file reflog shortlog "
    "remote count-objects fsck config"
)
_PREFIXES = _words("sudo env time nice nohup command exec then do else")

_LONGEST = 600
_WRAPPED = re.compile(r"^\s*(?:env\s+)?(?:\S*/)?(?:ba|z|da|k)?sh\s+-\w*c\w*\s+['\"]?")
_HEREDOC = re.compile(r"<<-?\s*(?:'\\'')?['\"\\]?\w+")
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\]|\\.)*\"")
_SEPARATOR = re.compile(r"&&|\|\|?|;|\n")
_TO_FILE = re.compile(r"(?<![0-9&>=-])>>?(?!\s*(?:&|/dev/))")
_ASSIGNMENT = re.compile(r"^\w+=")
_IN_PLACE = re.compile(r"\s(?:-[a-zA-Z]*i\b|-i\S*|--in-place)")
_GIT = re.compile(r"\bgit\s+(?:-[Cc]\s+\S+\s+|-\S+\s+)*([\w-]+)")
_UNDO = re.compile(
    r"\bgit\s+(?:-[Cc]\s+\S+\s+|-\S+\s+)*(?:restore|revert|stash|reset\b.*--hard|checkout\s+(?:\S+\s+)?--)"
)


def purpose_of(kind: str, tool: str, command: str) -> Purpose:
    """Say what a call is for, by its kind, its tool's name, and its command line, if any."""
    purpose = _BY_KIND.get(kind) or _by_name(tool)
    return _by_command(command) if purpose == "run" and command else purpose


def command_of(given: Any) -> str:
    """Return the command line in a call's input: `command`, `cmd`, `script` or `code`; empty where there is none."""
    value = given if isinstance(given, str) else ""
    if isinstance(given, dict):
        value = next((given[key] for key in ("command", "cmd", "script", "code") if given.get(key)), "")
    if isinstance(value, list):
        value = " ".join(str(word) for word in value)
    return _WRAPPED.sub("", value[:_LONGEST], count=1) if isinstance(value, str) else ""


def undoes(command: str) -> bool:
    """Tell whether a command line takes changes back: git restore, revert, stash, reset --hard, checkout --."""
    return "git" in command and bool(_UNDO.search(command))


def _by_name(tool: str) -> Purpose:
    words = frozenset(re.findall(r"[a-z]+", re.sub(r"([a-z])([A-Z])", r"\1 \2", tool).lower()))
    if words & _NO_WORK:
        return "other"
    for purpose, known in _BY_WORD.items():
        if words & known:
            return purpose
    return "other"


def _by_command(command: str) -> Purpose:
    """The strongest purpose of its parts: to change something, else to run something, else to look."""
    found = set(_purposes(_SEPARATOR.split(_QUOTED.sub("''", _without_documents(command)))))
    return "change" if "change" in found else "run" if "run" in found else "look" if "look" in found else "other"


def _without_documents(command: str) -> str:
    """Leave out here-documents: what follows the line that announces one."""
    found = _HEREDOC.search(command) if "<<" in command else None
    if not found:
        return command
    end = command.find("\n", found.end())
    return command[: found.start()] + (command[found.end() : end] if end >= 0 else command[found.end() :])


def _purposes(parts: Iterable[str]) -> Iterator[Purpose]:
    for part in parts:
        words = part.split()
        while words and (words[0] in _PREFIXES or ("=" in words[0] and _ASSIGNMENT.match(words[0]))):
            del words[0]
        if not words:
            continue
        program = words[0].strip("'\"(){}").rsplit("/", 1)[-1]
        yield "change" if ">" in part and _TO_FILE.search(part) else _by_program(program, part)


def _by_program(program: str, part: str) -> Purpose:
    if program in _NEUTRAL or not program:
        return "other"
    if program == "git":
        found = _GIT.search(part)
        return "look" if found is None or found[1] in _GIT_LOOK else "change"
    if program == "sed":
        return "change" if _IN_PLACE.search(part) else "look"
    return "change" if program in _CHANGE else "look" if program in _LOOK else "run"
