// Scenarios down, cells across: a mark for each trial, which leads to it; where they are many, their count.

const MOST_MARKS = 24; // in a line

function matrixTable() {
  const marks = new Map();
  for (const trial of page.trials) {
    const key = `${trial.cell} ${trial.scenario}`;
    if (!marks.has(key)) marks.set(key, []);
    marks.get(key).push(trial);
  }
  const head = h("tr", null, h("th", { scope: "col" }, "Scenario"), page.cells.map((cell) => h("th", { scope: "col", title: cell.about }, cell.label)));
  const body = page.scenarios.map((line) =>
    h(
      "tr",
      null,
      h("th", { scope: "row" }, line.scenario),
      line.counts.map((count, cell) => h("td", null, count ? matrixCell(count, marks.get(`${cell} ${line.scenario}`) ?? [], cell, line.scenario) : "")),
    ),
  );
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-labelledby": "matrix" }, h("table", { class: "matrix" }, h("thead", null, head), h("tbody", null, body)));
}

function matrixCell(count, trials, cell, scenario) {
  if (trials.length && trials.length * page.cells.length <= MOST_MARKS) return h("div", { class: "marks" }, trials.map(trialMark));
  const scored = count.trials - count.unscored;
  const link = { class: "count", href: hashOf({ cell, scenario }), "aria-label": `${scenario}: ${count.passed} of ${scored} passed, ${count.unscored} unscored` };
  return h(
    "a",
    link,
    shareBar(count),
    h("span", null, `${count.passed}/${scored}`, count.unscored ? h("small", { class: "odd" }, ` +${count.unscored} ?`) : null),
  );
}

function trialMark(trial) {
  const told = `${trial.scenario} #${trial.iteration + 1}: ${trial.label}`;
  return h("a", { class: `mark ${trial.word}`, href: hashOf({ trial: trial.id }), title: trial.reason ? `${told}. ${trial.reason}` : told, "aria-label": told }, GLYPHS[trial.word]);
}

function shareBar(count) {
  const parts = [["pass", count.passed], ["fail", count.trials - count.unscored - count.passed], ["unscored", count.unscored]];
  let from = 0;
  const bars = parts.map(([word, number]) => {
    const bar = s("rect", { class: word, x: percent(from, count.trials), width: percent(number, count.trials), height: 8 });
    from += number;
    return bar;
  });
  return s("svg", { class: "share", height: 8, width: 80, "aria-hidden": "true" }, bars);
}
