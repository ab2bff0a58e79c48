"""Words together and apart, parts of words, numbers: the typed spelling comes first, unrelated words last, both right
after a push and after a consolidation.
"""

import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sonicpy
from sonicpy._native.bucket_words import JOINED_MAX
from sonicpy.config import Config
from sonicpy.index.search.planners.bm25 import plan_bm25
from sonicpy.index.search.planners.inner import compounds
from sonicpy.index.search.sketch import sketch_query
from sonicpy.index.search.statistics import SummedStatistics
from tests.support.examples import examples

C, B = "collection", "bucket"

LONG = "AbstractTransactionalDataSourceSpringContextConfigurationTests"
"""A word that has too many letters to be completed."""

ALIKE = [
    ("iphone15", "iphone 15"),
    ("basketball", "basket ball"),
    ("covid19", "covid-19"),
    ("xorg.conf", "xorg conf"),
    ("davincicode", "da vinci code"),
    ("10kg", "10 kg"),
    ("1.5mm", "1.5 mm"),
    ("9783161484100", "978-3-16-148410-0"),
    ("1000", "1,000"),
    ("2500000", "2.500.000"),
    ("sos", "S.O.S"),
    ("데이터베이스", "데이터 베이스"),
    ("galaxys23", "galaxy s23"),
    ("wh1000xm4", "WH-1000XM4"),
    ("mp3player", "MP3 player"),
    ("sarscov2", "SARS-CoV-2"),
    ("phd", "Ph.D."),
    ("сша", "С.Ш.А."),
    ("shield", "S.H.I.E.L.D."),
    ("rb", "R&B"),
    ("kmh", "km/h"),
    ("1000000", "1,000,000"),
    ("de89370400440532013000", "DE89 3704 0044 0532 0130 00"),
    ("550e8400e29b41d4a716446655440000", "550e8400-e29b-41d4-a716-446655440000"),
    ("커피숍", "커피 숍"),
    ("getuserbyid", "get user by id"),
    ("vietnam", "Việt Nam"),
    ("ابوظبي", "أبو ظبي"),
    ("کتاب‌ها", "کتاب ها"),
]


@pytest.mark.parametrize(("together", "apart"), ALIKE)
@pytest.mark.parametrize("ranking", ["bm25", "newest"])
def test_words_meet_that_are_written_together_or_apart(together: str, apart: str, ranking: str) -> None:
    for typed, other in ((together, apart), (apart, together)):
        with sonicpy.open(":memory:", config=Config.model_validate({"search": {"ranking": ranking}})) as index:
            index.push(C, B, "other", f"{other} here")
            index.push(C, B, "unlike", "nothing of the kind")
            assert index.query(C, B, typed).objects == ["other"], typed
            assert index.query(C, B, f"{typed} ").objects == ["other"], typed


def test_a_letter_twice_is_not_the_letter() -> None:
    with sonicpy.open(":memory:") as index:
        for name, text in (("x", "model x"), ("c", "vitamin c"), ("other", "nothing of the kind")):
            index.push(C, B, name, text)
        assert index.query(C, B, "xx model", match="all").objects == []
        assert index.query(C, B, "cc ").objects == []


@pytest.mark.parametrize(
    ("together", "apart", "holders"),
    [
        ("iphone14pro", "iPhone14 Pro", 12),
        ("r2d2", "R2-D2", 12),
        ("4111111111111111", "4111 1111 1111 1111", 12),
        ("de89370400440532013000", "DE89 3704 0044 0532 0130 00", 12),
        ("v1.2.3", "1.2.3", 12),
        ("oneal", "O’Neal", 12),
        ("обєкт", "обʼєкт", 12),
        ("인공지능", "인공 지능", 9),
        ("интернетмагазин", "интернет-магазин", 9),
    ],
)
def test_what_is_apart_is_found_below_objects_that_hold_the_word(together: str, apart: str, holders: int) -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "apart", f"{apart} here")
        index.push(C, B, "unlike", "nothing of the kind")
        for number in range(holders):
            index.push(C, B, f"held{number}", f"{together} there")
        for ending in ("", " "):
            found = index.query(C, B, together + ending, limit=20).objects
            assert len(found) == holders + 1
            assert found[-1] == "apart"


