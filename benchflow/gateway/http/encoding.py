"""Content codings of bodies: what is passed on stays as it is, but must be decoded to be read."""

import zlib
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Protocol

from benchflow.gateway.message import Headers, find_header

ZSTD_MODULES = ("compression.zstd", "backports.zstd", "zstandard")
BROTLI_MODULES = ("brotli", "brotlicffi")
PIECE = 1 << 20
"""Bytes that are decoded at once, at most: a few bytes may stand for a great many."""
MOST = 256 << 20
"""Bytes that a body may have once it is decoded, where it is decoded whole."""


class Undecodable(ValueError):
    """The body is in a coding that cannot be read here, or is broken."""


class _Coding(Protocol):
    """Undoes one coding."""

    def feed(self, data: bytes) -> Iterator[bytes]: ...


class Decoder:
    """Undoes the codings that `Content-Encoding` names, while a body passes by. Raises Undecodable."""

    def __init__(self, headers: Headers) -> None:
        codings = find_header(headers, "content-encoding") or ""
        named = [part.strip().lower() for part in codings.split(",") if part.strip()]
        self._stages = [_coding(name) for name in reversed(named) if name != "identity"]

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the next bytes stand for, as far as they go: a body that was cut is still worth reading."""
        pieces: Iterator[bytes] = iter((data,))
        for stage in self._stages:
            pieces = _through(stage, pieces)
        return pieces


def decode(body: bytes, headers: Headers) -> bytes:
    """Undo the codings that `Content-Encoding` names. Raises Undecodable."""
    if not body or not find_header(headers, "content-encoding"):
        return body
    pieces, size = [], 0
    for piece in Decoder(headers).feed(body):
        size += len(piece)
        if size > MOST:
            raise Undecodable(f"the compressed body stands for more than {MOST >> 20} MiB")
        pieces.append(piece)
    return b"".join(pieces)


def readable_codings(accepted: str) -> str:
    """Leave out of an `Accept-Encoding` what could not be read here, so that no answer goes by unread."""
    codings = [part.strip() for part in accepted.split(",")]
    readable = [coding for coding in codings if _is_readable(coding.partition(";")[0].strip().lower())]
    return accepted if len(readable) == len(codings) else ", ".join(readable)


def _is_readable(coding: str) -> bool:
    if coding in ("gzip", "x-gzip", "deflate", "identity"):
        return True
    return _first_of({"zstd": ZSTD_MODULES, "br": BROTLI_MODULES}.get(coding, ())) is not None


def _through(stage: _Coding, pieces: Iterator[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield from stage.feed(piece)


def _coding(name: str) -> _Coding:
    if name in ("gzip", "x-gzip"):
        return _Inflating(16 + zlib.MAX_WBITS)
    if name == "deflate":
        return _Inflating(None)
    if name == "zstd" and (module := _first_of(ZSTD_MODULES)):
        return _Zstd(module)
    if name == "br" and (module := _first_of(BROTLI_MODULES)):
        return _Brotli(module)
    raise Undecodable(f"content coding {name!r} cannot be read")


class _Inflating:
    """gzip, of any number of members, and deflate, which many servers send without the zlib header."""

    def __init__(self, window: int | None) -> None:
        self._window = window
        self._decoder: Any = None
        self._head = b""

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._window is None:
            self._head += data
            if len(self._head) < 2:
                return
            data, self._head = self._head, b""
            zlib_header = data[0] & 0x0F == 8 and int.from_bytes(data[:2], "big") % 31 == 0
            self._window = zlib.MAX_WBITS if zlib_header else -zlib.MAX_WBITS
        try:
            while data:
                self._decoder = self._decoder or zlib.decompressobj(self._window)
                yield self._decoder.decompress(data, PIECE)
                data = self._decoder.unconsumed_tail
                if self._decoder.eof:
                    data, self._decoder = self._decoder.unused_data, None
        except zlib.error as exc:
            raise Undecodable(f"the compressed body is broken ({exc})") from exc


class _Brotli:
    """Brotli, where a module for it is installed."""

    def __init__(self, module: str) -> None:
        self._decoder = import_module(module).Decompressor()

    def feed(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), _SLICE):
            try:
                yield self._decoder.process(data[start : start + _SLICE])
            except Exception as exc:  # each of these modules has its own error class
                raise Undecodable(f"the compressed body is broken ({exc})") from exc


class _Zstd:
    """Zstandard, where a module for it is installed."""

    def __init__(self, module: str) -> None:
        found = import_module(module)
        own = module == "zstandard"
        self._begin = found.ZstdDecompressor().decompressobj if own else found.ZstdDecompressor
        self._decoder: Any = self._begin()

    def feed(self, data: bytes) -> Iterator[bytes]:
        for start in range(0, len(data), _SLICE):
            rest = data[start : start + _SLICE]
            while rest:
                try:
                    piece = self._decoder.decompress(rest)
                except Exception as exc:  # each of these modules has its own error class
                    raise Undecodable(f"the compressed body is broken ({exc})") from exc
                yield piece
                rest = self._decoder.unused_data if self._decoder.eof else b""
                if self._decoder.eof:
                    self._decoder = self._begin()


_SLICE = 4096
"""Bytes that are given at once to a decoder that cannot be told how much to make of them."""


@cache
def _first_of(modules: tuple[str, ...]) -> str | None:
    for name in modules:
        try:
            if find_spec(name):
                return name
        except ModuleNotFoundError:  # its parent package is missing
            continue
    return None
