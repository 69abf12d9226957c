// Which view the address asks for, the theme, and the keys.

function route() {
  return new URLSearchParams(location.hash.slice(1));
}

function hashOf(values) {
  const kept = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return kept.length ? `#${new URLSearchParams(kept.map(([key, value]) => [key, String(value)]))}` : "";
}

const overview = overviewView();
let scrolled = 0;
let current = null;
let asked = 0;

function overviewState() {
  const { list: _, ...state } = shown;
  return state;
}

async function go() {
  const wanted = route();
  const id = wanted.get("trial");
  const turn = ++asked;
  if (id === null) return showOverview(wanted);
  if (current === null) scrolled = window.scrollY;
  const trial = trialsById.get(id);
  if (current?.id !== id) {
    const view = trial ? await trialView(trial) : { element: h("p", { class: "callout" }, "This file has no such trial. ", h("a", { href: "#" }, "All trials")), reach: () => {} };
    if (turn !== asked) return undefined; // another one was asked for meanwhile
    current = { id, view };
    byId("main").replaceChildren(view.element);
    byId("where").textContent = trial ? `${trial.scenario} #${trial.iteration + 1}` : "";
    window.scrollTo(0, 0);
    byId("main").focus({ preventScroll: true });
  }
  if (wanted.has("item")) current.view.reach(Number(wanted.get("item")));
  return undefined;
}

function showOverview(wanted) {
  const keys = Object.keys(overviewState());
  const narrowed = wanted.has("scenario") || wanted.has("cell");
  const fresh = current !== null || !overview.element.isConnected;
  overview.apply(Object.fromEntries(keys.map((key) => [key, wanted.get(key) ?? ""])));
  if (fresh) {
    byId("main").replaceChildren(overview.element);
    byId("where").textContent = "";
    window.scrollTo(0, scrolled);
  } else if (narrowed) {
    byId("trials").scrollIntoView();
  }
  current = null;
}

function setTheme(theme) {
  const dark = theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").textContent = dark ? "Light" : "Dark";
  byId("theme").setAttribute("aria-label", dark ? "use light colours" : "use dark colours");
}

function flipTheme() {
  setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
}

function onKey(event) {
  const typing = event.target.closest?.("input, textarea");
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") {
    if (typing && typing.value) return;
    if (current) location.hash = hashOf(overviewState());
    else typing?.blur();
  } else if (!typing && event.key === "/") {
    event.preventDefault();
    (byId("item-search") ?? overview.search).focus();
  } else if (!typing && current && (event.key === "j" || event.key === "k")) {
    document.querySelector(`.steps a[rel="${event.key === "j" ? "next" : "prev"}"]`)?.click();
  }
}

byId("theme").addEventListener("click", flipTheme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => setTheme(null));
window.addEventListener("hashchange", go);
document.addEventListener("keydown", onKey);
byId("footer").append(
  h("span", null, `BenchFlow ${page.version}`),
  ...page.runs.map((run) => h("code", null, `benchflow show ${run.argument}`)),
  h("span", { class: "keys" }, h("kbd", null, "/"), " search ", h("kbd", null, "j"), " ", h("kbd", null, "k"), " next, previous trial ", h("kbd", null, "Esc"), " back"),
);
setTheme(null);
go();
