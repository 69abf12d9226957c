// A trial on its clock: model requests, tool calls and all else, each in a lane of its own. A click leads to the item.

const LANES = [["model", "Model"], ["tool", "Tools"], ["rest", "Events"]];
const LANE = 24;
const THINNEST = 0.35; // percent of the width, so that a moment can be seen

function clockView(timeline, reach) {
  const end = Math.max(timeline.ms, timeline.ticks.at(-1).at * 0.0001, 0.001);
  const height = LANES.length * LANE;
  const x = (ms) => percent(ms, end);
  const chart = s(
    "svg",
    { class: "clock", height: height + 20, role: "img", "aria-label": "The trial on its clock; the list below says the same" },
    timeline.ticks.filter((tick) => tick.at <= end).map((tick) => [
      s("line", { class: "grid", x1: x(tick.at), x2: x(tick.at), y1: 0, y2: height }),
      s("text", { x: x(tick.at), y: height + 14, class: tick.at === 0 ? "first" : tick.at > 0.93 * end ? "last" : "" }, tick.text),
    ]),
    timeline.items.map((item, index) => clockMark(item, index, end)),
  );
  chart.addEventListener("click", (event) => {
    const index = event.target.closest("[data-index]")?.dataset.index;
    if (index !== undefined) reach(Number(index));
  });
  return h("div", { class: "clock-box" }, h("div", { class: "lanes", "aria-hidden": "true" }, LANES.map(([, label]) => h("span", null, label))), chart);
}

function laneOf(item) {
  return item.kind === "model" ? 0 : item.kind === "tool" ? 1 : 2;
}

function clockMark(item, index, end) {
  const y = laneOf(item) * LANE;
  const title = s("title", null, `${item.at_text}  ${item.title} ${item.ms_text}`);
  const look = `${item.kind} ${item.role} ${item.state ?? ""}`;
  if (laneOf(item) === 2) return s("circle", { class: look, "data-index": index, cx: percent(item.at, end), cy: y + LANE / 2, r: 4.5 }, title);
  const bar = (kind, from, ms) =>
    s("rect", { class: kind, x: percent(item.at + from, end), y: y + 4, height: LANE - 8, rx: 2, width: `${Math.max((100 * ms) / end, THINNEST).toFixed(3)}%` });
  const parts = [bar("whole", 0, item.ms ?? 0)];
  if (item.held > 0) parts.push(bar("held", 0, Math.min(item.held, item.ms)));
  if (item.wait > 0 && item.kind === "model") parts.push(bar("wait", item.held, Math.max(0, Math.min(item.wait, item.ms) - item.held)));
  return s("g", { class: look, "data-index": index }, title, parts);
}

// The same, of one item, at the end of its line.
function smallBar(item, end) {
  const width = `${Math.max((100 * (item.ms ?? 0)) / end, 1.5).toFixed(2)}%`;
  const x = `${Math.min(98.5, (100 * item.at) / end).toFixed(2)}%`;
  return s("svg", { class: `small-bar ${item.kind} ${item.role} ${item.state ?? ""}`, height: 8, "aria-hidden": "true" }, s("rect", { class: "track", width: "100%", height: 8, rx: 2 }), s("rect", { class: "whole", x, width, height: 8, rx: 2 }));
}
