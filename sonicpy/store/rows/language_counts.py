"""Counts of the texts of a bucket by language: a fact of the bucket, and the rule that decides its own languages.

The fact is text: "eng 120 +", a comma, and so on, by falling counts. The plus marks the languages of the bucket. Texts
are counted when they are pushed, and stay counted when they are removed: only the set of languages matters.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from sonicpy._native.varint import DamagedBytes

LANGUAGES: Final = 2
"""The kind of the fact that counts languages."""
LANGUAGES_MAX = 64
"""The most languages that are counted; a further one takes the place of the rarest."""
TEXTS_MIN = 8
SHARE_MIN, SHARE_LEFT = 20, 50
"""A language becomes a language of the bucket when TEXTS_MIN texts, and one text in SHARE_MIN, are in it; it remains
one while at least one text in SHARE_LEFT is in it.
"""


class LanguageCount(NamedTuple):
    """The count of texts in a language.

    Attributes:
        texts: the number of texts that were counted.
        is_own: whether the language is one of the bucket.
    """

    texts: int
    is_own: bool


def unpack_languages(fact: bytes | None) -> dict[str, LanguageCount]:
    """Return the counts of a fact, by language. Raises DamagedBytes."""
    found = {}
    try:
        for entry in fact.decode("ascii").split(",") if fact else ():
            code, texts, *own = entry.split(" ")
            found[code] = LanguageCount(int(texts), own == ["+"])
    except ValueError as error:
        raise DamagedBytes(f"the counts of the languages of a bucket cannot be read: {fact!r}") from error
    return found


def pack_languages(counted: dict[str, LanguageCount]) -> bytes:
    """Return counts as a fact."""
    entries = sorted(counted.items(), key=lambda entry: (-entry[1].texts, entry[0]))[:LANGUAGES_MAX]
    return ",".join(f"{code} {texts}{' +' if own else ''}" for code, (texts, own) in entries).encode("ascii")


def texts_of(languages: bytes) -> list[tuple[str, int]]:
    """Return each language of a change with its number of texts. `languages` is `eng` for one text, or, for several,
    such as `eng 12,deu 3`.
    """
    found = []
    for entry in languages.decode("ascii").split(","):
        code, _, texts = entry.partition(" ")
        found.append((code, int(texts or 1)))
    return found


def counted_texts(fact: bytes | None) -> str:
    """Return the counts of a fact in the form of a change, such as `eng 12,deu 3`; empty: no texts."""
    return ",".join(f"{code} {texts}" for code, (texts, _) in unpack_languages(fact).items())


def add_languages(fact: bytes | None, changes: Mapping[bytes, int]) -> bytes:
    """Return a fact with the texts of changes added.

    Args:
        changes: the languages of a change, in the form of `texts_of` -> the number of such changes.

    Raises:
        DamagedBytes: the fact cannot be read.
    """
    counted = unpack_languages(fact)
    for languages, times in changes.items():
        for code, texts in texts_of(languages):
            before = counted.get(code, LanguageCount(0, is_own=False))
            counted[code] = LanguageCount(before.texts + texts * times, before.is_own)
    return pack_languages(judged(counted))


def add_counted(facts: Iterable[bytes]) -> bytes:
    """Return the sum of the facts of the parts of a bucket. A language that is one of a part is one of the sum."""
    total: dict[str, LanguageCount] = {}
    for fact in facts:
        for code, (texts, own) in unpack_languages(fact).items():
            before = total.get(code, LanguageCount(0, is_own=False))
            total[code] = LanguageCount(before.texts + texts, before.is_own or own)
    return pack_languages(judged(total))


def judged(counted: dict[str, LanguageCount]) -> dict[str, LanguageCount]:
    """Return counts in which the present languages of the bucket are marked."""
    total = sum(texts for texts, _ in counted.values())
    return {
        code: LanguageCount(texts, texts * SHARE_LEFT >= total if own else texts >= max(TEXTS_MIN, total / SHARE_MIN))
        for code, (texts, own) in counted.items()
    }


@lru_cache(1_024)
def languages_in(fact: bytes) -> tuple[str, ...]:
    """Return the languages of a bucket from its fact, the most frequent one first."""
    return tuple(code for code, (_, own) in unpack_languages(fact).items() if own)
