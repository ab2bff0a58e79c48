// Questions without an answer, where the server counts them.

import { element, table } from "./dom.js";
import { address } from "./state.js";

/** Return tables of the commonest queries and words that found nothing; a query leads to its search. */
export function unanswered(held) {
  if (!held) return [];
  const ask = ([text, times]) => [element("a", { href: address({ view: "search", text }) }, text), times];
  const queries = Object.entries(held.queries), words = Object.entries(held.words);
  return [element("h2", {}, "Questions without an answer"), queries.length || words.length
    ? element("div", {}, table("Queries that found nothing", ["query", "times"], queries.map(ask)), table("Words that nothing holds", ["word", "times"], words))
    : element("p", {}, "Every query has found something since the start.")];
}
