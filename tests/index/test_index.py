"""Index as a library: changes and answers, names, counts, and the life of the folder."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import sonicpy
from sonicpy import Config, Index
from sonicpy.errors import CommandError, StoreError, StoreLocked
from sonicpy.store.changing.mutations import PushTerms
from tests.index.shorthand import B, C, contents, found, open_index, push


def test_push_query_pop_flush(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "o:1", "Valérianes poussent ici")
        push(index, "o:2", "valérianes")
        push(index, "o:2", "fleurissent")
        assert found(index, "VALÉRIANES") == ["o:2", "o:1"]
        assert found(index, "poussent") == ["o:1"]
        assert index.pop(C, B, "o:2", "fleurissent jamais") == 1
        assert found(index, "fleurissent") == []
        assert index.pop(C, B, "o:9", "valérianes") == 0
        assert index.flush_object(C, B, "o:1") == 3
        assert index.flush_object(C, B, "o:1") == 0
        assert found(index, "valérianes") == ["o:2"]
        assert contents(index) == {"valérianes": {"o:2"}}


def test_the_same_text_twice_changes_nothing(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "old", "eins zwei")
        push(index, "new", "eins zwei")
        before = found(index, "eins zwei")
        push(index, "old", "zwei eins")
        assert found(index, "eins zwei") == before == ["new", "old"]


def test_an_object_that_loses_its_last_word_is_gone(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "o", "eins zwei")
        assert index.pop(C, B, "o", "eins zwei drei") == 2
        assert (index.count_objects(C, B), index.count_object_words(C, B, "o")) == (0, 0)
        assert index.flush_object(C, B, "o") == 0


def test_an_object_without_words_counts(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        push(index, "o", "...")
        assert (index.count_objects(C, B), index.count_object_words(C, B, "o"), index.count_words(C, B)) == (1, 0, 0)
        assert found(index, "...") == []


def test_scopes_do_not_mix(tmp_path: Path) -> None:
    scopes = [("a", "b"), ("a", "b2"), ("a2", "b"), ("A", "b"), ("a\0b", "c"), ("a", "b\0c"), ("b", "a")]
    with open_index(tmp_path) as index:
        for number, scope in enumerate(scopes):
            index.push(*scope, "o", f"gemeinsam eigenes{'abcdefg'[number]}", "none")
        for number, scope in enumerate(scopes):
            assert index.query(*scope, "gemeinsam") == ["o"]
            assert index.words(*scope) == sorted([f"eigenes{'abcdefg'[number]}", "gemeinsam"])
        assert index.flush_bucket("a", "b") == 1
        assert index.flush_bucket("a", "b") == 0
        assert index.flush_bucket("a", "never") == 0
        assert index.query("a", "b", "gemeinsam") == []
        assert (index.count_buckets("a"), index.engine.count_scopes()) == (2, len(scopes) - 1)
        assert index.flush_collection("a") == 1
        assert index.flush_collection("a") == 0
        assert (index.count_buckets("a"), index.count_buckets("a2"), index.engine.count_scopes()) == (
            0,
            1,
            len(scopes) - 3,
        )
        index.push("a", "b", "o", "neu", "none")
        assert index.words("a", "b") == ["neu"], "nothing of the old bucket comes back"


WRONG_NAMES = ["", "a" * 129, "a\u00a0", "a b", "a\tb", "a\n", "a\r", "\x0b", "a\u2003b", "\udc80"]
GOOD_NAMES = ["a" * 128, "LIMIT(1)", '"quoted"', "../../etc/passwd", "\\"]
GOOD_OBJECTS = ["ä", "é" * 64, "东京:1", "👩\u200d👩\u200d👧", "e\u0301", "שלום"]
WRONG_OBJECTS = ["\0", "\x1c", "\x7f", "\x85", "a\u2028", "\u3000", "é" * 64 + "x", "\ud800"]
"""Names of objects that are refused in the default mode."""


@pytest.mark.parametrize("name", WRONG_NAMES, ids=ascii)
def test_wrong_names(tmp_path: Path, name: str) -> None:
    with open_index(tmp_path) as index:
        for call, code in (
            (lambda: index.push(name, B, "o", "text"), "InvalidCollection"),
            (lambda: index.push(C, name, "o", "text"), "InvalidBucket"),
            (lambda: index.push(C, B, name, "text"), "InvalidObject"),
            (lambda: index.pop(C, B, name, "text"), "InvalidObject"),
            (lambda: index.query(name, B, "text"), "InvalidCollection"),
            (lambda: index.query(C, name, "text"), "InvalidBucket"),
            (lambda: index.suggest(C, name, "text"), "InvalidBucket"),
            (lambda: index.words(name, B), "InvalidCollection"),
            (lambda: index.flush_collection(name), "InvalidCollection"),
            (lambda: index.flush_bucket(C, name), "InvalidBucket"),
            (lambda: index.flush_object(C, B, name), "InvalidObject"),
            (lambda: index.count_buckets(name), "InvalidCollection"),
            (lambda: index.count_words(C, name), "InvalidBucket"),
            (lambda: index.count_objects(C, name), "InvalidBucket"),
            (lambda: index.count_object_words(C, B, name), "InvalidObject"),
        ):
            with pytest.raises(CommandError) as caught:
                call()
            assert (caught.value.code, caught.value.detail) == ("invalid_argument", code)
            assert str(caught.value).startswith(f"{code.removeprefix('Invalid').lower()} is ")
        assert index.engine.count_scopes() == 0


@pytest.mark.parametrize("name", GOOD_NAMES, ids=ascii)
def test_good_names(tmp_path: Path, name: str) -> None:
    with open_index(tmp_path) as index:
        index.push(name, name, name, "text", "none")
    with open_index(tmp_path) as index:
        assert index.query(name, name, "text") == [name]
        assert index.flush_object(name, name, name) == 1


@pytest.mark.parametrize("name", GOOD_OBJECTS, ids=ascii)
def test_objects_may_have_any_letters(tmp_path: Path, name: str) -> None:
    with open_index(tmp_path) as index:
        index.push(C, B, name, "text", "none")
        with pytest.raises(CommandError):
            index.push(name, B, "o", "text")
    with open_index(tmp_path) as index:
        assert index.query(C, B, "text") == [name] == index.objects(C, B)
        assert index.count(C, B, name) == 1 and index.exists(C, B, name)
        assert index.pop(C, B, name, "text") == 1
        assert index.verify() == []
    with (
        open_index(tmp_path / "compat", server__compat="sonic") as index,
        pytest.raises(CommandError, match="allowed are 1 to 128 ASCII characters without white space"),
    ):
        index.push(C, B, name, "text")


@pytest.mark.parametrize("name", WRONG_OBJECTS, ids=ascii)
def test_objects_have_no_control_characters(tmp_path: Path, name: str) -> None:
    with open_index(tmp_path) as index:
        with pytest.raises(CommandError, match="without white space and control characters, or a whole number"):
            index.push(C, B, name, "text")
        assert index.push_many([(name, "text")], collection=C, bucket=B).refused_count == 1
        assert index.buckets(C) == []


@pytest.mark.parametrize("name", ["a\x01b", "\0", "\x7f"], ids=ascii)
def test_old_names_with_control_characters_can_be_read_and_removed(tmp_path: Path, name: str) -> None:
    with open_index(tmp_path) as index:
        index.push(C, B, "o", "alter text", "none")
        terms = index._engine.lexer.lex_push("alter text", "none")
        index._engine.apply(PushTerms(C, B, name, terms, rules=8))  # as an older version did
    with open_index(tmp_path) as index:
        assert sorted(index.query(C, B, "alter")) == sorted([name, "o"])
        assert name in index.objects(C, B) and index.exists(C, B, name) and index.count(C, B, name) == 2
        assert index.pop(C, B, name, "alter") == 1
        assert index.flush(C, B, name) == 1
        assert index.objects(C, B) == ["o"]
    with open_index(tmp_path / "compat", server__compat="sonic") as index:
        index.push(C, B, name, "text", "none")
        assert index.exists(C, B, name)


def test_whole_numbers_are_names(tmp_path: Path) -> None:
    class Number:
        def __index__(self) -> int:
            return 9

    with open_index(tmp_path) as index:
        for given, name in ((7, "7"), (-1, "-1"), (0, "0"), (8.0, "8"), (2**70, str(2**70)), (Number(), "9")):
            index.push(C, B, given, "zahl", "none")
            assert index.exists(C, B, given) and index.exists(C, B, name)
            assert index.count(C, B, given) == index.count_object_words(C, B, name) == 1
        assert index.objects(C, B) == ["7", "-1", "0", "8", str(2**70), "9"]
        assert index.objects(C, B, after=8) == [str(2**70), "9"]
        assert index.pop(C, B, 7, "zahl") == 1
        assert index.flush(C, B, -1) == index.flush_object(C, B, 0) == 1
        assert index.objects(C, B, limit=1) == ["8"]
        index.push_terms(C, B, 10, {"wort": 1})
        assert index.query(C, B, "wort") == ["10"]


def test_a_lone_surrogate_is_refused(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        for call in (
            lambda: push(index, "o", "vor \udc80 nach", lang=None),
            lambda: push(index, "o", "\ud800"),
            lambda: index.pop(C, B, "o", "\udfff"),
            lambda: found(index, "wort \udc80"),
            lambda: index.suggest(C, B, "wo\udc80"),
        ):
            with pytest.raises(CommandError, match=r"text is not Unicode: character \d is a lone surrogate") as caught:
                call()
            assert caught.value.code == "invalid_format"
        assert index.count_objects(C, B) == 0


@pytest.mark.parametrize("text", ["", "..."])
def test_suggest_wants_a_word(tmp_path: Path, text: str) -> None:
    with open_index(tmp_path) as index:
        push(index, "o", "zwei worte")
        with pytest.raises(CommandError, match="^word holds no word; allowed is a word$") as caught:
            index.suggest(C, B, text)
        assert (caught.value.code, caught.value.detail) == ("query_error", None)


def test_suggest_in_alphabetical_order_wants_one_word() -> None:
    with sonicpy.open(":memory:", {"search": {"suggest_order": "alphabetical"}}) as index:
        index.push(C, B, "o", "zwei worte")
        assert index.suggest(C, B, "wor") == ["worte"]
        for text, reason in (("", "no word;"), ("zwei wor", "more than one word, and search.suggest_order is alph")):
            with pytest.raises(CommandError, match=f"^word holds {reason}"):
                index.suggest(C, B, text)


def test_pages(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        for number in range(25):
            push(index, f"o{number}", "gemeinsam")
        whole = [f"o{number}" for number in reversed(range(25))]
        assert found(index, "gemeinsam") == whole
        assert [oid for offset in range(0, 30, 7) for oid in found(index, "gemeinsam", 7, offset)] == whole
        assert found(index, "gemeinsam", 10, 24) == ["o0"]
        assert found(index, "gemeinsam", 10, 25) == []
        assert found(index, "gemeinsam", 10, 2**32 - 1) == []
        words = [f"wort{letter}" for letter in "abcdefghij"]
        push(index, "words", " ".join(words))
        assert [index.words(C, B, limit=3, offset=offset) for offset in (0, 3, 9, 12)] == [
            ["gemeinsam", "worta", "wortb"], words[2:5], words[8:10], [],
        ]  # fmt: skip


def test_unknown_places_are_empty(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        assert (found(index, "nichts"), index.suggest(C, B, "nichts"), index.words(C, B)) == ([], [], [])
        assert (index.count_buckets(C), index.count_words(C, B), index.count_objects(C, B)) == (0, 0, 0)
        assert index.pop(C, B, "o", "nichts") == 0
        assert (index.flush_object(C, B, "o"), index.flush_bucket(C, B), index.flush_collection(C)) == (0, 0, 0)
        assert index.engine.count_scopes() == 0, "asking makes nothing"


def test_words_that_are_long(tmp_path: Path) -> None:
    """Words above 50 letters are found and find others; words of any length are never mixed up."""
    long = ["a" * 51, "a" * 466 + "b" * 40, "a" * 466 + "c" * 40, "ä" * 5_000]
    with open_index(tmp_path) as index:
        push(index, "short", "a" * 50)
        for number, word in enumerate(long):
            push(index, f"o{number}", word)
        for number, word in enumerate(long):
            assert found(index, word) == [f"o{number}"]
        assert index.words(C, B) == ["a" * 50]
        assert index.count_words(C, B) == 1
        assert index.suggest(C, B, "a" * 161) == []
        assert index.pop(C, B, "o2", long[2]) == 1
        assert found(index, long[1]) == ["o1"]


class TestLife:
    def test_what_was_pushed_is_there_after_closing(self, tmp_path: Path) -> None:
        for turn in range(3):
            with open_index(tmp_path) as index:
                push(index, f"o{turn}", f"gemeinsam eigenes{'abc'[turn]}")
        with open_index(tmp_path) as index:
            assert contents(index) == {
                "gemeinsam": {"o0", "o1", "o2"}, "eigenesa": {"o0"}, "eigenesb": {"o1"}, "eigenesc": {"o2"},
            }  # fmt: skip

    def test_an_error_inside_the_block_closes_too(self, tmp_path: Path) -> None:
        with pytest.raises(ZeroDivisionError), open_index(tmp_path) as index:
            push(index, "o", "geblieben")
            raise ZeroDivisionError
        with open_index(tmp_path) as index:
            assert found(index, "geblieben") == ["o"]

    def test_a_second_index_on_the_folder_is_refused(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            with pytest.raises(StoreLocked, match="already open for writing by process"):
                open_index(tmp_path)
            push(index, "o", "weiter")
            assert found(index, "weiter") == ["o"]
        open_index(tmp_path).close()

    def test_the_folder_of_the_settings(self, tmp_path: Path) -> None:
        config = Config.model_validate({"store": {"kv": {"path": str(tmp_path / "deep" / "down")}}})
        with Index(config=config) as index:
            push(index, "o", "hier")
        with Index(str(tmp_path / "deep" / "down")) as index:
            assert found(index, "hier") == ["o"]

    @pytest.mark.parametrize(
        ("key", "value", "shown"),
        [
            ("normalization__diacritic_folding_enabled", True, "normalization.diacritic_folding_enabled = false"),
            ("normalization__unicode_normalization", "none", "normalization.unicode_normalization = nfkc"),
            ("normalization__stemming_enabled", True, "normalization.stemming_enabled = false"),
            ("tokenization__detect_special_patterns", False, "tokenization.detect_special_patterns = true"),
            ("stopwords__mode", "drop", "stopwords.mode = weigh"),
        ],
    )
    def test_settings_that_cut_texts_may_not_change(self, tmp_path: Path, key: str, value: object, shown: str) -> None:
        open_index(tmp_path).close()
        with pytest.raises(StoreError) as caught:
            open_index(tmp_path, **{key: value})
        assert shown in str(caught.value)
        assert str(caught.value).endswith("; set it back, or push the texts again into a new store")
        open_index(tmp_path).close()

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("search__ranking", "newest"),
            ("search__suggest_order", "alphabetical"),
            ("search__live_words", False),
            ("stopwords__allow", ["eins"]),
            ("stopwords__deny", ["zwei"]),
            ("store__kv__retain_word_objects", 5),
            ("store__kv__durability", "commit"),
        ],
    )
    def test_other_settings_may(self, tmp_path: Path, key: str, value: object) -> None:
        with open_index(tmp_path) as index:
            push(index, "o", "eins")
        with open_index(tmp_path, **{key: value}) as index:
            push(index, "p", "eins")
            assert found(index, "eins") == ["p", "o"]


class TestBatch:
    def test_changes_are_seen_inside_and_kept(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            with index.batch() as same:
                assert same is index
                for number in range(1_200):
                    push(index, f"o{number}", f"gemeinsam wort{number}")
                    if number % 300 == 0:
                        assert found(index, f"wort{number}") == [f"o{number}"]
            assert index.count_objects(C, B) == 1_200
        with open_index(tmp_path) as index:
            assert len(found(index, "gemeinsam", 2_000)) == 1_200
            assert index.count_objects(C, B) == 1_200

    def test_batches_may_nest(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            with index.batch():
                push(index, "a", "eins")
                with index.batch():
                    push(index, "b", "eins")
                push(index, "c", "eins")
            assert index.engine.store.uncommitted == 0
            assert found(index, "eins") == ["c", "b", "a"]

    def test_a_batch_inside_another_one_shows_other_threads_nothing(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index, ThreadPoolExecutor(1) as thread:

            def seen() -> list[str]:
                return thread.submit(found, index, "eins").result()

            push(index, "a", "eins")
            with index.batch():
                push(index, "b", "eins")
                with index.batch():
                    push(index, "c", "eins")
                    assert seen() == ["a"]
                with pytest.raises(CommandError), index.batch():
                    push(index, "", "eins")
                assert index.flush(C, B, filter="missing") == 0
                assert seen() == ["a"]
            assert seen() == ["c", "b", "a"]

    def test_an_error_keeps_what_was_done_before(self, tmp_path: Path) -> None:
        with open_index(tmp_path) as index:
            with pytest.raises(CommandError), index.batch():
                push(index, "a", "eins")
                push(index, "", "eins")
            push(index, "b", "eins")
        with open_index(tmp_path) as index:
            assert found(index, "eins") == ["b", "a"]


def test_flushed_rows_are_swept_away(tmp_path: Path) -> None:
    with open_index(tmp_path) as index:
        with index.batch():
            for number in range(2_000):
                push(index, f"o{number}", f"gemeinsam wort{number}")
        index.flush_bucket(C, B)
        assert index.engine.sweep(1), "much is left to delete"
        for number in range(40):  # the library sweeps a little with every change
            index.push(C, "other", f"o{number}", "eins", "none")
        assert not index.engine.has_dropped
        assert (index.count_objects(C, B), index.count_objects(C, "other")) == (0, 40)


def test_a_relative_folder_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Index("here") as index:
        index.push("c", "b", "o", "weather")
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        index.consolidate()
        assert index.suggest("c", "b", "wether") == ["weather"]
        assert (repr(index), index.stats()["folder"]) == ("<Index in here>", str(tmp_path / "here"))
    assert list((tmp_path / "elsewhere").iterdir()) == []
