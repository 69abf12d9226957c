// The items of a timeline as a list: a line each, and what is in it when it is opened.

const GROUPS = [
  ["model", "model", ["model"]], ["tool", "tools", ["tool"]], ["message", "messages", ["prompt", "message", "user"]], ["thought", "thoughts", ["thought"]],
  ["rest", "events", ["plan", "permission", "limit", "error"]], ["quiet", "notices", ["usage", "notice"]],
];
const READ_AT_ONCE = 1500; // characters of a text that is shown without being opened

function itemList(timeline, command) {
  const root = h("div", { class: "items", role: "list" });
  const state = { query: "", hidden: new Set(["quiet"]), open: new Map(), items: [] };
  const all = timeline.items.map((item, index) => ({ item, index }));
  const list = blockList(root, ({ item, index }) => itemRow(item, index, timeline, command, state), 38);

  function apply() {
    const kinds = new Set(GROUPS.filter(([group]) => !state.hidden.has(group)).flatMap(([, , kinds]) => kinds));
    state.items = all.filter(({ item }) => kinds.has(item.kind) && (!state.query || itemText(item).includes(state.query)));
    list.show(state.items);
    if (!state.items.length) root.replaceChildren(h("p", { class: "nothing" }, "Nothing here is like that."));
    return state.items.length;
  }

  function reach(index) {
    let place = state.items.findIndex((one) => one.index === index);
    if (place < 0) {
      state.hidden.clear();
      state.query = "";
      apply();
      place = state.items.findIndex((one) => one.index === index);
    }
    state.open.set(index, true);
    const row = list.reach(place);
    if (!row) return;
    row.querySelector("details").open = true;
    row.scrollIntoView({ block: "center" });
    row.querySelector("summary").focus({ preventScroll: true });
  }

  return { root, state, apply, reach };
}

function itemText(item) {
  item.haystack ??= [item.title, item.brief, ...item.facts.map((fact) => fact.value), ...item.passages.flatMap((one) => [one.label, one.text, one.tail])].join("\n").toLowerCase();
  return item.haystack;
}

function opensItself(item) {
  const length = item.passages.reduce((sum, one) => sum + one.text.length, 0);
  if (item.state === "bad") return length <= 4 * READ_AT_ONCE;
  const prose = item.passages.find((one) => one.form === "prose");
  return (item.kind === "message" || item.kind === "prompt") && prose !== undefined && length <= READ_AT_ONCE && (prose.text.trim().includes("\n") || length > 90);
}

function itemRow(item, index, timeline, command, state) {
  const details = h("details", { class: `item ${item.kind} ${item.role} ${item.state ?? ""}` }, itemSummary(item, timeline, state.query));
  const body = () => details.childElementCount === 1 && details.append(itemBody(item, index, command, state.query));
  details.addEventListener("toggle", () => {
    state.open.set(index, details.open);
    if (details.open) body();
  });
  if (state.open.get(index) ?? (Boolean(state.query) || opensItself(item))) {
    details.open = true;
    body();
  }
  const before = timeline.dropped && index === timeline.dropped_at ? h("p", { class: "cut" }, `${plural(timeline.dropped, "item")} left out here. All: ${command} --raw acp`) : null;
  return h("div", { role: "listitem", id: `item-${index}` }, before, details);
}

function itemSummary(item, timeline, query) {
  return h(
    "summary",
    null,
    h("span", { class: "at" }, item.at_text),
    h("span", { class: "dot", "aria-hidden": "true" }),
    h("span", { class: "told" }, h("b", null, marked(item.title, query)), h("span", { class: "brief" }, marked(item.brief, query))),
    h("span", { class: "took" }, item.ms_text),
    smallBar(item, Math.max(timeline.ms, 0.001)),
  );
}

function itemBody(item, index, command, query) {
  return h(
    "div",
    { class: "body" },
    h("a", { class: "link-here", href: hashOf({ trial: route().get("trial"), item: index }) }, "link"),
    item.facts.length ? figureList(item.facts) : null,
    item.passages.map((passage) => passageView(passage, command, query)),
  );
}

function passageView(passage, command, query) {
  const draw = (text) => (passage.form === "diff" ? diffLines(text) : marked(text, query));
  const cut = passage.cut ? h("p", { class: "cut" }, `${plural(passage.cut, "character")} left out here. All: ${command} --json`) : null;
  const block = (text) => h("pre", { class: passage.form, tabindex: text.length > 4000 ? 0 : null, dir: "auto" }, draw(text));
  return h("div", { class: "passage" }, passage.label ? h("h4", null, passage.label) : null, block(passage.text), cut, cut ? block(passage.tail) : null);
}

function diffLines(text) {
  const looks = { "+": "added", "-": "removed", "@": "hunk" };
  return text.split("\n").map((line) => h("span", { class: looks[line[0]] ?? "same" }, `${line}\n`));
}
