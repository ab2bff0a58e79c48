"""Several buckets of a collection, searched as one bucket with all of their objects.

Their statistics are sums, so a plan made from them is the plan of one bucket. Each bucket carries it out, and skips
objects that are not better than the worst of the best objects in the buckets before it.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from heapq import merge
from itertools import groupby, islice
from typing import TYPE_CHECKING, TypeVar

from sonicpy._native.bucket_cache import words_of_all
from sonicpy._native.bucket_words import BEGINNINGS_MAX, shortest_joined
from sonicpy._native.completions import likely_of_all
from sonicpy._native.mask import Mask
from sonicpy._native.nearest import most_frequent
from sonicpy._native.plan import BRINGS, FORBIDDEN, Plan
from sonicpy._native.term_rows import WORD_BYTES_MAX, TermInfo, shown_bytes
from sonicpy._native.terms import Terms
from sonicpy._native.varint import pack_varints
from sonicpy.bucket_names import name_of
from sonicpy.errors import InvalidArgument
from sonicpy.index.search.families import Family, nearest_words
from sonicpy.index.search.lexicon import Lexicon, Lexicons
from sonicpy.index.search.matching import NO_LANGUAGES, Matching
from sonicpy.index.search.parts import Found, MadeOf, Part, find_by_plan
from sonicpy.index.search.statistics import Statistics, most_held, most_likely
from sonicpy.index.search.synonym_matches import Matches
from sonicpy.rules import counts_letters
from sonicpy.store.disk.table_numbers import SCOPES
from sonicpy.store.rows.keys import scope_key, scope_of
from sonicpy.store.rows.language_counts import LANGUAGES, add_counted, languages_in
from sonicpy.store.rows.named_words import is_named

if TYPE_CHECKING:
    from sonicpy.store.views.open_cache import ReadableView

Value = TypeVar("Value")

CACHED_MAX = 2_000
"""The most words whose rows, and the most whose families, are cached for one group of buckets."""

ObjectPlace = tuple[int, int]
"""An object: the place of its bucket among several, and its IID there."""
PlacedObject = tuple[ObjectPlace, int, float]
"""An object, its kind and its score, as in `Found`."""


def open_several(
    lexicons: Lexicons, view: "ReadableView", collection: str, first: str, elements: Sequence[str], most: int
) -> "UnitedLexicon | None":
    """Return the words of several buckets, or None if none of them exists.

    Args:
        first: a bucket that comes before the others.
        elements: see `sonicpy.bucket_names`.
        most: the most buckets.

    Raises:
        InvalidArgument: there are more buckets, or different rules cut their texts into words.
    """
    key = (collection, first, *elements)
    united = view.cache.get(key)
    if isinstance(united, UnitedLexicon):
        return united
    names = _named(view, collection, first, elements, most)
    found = [(name, lexicon) for name in names if (lexicon := lexicons.of(view, collection, name)) is not None]
    if len(found) > most:
        raise InvalidArgument(
            f"buckets name more than {most} buckets; allowed are at most {most} (search.buckets_maximum)",
            detail="InvalidBucket",
        )
    if not found:
        return None
    rules = {lexicon.reader.rules: name for name, lexicon in found}
    if len(rules) > 1:
        one, other, *_ = rules.values()
        raise InvalidArgument(
            f"the buckets {one} and {other} cut texts by different rules; allowed are buckets of the same rules: "
            "search one by one, or push the older one again after FLUSHB",
            detail="InvalidBucket",
        )
    united = UnitedLexicon([name for name, _ in found], [lexicon for _, lexicon in found], lexicons)
    view.cache.put(key, united)
    return united


def _named(view: "ReadableView", collection: str, first: str, elements: Sequence[str], most: int) -> Iterable[str]:
    """Return the names of the buckets in the order given, each once; if there are many more than `most`, only some.

    Args:
        first: the name of the first bucket.
        elements: further names, and beginnings of names.
    """
    found = dict.fromkeys((first,))
    begun: set[str] = set()
    for element in dict.fromkeys(elements):
        name, is_beginning = name_of(element)
        if is_beginning:
            if any(name[:size] in begun for size in range(len(name))):
                continue
            begun.add(name[:-1])
            prefix = scope_key(collection, name[:-1])
            rows = view.transaction.some_rows(SCOPES, prefix, most + 1, prefix)
            found.update(dict.fromkeys(scope_of(key).bucket for key, _ in rows if key.startswith(prefix)))
        else:
            found[name] = None
        if len(found) > 2 * most + len(elements):
            break
    return found


class UnitedLexicon(Statistics):
    """The words of several buckets inside one transaction, and the statistics of all of their objects.

    Args:
        names: the names of the buckets.
        parts: the words of each bucket.
    """

    def __init__(self, names: list[str], parts: list[Lexicon], lexicons: Lexicons) -> None:
        self.names = names
        self.parts = parts
        self.reader = parts[0].reader
        """The reader of one of the buckets, which all have the same rules."""
        self.live = parts[0].live
        self._lexicons = lexicons
        # The rows of words, and by the same words, the places of the buckets. Other threads may go on with those that
        # one of them replaces.
        self._known: tuple[dict[bytes, TermInfo | None], dict[bytes, list[int]]] = {}, {}
        self._readers = [part.reader for part in parts]
        self._families: dict[tuple[bytes, Matching], Family] = {}

    @cached_property
    def moment(self) -> tuple[object, ...]:
        """The state of all buckets: answers are valid until it changes."""
        states = ((part.reader.serial, part.reader.state.lexicon_version) for part in self.parts)
        return (self.parts[0].known_synonyms, *states)  # those of the collection

    @cached_property
    def objects(self) -> int:
        """The number of objects."""
        return sum(part.objects for part in self.parts)

    @cached_property
    def average_length(self) -> float:
        """The mean length of the objects."""
        objects = self.objects
        return sum(part.reader.state.total_length for part in self.parts) / objects if objects else 0.0

    def rows(self, words: list[bytes]) -> list[TermInfo | None]:
        """Return the row of each of some words, with the frequency in all buckets; None: no object holds it."""
        known, _ = self._looked_up(words)
        return [known[word] for word in words]

    def named_rows(self, words: list[bytes]) -> list[TermInfo | None]:
        """Return the rows of words some of which are terms of named texts, as `rows` does."""
        columns = [reader.with_texts.words(words) for reader in self._readers]
        return [self._summed(word, rows) for word, rows in zip(words, zip(*columns, strict=True), strict=True)]

    def holders(self, words: list[bytes]) -> list[int]:
        """Return the places of the buckets that hold one of some words."""
        _, holders = self._looked_up(words)
        return sorted(set().union(*(holders[word] for word in words)))

    def family(self, word: bytes, matching: Matching) -> Family:
        """Return the other words of a word's family: at most FAMILY_MAX sure and FAMILY_MAX doubtful ones."""
        key = (word, matching)
        found = self._families.get(key)
        if found is None:
            if len(self._families) >= CACHED_MAX:
                self._families.clear()
            found = self._families[key] = self._find_family(word, matching)
        return found

    def _find_family(self, word: bytes, matching: Matching) -> Family:
        families = [part.family(word, matching) for part in self.parts]
        words = set().union(*(family.words for family in families))
        doubtful = set().union(*(family.doubtful for family in families)) - words
        return Family(nearest_words(word, sorted(words)), nearest_words(word, sorted(doubtful)))

    def joined(self, word: bytes, matching: Matching | None) -> list[bytes]:
        """Return the compounds of which a part is `word` or one of its family; some may be in no object."""
        return shortest_joined(set().union(*(part.joined(word, matching) for part in self.parts)))

    def completions(self, prefix: bytes, after: bytes = b"") -> Iterator[bytes]:
        """Yield the words that begin with `prefix` and follow `after`, in byte order."""
        merged = merge(*(part.completions(prefix, after) for part in self.parts))
        return (word for word, _ in groupby(merged))

    def completed(self, prefix: bytes, most: int) -> list[tuple[bytes, TermInfo]]:
        """Return the first `most` completions held by objects, with their rows, in byte order."""
        words = merge(*(map(_word, part.completed(prefix, most)) for part in self.parts))
        return self.held(list(islice((word for word, _ in groupby(words)), most)))

    def likely(self, word: bytes, limit: int, examined: int) -> list[bytes]:
        """Return at most `limit` of the first `examined` completions: `word` itself, then the others by frequency."""
        if not self.live:
            return most_likely(word, self.completed(word, examined), limit)
        if len(word) > WORD_BYTES_MAX:
            return []
        packed = [part.reader.packed_completions(word, examined) for part in self.parts]
        return likely_of_all(packed, word, limit, examined)

    def corrections(
        self, word: bytes, distance: int, *, transpositions: bool, of_long: bool = False
    ) -> list[tuple[bytes, int]]:
        """Return the words within `distance` edits and their distances: nearest first, then in byte order. Arguments as
        in `Statistics.corrections`."""
        found: dict[bytes, int] = {}
        for part in self.parts:
            found.update(part.corrections(word, distance, transpositions=transpositions, of_long=of_long))
        return sorted(found.items(), key=lambda match: (match[1], match[0]))

    def beginnings(self, word: bytes, distance: int) -> list[tuple[bytes, TermInfo, int]]:
        """Return the words that begin as a word does; see `Statistics`."""
        found: dict[bytes, int] = {}
        for part in self.parts:
            for each, _, its in part.beginnings(word, distance):
                found[each] = min(its, found.get(each, its))
        return most_frequent([(each, row, found[each]) for each, row in self.held(sorted(found))], BEGINNINGS_MAX)

    def variants(self, word: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words that begin as a word does in another spelling; see `Statistics`."""
        return self._of_all(part.variants(word) for part in self.parts)

    def inner(self, word: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words with a part that begins as a word does; see `Statistics`."""
        return self._of_all(part.inner(word) for part in self.parts)

    def leading(self, letters: bytes) -> list[tuple[bytes, TermInfo, int]]:
        """Return the words with which some letters begin; see `Statistics`."""
        sizes = {word: size for part in self.parts for word, _, size in part.leading(letters)}
        return [(word, row, sizes[word]) for word, row in self.held(sorted(sizes))]

    def synonyms(self, terms: Terms) -> Matches:
        """Return the substitutes of terms of a query, by the synonyms of the collection."""
        return self.parts[0].synonyms(terms)

    def holding(self, letters: bytes) -> list[tuple[bytes, TermInfo]]:
        """Return the words that contain some letters; see `Statistics`."""
        return most_held(self._of_all(part.holding(letters) for part in self.parts))

    def holds_together(self, groups: list[list[bytes]]) -> bool:
        """Return whether one object holds a word of each group."""
        return any(part.holds_together(groups) for part in self.parts)

    def resolved(self, matching: Matching) -> Matching:
        """Return the Matching of a query with the languages of these buckets."""
        return matching if matching.languages else matching._replace(languages=self._languages or NO_LANGUAGES)

    def words(self, offset: int, limit: int, prefix: bytes = b"", after: bytes = b"") -> list[bytes]:
        """Return the words that begin with `prefix` and follow `after`, in byte order, from place `offset` on."""
        return list(islice(self.completions(prefix, after), offset, offset + limit))

    def __len__(self) -> int:
        return sum(1 for _ in self.completions(b""))

    def _looked_up(self, words: list[bytes]) -> tuple[dict[bytes, TermInfo | None], dict[bytes, list[int]]]:
        """Return rows and holders by word, those of some words among them."""
        known, holders = self._known
        missing = [word for word in words if word not in known]
        if len(known) + len(missing) > CACHED_MAX:
            known, holders = self._known = {}, {}
            missing = words
        if missing:
            columns = words_of_all(self._readers, missing, letters=counts_letters(self.reader.rules))
            for word, rows in zip(missing, zip(*columns, strict=True), strict=True):
                holders[word] = [place for place, row in enumerate(rows) if row is not None]
                known[word] = self._summed(word, rows)  # the last step: who finds it finds the holders, too
        return known, holders

    def _summed(self, word: bytes, rows: Sequence[TermInfo | None]) -> TermInfo | None:
        """Return the row of a word for all buckets, whose frequencies are sums; None: no object holds the word."""
        held = [row for row in rows if row is not None]
        if len(held) < 2:
            return held[0] if held else None
        df, hidden = sum(row.df for row in held), sum(row.hidden_df for row in held)
        shown = shown_bytes(word, letters=counts_letters(self.reader.rules))
        return TermInfo(pack_varints((0, df, hidden, 0)), shown)

    def _of_all(self, found: Iterable[list[tuple[bytes, TermInfo]]]) -> list[tuple[bytes, TermInfo]]:
        return self.held(sorted({word for each in found for word, _ in each}))

    @cached_property
    def _languages(self) -> tuple[str, ...]:
        """The languages of all texts, as they were counted; if too few were, judged by the words."""
        counted = add_counted(fact for part in self.parts if (fact := part.reader.fact(LANGUAGES)))
        return languages_in(counted) or self._lexicons.languages.of_several([part.reader for part in self.parts])


def _word(found: tuple[bytes, TermInfo]) -> bytes:
    return found[0]


def parts_of(lexicon: Lexicon | UnitedLexicon) -> list[Lexicon]:
    """Return the words of each bucket."""
    return lexicon.parts if isinstance(lexicon, UnitedLexicon) else [lexicon]


class SeveralParts:
    """The findings of several buckets.

    Args:
        names: the names of the buckets.
        parts: place of a bucket -> its findings; some buckets have none.
        wanted: the number of the best objects to return.
        total: count all objects that answer, too.
        others: how many objects answer in other buckets.
    """

    def __init__(self, names: list[str], parts: dict[int, Part], wanted: int, *, total: bool, others: int = 0) -> None:
        self._names = names
        self._parts = parts
        found = [((place, iid), kind, score) for place, part in parts.items() for iid, kind, score in part.found]
        found.sort(key=_rank)
        self.found: list[PlacedObject] = found[:wanted]
        self.total = others + sum(part.total or 0 for part in parts.values()) if total else None

    def take_parts(self, others: "SeveralParts") -> None:
        """Take the findings in other buckets, by the same plan, before those found here."""
        self._parts = {**others._parts, **self._parts}

    def page(self, offset: int, limit: int) -> tuple[list[str], list[PlacedObject]]:
        """Return the names of the objects from place `offset` on, at most `limit`, and the objects."""
        found = self.found[offset : offset + limit]
        return self.names(found), found

    def names(self, found: Sequence[PlacedObject]) -> list[str]:
        """Return the names of some objects."""
        places = [place for place, _, _ in found]
        return in_buckets(places, lambda number, iids: self._parts[number].names_of(iids))

    def buckets(self, found: Sequence[PlacedObject]) -> list[str]:
        """Return the bucket of each of some objects."""
        return [self._names[number] for (number, _), _, _ in found]

    def parts(self, places: Sequence[ObjectPlace], listed_max: int) -> list[MadeOf]:
        """Return the parts of the scores of found objects; see `Part.parts`."""
        return in_buckets(places, lambda number, iids: self._parts[number].parts(iids, listed_max))

    def held(self, places: Sequence[ObjectPlace], listed_max: int) -> list[list[int]]:
        """Return the numbers of the words of the plan that found objects hold; see `Part.held`."""
        return in_buckets(places, lambda number, iids: self._parts[number].held(iids, listed_max))

    def is_full(self, wanted: int) -> bool:
        """Return whether `wanted` objects that hold every word were found."""
        return len(self.found) >= wanted and all(kind == 0 for _, kind, _ in self.found)


COUNTED_PARTS = (Part, SeveralParts)
"""The types of findings whose objects have kinds."""


def in_buckets(places: Sequence[ObjectPlace], of_bucket: Callable[[int, list[int]], Sequence[Value]]) -> list[Value]:
    """Return the values of objects of several buckets, in the order of `places`.

    Args:
        of_bucket: returns the values of objects of one bucket, given by the place of the bucket and their IIDs.
    """
    by_bucket: dict[int, list[int]] = {}
    for number, iid in places:
        by_bucket.setdefault(number, []).append(iid)
    found: dict[ObjectPlace, Value] = {}
    for number, iids in by_bucket.items():
        found.update(zip(((number, iid) for iid in iids), of_bucket(number, iids), strict=True))
    return [found[place] for place in places]


def _rank(found: PlacedObject) -> tuple[int, float, int, int]:
    (place, iid), kind, score = found
    return kind, -score, place, -iid


def find_in_several(
    united: UnitedLexicon,
    plan: Plan,
    wanted: int,
    window: int,
    *,
    total: bool = False,
    masks: Sequence[Mask] | None = None,
) -> SeveralParts:
    """Return the best `wanted` objects of several buckets, with the number of all if `total`.

    Args:
        window: only this many objects of each word are read, the newest ones; 0: all.
        masks: the objects of each bucket that pass a filter; None: all.
    """
    parts: dict[int, Part] = {}
    best: list[Found] = []
    others = 0
    words = plan.words()
    has_named = any(map(is_named, words))
    finds_strangers = any(clause.role & FORBIDDEN and clause.role & BRINGS for clause in plan.clauses)
    holders: Iterable[int] = range(len(united.parts))
    if plan.phrases:
        from sonicpy.index.search.phrases import check_orders  # noqa: PLC0415  loaded when it is needed

        check_orders(plan, (part.reader for part in united.parts))  # also of buckets without the words, as SORT does
    if not (has_named or finds_strangers):
        holders = united.holders(words)
    for place in holders:
        lexicon = united.parts[place]
        if has_named and not finds_strangers and not any(lexicon.reader.with_texts.words(words)):
            continue
        floor = (best[wanted - 1][1], best[wanted - 1][2]) if 0 < wanted <= len(best) else None
        mask = None if masks is None else masks[place]
        part = find_by_plan(plan, lexicon.reader, wanted, window, mask=mask, total=total, floor=floor)
        if part.found:
            parts[place] = part
            best = list(islice(merge(best, part.found, key=_kind_and_score), wanted))
        else:  # a thousand of them would be much memory
            others += part.total or 0
    return SeveralParts(united.names, parts, wanted, total=total, others=others)


def _kind_and_score(found: Found) -> tuple[int, float]:
    return found[1], -found[2]
