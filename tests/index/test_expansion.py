"""Completed and corrected words in the default mode: when they are tried, for which words, and where they rank."""

from collections.abc import Iterator
from itertools import count, pairwise, product
from pathlib import Path
from string import ascii_lowercase

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sonicpy import Index
from sonicpy.index.search.lexicon import Lexicon
from tests.index.shorthand import B, C, found, open_index, push
from tests.reference.word_graph import edit_distance
from tests.reference.word_walks import distance_of
from tests.support.examples import examples


def opened(folder: Path, budget: int = 4, **settings: object) -> Index:
    return open_index(folder, search__query_alternates_try=budget, **settings)


class TestOrder:
    def test_exact_then_completed_then_corrected(self, tmp_path: Path) -> None:
        with opened(tmp_path) as index:
            push(index, "corrected", "planer")
            push(index, "completed", "planets")
            push(index, "exact", "planet")
            push(index, "far", "komet")
            assert found(index, "planet") == ["exact", "completed", "corrected"]
            index.consolidate()
            assert found(index, "planet") == ["exact", "completed", "corrected"]

    def test_a_rare_variant_does_not_pass_a_common_exact_word(self, tmp_path: Path) -> None:
        with opened(tmp_path, search__alternates_below=100) as index:
            for number in range(12):
                push(index, f"exact{number}", f"report {'filler ' * number}")
            push(index, "completed", "reports")
            push(index, "corrected", "resort")
            answer = found(index, "report")
            assert answer[12:] == ["completed", "corrected"]
            assert {oid.rstrip("0123456789") for oid in answer[:12]} == {"exact"}

    @pytest.mark.parametrize("typed", ["problm", "problm "])
    def test_the_meant_word_comes_before_rare_misspellings_of_it(self, tmp_path: Path, typed: str) -> None:
        with opened(tmp_path) as index:
            push(index, "misspelt", "probelm prblm proplm")
            push(index, "longer", "problematic")
            for number in range(30):
                push(index, f"meant{number}", f"a problem with number{number}")
            for _ in range(2):
                assert all(name.startswith("meant") for name in found(index, typed)[:30])
                index.consolidate()

    def test_an_exact_word_in_the_longest_object_still_comes_first(self, tmp_path: Path) -> None:
        with opened(tmp_path) as index:
            push(index, "exact", f"planet {' '.join(f'fuell{number}' for number in range(500))}")
            push(index, "corrected", "planer planer planer")
            push(index, "completed", "planets planets")
            assert found(index, "planet") == ["exact", "completed", "corrected"]

    def test_of_several_words_one_exact_one_is_enough(self, tmp_path: Path) -> None:
        with opened(tmp_path) as index:
            push(index, "corrected", "planer kometem kometem")
            push(index, "exact", f"komet {' '.join(f'fuell{number}' for number in range(50))}")
            for number in range(20):
                push(index, f"other{number}", "komet")
            answer = found(index, "planet komet")
            assert set(answer[:21]) == {"exact", *(f"other{number}" for number in range(20))}
            assert answer[21:] == ["corrected"]

    def test_a_stop_word_does_not_make_a_corrected_word_an_exact_one(self, tmp_path: Path) -> None:
        """Stop words add to the score of objects that other words find; they find no objects themselves."""
        with opened(tmp_path, search__alternates_below=100) as index:
            for number in range(10):
                push(index, f"exact{number}", "sailer")
            push(index, "corrected", "the sailor", "eng")
            assert found(index, "the sailer", lang="eng")[-1] == "corrected"

    def test_nearer_corrections_come_first(self, tmp_path: Path) -> None:
        with opened(tmp_path) as index:
            push(index, "one", "keybaord")
            push(index, "two", "keybarod")
            push(index, "none", "keybarodx")
            assert found(index, "keyboard") == ["one", "two", "none"], "the last one only begins so"
            assert found(index, "keyboard ") == ["one", "two"]

    def test_an_object_counts_for_its_best_word_only(self, tmp_path: Path) -> None:
        with opened(tmp_path) as index:
            push(index, "only", "planet")
            push(index, "both", "planet planets planer")
            push(index, "completed", "planets planer")
            push(index, "corrected", "planer")
            answer = found(index, "planet")
            assert answer == ["only", "both", "completed", "corrected"], "a variant beside the word helps nobody"