@pytest.mark.parametrize("ending", ["", " ", " scores"])
def test_a_word_that_few_objects_hold_finds_two_long_words_below_it(ending: str) -> None:
    with sonicpy.open(":memory:") as index:
        for bucket, word in ((B, "basketball"), ("short", "carpet"), ("often", "basketball")):
            for number in range(10 if bucket == "often" else 1):
                index.push(C, bucket, f"held{number}", f"the {word} scores")
            index.push(C, bucket, "apart", "the basket ball scores" if word == "basketball" else "my car is a pet")
            index.push(C, bucket, "half", "a basket of a car")
        assert index.query(C, B, f"basketball{ending}").objects[:2] == ["held0", "apart"]
        assert "half" not in index.query(C, B, f"basketball{ending}").objects
        assert index.query(C, "short", "carpet ").objects == ["held0"]
        assert "apart" not in index.query(C, "often", "basketball ").objects


@pytest.mark.parametrize("ranking", ["bm25", "newest"])
@pytest.mark.parametrize("is_consolidated", [False, True])
def test_a_word_that_leads_to_nothing_else_finds_the_words_that_end_with_it(
    ranking: str, is_consolidated: bool
) -> None:
    with sonicpy.open(":memory:", config=Config.model_validate({"search": {"ranking": ranking}})) as index:
        index.push(C, B, "compound", "ein Hochspannungsnetzgerät, Slachtofferfiches")
        index.push(C, B, "hyphens", "Hoch\u00adspannungs\u00adnetzgerät")
        index.push(C, "two", "other", "Die Sporthalle")
        if is_consolidated:
            index.consolidate()
        assert index.query(C, B, "netzgerät").objects == ["hyphens", "compound"]
        assert index.query(C, B, "netzgerät ").objects == ["hyphens", "compound"]
        assert index.query(C, B, "fiche").objects == ["compound"]
        assert ranking == "newest" or len(index.query(C, [B, "two"], "sport netzgerät")) == 3
        for word in ("gerä", "pannungsnetz", "ochspannungsnetzgerät"):  # too short, more behind it, too few before it
            assert index.query(C, B, f"{word} ", fuzzy=0).objects == []
        index.push(C, B, "begun", "Netzgerätebau")
        assert index.query(C, B, "netzgerät").objects == ["begun"]


def test_a_word_of_a_script_without_blanks_is_no_end_of_others() -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "thai", "กขคภาษาไทย")
        index.push(C, B, "russian", "электростанция")
        with index.engine.read_words(C, B) as lexicon:
            assert lexicon is not None
            for word, found in (("ภาษาไทย", False), ("станция", True)):
                assert lexicon.holding(word.encode())
                assert bool(compounds(lexicon, word.encode())) is found


def test_pieces_without_accents_are_found_in_several_buckets_and_not_where_accents_matter() -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, "one", "vietnam", "Việt Nam here")
        index.push(C, "two", "other", "nothing of the kind")
        assert len(index.query(C, ["one", "two"], "vietnam")) == 1
        assert len(index.query(C, ["one", "two"], "galaxys23")) == 0
        assert index.query(C, "one", "vietnam", stem=False).objects == []
        assert index.query(C, "one", "việtnam", stem=False).objects == ["vietnam"]


@pytest.mark.parametrize(
    ("together", "apart"), [("iphone15", "iphone 15"), ("xorg.conf", "xorg conf"), ("foo_bar", "foo bar")]
)
def test_the_typed_form_comes_first_and_halves_come_last(together: str, apart: str) -> None:
    halves = apart.replace("-", " ").replace(".", " ").split()
    for typed in (together, apart):
        with sonicpy.open(":memory:") as index:
            for oid, text in (("typed", typed), ("together", together), ("apart", apart)):
                index.push(C, B, oid, f"{text} here")
            for number, half in enumerate(halves):
                index.push(C, B, f"half{number}", f"{half} lamp")
            found = index.query(C, B, typed).objects
            assert set(found[:3]) == {"typed", "together", "apart"}, typed
            assert found[0] in ("typed", "together" if typed == together else "apart"), typed


