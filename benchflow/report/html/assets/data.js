// The content: read once what the overview needs, and of a trial only when it is opened.

const page = JSON.parse(byId("document").textContent);
const places = new Map(JSON.parse(byId("places").textContent).map((id, place) => [id, place]));
const trialsById = new Map(page.trials.map((trial) => [trial.id, trial]));

async function inflate(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

// What happened in a trial; null: the file has no room for it.
async function readDetail(trial) {
  const place = places.get(trial.id);
  return place === undefined ? null : JSON.parse(await inflate(byId(`trial-${place}`).textContent));
}
