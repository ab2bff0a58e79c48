// The routes of this address, from its own OpenAPI description.

import { get } from "./api.js";
import { byId, element } from "./dom.js";

export async function showRoutes() {
  const described = await get("openapi.json");
  const groups = new Map();
  for (const [path, methods] of Object.entries(described.paths)) {
    for (const [method, each] of Object.entries(methods)) {
      const tag = each.tags?.[0] ?? "other";
      groups.set(tag, [...(groups.get(tag) ?? []), { path, method, each }]);
    }
  }
  const parts = [element("p", { class: "hint" }, "Every route answers JSON; the machine-readable description is ", element("a", { href: "openapi.json" }, "openapi.json"), ".")];
  for (const [tag, routes] of groups) parts.push(element("h2", {}, tag), ...routes.map(drawn));
  byId("api").replaceChildren(...parts);
}

function drawn({ path, method, each }) {
  const rows = (each.parameters ?? []).map((one) => element("li", {}, element("code", {}, one.name), one.required ? " (required)" : "", one.description ? [": ", ...spoken(one.description)] : null));
  const body = Object.values(each.requestBody?.content ?? {})[0]?.schema?.$ref?.split("/").at(-1);
  return element("details", { class: "route" }, element("summary", {}, element("code", { class: method }, method.toUpperCase()), " ", element("code", {}, path), element("span", { class: "hint" }, spoken(each.description ?? each.summary ?? ""))),
    rows.length ? element("ul", {}, rows) : null, body ? element("p", {}, "Body: ", element("code", {}, body)) : null);
}

/** Return a sentence whose parts in backticks are code. */
const spoken = (text) => text.split("`").map((part, place) => (place % 2 ? element("code", {}, part) : part));
