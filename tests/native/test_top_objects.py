"""Tests of sonicpy._native.find: both strategies and a scan of every posting give equal results, bit for bit."""

import math
import random
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sonicpy._native import find
from sonicpy._native.impact_rows import ImpactRow
from sonicpy._native.keys import block_key
from sonicpy._native.length_masks import LengthMasks
from sonicpy._native.lengths import pack_length
from sonicpy._native.plan import ADDS, BRINGS, FORBIDDEN, REQUIRED
from sonicpy._native.postings import pack_block
from sonicpy._native.query_state import QueryState
from sonicpy._native.stored_postings import StoredPostings
from tests.reference.top_objects import Slot, Term, best_objects
from tests.support.examples import examples, thinned

K1, B = 1.2, 0.75

ROLES = (BRINGS,) * 8 + (BRINGS | REQUIRED, REQUIRED, FORBIDDEN, ADDS)
MANY_ROLES = (BRINGS,) * 27 + (ADDS, ADDS, BRINGS | REQUIRED, REQUIRED, FORBIDDEN)

WALKS = (True, False, None)
"""The strategies: True: the query is walked; False: all terms are added up; None: the query decides, and may change
from a walk to adding up.
"""


class Lists:
    """Postings lists as rows of tables, in blocks of `block` postings."""

    def __init__(self, lengths: bytes, block: int) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.reads = 0
        self._lengths = lengths
        self._block = block
        self._term_id = 0

    def store(self, postings: dict[int, int], tail: int) -> StoredPostings:
        """Store a list, with its newest postings, at most `tail`, in the tail; return it as a query reads it."""
        self._term_id += 1
        items = sorted(postings.items())
        full = max(0, len(items) - tail)
        packed, row, lower = [], ImpactRow(), 0
        for start in range(0, full, self._block):
            some = items[start : min(start + self._block, full)]
            self.rows[block_key(1, self._term_id, lower)] = pack_block(some)
            row.put(lower, [(tf, self._lengths[iid]) for iid, tf in some])
            lower = some[-1][0] + 1
            if row.is_full:
                packed.append(row.pack())
                row = ImpactRow()
        if len(row):
            packed.append(row.pack())
        last = pack_block(items[full:]) if items[full:] else b""
        return StoredPostings(1, self._term_id, len(items), packed, last, lower, self._lengths)

    def get(self, keys: list[bytes]) -> list[tuple[bytes, bytes]]:
        self.reads += len(keys)
        return [(key, self.rows[key]) for key in keys]


class KeptLists(Lists):
    """Lists as in `Lists`, each stored once, so that later queries use the caches of earlier ones."""

    def __init__(self, lengths: bytes, block: int) -> None:
        super().__init__(lengths, block)
        self._kept: dict[int, StoredPostings] = {}
        self._numbers: dict[int, int] = {}  # of the lists, less 1

    def store(self, postings: dict[int, int], tail: int) -> StoredPostings:
        kept = self._kept.get(id(postings))
        if kept is None:
            last, self._term_id = self._term_id, self._numbers.setdefault(id(postings), self._term_id)
            kept = self._kept[id(postings)] = super().store(postings, tail)
            self._term_id = max(last, self._term_id)
        return kept

    def forget(self, postings: dict[int, int]) -> None:
        """Drop the cached parts of a list, which is then stored under the same number again."""
        del self._kept[id(postings)]

    @property
    def size_bytes(self) -> int:
        return sum(kept.size_bytes for kept in self._kept.values())


def search(
    terms: list[Term],
    lists: Lists,
    lengths: bytes | LengthMasks,
    average: float,
    exponent: float,
    tails: Callable[[], int],
    *,
    full_first: bool,
) -> QueryState:
    found = QueryState(lengths, average, K1, B, exponent, full_first=full_first)
    for term in terms:
        find.add_term(found, term.weight, term.role)
        for slot in term.slots:
            stored = [lists.store(words, tails()) for words in slot.lists]
            find.add_words(found, stored, slot.weight, slot.exact_weight, kind=slot.kind)
    return found


