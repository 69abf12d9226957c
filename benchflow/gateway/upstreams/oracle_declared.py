"""Reads the tools that a description declares in TypeScript.

An agent may offer one tool that runs scripts, and have all others called from there.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from benchflow.gateway.message import ToolDefinition

_DECLARATION = re.compile(r"\btools: \{ (\w+)\(args: \{\n(.*?)\n\}\): Promise<", re.DOTALL)
_PARAMETER = re.compile(r"^ *(\w+)(\??): ([^;\n]+);", re.MULTILINE)
_TYPES: Mapping[str, Mapping[str, Any]] = {
    "string": {"type": "string"},
    "number": {"type": "number"},
    "boolean": {"type": "boolean"},
    "Array<string>": {"type": "array", "items": {"type": "string"}},
    "string[]": {"type": "array", "items": {"type": "string"}},
}


def declared_tools(description: str) -> Iterator[ToolDefinition]:
    """Yield what is declared as `tools: { name(args: {...}): Promise<...> }`, without parameters of other types."""
    for match in _DECLARATION.finditer(description):
        found = [(name, optional, _TYPES.get(kind.strip())) for name, optional, kind in _PARAMETER.findall(match[2])]
        properties = {name: schema for name, _, schema in found if schema is not None}
        required = [name for name, optional, schema in found if schema is not None and not optional]
        parameters = {"type": "object", "properties": properties, "required": required}
        yield ToolDefinition(name=match[1], description="", parameters=parameters)
