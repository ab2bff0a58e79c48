// What the page shows, as its address says it: a reload, Back and a link to a search bring it again.

const NAMES = ["view", "collection", "bucket", "text", "filter", "group"];

export const state = { view: "search", collection: "", bucket: "", text: "", filter: "", group: "" };

/** Take the state of the address. */
export function read() {
  const given = new URLSearchParams(location.search);
  for (const name of NAMES) state[name] = given.get(name) ?? (name === "view" ? (location.pathname.endsWith("/docs") ? "api" : "search") : "");
}

export function address(changed = {}) {
  const now = { ...state, ...changed };
  const given = new URLSearchParams(NAMES.filter((name) => now[name] && now[name] !== "search").map((name) => [name, now[name]]));
  return given.size ? `./?${given}` : "./";
}

/** Change the state. `isStep`: Back returns to the state before. */
export function write(changed, isStep = false) {
  const before = address();
  Object.assign(state, changed);
  if (address() !== before) history[isStep ? "pushState" : "replaceState"](null, "", address());
}
