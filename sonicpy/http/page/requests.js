// The same request as curl, in Python, and as a line of Sonic Channel.

import { hasPassword } from "./api.js";
import { byId } from "./dom.js";
import { scope } from "./main.js";

const HERE = new URL(".", location.href).href;

export function showRequest() {
  const asked = { ...scope(), text: byId("request-text").value, object: byId("request-object").value };
  const made = REQUESTS[byId("operation").value](asked);
  const secret = hasPassword() ? "PASSWORD" : "";
  byId("as-curl").textContent = curl(made, secret);
  byId("as-python").textContent = `import sonicpy\n\nclient = sonicpy.connect("sonic://${secret && `:${secret}@`}localhost:1491")\n${made.python}`;
  byId("as-channel").textContent = `START ${made.mode} ${secret}`.trim() + `\n${made.channel}`;
}

function curl({ path, parameters, body }, secret) {
  const words = ["curl"];
  if (secret) words.push(`-H 'Authorization: Bearer ${secret}'`);
  if (body) words.push("-H 'Content-Type: application/json'", `-d ${shell(JSON.stringify(body))}`);
  const query = new URLSearchParams(parameters ?? {}).toString();
  return [...words, shell(HERE + path + (query && `?${query}`))].join(" ");
}

const REQUESTS = {
  query: ({ collection, bucket, text }) => ({
    path: "v1/query", parameters: { collection, bucket, text }, mode: "search",
    python: `client.query(${python(collection)}, ${python(bucket)}, ${python(text)})`,
    channel: `QUERY ${collection} ${bucket} ${quoted(text)} LIMIT(10)`,
  }),
  search: ({ collection, bucket, text }) => ({
    path: "v1/search", parameters: { collection, bucket, text }, mode: "search",
    python: `client.query(${python(collection)}, ${python(bucket)}, ${python(text)})\nclient.suggest(${python(collection)}, ${python(bucket)}, ${python(last(text))})`,
    channel: `QUERY ${collection} ${bucket} ${quoted(text)} LIMIT(10)\nSUGGEST ${collection} ${bucket} ${quoted(last(text))} LIMIT(5)`,
  }),
  suggest: ({ collection, bucket, text }) => ({
    path: "v1/suggest", parameters: { collection, bucket, word: last(text) }, mode: "search",
    python: `client.suggest(${python(collection)}, ${python(bucket)}, ${python(last(text))})`,
    channel: `SUGGEST ${collection} ${bucket} ${quoted(last(text))}`,
  }),
  explain: ({ collection, bucket, text }) => ({
    path: "v1/explain", parameters: { collection, bucket, text }, mode: "search",
    python: `print(client.explain(${python(collection)}, ${python(bucket)}, ${python(text)}))`,
    channel: `EXPLAIN ${collection} ${bucket} ${quoted(text)}`,
  }),
  words: ({ collection, bucket }) => ({
    path: "v1/words", parameters: { collection, bucket }, mode: "search",
    python: `client.words(${python(collection)}, ${python(bucket)})`,
    channel: `LIST ${collection} ${bucket}`,
  }),
  objects: ({ collection, bucket }) => ({
    path: "v1/objects", parameters: { collection, bucket }, mode: "search",
    python: `client.objects(${python(collection)}, ${python(bucket)})`,
    channel: `OBJECTS ${collection} ${bucket}`,
  }),
  count: ({ collection, bucket }) => ({
    path: "v1/count", parameters: { collection, bucket }, mode: "ingest",
    python: `client.count(${python(collection)}, ${python(bucket)})`,
    channel: `COUNT ${collection} ${bucket}`,
  }),
  push: ({ collection, bucket, text, object }) => ({
    path: "v1/push", body: { collection, bucket, object, text }, mode: "ingest",
    python: `client.push(${python(collection)}, ${python(bucket)}, ${python(object)}, ${python(text)})`,
    channel: `PUSH ${collection} ${bucket} ${object} ${quoted(text)}`,
  }),
  pop: ({ collection, bucket, text, object }) => ({
    path: "v1/pop", body: { collection, bucket, object, text }, mode: "ingest",
    python: `client.pop(${python(collection)}, ${python(bucket)}, ${python(object)}, ${python(text)})`,
    channel: `POP ${collection} ${bucket} ${object} ${quoted(text)}`,
  }),
  flush: ({ collection, bucket, object }) => ({
    path: "v1/flush", body: { collection, bucket, object }, mode: "ingest",
    python: `client.flush(${python(collection)}, ${python(bucket)}, ${python(object)})`,
    channel: `FLUSHO ${collection} ${bucket} ${object}`,
  }),
};

const last = (text) => text.trim().split(/\s+/).at(-1);
const python = (text) => JSON.stringify(text);
const quoted = (text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

for (const id of ["operation", "request-object", "request-text"]) byId(id).addEventListener("input", showRequest);
byId("request-form").addEventListener("submit", (event) => event.preventDefault());
