// What the index holds: a tree of collections and buckets with sizes, and the objects and words of one bucket.

import { allowed, get } from "./api.js";
import { unanswered } from "./questions.js";
import { synonyms } from "./synonyms.js";
import { byId, element, figures, table } from "./dom.js";
import { say } from "./main.js";
import { address, state } from "./state.js";

const PAGE = 100;
const SIZED = 20;

export async function showContents(isNewest) {
  const { collection, bucket } = state;
  const whole = await allowed(get("v1/stats"));
  const own = collection ? await allowed(get("v1/stats", { collection, bucket })) : whole;
  if (!whole && !own) await get("v1/stats", { collection, bucket }); // says why not
  const parts = whole ? [table("Collections", ["collection", "buckets", "objects", "words"], Object.entries(whole.by_collection ?? {}).map(([name, each]) =>
    [element("a", { href: address({ view: "contents", collection: name, bucket: "" }) }, name), each.buckets, each.objects, each.words]))] : [];
  if (collection) parts.push(await allowed(tree(collection, bucket)) ?? "", await synonyms(collection));
  const { collection: _, bucket: __, exists: ___, unanswered: asked, ...rest } = own ?? {};
  if (bucket && own) parts.push(element("h2", {}, `${collection} / ${bucket}`), table("Figures of the bucket", ["figure", "value"], figures(rest)));
  parts.push(...unanswered(asked));
  if (bucket) {
    for (const [title, path, key] of [["Objects", "objects", "names"], ["Words", "words", "words"]]) {
      parts.push(await allowed(pages(title, path, key, { collection, bucket })) ?? "");
    }
  }
  if (isNewest()) byId("contents").replaceChildren(...parts);
}

/** Return the buckets of a collection; where they are few, with their sizes. */
async function tree(collection, bucket) {
  const { names } = await get("v1/buckets", { collection });
  const sizes = names.length > SIZED ? [] : await Promise.all(names.map((name) => get("v1/stats", { collection, bucket: name })));
  const link = (name) => element("a", { href: address({ view: "contents", collection, bucket: name }), "aria-current": name === bucket ? "true" : null }, name);
  return element("div", {}, element("h2", {}, collection), sizes.length
    ? table(`Buckets of ${collection}`, ["bucket", "objects", "words"], names.map((name, place) => [link(name), sizes[place].objects, sizes[place].words]))
    : element("ul", { class: "tree", "aria-label": `Buckets of ${collection}` }, names.map((name) => element("li", {}, link(name)))));
}

/** Return a list that grows page by page, with a filter for its beginnings. */
async function pages(title, path, key, scope) {
  const list = element(path === "objects" ? "ol" : "ul", { class: path === "objects" ? null : "held", id: path, "aria-label": title });
  const more = element("button", { type: "button", id: `${path}-more` }, `More ${path}`);
  const prefix = element("input", { id: `${path}-prefix`, autocomplete: "off" });
  let last = null;
  let loads = 0;
  const load = async (isNew = false) => {
    if (isNew) last = null;
    const number = ++loads;
    more.disabled = true;
    let found;
    try {
      found = (await get(`v1/${path}`, { ...scope, prefix: prefix.value, after: last, limit: PAGE }))[key];
    } finally {
      if (number === loads) more.disabled = false;
    }
    if (number !== loads) return; // a newer question
    last = found.at(-1) ?? last;
    if (isNew) list.replaceChildren();
    list.append(...found.map((name) => element("li", {}, path === "words" ? element("a", { href: address({ view: "search", text: name }) }, name) : name)));
    more.hidden = found.length < PAGE;
  };
  const reporting = (act) => async (event) => {
    event.preventDefault();
    try { await act(); } catch (error) { say(error); }
  };
  more.addEventListener("click", reporting(() => load()));
  const form = element("form", { class: "filter", onsubmit: reporting(() => load(true)) }, element("label", { for: `${path}-prefix` }, "that begin with"), prefix, element("button", { type: "submit" }, "Show"));
  await load();
  return element("div", {}, element("h2", {}, title), form, list, more);
}