def answer(
    found: QueryState,
    lists: Lists,
    limit: int,
    offset: int = 0,
    *,
    walks: bool | None = None,
    floor: tuple[int, float] | None = None,
) -> list[tuple[int, int, float]]:
    find.begin(found, offset + limit, walks=walks, floor=floor)
    asked: set[bytes] = set()
    while keys := find.run(found):
        assert not asked & set(keys), "no block is asked for twice"
        asked |= set(keys)
        find.give(found, lists.get(keys))
    return find.best(found, offset)


def made_query(chance: random.Random, objects: int) -> tuple[list[Term], bytes, float]:
    """Return terms over made-up lists, skewed or flat, with weights that may be equal; the lengths of the
    objects; and a mean length.
    """
    longest = chance.choice((2, 6, 40, 400))
    held = [0] * objects
    distinct = chance.choice((1.0, 1.5, 2.0))
    terms = []
    for _ in range(chance.randint(1, 4)):
        weight = chance.choice((0.0, 1.0, distinct, chance.uniform(0.1, 8)))
        slots = []
        for place in range(chance.choice((0, 1, 1, 1, 2, 3))):
            kind = 1 if place == 0 and chance.random() < 0.85 else chance.choice((2, 3))
            count = chance.choice((1, 1, 2, 3)) if place == 0 else chance.choice((1, 1, 1, 2, 5, 9))
            share = chance.choice((0.001, 0.02, 0.2, 0.9))
            lists = []
            for _ in range(count):
                some = [iid for iid in range(objects) if chance.random() < share]
                lists.append({iid: 1 if chance.random() < 0.8 else chance.randint(1, 255) for iid in some})
            lowered = weight if kind == 1 else weight * chance.choice((0.9, 0.5))
            exact = lowered * 0.2 if count > 1 and place == 0 and chance.random() < 0.5 else 0.0
            slots.append(Slot(lists, lowered - exact, exact, kind))
            for words in lists:
                for iid, tf in words.items():
                    held[iid] += tf
        terms.append(Term(weight, chance.choice(ROLES), slots))
    # An object is at least as long as what it holds; others of its words are in no list.
    lengths = bytes(pack_length(max(count, 1) + chance.randrange(longest)) for count in held)
    return terms, lengths, chance.uniform(1, 30)


@given(st.integers(0, 2**32), st.sampled_from((30, 300, 3000)))
@settings(max_examples=examples(80), deadline=None)
def test_the_walk_finds_what_looking_at_everything_finds(seed: int, objects: int) -> None:
    chance = random.Random(seed)
    terms, lengths, average = made_query(chance, objects)
    exponent = chance.choice((0.0, 0.3, 1.0, 2.5))
    full_first = chance.random() < 0.5
    expected = best_objects(terms, lengths, average, K1, B, exponent, full_first)
    block = chance.choice((1, 3, 16, 128))
    for limit, offset in ((10, 0), (1, 0), (3, 4), (chance.randint(0, 50), chance.randint(0, 50)), (2**60, 0)):
        for walks in WALKS:
            lists, tails = Lists(lengths, block), partial(chance.randint, 0, 128)
            found = search(terms, lists, lengths, average, exponent, tails, full_first=full_first)
            assert answer(found, lists, limit, offset, walks=walks) == expected[offset : offset + limit]
    find.give(found, lists.get(find.blocks_to_count(found)))
    assert find.count(found) == len(expected)
    for (iid, _, score), (listed, others, others_sum) in zip(
        expected[:20], find.parts(found, [iid for iid, _, _ in expected[:20]], 2), strict=True
    ):
        assert len(listed) <= 2 and (others or not others_sum), iid
        assert math.isclose(sum(part for _, _, part in listed) + others_sum, score, abs_tol=1e-12)


