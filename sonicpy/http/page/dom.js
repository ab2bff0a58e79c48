// Small helpers to build a page. All content goes in as text, never as HTML.

export const byId = (id) => document.getElementById(id);

/** Return an element with attributes and children; a child that is no element becomes text. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null).map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

export const count = (number, name) => `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;

export function bytes(number) {
  const place = Math.min(4, Math.floor(Math.log2(Math.max(1, number)) / 10));
  return `${(number / 1024 ** place).toLocaleString("en", { maximumFractionDigits: place ? 1 : 0 })} ${["bytes", "KiB", "MiB", "GiB", "TiB"][place]}`;
}

export function shown(value, name = "") {
  if (value instanceof Node) return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return name.endsWith("bytes") ? bytes(value) : value.toLocaleString("en", { maximumFractionDigits: 3 });
  if (value === null || value === undefined) return "–";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Return a table whose columns sort by a click on their heads. Columns of numbers stand at the right. */
export function table(caption, heads, rows) {
  const isNumber = heads.map((_, place) => rows.length > 0 && rows.every((row) => typeof row[place] === "number" || row[place] === null));
  const body = element("tbody");
  const fill = () => body.replaceChildren(...rows.map((row) =>
    element("tr", {}, row.map((value, place) => element("td", { class: isNumber[place] ? "number" : null }, shown(value, heads[place]))))));
  let sorted = -1;
  const sort = (place) => {
    const turn = sorted === place ? -1 : 1;
    sorted = sorted === place ? -1 : place;
    rows.sort((one, other) => turn * (isNumber[place] ? other[place] - one[place] : shown(one[place]).toString().localeCompare(shown(other[place]).toString())));
    fill();
  };
  fill();
  const head = heads.map((name, place) => element("th", { scope: "col", class: isNumber[place] ? "number" : null },
    element("button", { type: "button", title: `Sort by ${name}`, onclick: () => sort(place) }, name.replace(/ ?bytes$/, " size"))));
  return element("div", { class: "wide", tabindex: "0", role: "region", "aria-label": caption }, element("table", {}, element("caption", { class: "quiet" }, caption), element("thead", {}, element("tr", {}, head)), body));
}

/** Return rows of figures with readable names; those of a group get its name before theirs. */
export function figures(held, group = "") {
  return Object.entries(held).flatMap(([name, value]) => {
    const title = `${group}${name.replaceAll("_", " ")}`;
    if (value !== null && typeof value === "object") return figures(value, `${title}: `);
    return [[title.replace(/ bytes$/, " size"), shown(value, name)]];
  });
}

/** Return a text as one word for a shell, in quotes. */
export const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** Return a text as one word for a shell, in quotes where it needs them. */
export const shellWord = (text) => (/^[\w.:@%+=,/-]+$/.test(text) ? text : shell(text));

/** Return a block of code with a button that copies it. */
export function code(text) {
  const copy = element("button", { type: "button", onclick: async () => {
    await navigator.clipboard.writeText(text);
    copy.textContent = "Copied";
    setTimeout(() => { copy.textContent = "Copy"; }, 1500);
  } }, "Copy");
  return element("div", { class: "code" }, element("pre", { tabindex: "0" }, text), copy);
}
