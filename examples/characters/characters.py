"""Find characters by their names: `python characters.py "snowmn" "heart black"`."""

import sys
import time
import unicodedata
from collections.abc import Iterator

import sonicpy

NUMBERED = ("CJK UNIFIED", "CJK COMPATIBILITY", "HANGUL SYLLABLE", "TANGUT", "NUSHU", "KHITAN", "EGYPTIAN HIEROGLYPH-")
"""The beginnings of names that are only a number or a sound."""


def characters() -> Iterator[tuple[str, str]]:
    """Yield (code, name) for each character whose name consists of words."""
    for code in range(sys.maxunicode + 1):
        name = unicodedata.name(chr(code), "")
        if name and not name.startswith(NUMBERED):
            yield f"U+{code:04X}", name.lower()


def main(texts: list[str]) -> None:
    """Index the names, and print the answers to the texts."""
    with sonicpy.open(":memory:") as index:
        names = dict(characters())
        bucket = index.bucket("unicode", "names")
        began = time.perf_counter()
        report = bucket.push_many(names.items(), lang="eng")
        print(f"{report.indexed} characters indexed in {time.perf_counter() - began:.2f} s")
        for text in texts:
            print(f"\n{text}")
            for code in bucket.query(text, limit=3, lang="eng"):
                print(f"  {chr(int(code[2:], 16))} {code} {names[code]}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["snowmn", "heart black", "degre cels"])
