// One trial: its verdict, its checks, its timeline, and what else it left behind.

async function trialView(trial) {
  const detail = await readDetail(trial);
  const view = h("article", { class: "trial" }, trialHead(trial, detail));
  if (!detail) {
    view.append(h("p", { class: "callout" }, "What happened in this trial is left out of this file to keep it small. All of it: ", h("code", null, trial.command)));
    return { element: view, reach: () => {} };
  }
  view.append(...checkList(detail.checks, trial.command));
  const timeline = detail.timeline ? timelineView(detail.timeline, trial) : null;
  view.append(timeline ? timeline.element : h("p", { class: "nothing" }, "This trial has no logs."));
  view.append(...detail.parts.map((part) => partView(part, trial.command)));
  view.append(h("p", { class: "hint" }, "On a terminal: ", h("code", null, trial.command)));
  return { element: view, reach: timeline?.reach ?? (() => {}) };
}

function trialHead(trial, detail) {
  const cell = page.cells[trial.cell];
  const figures = [["score", trial.score], ["checks", trial.checks], ["turns", trial.turns], ["tool calls", trial.tools], ["tokens", trial.tokens], ["cost", trial.cost], ["wall", trial.wall]];
  return h(
    "header",
    null,
    h("nav", { class: "steps", "aria-label": "Trials" }, h("a", { href: hashOf(overviewState()) || "#" }, "← All trials"), h("span", null, step(trial, -1, "previous"), step(trial, 1, "next"))),
    h("h1", null, trial.scenario, trial.cell === null ? null : h("small", null, ` #${trial.iteration + 1}`), " ", badge(trial.word, trial.label)),
    h("p", { class: "about" }, cell?.about ?? "", cell?.side ? ` · ${cell.side}` : ""),
    trial.reason ? h("p", { class: `callout ${trial.word}` }, trial.reason) : null,
    h("dl", { class: "tiles" }, figures.filter(([, value]) => value).map(([label, value]) => h("div", null, h("dt", null, label), h("dd", null, value)))),
    detail?.facts.length ? figureList(detail.facts) : null,
  );
}

function partView(part, command) {
  const body = () => [part.facts.length ? figureList(part.facts) : null, part.passages.map((passage) => passageView(passage, command, ""))];
  const details = h("details", { class: "part" }, h("summary", null, part.label, h("small", null, part.note)));
  details.addEventListener("toggle", () => details.append(...body().flat().filter(Boolean)), { once: true });
  return details;
}

function step(trial, by, label) {
  const place = shown.list.indexOf(trial);
  const other = place < 0 ? null : shown.list[place + by];
  return other ? h("a", { href: hashOf({ trial: other.id }), rel: by < 0 ? "prev" : "next" }, label) : h("span", { class: "off" }, label);
}

function checkList(checks, command) {
  if (!checks.length) return [];
  const passed = checks.filter((check) => check.passed).length;
  const lines = checks.map((check) => {
    const line = [badge(check.passed ? "pass" : "fail", check.name), h("span", null, check.description)];
    if (!check.passages.length) return h("div", { class: "check" }, line);
    return h("details", { class: "check", open: !check.passed }, h("summary", null, line), check.passages.map((passage) => passageView(passage, command, "")));
  });
  return [heading(2, "checks", "Checks", h("small", null, `${passed} of ${checks.length} passed`)), h("div", { class: "checks" }, lines)];
}

function timelineView(timeline, trial) {
  const list = itemList(timeline, trial.command);
  const found = h("span", { class: "count-said" });
  const search = h("input", { type: "search", id: "item-search", placeholder: "Search this trial", "aria-label": "Search this trial", oninput: paused(() => apply({ query: search.value.trim().toLowerCase() }), 120) });
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Kinds of items" });
  const opener = h("button", { type: "button", class: "quiet", onclick: openAll }, "Open all");

  function apply(values) {
    Object.assign(list.state, values);
    const count = list.apply();
    found.textContent = list.state.query || list.state.hidden.size ? `${count} of ${plural(timeline.items.length, "item")}` : plural(count, "item");
    say(found.textContent);
    drawChips();
  }

  function drawChips() {
    chips.replaceChildren(...GROUPS.map(([group, label, kinds]) => {
      const number = timeline.items.filter((item) => kinds.includes(item.kind)).length;
      const on = !list.state.hidden.has(group);
      const flip = () => (on ? list.state.hidden.add(group) : list.state.hidden.delete(group), apply({}));
      return number ? h("button", { type: "button", class: `chip kind ${group} ${on ? "on" : ""}`, "aria-pressed": String(on), onclick: flip }, label, h("small", null, String(number))) : "";
    }).filter(Boolean));
  }

  function openAll() {
    const open = opener.textContent === "Open all";
    opener.textContent = open ? "Close all" : "Open all";
    timeline.items.forEach((_, index) => list.state.open.set(index, open));
    list.apply();
  }

  function reach(index) {
    list.reach(index);
    search.value = list.state.query;
    drawChips();
  }

  apply({});
  const element = h("section", { "aria-labelledby": "timeline" }, heading(2, "timeline", "Timeline", h("small", null, "ACP events and model requests on one clock")), clockView(timeline, reach), h("div", { class: "tools" }, search, chips, opener, found), list.root);
  return { element, reach };
}
