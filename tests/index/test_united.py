"""The rare words of a slot are merged once for a commit: answers are those of a reader without a cache."""

import random
from pathlib import Path

import sonicpy
from sonicpy._native.terms import Terms
from sonicpy.index.search.parts import bind, find
from sonicpy.index.search.ranking import plan_of
from sonicpy.store.views.bucket_reader import BucketReader

LETTERS = "abc"
ROUNDS, ASKED = 12, 25


def word(chance: random.Random) -> str:
    """Return one of a few hundred words, many of which have the same beginning."""
    return "".join(chance.choices(LETTERS, k=chance.randint(2, 5)))


def test_answers_are_those_without_a_cache(tmp_path: Path) -> None:
    chance, compared = random.Random(7), 0
    with sonicpy.open(tmp_path) as index:
        for number in range(ROUNDS):
            rows = [
                (f"o{number}.{at}", " ".join(word(chance) for _ in range(chance.randint(1, 9)))) for at in range(60)
            ]
            index.push_many(rows, collection="c", bucket="b")
            if number % 3 == 2:
                index.flush_object("c", "b", f"o{number - 1}.{chance.randrange(60)}")
            for _ in range(ASKED):
                text = f"{word(chance)[:3]} {word(chance)[:2]}"
                terms: Terms = index._engine.lexer.lex_plain(text)
                with index._engine.read_words("c", "b") as lexicon:
                    assert lexicon is not None
                    plan = plan_of(lexicon, terms, index._config, None)
                    plain = BucketReader(lexicon.view, lexicon.reader.state)
                    expected = find(bind(plan, plain), 10, total=True)
                    for _ in range(2):
                        found = find(bind(plan, lexicon.reader), 10, total=True)
                        assert (found.found, found.total) == (expected.found, expected.total)
                    compared += len(found.found)
    assert compared > ROUNDS * ASKED
