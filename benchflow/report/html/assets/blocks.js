// A list of any length, of which only what is near the window is there: rows are made in blocks as they come near,
// and taken out again as they go.

const BLOCK = 40;
const NEAR = "1500px 0px";

function blockList(root, draw, rowHeight) {
  let rows = [];
  let blocks = [];
  const observer = new IntersectionObserver(
    (entries) => entries.forEach((entry) => (entry.isIntersecting ? fill(entry.target) : empty(entry.target))),
    { rootMargin: NEAR },
  );

  function fill(block) {
    if (block.childElementCount) return;
    const first = Number(block.dataset.first);
    block.append(...rows.slice(first, first + BLOCK).map((row, place) => draw(row, first + place)));
    block.style.height = "";
  }

  function empty(block) {
    if (!block.childElementCount || block.contains(document.activeElement)) return;
    block.style.height = `${block.offsetHeight}px`;
    block.replaceChildren();
  }

  function show(next) {
    observer.disconnect();
    rows = next;
    blocks = [];
    for (let first = 0; first < rows.length; first += BLOCK) {
      const block = h("div", { class: "block", role: "presentation", "data-first": first });
      block.style.height = `${rowHeight * Math.min(BLOCK, rows.length - first)}px`;
      blocks.push(block);
    }
    blocks.slice(0, 2).forEach(fill);
    root.replaceChildren(...blocks);
    blocks.forEach((block) => observer.observe(block));
  }

  // Makes sure that a row is there, and returns its element.
  function reach(index) {
    const block = blocks[Math.floor(index / BLOCK)];
    if (!block) return null;
    fill(block);
    return block.children[index % BLOCK] ?? null;
  }

  window.addEventListener("beforeprint", () => root.isConnected && blocks.slice(0, 50).forEach(fill));
  return { show, reach };
}
