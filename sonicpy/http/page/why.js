// What each word of a query did: at a glance on each card, and in full below the hits.

import { count, element } from "./dom.js";

const FINDING = new Set(["required", "searched"]);
const BEFORE = 60;

/** Return the words that find objects, with those that stand in for them; stop words only add to scores. */
export function lookedFor(explained) {
  return new Set(explained.terms.filter((term) => FINDING.has(term.role)).flatMap((term) => [term.word, ...term.alternates.map((other) => other.word)]));
}

/** Return what each word of the query did for an object: found as typed, found as another word, or missing. */
export function glance(hit, terms) {
  const items = terms.filter((term) => FINDING.has(term.role)).map((term) => {
    const part = hit.parts.find((each) => each.term === term.word);
    if (!part) return element("li", { class: "missing" }, term.word, element("span", { class: "quiet" }, " is missing"));
    const isSame = part.word === term.word;
    return element("li", { class: isSame ? "exact" : "near" }, isSame ? `✓ ${part.word}` : `≈ ${term.word} → ${part.word}`);
  });
  return element("ul", { class: "glance", "aria-label": "Words of the query in this object" }, items);
}

/** Return nodes of a title or text that came with marks, at most `length` characters around the first mark. */
export function marked(html, length = Infinity) {
  const pieces = [...new DOMParser().parseFromString(html, "text/html").body.childNodes].map((node) => ({ text: node.textContent, isMark: node.nodeName === "MARK" }));
  const whole = pieces.map((piece) => piece.text).join("");
  const before = pieces.slice(0, Math.max(0, pieces.findIndex((piece) => piece.isMark)));
  const [start, end] = cut(whole, before.reduce((sum, piece) => sum + piece.text.length, 0), length);
  const nodes = [start ? "… " : ""];
  let at = 0;
  for (const { text, isMark } of pieces) {
    const part = text.slice(Math.max(0, start - at), Math.max(0, end - at));
    if (part) nodes.push(...(isMark ? [element("mark", {}, part)] : breakable(part)));
    at += text.length;
  }
  return [...nodes, end < whole.length ? " …" : ""];
}

/** Return where some lines of a text begin and end that show the place `first`; both are between words, if they can be. */
function cut(text, first, length) {
  if (text.length <= length) return [0, text.length];
  const start = first < length - BEFORE ? 0 : text.indexOf(" ", first - BEFORE) + 1;
  const end = text.lastIndexOf(" ", start + length);
  return [start, end > first ? end : start + length];
}

/** Return a text with places where a long name may be broken. */
export const breakable = (text) => text.split(/(?<=[._/:])(?=\w)/).flatMap((part, place) => (place ? [element("wbr"), part] : [part]));

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
