// The search box: a combobox whose completions are chips below it, so that they never hide what was found.

import { byId, element } from "./dom.js";

let chosen = -1;
let isShut = false; // since Escape was pressed: an answer on its way opens nothing

/** Set the box up. `typed` is called while somebody types, `asked` at Enter and when a completion is taken. */
export function setUp(typed, asked) {
  const box = byId("text");
  let timer = 0;
  box.addEventListener("input", () => {
    isShut = false;
    clearTimeout(timer);
    timer = setTimeout(typed, 40);
  });
  box.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && choose(1)) event.preventDefault();
    else if (event.key === "ArrowUp" && choose(-1)) event.preventDefault();
    else if (event.key === "Escape") {
      event.preventDefault();
      offer([], asked);
      isShut = true;
    }
  });
  byId("search-form").addEventListener("submit", (event) => {
    event.preventDefault();
    isShut = false;
    clearTimeout(timer);
    if (chosen >= 0) take(byId("suggestions").children[chosen].textContent, asked);
    else {
      offer([], asked);
      asked();
    }
  });
}

/** Offer completions of the last word. */
export function offer(words, asked) {
  if (isShut) return;
  chosen = -1;
  byId("suggestions").replaceChildren(...words.map((word, place) =>
    element("li", { role: "option", id: `suggestion-${place}`, "aria-selected": "false", onmousedown: (event) => {
      event.preventDefault();
      take(word, asked);
    } }, word)));
  byId("text").setAttribute("aria-expanded", String(words.length > 0));
  byId("text").removeAttribute("aria-activedescendant");
}

function choose(step) {
  const options = [...byId("suggestions").children];
  if (!options.length) return false;
  chosen = (chosen + 1 + step + options.length + 1) % (options.length + 1) - 1;
  options.forEach((option, place) => option.setAttribute("aria-selected", String(place === chosen)));
  if (chosen < 0) byId("text").removeAttribute("aria-activedescendant");
  else byId("text").setAttribute("aria-activedescendant", `suggestion-${chosen}`);
  return true;
}

function take(word, asked) {
  const words = byId("text").value.trimEnd().split(/\s+/);
  const signs = words.at(-1).match(/^[-+"*]*/)[0];
  byId("text").value = [...words.slice(0, -1), signs + word].join(" ");
  offer([], asked);
  asked();
}
