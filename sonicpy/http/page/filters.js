// The filter of a search: a line to type, and the tags of the objects that answer, to click. And its groups.

import { byId, element } from "./dom.js";
import { state, write } from "./state.js";

const TAGS_SHOWN = 30;
const PLAIN = /^[\p{L}\p{N}_.:/-]+$/u;
const PARTS = /"(?:[^"\\]|\\.)*"|[()]|\s+|[^\s()"]+|"/gsu; // of a filter: tags in quotes, brackets, words, blanks
const WORDS = new Set(["AND", "OR", "NOT", "IN", "HAS", "WITHIN", "OF"]);

const written = (tag) => (PLAIN.test(tag) && !WORDS.has(tag) ? tag : JSON.stringify(tag));

/** Return the parameters of a search: tags are only counted while they are looked at. */
export const filtered = () => ({ filter: state.filter, group: state.group, of: byId("filters").open ? "*" : "" });

/** Show the tags of the objects that answer, and how many hold each. */
export function offerTags(facets, ask) {
  for (const name of ["filter", "group"]) {
    const line = byId(name);
    if (line !== document.activeElement) line.value = state[name]; // else it is being typed
  }
  const chosen = clausesOf(state.filter);
  const tags = Object.entries(facets?.tags[""] ?? {}).slice(0, TAGS_SHOWN);
  byId("tags").replaceChildren(...tags.map(([tag, number]) => {
    const isChosen = chosen.includes(written(tag));
    return element("li", {}, element("button", { type: "button", class: "link", "aria-pressed": String(isChosen), onclick: () => toggle(tag, chosen, isChosen, ask) }, `${tag} ${number.toLocaleString("en")}`));
  }));
}

/** Return the conditions that a filter joins by AND; words in quotes and in brackets do not count. */
function clausesOf(filter) {
  const clauses = [""];
  let depth = 0;
  for (const [part] of filter.matchAll(PARTS)) {
    if (depth === 0 && part === "OR") return [`(${filter})`];
    depth += (part === "(") - (part === ")");
    if (depth === 0 && part === "AND") clauses.push("");
    else clauses[clauses.length - 1] += part;
  }
  return clauses.map((clause) => clause.trim()).filter(Boolean);
}

function toggle(tag, chosen, isChosen, ask) {
  const others = chosen.filter((clause) => clause !== written(tag));
  write({ filter: (isChosen ? others : [...chosen, written(tag)]).join(" AND ") }, true);
  return ask();
}

export function setUpFilter(ask) {
  for (const name of ["filter", "group"]) byId(name).addEventListener("change", () => { write({ [name]: byId(name).value.trim() }, true); ask(); });
  byId("filters").addEventListener("toggle", ask);
}
