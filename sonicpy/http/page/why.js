// What each word of a query did: at a glance on each card, and in full below the hits.

import { count, element } from "./dom.js";

const SIGNS = { exact: "✓", form: "≈", completion: "…", correction: "≈" };
const WORDS = /[\p{L}\p{M}\p{N}]+/gu;

/** Return what each word of the query did for an object: found as typed, found as another word, or missing. */
export function glance(hit, terms) {
  const items = terms.filter((term) => term.role !== "stop").map((term) => {
    const part = hit.parts.find((each) => each.term === term.word);
    if (!part) return element("li", { class: "missing" }, term.word, element("span", { class: "quiet" }, " is missing"));
    const isSame = part.word === term.word;
    return element("li", { class: isSame ? "exact" : "near" }, `${SIGNS[isSame ? "exact" : "form"]} ${isSame ? "" : `${term.word} → `}${part.word}`);
  });
  return element("ul", { class: "glance", "aria-label": "Words of the query in this object" }, items);
}

/** Return a text with the words that a query looks for marked. */
export function marked(text, looked) {
  const pieces = [];
  let at = 0;
  for (const found of text.matchAll(WORDS)) {
    const word = found[0].toLowerCase();
    if (!looked.has(word) && !looked.has(word.normalize("NFKC"))) continue;
    pieces.push(text.slice(at, found.index), element("mark", {}, found[0]));
    at = found.index + found[0].length;
  }
  return [...pieces, text.slice(at)];
}

const HOW = {
  given: "given", short: "text too short to guess", script: "by its script", letters: "guessed by letters",
  words: "guessed by letters and common words", bucket: "that of the bucket", unknown: "unknown",
};

/** Return the words that were looked for, with those that stood in for them. */
export function explanation(found) {
  const language = `${found.language.code ?? "none"} (${HOW[found.language.how] ?? found.language.how})`;
  const parts = found.advice.map((line) => element("p", { class: "advice" }, line));
  parts.push(element("p", { class: "hint" }, `${count(found.total, "object")} of ${found.objects.toLocaleString("en")}. Language: ${language}. Ranking: ${found.ranking}.`));
  parts.push(element("ul", { class: "terms", "aria-label": "Words of the query" }, found.terms.map(drawnTerm)));
  if (found.more_terms) parts.push(element("p", {}, `and ${count(found.more_terms, "more word")}`));
  return parts;
}

function drawnTerm(term) {
  const facts = [term.role + (term.why ? ` (${term.why})` : ""), count(term.objects, "object")];
  if (term.exact_only) facts.push(term.exact_only);
  const others = term.alternates.map((other) => element("li", {}, element("b", {}, other.word),
    ` ${other.how}${other.edits ? `, ${count(other.edits, "edit")}` : ""}, ${count(other.objects, "object")}`));
  return element("li", {}, element("b", {}, term.word), element("span", { class: "hint" }, ` ${facts.join(" · ")}`), others.length ? element("ul", {}, others) : null);
}
