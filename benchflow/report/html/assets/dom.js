// Makes elements. Every text goes in as text: nothing here, or elsewhere, reads a string as HTML.

const SVG = "http://www.w3.org/2000/svg";

function make(namespace, tag, attributes, children) {
  const element = namespace ? document.createElementNS(namespace, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== ""));
  return element;
}

function h(tag, attributes, ...children) {
  return make(null, tag, attributes, children);
}

function s(tag, attributes, ...children) {
  return make(SVG, tag, attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

// What a screen reader is told of a change that is only seen.
function say(text) {
  byId("said").textContent = text;
}

// The pieces of a text, those that match what is searched for marked.
function marked(text, query) {
  if (!query) return [text];
  const pieces = [];
  const low = text.toLowerCase();
  let from = 0;
  // A few characters change their length in lower case: then places do not agree, and nothing is marked.
  for (let at = low.length === text.length ? low.indexOf(query) : -1; at >= 0; at = low.indexOf(query, from)) {
    pieces.push(text.slice(from, at), h("mark", null, text.slice(at, at + query.length)));
    from = at + query.length;
  }
  pieces.push(text.slice(from));
  return pieces;
}

function plural(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

function percent(part, whole) {
  return `${(100 * Math.min(1, Math.max(0, whole > 0 ? part / whole : 0))).toFixed(3)}%`;
}

// Runs a function when calls to it have paused.
function paused(call, ms) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...values), ms);
  };
}

function badge(word, label) {
  return h("span", { class: `badge ${word}` }, h("span", { class: "glyph", "aria-hidden": "true" }, GLYPHS[word]), label);
}

const GLYPHS = { pass: "✓", fail: "✕", unscored: "?", open: "…" };

function figureList(facts) {
  return h("dl", { class: "facts" }, facts.map((fact) => h("div", null, h("dt", null, fact.label), h("dd", null, fact.value))));
}

function heading(level, id, text, ...beside) {
  return h("div", { class: "heading" }, h(`h${level}`, { id }, text), ...beside);
}
