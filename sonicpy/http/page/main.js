// Which view is shown, and which collection and bucket it is about.

import { Failure, allowed, get, usePassword } from "./api.js";
import { scopeOf, tokenOf } from "./token.js";
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

/** Return names; where the key allows no list, the one of the address. */
const namesOf = async (path, parameters, known) => (await allowed(get(path, parameters)))?.names ?? (known ? [known] : []);

let shows = 0;

/** Load the names of collections and buckets, unless they are asked for again meanwhile; those of the address need no second round. */
async function loadScope(isNewest) {
  const bucketsOf = (collection) => namesOf("v1/buckets", { collection }, state.bucket || "default");
  const guessed = state.collection ? bucketsOf(state.collection) : null;
  const [about, collections, buckets] = await Promise.all([get("v1/about"), namesOf("v1/collections", {}, state.collection), guessed]);
  if (!isNewest()) return;
  Object.assign(here, about);
  const collection = options(byId("collection"), collections, state.collection);
  const known = collection === state.collection ? buckets : null;
  const names = collection ? (known ?? await bucketsOf(collection)) : [];
  if (!isNewest()) return;
  const bucket = options(byId("bucket"), names, state.bucket || "default");
  byId("bucket").hidden = names.length < 2;
  if (state.view === "search") Object.assign(state, { collection, bucket });
}

/** Show the state; a newer call ends an older one. */
export async function show() {
  const number = ++shows;
  const isNewest = () => number === shows;
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
    await loadScope(isNewest);
    if (isNewest()) await VIEWS[state.view](isNewest);
  } catch (error) {
    if (isNewest()) say(error);
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
/** Take the token of an address such as /#token=..., which then goes out of sight; it names its first bucket, too. */
function useToken() {
  const token = tokenOf(location.hash);
  if (!token) return;
  usePassword(token);
  history.replaceState(null, "", location.pathname + location.search);
  read();
  if (!state.collection) write(scopeOf(token));
}

useToken();
addEventListener("hashchange", () => {
  useToken();
  restore();
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