@pytest.mark.parametrize("seed", thinned(range(60), 1))
def test_objects_above_a_floor_are_found(seed: int) -> None:
    chance = random.Random(seed)
    terms, lengths, average = made_query(chance, chance.choice((30, 300, 3000)))
    for full_first in (False, True):
        expected = best_objects(terms, lengths, average, K1, B, 1.0, full_first)
        for floor in [(kind, score) for _, kind, score in chance.sample(expected, min(3, len(expected)))]:
            above = [each for each in expected if (each[1], -each[2]) < (floor[0], -floor[1])]
            for limit in (1, 10, 100):
                for walks in WALKS:
                    lists = Lists(lengths, 128)
                    found = search(terms, lists, lengths, average, 1.0, lambda: 100, full_first=full_first)
                    assert answer(found, lists, limit, walks=walks, floor=floor)[: len(above)] == above[:limit]


@given(st.integers(0, 2**32), st.sampled_from((300, 9000)))
@settings(max_examples=examples(15), deadline=None)
def test_queries_one_after_the_other_share_windows(seed: int, objects: int) -> None:
    chance = random.Random(seed)
    terms, lengths, average = made_query(chance, objects)
    lists, masks = KeptLists(lengths, 128), LengthMasks(lengths)
    for _ in range(4):
        some = chance.sample(terms, chance.randint(1, len(terms)))
        exponent, full_first, walks = chance.choice((0.3, 1.0, 2.5)), chance.random() < 0.5, chance.choice(WALKS)
        expected = best_objects(some, lengths, average, K1, B, exponent, full_first)
        for is_stored in (False, True):
            reads, size_bytes = lists.reads, lists.size_bytes
            found = search(some, lists, masks, average, exponent, lambda: 100, full_first=full_first)
            assert answer(found, lists, 10, walks=walks) == expected[:10]
            if is_stored and lists.reads == reads:
                assert lists.size_bytes - size_bytes == found.made_bytes


