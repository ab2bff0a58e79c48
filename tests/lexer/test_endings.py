"""Light stemmers: forms get the same stem, other words do not, and each stemmer removes the longest ending in its
table.
"""

import pytest

from sonicpy.lexer.endings import ENDINGS, Endings
from sonicpy.lexer.stemmers import Stemmers

MEET = {
    "belarusian": ["кніга кнігі кнігу кнігай", "горад горада гораду горадам", "новы новая новага новых"],
    "bengali": ["বই বইটি বইয়ের", "মানুষ মানুষের মানুষকে মানুষদের", "নেতা নেতারা নেতার নেতাদের"],
    "bulgarian": ["книга книгата книги книгите", "град градът градове градовете", "нов нова новият новите"],
    "hebrew": ["ספר ספרים ספריהם ספרו", "מלך מלכים מלכה מלכות", "ילד ילדים ילדה ילדות ילדיו"],
    "icelandic": ["hestur hestar hestinum hestsins", "bók bókin bókina bókum"],
    "korean": [
        "학교 학교에서 학교는 학교를 학교의 학교에서는",
        "책 책을 책은 책이다 책에서",
        "한국어 한국어를 한국어로 한국어와 한국어까지",
        "사람 사람들 사람이 사람들에게 사람과",
        "검색 검색하다 검색합니다 검색했습니다",
    ],
    "latvian": ["grāmata grāmatas grāmatu grāmatām", "māja mājas mājām mājā", "liels liela lielas lieli lielos"],
    "macedonian": ["книга книгата книги книгите", "град градот градови градовите"],
    "slovak": ["kniha knihy knihu knihami knihách", "žena ženy ženu ženou", "nový nová nového novým"],
    "slovene": ["knjiga knjige knjigo knjigami", "mesto mesta mestu mestom", "nov nova novega novih"],
    "ukrainian": ["книга книги книгу книгою книзі", "місто міста місту містом", "новий нова нового новим новими"],
    "urdu": ["کتاب کتابیں کتابوں", "لڑکا لڑکے لڑکوں لڑکی", "آنکھ آنکھیں آنکھوں"],
}
APART = {
    "belarusian": "кніга горад вада",
    "bengali": "বই মানুষ নেতা",
    "bulgarian": "книга град вода жена",
    "hebrew": "ספר מלך ילד שולחן",
    "icelandic": "hestur bók vatn hús",
    "korean": "사과 사람 가을 마을 서울 오이 아이 나무 학교",
    "latvian": "grāmata māja ūdens",
    "macedonian": "книга град вода",
    "slovak": "kniha žena mesto voda",
    "slovene": "knjiga žena mesto voda",
    "ukrainian": "книга місто вода жінка",
    "urdu": "کتاب لڑکا آنکھ",
}


@pytest.mark.parametrize("language", MEET)
def test_forms_meet_and_other_words_do_not(language: str) -> None:
    stem_words = Stemmers()[language]
    for forms in MEET[language]:
        assert len(set(stem_words(forms.split()))) == 1, (forms, stem_words(forms.split()))
    others = APART[language].split()
    assert len(set(stem_words(others))) == len(others)


def test_every_table_is_tried() -> None:
    assert MEET.keys() == APART.keys() == ENDINGS.keys()


def test_the_longest_ending_goes_and_enough_is_left() -> None:
    endings = Endings("ya", "s es ses", least=3, changed="k>c", doubled="n")
    for word, stem in {
        "houses": "hou", "boxes": "box", "cats": "cat", "as": "as", "ases": "ase", "catsya": "cat", "runns": "run",
        "look": "looc", "ok": "ok", "": "",
    }.items():  # fmt: skip
        assert endings.stem(word) == stem, word


@pytest.mark.parametrize("language", sorted(name for name, table in ENDINGS.items() if isinstance(table, Endings)))
def test_a_stem_begins_the_word_but_for_its_last_letter(language: str) -> None:
    words = [word for forms in MEET[language] for word in forms.split()]
    for word, stem in zip(words, Stemmers()[language](words), strict=True):
        assert word.startswith(stem[:-1]) and len(stem) >= 2


@pytest.mark.parametrize("word", ["", "에", "에서", "a", "을", "책", "ab을", "1을", "은은", "\ud55c\u11ab는"])
def test_korean_leaves_something(word: str) -> None:
    stem = ENDINGS["korean"].stem(word)
    assert word.startswith(stem) and bool(stem) == bool(word)
