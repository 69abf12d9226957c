// The first page: what the run came to, its cells beside each other, the matrix, and the list of trials.

function overviewView() {
  const list = trialList();
  const element = h(
    "div",
    { class: "overview" },
    h("header", null, h("h1", null, page.title), h("p", { class: "about" }, page.subtitle)),
    h("dl", { class: "tiles" }, page.totals.map((fact) => h("div", null, h("dt", null, fact.label), h("dd", null, fact.value)))),
    page.gates.map((gate) => h("p", { class: `callout ${gate.missed ? "fail" : "pass"}` }, h("b", null, `${gate.option} ${gate.missed ? "missed" : "kept"}: `), gate.reason)),
    page.notes.map((note) => h("p", { class: "callout" }, note)),
    page.compared ? [page.versus.map(versusSection), cellSection()] : [cellSection(), page.versus.map(versusSection)],
    page.scenarios.length ? [heading(2, "matrix", "Scenarios", h("small", null, "a mark for each trial: ✓ passed, ✕ failed, ? unscored")), matrixTable()] : null,
    heading(2, "trials", "Trials", h("small", null, leftOut())),
    list.element,
  );
  return { element, apply: list.apply, search: list.search };
}

function leftOut() {
  const parts = [];
  if (page.unlisted) parts.push(`${plural(page.unlisted, "trial")} more are not listed`);
  if (page.left_out) parts.push(`of ${plural(page.left_out, "trial")}, passed and oldest first, only the figures are here, to keep this file small`);
  return parts.join("; ");
}

function cellSection() {
  if (!page.cells.length) return null;
  return [
    heading(2, "cells", page.cells.length > 1 ? "Cells" : "Figures", h("small", null, `over scored trials; intervals at ${page.level}`)),
    h("div", { class: "panels" }, page.plots.map(plotPanel)),
    h("div", { class: "wide", tabindex: 0, role: "region", "aria-labelledby": "cells" }, cellTable()),
    page.further.length ? h("details", { class: "part" }, h("summary", null, "More figures"), page.further.map(layoutPart)) : null,
    h("details", { class: "part" }, h("summary", null, page.cells.length > 1 ? "What the cells are" : "What was run"), page.cells.map((cell) => [h("h4", null, cell.label), figureList(cell.facts)])),
  ];
}

// What a terminal shows too: a paragraph, or a table whose cells may have a second line.
function layoutPart(part) {
  if (!part.columns) return textPart(part);
  const cell = (text, tag, scope) => {
    const [first, ...rest] = text.split("\n");
    return h(tag, { scope }, tag === "td" ? h("b", null, first) : first, rest.map((line) => h("small", null, line)));
  };
  const rows = part.rows.map((row) => h("tr", null, row.map((text, place) => cell(text, place ? "td" : "th", place ? null : "row"))));
  const head = h("tr", null, part.columns.map((column) => cell(column.title, "th", "col")));
  return h("div", { class: "wide" }, h("table", null, h("thead", null, head), h("tbody", null, rows)));
}

function textPart(part) {
  return h("p", { class: `said tone-${part.tone}` }, part.text);
}

function cellTable() {
  const metrics = [["success", "success"], ["score", "score"], ["wall_ms", "wall"], ["tokens", "tokens"], ["cost_usd", "cost"], ["turns", "turns"], ["tool_calls", "tool calls"]];
  const row = (cell) =>
    h(
      "tr",
      { class: cell.side },
      h("th", { scope: "row", title: cell.about }, cell.label),
      h("td", null, h("b", null, cell.passed), cell.unscored ? h("small", { class: "odd" }, `${cell.unscored} (${cell.codes})`) : null),
      metrics.map(([name]) => {
        const figure = cell.figures[name];
        return h("td", { title: figure.note }, h("b", null, figure.text), h("small", null, figure.range));
      }),
    );
  const names = ["cell", "passed", ...metrics.map(([, label]) => label)];
  return h("table", { class: "cells" }, h("thead", null, h("tr", null, names.map((name) => h("th", { scope: "col" }, name)))), h("tbody", null, page.cells.map(row)));
}

function versusSection(versus, index) {
  const row = (line) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, line.metric),
      h("td", null, line.base),
      h("td", null, line.head),
      h("td", { title: line.difference.note }, h("b", null, line.difference.text), h("small", null, line.difference.range)),
      h("td", { class: "drawn" }, differencePlot(line)),
      h("td", null, line.change),
      h("td", null, h("span", { class: `verdict ${verdictClass(line.verdict)}` }, line.verdict), h("small", null, line.effect)),
      h("td", null, line.p),
    );
  const names = ["", versus.base, versus.head, "difference", "", "change", "verdict", "p"];
  const id = `versus-${index}`;
  return [
    heading(2, id, versus.title),
    versus.before.map(textPart),
    h("div", { class: "wide", tabindex: 0, role: "region", "aria-labelledby": id }, h("table", { class: "versus" }, h("thead", null, h("tr", null, names.map((name) => h("th", { scope: "col" }, name)))), h("tbody", null, versus.lines.map(row)))),
    versus.after.map(textPart),
  ];
}
