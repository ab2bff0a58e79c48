"""Words of Chinese and Japanese text by dictionary: of Japanese with the extra [ja] (fugashi with unidic-lite).

The first text that needs a dictionary loads it; that of Chinese is part of sonicpy, and mapped. The run of letters
alone decides which dictionary cuts it, not the language of the text, so the same run gives the same words at PUSH, POP
and QUERY.
"""

import importlib
import importlib.util
import mmap
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

from sonicpy.data import CHINESE_WORDS

if TYPE_CHECKING:
    from sonicpy._native.chinese_words import ChineseWords

Segmenter = Callable[[str], list[str]]

CHINESE = "extras.zh"
"""The key of the analyser that notes whether Chinese is cut into words; an extra decided that in 1.0."""

find_spec = cache(importlib.util.find_spec)
"""importlib's find_spec, called once a process and module: an exception of a signal handler inside it may leave the
import lock held."""

HIRAGANA_TO_KATAKANA = ("\u3041", "\u30ff")
HAN = (("\u3400", "\u9fff"), ("\uf900", "\ufaff"), ("\U00020000", "\U000323af"))

PART_CHARACTERS = 1_000
"""The most characters of a part: longer texts are cut into parts, because dictionaries take more than linear time."""

LINE_CHARACTERS = 20_000
"""The most characters of a text that jieba cuts as a whole in compat mode, in milliseconds: a line of the channel has
no more."""


class Segmenters:
    """The dictionaries, each loaded for the first text that needs it.

    Args:
        has_zh: whether Chinese is cut into words; if not, by letters, as in stores made without the extra [zh] of 1.0.
        has_ja: whether Japanese is cut into words; None: if the extra [ja] is installed.
    """

    def __init__(self, *, has_zh: bool = True, has_ja: bool | None = None) -> None:
        self.has_zh = has_zh
        self.has_ja = has_ja if has_ja is not None else all(map(find_spec, ("fugashi", "unidic_lite")))
        self._zh: Segmenter | None = None
        self._ja: Segmenter | None = None

    def words_of_run(self, run: str) -> list[str]:
        """Return the words of a run of letters without blanks; none if no installed dictionary covers its script."""
        if any(HIRAGANA_TO_KATAKANA[0] <= char <= HIRAGANA_TO_KATAKANA[1] for char in run):
            return self.japanese(run) if self.has_ja else []
        if self.has_zh and any(first <= char <= last for char in run for first, last in HAN):
            return self.chinese(run)
        return []

    def chinese(self, text: str) -> list[str]:
        """Return the pieces of a Chinese text by the default dictionary of jieba, without guesses at new words."""
        return [piece for part in parts(text) for piece in self._cut_chinese(part)]

    def chinese_text(self, text: str) -> list[str]:
        """Return the pieces of a whole text, not only of its Chinese runs, as Sonic cuts it."""
        return [piece for part in parts(text, LINE_CHARACTERS) for piece in self._cut_chinese(part)]

    def _cut_chinese(self, part: str) -> list[str]:
        if self._zh is None:
            self._zh = chinese_words().cut
        return self._zh(part)

    def japanese(self, text: str) -> list[str]:
        """Return the pieces of a Japanese text by the dictionary of unidic-lite."""
        if self._ja is None:
            fugashi: Any = importlib.import_module("fugashi")
            tagger = fugashi.Tagger("-Owakati")
            self._ja = lambda text: [word for part in parts(text) for word in tagger.parse(part).split()]
        return self._ja(text)

    def in_use(self) -> dict[str, str]:
        """Return, for each dictionary, whether it is in use, because the terms of a text depend on that."""
        return {CHINESE: str(self.has_zh), "extras.ja": str(self.has_ja)}


@cache
def chinese_words() -> "ChineseWords":
    """Return the dictionary of Chinese words, of whose file processes share the pages."""
    from sonicpy._native.chinese_words import ChineseWords  # noqa: PLC0415  loaded when it is needed

    with CHINESE_WORDS.open("rb") as file:
        return ChineseWords(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))


def parts(text: str, characters: int = PART_CHARACTERS) -> list[str]:
    """Return the text in parts of at most `characters` characters."""
    return [text[start : start + characters] for start in range(0, len(text), characters)]
