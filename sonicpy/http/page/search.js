// Search as you type: hits, completions, "did you mean", and why these hits or none.

import { get } from "./api.js";
import { byId, element, stack } from "./dom.js";
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

// Why: the words of the query with what stood in for them, and the score of each object as its parts

const WAYS = { whole: "every word", exact: "a word exactly", completion: "completed", correction: "corrected" };
const HOW = {
  given: "given", short: "text too short to guess", script: "its script decides", letters: "guessed by its letters",
  words: "guessed by letters and common words", unknown: "unknown",
};

function explanation(found) {
  const colour = new Map(found.terms.map((term, place) => [term.word, place % 6]));
  const language = `${found.language.code ?? "none"} (${HOW[found.language.how] ?? found.language.how})`;
  const head = `${count(found.total, "object")} of ${found.objects.toLocaleString("en")} answer. Language: ${language}. Ranking: ${found.ranking}.`;
  const parts = [element("h3", {}, found.total ? "Why these objects" : "Why nothing")];
  for (const line of found.advice) parts.push(element("p", { class: "advice" }, line));
  parts.push(element("p", { class: "hint" }, head));
  if (found.terms.length) {
    parts.push(element("ul", { class: "terms", "aria-label": "Words of the query" }, ...found.terms.map((term) => drawnTerm(term, colour))));
  }
  if (found.more_terms) parts.push(element("p", {}, `and ${count(found.more_terms, "more word")}`));
  const most = Math.max(0, ...found.hits.map((each) => each.score ?? 0));
  if (found.hits.length) {
    parts.push(element("ol", { class: "scores", "aria-label": "Scores of the first objects" }, ...found.hits.map((each) =>
      element("li", {}, element("b", {}, each.object), element("span", { class: "hint" }, ` ${WAYS[each.how] ?? each.how}`),
        element("div", {}, ...drawnScore(each, most, colour)), element("div", {}, ...reasons(each, colour))))));
  }
  return parts;
}

const count = (number, name) => `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;
const rounded = (number) => number.toLocaleString("en", { maximumFractionDigits: 3 });
const swatch = (place) => element("span", { class: `swatch part-${place}`, "aria-hidden": "true" });

function drawnTerm(term, colour) {
  const facts = [term.role + (term.why ? ` (${term.why})` : ""), count(term.objects, "object")];
  if (term.weight !== null) facts.push(`weight ${rounded(term.weight)}`);
  if (term.exact_only) facts.push(term.exact_only);
  const others = term.alternates.map((other) => element("li", {}, element("b", {}, other.word),
    ` ${other.how}${other.edits ? `, ${count(other.edits, "edit")}` : ""}, ${count(other.objects, "object")}${other.weight === null ? "" : `, weight ${rounded(other.weight)}`}`));
  return element("li", { class: term.objects || others.length ? "" : "missing" }, swatch(colour.get(term.word)), element("b", {}, term.word),
    element("span", { class: "hint" }, ` ${facts.join(" · ")}`), ...(others.length ? [element("ul", {}, ...others)] : []));
}

function drawnScore(each, most, colour) {
  if (each.score === null) return [];
  const drawing = stack([each.base, ...each.parts.map((part) => part.score ?? 0), each.more_score ?? 0], most, 300);
  const classes = ["base", ...each.parts.map((part) => `part-${colour.get(part.term) ?? 5}`), "base"];
  [...drawing.children].forEach((rect, place) => rect.setAttribute("class", classes[place]));
  drawing.classList.add("wide");
  return [drawing, ` ${rounded(each.score)}`];
}

function reasons(each, colour) {
  const list = each.parts.map((part) => element("span", { class: "reason" }, swatch(colour.get(part.term) ?? 5),
    `${part.word}${part.word === part.term ? "" : ` for ${part.term}`}${part.times > 1 ? ` × ${part.times}` : ""}${part.score === null ? "" : ` ${rounded(part.score)}`}`));
  if (each.base) list.push(element("span", { class: "reason" }, element("span", { class: "swatch base", "aria-hidden": "true" }), `${WAYS[each.how] ?? each.how} ${rounded(each.base)}`));
  if (each.more) list.push(element("span", { class: "reason" }, `${count(each.more, "more word")}${each.more_score === null ? "" : ` ${rounded(each.more_score)}`}`));
  return list;
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
