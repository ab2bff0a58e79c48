"""Irregular forms of words: they find each other in their language, and only there."""

import pytest

import sonicpy
from sonicpy.lexer.irregular import irregular_forms
from sonicpy.lexer.other_forms import OTHER_FORMS
from sonicpy.lexer.stemmers import Stemmers


@pytest.mark.parametrize(
    "pair",
    ["mouse mice", "child children", "firewoman firewomen", "leaf leaves", "happy happiest", "die dying"]
    + ["go went", "lead led", "buying bought", "flies flew", "person people", "i'm im"]
    + ["analysis analyses", "prosthesis prostheses", "neurosis neuroses", "syllabus syllabi", "bureau bureaux"],
)
def test_they_find_each_other(pair: str) -> None:
    one, other = pair.split()
    with sonicpy.open(":memory:") as index:
        index.push("c", "b", "one", one, "eng")
        index.push("c", "b", "other", other, "eng")
        assert index.query("c", "b", f"{other} ", lang="eng").objects == ["other", "one"]
        assert other == "happiest" or index.query("c", "b", f"{one} ", lang="eng").objects == ["one", "other"]
        index.push("c", "deu", "one", one, "deu")
        assert index.query("c", "deu", f"{other} ", lang="deu", fuzzy=0).objects == []


@pytest.mark.parametrize(
    "word",
    ["men", "children", "wives", "iest", "priest", "opera", "", "ox", "went", "took", "writing", "forgets", "bigger"]
    + ["analyses", "roses", "purposes", "octopi"],
)
def test_a_form_is_another_word_that_the_stemmer_misses(word: str) -> None:
    stem = Stemmers()["english"]
    for form in irregular_forms(word):
        assert form != word and stem([form]) != stem([word])
    assert all(word in irregular_forms(form) for form in irregular_forms(word) if not word.endswith("iest"))


@pytest.mark.parametrize(
    ("lang", "pairs"),
    [
        ("spa", "luz/luces joven/jóvenes"),
        ("por", "animal/animais homem/homens nação/nações"),
        ("ita", "lago/laghi uomo/uomini"),
        ("fra", "beau/belle actif/active travail/travaux"),
        ("deu", "gehen/ging kaufen/gekauft museum/museen"),
        ("nld", "stad/steden"),
        ("swe", "bok/böcker man/männen öga/ögonen"),
        ("dan", "barn/børn mand/mændene fod/fødderne"),
        ("nob", "natt/netter tre/trær tre/trærne mann/mennene fot/føttene"),
        ("rus", "день/дни рынок/рынка девушка/девушек"),
        ("pol", "pies/psy książka/książek noga/nodze"),
        ("ces", "kůň/koně matka/matek"),
        ("ukr", "стіл/столи"),
        ("hrv", "noga/nozi"),
        ("ron", "copil/copii"),
        ("tur", "şehir/şehri"),
        ("est", "jalg/jalad"),
        ("ara", "كتاب/كتب"),
        ("heb", "בית/בתים"),
    ],
)
def test_words_of_other_languages_find_the_forms_that_their_stemmers_miss(lang: str, pairs: str) -> None:
    with sonicpy.open(":memory:") as index:
        for word in pairs.replace("/", " ").split():
            index.push("c", "b", word, word, lang)
        for one, other in (pair.split("/") for pair in pairs.split()):
            assert other in index.query("c", "b", f"{one} ", lang=lang, fuzzy=0).objects
            assert one in index.query("c", "b", f"{other} ", lang=lang, fuzzy=0).objects


def test_rules_of_endings_lead_both_ways_and_never_to_the_word_itself() -> None:
    for name, forms in OTHER_FORMS.items():
        for word in ("książka", "kaufte", "gekauft", "luz", "animais", "девушек", "рынка", "beau", "a", ""):
            assert word not in forms(word)
            assert name == "english" or all(word in forms(form) for form in forms(word))


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("english", "barrier/barry terrier/terry bit/bite"),
        ("spanish", "vino/venir cuenta/contar"),
        ("italian", "dio/dei"),
        ("german", "waren/warum waren/warte seien/seite besen/beste brachen/brachte wesen/weste raten/ratte"),
        ("german", "kommen/komma rosen/rosa samen/gesamt euro/euren radio/radien stehen/gesteht reichten/reichtum"),
        ("danish", "se/så"),
        ("norwegian", "se/så"),
        ("russian", "порка/порок"),
        ("bulgarian", "човек/души"),
        ("polish", "byle/była miejsce/miejska serce/serka życie/żyto"),
        ("slovak", "krok/krku"),
        ("serbian", "baci/baka majk/majci reci/reka sto/stolovi"),
        ("hindi", "करना/की"),
    ],
)
def test_words_that_look_like_forms_are_apart(name: str, pairs: str) -> None:
    forms = OTHER_FORMS[name]
    for one, other in (pair.split("/") for pair in pairs.split()):
        assert other not in forms(one)
        assert one not in forms(other)


def test_a_word_that_is_apart_keeps_its_group() -> None:
    assert OTHER_FORMS["german"]("brachte") == {"bringen", "gebracht"}
    assert OTHER_FORMS["german"]("warte") == set()
    assert "reisen" in OTHER_FORMS["german"]("reiste")
