// The same request as curl, in Python, and as a line of Sonic Channel.

import { byId } from "./dom.js";
import { scope } from "./main.js";

const HERE = new URL(".", location.href).href;

export function showRequest() {
  const { collection, bucket } = scope();
  const made = REQUESTS[byId("operation").value]({
    collection, bucket, text: byId("request-text").value, object: byId("request-object").value,
  });
  byId("as-curl").textContent = made.body
    ? `curl -H 'Authorization: Bearer PASSWORD' -H 'Content-Type: application/json' \\\n  -d ${shell(JSON.stringify(made.body))} ${shell(HERE + made.path)}`
    : `curl -H 'Authorization: Bearer PASSWORD' ${shell(`${HERE}${made.path}?${new URLSearchParams(made.parameters)}`)}`;
  byId("as-python").textContent = `import sonicpy\n\nclient = sonicpy.connect("sonic://:PASSWORD@localhost:1491")\n${made.python}`;
  byId("as-channel").textContent = `START ${made.mode} PASSWORD\n${made.channel}`;
}

const REQUESTS = {
  query: ({ collection, bucket, text }) => ({
    path: "v1/query", parameters: { collection, bucket, text }, mode: "search",
    python: `client.query(${python(collection)}, ${python(bucket)}, ${python(text)})`,
    channel: `QUERY ${collection} ${bucket} ${quoted(text)} LIMIT(10)`,
  }),
  suggest: ({ collection, bucket, text }) => ({
    path: "v1/suggest", parameters: { collection, bucket, word: text }, mode: "search",
    python: `client.suggest(${python(collection)}, ${python(bucket)}, ${python(text)})`,
    channel: `SUGGEST ${collection} ${bucket} ${quoted(text)}`,
  }),
  words: ({ collection, bucket }) => ({
    path: "v1/words", parameters: { collection, bucket }, mode: "search",
    python: `client.words(${python(collection)}, ${python(bucket)})`,
    channel: `LIST ${collection} ${bucket}`,
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
};

const python = (text) => JSON.stringify(text);
const quoted = (text) => `"${text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n")}"`;
const shell = (text) => `'${text.replaceAll("'", "'\\''")}'`;

for (const id of ["operation", "request-object", "request-text"]) byId(id).addEventListener("input", showRequest);
byId("request-form").addEventListener("submit", (event) => event.preventDefault());