@pytest.mark.parametrize(
    ("part", "word"),
    [("path", "os.path.join"), ("path.join", "os.path.join"), ("os", "os.path.join"), ("tests", "theme_test")]
    + [
        ("element", "getElementById"),
        ("phone", "iPhone15"),
        ("1080", "1080p"),
        ("2024", "2024년"),
        ("roll", "rock'n'roll"),
    ]
    + [("2024", "報告書_2024.pdf")]
    + [("source", LONG), ("springcontextconfigurationtests", LONG), ("straße", LONG.replace("Source", "Straße"))]
    + [("etat", "d’état"), ("_users", "list_users"), ("internal", f"{'com.example.' * 4}internal.file")],
)
def test_a_part_finds_its_word_below_a_word_of_its_own(part: str, word: str) -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "joined", f"the {word} again")
        index.push(C, B, "more", "some thing else")
        for prepare in (int, index.consolidate):
            prepare()
            assert index.query(C, B, part).objects == ["joined"]
            assert index.query(C, B, f"{part} again").objects[0] == "joined"
        index.push(C, B, "whole", f"a text in which {part} is a word of its own among some others")
        assert index.query(C, B, part).objects == ["whole", "joined"]


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("user service", "UserService.findById"),
        ("find user", "UserService.findById"),
        ("get user id", "get_user_by_id"),
        ("report final", "report_final_v2.docx"),
        ("o brien", "O'Brien"),
        ("o brien", "O\u2019Brien"),
        ("rock n roll", "rock'n'roll"),
    ],
)
def test_a_word_with_several_words_of_a_query_comes_before_one_of_them(typed: str, word: str) -> None:
    words = typed.split()
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "joined", f"the {word} again")
        for each in words:
            index.push(C, B, f"one{each}", each)
        for prepare in (int, index.consolidate):
            prepare()
            for ending in ("", " "):
                assert index.query(C, B, typed + ending).objects[0] == "joined"
        found = index.query(C, B, typed, how=True)
        assert {(held.how, held.typed) for held in found[0].how or ()} == {("part", each) for each in words}
        index.push(C, B, "whole", f"{' '.join(reversed(words))} in it")
        assert index.query(C, B, typed).objects[:2] == ["whole", "joined"]


def test_a_size_is_found_with_any_sign() -> None:
    with sonicpy.open(":memory:") as index:
        for oid, text in (("times", "2×4 boards"), ("x", "2 x 4 boards"), ("2", "2 boards"), ("xray", "x-ray of 4")):
            index.push(C, B, oid, text)
        assert index.query(C, B, "2x4").objects == ["x", "times"]
        assert index.query(C, B, "2x4 boards", match="all").objects == ["x", "times"]
        assert index.query(C, B, "boards 2x4").objects[:2] == ["x", "times"]


def test_many_words_with_several_words_of_a_query_are_parts_as_before() -> None:
    with sonicpy.open(":memory:") as index:
        for number in range(17):
            index.push(C, B, f"joined{number}", f"www.page{'abcdefghijklmnopq'[number]}.com")
        index.push(C, B, "whole", "a com port")
        assert index.query(C, B, "www com").objects[0] == "whole"


def test_parts_go_with_their_words(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path / "index") as index:
        index.push(C, B, "o", "getElementById and os.path")
        index.consolidate()
        index.pop(C, B, "o", "getelementbyid")
        index.pop(C, B, "o", "os.path")
        for prepare in (int, index.consolidate):
            prepare()
            assert index.query(C, B, "element").objects == index.query(C, B, "path").objects == []
        assert index.verify() == []


@pytest.mark.parametrize(
    ("typed", "text"),
    [("33", "order 3320"), ("10.0.0", "10.0.0.17 up"), ("14.2", "release 14.2.1.0"), ("ab12", "AB1234")],
)
def test_numbers_are_completed_and_never_corrected(typed: str, text: str) -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "o", text)
        assert index.query(C, B, typed).objects == ["o"]
        assert index.query(C, B, f"{typed} ").objects == []
        assert index.query(C, B, f"{typed[:-1]}9").objects == []


def test_a_version_is_found_behind_a_v() -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "version", "v14.2.1 released")
        index.push(C, B, "numbers", "14 apples")
        for number in range(12):
            index.push(C, B, f"other{number}", f"the 2 of us, 1 of {number}")
        assert index.query(C, B, "14.2.1").objects == ["version"]
        assert index.query(C, B, "14.2 ").objects == ["version"]


