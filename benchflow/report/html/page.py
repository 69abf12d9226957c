"""The page: template, style and code of this package's own, with the content in blocks that only its code reads."""

import base64
import hashlib
import html
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import orjson

from benchflow.report.html.document import Document, make_document
from benchflow.report.html.packing import MOST_BYTES, Packed, pack_trials
from benchflow.report.profile import Comparison, Profile
from benchflow.runner.gate import GateVerdict
from benchflow.store import StoredRun

_STYLES = ("base", "overview", "trial", "print")
_SCRIPTS = ("dom", "data", "blocks", "plots", "matrix", "trials", "clock", "items", "trial", "overview", "app")
_MARK = re.compile(r"<!-- put (\w+) -->")


def write_html(
    path: Path,
    figures: Profile | Comparison,
    runs: Sequence[StoredRun],
    *,
    verdicts: Sequence[GateVerdict] = (),
    most_bytes: int = MOST_BYTES,
) -> None:
    """Write what `render_html` gives. The file is replaced whole or not at all."""
    draft = path.with_name(path.name + ".draft")
    try:
        with draft.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(render_html(figures, runs, verdicts=verdicts, most_bytes=most_bytes))
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def render_html(
    figures: Profile | Comparison,
    runs: Sequence[StoredRun],
    *,
    verdicts: Sequence[GateVerdict] = (),
    most_bytes: int = MOST_BYTES,
) -> Iterator[str]:
    """Yield one self-contained page in pieces: the figures of a run or of a comparison, and the trials of `runs`.

    `runs` are those that the figures were made of, as far as their folders are there: base before head. `verdicts` are
    those of gates. `most_bytes` bounds what all trials' trajectories take; those of passed trials, the oldest first,
    are left out for it, and the page says so.
    """
    document, wanted = make_document(figures, runs, verdicts)
    packed = pack_trials(wanted, most_bytes)
    yield from render(replace(document, left_out=packed.left_out), packed)


def render(document: Document, packed: Packed) -> Iterator[str]:
    """Yield the page in pieces."""
    style = "".join(f"{_asset(f'{name}.css')}\n" for name in _STYLES)
    code = "".join(f"{_asset(f'{name}.js')}\n" for name in _SCRIPTS)
    script = f'(() => {{\n"use strict";\n{code}}})();\n'
    pieces: dict[str, Iterable[str]] = {
        "policy": (html.escape(_policy(style, script)),),
        "title": (html.escape(f"{document.title} · BenchFlow"),),
        "style": (style,),
        "document": (embed_json(document),),
        "trials": _blocks(packed),
        "script": (script,),
    }
    for number, part in enumerate(_MARK.split(_asset("page.html"))):
        yield from pieces[part] if number % 2 else (part,)


def embed_json(value: object) -> str:
    """Return a value as JSON that nothing in it can end, or begin a comment in, as the content of a script element."""
    text = orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _blocks(packed: Packed) -> Iterator[str]:
    """Yield the trials' details, found by their place."""
    yield f'<script type="application/json" id="places">{embed_json(list(packed.blocks))}</script>\n'
    for place, block in enumerate(packed.blocks.values()):
        yield f'<script type="text/plain" id="trial-{place}">{block}</script>\n'


def _policy(style: str, script: str) -> str:
    """Nothing is loaded, nothing is sent, and nothing runs but our own code, known by its digest."""
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_source(script)}",
            f"style-src {_source(style)}",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        ]
    )


def _source(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _asset(name: str) -> str:
    return (files("benchflow.report.html") / "assets" / name).read_text(encoding="utf-8")
