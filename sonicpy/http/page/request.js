// The search that was just made, for other programs, with the addresses of this server.

import { hasPassword } from "./api.js";
import { code, element, shell, shellWord } from "./dom.js";
import { here } from "./main.js";

const quoted = (text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
const base = () => new URL(".", location.href).href;
const literal = (text) => JSON.stringify(text);

const SIGNS = /["*\u201c\u201d\u201e]|(^|\s)[+-]|\sOR\s/; // a text without them means the same with any syntax

const KINDS = {
  curl: ({ parameters, secret }) => `curl ${secret ? `-H 'Authorization: Bearer ${secret}' ` : ""}${shell(`${base()}v1/search?${parameters}`)}`,
  Python: ({ collection, bucket, text, filter, group, url, signs }) => `import sonicpy\n\nwith sonicpy.connect(${literal(url)}) as client:\n    print(client.query(${literal(collection)}, ${literal(bucket)}, ${literal(text)}${signs ? ', syntax="web"' : ""}${filter ? `, filter=${literal(filter)}` : ""}${group ? `, group=${literal(group)}` : ""}))`,
  JavaScript: ({ parameters, secret }) => `const answer = await fetch(${literal(`${base()}v1/search?${parameters}`)}${secret ? `, {\n  headers: { Authorization: ${literal(`Bearer ${secret}`)} },\n}` : ""});\nconst { hits, suggestions } = await answer.json();`,
  Channel: ({ collection, bucket, text, filter, group, secret, signs }) => `START search ${secret}`.trim() + `\nQUERY ${collection} ${bucket} ${quoted(text)}${signs ? " SYNTAX(web)" : ""}${filter ? ` FILTER(${quoted(filter)})` : ""}${group ? ` GROUP(${quoted(group)})` : ""}`,
  Shell: ({ collection, bucket, text, filter, group, url, signs }) => `sonicpy query ${shellWord(collection)} ${shellWord(bucket)} ${shell(text)}${signs ? " --syntax web" : ""}${filter ? ` --filter ${shell(filter)}` : ""}${group ? ` --group ${shell(group)}` : ""} --server ${url}`,
};
const OVER_CHANNEL = new Set(["Python", "Channel", "Shell"]);
let kind = "curl";

export function request({ collection, bucket, text, filter, group }) {
  const secret = hasPassword() ? "PASSWORD" : "";
  const signs = SIGNS.test(text);
  const asked = { collection, bucket, text, secret, signs, url: secret ? here.channel.replace("://", `://:${secret}@`) : here.channel, filter, group, parameters: new URLSearchParams({ collection, bucket, text, ...(signs ? { syntax: "web" } : {}), ...(filter ? { filter } : {}), ...(group ? { group } : {}) }) };
  const shown = element("div", { id: "request-shown", role: "tabpanel", "aria-label": "Request" });
  const tabs = Object.keys(KINDS).filter((name) => here.channel || !OVER_CHANNEL.has(name)).map((name) => element("button", { type: "button", role: "tab", "aria-controls": "request-shown", onclick: () => show(name) }, name));
  const show = (name) => {
    kind = name;
    for (const tab of tabs) tab.setAttribute("aria-selected", String(tab.textContent === name));
    shown.replaceChildren(code(KINDS[name](asked)));
  };
  show(kind);
  return element("div", {}, element("div", { class: "tabs", role: "tablist", "aria-label": "Languages" }, tabs), shown);
}
