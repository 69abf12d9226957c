"""What plugins said of a trial, as parts of its page. Pure: the extensions of a row in, whatever they hold."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchflow.report import numbers
from benchflow.report.html.items import Fact, make_facts
from benchflow.report.html.passages import Passage, as_text, make_passage
from benchflow.report.text import one_line
from benchflow.row import ANALYSES, MEASURED, METRICS

_JUDGE = "judge"


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a trial's page that is closed at first."""

    label: str
    note: str = ""
    facts: Sequence[Fact] = ()
    passages: Sequence[Passage] = ()


def find_parts(extensions: Mapping[str, Any]) -> Iterator[Part]:
    """Yield what collectors measured, what each analyzer found, what the judge said, and the rest together."""
    found = {**_table(extensions, METRICS), **_table(extensions, MEASURED)}
    metrics = {name: value for name, value in found.items() if _is(value, "value", "unit")}
    analyses = {name: value for name, value in _table(extensions, ANALYSES).items() if _is(value, "summary")}
    if metrics:
        facts = make_facts((name, write_number(value["value"], value["unit"])) for name, value in metrics.items())
        yield Part(label="Measured", note=numbers.plural(len(facts), "figure"), facts=facts)
    for name, analysis in analyses.items():
        yield _analysis(name, analysis)
    if extensions.get(_JUDGE):
        yield Part(label="Judge", passages=(make_passage("", as_text(extensions[_JUDGE])),))
    known = {METRICS, MEASURED, ANALYSES, _JUDGE}
    rest = {name: value for name, value in extensions.items() if name not in known and value not in (None, {}, [])}
    if rest:
        yield Part(label="More of its row", passages=(make_passage("", as_text(rest)),))


def write_number(value: object, unit: object = "") -> str:
    """Write what a plugin measured: four digits, and its unit."""
    if value is None:
        return "?"
    if isinstance(value, bool) or not isinstance(value, int | float):
        told = as_text(value)
    else:
        told = f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
    return f"{told} {unit or ''}".rstrip()


def _table(extensions: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = extensions.get(name)
    return table if isinstance(table, dict) else {}


def _is(value: Any, *keys: str) -> bool:
    return isinstance(value, dict) and all(key in value for key in keys)


def _analysis(name: str, analysis: Mapping[str, Any]) -> Part:
    findings = [finding for finding in _list(analysis.get("findings")) if isinstance(finding, dict)]
    plain = [(str(finding.get("name")), _plain(finding)) for finding in findings]
    return Part(
        label=f"Analysis: {one_line(name, 60)}",
        note=one_line(str(analysis.get("summary") or ""), 200),
        facts=make_facts(plain),
        passages=[make_passage(str(finding.get("name")), text) for finding in findings if (text := _long(finding))],
    )


def _plain(finding: Mapping[str, Any]) -> str | None:
    """Write a finding that is one value."""
    match finding.get("kind"):
        case "number":
            return write_number(finding.get("value"), finding.get("unit"))
        case "ratio":
            parts = (write_number(finding.get(part)) for part in ("numerator", "denominator"))
            return " of ".join(parts)
        case "string":
            return as_text(finding.get("value"))
        case _:
            return None


def _long(finding: Mapping[str, Any]) -> str:
    """Write a finding that has lines; nothing for others."""
    match finding.get("kind"):
        case "list":
            return "\n".join(as_text(item) for item in _list(finding.get("items")))
        case "table":
            rows = [_list(finding.get("columns")), *map(_list, _list(finding.get("rows")))]
            return "\n".join("\t".join("" if value is None else str(value) for value in row) for row in rows)
        case _:
            return ""


def _list(value: Any) -> Sequence[Any]:
    """Return a list as it is, and anything else as one of one value: a plugin may have said anything."""
    return value if isinstance(value, list) else () if value is None else (value,)
