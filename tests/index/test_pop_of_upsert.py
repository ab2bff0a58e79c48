"""POP of the text of an UPSERT, which stores one blank in the place of any white space."""

import pytest

import sonicpy

TEXTS = [
    "id 5\n10.0.0.17 up", "build 5\n10.0.0.17 is up", "Vive «\u202fC#\u202f»", "cat\x1c.NET",
    "1\u00a02\t3\u300010.1.2.3",
    "call 030\n123 45\u202f67", "İ\nI 5\t.NET",
]  # fmt: skip


@pytest.mark.parametrize("lang", [None, "tur", "none"])
@pytest.mark.parametrize("text", TEXTS)
def test_pop_leaves_nothing(text: str, lang: str | None) -> None:
    with sonicpy.open(":memory:") as index:
        index.upsert("c", "b", "o", text, lang)
        index.pop("c", "b", "o", text)
        assert (index.words("c", "b"), index.exists("c", "b", "o")) == ([], False)
