// A search box on a static page: hits, completions and "did you mean" come in one request for each pause in typing.

const box = document.getElementById("box");
let running = null;

async function search() {
  running?.abort(); // a newer question ends the one before
  running = new AbortController();
  const asked = new URLSearchParams({ collection: "messages", bucket: "default", text: box.value });
  try {
    const answer = await fetch(`${box.dataset.server}v1/search?${asked}`, { signal: running.signal });
    const found = await answer.json();
    show(answer.ok ? found : { hits: [], suggestions: [], did_you_mean: found.detail });
  } catch (error) {
    if (error.name !== "AbortError") show({ hits: [], suggestions: [], did_you_mean: "The search does not answer." });
  }
}

function show({ hits, suggestions, did_you_mean: meant }) {
  const before = box.value.split(" ").slice(0, -1);
  fill("hits", "li", hits.map((hit) => hit.object));
  fill("words", "option", suggestions.map((word) => [...before, word].join(" ")));
  document.getElementById("meant").textContent = meant ?? "";
}

function fill(id, name, texts) {
  document.getElementById(id).replaceChildren(...texts.map((text) => {
    const made = document.createElement(name);
    made.textContent = text; // as text, never as HTML
    return made;
  }));
}

let timer = 0;
box.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(search, 80);
});