@pytest.mark.full
@given(st.integers(0, 2**32))
@settings(max_examples=examples(12), deadline=None)
def test_rare_words_of_large_buckets(seed: int) -> None:
    """Postings of rare words are merged and walked one by one: alone, beside common words, and in lists with large
    gaps.
    """
    chance = random.Random(seed)
    objects = 400_000
    near = range(chance.randrange(objects - 3_000), objects, chance.choice((1, 7, 40)))
    common = {iid: 1 if chance.random() < 0.9 else 2 for iid in range(0, objects, chance.choice((9, 20)))}
    lengths = bytes(chance.choices(range(2, 30), k=1_000)) * (objects // 1_000)

    def rare(count: int) -> dict[int, int]:
        some = {*chance.sample(near, min(count, len(near))), *chance.sample(sorted(common), count // 2)}
        return {iid: 1 if chance.random() < 0.8 else chance.choice((2, 3, 9, 200, 255)) for iid in sorted(some)}

    terms = []
    for _ in range(chance.randint(1, 3)):
        weight, words = chance.uniform(0.5, 8), chance.choice((1, 1, 3))
        slots = [Slot([rare(chance.choice((3, 300, 2_000))) for _ in range(words)], weight, 0.2 * (words > 1))]
        if chance.random() < 0.3:
            slots.append(Slot([rare(200)], weight / 2, 0.0, 3))
        terms.append(Term(weight + slots[0].exact_weight, BRINGS if chance.random() < 0.9 else ADDS, slots))
    if chance.random() < 0.5:
        terms.append(Term(0.7, BRINGS if chance.random() < 0.5 else ADDS, [Slot([common], 0.7)]))
    lists, masks = KeptLists(lengths, 128), LengthMasks(lengths)
    exponent, full_first = chance.choice((0.3, 2.5)), chance.random() < 0.7
    expected = best_objects(terms, lengths, 12.0, K1, B, exponent, full_first)
    for is_kept, walks in ((False, chance.choice(WALKS)), *((True, walks) for walks in WALKS)):
        size_bytes = lists.size_bytes
        found = search(terms, lists, masks, 12.0, exponent, lambda: 100, full_first=full_first)
        assert answer(found, lists, 10, walks=walks) == expected[:10]
        assert not is_kept or lists.size_bytes - size_bytes >= found.made_bytes
    found = search(terms, lists, masks, 12.0, exponent, lambda: 100, full_first=full_first)
    assert answer(found, lists, 25, 5) == expected[5:30]


@pytest.mark.full
@given(st.integers(0, 2**32))
@settings(max_examples=examples(8), deadline=None)
def test_a_word_of_some_hundred_objects_beside_common_words(seed: int) -> None:
    """The word is walked posting by posting, past objects that lack a common word and are too long."""
    chance = random.Random(seed)
    objects = 70_000
    lengths = bytes(chance.choices(range(1, 60), k=objects))
    terms = [Term(weight := chance.uniform(0.5, 3), BRINGS, [Slot([held_by(chance, objects, 1_500)], weight)])]
    for _ in range(chance.randint(1, 2)):
        weight, words = chance.uniform(0.3, 3), [held_by(chance, objects, chance.choice((5_000, 30_000)))]
        if chance.random() < 0.4:
            words.append(held_by(chance, objects, 4_000))
        exact = 0.2 * weight * (len(words) > 1)
        terms.append(Term(weight, BRINGS if chance.random() < 0.9 else ADDS, [Slot(words, weight - exact, exact)]))
    check_pages_of_all_sizes(terms, lengths, chance.choice((0.1, 0.3, 1.0)))


@given(st.integers(0, 2**32))
@settings(max_examples=examples(15), deadline=None)
def test_words_of_some_thousand_objects_beside_each_other(seed: int) -> None:
    """No word is common: one word is walked posting by posting, past objects that lack the other words."""
    chance = random.Random(seed)
    objects = chance.choice((65_536, 150_000, 199_999))
    lengths = bytes(chance.choices(range(1, 60), k=objects))
    terms = []
    for count in sorted(chance.sample((900, 1_500, 1_900, 2_000), chance.randint(2, 3))):
        weight, words = chance.uniform(0.5, 3), [held_by(chance, objects, count)]
        if chance.random() < 0.4:
            words.append(held_by(chance, objects, 300))
        exact = 0.2 * weight * (len(words) > 1)
        terms.append(Term(weight, BRINGS if chance.random() < 0.9 else ADDS, [Slot(words, weight - exact, exact)]))
    check_pages_of_all_sizes(terms, lengths, chance.choice((0.1, 0.3, 1.0)))


@pytest.mark.full
@given(st.integers(0, 2**32))
@settings(max_examples=examples(4), deadline=None)
def test_questions_of_many_words_are_not_walked(seed: int) -> None:
    """The scores of all terms are added up, window by window, even those of slots with several words and of
    families.
    """
    chance = random.Random(seed)
    objects = chance.choice((8_192, 17_001))
    lengths = bytes(chance.choices(range(1, 60), k=objects))
    terms = []
    for _ in range(chance.randint(16, 20)):
        weight, words = chance.uniform(0.1, 3), [held_by(chance, objects, chance.choice((1, 40, 3_000)))]
        if chance.random() < 0.3:
            words.append(held_by(chance, objects, 300))
        exact = 0.2 * weight * (len(words) > 1)
        slots = [Slot(words, weight - exact, exact)]
        if chance.random() < 0.3:
            slots.append(Slot([held_by(chance, objects, 2_000)], weight / 2, 0.0, 2))
        terms.append(Term(weight, chance.choice(MANY_ROLES), slots))
    check_pages_of_all_sizes(terms, lengths, chance.choice((0.1, 1.0, 2.5)))


@pytest.mark.parametrize("words", [1, 9])
@pytest.mark.parametrize("role", [REQUIRED, BRINGS | REQUIRED])
def test_a_rare_clause_that_is_required_drives_the_walk(words: int, role: int) -> None:
    """However common the other words are, their lists are only read where the rare clause has objects."""
    chance = random.Random(2)
    objects = 60_000
    lengths = bytes(chance.choices(range(1, 60), k=objects))
    terms = [Term(1.0, BRINGS, [Slot([held_by(chance, objects, 7_000)], 1.0)]) for _ in range(words)]
    terms.append(Term(0.0, role, [Slot([held_by(chance, objects, 9)], 0.0)]))
    expected = best_objects(terms, lengths, 12.0, K1, B, 1.0, True)
    lists, masks = Lists(lengths, 128), LengthMasks(lengths)
    found = search(terms, lists, masks, 12.0, 1.0, lambda: 0, full_first=True)
    assert answer(found, lists, 10) == expected[:10] != []
    assert lists.reads <= 10 * (words + 1), "at most one block of each list for each holder"


@pytest.mark.full
def test_a_clause_that_is_forbidden_leaves_the_rest() -> None:
    """Forbidden clauses of common or rare words, beside common words, whose windows are bits, and beside rare words,
    which are walked one by one.
    """
    chance = random.Random(4)
    objects = 66_000
    lengths = bytes(chance.choices(range(1, 60), k=objects))
    for count, refused in ((9_000, 30), (9_000, 30_000), (700, 30_000)):
        words = [held_by(chance, objects, count) for _ in range(2)]
        terms = [Term(1.0 + at, BRINGS, [Slot([some], 1.0 + at)]) for at, some in enumerate(words)]
        terms.insert(1, Term(7.0, FORBIDDEN, [Slot([held_by(chance, objects, refused)], 0.0)]))
        check_pages_of_all_sizes(terms, lengths, 0.3)


def test_a_walk_that_skips_too_little_is_given_up() -> None:
    chance = random.Random(3)
    objects = 30_000
    lengths = bytes(chance.choices(range(1, 60), k=objects))
    terms = [Term(1.0, BRINGS, [Slot([held_by(chance, objects, 9_000)], 1.0)]) for _ in range(6)]
    expected = best_objects(terms, lengths, 12.0, K1, B, 0.3, False)
    lists, masks = Lists(lengths, 128), LengthMasks(lengths)
    found = search(terms, lists, masks, 12.0, 0.3, lambda: 0, full_first=False)
    find.begin(found, 10)
    first = find.run(found)
    assert 0 < len(first) < len(lists.rows) // 2, "it begins with a walk"
    find.give(found, lists.get(first))
    while keys := find.run(found):
        find.give(found, lists.get(keys))
    assert lists.reads >= len(lists.rows), "and then reads everything"
    assert find.best(found, 0) == expected[:10]


def test_a_family_whose_windows_were_made_before_its_typed_word_was_read_anew() -> None:
    """The cached list of a family outlives the list of one of its words, which was dropped and is read again."""
    chance = random.Random(1)
    objects = 30_000
    lengths = bytes(chance.choices(range(2, 60), k=objects))
    family = [held_by(chance, objects, count) for count in (6_000, 9_000)]
    rare = {iid: 1 for iid in chance.sample(sorted(family[0].keys() | family[1].keys()), 60)}
    forms = Term(1.0, BRINGS, [Slot(family[::-1], 0.8, 0.2)])
    lists, masks = KeptLists(lengths, 128), LengthMasks(lengths)
    lists.store(family[0], 100)  # the first word keeps what is made of the family, and another one is typed
    for terms in ([forms], [Term(1.0, BRINGS, [Slot([rare], 1.0)]), forms]):
        expected = best_objects(terms, lengths, 12.0, K1, B, 1.0, False)[:40]
        found = search(terms, lists, masks, 12.0, 1.0, lambda: 100, full_first=False)
        assert answer(found, lists, 40) == expected
        lists.forget(family[1])


def check_pages_of_all_sizes(terms: list[Term], lengths: bytes, exponent: float) -> None:
    lists, masks = KeptLists(lengths, 128), LengthMasks(lengths)
    for full_first in (False, True):
        expected = best_objects(terms, lengths, 12.0, K1, B, exponent, full_first)
        for limit in (1, 10, 100):
            for walks in WALKS:
                found = search(terms, lists, masks, 12.0, exponent, lambda: 100, full_first=full_first)
                assert answer(found, lists, limit, walks=walks) == expected[:limit], walks


def held_by(chance: random.Random, objects: int, count: int) -> dict[int, int]:
    some = sorted(chance.sample(range(objects), count))
    return {iid: 1 if chance.random() < 0.9 else chance.choice((2, 3, 9)) for iid in some}


def test_a_family_of_rare_words_is_put_together_once() -> None:
    chance = random.Random(1)
    objects = 400_000
    words = [{iid: 1 for iid in sorted(chance.sample(range(objects), count))} for count in (3_000, 2_000, 40)]
    terms = [Term(2.0, BRINGS, [Slot(words, 1.6, 0.4)])]
    lengths = bytes(chance.choices(range(2, 30), k=objects))
    lists, masks = KeptLists(lengths, 128), LengthMasks(lengths)
    expected = best_objects(terms, lengths, 12.0, K1, B, 2.5, True)[:10]
    made = []
    for _ in range(3):
        found = search(terms, lists, masks, 12.0, 2.5, lambda: 100, full_first=True)
        assert answer(found, lists, 10) == expected
        made.append(found.made_bytes)
    assert made[0] + made[1] > 0 and made[2] == 0


@pytest.mark.full
@pytest.mark.parametrize("seed", thinned(range(1, 8), 2))
def test_blocks_of_common_words_go_when_their_windows_are_made_in_a_bucket_of_a_million(seed: int) -> None:
    """Walks, counts, explanations and queries that read everything give equal results without the dropped blocks."""
    chance = random.Random(seed)
    objects = (256 << 12) + chance.randrange(4096)
    lengths = bytes(chance.choices(range(1, 60), k=objects))
    words = [
        {iid: 1 if chance.random() < 0.9 else chance.choice((2, 3, 9)) for iid in range(first, objects, step)}
        for first, step in ((0, 23), (3, 25), (5, 31))
    ]
    rare = held_by(chance, objects, 300)
    one = [Term(1.0, BRINGS, [Slot([words[0]], 1.0)])]
    family = [Term(1.3, BRINGS, [Slot([words[1], words[2], rare], 1.0, 0.3)])]
    two = [*family, Term(0.6, BRINGS, [Slot([words[0]], 0.6)])]
    lists, masks = KeptLists(lengths, 128), LengthMasks(lengths)
    many = two + [Term(0.1 * number, BRINGS, [Slot([words[number % 3]], 0.1 * number)]) for number in range(14)]
    for terms, walks in ((one, True), (two, True), (family, True), (many, False), (one, True)):
        expected, reads = best_objects(terms, lengths, 30.0, K1, B, 1.0, True), lists.reads
        for limit in (10, 2_000):
            found = search(terms, lists, masks, 30.0, 1.0, lambda: 100, full_first=True)
            assert answer(found, lists, limit, walks=walks) == expected[:limit]
        assert walks or lists.reads - reads < len(words[0]) // 128, "windows stand for them"
        find.give(found, lists.get(find.blocks_to_count(found)))
        assert find.count(found) == len(expected)
        for (iid, _, score), (listed, _, _) in zip(
            expected[:9], find.parts(found, [iid for iid, _, _ in expected[:9]], 20), strict=True
        ):
            assert math.isclose(sum(part for _, _, part in listed), score, abs_tol=1e-12), iid
