"""Words that lead to nothing else are read again: in one bucket, in several, in parts, before and after a
consolidation.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from rapidfuzz.distance import OSA

import sonicpy
from sonicpy import Config, Index
from sonicpy.cluster.registry.partitions import part_of
from sonicpy.index.search.planners.misformed import is_near
from tests.index.test_spread import PARTS, SCOPE, Part, ask

C, B = SCOPE
WHOLLY = 3
"""The least score of an object that holds every word."""
OTHER_WORDS = "washing machine of O'Brien in 서울"
OTHERS = [
    "a quite different sentence",
    "nothing of the kind",
    "4 letters of a book",
    "new old york is not yet",
    "note it",
]

FOUND = [
    # written together, the second word unfinished
    ("newyo", "New York hotels"),
    ("iphone15p", "iPhone 15 Pro case"),
    ("wh1000x", "WH-1000XM4 headphones"),
    ("covid1", "COVID-19 test"),
    ("getel", "get element by id"),
    ("os.pa", "os path join"),
    ("김치찌", "김치 찌개"),
    ("creme-brul", "crème brûlée"),
    # in another form
    ("notebooks", "a note book"),
    ("notebooks case", "a note book case"),
    ("emails", "e-mail address"),
    ("backups", "back up now"),
    # a letter beside a word
    ("email", "e-mail address"),
    ("usbc", "USB-C cable"),
    ("usbc cable", "USB-C cable"),
    # errors in the letters of identifiers
    ("theme_tset", "theme_test module"),
    ("iphnoe15", "iPhone15 case"),
    ("iphnoe15", "iPhone 15 case"),
    ("pyhton3", "Python3 scripts"),
    ("exmaple.com", "www.example.com site"),
    ("os.paht", "os.path.join call"),
    # written together, with an error in one of two words
    ("washingmashine", "a washing machine"),
    ("creditcrad", "credit card limit"),
    ("credtcard", "credit card limit"),
    ("tshrit", "a t-shirt"),
    ("spidermna", "Spider-Man"),
    ("spider spidermna", "Spider-Man and spiders"),
    ("emial", "e-mail address"),
    ("obrian", "Conan O'Brien"),
    ("maycs", "Macy's parade"),
    # in another form, with an error
    ("batery", "spare batteries"),
    ("libaries", "a library card"),
    ("cheap batery", "cheap spare batteries"),
    ("англиский", "уроки английского языка"),
    # three words written together: the last one unfinished, or one of them a letter
    ("newyorkci", "New York City"),
    ("callofdu", "Call of Duty"),
    ("emailkonto", "E-Mail-Konto anlegen"),
    ("toysrus", "toys r us"),
    # a last syllable that is being composed
    ("학ㄱ", "학교 운동장"),
    ("서우", "서울 날씨"),
    ("컾", "커피 한 잔"),
    ("날씨 서우", "서울 날씨"),
    ("달ㄱ", "달걀 요리"),
    ("닭", "달걀 요리"),
    ("다", "닭갈비"),
    ("업", "없다고 한다"),
    # other signs
    ("vue3", "a component of vue v3"),
    ("30000", "timeout = 30_000"),
    ("get_elem", "getElementById call"),
    ("user_nam", "the userName field"),
    ("user.nam", "the user_name field"),
    ("x86_64", "x86-64 machines"),
    ("1920x1080", "screen 1920×1080"),
]


@pytest.fixture(params=["bm25", pytest.param("newest", marks=pytest.mark.full)])
def config(request: pytest.FixtureRequest) -> Config:
    return Config.model_validate({"search": {"ranking": request.param}})


def answers(folder: Path, config: Config, typed: str, texts: list[str], limit: int = 10) -> Iterator[list[str]]:
    """Yield the answers of a query among some texts, named by their numbers: for each way to hold them."""
    parts = [Part(folder / str(number), config) for number in range(PARTS)]
    with Index(folder / "one", config) as index:
        for number, text in enumerate(texts):
            for bucket in (B, f"of{number % 2}"):
                index.push(C, bucket, str(number), text)
            parts[part_of(str(number), PARTS)].push(C, B, str(number), text)
        for _ in range(2):
            yield index.query(C, B, typed, limit=limit).objects
            if config.search.ranking == "bm25":
                yield index.query(C, ["of0", "of1"], typed, limit=limit).objects
            index.consolidate()
    if config.search.ranking == "bm25":
        yield ask(parts, typed, limit, lang=None).names
    for part in parts:
        part.close()


@pytest.mark.full
@pytest.mark.parametrize(("typed", "text"), FOUND)
def test_a_word_that_leads_to_nothing_is_read_again(tmp_path: Path, config: Config, typed: str, text: str) -> None:
    for found in answers(tmp_path, config, typed, [*OTHERS, text]):
        assert found[:1] == [str(len(OTHERS))]


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        ("iphnoe16", "iPhone15 case"),  # digits have no errors
        ("theme_tset2", "theme_test module"),
        ("gtx1080", "RTX1080 card"),  # nor have short words beside them
        ("AB1235", "order AB1234"),
        ("2031", "203 of 17 people"),
        ("newyo ", "New York hotels"),  # a blank ends a word
        ("usbc ", "USB cable"),
        ("batery", "the battle of a bather"),  # another stem
    ],
)
def test_digits_and_short_words_have_no_errors(tmp_path: Path, typed: str, text: str) -> None:
    for found in answers(tmp_path, Config(), typed, [text]):
        assert found in ([], ["0"] if typed == "usbc " else [])


@pytest.mark.parametrize("typed", ["iphnoe15", "os.paht", "newyo", "washingmashine", "obrian", "서우"])
def test_what_is_switched_off_stays_off(typed: str) -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "1", f"iPhone15 case in New York by os.path {OTHER_WORDS}")
        assert index.query(C, B, typed) == ["1"]
        assert index.query(C, B, typed, fuzzy=0, complete=False) == []
    with sonicpy.open(":memory:", {"search.query_alternates_try": 0, "search.complete": False}) as index:
        index.push(C, B, "1", f"iPhone15 case in New York by os.path {OTHER_WORDS}")
        assert index.query(C, B, typed) == []


def test_a_letter_that_many_objects_hold_is_no_piece() -> None:
    with sonicpy.open(":memory:") as index:
        for number in range(40):
            index.push(C, B, f"a{number}", "a text about it")
        index.push(C, B, "mount", "a high mount")
        index.push(C, B, "mail", "a mail")
        index.push(C, B, "e-mail", "an e-mail")
        assert [hit.score < 1 for hit in index.query(C, B, "amount ") if hit == "mount"] == [True]  # a correction
        assert index.query(C, B, "email").objects[:2] == ["e-mail", "mail"]


def test_a_word_between_low_lines_is_the_word() -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "dunder", "if __name__ == '__main__': start the main thing that is _so_ good")
        index.push(C, B, "part", "domain_main of a name_server")
        index.push(C, B, "one", "the main road")
        assert index.query(C, B, "name main").objects[0] == "dunder"
        assert [hit.score >= WHOLLY for hit in index.query(C, B, "name main")] == [True, False, False]
        assert index.query(C, B, "so good")[0].score >= WHOLLY


@pytest.mark.parametrize("query", ["disney+", "b+ tree", "a+"])
def test_an_object_with_the_plus_sign_comes_first(query: str) -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "with", f"{query}, they say")
        index.push(C, B, "between", f"1+1 of {query.replace('+', '+x')}")
        index.push(C, B, "without", f"{query.replace('+', '')} they say")
        assert index.query(C, B, query).objects[:2] == ["with", "without"]
        assert index.query(C, B, query.replace("+", "")).objects[:1] == ["without"]


@pytest.mark.parametrize("query", ["c++", "c++ ", "learn c++", "c#"])
def test_the_letter_of_a_language_is_not_completed(query: str) -> None:
    with sonicpy.open(":memory:") as index:
        for name, text in (("lang", "learn C++ and C#"), ("c", "learn C"), ("cream", "crème brûlée, create")):
            index.push(C, B, name, text)
        assert index.query(C, B, query).objects == ["lang", "c"]
        assert index.query(C, B, "c").objects[-1] == "cream"


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("email", "my e-mail is", "my <mark>e</mark>-<mark>mail</mark> is"),
        ("newyo", "in New York", "in <mark>New</mark> <mark>York</mark>"),
        ("theme_tset", "a theme_test", "a <mark>theme_test</mark>"),
    ],
)
def test_marked_is_what_was_found(query: str, text: str, marked: str) -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "o", text)
        assert sonicpy.highlight(text, index.explain(C, B, query)) == marked


def test_a_form_with_an_error_needs_corrections_and_forms() -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "1", "spare batteries")
        assert index.query(C, B, "batery") == index.query(C, B, "batery", lang="eng") == ["1"]
        assert index.query(C, B, "batery", lang="none") == index.query(C, B, "batery", fuzzy=0) == []


@pytest.mark.parametrize(
    ("one", "other", "near"),
    [
        ("bateri", "batteri", True),
        ("batteri", "bateri", True),
        ("bateri", "baderi", True),
        ("bateri", "baetri", True),
        ("bateri", "bateri", True),
        ("bátèri", "bateri", True),
        ("bateri", "bateriën", False),
        ("bateri", "badesi", False),
        ("bateri", "abteir", False),
    ],
)
def test_near_stems(one: str, other: str, near: bool) -> None:
    assert is_near(one, other) is near
    assert is_near(other, one) is near
    assert near is (OSA.distance(one.translate({225: "a", 232: "e"}), other) <= 1)
