// Which view is shown, and which collection and bucket it is about.

import { Failure, get, usePassword } from "./api.js";
import { showContents } from "./contents.js";
import { byId, element } from "./dom.js";
import { showFigures, stopFigures } from "./figures.js";
import { showRequest } from "./requests.js";
import { focusSearch, search } from "./search.js";

const VIEWS = { search: search, contents: showContents, figures: showFigures, request: showRequest };
let view = "search";

export function scope() {
  return { collection: byId("collection").value, bucket: byId("bucket").value };
}

/** Say why something failed; a missing password asks for one. */
export function say(error) {
  if (error?.name === "AbortError") return;
  byId("message").textContent = error ? error.message : "";
  if (error instanceof Failure && error.status === 401) {
    byId("password-form").hidden = false;
    byId("password").focus();
  }
}

async function loadCollections() {
  const { names } = await get("v1/collections");
  const wanted = byId("collection").value;
  byId("collection").replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  if (names.includes(wanted)) byId("collection").value = wanted;
  if (!names.length) byId("message").textContent = "The index is empty: nothing has been pushed yet.";
  await loadBuckets();
}

async function loadBuckets() {
  const { collection, bucket } = scope();
  const names = collection ? (await get("v1/buckets", { collection })).names : [];
  byId("buckets").replaceChildren(...names.map((name) => element("option", { value: name })));
  if (!names.includes(bucket)) byId("bucket").value = names[0] ?? "";
}

async function show(name) {
  view = name;
  if (view !== "figures") stopFigures();
  for (const button of document.querySelectorAll("nav button")) {
    if (button.dataset.view === name) button.setAttribute("aria-current", "page");
    else button.removeAttribute("aria-current");
  }
  for (const key of Object.keys(VIEWS)) byId(`view-${key}`).hidden = key !== name;
  await refresh();
}

async function refresh() {
  say(null);
  try {
    await VIEWS[view]();
  } catch (error) {
    say(error);
  }
}

async function start() {
  say(null);
  try {
    await loadCollections();
    await VIEWS[view]();
  } catch (error) {
    say(error);
  }
}

for (const button of document.querySelectorAll("nav button")) {
  button.addEventListener("click", () => show(button.dataset.view));
}
byId("collection").addEventListener("change", async () => {
  try {
    await loadBuckets();
  } catch (error) {
    say(error);
  }
  await refresh();
});
byId("bucket").addEventListener("change", refresh);
byId("password-form").addEventListener("submit", async (event) => {
  event.preventDefault();
  usePassword(byId("password").value);
  byId("password-form").hidden = true;
  await start();
});
await start();
focusSearch();
