"""Families: words of a query find words with their stem, and those that differ only in accents."""

import itertools
import random
import string
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import pytest

import sonicpy
from sonicpy import Hit, Index
from sonicpy._native.bucket_words import FAMILY_MAX
from sonicpy.index.search.accents import fold, folding
from sonicpy.index.search.matching import Matching
from tests.index.shorthand import B, C, open_index, push
from tests.reference.families import family

Answer = TypeVar("Answer")

PAIRS = ["".join(pair) for pair in itertools.product(string.ascii_lowercase, repeat=2)]
"""Pairs of letters, more than the words that are compared one by one."""
SENTENCES = {
    "eng": ("the engine of the old car would not start", "all engines of the fleet were tested again"),
    "deu": ("der Motor des alten Wagens springt nicht an", "die Motoren wurden alle noch einmal geprüft"),
    "fra": ("le moteur de la vieille voiture ne démarre pas", "les moteurs ont tous été vérifiés encore une fois"),
    "spa": ("el motor del coche viejo no arranca esta mañana", "los motores fueron revisados una vez más"),
    "ita": ("il motore della vecchia macchina non parte", "i motori sono stati controllati ancora una volta"),
    "rus": ("двигатель старой машины сегодня не заводится", "все двигатели были проверены ещё раз"),
}
FORMS = {
    "eng": ("engine", "engines"),
    "deu": ("motor", "motoren"),
    "fra": ("moteur", "moteurs"),
    "spa": ("motor", "motores"),
    "ita": ("motore", "motori"),
    "rus": ("двигатель", "двигатели"),
}


@pytest.mark.parametrize("lang", SENTENCES)
def test_forms_meet(tmp_path: Path, lang: str) -> None:
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        for place, text in enumerate(SENTENCES[lang]):
            index.push(C, B, f"o{place}", text)
        for place, word in enumerate(FORMS[lang]):
            for given in (None, lang):
                assert index.query(C, B, word, lang=given) == [f"o{place}", f"o{1 - place}"], "the typed form first"
            assert index.query(C, B, word, stem=False) == [f"o{place}"]
            assert index.query(C, B, word, lang="none") == [f"o{place}"], "no language, no forms"


@pytest.mark.parametrize("lang", [None, "eng", "fra", "spa", "ita", "por", "deu"])
def test_accents_meet(tmp_path: Path, lang: str | None) -> None:
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        for oid, text in (("cafe", "cafe"), ("café", "café"), ("r", "résumé"), ("e", "élève"), ("o", "œuvre")):
            index.push(C, B, oid.replace("é", "e'"), text)
        assert index.query(C, B, "cafe", lang=lang) == ["cafe", "cafe'"]
        assert index.query(C, B, "café", lang=lang) == ["cafe'", "cafe"]
        for typed, oid in (("resume", "r"), ("eleve", "e"), ("oeuvre", "o"), ("élève", "e")):
            assert index.query(C, B, typed, lang=lang) == [oid], typed


def test_letters_of_a_language_keep_their_marks(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "a", "ano")
        push(index, "n", "año")
        push(index, "b", "ano ano ano")
        assert index.query(C, B, "año", lang="spa") == ["n", "b", "a"], "what has the mark comes first"
        first, *others = scores(index.query(C, B, "año", lang="spa"))
        assert first >= 3 > max(others), "the others do not count as the word"
        assert min(scores(index.query(C, B, "año"))) >= 3, "without a language they do"


def scores(hits: Iterable[Hit]) -> list[float]:
    return [hit.score for hit in hits if hit.score is not None]


def test_two_languages_in_one_bucket(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        for lang, texts in SENTENCES.items():
            for place, text in enumerate(texts):
                index.push(C, B, f"{lang}{place}", text)
        assert set(index.query(C, B, "engines")) == {"eng0", "eng1"}
        assert set(index.query(C, B, "двигатели")) == {"rus0", "rus1"}
        assert set(index.query(C, B, "motoren", lang="deu")) >= {"deu0", "deu1", "spa0"}, "motor is Spanish, too"


@pytest.mark.parametrize(("typed", "other"), [("x86", "x87"), ("abc123", "abc124"), ("2021", "2022"), ("ab1s", "ab1")])
def test_identifiers_have_none(tmp_path: Path, typed: str, other: str) -> None:
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "typed", typed)
        push(index, "other", other)
        assert index.query(C, B, typed) == ["typed"]


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=0, search__stemming="off") as index:
        push(index, "one", "engine café")
        push(index, "two", "engines cafe")
        assert index.query(C, B, "engine") == ["one"]
        assert index.query(C, B, "cafe") == ["two"]


