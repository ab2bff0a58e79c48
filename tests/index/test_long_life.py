"""An index that has lived, with all that its queries have kept, answers as a copy of it that was just opened.

Queries with every kind of sign and option come between changes of every kind, so that lists, windows, names, plans and
masks which one query has kept meet other queries and later states.
"""

import gc
import random
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import sonicpy
from sonicpy import Index, InvalidArgument
from sonicpy.graph.pending import PendingWords
from sonicpy.store.rows.known_pending import KnownPending
from tests.support.examples import examples

BUCKETS, FIELDS = ("b1", "b2"), ("title", "body")
TAGS = ("red", "blue", "size:s", "size:l", "author:x", "author:y")
FILTERS = ("red", "NOT blue", "n > 20", "size:s OR author:x", "red AND n < 30")
SYLLABLES = ("ba", "ko", "ri", "ten", "sol", "mar", "ple", "du", "xi", "nor")
OTHER_WORDS = ("running", "runs", "new", "york", "newyork", "iphone15", "os.path", "C++", "2024", "14.2", "café")
DIMENSIONS = 64


class Life:
    """Random changes and queries of one index.

    Args:
        seed: decides all of them.
        objects: the most objects.
        words: how many made-up words the texts have.
    """

    def __init__(self, seed: int, objects: int, words: int) -> None:
        chance = self.chance = random.Random(seed)
        self.objects = objects
        made = {"".join(chance.choices(SYLLABLES, k=chance.randint(1, 4))) for _ in range(words)}
        self.words = [*sorted(made), *OTHER_WORDS[: words // 2]]
        chance.shuffle(self.words)
        self.weights = [1 / (rank + 1) ** 0.8 for rank in range(len(self.words))]

    def word(self) -> str:
        return self.chance.choices(self.words, self.weights)[0]

    def text(self, most: int) -> str:
        return " ".join(self.word() for _ in range(self.chance.randint(1, most)))

    def vector(self) -> list[float]:
        return [self.chance.uniform(-1, 1) for _ in range(DIMENSIONS)]

    def change(self, index: Index) -> None:
        """Make one change, or some."""
        chance = self.chance
        place = ("c", chance.choice(BUCKETS), str(chance.randrange(self.objects)))
        match chance.randrange(12):
            case 0 | 1:
                index.push(*place, self.text(8), field=chance.choice(FIELDS), values={"n": chance.randrange(50)})
            case 2 | 3:
                texts = {"title": self.text(3), "body": self.text(8), "": self.text(3)}
                index.upsert(
                    *place, chance.choice((texts, self.text(8))), tags=chance.sample(TAGS, chance.randrange(3))
                )
            case 4:
                index.pop(*place, self.text(3))
            case 5:
                index.flush(*place)
            case 6:
                index.push(*place, self.text(8), vector=self.vector())
            case 7:
                index.commit()
            case 8 if chance.random() < 0.3:
                chance.choice((index.consolidate, lambda: index.flush("c", place[1], filter="n > 48")))()
            case 9 if chance.random() < 0.3:
                with suppress(InvalidArgument):  # both sides are equal
                    index.set_synonyms("c", [f"{self.word()} => {self.word()}", f"{self.word()}, {self.text(2)}"])
            case 10:
                with index.batch():
                    for _ in range(30):
                        index.push("c", place[1], str(chance.randrange(self.objects)), self.text(12))
            case _:
                index.push(*place, self.text(12))

    def item(self) -> str:
        """Return a word with signs, or without."""
        chance, word = self.chance, self.word()
        shape = chance.choice(("{}", "{}", "{}", '"{} {}"', "{:.3}*", "*{:.3}*"))
        field = chance.choice(("", "", "title:", "body:"))
        return chance.choice(("", "", "", "", "", "-", "+")) + field + shape.format(word, self.word())

    def query(self) -> tuple[Any, str, dict[str, Any]]:
        """Return the buckets, the text and the options of a query."""
        chance = self.chance
        options: dict[str, Any] = {"limit": chance.choice((3, 10, 50, 1000))}
        if chance.random() < 0.5:
            options["syntax"] = "web"
            some = [
                " OR ".join(self.item() for _ in range(chance.choice((1, 2, 3)))) for _ in range(chance.randint(1, 3))
            ]
            text = " ".join(some)
        else:
            text = self.text(4)[: chance.choice((-1, None))]
        others: dict[str, Any] = {
            "offset": chance.randrange(5), "total": True, "match": chance.choice(("all", "any")),
            "fuzzy": chance.choice((0, 1, 2)), "filter": chance.choice(FILTERS), "complete": False, "stem": False,
            "fields": chance.choice((["title"], ["title", "body"], {"title": 3}, {"title": 2, "body": 0.5})),
        }  # fmt: skip
        options.update((name, value) for name, value in others.items() if chance.random() < 0.2)
        order = {
            "sort": chance.choice(("n", "newest", "-n")),
            "group": "author:",
            "boost": "n",
            "vector": self.vector(),
        }
        name = chance.choice((*order, *[""] * 8))
        options |= {name: order[name]} if name else {}
        return chance.choice((*BUCKETS, list(BUCKETS))), text + chance.choice(("", " ")), options


def answers(index: Index, asked: list[tuple[Any, str, dict[str, Any]]]) -> list[Any]:
    """Return all that an index says about some queries."""
    return [answer(index, *query) for query in asked]


def answer(index: Index, buckets: Any, text: str, options: dict[str, Any]) -> list[Any]:
    try:
        hits = index.query("c", buckets, text, **options)
    except InvalidArgument as error:  # such as a vector beside a bucket without one
        return [str(error)]
    facets = index.facets("c", buckets, text, of="size:*", filter=options.get("filter"))
    return [[(str(hit), hit.score) for hit in hits], hits.total, index.suggest("c", buckets, text[:4]), repr(facets)]


@pytest.mark.full
@pytest.mark.parametrize(
    ("seed", "objects", "words"),
    [
        (1, 300, 5),
        (2, 40, 3),
        (3, 3_000, 300),
        (4, 9_000, 30),
        (5, 9_000, 3_000),
        (6, 300, 2_000),
    ],
)
def test_answers_are_those_of_a_copy_just_opened(tmp_path: Path, seed: int, objects: int, words: int) -> None:
    life = Life(seed, objects, words)
    config = {"store": {"order": seed % 2 == 0}}
    with sonicpy.open(tmp_path / "index", config=config) as index:
        index.push_many([("c", life.chance.choice(BUCKETS), number, life.text(12)) for number in range(objects)])
        index.consolidate()
        for step in range(examples(60)):
            for _ in range(life.chance.randrange(4)):
                life.change(index)
            asked = [life.query() for _ in range(10)]
            waiting = answers(index, asked)
            index.commit()
            committed = answers(index, asked)
            copy = shutil.copytree(tmp_path / "index", tmp_path / "copy", ignore=shutil.ignore_patterns("*lock*"))
            with sonicpy.open(copy, read_only=True, config=config) as fresh:
                for query, *found in zip(asked, waiting, committed, answers(fresh, asked), strict=True):
                    assert found[0] == found[1] == found[2], (step, query)
            shutil.rmtree(copy)


@pytest.mark.full
def test_no_cache_keeps_the_words_of_flushed_buckets(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "store") as index:
        for number in range(12):
            for word in (f"flushed{number}x{place}" for place in range(50)):
                index.push("c", "b", word, f"{word} shared", tags=["t"])
                assert index.query("c", "b", word, filter="t") == [word]
            index.flush("c", "b")
        index.push("c", "b", "o", "text")
        index.commit()
        assert index.query("c", "b", "text") == ["o"]
        gc.collect()
        kinds = (KnownPending, PendingWords)
        mine = [each for each in gc.get_objects() if type(each) in kinds]  # isinstance asks objects of other packages
        held = {word for each in mine for word in (each.words if isinstance(each, KnownPending) else each.source)}
        assert not {word for word in held if re.match(rb"flushed\d+x", word)}
