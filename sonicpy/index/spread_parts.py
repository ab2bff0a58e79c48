"""The answers of a part of a spread bucket; see `search/sketch.py`."""

from base64 import b64encode
from collections.abc import Sequence
from typing import Any

from sonicpy.filters.grammar import parse
from sonicpy.filters.sorting import facets_of, parse_boost, parse_sort
from sonicpy.index.answers import Answers
from sonicpy.index.claims import is_claimed, notes_in
from sonicpy.index.ingest.given_vectors import ColumnCheck
from sonicpy.index.search.boost import boosted, highest_of
from sonicpy.index.search.faceting import ALL_TAGS, count_facets, no_facets
from sonicpy.index.search.fitting import count_in
from sonicpy.index.search.how import WORDS_SHOWN
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.likeness import sums_in_part
from sonicpy.index.search.masks import mask_of
from sonicpy.index.search.packed_terms import unpack_matching, unpack_terms, unpack_typed
from sonicpy.index.search.parts import NamedObject, Part, find_by_plan
from sonicpy.index.search.plan import of_plain
from sonicpy.index.search.refine import SortedRow, Wanted, condition_of, place_by_age, place_of, sorted_rows
from sonicpy.index.search.sketch import pack_completions, sketch_query, sketch_suggest, sketch_typed
from sonicpy.index.search.spread_groups import NO_ROWS, GroupRows, group_rows, groups_shown
from sonicpy.index.search.statistics import NO_SKETCH, Sketch
from sonicpy.index.search.suggest_passing import count_passing
from sonicpy.search import FacetSearch, Search
from sonicpy.store.rows.named_words import TEXT_NAMES, unpack_names
from sonicpy.store.views.bucket_reader import BucketReader
from sonicpy.vectors import read_bits

IS_ASCII, IS_GIVEN = 1, 2
"""Flags that nodes send each other: the text of a query is ASCII; the client named its language."""