def test_families_stand_in_explanations(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "one", "engine")
        push(index, "two", "engines engines")
        (term,) = index.explain(C, B, "engine").terms
        assert [(other.word, other.how, other.objects) for other in term.alternates] == [("engines", "form", 1)]
        assert term.weight is not None and term.alternates[0].weight is not None
        assert term.weight > term.alternates[0].weight > 0
        (term,) = index.explain(C, B, "engine", stem=False).terms
        assert all(other.how != "form" for other in term.alternates)


def test_a_family_holds_enough(tmp_path: Path) -> None:
    """Words are completed and corrected only if the whole family has few holders."""
    with open_index(tmp_path) as index:
        for number in range(5):
            push(index, f"one{number}", "engine")
            push(index, f"two{number}", "engines")
        push(index, "typo", "engin")
        push(index, "longer", "enginehouse")
        assert len(index.query(C, B, "engine", limit=100)) == 10 + ("engin" in _family(index, "engine"))


def test_a_word_that_nobody_holds_has_its_family(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "one", "engines")
        hits = index.query(C, B, "engine", total=True)
        assert hits == ["one"] and hits.total == 1
        assert hits[0].score is not None and 3 < hits[0].score < 4


def _family(index: Index, word: str) -> list[str]:
    with index.engine.read_words(C, B) as lexicon:
        assert lexicon is not None
        words, doubtful = lexicon.family(word.encode(), Matching(None, is_ascii=True))
        return [each.decode() for each in (*words, *doubtful)]


def test_a_family_learns_new_words(tmp_path: Path) -> None:
    """However words come and go, with commits or inside a batch, a family has the words that a comparison with all
    words finds.
    """
    chance = random.Random(17)
    stems = ("engin", "résum", "resum", "caf", "motor", "häus", "haus", "двигател")
    endings = ("", "e", "é", "es", "s", "ing", "en", "er", "и", "ь")
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        for step in range(120):
            word = chance.choice(stems) + chance.choice(endings)
            if chance.random() < 0.3:
                index.pop(C, B, f"o{chance.randrange(9)}", word)
            elif chance.random() < 0.3:
                with index.batch():
                    push(index, f"o{chance.randrange(9)}", f"{word} {chance.choice(stems)}e")
                    _check_fresh(index, word)
            else:
                push(index, f"o{chance.randrange(9)}", word)
            if step % 50 == 49:
                index.consolidate()
            _check_fresh(index, chance.choice(stems) + chance.choice(endings))


