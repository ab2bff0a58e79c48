"""The known endings of the stemming algorithms, compared with their stems."""

import itertools
import re
from collections.abc import Iterable
from string import ascii_lowercase

import pytest
import Stemmer

from sonicpy._native.stem_ends import StemEnds
from sonicpy.index.search.stem_ends import stem_ends
from tests.support.shared_data import shared_data

WORDS = {
    "english": "hop carri gener arsen skiing relat nation argu die control agree happi organ use capab",
    "french": "chev trist appliqu essay present heureu contin abandonn majest nota finir mang",
    "german": "haus arbeit freund gluck muell kategor sicher sammel aufeinander bew",
    "italian": "pronunci presen abbandon cit notabil propag amich bell finisc rapid",
    "portuguese": "presen quil bob chav falar notavel reun organiz cit",
    "spanish": "cheq presen toread organiz habl alegr vinagr notabl sigu",
}
"""Algorithm -> beginnings of words."""
ENDINGS = {
    "english": (
        "s es ies ed ing ly edly ingly eed ational tional enci anci abli entli izer ization alism aliti fulness"
        " ousli iveness iviti biliti bli ogi fulli lessli icate iciti ical ness ful al ance ence er ic able ible ant"
        " ement ment ent ism ate iti ous ive ize ion y"
    ),
    "french": (
        "s es e er ez ions ation atrice ateur logie usion ution ence ance ite ive if eux euse ment ement amment"
        " emment issement aux eaux ir issons era irai ais ait ant"
    ),
    "german": "e em en ern er es s st est end ung ig ik isch lich heit keit isse nisse erin",
    "italian": (
        "o a i e are ere ire ato ata ati ate ando endo anza anze ico ici abile ibile ista mente amente atore azione"
        " logia uzione usione enza ivo iva ita gli ci si lo la sene"
    ),
    "portuguese": (
        "o a os as ar er ir ado ada ando endo eza ico ica ismo avel ivel ista oso osa amento logia encia idade ivo"
        " iva mente amente aria eira ou iam"
    ),
    "spanish": (
        "o a os as ar er ir ado ada ando iendo anza ico ica ismo able ible ista oso osa amiento logia encia idad ivo"
        " iva mente amente aria yendo selo"
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("algorithm", WORDS)
def test_no_word_is_kept_from_its_stem(algorithm: str) -> None:
    endings = ENDINGS[algorithm].split()
    short = ["".join(letters) for length in (0, 1, 2) for letters in itertools.product(ascii_lowercase, repeat=length)]
    pairs = ["".join(pair) for pair in itertools.product(endings, repeat=2)]
    beginnings = " ".join(WORDS.values()).split()
    check(algorithm, (beginning + ending for beginning in beginnings for ending in (*short, *endings, *pairs)))


@pytest.mark.parametrize("some", [slice(0, None, 20), pytest.param(slice(None), marks=pytest.mark.full)])
@pytest.mark.parametrize("algorithm", WORDS)
def test_no_word_is_kept_from_a_stem_of_one_or_two_letters(algorithm: str, some: slice) -> None:
    letters = [*ascii_lowercase, *map("".join, itertools.product(ascii_lowercase, repeat=2))]
    endings = ENDINGS[algorithm].split()
    pairs = ["".join(pair) for pair in itertools.product(endings, repeat=2)]
    check(algorithm, (beginning + ending for beginning in letters[some] for ending in (*letters, *endings, *pairs)))


@pytest.mark.full
@pytest.mark.parametrize("algorithm", WORDS)
def test_no_word_is_kept_from_its_stem_by_longer_endings(algorithm: str) -> None:
    longer = ["".join(letters) for length in (3, 4) for letters in itertools.product(ascii_lowercase, repeat=length)]
    check(algorithm, (beginning + ending for beginning in WORDS[algorithm].split()[::3] for ending in longer))


@pytest.mark.full
@pytest.mark.parametrize("algorithm", WORDS)
def test_no_word_of_real_texts_is_kept_from_its_stem(algorithm: str) -> None:
    texts = [shared_data(name).read_text() for name in ("messages/messages.tsv", "words/freq_top2500_by_language.tsv")]
    check(algorithm, sorted(set(re.findall("[a-z]{1,40}", " ".join(texts).lower()))))


def check(algorithm: str, words: Iterable[str]) -> None:
    """Check the words that begin with their stem, or with all but its last letter."""
    by_stem: dict[str, list[str]] = {}
    written = list(words)
    for word, stem in zip(written, Stemmer.Stemmer(algorithm, 0).stemWords(written), strict=True):
        if stem.isascii() and len(word) >= len(stem) and word.startswith(stem[:-1]):
            by_stem.setdefault(stem, []).append(word)
    assert len(by_stem) > 100
    assert [(stem, some) for stem, some in by_stem.items() if may_have(algorithm, some, stem) != some] == []


def may_have(algorithm: str, words: list[str], stem: str) -> list[str]:
    ends = stem_ends(algorithm, stem)
    assert ends is not None
    return ends.may_have(words, stem)


def test_words_that_cannot_have_the_stem_are_left_out() -> None:
    words = ["pay", "pays", "paying", "payable", "payroll", "paid", "pa", "p", "paper", "paychecks", ""]
    assert may_have("english", words, "pay") == ["pay", "pays", "paying", "payable", "paid"], "paid: as said of y and i"
    assert may_have("english", ["carry", "carries", "carrot", "carr", "carri"], "carri") == [
        "carry",
        "carries",
        "carri",
    ]
    assert may_have("english", ["k", "ks", "kt", "l"], "k") == ["k", "ks"]


def test_letters_are_told_apart() -> None:
    ends = StemEnds(["", "ab", "c"], {"x": "yz"})
    assert ends.may_have(["x", "xab", "xabc", "xa", "xb", "xba", "xc", "xca", "y", "z", "w", "yab"], "x") == [
        "x", "xab", "xabc", "xc", "y", "z", "yab",
    ]  # fmt: skip


@pytest.mark.parametrize(("words", "stem"), [(["é"], "e"), (["e"], "é"), (["e"], "")])
def test_what_it_cannot_answer(words: list[str], stem: str) -> None:
    with pytest.raises(ValueError, match="not ASCII|empty stem"):
        may_have("english", words, stem)
