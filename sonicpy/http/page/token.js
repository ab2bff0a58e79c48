// A token in the address of the page: behind #, which browsers send to nobody.

/** Return the token of `#token=...`; "": there is none. */
export const tokenOf = (hash) => new URLSearchParams(hash.replace(/^#/, "")).get("token") ?? "";

const plain = (name) => name.replace(/%(2F|2A|25)/gi, decodeURIComponent);

/** Return the first bucket that a token names as a whole; nothing: it names none, or is a key. */
export function scopeOf(token) {
  try {
    const payload = atob(token.split(".")[1].replaceAll("-", "+").replaceAll("_", "/"));
    const { buckets = [] } = JSON.parse(new TextDecoder().decode(Uint8Array.from(payload, (letter) => letter.charCodeAt(0))));
    const [collection, bucket = ""] = (buckets.find((each) => !each.split("/")[0].endsWith("*")) ?? "").split("/");
    return { collection: plain(collection), bucket: bucket.endsWith("*") ? "" : plain(bucket) };
  } catch {
    return {};
  }
}
