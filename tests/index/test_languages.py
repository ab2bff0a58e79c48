"""A bucket counts the languages of its texts; words have forms in these languages, or in the language of the query."""

import shutil
from collections import Counter
from pathlib import Path

import pytest

from sonicpy import Index
from sonicpy._native.ids import is_sampled
from sonicpy.lexer.language import LanguageGuesser
from sonicpy.rules import FIRST, NEWEST
from sonicpy.store.changing.mutations import PushTerms, pack_push, unpack_mutation
from sonicpy.store.rows.language_counts import LANGUAGES, unpack_languages
from tests.index.shorthand import B, C, open_index, push

SENTENCES = {
    "tur": "bu kitapları dün akşam kütüphaneden aldım ve hepsini okudum",
    "fin": "tässä talossa asuu vanha mies jolla on kaksi koiraa",
    "eng": "the engines of the old cars would not start this morning",
    "rus": "все двигатели были проверены ещё раз сегодня утром",
}
GIVEN = ["eng", "eng", "deu", "none", "und", None, None, None]


def counted(index: Index, bucket: str = B) -> dict[str, int]:
    with index.maintainer.engine.read_words(C, bucket) as lexicon:
        assert lexicon is not None
        return {code: texts for code, (texts, _) in unpack_languages(lexicon.reader.fact(LANGUAGES)).items()}


def rows() -> list[tuple[str, str, str | None]]:
    texts = list(SENTENCES.values())
    return [(f"o{number}", texts[number % len(texts)], GIVEN[number % len(GIVEN)]) for number in range(400)]


def expected() -> dict[str, int]:
    """Return the counts of a bucket, made from all rows: objects with a given language, and guesses for the sample."""
    guesser = LanguageGuesser()
    codes = [(guesser.guess(text) if is_sampled(oid) else None) if lang is None else lang for oid, text, lang in rows()]
    return dict(Counter(code for code in codes if code not in (None, "none", "und")))


def test_one_object_in_sixteen_is_sampled() -> None:
    for names in (f"o{number}" for number in range(16_000)), (f"message:{number:08}" for number in range(16_000)):
        assert 800 < sum(map(is_sampled, names)) < 1_200


@pytest.mark.parametrize("way", ["push", "push_many", "batch"])
def test_texts_are_counted_by_language(tmp_path: Path, way: str) -> None:
    with open_index(tmp_path) as index:
        if way == "push_many":
            index.push_many(rows(), collection=C, bucket=B)
        elif way == "batch":
            with index.batch():
                for oid, text, lang in rows():
                    push(index, oid, text, lang)
                assert counted(index) == expected(), "also before the commit"
        else:
            for oid, text, lang in rows():
                push(index, oid, text, lang)
        assert counted(index) == expected()
        assert index.verify() == []


def test_counts_outlive_a_killed_process_a_backup_and_an_export(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        with index.batch():
            for oid, text, lang in rows():
                push(index, oid, text, lang)
            push(index, "last", SENTENCES["eng"], "eng")
            index.engine.store.seal()
            shutil.copytree(tmp_path / "store", tmp_path / "killed" / "store")  # without the commit
        index.backup(tmp_path / "backup")
        before = counted(index)
        with open_index(tmp_path / "killed") as killed:
            assert counted(killed) == before, "replay guesses nothing"
        with open_index(tmp_path / "other") as other:
            for held in index.holdings(C, B):
                other.push_terms(C, B, held.object, held.terms, held.hidden, held.rules, held.languages)
            assert counted(other) == before
        index.flush_bucket(C, B)
        push(index, "again", "word", "eng")
        assert counted(index) == {"eng": 1}
        index.restore(tmp_path / "backup")
        assert counted(index) == before


def test_a_bucket_of_old_rules_counts_nothing(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        index.push_terms(C, B, "old", {"word": 1}, rules=1)
        for oid, text, lang in rows()[:40]:
            push(index, oid, text, lang)
        assert counted(index) == {}


def test_the_record_of_a_change_carries_the_language(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        lexer = index.maintainer.engine.lexer
        for lang, languages in (("eng", b"eng"), ("nob", b"nob"), ("none", b""), ("und", b""), (None, b"eng")):
            terms = lexer.lex_push(SENTENCES["eng"], lang)
            lexer.note_language(terms, SENTENCES["eng"], lang)
            mutation = unpack_mutation(pack_push(C, B, "o1", terms, NEWEST))
            assert isinstance(mutation, PushTerms)
            assert mutation.terms.languages == languages
            terms = lexer.under(FIRST).lex_push(SENTENCES["eng"], lang)
            lexer.under(FIRST).note_language(terms, SENTENCES["eng"], lang)
            assert terms.languages == b"", "version 1.0 counts none"


def test_unrelated_words_are_no_forms(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "radio", "we listened to the radio", None)
        push(index, "radar", "the old radar was there", None)
        push(index, "will", "they will not be here", None)
        assert index.query(C, B, "radio") == ["radio"]
        assert index.query(C, B, "william") == []


def test_bare_words_have_forms_that_do_not_count_as_the_word(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        for word in ("radio", "radar", "paper", "papa", "lamp", "lamps"):
            push(index, word, word, None)
        for typed, forms in (("radio", ["radar"]), ("paper", ["papa"])):
            (first, *others) = index.query(C, B, typed)
            assert first == typed and [str(hit) for hit in others] == forms
            assert first.score is not None and first.score >= 3
            assert all(hit.score is not None and hit.score < 3 for hit in others)
        (term,) = index.explain(C, B, "radio").terms
        assert [(other.word, other.how) for other in term.alternates] == [("radar", "form")]
        assert all((hit.score or 0) >= 3 for hit in index.query(C, B, "lamp")), "several stemmers make the form"


@pytest.mark.parametrize(
    ("lang", "pushed", "asked"),
    [
        ("tur", "kitapları", "kitap"), ("fin", "talossa", "talo"), ("ces", "knihu", "kniha"),
        ("pol", "książkę", "książka"),
        ("kor", "학교에서", "학교"), ("kor", "책을", "책"), ("ukr", "книги", "книга"), ("pes", "کتاب‌ها", "کتاب"),
        ("pes", "می‌شود", "شود"), ("pes", "کرد", "می‌کرد"),
        ("urd", "کتابیں", "کتاب"), ("ben", "মানুষদের", "মানুষ"), ("nld", "gewerkt", "werken"), ("ind", "memukul", "pukul"),
        ("dan", "århus", "aarhus"), ("deu", "müller", "mueller"), ("tur", "çiçek", "cicek"), ("hun", "tükör", "tukor"),
        ("pol", "lodz", "łódź"), ("glg", "niño", "nino"), ("vie", "duoc", "được"),
    ],
)  # fmt: skip
def test_forms_and_accents_meet_with_a_language_and_without(tmp_path: Path, lang: str, pushed: str, asked: str) -> None:
    with open_index(tmp_path) as index:
        for number in range(8):  # a bucket of this language
            push(index, f"o{number}", "1 2 3", lang)
        push(index, "there", pushed, lang)
        assert index.query(C, B, asked, lang=lang) == ["there"]
        assert index.query(C, B, asked) == ["there"]


def test_a_query_that_names_a_language_finds_no_less(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        for number in range(8):
            push(index, f"o{number}", "1 2 3", "tur")
        push(index, "form", "kitapları", "tur")
        assert index.query(C, B, "kitap") == ["form"]
        for lang in ("eng", "slk", "und", "yue", "pt-BR"):
            assert index.query(C, B, "kitap", lang=lang) == ["form"], lang