class TestEdits:
    """A word of 1-3 characters gets no edit; 4-6: one; 7-9: two; 10 and more: three. A swap of neighbours is one
    edit.
    """

    TABLE = [
        ("hello", "hlelo", True, "a swap"),
        ("hello", "ehllo", True, "a swap at the head"),
        ("hello", "helol", True, "a swap at the end"),
        ("hello", "hello", True, "none"),
        ("cat", "cot", False, "three characters"),
        ("cat", "act", True, "three characters swapped"),
        ("at", "ta", False, "two characters"),
        ("book", "bool", True, "four: one"),
        ("book", "bowl", False, "four: not two"),
        ("cat", "cats", True, "the typed word decides: four"),
        ("planet", "plxnet", True, "six: one"),
        ("planet", "plxnxt", False, "six: not two"),
        ("planets", "plxnxts", True, "seven: two"),
        ("planets", "lpantes", True, "seven: two swaps"),
        ("planets", "pxxnxts", False, "seven: not three"),
        ("keyboards", "kxyboxrds", True, "nine: two"),
        ("keyboards", "kxyboxrdx", False, "nine: not three"),
        ("basketball", "bxskxtbxll", True, "ten: three"),
        ("basketball", "abksetabll", True, "ten: three swaps"),
        ("basketball", "bxskxtbxlx", False, "ten: not four"),
        ("кот", "кит", False, "three Cyrillic characters, six bytes"),
        ("привет", "превет", True, "six Cyrillic characters: one"),
        ("привет", "рпивет", True, "six: a swap"),
        ("привет", "преват", False, "six: not two, although they are twelve bytes"),
        ("планета", "плонета", True, "seven: one"),
        ("планета", "плонето", True, "seven: two"),
        ("планета", "пронето", False, "seven: not three"),
        ("клавиатура", "кловиотуро", True, "ten: three"),
        ("клавиатура", "кровиотуро", False, "ten: not four"),
        ("cöx", "cöy", False, "three characters, four bytes"),
        ("größe", "grösse", True, "folded first: five letters and an ss"),
        ("éléphant", "elephant", True, "eight: two accents are two edits"),
    ]  # fmt: skip

    @pytest.mark.parametrize(("stored", "typed", "finds", "why"), TABLE)
    @pytest.mark.parametrize("consolidated", [False, True], ids=["pending", "graph"])
    def test_limits_by_characters(
        self, tmp_path: Path, stored: str, typed: str, finds: bool, why: str, consolidated: bool
    ) -> None:
        with opened(tmp_path) as index:
            push(index, "o", stored)
            if consolidated:
                index.consolidate()
            assert found(index, typed) == ["o"] * finds, why
            assert index.suggest(C, B, typed) == ([stored.casefold()] if finds else []), why


class TestCompletions:
    def test_of_a_word_before_the_last_those_that_most_objects_hold_are_tried(self, tmp_path: Path) -> None:
        with opened(tmp_path, budget=1) as index:
            for number, (one, other) in enumerate(product(ascii_lowercase[:7], repeat=2)):
                push(index, f"rare{number}", f"plan{one}{other}")
            for number in range(3):
                push(index, f"common{number}", "planting")
            assert found(index, "plan ") == ["common2", "common1", "common0"]
            assert len(found(index, "plan")) == 52, "the last word stands for all"

    def test_the_rarest_is_not_the_first(self, tmp_path: Path) -> None:
        with opened(tmp_path) as index:
            for number in range(30):
                push(index, f"common{number}", "planet")
            push(index, "rare", "planking")
            push(index, "other", "komet")
            assert found(index, "plan", limit=100)[-1] == "rare"
            words = {each.word: each.weight for each in index.explain(C, B, "plan", lang="none").terms[0].alternates}
            assert words["planet"] > words["planking"]


