"""Tests of sonicpy._native.find: queries on several threads share lists, whose blocks each may read or drop."""

import random

import pytest

from sonicpy._native import find
from sonicpy._native.length_masks import LengthMasks
from sonicpy._native.plan import BRINGS
from sonicpy._native.query_state import QueryState
from tests.native.test_top_objects import K1, B, KeptLists, held_by, search
from tests.reference.top_objects import Slot, Term, best_objects
from tests.support.collecting import Collecting

OBJECTS = 9_000


class Meanwhile:
    """A query that starts to ask for blocks when this object is called."""

    def __init__(self, query: QueryState) -> None:
        self.keys: list[bytes] | None = None
        self._query = query

    def __call__(self) -> None:
        self.keys = find.run(self._query)


@pytest.mark.full
def test_another_query_asks_for_the_same_blocks_while_one_asks() -> None:
    chance = random.Random(1)
    lengths = bytes(chance.choices(range(1, 60), k=OBJECTS))
    terms = [Term(1.0, BRINGS, [Slot([held_by(chance, OBJECTS, count)], 1.0)]) for count in (50, 3_000, 4_000)]
    expected = best_objects(terms, lengths, 12.0, K1, B, 1.0, False)[:10]
    for behind in range(40):
        lists, masks = KeptLists(lengths, 128), LengthMasks(lengths)
        one, other = (search(terms, lists, masks, 12.0, 1.0, lambda: 100, full_first=False) for _ in range(2))
        find.begin(one, 10, walks=True)
        find.begin(other, 10, walks=True)
        meanwhile = Meanwhile(other)
        with Collecting(behind, meanwhile):
            keys = find.run(one)
        for query, asked in ((one, keys), (other, find.run(other) if meanwhile.keys is None else meanwhile.keys)):
            while asked:
                find.give(query, lists.get(asked))
                asked = find.run(query)
            assert find.best(query, 0) == expected