class SpreadParts(Answers):
    """Methods of a part. Their arguments and results are plain data."""

    def spread_terms(
        self, collection: str, bucket: str, terms: Sequence[Any], matching: Sequence[Any] | None
    ) -> Sketch:
        """Return this part's sketch of the words of a query.

        Args:
            terms, matching: as `read_query` returned them.
        """
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return NO_SKETCH
            return sketch_query(lexicon, unpack_terms(terms), self._config, unpack_matching(matching))

    def spread_asked(
        self, collection: str, bucket: str, terms: Sequence[Any], matching: Sequence[Any] | None
    ) -> Sketch:
        """Return `spread_terms` of terms with demands, which nodes of older versions cannot read."""
        return self.spread_terms(collection, bucket, terms, matching)

    def spread_how(
        self, collection: str, bucket: str, plan: Sequence[Any], limit: int, total: bool, filter: str | None = None
    ) -> tuple[list[NamedObject], int | None, list[list[int]]]:
        """Return the result of `spread_find`, and the numbers of the words of the plan that each object holds.

        Args:
            limit, total: as in `spread_find`.
            filter: as in `spread_find_filtered`; None: all objects pass.
        """
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return [], 0 if total else None, []
            part = self._found(lexicon, plan, limit, filter, total=total)
            return part.rows(), part.total, part.held([iid for iid, _, _ in part.found], WORDS_SHOWN)

    def spread_fields(self, collection: str, bucket: str) -> list[str]:
        """Return the names of the texts of objects in this part."""
        with self._engine.read_words(collection, bucket) as lexicon:
            names = [] if lexicon is None else unpack_names(lexicon.reader.fact(TEXT_NAMES))
            return [name.decode() for name in names]

    def synonyms_from(self, collection: str, position: int, limit: int) -> list[str]:
        """Return at most `limit` rules of synonyms of a collection, from a position on."""
        with self._engine.read() as view:
            return [rule.text for rule in view.synonym_rules(collection)[position : position + limit]]

    def spread_completions(self, collection: str, bucket: str, word: str) -> str | None:
        """Return the completions that this part holds, packed, in base 64; None: they come with `spread_word` alone."""
        with self._engine.read_words(collection, bucket) as lexicon:
            packed = b"\0" if lexicon is None else pack_completions(lexicon, word.encode())
        return None if packed is None else b64encode(packed).decode()

    def spread_word(self, collection: str, bucket: str, word: str) -> Sketch:
        """Return this part's sketch of the words that complete or correct a word."""
        with self._engine.read_words(collection, bucket) as lexicon:
            return NO_SKETCH if lexicon is None else sketch_suggest(lexicon, word.encode())

    def spread_typed(self, collection: str, bucket: str, typed: Sequence[Any]) -> Sketch:
        """Return this part's sketch of the words of a text for SUGGEST, which `pack_typed` packed."""
        with self._engine.read_words(collection, bucket) as lexicon:
            return NO_SKETCH if lexicon is None else sketch_typed(lexicon, unpack_typed(typed))

    def spread_together(self, collection: str, bucket: str, groups: list[list[str]], words: list[str]) -> list[int]:
        """Return how many objects of this part hold each of some words together with one word of each group."""
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return [0] * len(words)
            before = [[word.encode() for word in group] for group in groups]
            window = self._config.store.kv.retain_word_objects
            return count_in(lexicon, before, [word.encode() for word in words], window)

    def spread_passing(self, collection: str, bucket: str, words: list[str], filter: str) -> list[int]:
        """Return how many of the objects of this part that pass a filter hold each of some words."""
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return [0] * len(words)
            return count_passing(lexicon.reader, [word.encode() for word in words], parse(filter))

    def spread_passing_together(
        self, collection: str, bucket: str, groups: list[list[str]], words: list[str], filter: str
    ) -> list[int]:
        """Return the counts of `spread_together` among the objects that pass a filter."""
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return [0] * len(words)
            before = [[word.encode() for word in group] for group in groups]
            return count_passing(lexicon.reader, [word.encode() for word in words], parse(filter), before)

    def spread_list(self, collection: str, bucket: str, limit: int, prefix: str, after: str | None) -> list[str]:
        """Return words of this part in byte order. Raises as `words`."""
        return self.words(collection, bucket, limit=limit, prefix=prefix, after=after)

    def vector_refusal(self, collection: str, bucket: str, vector: str) -> str | None:
        """Return the reason why a bucket does not take vectors; None: it takes them."""
        with self._engine.read() as view:
            return ColumnCheck(view).refusal_of((collection, bucket), read_bits(vector))

    def claim_state(self, collection: str, bucket: str, owner: str, prefix: str) -> bool | str:
        """Return whether a mirror is noted; the reason as a sentence if it cannot be. See `Index.claim`."""
        with self._engine.read() as view:
            return is_claimed(notes_in(view, collection, bucket), bucket, owner, prefix)

    def spread_meant(
        self,
        collection: str,
        bucket: str,
        plan: Sequence[Any],
        wanted: int,
        total: bool,
        vector: str,
        depth: int,
        filter: str | None = None,
    ) -> tuple[list[NamedObject], list[int | None], int | None, str | None]:
        """Return the best objects of this part as `spread_find` does, the likeness of the first ones to a vector, the
        number of all, and the reason why the vector is refused (None: it is not).
        """
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return [], [], 0 if total else None, None
            part = self._found(lexicon, plan, wanted, filter, total=total)
            sums = sums_in_part(lexicon.reader, vector, [iid for iid, _, _ in part.found[:depth]])
            if isinstance(sums, str):
                return [], [], None, sums
            return part.rows(), list(sums), part.total, None

    def spread_scored(
        self, search: Sequence[Any], plan: Sequence[Any], wanted: int, highest: int | None
    ) -> tuple[Any, ...]:
        """Return the best objects of this part by score, with all options that change scores.

        Args:
            search: the fields of a Search.
            wanted: number of objects.
            highest: the highest value, in all parts, under the name that BOOST gives; None: the highest one of this
                part.

        Returns:
            The objects, the number of all, the numbers of the words of the plan that each holds, the likeness of the
            first ones to a vector, the groups of each, and the reason why the vector is refused (None: it is not).
        """
        asked = Search(*search)
        likenesses: list[int | None] | None = None
        with self._engine.read_words(asked.collection, asked.bucket) as lexicon:
            if lexicon is None:
                return [], 0 if asked.total else None, [], [], [], None
            if asked.boost is None:
                part = self._found(lexicon, plan, wanted, asked.filter, total=asked.total)
            else:
                part = self._boosted(lexicon, plan, wanted, asked.filter, asked.boost, highest, total=asked.total)
            iids = [iid for iid, _, _ in part.found]
            if asked.vector is not None:
                sums = sums_in_part(lexicon.reader, asked.vector, iids[: asked.depth])
                if isinstance(sums, str):
                    return [], None, [], [], [], sums
                likenesses = list(sums)
            held = part.held(iids, WORDS_SHOWN) if asked.how else None
            groups = None if asked.group is None else groups_shown(lexicon.reader, asked.group, iids)
            return part.rows(), part.total, held, likenesses, groups, None

    def spread_find(
        self, collection: str, bucket: str, plan: Sequence[Any], limit: int, total: bool
    ) -> tuple[list[NamedObject], int | None]:
        """Return the best objects of this part, and, if `total`, the number of its objects that answer.

        Args:
            plan: as `to_plain` returns it.
        """
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return [], 0 if total else None
            part = self._found(lexicon, plan, limit, total=total)
            return part.rows(), part.total

    def _found(
        self, lexicon: Lexicon, plan: Sequence[Any], limit: int, filter: str | None = None, *, total: bool
    ) -> Part:
        window = self._config.store.kv.retain_word_objects
        mask = None if filter is None else mask_of(lexicon.reader, parse(filter))
        return find_by_plan(of_plain(plan), lexicon.reader, limit, window, mask=mask, total=total)

    def spread_find_filtered(
        self, collection: str, bucket: str, plan: Sequence[Any], limit: int, total: bool, filter: str
    ) -> tuple[list[NamedObject], int | None]:
        """Return the best objects that pass a filter, and their number, as `spread_find` does."""
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return [], 0 if total else None
            part = self._found(lexicon, plan, limit, filter, total=total)
            return part.rows(), part.total

    def spread_aged(
        self,
        collection: str,
        bucket: str,
        plan: Sequence[Any],
        limit: int,
        total: bool,
        filter: str | None,
        boost: str,
        highest: int | None,
    ) -> tuple[list[NamedObject], int | None]:
        """Return the best objects by score times factor, as `spread_find` does.

        Args:
            highest: the highest value of all parts, to which the boost compares others; None: it compares with none.
        """
        with self._engine.read_words(collection, bucket) as lexicon:
            if lexicon is None:
                return [], 0 if total else None
            found = self._boosted(lexicon, plan, limit, filter, boost, highest, total=total)
            return found.rows(), found.total

    def _boosted(
        self,
        lexicon: Lexicon,
        plan: Sequence[Any],
        limit: int,
        filter: str | None,
        boost: str,
        highest: int | None,
        *,
        total: bool,
    ) -> Part:
        window, condition = self._config.store.kv.retain_word_objects, condition_of(filter)
        mask = None if condition is None else mask_of(lexicon.reader, condition)
        return boosted(
            of_plain(plan), lexicon.reader, window, parse_boost(boost), limit, mask=mask, total=total, highest=highest
        )

    def spread_highest(self, collection: str, bucket: str, boost: str) -> int | None:
        """Return the highest value of this part under the name that BOOST gives; None: there is none."""
        with self._engine.read_words(collection, bucket) as lexicon:
            return None if lexicon is None else highest_of([lexicon.reader], parse_boost(boost))

    def spread_sorted(
        self, search: Sequence[Any], plan: Sequence[Any] | None, behind: Sequence[Any] | None
    ) -> tuple[list[SortedRow], int | None]:
        """Return the best objects of this part in the order of SORT, and, if the search asks for it, the number of all.

        Args:
            search: the fields of a Search.
            plan: as `to_plain` returns it; None: all objects answer.
            behind: (key, age, name) of the object behind which the page begins, as `spread_place` returns it;
                None: the page is the first one.
        """
        asked = Search(*search)
        with self._engine.read_words(asked.collection, asked.bucket) as lexicon:
            if lexicon is None:
                return [], 0 if asked.total else None
            place = None if behind is None else place_by_age(lexicon.reader, *behind)
            return sorted_rows(self._wanted(lexicon.reader, plan), asked, place)

    def spread_place(self, collection: str, bucket: str, name: str, sort: str) -> tuple[int | None, float, str] | None:
        """Return the key, the age and the name of an object in the order of SORT; None: this part has no such
        object.
        """
        with self._engine.read_words(collection, bucket) as lexicon:
            found = None if lexicon is None else place_of(lexicon.reader, name, parse_sort(sort))
            if lexicon is None or found is None:
                return None
            key, iid = found
            return key, iid / lexicon.reader.state.next_iid, name

    def spread_facets(self, asked: Sequence[Any], plan: Sequence[Any] | None) -> dict[str, Any]:
        """Return the counts of facets in this part, as a dict for JSON.

        Args:
            asked: the fields of a FacetSearch.
            plan: as in `spread_sorted`.
        """
        search = FacetSearch(*asked)
        facets = facets_of(search.of, search.ranges)
        with self._engine.read_words(search.collection, search.bucket) as lexicon:
            if lexicon is None:
                return no_facets(facets).to_dict()
            wanted, condition = self._wanted(lexicon.reader, plan), condition_of(search.filter)
            return count_facets(wanted, condition, facets, apart=search.apart, limit=ALL_TAGS).to_dict()

    def spread_grouped(
        self,
        search: Sequence[Any],
        plan: Sequence[Any] | None,
        behind: Sequence[Any] | None,
        highest: int | None,
    ) -> GroupRows:
        """Return the best objects of the groups of this part.

        Args:
            search, plan, behind: as in `spread_sorted`.
            highest: as in `spread_aged`.
        """
        asked = Search(*search)
        with self._engine.read_words(asked.collection, asked.bucket) as lexicon:
            if lexicon is None:
                return NO_ROWS
            return group_rows(lexicon, asked, None if plan is None else of_plain(plan), behind, self._config, highest)

    def _wanted(self, reader: BucketReader, plan: Sequence[Any] | None) -> Wanted:
        return Wanted(reader, None if plan is None else of_plain(plan), self._config.store.kv.retain_word_objects)
