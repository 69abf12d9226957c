"""A comparison as one self-contained page: each field that differs, both sides beside each other, differences marked.

What agents wrote is escaped, and the page's policy allows no script, no network and no style but its own.
"""

import base64
import difflib
import hashlib
import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

import orjson

from benchflow.errors import InputError
from benchflow.gateway.differing import MANY, MISSING, Difference
from benchflow.parity.comparison import NOT_CAPTURED, Parity, ScenarioParity
from benchflow.parity.outcome import AspectFound
from benchflow.parity.wire import DIVERGES, RequestFound
from benchflow.report.parity import headline, summarize, times
from benchflow.report.text import sanitize

CONTEXT = 300
"""Characters shown of what both sides have before and after what differs."""
_WORDS = re.compile(r"\s+|\w+|[^\w\s]")

STYLE = """
:root { color-scheme: light dark; --line: #8886; --good: #2a8c4a; --bad: #d13b3b; --open: #b8860b; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 78rem; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.parity, .identical, .neutral, .equal { color: var(--good); }
.divergence, .missing, .extra { color: var(--bad); }
.undecided, .noise, .late { color: var(--open); }
details { border-top: 1px solid var(--line); padding: .3rem 0; } summary { cursor: pointer; }
code, pre { font: 13px/1.45 ui-monospace, monospace; }
.field { margin: .6rem 0; } .sides { display: grid; grid-template-columns: 1fr 1fr; gap: .6rem; }
.side { border: 1px solid var(--line); border-radius: 4px; min-width: 0; }
.side b { display: block; padding: .1rem .5rem; border-bottom: 1px solid var(--line); font-weight: 600; }
pre { margin: 0; padding: .5rem; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 30rem; overflow: auto; }
del, ins { text-decoration: none; border-radius: 2px; } del { background: #d13b3b44; } ins { background: #2a8c4a44; }
i.gap { opacity: .6; } footer { margin-top: 2rem; opacity: .7; }
@media (max-width: 45rem) { .sides { grid-template-columns: 1fr; } }
"""


def check_writable(path: Path) -> None:
    """Raise InputError where the page could not be written, before anything is run for it."""
    if path.is_dir() or not path.parent.is_dir():
        raise InputError(f"--html {path}: name a file in a folder that exists")


def write_page(path: Path, parity: Parity) -> None:
    """Write the page. Raises InputError."""
    try:
        path.write_text(page_of(parity), encoding="utf-8")
    except OSError as exc:
        raise InputError(f"--html {path}: cannot be written ({exc.strerror})") from exc


def page_of(parity: Parity) -> str:
    """Return the page."""
    policy = f"default-src 'none'; style-src 'sha256-{_digest(STYLE)}'; base-uri 'none'; form-action 'none'"
    title = _text(f"Parity of {parity.agent}")
    body = "\n".join(part for scenario in parity.scenarios for part in _scenario(scenario))
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{STYLE}</style>
</head>
<body>
<h1>{title}: {_word(parity.word)}</h1>
<p>{_text(headline(parity))}</p>
{body}
<footer>{_text(times(parity))}</footer>
</body>
</html>
"""


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _scenario(scenario: ScenarioParity) -> Iterator[str]:
    yield f"<h2>{_text(scenario.scenario)}: {_word(scenario.word)}</h2>"
    wire = scenario.wire
    if wire is None:
        yield f"<p>Wire: not compared: {_text(NOT_CAPTURED)}</p>"
    elif wire.check is None:
        yield f"<p>Wire: {_word(wire.word)}: {_text(wire.reason or '')}</p>"
    else:
        yield f"<p>Wire: {_word(wire.word)}: {_text(summarize(wire.check))}</p>"
        yield from map(_request, wire.check.requests)
    outcome = scenario.outcome
    yield f"<p>Outcome: {_word(outcome.word)}{': ' + _text(outcome.reason) if outcome.reason else ''}</p>"
    if outcome.check:
        yield from map(_aspect, outcome.check.aspects)


def _request(request: RequestFound) -> str:
    rules = ", ".join(f"{name} {count}" for name, count in request.needed.items())
    notes = [f"rules: {rules}"] if rules else []
    notes += [f"changed on the way: {', '.join(request.changed)}"] if request.changed else []
    about = _text(" · ".join([request.call, *notes]))
    title = f"<b>{_text(request.name)}</b> {_word(request.found)} <code>{about}</code>"
    fields = _fields(request.differences) + _fields(request.noise, note="the agent alone differs from itself")
    return _folded(title, fields, opened=request.found in DIVERGES)


def _aspect(aspect: AspectFound) -> str:
    title = f"<b>{_text(aspect.aspect.replace('_', ' '))}</b> {_word(aspect.found)} {_text(aspect.said)}"
    return _folded(title, _fields(aspect.differences), opened=aspect.found == "divergence")


def _folded(title: str, content: str, *, opened: bool) -> str:
    if not content:
        return f"<details><summary>{title}</summary><p>Nothing differs.</p></details>"
    return f"<details{' open' if opened else ''}><summary>{title}</summary>{content}</details>"


def _fields(differences: Sequence[Difference], note: str = "") -> str:
    return "".join(_field(difference, note) for difference in differences)


def _field(difference: Difference, note: str) -> str:
    alone, inside = marked(_written(difference.recorded), _written(difference.asked))
    said = f" <i>{_text(note)}</i>" if note else ""
    return (
        f'<div class="field"><code>{_text(difference.path)}</code>{said}<div class="sides">'
        f'<div class="side"><b>alone</b><pre>{alone}</pre></div>'
        f'<div class="side"><b>inside</b><pre>{inside}</pre></div></div></div>'
    )


def _written(value: Any) -> str:
    """Write a value so that it can be read beside another."""
    if value is MISSING:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()


def marked(alone: str, inside: str) -> tuple[str, str]:
    """Return two texts as HTML, with what only one of them has marked, and long common parts shortened."""
    first, second = _WORDS.findall(alone), _WORDS.findall(inside)
    if len(first) + len(second) > MANY:
        first, second = alone.splitlines(keepends=True), inside.splitlines(keepends=True)
    left: list[str] = []
    right: list[str] = []
    for tag, start, end, other, other_end in difflib.SequenceMatcher(None, first, second, autojunk=False).get_opcodes():
        gone, come = "".join(first[start:end]), "".join(second[other:other_end])
        if tag == "equal":
            left.append(_shortened(gone))
            right.append(_shortened(come))
            continue
        left.append(f"<del>{_text(gone)}</del>" if gone else "")
        right.append(f"<ins>{_text(come)}</ins>" if come else "")
    return "".join(left), "".join(right)


def _shortened(text: str) -> str:
    if len(text) <= 2 * CONTEXT:
        return _text(text)
    left_out = len(text) - 2 * CONTEXT
    return f'{_text(text[:CONTEXT])}<i class="gap"> … {left_out} characters … </i>{_text(text[-CONTEXT:])}'


def _word(word: str) -> str:
    return f'<span class="{word}">{_text(word)}</span>'


def _text(text: str) -> str:
    return escape(sanitize(text))