class TestBudget:
    def test_none(self, tmp_path: Path) -> None:
        with opened(tmp_path, budget=0) as index:
            push(index, "exact", "planet")
            push(index, "completed", "planets")
            push(index, "corrected", "planer")
            assert found(index, "planet") == ["exact"]
            assert found(index, "plane") == []
            assert index.suggest(C, B, "plane") == ["planer", "planet", "planets"], "suggestions have no budget"

    @pytest.mark.parametrize(("budget", "objects"), [(1, 1), (2, 2), (3, 3), (4, 3)])
    def test_it_is_a_number_of_words(self, tmp_path: Path, budget: int, objects: int) -> None:
        with opened(tmp_path, budget) as index:
            for oid, word in (("a", "planets"), ("b", "planetary"), ("c", "planer")):
                push(index, oid, word)
                push(index, f"{oid}{oid}", word)
            assert len(found(index, "planet ")) == 2 * objects

    def test_completions_are_paid_first(self, tmp_path: Path) -> None:
        with opened(tmp_path, 2) as index:
            for word in ("planer", "planetary", "planets", "plane"):
                push(index, word, word)
            assert set(found(index, "planet ")) == {"planets", "planetary"}
            assert found(index, "planet") == ["planets", "planetary", "plane", "planer"], "the last word has no budget"

    def test_each_word_has_its_own(self, tmp_path: Path) -> None:
        with opened(tmp_path, 1) as index:
            push(index, "first", "anker")
            push(index, "second", "birne")
            push(index, "third", "dampf")
            push(index, "all", "anker birne dampf")
            assert found(index, "ankes birns dampx")[0] == "all"
            assert set(found(index, "ankes birns dampx")) == {"first", "second", "third", "all"}

    def test_words_that_went_use_up_nothing(self, tmp_path: Path) -> None:
        """Removed words that the graph still holds do not use up the budget."""
        typed, here = "hellö", "hellz"
        variants = {typed[:place] + letter + typed[place + 1 :] for place in range(5) for letter in ascii_lowercase}
        variants |= {typed[:place] + letter + typed[place:] for place in range(6) for letter in ascii_lowercase}
        gone = sorted(word for word in variants if word < here)
        assert len(gone) > 100
        with opened(tmp_path) as index:
            push(index, "gone", " ".join(gone))
            push(index, "here", here)
            index.consolidate()
            assert index.flush_object(C, B, "gone") == len(gone)
            assert index.suggest(C, B, typed) == [here]
            assert found(index, typed) == ["here"]


class TestWhichWords:
    def test_special_words_are_exact_and_required(self, tmp_path: Path) -> None:
        with opened(tmp_path) as index:
            push(index, "whole", "bestellung user123")
            push(index, "mail", "nachricht an max.muster@example.net")
            assert found(index, "user123") == ["whole"]
            assert found(index, "user1") == ["whole"], "completed"
            assert found(index, "user1 ") == [], "only where the text ends in it"
            assert found(index, "user124") == [], "not corrected"
            assert found(index, "bestellung user124") == ["whole"], "nor required where no object holds it"
            push(index, "user124", "user124")
            assert found(index, "bestellung user124 ") == ["user124"], "but where one does"
            assert found(index, "bestellunk user123") == ["whole"], "ordinary words beside it are corrected"
            assert found(index, "nachricht max.muster@example.ne") == ["mail"]
            assert found(index, "nachricht max.muster@example.net") == ["mail"]

    def test_beside_other_words_stop_words_are_neither_completed_nor_corrected(self, tmp_path: Path) -> None:
        with opened(tmp_path) as index:
            push(index, "completed", "theremin parrot")
            push(index, "corrected", "thera")
            assert found(index, "there", lang="none") == ["completed", "corrected"], "without a language it is a word"
            assert found(index, "there parrot", lang="eng") == ["completed"]
            assert found(index, "there", lang="eng") == ["completed", "corrected"], "nothing else is asked for"

    def test_stop_words_stand_for_others(self, tmp_path: Path) -> None:
        with opened(tmp_path) as index:
            push(index, "stop", "there parrot", "eng")
            for _ in range(2):
                assert found(index, "thre") == found(index, "thera") == found(index, "ther") == ["stop"]
                assert index.suggest(C, B, "thera") == ["there"]
                index.consolidate()

    def test_words_over_50_letters_only_exactly(self, tmp_path: Path) -> None:
        with opened(tmp_path) as index:
            push(index, "o", "a" * 51)
            push(index, "p", "b" * 50)
            for _ in range(2):
                assert found(index, "a" * 51) == ["o"]
                assert found(index, "a" * 50) == found(index, "a" * 52) == []
                assert found(index, "b" * 49) == found(index, "b" * 47 + "xb") == ["p"]
                assert found(index, "b" * 161) == [], "what was typed is too long to be corrected"
                index.consolidate()

    def test_a_word_that_no_object_holds(self, tmp_path: Path) -> None:
        with opened(tmp_path) as index:
            push(index, "o", "hello world")
            push(index, "p", "helo")
            assert found(index, "hell world") == ["o", "p"]
            assert found(index, "helo") == ["p", "o"]
            index.flush_object(C, B, "p")
            assert found(index, "helo") == ["o"], "nobody holds it any more"
            assert found(index, "unknown words") == []


