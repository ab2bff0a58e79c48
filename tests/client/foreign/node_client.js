// Talks to a server through sonic-channel, the official client for Node, and prints what it got back as JSON.
//
//     node node_client.js PACKAGE_FOLDER HOST PORT PASSWORD
"use strict";

const [packageFolder, host, port, auth] = process.argv.slice(2);
const { Search, Ingest, Control } = require(packageFolder);
const options = { host, port: Number(port), auth };

function connect(Channel) {
  return new Promise((resolve, reject) => {
    const channel = new Channel(options);
    channel.connect({ connected: () => resolve(channel), error: reject });
  });
}

// A refused START is not reported by the client: it only never says that it is connected.
function connectsWith(password) {
  return new Promise((resolve) => {
    const channel = new Search({ ...options, auth: password });
    channel.connect({ connected: () => resolve(true) });
    setTimeout(() => resolve(false), 500);
  });
}

// How a call ended: ["ok", value] or ["error", reason].
async function outcome(promise) {
  try {
    return ["ok", await promise];
  } catch (error) {
    return ["error", error];
  }
}

async function ingest() {
  const channel = await connect(Ingest);
  const numbers = [...Array(200).keys()];
  // All at once: the client queues, splits and escapes them itself.
  const pushed = await Promise.all(
    numbers.map((n) => outcome(channel.push("node", "b", `o${n}`, `gemeinsam "wort${n}ende" C:\\new\nzeile`, { lang: "none" })))
  );
  const long = "langes ".repeat(4000) + "ende"; // 28,000 bytes: it makes several commands of it
  return [channel, {
    ping: await outcome(channel.ping()),
    pushed,
    long: await outcome(channel.push("node", "long", "o", long)),
    longWords: await outcome(channel.count("node", "long", "o")),
    buckets: await outcome(channel.count("node")),
    words: await outcome(channel.count("node", "b", "o7")),
    popped: await outcome(channel.pop("node", "b", "o7", "zeile")),
    flusho: await outcome(channel.flusho("node", "b", "o8")),
    flushb: await outcome(channel.flushb("node", "long")),
    flushc: await outcome(channel.flushc("elsewhere")),
    badName: await outcome(channel.push("node", "b", "na\u0001me", "text")),
  }];
}

async function search() {
  const channel = await connect(Search);
  // Several under way at once: each answer has to find its question by its marker.
  const words = [...Array(50).keys()].filter((n) => n !== 8).map((n) => `wort${n}ende`);
  return [channel, {
    each: await outcome(Promise.all(words.map((word) => channel.query("node", "b", word, { lang: "none" })))),
    page: await outcome(channel.query("node", "b", "gemeinsam", { limit: 7, offset: 195 })),
    nothing: await outcome(channel.query("nowhere", "b", "nothing")),
    suggested: await outcome(channel.suggest("node", "b", "gemein", { limit: 3 })),
    nothingSuggested: await outcome(channel.suggest("node", "b", "xyz")),
    listed: await outcome(channel.list("node", "b", { limit: 3 })),
    tooMany: await outcome(channel.query("node", "b", "gemeinsam", { limit: 1000 })),
    ping: await outcome(channel.ping()),
  }];
}

async function control() {
  const channel = await connect(Control);
  return [channel, {
    consolidated: await outcome(channel.trigger("consolidate")),
    unknown: await outcome(channel.trigger("nonsense")),
    info: await outcome(channel.info()),
    ping: await outcome(channel.ping()),
  }];
}

async function main() {
  const results = {};
  for (const talk of [ingest, search, control]) {
    const [channel, result] = await talk();
    results[talk.name] = result;
    await channel.close();
  }
  results.wrongPassword = await connectsWith("wrong");
  console.log(JSON.stringify(results));
  process.exit(0); // it would try the wrong password again
}

main().catch((error) => {
  console.error("failed:", error);
  process.exit(1);
});
