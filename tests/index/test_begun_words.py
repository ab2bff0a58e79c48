"""The cached words that begin as a typed one does stay right while words come and go."""

import random
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import sonicpy
from sonicpy.index.search.begun_words import other_spelling
from sonicpy.index.search.lexicon import Rules

LETTERS = "abc"
ROUNDS, ASKED = 40, 12


def word(chance: random.Random) -> str:
    return "".join(chance.choices(LETTERS, k=chance.randint(2, 5)))


def test_words_that_begin_so_are_those_that_objects_hold(tmp_path: Path) -> None:
    chance, found_some = random.Random(5), 0
    texts: dict[str, str] = {}
    asked = [(one + two).encode() for one in LETTERS for two in LETTERS] + [b"a", b"abca", b"cc"]
    with sonicpy.open(tmp_path) as index:
        for number in range(ROUNDS):
            step = chance.random()
            if step < 0.2 and texts:
                name = chance.choice(sorted(texts))
                index.flush_object("c", "b", name)
                del texts[name]
            elif step < 0.3:
                index.consolidate()
            else:
                name = f"o{number}"
                texts[name] = " ".join(word(chance) for _ in range(chance.randint(1, 9)))
                index.push("c", "b", name, texts[name], lang="none")
            holders = Counter(each for text in texts.values() for each in set(text.split()))
            for typed in chance.sample(asked, ASKED):
                with index._engine.read_words("c", "b") as lexicon:
                    found = [] if lexicon is None else lexicon.beginnings(typed, 0)
                expected = {each.encode(): df for each, df in holders.items() if each.encode().startswith(typed)}
                assert {each: row.df for each, row, _ in found} == expected
                found_some += len(expected) > 1
    assert found_some > ROUNDS


@given(st.text("aedjouhs'1", min_size=1, max_size=6))
def test_words_of_ascii_letters_without_a_pair_have_no_other_spelling(word: str) -> None:
    has_pair = any(pair in word.encode() for pair in Rules.pairs)
    assert has_pair == (other_spelling(word.encode()) is not None)
