// Search from a page: a client and a search box, without a build or a library.
//
//   import { SonicSearch, searchBox } from "https://search.example/sonicpy-search.js";
//   const search = new SonicSearch({ url: "https://search.example", collection: "shop", secret: token });
//   searchBox(document.querySelector("#search"), { search, rows: (objects) => rowsOf(objects) });

/** A request that was refused; `status` is that of HTTP. */
export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

/** A bucket of a server. `secret` is a key or a token; or a function that returns one, such as a new token. */
export class SonicSearch {
  constructor({ url, collection, bucket = "default", secret = "" }) {
    this.url = url.endsWith("/") ? url : `${url}/`;
    this.scope = { collection, bucket };
    this.secret = secret;
  }

  /** Return hits, completions and a corrected text. */
  search(text, options, signal) { return this.ask("search", { text, ...options }, signal); }
  /** Return hits, and counts if `of` or `ranges` are given. */
  query(text, options, signal) { return this.ask("query", { text, ...options }, signal); }
  facets(text, options, signal) { return this.ask("facets", { text, ...options }, signal); }
  async suggest(word, options, signal) { return (await this.ask("suggest", { word, ...options }, signal)).words; }

  async ask(operation, parameters, signal) {
    const asked = new URL(`v1/${operation}`, new URL(this.url, globalThis.location?.href));
    for (const [name, value] of Object.entries({ ...this.scope, ...parameters })) {
      if (value !== undefined && value !== null && (value !== "" || name === "text")) asked.searchParams.set(name, value);
    }
    const secret = typeof this.secret === "function" ? await this.secret() : this.secret;
    const answer = await fetch(asked, { signal, headers: secret ? { Authorization: `Bearer ${secret}` } : {} });
    const found = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Refused(answer.status, found.detail ?? answer.statusText);
    return found;
  }
}

// -- filters and marks ------------------------------------------------------------------------------------------------

/** Return the condition that an object has one of some tags. */
export const anyTag = (tags) => `tag IN (${tags.map((tag) => JSON.stringify(tag)).join(", ")})`;
/** Return a filter that needs all of some conditions; empty ones need nothing. */
export const allOf = (conditions) => conditions.filter(Boolean).map((each) => `(${each})`).join(" AND ");
/** Return a filter that needs one of some conditions. */
export const anyOf = (conditions) => conditions.map((each) => `(${each})`).join(" OR ");

/** Return the condition that a value is at least `low` and below `high`; null: no bound. */
export function inRange(name, low, high) {
  const quoted = JSON.stringify(name);
  const bounds = [low === null ? "" : `${quoted} >= ${low}`, high === null ? "" : `${quoted} < ${high}`].filter(Boolean);
  return bounds.join(" AND ") || `HAS ${quoted}`;
}

/** Return a text without accents, in small letters. */
export const folded = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const wordsOf = (text) => folded(text).match(/[\p{L}\p{N}]+/gu) ?? [];

/** Return a text as [piece, is it marked]: words of the query are, those that begin as its last one, and `held`. */
export function marks(text, query, held = []) {
  const typed = wordsOf(query);
  const words = new Set([...typed, ...held.map(folded)]);
  const last = typed.at(-1);
  return String(text ?? "").split(/([\p{L}\p{N}\p{M}]+)/u).filter(Boolean).map((piece) => {
    const word = folded(piece);
    return [piece, words.has(word) || (Boolean(last) && word.startsWith(last))];
  });
}

/** Return the words by which an object answers. */
export const heldBy = (hit) => (hit.how ?? []).map((each) => each.word);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** Return a text as nodes, with `<mark>` around what `marks` marks. */
export function marked(text, query, held) {
  const made = document.createDocumentFragment();
  made.append(...marks(text, query, held).map(([piece, is]) => (is ? element("mark", {}, piece) : piece)));
  return made;
}

// -- the search box ---------------------------------------------------------------------------------------------------

const LABELS = { box: "Search", hits: "Hits", completions: "Completions", more: "More", meant: "Did you mean", none: "Nothing found", found: (count) => `${count} found` };
let boxes = 0;

/** Return the rows of hits, in their order. */
export async function rowsOf(rows, hits) {
  const found = await rows(hits.map((hit) => hit.object));
  return hits.map((hit, place) => (Array.isArray(found) ? found[place] : found instanceof Map ? found.get(hit.object) : found?.[hit.object]));
}

/** Build a search box in an element, as a combobox of ARIA, and return { ask, input }.
 *
 * search: a SonicSearch. rows: takes names of objects and returns their rows, as a list in this order or by name;
 * without it, titles and texts come from http.hits of the server. hit: takes a row, a hit and a function that marks
 * words, and returns a node. facets: by a label, the beginning of tags ("size:"), or { name, bounds } of values.
 */