class TestEnough:
    """Whether a word is expanded depends on the number of its objects, not on the page."""

    @pytest.mark.parametrize("below", [5, 6])
    def test_a_word_that_enough_objects_hold_has_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: int
    ) -> None:
        with opened(tmp_path, search__alternates_below=below) as index:
            for number in range(5):
                push(index, f"exact{number}", "planet")
            push(index, "completed", "planets")
            expected = [f"exact{number}" for number in (4, 3, 2, 1, 0)] + ["completed"] * (below == 6)
            for limit, offset in ((1, 0), (5, 0), (6, 0), (100, 0), (2, 3), (3, 4), (3, 6)):
                assert found(index, "planet ", limit, offset) == expected[offset : offset + limit]
                hits = index.query(C, B, "planet ", limit=limit, offset=offset, lang="none", total=True)
                assert hits.total == len(expected)
            tried: list[bytes] = []
            monkeypatch.setattr(Lexicon, "likely", lambda self, word, *args: tried.append(word) or [])
            monkeypatch.setattr(Lexicon, "corrections", lambda self, word, *args, **more: tried.append(word) or [])
            found(index, "planet ", limit=100)
            assert tried == [b"planet", b"planet"] * (below == 6)

    @pytest.mark.parametrize("objects", [9, 10])
    def test_of_a_family_the_form_that_most_objects_hold_counts(self, tmp_path: Path, objects: int) -> None:
        """The form of a family that most objects hold counts; here each object holds two forms, and counts once."""
        with opened(tmp_path) as index:
            for number in range(objects):
                push(index, f"o{number}", "engine engines")
            push(index, "completed", "engineroom")
            answer = index.query_ids(C, B, "engine ", lang="eng", limit=100)
            assert len(answer) == objects + (objects == 9)
            assert ("completed" in answer) == (objects == 9)


class TestNewest:
    def test_all_words_newest_first(self, tmp_path: Path) -> None:
        with opened(tmp_path, search__ranking="newest") as index:
            push(index, "a", "anker birne")
            push(index, "b", "birne anker anker anker")
            push(index, "c", "anker")
            push(index, "d", "birne anker")
            push(index, "c", "birne")
            assert found(index, "birne anker") == found(index, "anker birne") == ["d", "c", "b", "a"]
            assert found(index, "anker birne clown") == []

    @pytest.mark.parametrize("typed", ["anke birne", "ankr birne", "nakre birne", "birne anke", "birne ankr"])
    def test_a_word_that_nobody_holds_has_alternates(self, tmp_path: Path, typed: str) -> None:
        with opened(tmp_path, search__ranking="newest") as index:
            push(index, "old", "anker birne")
            push(index, "new", "birne anker")
            push(index, "half", "birne")
            assert found(index, typed) == ([] if typed == "nakre birne" else ["new", "old"])

    def test_stop_words_are_not_required(self, tmp_path: Path) -> None:
        """Stop words are dropped at query time, except the last one: an object without "the" counts as holding all
        words.
        """
        with opened(tmp_path, search__ranking="newest") as index:
            push(index, "with", "the parrot and", "eng")
            push(index, "without", "parrot", "eng")
            push(index, "other", "the sailor", "eng")
            assert found(index, "parrot", lang="eng") == ["without", "with"]
            assert found(index, "the parrot", lang="eng") == ["without", "with"]
            assert found(index, "the and", lang="eng") == ["with"], "there is nothing else to require"

    def test_a_word_that_somebody_holds_has_none(self, tmp_path: Path) -> None:
        with opened(tmp_path, search__ranking="newest") as index:
            push(index, "exact", "anker")
            push(index, "longer", "ankern")
            assert found(index, "anker ") == ["exact"]
            assert found(index, "anker") == ["exact", "longer"], "a completion is below the word"
            assert found(index, "anke") == ["longer", "exact"]


LETTERS = "abc"
words = st.text(LETTERS, min_size=1, max_size=8)
corpora = st.lists(st.lists(words, min_size=1, max_size=3), min_size=1, max_size=5)
buckets = count()


