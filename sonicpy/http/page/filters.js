// The filter of a search: a line to type, and the tags of the objects that answer, to click. And its groups.

import { byId, element } from "./dom.js";
import { state, write } from "./state.js";

const TAGS_SHOWN = 30;
const PLAIN = /^[\p{L}\p{N}_.:/-]+$/u;
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
  const chosen = state.filter.split(" AND ");
  const tags = Object.entries(facets?.tags[""] ?? {}).slice(0, TAGS_SHOWN);
  byId("tags").replaceChildren(...tags.map(([tag, number]) => {
    const isChosen = chosen.includes(written(tag));
    return element("li", {}, element("button", { type: "button", class: "link", "aria-pressed": String(isChosen), onclick: () => toggle(tag, chosen, isChosen, ask) }, `${tag} ${number.toLocaleString("en")}`));
  }));
}

function toggle(tag, chosen, isChosen, ask) {
  const others = chosen.filter((clause) => clause && clause !== written(tag));
  const before = state.filter.includes(" OR ") && !isChosen ? [`(${state.filter})`] : others;
  write({ filter: (isChosen ? others : [...before, written(tag)]).join(" AND ") }, true);
  return ask();
}

export function setUpFilter(ask) {
  for (const name of ["filter", "group"]) byId(name).addEventListener("change", () => { write({ [name]: byId(name).value.trim() }, true); ask(); });
  byId("filters").addEventListener("toggle", ask);
}
