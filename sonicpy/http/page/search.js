// Search as you type: hits, completions, "did you mean", and why these hits or none.

import { get } from "./api.js";
import { bar, byId, element, table } from "./dom.js";
import { say, scope } from "./main.js";

const PAGE = 10;
const PAUSE_MS = 60;
let timer = 0;
let running = null;
let chosen = -1;

export function focusSearch() {
  byId("text").focus();
}

/** Ask for the text that stands in the box; a newer question ends an older one. */
export async function search() {
  running?.abort();
  running = new AbortController();
  const text = byId("text").value;
  const { collection, bucket } = scope();
  if (!text.trim() || !bucket) {
    clear();
    return;
  }
  const began = performance.now();
  try {
    const found = await get("v1/search", { collection, bucket, text, limit: PAGE }, running.signal);
    const milliseconds = performance.now() - began;
    byId("took").textContent = found.hits.length
      ? `${found.hits.length}${found.hits.length === PAGE ? " first" : ""} objects in ${milliseconds.toFixed(1)} ms`
      : "No object answers.";
    byId("hits").replaceChildren(...found.hits.map(hit));
    byId("more").hidden = found.hits.length < PAGE;
    byId("meant").hidden = found.did_you_mean === null;
    byId("meant-text").textContent = found.did_you_mean ?? "";
    suggestions(found.suggestions.filter((word) => word !== text.trim().split(/\s+/).at(-1)));
    const explained = await get("v1/explain", { collection, bucket, text, limit: 5 }, running.signal);
    byId("explanation").replaceChildren(...explanation(explained));
    say(null);
  } catch (error) {
    say(error);
  }
}

function clear() {
  for (const id of ["hits", "suggestions", "explanation"]) byId(id).replaceChildren();
  byId("took").textContent = "";
  byId("meant").hidden = byId("more").hidden = true;
  suggestions([]);
}

function hit({ object, score }) {
  const name = element("span", {}, object);
  return element("li", {}, name, score === null ? "" : element("span", { class: "score" }, score.toFixed(3)));
}

async function more() {
  const { collection, bucket } = scope();
  const offset = byId("hits").children.length;
  try {
    const found = await get("v1/query", { collection, bucket, text: byId("text").value, limit: PAGE, offset });
    byId("hits").append(...found.hits.map(hit));
    byId("more").hidden = found.hits.length < PAGE;
  } catch (error) {
    say(error);
  }
}

// Completions

function suggestions(words) {
  chosen = -1;
  const list = byId("suggestions");
  list.replaceChildren(...words.map((word, place) =>
    element("li", { role: "option", id: `suggestion-${place}`, "aria-selected": "false", onmousedown: () => take(word) }, word)));
  list.hidden = words.length === 0 || document.activeElement !== byId("text");
  byId("text").setAttribute("aria-expanded", String(!list.hidden));
  byId("text").removeAttribute("aria-activedescendant");
}

function choose(step) {
  const options = [...byId("suggestions").children];
  if (!options.length || byId("suggestions").hidden) return false;
  chosen = (chosen + step + options.length + 1) % (options.length + 1);
  if (chosen === options.length) chosen = step > 0 ? 0 : options.length - 1;
  options.forEach((option, place) => option.setAttribute("aria-selected", String(place === chosen)));
  byId("text").setAttribute("aria-activedescendant", `suggestion-${chosen}`);
  return true;
}

function take(word) {
  const words = byId("text").value.trimEnd().split(/\s+/);
  byId("text").value = [...words.slice(0, -1), word].join(" ");
  hide();
  search();
}

function hide() {
  byId("suggestions").hidden = true;
  byId("text").setAttribute("aria-expanded", "false");
}

// Why

function explanation(found) {
  const parts = [];
  const terms = found.terms ?? [];
  const rows = terms.map((term) => [term.word ?? term.term ?? "", summary(term)]);
  if (rows.length) parts.push(table("Words of the query", ["word", "what became of it"], rows));
  const hits = found.hits ?? [];
  const most = Math.max(0, ...hits.map((each) => each.score ?? 0));
  if (hits.length) {
    parts.push(table("Why these objects", ["object", "score", "found by"],
      hits.map((each) => [each.object, bar(each.score ?? 0, most), reasons(each)])));
  }
  for (const line of found.advice ?? []) parts.push(element("p", {}, line));
  return parts;
}

function summary(term) {
  const known = Object.entries(term).filter(([key, value]) => key !== "word" && key !== "term" && value !== null &&
    !(Array.isArray(value) && !value.length));
  return known.map(([key, value]) => `${key.replaceAll("_", " ")}: ${plain(value)}`).join("; ");
}

function plain(value) {
  if (Array.isArray(value)) return value.map(plain).join(", ");
  if (value !== null && typeof value === "object") return Object.values(value).map(plain).join(" ");
  return typeof value === "number" ? value.toLocaleString("en", { maximumFractionDigits: 3 }) : String(value);
}

function reasons(each) {
  const list = each.matches ?? each.terms ?? each.words ?? [];
  return Array.isArray(list) ? list.map(plain).join("; ") : plain(list);
}

byId("text").addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(search, PAUSE_MS);
});
byId("text").addEventListener("keydown", (event) => {
  if (event.key === "ArrowDown" && choose(1)) event.preventDefault();
  else if (event.key === "ArrowUp" && choose(-1)) event.preventDefault();
  else if (event.key === "Escape") hide();
  else if (event.key === "Enter" && chosen >= 0 && !byId("suggestions").hidden) {
    event.preventDefault();
    take(byId("suggestions").children[chosen].textContent);
  }
});
byId("text").addEventListener("blur", hide);
byId("search-form").addEventListener("submit", (event) => {
  event.preventDefault();
  hide();
  search();
});
byId("meant-text").addEventListener("click", () => {
  byId("text").value = byId("meant-text").textContent;
  focusSearch();
  search();
});
byId("more").addEventListener("click", more);
