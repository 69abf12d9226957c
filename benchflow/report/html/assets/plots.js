// One metric of all cells: a dot for the figure, a whisker for its interval, on an axis from 0.

function plotPanel(plot) {
  const rows = page.cells.map((cell) => plotRow(plot, cell, cell.figures[plot.metric]));
  return h(
    "section",
    { class: "panel plot", "aria-label": plot.title },
    h("h3", null, plot.title, h("small", null, plot.note)),
    ...rows,
    plotAxis(plot.ticks, plot.most),
  );
}

function plotRow(plot, cell, figure) {
  const at = (value) => percent(value, plot.most);
  const line = (kind, from, to) => s("line", { class: kind, x1: at(from), x2: at(to), y1: 9, y2: 9 });
  const bounds = plot.metric === "success" ? cell.bounds : null;
  const known = figure.value !== null;
  return h(
    "div",
    { class: `plot-row ${cell.side}` },
    h("span", { class: "plot-label" }, cell.label, plot.metric === "success" && cell.unscored ? h("small", { class: "odd" }, cell.unscored) : null),
    h("span", { class: "plot-value", title: figure.note }, h("b", null, figure.text), " ", h("span", null, figure.range)),
    s(
      "svg",
      { height: 18, role: "img", "aria-label": `${cell.label}: ${figure.text} ${figure.range}` },
      line("track", 0, plot.most),
      bounds ? line("bounds", bounds[0], bounds[1]) : null,
      known && figure.low !== null ? line("whisker", figure.low, figure.high) : null,
      known ? s("circle", { cx: at(figure.value), cy: 9, r: 5 }) : null,
      s("title", null, `${figure.text} ${figure.range} ${figure.note}`),
    ),
  );
}

function plotAxis(ticks, most) {
  return s(
    "svg",
    { class: "axis", height: 18, "aria-hidden": "true" },
    ticks.map((tick) => s("line", { x1: percent(tick.at, most), x2: percent(tick.at, most), y1: 0, y2: 4 })),
    ticks.map((tick) =>
      s("text", { x: percent(tick.at, most), y: 15, class: tick.at === 0 ? "first" : tick.at >= most ? "last" : "" }, tick.text),
    ),
  );
}

// The difference of two cells on an axis of its own, 0 in the middle.
function differencePlot(line) {
  const { value, low, high } = line.difference;
  const reach = Math.max(...[value, low, high].map((one) => Math.abs(one ?? 0))) || 1;
  const at = (one) => percent(one + reach * 1.1, reach * 2.2);
  return s(
    "svg",
    { class: `difference ${verdictClass(line.verdict)}`, height: 18, "aria-hidden": "true" },
    s("line", { class: "zero", x1: "50%", x2: "50%", y1: 0, y2: 18 }),
    low === null ? null : s("line", { class: "whisker", x1: at(low), x2: at(high), y1: 9, y2: 9 }),
    value === null ? null : s("circle", { cx: at(value), cy: 9, r: 4.5 }),
  );
}

function verdictClass(verdict) {
  return { better: "pass", worse: "fail" }[verdict] ?? "even";
}
