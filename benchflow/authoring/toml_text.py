"""Text as a string of TOML, readable where it has several lines. Pure."""

import re

_ESCAPES = {"\\": "\\\\", "\b": "\\b", "\f": "\\f", "\r": "\\r"}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_ODD = re.compile(r"[\\\x00-\x08\x0b-\x1f\x7f]")


def quote(text: str) -> str:
    """Write a text as a string: over several lines where it has several, and as it is where that can be."""
    if "\n" in text and "'''" not in text and not text.endswith("'") and not _CONTROL.search(text):
        return f"'''\n{text}'''"
    escaped = _ODD.sub(lambda found: _ESCAPES.get(found[0], f"\\u{ord(found[0]):04x}"), text).replace('"', '\\"')
    return f'"""\n{escaped}"""' if "\n" in text else '"' + escaped.replace("\t", "\\t") + '"'
