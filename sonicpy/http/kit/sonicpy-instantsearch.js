// A client for the widgets of InstantSearch.js: they ask a sonicpy server in place of Algolia's.
//
//   import { SonicSearch } from "https://search.example/sonicpy-search.js";
//   import { instantSearchClient } from "https://search.example/sonicpy-instantsearch.js";
//   const searchClient = instantSearchClient(new SonicSearch({ ... }), { rows: (objects) => rowsOf(objects) });

import { allOf, anyOf, anyTag, folded, heldBy, marks, rowsOf } from "./sonicpy-search.js";

const RANGES = 60;
const listed = (given) => (given === undefined ? [] : typeof given === "string" ? [given] : given);

/** Return the FILTER of facetFilters, numericFilters and filters: a tag is `attribute:value`. */
export function filterOf({ facetFilters, numericFilters, filters }) {
  const tag = (text) => text.replace(/^([^:]*):\\-/, "$1:-");
  const facet = (text) => (/^[^:]*:-/.test(text) ? `NOT ${anyTag([text.replace(":-", ":")])}` : anyTag([tag(text)]));
  const number = (text) => {
    const [, name, sign, value] = /^(.*?)\s*(<=|>=|!=|<|>|=)\s*(-?[\d.]+)$/.exec(text);
    if (/^!?=$/.test(sign) && value % 1) {
      // Values are whole: none is equal to this one.
      return `${sign === "=" ? `NOT HAS ${JSON.stringify(name)} AND ` : ""}HAS ${JSON.stringify(name)}`;
    }
    const round = { "<": Math.ceil, ">=": Math.ceil }[sign] ?? Math.floor;
    return `${JSON.stringify(name)} ${sign} ${round(value)}`;
  };
  const each = (given, one) => listed(given).map((part) => anyOf(listed(part).map(one)));
  return allOf([filters, ...each(facetFilters, facet), ...each(numericFilters, number)]);
}

/** Return the least and the greatest of some values, found by counts of ever smaller ranges; null: there is none. */
async function statsOf(counts, low, high) {
  const end = async (from, to, isLast) => {
    while (to - from > 1) {
      const step = Math.ceil((to - from) / RANGES);
      const bounds = Array.from({ length: Math.ceil((to - from) / step) }, (_, place) => from + place * step);
      const found = (await counts([...bounds, to])).filter(([least, most]) => least !== null && most !== null);
      if (!found.length) return null;
      [from, to] = found.at(isLast ? -1 : 0);
    }
    return from;
  };
  const [min, max] = await Promise.all([end(low, high + 1, false), end(low, high + 1, true)]);
  return min === null ? null : { min, max };
}

/** Return a `searchClient` for InstantSearch.js.
 *
 * rows: as of `searchBox`; a row is a hit. sorts: the SORT of an index name, such as { shop_cheap: "price" }. numbers:
 * names of values with the lowest and the highest that they have, such as { price: [0, 100000] }.
 */
export function instantSearchClient(search, { rows = async () => [], sorts = {}, numbers = {}, options = {} } = {}) {
  async function one({ indexName, params = {} }) {
    const { query = "", page = 0, hitsPerPage = 20, highlightPreTag = "<em>", highlightPostTag = "</em>" } = params;
    const filter = allOf([options.filter, filterOf(params)]);
    const names = listed(params.facets).filter((name) => name !== "*");
    const tags = names.filter((name) => !(name in numbers));
    const sort = sorts[indexName] ?? (query.trim() || filter ? null : "newest");
    const asked = { ...options, filter, sort, limit: hitsPerPage, offset: page * hitsPerPage, total: true, how: true };
    const found = await search.query(query, { ...asked, of: tags.map((name) => `${name}:*`).join(",") });
    const held = found.hits.length ? await rowsOf(rows, found.hits) : [];
    const level = (pieces) => (pieces.some(([, is]) => is) ? "full" : "none");
    const highlighted = (text, hit) => {
      const pieces = marks(text, query, heldBy(hit));
      return { value: pieces.map(([piece, is]) => (is ? highlightPreTag + piece + highlightPostTag : piece)).join(""), matchLevel: level(pieces), matchedWords: [] };
    };
    const facets = Object.fromEntries(tags.map((name) => [name, Object.fromEntries(Object.entries(found.facets?.tags[`${name}:`] ?? {}).map(([tag, count]) => [tag.slice(name.length + 1), count]))]));
    const stats = {};
    await Promise.all(names.filter((name) => name in numbers).map(async (name) => {
      const counts = async (bounds) => (await search.facets(query, { ...options, filter, ranges: `${name}: ${bounds}` })).ranges[name];
      const ends = await statsOf(counts, ...numbers[name]);
      if (ends) [stats[name], facets[name]] = [ends, { [ends.min]: 1, [ends.max]: 1 }];
    }));
    return {
      index: indexName, query, page, hitsPerPage, facets, facets_stats: stats, params: "", processingTimeMS: 1,
      nbHits: found.total ?? 0, nbPages: hitsPerPage ? Math.ceil((found.total ?? 0) / hitsPerPage) : 0, exhaustiveNbHits: true, exhaustiveFacetsCount: true,
      hits: found.hits.map((hit, place) => ({
        ...held[place], objectID: hit.object,
        _highlightResult: Object.fromEntries(Object.entries(held[place] ?? {}).filter(([, value]) => typeof value === "string").map(([name, value]) => [name, highlighted(value, hit)])),
      })),
    };
  }

  async function values({ params: { facetName, facetQuery = "", query = "", maxFacetHits = 10, ...params } }) {
    const filter = allOf([options.filter, filterOf(params)]);
    const { tags } = await search.facets(query, { ...options, filter, of: `${facetName}:*`, limit: 1000 });
    const found = Object.entries(tags[`${facetName}:`] ?? {}).map(([tag, count]) => ({ value: tag.slice(facetName.length + 1), count }));
    const facetHits = found.filter(({ value }) => folded(value).includes(folded(facetQuery))).slice(0, maxFacetHits);
    return { facetHits: facetHits.map((each) => ({ ...each, highlighted: each.value })), exhaustiveFacetsCount: true, processingTimeMS: 1 };
  }

  return {
    search: async (requests) => ({ results: await Promise.all(requests.map(one)) }),
    searchForFacetValues: (requests) => Promise.all(requests.map(values)),
  };
}
