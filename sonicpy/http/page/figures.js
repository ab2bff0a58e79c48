// Figures of now, every two seconds; their history is for Grafana.

import { get } from "./api.js";
import { bar, byId, element, figures, table } from "./dom.js";
import { say } from "./main.js";

const EVERY_MS = 2000;
let timer = 0;
let before = null;

export async function showFigures() {
  clearTimeout(timer);
  const now = await get("v1/figures");
  byId("figures").replaceChildren(...drawn(now));
  before = { at: performance.now(), verbs: now.verbs ?? {} };
  timer = setTimeout(() => showFigures().catch(say), EVERY_MS);
}

export function stopFigures() {
  clearTimeout(timer);
  before = null;
}

function drawn(now) {
  const parts = [];
  const verbs = Object.entries(now.verbs ?? {}).filter(([, verb]) => verb.count);
  if (verbs.length) {
    const seconds = before ? (performance.now() - before.at) / 1000 : 0;
    const rate = (name, verb) => (seconds ? (verb.count - (before.verbs[name]?.count ?? 0)) / seconds : 0);
    const rates = verbs.map(([name, verb]) => rate(name, verb));
    const most = Math.max(1, ...rates);
    parts.push(element("h3", {}, "Commands"), table("Commands", ["command", "per second", "in all", "mean µs", "99 % within µs"],
      verbs.map(([name, verb], place) => [name, bar(Math.round(rates[place]), most), verb.count, Math.round(verb.mean_us), verb.p99_at_most_us])));
  }
  if (now.slow?.length) {
    parts.push(element("h3", {}, "Slow commands"), table("Slow commands", ["when", "command", "milliseconds", "where"],
      now.slow.map((each) => [each.when, each.verb, each.ms, each.scope])));
  }
  const { verbs: _, slow: __, index = {}, info = {}, ...server } = now;
  const { by_collection: ___, ...whole } = index;
  for (const [title, held] of [["Server", { ...server, ...info }], ["Index", whole]]) {
    if (Object.keys(held).length) parts.push(element("h3", {}, title), table(title, ["figure", "value"], figures(held)));
  }
  return parts;
}
