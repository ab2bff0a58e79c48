// What the index holds: collections and buckets with sizes, objects, words.

import { get } from "./api.js";
import { bar, byId, element, figures, table } from "./dom.js";
import { say, scope } from "./main.js";

const PAGE = 100;

export async function showContents() {
  const { collection, bucket } = scope();
  const whole = await get("v1/stats");
  const by = Object.entries(whole.by_collection ?? {});
  const most = Math.max(0, ...by.map(([, each]) => each.objects));
  const rows = by.map(([name, each]) => [name, each.buckets, bar(each.objects, most), each.words]);
  const parts = [table("Collections", ["collection", "buckets", "objects", "words"], rows)];
  if (bucket) {
    const held = await get("v1/stats", { collection, bucket });
    parts.push(element("h3", {}, `Bucket ${bucket}`), table("Figures of the bucket", ["figure", "value"], figures(held)));
  }
  byId("sizes").replaceChildren(...parts);
  byId("objects").replaceChildren();
  byId("words").replaceChildren();
  if (bucket) await Promise.all([moreObjects(), moreWords()]);
}

async function moreObjects() {
  const { collection, bucket } = scope();
  const after = byId("objects").lastElementChild?.textContent;
  const prefix = byId("prefix").value;
  const { names } = await get("v1/objects", { collection, bucket, prefix, after, limit: PAGE });
  byId("objects").append(...names.map((name) => element("li", {}, name)));
  byId("objects-more").hidden = names.length < PAGE;
}

async function moreWords() {
  const { collection, bucket } = scope();
  const after = byId("words").lastElementChild?.textContent;
  const { words } = await get("v1/words", { collection, bucket, after, limit: PAGE });
  byId("words").append(...words.map((word) => element("li", {}, word)));
  byId("words-more").hidden = words.length < PAGE;
}

function reporting(act) {
  return async (event) => {
    event.preventDefault();
    try {
      await act();
    } catch (error) {
      say(error);
    }
  };
}

byId("objects-more").addEventListener("click", reporting(moreObjects));
byId("words-more").addEventListener("click", reporting(moreWords));
byId("objects-form").addEventListener("submit", reporting(async () => {
  byId("objects").replaceChildren();
  await moreObjects();
}));
