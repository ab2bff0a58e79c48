// What the page shows, as its address says it: a reload, Back and a link to a search bring it again.

const NAMES = ["view", "collection", "bucket", "text", "filter", "group"];

export const state = { view: "search", collection: "", bucket: "", text: "", filter: "", group: "" };

/** Whether the present entry of the history has a text that was typed and not entered: the next text takes its place. */
let isDraft = false;

/** Take the state of the address. */
export function read() {
  isDraft = false;
  const given = new URLSearchParams(location.search);
  for (const name of NAMES) state[name] = given.get(name) ?? (name === "view" ? (location.pathname.endsWith("/docs") ? "api" : "search") : "");
}

export function address(changed = {}) {
  const now = { ...state, ...changed };
  const given = new URLSearchParams(NAMES.filter((name) => now[name] && now[name] !== "search").map((name) => [name, now[name]]));
  return given.size ? `./?${given}` : "./";
}

/** Change the state. `isStep`: Back returns to the state before, and later to this one. */
export function write(changed, isStep = false) {
  const before = address();
  const isReplaced = isStep ? isDraft && "text" in changed : isDraft || !state.text;
  Object.assign(state, changed);
  const isOther = address() !== before;
  if (isOther) history[isReplaced ? "replaceState" : "pushState"](null, "", address());
  isDraft = !isStep && (isDraft || isOther);
}
