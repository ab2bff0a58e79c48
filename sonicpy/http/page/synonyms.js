// The synonyms of a collection: a list, which can be changed where the server takes changes.

import { get, post } from "./api.js";
import { element } from "./dom.js";
import { here, say } from "./main.js";

/** Return the rules of a collection, one a line; "" where there are none to read. */
export async function synonyms(collection) {
  const rules = await get("v1/synonyms", { collection }).then((found) => found.rules, () => null);
  if (!rules || (here.read_only && !rules.length)) return "";
  const text = element("textarea", { id: "synonyms", rows: Math.min(12, rules.length + 3), readonly: here.read_only, spellcheck: "false", placeholder: "ny, new york\ntv => television" }, rules.join("\n"));
  const saved = element("span", { class: "quiet", role: "status" });
  const save = async (event) => {
    event.preventDefault();
    try {
      const lines = text.value.split("\n").map((line) => line.trim()).filter(Boolean);
      saved.textContent = `${(await post("v1/synonyms", { collection, rules: lines })).rules.toLocaleString("en")} saved`;
      say(null);
    } catch (error) {
      saved.textContent = "";
      say(error);
    }
  };
  const button = here.read_only ? "" : element("div", { class: "filter" }, element("button", { type: "submit" }, "Save"), saved);
  return element("form", { onsubmit: save }, element("h2", {}, element("label", { for: "synonyms" }, "Synonyms")), text, button);
}
