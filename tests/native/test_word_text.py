"""Words that contain some letters, in a graph and among pending words as one text, compared with a loop over words."""

from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.word_text import words_holding
from sonicpy.graph.pending import PendingWords
from sonicpy.graph.word_graph import WordGraph
from tests.graph.graphs import graph_of

LETTERS = st.text("abé京", min_size=1, max_size=6).map(str.encode)


def text_of(words: list[bytes]) -> bytes:
    return b"".join(word + b"\n" for word in words)


@given(words=st.lists(LETTERS, max_size=30, unique=True), letters=st.text("abé京", max_size=3), most=st.integers(0, 40))
def test_the_words_that_hold_letters(words: list[bytes], letters: str, most: int) -> None:
    wanted = letters.encode()
    expected = [word for word in words if wanted and wanted in word][:most]
    assert words_holding(text_of(words), wanted, most) == expected
    assert words_holding(bytearray(text_of(words)), wanted, most) == expected


@given(words=st.lists(LETTERS, max_size=30, unique=True))
def test_the_text_of_a_graph_has_all_its_words(words: list[bytes]) -> None:
    graph = graph_of(sorted(words))
    assert isinstance(graph, WordGraph)
    assert graph.text == text_of(graph.words(0, -1)) == text_of(sorted(words))


@given(pages=st.lists(st.lists(LETTERS, max_size=5), max_size=5))
def test_the_text_of_pending_words_grows_with_them(pages: list[list[bytes]]) -> None:
    source: list[bytes] = []
    pending = PendingWords(source)
    for words in pages:
        source += words
        pending.refresh()
        assert set(pending.text().splitlines()) == set(source)
