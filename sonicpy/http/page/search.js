// Search as you type: hits as cards, completions, "did you mean", and what each word did.

import { allowed, get } from "./api.js";
import { offer, setUp } from "./box.js";
import { byId, element, count } from "./dom.js";
import { filtered, offerTags, setUpFilter } from "./filters.js";
import { say } from "./main.js";
import { request } from "./request.js";
import { state, write } from "./state.js";
import { breakable, explanation, glance, lookedFor, marked } from "./why.js";
import { welcome } from "./welcome.js";

const PAGE = 10;
const MORE = 50;
const WORDS_SHOWN = 24;
const EXCERPT = 240;
const SYNTAX = "web";
const ANY = " "; // a text without words: with a filter, all objects answer that pass
const UNEXPLAINED = [400, 403, 501]; // a spread bucket has no explanations; what is wrong with the query, the search says
let running = null;

/** Show the search that the state names; a newer question ends an older one. */
export async function showSearch() {
  running?.abort();
  running = new AbortController();
  const signal = running.signal;
  const { collection, bucket, text } = state;
  try {
    if (!bucket || !(text || state.filter)) {
      await clear(signal);
      return;
    }
    const asked = { collection, bucket, text: text || ANY };
    const [found, explained] = await Promise.all([
      get("v1/search", { ...asked, ...filtered(), limit: PAGE, marked: true, total: true, syntax: SYNTAX }, signal),
      allowed(get("v1/explain", { ...asked, filter: state.filter, group: state.group, limit: PAGE, syntax: SYNTAX }, signal), UNEXPLAINED),
    ]);
    draw(found, explained);
    say(null);
  } catch (error) {
    say(error);
  }
}

function draw(found, explained) {
  byId("welcome").replaceChildren();
  byId("took").textContent = `${count(found.total ?? found.hits.length, state.group ? "group" : "object")} · ${Math.round(found.took_us).toLocaleString("en")} µs`;
  byId("meant").hidden = found.did_you_mean === null;
  byId("meant-text").textContent = found.did_you_mean ?? "";
  offer(found.suggestions.filter((word) => word !== state.text.split(/\s+/).at(-1)), ask);
  byId("hits").replaceChildren(...cards(found, explained));
  offerTags(found.facets, showSearch);
  byId("more").hidden = (found.total ?? 0) <= PAGE;
  const said = (lines) => lines.map((line) => element("p", { class: "advice" }, line));
  byId("nothing").replaceChildren(...(found.hits.length ? [] : [element("h2", {}, "Nothing found"), ...said(explained?.advice ?? [])]), ...said(found.notes ?? []));
  byId("explanation").replaceChildren(...(explained ? explanation(explained) : []));
  byId("request").replaceChildren(request(state));
  byId("words-why").hidden = !explained;
  byId("elsewhere").hidden = false;
}

function cards(found, explained) {
  const reasons = new Map((explained?.hits ?? []).map((each) => [each.object, each]));
  const looked = explained ? lookedFor(explained) : new Set();
  return found.hits.map((hit, place) => card(hit, found.shown?.[place] ?? {}, reasons.get(hit.object), explained, looked));
}

function card({ object, group }, { title, text, link, words }, reason, explained, looked) {
  const name = title ? marked(title) : breakable(object);
  const head = element("h2", {}, link ? element("a", { href: link }, name) : name);
  const parts = [head];
  if (title && !head.textContent.includes(object)) parts.push(element("span", { class: "name" }, object));
  if (group !== undefined && group !== null) parts.push(element("span", { class: "name group" }, String(group)));
  if (text) parts.push(element("p", {}, marked(text, EXCERPT)));
  else if (words?.length) {
    const first = [...words].sort((one, other) => looked.has(other) - looked.has(one)).slice(0, WORDS_SHOWN);
    parts.push(element("ul", { class: "held", "aria-label": "Words of the object" }, first.map((word) => element("li", {}, looked.has(word) ? element("mark", {}, word) : word)), words.length > first.length ? element("li", {}, `and ${words.length - first.length} more`) : null));
  }
  if (reason) parts.push(glance(reason, explained.terms));
  return element("li", {}, parts);
}

async function more() {
  const { collection, bucket, text } = state;
  const offset = byId("hits").children.length;
  const signal = running.signal;
  byId("more").disabled = true;
  try {
    const found = await get("v1/search", { collection, bucket, text: text || ANY, filter: state.filter, group: state.group, limit: MORE, offset, marked: true, suggestions: 0, total: true, syntax: SYNTAX }, signal);
    if (signal.aborted) return;
    byId("hits").append(...cards(found, null));
    byId("more").hidden = byId("hits").children.length >= (found.total ?? 0);
  } catch (error) {
    say(error);
  } finally {
    byId("more").disabled = false;
  }
}

async function clear(signal) {
  for (const id of ["hits", "explanation", "nothing", "request", "tags"]) byId(id).replaceChildren();
  byId("took").textContent = "";
  for (const id of ["meant", "more", "words-why", "elsewhere"]) byId(id).hidden = true;
  offer([], ask);
  const shown = await welcome();
  if (!signal.aborted) byId("welcome").replaceChildren(shown);
}

function ask(isStep = true) {
  write({ text: byId("text").value.trim() }, isStep);
  return showSearch();
}

setUp(() => ask(false), () => ask(true));
setUpFilter(showSearch);
byId("meant-text").addEventListener("click", () => {
  byId("text").value = byId("meant-text").textContent;
  byId("text").focus();
  ask();
});
byId("more").addEventListener("click", more);
