"""DNS as bytes (RFC 1035), as much of it as it takes to say that a name does not exist. Pure."""

import struct
from typing import NamedTuple

_HEADER = struct.Struct("!6H")
_RESPONSE = 0x8000
_OPCODE = 0x7800
_RECURSION_DESIRED = 0x0100
_RECURSION_AVAILABLE = 0x0080
_MALFORMED = 1
_NOT_IMPLEMENTED = 4
_NO_SUCH_NAME = 3
_LONGEST_LABEL = 63
_LONGEST_NAME = 255


class Answer(NamedTuple):
    """What is to be said to a query."""

    packet: bytes
    name: str | None
    """The name that was asked for, in lower case; None: it could not be read."""


def refuse(query: bytes) -> Answer | None:
    """Say that the name in the query does not exist. None: it is no query, and nobody waits for an answer."""
    if len(query) < _HEADER.size:
        return None
    number, flags, questions, *_ = _HEADER.unpack_from(query)
    if flags & _RESPONSE:
        return None
    if flags & _OPCODE:
        return Answer(_header(number, flags, _NOT_IMPLEMENTED, 0), None)
    found = _read_name(query, _HEADER.size) if questions == 1 else None
    if found is None:
        return Answer(_header(number, flags, _MALFORMED, 0), None)
    name, end = found
    return Answer(_header(number, flags, _NO_SUCH_NAME, 1) + query[_HEADER.size : end], name)


def _header(number: int, flags: int, code: int, questions: int) -> bytes:
    kept = flags & (_OPCODE | _RECURSION_DESIRED)
    return _HEADER.pack(number, _RESPONSE | kept | _RECURSION_AVAILABLE | code, questions, 0, 0, 0)


def _read_name(packet: bytes, start: int) -> tuple[str, int] | None:
    """Read the name of a question; return it with where the question ends, or None where it is malformed."""
    labels: list[str] = []
    at = start
    while at < len(packet) and (size := packet[at]):
        label = packet[at + 1 : at + 1 + size]
        at += 1 + size
        if size > _LONGEST_LABEL or len(label) < size or at - start >= _LONGEST_NAME:
            return None
        labels.append("".join(map(_character, label)))
    end = at + 5  # the root, the type and the class
    return (".".join(labels) or ".", end) if end <= len(packet) else None


def _character(byte: int) -> str:
    """Write a byte of a label as RFC 4343 does; a name in any case is the same name."""
    character = chr(byte)
    return character.lower() if "!" <= character <= "~" and character not in ".\\" else f"\\{byte:03d}"
