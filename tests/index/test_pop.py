"""POP of a text removes the words that PUSH of the same text stored, whatever language the text has or was given."""

import random
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sonicpy import Index
from sonicpy.errors import CommandError
from sonicpy.lexer.languages import LANGUAGES
from tests.index.extras import needs_extras, opened
from tests.index.shorthand import B, C, found, open_index, push
from tests.support.examples import examples, thinned
from tests.support.shared_data import shared_data

buckets = count()

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "stemming": {"normalization__stemming_enabled": True},
    "diacritics": {"normalization__diacritic_folding_enabled": True},
    "drop": {"stopwords__mode": "drop"},
    "whole patterns": {"tokenization__compat_split_special_patterns": False},
    "compat": {"server__compat": "sonic"},
    "compat, stemming": {"server__compat": "sonic", "normalization__stemming_enabled": True},
    "compat, diacritics": {"server__compat": "sonic", "normalization__diacritic_folding_enabled": True},
}
IN_THE_GATE = {"default", "stemming", "compat"}
CODES = [language.code for language in LANGUAGES]


def real_sentences(each: int) -> list[tuple[str | None, str]]:
    """Return (code or None, sentence) for all languages, spread over the files."""
    by_language: dict[str, list[str]] = {}
    for line in shared_data("multilingual/sentences.tsv").read_text(encoding="utf-8").splitlines():
        language, _, _, text = line.split("\t")
        by_language.setdefault(language, []).append(text)
    for name, language in (("ja", "jpn"), ("ko", "kor"), ("th", "tha"), ("zh", "cmn"), ("zh_hant", "cmn")):
        lines = shared_data(f"cjk/{name}.tsv").read_text(encoding="utf-8").splitlines()
        by_language[f"{language}, {name}"] = [line.split("\t")[1] for line in lines]
    chosen = []
    for language, texts in sorted(by_language.items()):
        many = 8 * each if "," in language else each
        code = language[:3] if language[:3] in CODES else None
        chosen += [(code, text) for text in texts[1 :: max(1, len(texts) // many)][:many]]
    return chosen


@pytest.mark.parametrize("with_extras", [pytest.param(True, marks=needs_extras), False], ids=["extras", "bare"])
@pytest.mark.parametrize(
    "chosen",
    [
        pytest.param(SETTINGS[name], id=name, marks=[] if name in IN_THE_GATE else [pytest.mark.full])
        for name in SETTINGS
    ],
)
def test_pop_takes_away_what_push_of_the_same_text_stored(
    tmp_path: Path, chosen: dict[str, Any], with_extras: bool
) -> None:
    """POP removes these words for any language of the text, given or guessed."""
    chance = random.Random(1)
    left = []
    with opened(tmp_path, with_extras, **chosen) as index, index.batch():
        for number, (code, text) in enumerate(thinned(real_sentences(1), with_extras)):
            for lang in (code, None, "none", chance.choice(CODES), "cmn"):
                push(index, "o", text, lang)
                index.pop(C, B, "o", text)
                if index.count_objects(C, B) or index.count_object_words(C, B, "o") or found(index, text, lang=lang):
                    left.append((number, lang, text))
                    index.flush_object(C, B, "o")
    assert not left, f"{len(left)} times, for example {left[:2]}"


LETTERS_OF_ALL = "aéñßσς1 .-@_'ñжйا\u064eא\u05b4कि중국中文字かガｶﾞがกำี่ພາ\u1780\u17d2\u1000\u0301\u3099３Ａ"


@pytest.fixture(scope="module", params=["default", "compat", "stemming"])
def any_index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with open_index(tmp_path_factory.mktemp("pop"), **SETTINGS[request.param]) as opened:
        yield opened


@settings(deadline=None, max_examples=examples(120))
@given(st.text(LETTERS_OF_ALL, max_size=30), st.sampled_from([None, "none", "eng", "cmn", "jpn", "tha", "deu", "heb"]))
@example("don't", "cmn")
def test_pop_takes_away_any_text(any_index: Index, text: str, lang: str | None) -> None:
    bucket = f"b{next(buckets)}"
    any_index.push(C, bucket, "o", text, lang)
    words = any_index.count_object_words(C, bucket, "o")
    assume(words)
    assert any_index.pop(C, bucket, "o", text) == words
    assert any_index.count_objects(C, bucket) == 0
    assert any_index.words(C, bucket) == []


@pytest.mark.parametrize("lang", ["xyzw", "x", "", "None"])
@pytest.mark.parametrize("chosen", [{}, SETTINGS["stemming"]], ids=["default", "stemming"])
def test_a_language_that_is_none_is_refused(tmp_path: Path, chosen: dict[str, Any], lang: str) -> None:
    with open_index(tmp_path, **chosen) as index:
        with pytest.raises(CommandError):
            push(index, "o", "the dogs", lang)
        with pytest.raises(CommandError):
            found(index, "the dogs", lang=lang)
        assert index.count_objects(C, B) == 0


@pytest.mark.parametrize("mode", ["default", "compat"])
def test_pop_leaves_objects_that_hold_no_words(tmp_path: Path, mode: str) -> None:
    chance, held = random.Random(8), dict[str, set[str]]()
    with open_index(tmp_path, **SETTINGS[mode]) as index:
        for _ in range(300):
            name, words = (
                f"o{chance.randrange(6)}",
                set(chance.sample("amber birch cedar".split(), chance.randrange(3))),
            )
            if chance.random() < 0.5:
                index.push(C, B, name, " ".join(words) or "...", "none")
                held.setdefault(name, set()).update(words)
            else:
                had = held.get(name, set())
                assert index.pop(C, B, name, " ".join(words) or "...") == len(had & words)
                if had and had <= words:
                    del held[name]
                else:
                    had -= words
            if mode == "default":
                assert set(index.iterate_objects(C, B)) == held.keys()
        assert index.verify() == []


def test_pop_deletes_objects_that_hold_no_words_in_buckets_of_version_1_0(tmp_path: Path) -> None:
    """A node of version 1.0 and a newer one of the same cluster have to agree about them."""
    with open_index(tmp_path) as index:
        for name in ("o1", "o2"):
            index.push_terms(C, B, name, {}, rules=1)
        assert index.pop(C, B, "o1", "amber") == 0
        assert list(index.iterate_objects(C, B)) == ["o2"]
