"""Finds, among the tools that an agent offers, one that runs commands and one that writes files, whatever their names.

Agents are told apart by nothing but their tools' names, descriptions and parameters.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from benchflow.gateway.message import ToolDefinition
from benchflow.gateway.upstreams.fitting import fit, kind_of, words
from benchflow.gateway.upstreams.oracle_declared import declared_tools

_COMMAND_PARAMETERS = ("command", "cmd", "commands", "shell_command", "command_line", "commandline", "script", "argv")
"""Names of a parameter that takes a command, the likeliest first."""
_SHELL_WORDS = {"bash": 6, "shell": 6, "terminal": 5, "command": 4, "cmd": 4, "commands": 4, "console": 3}
_SHELL_WORDS |= {"exec": 3, "execute": 3, "sh": 3, "run": 2, "process": 1}
_NO_SHELL = frozenset(
    {"kill", "output", "status", "list", "read", "background", "get", "stdin", "search", "stop", "wait", "powershell"}
    | {"python", "sql", "browser", "slash", "git", "edit", "editor", "write", "create", "view", "mcp"}
)
_PATH_PARAMETERS = ("file_path", "filepath", "path", "absolute_path", "absolutepath", "target_file", "filename")
_PATH_PARAMETERS += ("file_name", "relative_path", "file", "relativepath", "uri")
_CONTENT_PARAMETERS = ("content", "contents", "file_text", "filetext", "file_content", "code_content", "text", "data")
_WRITE_WORDS = {"write": 6, "create": 5, "save": 4, "new": 2, "file": 2, "editor": 1, "edit": 0, "str": 0, "fs": 1}
_NO_WRITE = frozenset(
    {"append", "replace", "insert", "update", "memory", "notebook", "todo", "todos", "plan", "patch", "read", "delete"}
    | {"directory", "image", "move", "rename", "search", "task", "note", "artifact", "agent", "issue", "stdin"}
)
_CREATE_CHOICES = ("create", "write", "create_file", "write_file", "overwrite")
_PARTIAL = frozenset({"old_string", "old_str", "oldstring", "diff", "patch", "insert_line", "edits", "search"})
"""Required parameters of a tool that changes a part of a file."""
_PATIENCE = "yield_time_ms"
"""The parameter by which some shells are told how long to wait for a command before they answer without its end."""
_PATIENCE_MS = 30_000
_PATCH = "*** Begin Patch"
"""How the patches of free-form tools begin; their grammar, or description, says so."""


@dataclass(frozen=True, kw_only=True)
class ShellTool:
    """A tool that runs a command."""

    tool: ToolDefinition
    parameter: str
    form: Literal["line", "argv", "lines"]
    """The parameter takes a command line, the words of one, or a list of command lines."""

    def arguments(self, command: str, note: str, place: str) -> dict[str, Any]:
        """Return the arguments that run `command`."""
        value: Any = {"line": command, "argv": ["bash", "-c", command], "lines": [command]}[self.form]
        patience = {_PATIENCE: _PATIENCE_MS} if _PATIENCE in _properties(self.tool) else {}
        return _fill(self.tool, {self.parameter: value, **patience}, note, place)


@dataclass(frozen=True, kw_only=True)
class ScriptTool:
    """A free-form tool that takes a script, in which a shell can be called."""

    tool: ToolDefinition
    shell: ShellTool

    def arguments(self, command: str, note: str, place: str) -> dict[str, Any]:
        """Return the arguments with the script that runs `command`, and says what came of it."""
        called = orjson.dumps(self.shell.arguments(command, note, place)).decode()
        return {"input": f"text(await tools.{self.shell.tool.name}({called}));"}


@dataclass(frozen=True, kw_only=True)
class FileTool:
    """A tool that writes a whole file."""

    tool: ToolDefinition
    path: str
    content: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """What else makes it write: `command` is `create`."""

    def arguments(self, path: str, content: str, note: str, place: str) -> dict[str, Any]:
        """Return the arguments that write `content` to `path`, which is relative to `place`, the working directory."""
        if self._wants_absolute and place.startswith("/"):
            path = f"{place.rstrip('/')}/{path}"
        return _fill(self.tool, {**self.fixed, self.path: path, self.content: content}, note, place)

    @property
    def _wants_absolute(self) -> bool:
        said = f"{self.path} {_properties(self.tool).get(self.path, {}).get('description', '')}".lower()
        if "absolute" not in said and "relative" not in said:
            said = self.tool.description.lower()
        return "absolute" in said and not re.search(r"absolute or|or absolute|relative to|relative path or", said)


@dataclass(frozen=True, kw_only=True)
class PatchTool:
    """A free-form tool that takes a patch, which can add a whole file."""

    tool: ToolDefinition

    def arguments(self, path: str, content: str, note: str, place: str) -> dict[str, Any]:
        """Return the arguments with the patch that adds the file. `content` ends with a newline."""
        added = "".join(f"+{line}\n" for line in content.removesuffix("\n").split("\n"))
        return {"input": f"{_PATCH}\n*** Add File: {path}\n{added}*** End Patch\n"}


def find_shells(tools: Sequence[ToolDefinition]) -> list[ShellTool | ScriptTool]:
    """Return the tools that run commands, the likeliest first."""
    found: list[tuple[int, int, ShellTool | ScriptTool]] = [
        (score, -at, shell)
        for at, tool in enumerate(tools)
        if (shell := _as_shell(tool)) and (score := _shell_score(tool)) > 0
    ]
    found += [(0, -at, script) for at, tool in enumerate(tools) if (script := _as_script(tool))]
    return [shell for _, _, shell in sorted(found, key=lambda entry: entry[:2], reverse=True)]


def find_writer(tools: Sequence[ToolDefinition], content: str) -> FileTool | PatchTool | None:
    """Return the likeliest of the tools that write a whole file with that content; None: there is none."""
    found: list[tuple[int, int, FileTool | PatchTool]] = [
        (score, -at, writer)
        for at, tool in enumerate(tools)
        if (writer := _as_writer(tool)) and (score := _score(tool.name, _WRITE_WORDS, _NO_WRITE)) > 0
    ]
    if content.endswith("\n") and "\r" not in content:  # a patch knows no other lines
        found += [(0, -at, PatchTool(tool=tool)) for at, tool in enumerate(tools) if _takes_patches(tool)]
    return max(found, key=lambda entry: entry[:2])[2] if found else None


def find_finisher(tools: Sequence[ToolDefinition]) -> ToolDefinition | None:
    """Return a tool by which an agent wants the end of the work declared; None: there is none."""
    ends = {"finish", "submit", "completion", "complete", "done", "final", "completed", "exit", "respond"}
    return next((tool for tool in tools if words(tool.name) & ends), None)


def finish_arguments(tool: ToolDefinition, answer: str) -> dict[str, Any]:
    """Return the arguments that end the work with `answer`."""
    texts = [name for name, schema in _properties(tool).items() if kind_of(schema) == "string" and "enum" not in schema]
    required = [name for name in _required(tool) if name in texts]
    chosen = (required or texts)[:1]
    return _fill(tool, dict.fromkeys(chosen, answer), answer, ".")


def _as_shell(tool: ToolDefinition) -> ShellTool | None:
    properties = {_plain(name): name for name in _properties(tool)}
    for known in _COMMAND_PARAMETERS:
        name = properties.get(_plain(known))
        if name is None:
            continue
        schema = _properties(tool)[name]
        kind = kind_of(schema)
        if kind == "string" and "enum" not in schema:
            return ShellTool(tool=tool, parameter=name, form="line")
        if kind == "array" and kind_of(schema.get("items") or {}) == "string":
            return ShellTool(tool=tool, parameter=name, form="lines" if _plain(known) == "commands" else "argv")
    return None


def _as_script(tool: ToolDefinition) -> ScriptTool | None:
    if tool.kind != "custom" or "text(" not in tool.description:
        return None
    shells = find_shells(list(declared_tools(tool.description)))
    return next((ScriptTool(tool=tool, shell=shell) for shell in shells if isinstance(shell, ShellTool)), None)


def _takes_patches(tool: ToolDefinition) -> bool:
    if tool.kind != "custom":
        return False
    grammar = str(_properties(tool).get("input", {}).get("description", ""))
    return _PATCH in grammar or _PATCH in tool.description


def _as_writer(tool: ToolDefinition) -> FileTool | None:
    properties = {_plain(name): name for name in _properties(tool)}
    path = next((properties[_plain(known)] for known in _PATH_PARAMETERS if _plain(known) in properties), None)
    content = next((properties[_plain(known)] for known in _CONTENT_PARAMETERS if _plain(known) in properties), None)
    if (
        path is None
        or content is None
        or {_plain(name) for name in _required(tool)} & {_plain(name) for name in _PARTIAL}
    ):
        return None
    fixed: dict[str, Any] = {}
    for name, schema in _properties(tool).items():
        choices = schema.get("enum")
        if isinstance(choices, list) and name not in (path, content):
            create = next((choice for choice in _CREATE_CHOICES if choice in choices), None)
            if create is not None:
                fixed[name] = create
    return FileTool(tool=tool, path=path, content=content, fixed=fixed)


def _shell_score(tool: ToolDefinition) -> int:
    said = tool.description.lower()
    described = any(word in said for word in ("shell", "bash", "terminal", "command line", "execute a command"))
    score = _score(tool.name, _SHELL_WORDS, _NO_SHELL)
    return score + (3 if described and not words(tool.name) & _NO_SHELL else 0)


def _score(name: str, good: Mapping[str, int], bad: frozenset[str]) -> int:
    found = words(name)
    return sum(good.get(word, 0) for word in found) - 6 * len(found & bad)


def _fill(tool: ToolDefinition, given: Mapping[str, Any], note: str, place: str) -> dict[str, Any]:
    """Add what else the tool requires, and keep the order of its parameters."""
    required = fit(tool.parameters, note=note, place=place)
    return {**(required if isinstance(required, dict) else {}), **given}


def _properties(tool: ToolDefinition) -> Mapping[str, Mapping[str, Any]]:
    properties = tool.parameters.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: schema if isinstance(schema, Mapping) else {} for name, schema in properties.items()}


def _required(tool: ToolDefinition) -> list[str]:
    required = tool.parameters.get("required")
    return [name for name in required if isinstance(name, str)] if isinstance(required, list) else []


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()
