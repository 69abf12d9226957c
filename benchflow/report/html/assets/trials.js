// The list of trials: searched, filtered by verdict, cell and scenario, and sorted; all of it stands in the address.

const COLUMNS = [
  ["number", "#"], ["scenario", "scenario"], ["word", "outcome"], ["score", "score"], ["checks", "checks"], ["turns", "turns"],
  ["tools", "tools"], ["tokens", "tokens"], ["cost", "cost"], ["wall", "wall"],
];
const WORDS = { pass: "passed", fail: "failed", unscored: "unscored", open: "no result" };

const shown = { q: "", verdict: "", cell: "", scenario: "", sort: "", list: page.trials };

function filterTrials() {
  const words = shown.q.toLowerCase().split(/\s+/).filter(Boolean);
  shown.list = page.trials.filter(
    (trial) =>
      (!shown.verdict || trial.word === shown.verdict) &&
      (shown.cell === "" || trial.cell === Number(shown.cell)) &&
      (!shown.scenario || trial.scenario === shown.scenario) &&
      words.every((word) => haystack(trial).includes(word)),
  );
  sortTrials();
}

function haystack(trial) {
  trial.haystack ??= [trial.id, trial.scenario, trial.label, trial.reason, page.cells[trial.cell]?.about ?? ""].join("\n").toLowerCase();
  return trial.haystack;
}

function sortTrials() {
  if (!shown.sort) return;
  const down = shown.sort.startsWith("-");
  const column = shown.sort.replace("-", "");
  const value = (trial) => trial.order[column] ?? trial[column];
  const missing = (trial) => column in COLUMN_ORDER && (trial.order[column] ?? null) === null;
  shown.list.sort((one, other) => {
    if (missing(one) || missing(other)) return missing(one) - missing(other);
    const [a, b] = [value(one), value(other)];
    return (a < b ? -1 : a > b ? 1 : one.number - other.number) * (down ? -1 : 1);
  });
}

const COLUMN_ORDER = { score: 1, turns: 1, tools: 1, tokens: 1, cost: 1, wall: 1 };

function trialList() {
  const body = h("div", { class: "rows", role: "list" });
  const list = blockList(body, trialRow, 41);
  const count = h("span", { class: "count-said" });
  const search = h("input", { type: "search", id: "trial-search", placeholder: "Search trials", "aria-label": "Search trials", oninput: paused(() => change({ q: search.value }), 120) });
  const verdicts = h("div", { class: "chips", role: "group", "aria-label": "Filter by verdict" });
  const narrowed = h("button", { type: "button", class: "chip on", onclick: () => change({ cell: "", scenario: "" }) });
  const head = h("div", { class: "row head", "aria-hidden": "false" });

  function change(values) {
    const { list: _, ...state } = { ...shown, ...values };
    history.replaceState(null, "", hashOf(state) || "#");
    apply(state);
  }

  function apply(state) {
    Object.assign(shown, state);
    filterTrials();
    if (search.value !== shown.q) search.value = shown.q;
    verdicts.replaceChildren(...verdictChips(change));
    head.replaceChildren(...COLUMNS.map(([key, label]) => sortButton(key, label, change)));
    const within = [shown.scenario, shown.cell === "" ? "" : page.cells[shown.cell]?.label].filter(Boolean).join(" · ");
    narrowed.hidden = !within;
    narrowed.replaceChildren(within, h("span", { "aria-label": "remove this filter" }, " ✕"));
    count.textContent = shown.list.length === page.trials.length ? "" : `${shown.list.length.toLocaleString("en")} of ${plural(page.trials.length, "trial")}`;
    say(`${plural(shown.list.length, "trial")} shown`);
    list.show(shown.list);
    if (!shown.list.length) body.replaceChildren(h("p", { class: "nothing" }, "No trial is like that."));
  }

  const tools = h("div", { class: "tools" }, search, verdicts, narrowed, count);
  return { element: h("div", { class: "trials" }, tools, h("div", { class: "table" }, head, body)), apply, search };
}

function verdictChips(change) {
  const counts = {};
  for (const trial of page.trials) counts[trial.word] = (counts[trial.word] ?? 0) + 1;
  const words = Object.keys(WORDS).filter((word) => counts[word]);
  return [["", "all", page.trials.length], ...words.map((word) => [word, WORDS[word], counts[word]])].map(([word, label, number]) =>
    h("button", { type: "button", class: `chip ${word} ${shown.verdict === word ? "on" : ""}`, "aria-pressed": String(shown.verdict === word), onclick: () => change({ verdict: word }) },
      label, h("small", null, number.toLocaleString("en"))),
  );
}

function sortButton(key, label, change) {
  const direction = shown.sort === key ? "ascending" : shown.sort === `-${key}` ? "descending" : null;
  const next = direction === "ascending" ? `-${key}` : direction ? "" : key;
  const arrow = { ascending: " ↑", descending: " ↓" }[direction] ?? "";
  return h("button", { type: "button", class: `c-${key}`, "aria-label": `sort by ${label}${direction ? `, now ${direction}` : ""}`, onclick: () => change({ sort: next }) }, label + arrow);
}

function trialRow(trial) {
  const cell = page.cells.length > 1 ? page.cells[trial.cell]?.label : null;
  const repeated = page.scenarios.length < page.trials.length;
  const name = h("span", { class: "c-scenario" }, h("b", null, trial.scenario, repeated ? h("small", null, ` #${trial.iteration + 1}`) : null), cell ? h("small", { class: "cell" }, cell) : null,
    trial.reason ? h("small", { class: "reason" }, trial.reason) : null);
  const figures = ["score", "checks", "turns", "tools", "tokens", "cost", "wall"].map((key) => h("span", { class: `c-${key}`, "data-label": key }, trial[key]));
  return h("div", { role: "listitem" },
    h("a", { class: "row", href: hashOf({ trial: trial.id }) }, h("span", { class: "c-number" }, String(trial.number)), name, h("span", { class: "c-word" }, badge(trial.word, trial.label)), figures));
}
