"""Graphs of words for the tests in this folder, and letters of many scripts to make words of."""

import struct
from collections.abc import Iterable

from hypothesis import strategies as st

from sonicpy.graph.builder import WORD_BYTES_MAX, WordGraphBuilder
from sonicpy.graph.word_graph import WordGraph

HEADER_BYTES = 56

ALPHABETS = {
    "ascii": "abc",
    "cyrillic": "абв",
    "greek": "αβγ",
    "vietnamese, composed": "aếệ",
    "vietnamese, combining": "ae\N{COMBINING CIRCUMFLEX ACCENT}\N{COMBINING ACUTE ACCENT}\N{COMBINING DOT BELOW}",
    "hangul": "가각나",
    "thai": "กขิ",
    "cjk": "中串丮",
    "emoji": "😀😁👍\N{ZERO WIDTH JOINER}",
    "one lead byte, three widths and more": "a\x7f\x80¿Àߐࠀ中\uffff\U00010000\U0010ffff",
}
"""Name -> a few letters, so that words are often similar; some letters share all bytes except the last."""


def words_of(alphabet: str, size: int = 8) -> st.SearchStrategy[bytes]:
    """Return a strategy for words of up to `size` characters of an alphabet."""
    return st.text(alphabet, min_size=1, max_size=size).map(str.encode).filter(lambda word: len(word) <= WORD_BYTES_MAX)


def content_of(words: Iterable[bytes], bucket: int = 1, version: int = 1) -> bytes:
    """Return the content of a graph file."""
    builder = WordGraphBuilder()
    for word in sorted(set(words)):
        builder.add(word)
    return builder.finish(bucket, version)


def graph_of(words: Iterable[bytes]) -> WordGraph:
    """Return a graph of words in any order."""
    return WordGraph.from_bytes(content_of(words))


def nodes_of(content: bytes) -> list[dict[int, dict[bytes, tuple[int, int]]]]:
    """Return, for each automaton of a file, its nodes by their places: label -> (flags, target); see graph.pyx."""
    sizes = [struct.unpack_from("<I", content, at)[0] for at in (32, 40, 48)]
    found, at = [], HEADER_BYTES
    for size in sizes:
        nodes, place = dict[int, dict[bytes, tuple[int, int]]](), 1
        automaton = content[at : at + size]
        while place < size:
            width, count = divmod(automaton[place], 64)
            labels = place + 1
            if width == 0 or 0x60 <= automaton[place] < 0x80:
                nodes[place] = {automaton[place : place + 1]: (2, place + 1)}
                place += 1
            elif 0xB0 <= automaton[place] < 0xC0:
                nodes[place] = {automaton[labels : labels + 1]: (automaton[place] & 15, place + 2)}
                place += 2
            else:
                if automaton[place] == 0x40:
                    width, count, labels = 4, automaton[place + 1], place + 2
                edges = [labels + count + width * step for step in range(count)]
                numbers = [int.from_bytes(automaton[edge : edge + width], "little") for edge in edges]
                nodes[place] = {
                    automaton[labels + step : labels + step + 1]: (
                        number & 15,
                        place + (number >> 4) if number >> 4 else 0,
                    )
                    for step, number in enumerate(numbers)
                }
                place = labels + count * (1 + width)
        found.append(nodes)
        at += size
    return found
