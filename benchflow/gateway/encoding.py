"""Content codings of bodies: what is passed on stays as it is, but must be decoded to be read."""

import zlib
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from benchflow.gateway.message import Headers, find_header

ZSTD_MODULES = ("compression.zstd", "backports.zstd", "zstandard")


class Undecodable(ValueError):
    """The body is in a coding that cannot be read here, or is broken."""


def decode(body: bytes, headers: Headers) -> bytes:
    """Undo the codings that `Content-Encoding` names. Raises Undecodable."""
    codings = find_header(headers, "content-encoding")
    if not codings or not body:
        return body
    for coding in reversed([part.strip().lower() for part in codings.split(",")]):
        body = _decoder(coding)(body)
    return body


def readable_codings(accepted: str) -> str:
    """Leave out of an `Accept-Encoding` what could not be read here, so that no answer goes by unread."""
    codings = [part.strip() for part in accepted.split(",")]
    readable = [coding for coding in codings if _is_readable(coding.partition(";")[0].strip().lower())]
    return accepted if len(readable) == len(codings) else ", ".join(readable)


def _is_readable(coding: str) -> bool:
    return coding in ("gzip", "x-gzip", "deflate", "identity") or (coding == "zstd" and _zstd_module() is not None)


def _decoder(coding: str) -> Callable[[bytes], bytes]:
    if coding in ("gzip", "x-gzip"):
        return lambda body: _inflate(body, 16 + zlib.MAX_WBITS)
    if coding == "deflate":
        return _inflate_either
    if coding == "identity":
        return lambda body: body
    if coding == "zstd" and (name := _zstd_module()):
        return lambda body: _unzstd(body, name)
    raise Undecodable(f"content coding {coding!r} cannot be read")


def _inflate(body: bytes, window: int) -> bytes:
    """Inflate as far as the bytes go: a stream that was cut is still worth reading."""
    out = []
    try:
        while body:
            decoder = zlib.decompressobj(window)
            out.append(decoder.decompress(body))
            body = decoder.unused_data
    except zlib.error as exc:
        raise Undecodable(f"the compressed body is broken ({exc})") from exc
    return b"".join(out)


def _inflate_either(body: bytes) -> bytes:
    try:
        return _inflate(body, zlib.MAX_WBITS)
    except Undecodable:
        return _inflate(body, -zlib.MAX_WBITS)  # many servers send `deflate` without the zlib header


def _zstd_module() -> str | None:
    for name in ZSTD_MODULES:
        try:
            if find_spec(name):
                return name
        except ModuleNotFoundError:  # its parent package is missing
            continue
    return None


def _unzstd(body: bytes, module: str) -> bytes:
    zstd = import_module(module)
    try:
        if module == "zstandard":
            return zstd.ZstdDecompressor().decompressobj().decompress(body)
        return zstd.decompress(body)
    except Exception as exc:  # each of these modules has its own error class
        raise Undecodable(f"the compressed body is broken ({exc})") from exc