def test_a_part_of_a_spread_bucket_knows_the_addresses_that_begin_so() -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "o", "10.0.0.17 up")
        terms = index.engine.lexer.lex("10.0", "none")
        with index.engine.read_words(C, B) as lexicon:
            assert lexicon is not None
            of_parts = SummedStatistics([sketch_query(lexicon, terms, index.config, None)])
            plan = plan_bm25(of_parts, terms, index.config.search)
            assert b"10.0.0.17" in plan.words() == plan_bm25(lexicon, terms, index.config.search).words()


def test_a_number_that_no_object_holds_empties_no_query() -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "o", "Harry Potter and the Chamber")
        assert index.query(C, B, "harry potter 8").objects == ["o"]
        index.push(C, B, "eight", "chapter 8 of Harry Potter")
        assert index.query(C, B, "harry potter 8").objects == ["eight"]


def test_a_number_whose_pieces_are_apart_empties_no_query() -> None:
    with sonicpy.open(":memory:") as index:
        for number in range(60):
            index.push(C, B, f"part{number}", f"Harry Potter, part {number}")
        assert len(index.query(C, B, "harry potter 2027", limit=100)) == 60
        assert index.query(C, B, "2027").objects == index.query(C, B, "potter 2027", match="all").objects == []
        index.push(C, B, "phone", "please call Harry under 555 1234, or write a letter to the office where he works")
        index.push(C, B, "fax", "Harry 555")
        assert index.query(C, B, "harry 5551234").objects[0] == "phone"


def test_suggestions_know_parts() -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "o", "rock'n'roll, l'homme, dr_willis, xorg.conf, config")
        assert index.suggest(C, B, "roll") == ["rock'n'roll"]
        assert index.suggest(C, B, "homm")[0] == "l'homme"
        assert index.suggest(C, B, "conf")[:2] == ["config", "xorg.conf"]


def test_a_word_that_begins_with_a_run_comes_before_one_that_has_it_inside() -> None:
    with sonicpy.open(":memory:") as index:
        for query, right, wrong in (("京都", "京都府立", "東京都庁"), ("ハム", "ハムスター", "サハムライ")):
            bucket = f"of{len(right)}"
            index.push(C, bucket, "right", right)
            index.push(C, bucket, "wrong", wrong)
            assert index.query(C, bucket, query).objects == ["right", "wrong"]
            explained = index.explain(C, bucket, query)
            assert sonicpy.highlight(right, explained) == right.replace(query, f"<mark>{query}</mark>")


@pytest.mark.parametrize(
    ("query", "text", "marked"),
    [
        ("test", "Theme_Test", "Theme_<mark>Test</mark>"),
        ("path.join", "os.path.join()", "os.<mark>path.join</mark>()"),
        ("homm", "l'homme", "l'<mark>homme</mark>"),
        ("foo.bar", "foo bar", "<mark>foo</mark> <mark>bar</mark>"),
        ("basket ball", "basketball", "<mark>basketball</mark>"),
        ("element", "getElementById", "get<mark>Element</mark>ById"),
    ],
)
def test_marked_is_what_was_asked(query: str, text: str, marked: str) -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "o", text)
        assert sonicpy.highlight(text, index.explain(C, B, query)) == marked


FAMILIES = [{"image", "images", "imaging"}, {"art", "arts"}, {"body", "bodies"}, {"use", "using"}, {"foo"}]
TOKENS = sorted({"2024"}.union(*FAMILIES))
UNLIKE_ITS_STEM = "using"
"""A form that does not begin with its stem, "use": if it begins a compound, other forms do not find the compound."""
JOINED = st.lists(st.sampled_from(TOKENS), min_size=1, max_size=3).flatmap(
    lambda tokens: st.sampled_from("._:").map(lambda sign: sign.join(tokens))
)