def _elsewhere(ask: Callable[[], Answer]) -> Answer:
    """Return the answer of another thread, which reads the last commit."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(ask).result()


def test_who_reads_the_last_commit_spoils_no_family_of_the_open_transaction(tmp_path: Path) -> None:
    """A lookup by another thread, which lacks pending words, does not spoil the cached family of the open
    transaction.
    """
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "one", "engine other")
        assert index.query(C, B, "other") == ["one"]
        with index.batch():
            push(index, "two", "engines")
            assert index.query(C, B, "other") == ["one"], "now the new word is known"
            for _ in range(2):
                assert _elsewhere(lambda: index.query(C, B, "engine")) == ["one"]
                assert index.query(C, B, "engine") == ["one", "two"]
        assert index.query(C, B, "engine") == ["one", "two"]
        assert _elsewhere(lambda: index.query(C, B, "engine")) == ["one", "two"]


def test_a_word_that_goes_in_the_open_transaction_stays_in_the_families_of_others(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "one", "engine other")
        push(index, "two", "engines")
        with index.batch():
            assert index.pop(C, B, "two", "engines") == 1
            for _ in range(2):
                assert index.query(C, B, "engine") == ["one"]
                assert _elsewhere(lambda: index.query(C, B, "engine")) == ["one", "two"]
        assert _elsewhere(lambda: index.query(C, B, "engine")) == ["one"]


def test_words_that_are_too_long_to_be_pending_join_families(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        for number, ending in enumerate(("ий", "ая", "ие", "ого")):
            push(index, f"o{number}", f"человеконенавистническ{ending}")
            assert len(index.query(C, B, "человеконенавистнический", lang="rus")) == number + 1


def test_a_word_that_was_left_out_of_a_full_family_comes_when_others_go(tmp_path: Path) -> None:
    words = ["s" + first + "l" + second + "n" for first in "eéèê" for second in "aáàâä"]
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        for number, word in enumerate(words):
            push(index, f"o{number}", word)
        found = index.query(C, B, "selan", limit=100).objects
        assert len(found) == FAMILY_MAX + 1
        for oid in found[1:4]:
            index.flush_object(C, B, oid)
        assert len(index.query(C, B, "selan", limit=100)) == FAMILY_MAX + 1
        _check_fresh(index, "selan")


def _check_fresh(index: Index, word: str) -> None:
    with index.engine.read_words(C, B) as lexicon:
        if lexicon is None:
            return
        held = {each.decode() for each, row in lexicon.reader.lexicon(b"") if row.df}
        for matching in (
            Matching(None, is_ascii=True),
            Matching("eng", is_ascii=True),
            Matching("rus", is_ascii=False),
            Matching("deu", is_ascii=False, is_given=True),
            Matching("pol", is_ascii=False, is_given=True),
        ):
            found = [{each.decode() for each in some} & held for some in lexicon.family(word.encode(), matching)]
            known = matching._replace(languages=lexicon.languages_for(matching))
            sure, doubtful, may_agree = known.stemming(word)
            expected = family(held, word, sure, doubtful, known.own_letters(word), may_agree=may_agree)
            assert tuple(found) == expected, (word, matching)


@pytest.mark.parametrize(
    ("word", "own", "folded"),
    [
        ("résumé", "", "resume"),
        ("straße", "", "strasse"),
        ("año", "ñ", "año"),
        ("ёлка", "", "елка"),
        ("їжак", "", "іжак"),
        ("йод", "", "йод"),
        ("हिन्दी", "", "हिन्दी"),
        ("ελληνικά", "", "ελληνικα"),
        ("café", None, "café"),
        ("l’été", None, "l'été"),
        ("łódź", "", "lodz"),
        ("þingvellir", "", "thingvellir"),
        ("nội", "", "noi"),
        ("timișoara", "", "timisoara"),
        ("ὀδυσσεύς", "", "οδυσσευς"),
        ("за\u0301мок", "", "замок"),
        ("i\u0307stanbul", "", "istanbul"),
        ("co\u00adoperate", None, "cooperate"),
        ("\u2067שלום\u2069\u200f", None, "שלום"),
        ("a\u2060b\ufeff", None, "ab"),
        ("כְּתָב", "", "כתב"),
        ("كِتَابُ", "", "كتاب"),
        ("أحمد", "", "احمد"),
    ],
)
def test_folding(word: str, own: str | None, folded: str) -> None:
    assert fold(word, own) == folded


@pytest.mark.parametrize("own", ["", "ñçö"])
def test_the_table_folds_as_words_are_folded(own: str) -> None:
    table = folding(own)
    assert [letter for letter in map(chr, range(0x80, 0x3000)) if table.fold(letter) != fold(letter, own)] == []


@pytest.mark.parametrize("scream", ["а" * 251, "h" + "é" * 251, "é" * 251, "한" * 200, "\U0001d4b3" * 130])
def test_a_word_beyond_the_keys_of_the_store_disturbs_no_query(tmp_path: Path, scream: str) -> None:
    """The store cuts a word of more than 500 bytes and appends a hash, which cannot be decoded."""
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "a", "hello world")
        push(index, "scream", scream)
        push(index, "é", "héllo")
        assert index.query(C, B, "hello") == ["a", "é"]
        assert index.query(C, B, "world") == ["a"]
        assert index.query(C, B, scream) == ["scream"]
        index.consolidate()
        assert index.query(C, B, "hello") == ["a", "é"]


def test_the_ranking_newest_knows_them(tmp_path: Path) -> None:
    with open_index(tmp_path, search__ranking="newest") as index:
        push(index, "one", "engine café")
        push(index, "two", "engines cafe")
        push(index, "three", "engines")
        assert index.query(C, B, "engine cafe") == ["two", "one"]


@pytest.mark.parametrize("pair", ["Haus Häuser", "Baum Bäume", "Buch Bücher", "Stadt Städte", "Vater Väter"])
def test_german_forms_with_an_umlaut_are_one_family(tmp_path: Path, pair: str) -> None:
    singular, plural = pair.split()
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        index.push(C, B, "one", singular, "deu")
        index.push(C, B, "many", plural, "deu")
        for lang in ("deu", None):
            assert index.query(C, B, singular, lang=lang).objects == ["one", "many"], "the exact spelling is first"
            assert index.query(C, B, plural, lang=lang).objects == ["many", "one"]


@pytest.mark.parametrize(
    "pair",
    [
        "كتاب الكتاب", "للكتاب والكتاب",
        "don't don’t", "o'neill o’neill", "п'ять пʼять", "rock'n'roll rock’n’roll", "łódź lodz", "bolesław boleslaw",
        "søren soren", "þingvellir thingvellir", "nội noi", "mười muoi", "timișoara timisoara", "kṛṣṇa krsna",
        "ὀδυσσέας οδυσσεας", "έρευνητικότητας ερευνητικοτητας", "за\u0301мок замок", "i\u0307stanbul istanbul",
        "co\u00adope\u00adrate cooperate", "كِتَابُ كتاب", "مُحَمَّد محمد", "كتـــاب كتاب", "أحمد احمد",
        "کتاب كتاب", "پاکستان پاكستان", "קילו׳ קילו'", "יו״ר יו\"ר", "їжак іжак", "ґанок ганок",
        "שָׁלוֹם שלום", "e\u0301̣bun ebun",
    ],
)  # fmt: skip
def test_spellings_that_look_the_same_to_users_meet(tmp_path: Path, pair: str) -> None:
    one, other = pair.split()
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "one", one)
        push(index, "other", other)
        assert index.query(C, B, one).objects == ["one", "other"], "the exact spelling is first"
        assert index.query(C, B, other).objects == ["other", "one"]
        assert index.query(C, B, one, stem=False).objects == ["one"]
        index.consolidate()
        assert index.query(C, B, one).objects == ["one", "other"]


@pytest.mark.parametrize(
    "pair",
    [
        "می\u200cخواهم میخواهم", "علي على", "سنة سنه", "مسؤول مسوول", "צהל צה״ל", "דוח דו\"ח",
        "כלב הכלב", "כלב שהכלב", "قال وقال", "دجاج بدجاج", "đorđe djordje",
        "רמטכל הרמטכ״ל", "דוחות והדוחו״ת", "مستشفى المستشفي", "مكتبة والمكتبه",
    ],
)  # fmt: skip
def test_letters_that_are_often_confused_and_particles_before_a_word_meet(tmp_path: Path, pair: str) -> None:
    one, other = pair.split()
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "one", one)
        push(index, "other", other)
        assert index.query(C, B, one + " ").objects == ["one", "other"], "the exact spelling is first"
        assert index.query(C, B, other + " ").objects == ["other", "one"]
        index.consolidate()
        assert index.query(C, B, one + " ").objects == ["one", "other"]


@pytest.mark.parametrize("pair", ["ספר הספרים", "ילד והילדים", "ספריה שבספריות", "معلم ومعلمون"])
def test_forms_meet_behind_a_particle(tmp_path: Path, pair: str) -> None:
    one, other = pair.split()
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "one", one)
        push(index, "other", other)
        for prepare in (int, index.consolidate):
            prepare()
            assert index.query(C, B, f"{one} ").objects == ["one", "other"], "the exact spelling is first"
            assert index.query(C, B, f"{other} ").objects == ["other", "one"]
            assert index.query(C, B, f"{one} ", stem=False).objects == ["one"]


@pytest.mark.parametrize("pair", ["ocean ocean's", "shakespeare shakespeare’s", "mcdonalds mcdonald’s"])
def test_possessives_meet(tmp_path: Path, pair: str) -> None:
    one, other = pair.split()
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "one", one)
        push(index, "other", other)
        for lang in ("eng", None):
            assert index.query(C, B, one, lang=lang).objects == ["one", "other"]
            assert index.query(C, B, other, lang=lang).objects == ["other", "one"]


@pytest.mark.parametrize(
    ("lang", "one", "other", "apart"),
    [
        ("fra", "homme", "l’homme", "d'homard"),
        ("fra", "enfants", "d'enfant", "l'enfer"),
        ("ita", "arte", "dell'arte", "l'articolo"),
        ("cat", "home", "l'home", "l'hora"),
        (None, "été", "l'ete", "l'air"),
        (None, "amore", "l'amore", "d'amaro"),
    ],
)
def test_words_meet_behind_an_elided_word(tmp_path: Path, lang: str | None, one: str, other: str, apart: str) -> None:
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        for oid, word in (("one", one), ("other", other), ("apart", apart)):
            push(index, oid, word)
        elided, apostrophe, _ = other.replace("’", "'").partition("'")
        more = [f"{elided}{apostrophe}a{word}" for word in PAIRS]  # more than are compared
        index.push_many([(f"o{number}", word) for number, word in enumerate(more)], collection=C, bucket=B)
        assert index.query(C, B, one, lang=lang).objects == ["one", "other"]
        assert index.query(C, B, other, lang=lang).objects == ["other", "one"]
        first, *others = index.query(C, B, one, lang="eng")
        assert first == "one" and all(score < 3 for score in scores(others)), "English elides nothing"


@pytest.mark.parametrize(
    "pair", ["advocaat advocaten", "maan manen", "been benen", "brief brieven", "huis huizen", "muis muizen"]
)
def test_dutch_words_meet_whose_last_letters_change(tmp_path: Path, pair: str) -> None:
    one, other = pair.split()
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "one", one)
        push(index, "other", other)
        index.push_many(
            [(f"o{number}", f"{one[:2]}a{word}q") for number, word in enumerate(PAIRS)], collection=C, bucket=B
        )
        assert index.query(C, B, one, lang="nld").objects == ["one", "other"]
        assert index.query(C, B, other, lang="nld").objects == ["other", "one"]


def test_hindi_forms_meet(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "one", "किताब")
        push(index, "many", "किताबें")
        assert index.query(C, B, "किताब", lang="hin").objects == ["one", "many"]
        assert index.query(C, B, "किताबें", lang="hin").objects == ["many", "one"]


def test_romanian_letters_with_a_comma_and_with_a_cedilla_are_one(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "comma", "brașov")
        push(index, "cedilla", "braşov")
        push(index, "other", "brăsov")
        assert index.query(C, B, "brașov", lang="ron").objects == ["comma", "cedilla", "other"]


def test_an_accent_is_found_where_many_words_begin_so(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "clé", "clé")
        push(index, "ésa", "ésa")
        index.push_many([(f"o{number}", f"cla{word}") for number, word in enumerate(PAIRS)], collection=C, bucket=B)
        starts = [variant + letter for variant in "eèéêëēĕėęěȅȇẹẻẽếềểễ" for letter in "sr"]
        index.push_many([(f"e{number}", f"{word}ta") for number, word in enumerate(starts)], collection=C, bucket=B)
        assert index.query(C, B, "cle", lang="fra").objects == ["clé"]
        assert index.query(C, B, "esa", lang="spa").objects == ["ésa"]


def test_short_words_in_y_have_their_forms_in_a_large_bucket(tmp_path: Path) -> None:
    with open_index(tmp_path, search__query_alternates_try=0) as index:
        push(index, "boys", "boys")
        push(index, "tried", "tried")
        words = [f"{start}{word}k" for start in ("bo", "tr") for word in PAIRS if word[0] != "y"]
        index.push_many([(f"o{number}", word) for number, word in enumerate(words)], collection=C, bucket=B)
        assert index.query(C, B, "boy", lang="eng").objects == ["boys"]
        assert index.query(C, B, "try", lang="eng").objects == ["tried"]


def test_families_and_joined_words_beside_a_graph_are_those_of_an_index_that_has_kept_nothing(tmp_path: Path) -> None:
    chance = random.Random(5)
    parts = ["hous", "run", "carr", "naïv", "os", "path"]
    ends = ["e", "es", "ing", "y", "ied", "", ".path", "_run", "é", "Houses"]
    asked = ["house", "run", "carry", "naive", "path", "running"]
    with sonicpy.open(tmp_path / "kept") as kept, sonicpy.open(tmp_path / "fresh") as fresh:
        for number in range(60):
            word = chance.choice(parts) + chance.choice(ends) + chance.choice(["", "", f" x{number}"])
            for index in (kept, fresh):
                if number % 20 == 19:
                    index.consolidate()
                elif number % 7 == 6:
                    index.flush_object("c", "b", str(number - 1))
                else:
                    index.push("c", "b", str(number), word, lang="eng")
            if number % 10 == 4:  # many words come between two queries
                text = " ".join(f"{chance.choice(parts)}{chance.choice(ends)}q{each} {word}s" for each in range(40))
                for index in (kept, fresh):
                    index.push("c", "b", f"many{number}", f"{text} houses{number // 10} carrying")
            elif number % 3 == 0:
                continue
            lexicons = fresh._engine.lexicons
            for cache in (lexicons.families, lexicons.joined, lexicons.begun, lexicons.long_begun, lexicons.beginnings):
                cache.clear()
            for text in asked:
                assert kept.query("c", "b", text, lang="eng").pairs() == fresh.query("c", "b", text, lang="eng").pairs()


def test_a_short_form_of_an_unknown_word_is_as_likely_chance(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        for number, text in enumerate(["se la vie", "I was seeing it", "the man goes home", "homme"]):
            index.push(C, B, str(number), text, "eng")
        assert {hit.how for hit in index.explain(C, B, "seing ", lang="eng").hits} <= {"completion", "correction"}
        assert index.query(C, B, "l'homme ").objects == ["3"]
        index.push(C, B, "seing", "seing", "eng")
        assert index.query(C, B, "seing ", lang="eng").scores[1] > 3, "it is a form of a word that is held"