export function searchBox(root, { search, rows = null, hit = null, facets = {}, options = {}, limit = 10, labels = {}, wait = 60 }) {
  const said = { ...LABELS, ...labels };
  const id = `sonicpy-${++boxes}`;
  const chosen = new Map(Object.keys(facets).map((label) => [label, new Map()]));
  const list = element("ul", { id: `${id}-list`, role: "listbox", "aria-label": said.completions, hidden: true });
  const input = element("input", {
    id, type: "text", role: "combobox", inputmode: "search", enterkeyhint: "search", autocomplete: "off", spellcheck: "false",
    "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": list.id,
  });
  const status = element("p", { role: "status" });
  const sides = element("div", { class: "facets" });
  const found = element("ol", { class: "hits", "aria-label": said.hits });
  const more = element("button", { type: "button", hidden: true, onclick: () => ask(true) }, said.more);
  root.setAttribute("role", "search");
  root.replaceChildren(element("label", { for: id }, said.box), input, list, status, sides, found, more);
  let running = null, timer = 0, at = -1;
  let isShut = false; // since Escape was pressed: an answer on its way opens nothing

  const shut = () => choose(-1, list.replaceChildren(), (list.hidden = true), input.setAttribute("aria-expanded", "false"));

  function choose(place) {
    at = place;
    [...list.children].forEach((each, number) => each.setAttribute("aria-selected", String(number === at)));
    if (at < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", list.children[at].id);
  }

  function take(text) {
    input.value = text;
    input.focus();
    ask();
    shut();
  }

  function offer(words) {
    const before = input.value.trim().split(/\s+/).slice(0, -1);
    const texts = words.map((word) => [...before, word].join(" ")).filter((text) => folded(text) !== folded(input.value.trim()));
    shut();
    if (!texts.length || document.activeElement !== input) return;
    list.append(...texts.map((text, place) => element("li", { id: `${id}-${place}`, role: "option", "aria-selected": "false", onmousedown: (event) => { event.preventDefault(); take(text); } }, text)));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }

  const filter = () => allOf([options.filter, ...[...chosen.values()].map((each) => anyOf([...each.values()]))]);

  /** Ask, and show the answer; a newer question ends an older one. */
  async function ask(isMore = false, offers = false) {
    running?.abort();
    const { signal } = (running = new AbortController());
    const text = input.value.trim();
    const condition = filter();
    const kinds = Object.values(facets);
    const asked = {
      ...options, filter: condition, limit, offset: isMore ? found.children.length : 0, total: true, how: Boolean(rows), marked: !rows, apart: kinds.length > 0 || null,
      of: kinds.filter((each) => typeof each === "string").map((each) => `${each}*`).join(","),
      ranges: kinds.filter((each) => each.bounds).map((each) => `${each.name}: ${each.bounds}`).join(";"),
      sort: options.sort ?? (text || condition ? null : "newest"),
    };
    try {
      const answer = await search.search(text, asked, signal);
      const held = rows ? await rowsOf(rows, answer.hits) : (answer.shown ?? []);
      if (signal.aborted) return;
      const made = answer.hits.map((each, place) => element("li", {}, (hit ?? card)(held[place] ?? {}, each, (said) => marked(said, text, heldBy(each)), !rows)));
      if (isMore) found.append(...made);
      else found.replaceChildren(...made);
      more.hidden = found.children.length >= answer.total;
      const meant = answer.did_you_mean;
      status.replaceChildren(answer.total ? said.found(answer.total) : said.none, ...(meant ? [` · ${said.meant} `, element("button", { type: "button", onclick: () => take(meant) }, meant)] : []));
      if (answer.facets) sides.replaceChildren(...Object.entries(facets).map(([label, each]) => side(label, each, answer.facets)));
      if (offers && !isShut) offer(text ? answer.suggestions : []);
    } catch (error) {
      if (error.name !== "AbortError") status.textContent = error.message;
    }
  }

  function side(label, kind, counted) {
    const picked = chosen.get(label);
    const counts = typeof kind === "string"
      ? Object.entries(counted.tags[kind] ?? {}).map(([tag, count]) => [tag.slice(kind.length), count, anyTag([tag])])
      : (counted.ranges[kind.name] ?? []).map(([low, high, count]) => [`${low ?? ""} – ${high ?? ""}`, count, inRange(kind.name, low, high)]);
    const lines = counts.map(([name, count, condition]) => element("label", {}, element("input", { type: "checkbox", checked: picked.has(name), onchange: (event) => {
      if (event.target.checked) picked.set(name, condition);
      else picked.delete(name);
      ask();
    } }), ` ${name} `, element("small", {}, String(count))));
    return element("fieldset", {}, element("legend", {}, label), ...lines);
  }

  input.addEventListener("input", () => { clearTimeout(timer); isShut = false; timer = setTimeout(() => ask(false, true), wait); });
  input.addEventListener("blur", shut);
  input.addEventListener("keydown", (event) => {
    const count = list.children.length + 1;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && count > 1) choose(((at + 1 + step + count) % count) - 1);
    else if (event.key === "Enter") at < 0 ? (clearTimeout(timer), shut(), ask()) : take(list.children[at].textContent);
    else if (event.key === "Escape" && (!list.hidden || input.value)) list.hidden ? ((input.value = ""), ask()) : ((isShut = true), shut());
    else return;
    event.preventDefault();
  });
  return { ask, input };
}

function card(row, hit, mark, isHtml) {
  const shown = (name, text) => {
    const made = element(name, {}, ...(isHtml ? [] : [mark(text)]));
    if (isHtml) made.innerHTML = text; // of the server: escaped, with <mark>
    return made;
  };
  const title = row.title ? shown("b", row.title) : element("b", {}, hit.object);
  return element(row.link ? "a" : "div", { href: row.link ?? null }, title, row.text ? shown("p", row.text) : null);
}
