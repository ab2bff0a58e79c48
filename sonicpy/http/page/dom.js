// Small helpers to build a page. All content goes in as text, never as HTML.

export const byId = (id) => document.getElementById(id);

/** Return an element with attributes and children; a child that is no element becomes text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null) made.setAttribute(key, value);
  }
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

/** Return a table. Numbers stand at the right. */
export function table(caption, heads, rows) {
  const cell = (name, value) => element(name, typeof value === "number" ? { class: "number" } : {}, shown(value));
  return element("table", {}, element("caption", { class: "quiet" }, caption),
    element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map((value) => cell("td", value))))));
}

export function shown(value) {
  if (value instanceof Node) return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return value.toLocaleString("en", { maximumFractionDigits: 3 });
  if (value === null || value === undefined) return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Return rows of figures with readable names; those of a group get its name before theirs. */
export function figures(held, group = "") {
  return Object.entries(held).flatMap(([name, value]) => {
    const title = `${group}${name.replaceAll("_", " ")}`;
    if (value !== null && typeof value === "object") return figures(value, `${title}: `);
    if (name.endsWith("bytes") && typeof value === "number") return [[title.replace(/ ?bytes$/, " size") , bytes(value)]];
    return [[title, value]];
  });
}

function bytes(count) {
  const place = Math.min(4, Math.floor(Math.log2(Math.max(1, count)) / 10));
  const number = (count / 1024 ** place).toLocaleString("en", { maximumFractionDigits: place ? 1 : 0 });
  return element("span", {}, `${number} ${["bytes", "KiB", "MiB", "GiB", "TiB"][place]}`);
}

/** Return a drawing of values side by side, as shares of `most`; the text beside it says what it shows. */
export function stack(values, most, width = 120) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const attributes = { viewBox: `0 0 ${width} 12`, preserveAspectRatio: "none", "aria-hidden": "true", class: "stack" };
  for (const [key, value] of Object.entries(attributes)) svg.setAttribute(key, value);
  let left = 0;
  values.forEach((value, place) => {
    const rect = document.createElementNS("http://www.w3.org/2000/svg", "rect");
    const size = most > 0 ? (width * value) / most : 0;
    for (const [key, each] of Object.entries({ x: left, width: size, height: 12, class: `part-${place % 6}` })) rect.setAttribute(key, each);
    svg.append(rect);
    left += size;
  });
  return svg;
}

/** Return a number with a bar of its share. */
export function bar(value, most) {
  return element("span", {}, stack([value], most), ` ${shown(value)}`);
}
