// The page before anything is typed: what the index holds, words to try, and how texts come in.

import { allowed, get } from "./api.js";
import { code, element, shell, shellWord } from "./dom.js";
import { address, state } from "./state.js";
import { here } from "./main.js";

const SAMPLES = 8;
const BEGINNINGS = ["ca", "de", "ho", "ma", "pr", "re", "st", "we"];

export async function welcome() {
  const stats = await allowed(get("v1/stats"));
  if (stats && !stats.objects) return empty();
  const { collection, bucket } = state;
  const samples = bucket ? await sampled(collection, bucket) : [];
  return element("div", { class: "hello" },
    stats && element("dl", { class: "tiles" }, tile(stats.objects, "object"), tile(stats.words, "word"), tile(stats.collections ?? 0, "collection")),
    samples.length ? element("div", {}, element("h2", {}, "Words to try"), element("ul", { class: "chips", "aria-label": "Words to try" }, samples.map((word) =>
      element("li", {}, element("a", { href: address({ text: word }) }, word))))) : null,
    stats && element("details", {}, element("summary", {}, "Add a text"), commands(collection || "messages", bucket || "default")));
}

function tile(number, name) {
  return element("div", { class: "card" }, element("dt", {}, number === 1 ? name : `${name}s`), element("dd", {}, number.toLocaleString("en")));
}

/** Return words of the bucket to try: the most frequent ones with some beginnings, else the first ones. */
async function sampled(collection, bucket) {
  const found = await Promise.all(BEGINNINGS.map((word) => allowed(get("v1/suggest", { collection, bucket, word, limit: 3 }))));
  const words = found.flatMap((each, place) => (each?.words ?? []).filter((word) => word.startsWith(BEGINNINGS[place]) && word.length > 4).slice(0, 1));
  if (words.length) return words;
  return (await allowed(get("v1/words", { collection, bucket, limit: SAMPLES })))?.words ?? [];
}

function empty() {
  return element("div", { class: "hello" }, element("h2", {}, "The index is empty"), element("p", {}, "Push a text, then search for it here:"), commands("messages", "default"));
}

/** Return commands that push a text. */
function commands(collection, bucket) {
  const row = JSON.stringify({ collection, bucket, object: "message:1", text: "Hello from Nantes" });
  return element("div", { class: "hello" },
    here.channel ? code(`sonicpy push ${shellWord(collection)} ${shellWord(bucket)} message:1 "Hello from Nantes" --server ${here.channel}`) : null,
    code(`curl -H 'Content-Type: application/json' ${new URL(".", location.href).href}v1/push -d ${shell(row)}`));
}