@settings(deadline=None, max_examples=examples(40))
@given(st.lists(JOINED, min_size=1, max_size=8), st.sampled_from([token for token in TOKENS if token.isalpha()]))
@example(["art.foo.use"], "arts")
@example(["body_2024"], "bodies")
def test_forms_find_joined_words_as_pushed_and_later(words: list[str], typed: str) -> None:
    """A form is found in any part of a compound, also in the first one, for which graphs hold no alias."""
    with sonicpy.open(":memory:") as index:
        for number, word in enumerate(words):
            index.push(C, B, str(number), word, "eng")
        pushed = index.query(C, B, f"{typed} ", lang="eng", limit=100)
        index.consolidate()
        assert index.query(C, B, f"{typed} ", lang="eng", limit=100) == pushed.objects
        kin = next(family for family in FAMILIES if typed in family)
        holders = {str(number) for number, word in enumerate(words) if not kin.isdisjoint(found_tokens(word, typed))}
        assert holders == set(pushed.objects)


def found_tokens(word: str, typed: str) -> list[str]:
    """Return the tokens of a compound by which a form can find it."""
    parts = re.split(r"(?<=[a-z])[.:](?=\d)|(?<=\d)[.:](?=[a-z])", word)  # words of their own: UAX #29, WB6 to WB12
    if len(parts) > 1:
        return [token for part in parts for token in found_tokens(part, typed)]
    first, *more = re.split("[._:]", word)
    return [token for token in more if token != first] if more and first == UNLIKE_ITS_STEM != typed else [first, *more]


def test_a_misspelt_word_is_not_cut_at_a_rare_piece_of_two_letters(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        index.push_many(
            [("meant", "old saying"), ("apart", "say ng"), *((f"o{number}", "say so") for number in range(1_500))],
            collection="c",
            bucket="b",
        )
        assert index.query("c", "b", "sayng ", limit=1) == ["meant"]
        assert index.query("c", "b", "sayso ", total=True, limit=1).total == 1_500, "two common words"


def test_very_many_joined_words_are_searched_up_to_a_limit(tmp_path: Path) -> None:
    with sonicpy.open(tmp_path) as index:
        words = [f"user_{number:05}" for number in range(JOINED_MAX + 500)]
        texts = [" ".join(words[at : at + 100]) for at in range(0, len(words), 100)]
        index.push_many([(f"o{number:03}", text) for number, text in enumerate(texts)], collection=C, bucket=B)
        index.push(C, B, "short", "user_1 login")
        index.consolidate()

        assert index.query(C, B, "user ", total=True, limit=1).total == JOINED_MAX // 100 + 1
        assert index.query(C, B, "user login ", limit=1) == ["short"], "the shortest ones count"


@pytest.mark.parametrize("typed", ["cafe", "café", "cafè"])
def test_a_first_part_with_accents_is_found_as_pushed_and_later(tmp_path: Path, typed: str) -> None:
    with sonicpy.open(tmp_path) as index:
        others = [(f"o{number}", f"zz{number:05}q") for number in range(1_200)]
        index.push_many(others, collection=C, bucket=B)
        index.push(C, B, "joined", "café_bar lisbon")
        index.push(C, B, "alone", "cafe x")
        index.push(C, B, "other", "cafés_bar cafébar_x caféteria lisbon")
        pushed = index.query(C, B, f"{typed} lisbon ", match="all")
        index.consolidate()

        assert pushed == index.query(C, B, f"{typed} lisbon ", match="all")
        assert pushed[0] == "joined"
        assert "other" not in pushed


@pytest.mark.parametrize(
    ("text", "query"),
    [("wifi router", "+wifirouter"), ("my e-mail", "+email"), ("wifi router", "router AND wifirouter")],
)
@pytest.mark.parametrize("end", ["", " "])
def test_a_sign_before_a_word_that_is_written_apart(text: str, query: str, end: str) -> None:
    with sonicpy.open(":memory:") as index:
        index.push(C, B, "o", text)
        assert index.query(C, B, query + end, syntax="web") == ["o"]


def test_a_signed_word_that_is_being_typed_is_completed_but_has_no_synonyms() -> None:
    with sonicpy.open(":memory:") as index:
        index.set_synonyms(C, ["tv, television"])
        index.push(C, B, "set", "tvset")
        index.push(C, B, "other", "television")
        assert index.query(C, B, "+tv", syntax="web") == ["set"]
        assert sorted(index.query(C, B, "tv", syntax="web")) == ["other", "set"]