@pytest.fixture(scope="module")
def generous(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """An index whose budget and page are never used up."""
    with opened(tmp_path_factory.mktemp("generous"), 1000) as index:
        yield index


def best_kind(typed: list[str], held: list[str], of_all: set[str]) -> int:
    """Return the kind of a match: 0 exact, 1 by a longer word, 2 by a corrected word, 3 none.

    Args:
        of_all: the words of all objects.
    """
    kinds = [3]
    for word in typed:
        edits = 0 if len(word) < 4 else 1 if len(word) < 7 else 2
        most = 0 if word != typed[-1] or len(word) < 4 else 1 if len(word) < 8 or word in of_all else 2
        for known in held:
            if known == word:
                kinds.append(0)
            elif known.startswith(word):
                kinds.append(1)
            elif (
                edit_distance(word, known, True) <= edits
                or (word not in of_all and is_swapped(word, known))
                or most
                and not (word in of_all and len(word) <= 6 and known.startswith(word[:-1]))  # as `tests` and testament
                and distance_of(word, list(known), most, begins=True) <= most
            ):
                kinds.append(2)
    return min(kinds)


def is_swapped(word: str, known: str) -> bool:
    """Return whether two words of three letters differ by two neighbouring letters that are swapped."""
    return len(word) == 3 and sorted(word) == sorted(known) and edit_distance(word, known, True) == 1


def is_spaced_otherwise(typed: list[str], corpus: list[list[str]]) -> bool:
    """Return whether texts may hold a typed word in pieces, of which the last may be unfinished, at the end of a word,
    or two typed words as one; other tests cover these cases.
    """
    held = {word for text in corpus for word in text}

    def consists(word: str) -> bool:
        return any(word[:cut] in held and ends_with(word[cut:]) for cut in range(1, len(word)))

    def ends_with(piece: str) -> bool:
        return any(known.startswith(piece) for known in held) or consists(piece)

    together = ("".join(pair) for pair in pairwise(typed))
    ends = any(known.endswith(word) for word in typed if word not in held for known in held)
    return ends or any(word not in held and consists(word) for word in typed) or not held.isdisjoint(together)


@settings(deadline=None, max_examples=examples(250))
@given(corpora, st.lists(words, min_size=1, max_size=3, unique=True), st.booleans())
@example([["abab"], ["ababa", "baba"]], ["abab", "abba"], True)
@example([["baaa"], ["baabaa"]], ["baaa"], False)
@example([["abc"], ["acb"]], ["abc"], False)
@example([["cc", "aaa"]], ["ccaa"], False)
@example([["aaaaaba"], ["aaaaaacb"]], ["aaaaaacb"], False)
def test_objects_stand_in_the_order_of_their_best_word(
    generous: Index, corpus: list[list[str]], typed: list[str], consolidated: bool
) -> None:
    assume(not is_spaced_otherwise(typed, corpus))
    bucket = f"b{next(buckets)}"
    with generous.batch():
        for number, text in enumerate(corpus):
            generous.push(C, bucket, f"o{number}", " ".join(text), "none")
    if consolidated:
        generous.consolidate()
    answer = generous.query(C, bucket, " ".join(typed), limit=1000, lang="none")
    of_all = {word for text in corpus for word in text}
    kinds = {f"o{number}": best_kind(typed, text, of_all) for number, text in enumerate(corpus)}
    assert sorted(answer) == sorted(oid for oid in kinds if kinds[oid] < 3)
    assert [kinds[oid] for oid in answer] == sorted(kinds[oid] for oid in answer)


@pytest.mark.parametrize(("typed", "meant", "other"), [("wolrd", "world", "word"), ("tiem", "time", "tied")])
def test_a_swap_comes_before_a_lost_letter(tmp_path: Path, typed: str, meant: str, other: str) -> None:
    with opened(tmp_path) as index:
        push(index, "meant", f"the {meant} beside a longer text")
        push(index, "other1", other)
        push(index, "other2", other)
        for _ in range(2):
            assert found(index, f"{typed} ") == ["meant", "other2", "other1"]
            assert index.suggest(C, B, typed)[0] == meant
            index.consolidate()


def test_two_of_three_letters_are_swapped_only_in_a_word_that_no_object_holds(tmp_path: Path) -> None:
    with opened(tmp_path) as index:
        push(index, "the", "the house")
        assert index.query(C, B, "teh house").objects == ["the"]
        assert index.query(C, B, "teh ").objects == ["the"]
        assert index.query(C, B, "teh ", fuzzy=0).objects == []
        assert index.suggest(C, B, "teh") == ["the"]
        push(index, "teh", "teh")
        assert index.query(C, B, "teh ").objects == ["teh"]
