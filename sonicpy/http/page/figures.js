// Figures of now, every two seconds, with charts of the last minutes while this page is open.

import { get } from "./api.js";
import { byId, bytes, element, figures, table } from "./dom.js";
import { say } from "./main.js";
import { unanswered } from "./questions.js";

const EVERY_MS = 2000;
const KEPT = 150;
const history = [];
let timer = 0;
let shows = 0;

export async function showFigures() {
  stopFigures();
  const number = shows;
  const now = await get("v1/figures");
  if (number !== shows) return; // the view was left meanwhile
  history.push({ at: performance.now(), now });
  if (history.length > KEPT) history.shift();
  byId("figures").replaceChildren(charts(), ...tables(now));
  timer = setTimeout(() => showFigures().catch(say), EVERY_MS);
}

export function stopFigures() {
  clearTimeout(timer);
  shows += 1;
}

const counted = (now) => Object.values(now.verbs ?? {}).reduce((sum, verb) => sum + verb.count, 0);

/** Return a number for each moment but the first; `of` gets a moment and the one before. */
function series(of) {
  return history.slice(1).map((each, place) => of(each, history[place]));
}

function charts() {
  const seconds = (one, before) => (one.at - before.at) / 1000;
  const slowest = (now) => Math.max(0, ...Object.values(now.verbs ?? {}).map((verb) => verb.p99_at_most_us ?? 0));
  return element("div", { class: "charts" },
    chart("Commands a second", series((one, before) => (counted(one.now) - counted(before.now)) / seconds(one, before)), (value) => Math.round(value).toLocaleString("en")),
    chart("99 % within, µs", series((one) => slowest(one.now)), (value) => Math.round(value).toLocaleString("en")),
    chart("Memory", series((one) => one.now.memory_bytes ?? 0), bytes),
    chart("Connections", series((one) => one.now.connections ?? 0), String),
    chart("Buckets to consolidate", series((one) => one.now.buckets_to_consolidate ?? 0), String));
}

const height = (value, most) => 38 - (36 * value) / most;

function chart(title, values, format) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 100 40");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const most = Math.max(...values, 1);
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", values.map((value, place) => `${place ? "L" : "M0 " + height(value, most) + "L"}${(100 * (place + 1)) / values.length} ${height(value, most)}`).join(""));
  const area = path.cloneNode();
  area.setAttribute("class", "area");
  if (values.length) area.setAttribute("d", `${path.getAttribute("d")}L100 40L0 40Z`);
  svg.append(area, path);
  return element("div", { class: "card chart" }, element("span", { class: "hint" }, title), element("div", {}, element("b", {}, values.length ? format(values.at(-1)) : "–")), svg);
}

function tables(now) {
  const parts = [];
  const verbs = Object.entries(now.verbs ?? {});
  if (verbs.length) parts.push(element("h2", {}, "Commands"), table("Commands", ["command", "in all", "mean µs", "99 % within µs"], verbs.map(([name, verb]) => [name === "OTHER" ? "others" : name, verb.count, Math.round(verb.mean_us), verb.p99_at_most_us])));
  if (now.slow?.length) parts.push(element("h2", {}, "Slow commands"), table("Slow commands", ["when", "command", "milliseconds", "where"], now.slow.map((each) => [each.when, each.verb, each.ms, each.scope])));
  const { verbs: _, slow: __, index = {}, info = {}, ...server } = now;
  const { by_collection: ___, unanswered: asked, ...whole } = index;
  parts.push(...unanswered(asked));
  for (const [title, held] of [["Server", { ...server, ...info }], ["Index", whole]]) {
    if (Object.keys(held).length) parts.push(element("h2", {}, title), table(title, ["figure", "value"], figures(held)));
  }
  return parts;
}
