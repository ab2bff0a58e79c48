// Which view is shown, and which collection and bucket it is about.

import { Failure, get, usePassword } from "./api.js";
import { showContents } from "./contents.js";
import { byId, element } from "./dom.js";
import { showFigures, stopFigures } from "./figures.js";
import { showRoutes } from "./routes.js";
import { showSearch } from "./search.js";
import { address, read, state, write } from "./state.js";

const VIEWS = { search: showSearch, contents: showContents, figures: showFigures, api: showRoutes };

/** What the server says of itself; `channel` is the address for other clients. */
export const here = { channel: "", version: "" };

/** Say why something failed; a missing password asks for one. */
export function say(error) {
  if (error?.name === "AbortError") return;
  byId("message").textContent = error ? error.message : "";
  if (error instanceof Failure && error.status === 401) {
    byId("password-form").hidden = false;
    byId("password").focus();
  }
}

function options(select, names, wanted) {
  select.replaceChildren(...names.map((name) => element("option", { value: name }, name)));
  select.value = names.includes(wanted) ? wanted : (names[0] ?? "");
  return select.value;
}

/** Load the names of collections and buckets; those of the address need no second round. */
async function loadScope() {
  const guessed = state.collection ? get("v1/buckets", { collection: state.collection }) : null;
  const [about, { names: collections }, buckets] = await Promise.all([get("v1/about"), get("v1/collections"), guessed]);
  Object.assign(here, about);
  const collection = options(byId("collection"), collections, state.collection);
  const known = collection === state.collection ? buckets : null;
  const names = collection ? (known ?? await get("v1/buckets", { collection })).names : [];
  const bucket = options(byId("bucket"), names, state.bucket || "default");
  byId("bucket").hidden = names.length < 2;
  if (state.view === "search") Object.assign(state, { collection, bucket });
}

/** Show the state. */
export async function show() {
  say(null);
  stopFigures();
  for (const link of document.querySelectorAll("nav a")) {
    link.href = address({ view: link.dataset.view });
    if (link.dataset.view === state.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  for (const name of Object.keys(VIEWS)) byId(`view-${name}`).hidden = name !== state.view;
  document.title = state.view === "search" ? `${state.text ? `${state.text} – ` : ""}sonicpy` : `${state.view} – sonicpy`;
  try {
    await loadScope();
    await VIEWS[state.view]();
  } catch (error) {
    say(error);
  }
}

/** Take the state of the address, and put its text into the box. */
function restore() {
  read();
  byId("text").value = state.text;
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='./']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  restore();
  show();
});
addEventListener("popstate", () => {
  restore();
  show();
});
byId("collection").addEventListener("change", () => {
  write({ collection: byId("collection").value, bucket: "" }, true);
  show();
});
byId("bucket").addEventListener("change", () => {
  write({ bucket: byId("bucket").value }, true);
  show();
});
byId("password-form").addEventListener("submit", (event) => {
  event.preventDefault();
  usePassword(byId("password").value);
  byId("password-form").hidden = true;
  show();
});
const early = byId("text").value.trim(); // typed before this program came
restore();
if (early && !state.text) {
  byId("text").value = early;
  write({ text: early });
}
await show();
if (state.view === "search" && byId("password-form").hidden) byId("text").focus();
