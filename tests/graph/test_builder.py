"""Building a file of sorted words: refused words, the size of the file, and equal files for equal words."""

import random
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy.errors import GraphError
from sonicpy.graph.builder import WordGraphBuilder
from sonicpy.graph.word_graph import WordGraph
from tests.graph.graphs import HEADER_BYTES, content_of, graph_of, nodes_of

REFUSED = [
    (b"", "no bytes"),
    (b"a" * 41, "one byte too many"),
    (b"\xff", "never a byte of UTF-8"),
    (b"b\x80", "a following byte without a lead"),
    (b"b\xc3", "a character is cut off"),
    (b"b\xc0\xaf", "an ASCII character in two bytes"),
    (b"b\xc1\xbf", "an ASCII character in two bytes, the last one"),
    (b"b\xe0\x9f\xbf", "a character of two bytes in three"),
    (b"b\xed\xa0\x80", "the first surrogate"),
    (b"b\xed\xbf\xbf", "the last surrogate"),
    (b"b\xf0\x8f\xbf\xbf", "a character of three bytes in four"),
    (b"b\xf4\x90\x80\x80", "beyond the last character"),
    (b"b\xf5\x80\x80\x80", "a lead byte that no character has"),
    (b"b\xe4b\xad", "a character with another inside"),
    (b"ab", "the word before it"),
    (b"aa", "less than the word before it"),
    (b"a", "the beginning of the word before it"),
]


@pytest.mark.parametrize(("word", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_what_is_no_next_word_is_refused_and_forgotten(word: bytes, why: str) -> None:
    builder = WordGraphBuilder()
    builder.add(b"ab")
    with pytest.raises(ValueError):
        builder.add(word)
    builder.add(b"ac")
    assert len(builder) == 2
    assert WordGraph.from_bytes(builder.finish(1, 1)).words(0, -1) == [b"ab", b"ac"]


@given(st.binary(min_size=1, max_size=6))
def test_exactly_utf8_is_taken(word: bytes) -> None:
    try:
        word.decode()
        is_text = True
    except UnicodeDecodeError:
        is_text = False
    builder = WordGraphBuilder()
    try:
        builder.add(word)
    except ValueError:
        assert not is_text
    else:
        assert is_text


def test_a_word_is_bytes() -> None:
    with pytest.raises(TypeError):
        WordGraphBuilder().add("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        WordGraphBuilder().add(None)  # type: ignore[arg-type]


@given(
    st.lists(st.text(max_size=4).map(str.encode), max_size=6)
    | st.sets(st.text(min_size=1)).map(lambda held: sorted(word.encode() for word in held))
)
def test_words_come_together_as_one_by_one(words: list[bytes]) -> None:
    together, alone = WordGraphBuilder(), WordGraphBuilder()
    outcomes = []
    for builder, add in ((together, lambda: together.add_all(words)), (alone, lambda: [*map(alone.add, words)])):
        try:
            add()
        except ValueError as error:
            outcomes.append((str(error), len(builder)))
        else:
            outcomes.append((len(builder), builder.finish(1, 1)))
    assert outcomes[0] == outcomes[1]


def test_a_finished_builder_is_finished() -> None:
    builder = WordGraphBuilder()
    builder.add(b"a")
    builder.finish(1, 1)
    with pytest.raises(ValueError, match="takes no further word"):
        builder.add(b"b")
    with pytest.raises(ValueError, match="finished once"):
        builder.finish(1, 1)


@pytest.mark.parametrize(("bucket", "version"), [(0, 0), (1, 2), (0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF)])
def test_bucket_and_version_are_kept(bucket: int, version: int) -> None:
    graph = WordGraph.from_bytes(content_of([b"word"], bucket, version))
    assert (graph.bucket, graph.version) == (bucket, version)


@pytest.mark.parametrize(("bucket", "version"), [(-1, 1), (1 << 32, 1), (1, -1), (1, 1 << 64)])
def test_bucket_and_version_have_room(bucket: int, version: int) -> None:
    with pytest.raises(OverflowError):
        WordGraphBuilder().finish(bucket, version)


def test_the_same_words_give_the_same_bytes() -> None:
    words = [f"{stem}{end}".encode() for stem in ("walk", "talk", "läuf") for end in ("", "er", "ers", "ing")]
    assert content_of(words) == content_of(reversed(words))


def test_common_beginnings_and_ends_are_stored_once() -> None:
    """All words of three letters take three nodes of 26 edges in each automaton, and a mark every 256 words."""
    letters = string.ascii_lowercase
    words = [f"{one}{two}{three}".encode() for one in letters for two in letters for three in letters]
    last, other, sign = 1 + 26 * (1 + 1), 1 + 26 * (1 + 2), 1 + 40  # the way to the next node takes two bytes
    assert len(content_of(words)) - len(content_of([])) == 2 * (last + 2 * other) + 26**3 // 256 * sign
    for automaton in nodes_of(content_of(words))[:2]:
        assert [len(edges) for edges in automaton.values()] == [26] * 3


@pytest.mark.parametrize(
    ("word", "size"),
    [("abcd", 3 + 3), ("a0~\0.b", 5 + 3), ("ABC", 2 * 2 + 3), ("a@b", 1 + 2 + 3), ("é", 2 + 3), ("aé", 2 * 2 + 3)],
)
def test_a_node_of_one_edge_to_the_next_takes_one_or_two_bytes(word: str, size: int) -> None:
    """The last byte of a word takes three bytes; a byte before others one, or two if it is a large letter or no single
    byte follows it.
    """
    assert len(content_of([word.encode()])) - len(content_of([])) == 2 * size
    assert graph_of([word.encode()]).words(0, -1) == [word.encode()]


@given(st.sets(st.text("ab", min_size=1, max_size=6).map(str.encode)))
def test_every_automaton_is_minimal(words: set[bytes]) -> None:
    """A node is the set of its continuations: each such set is stored once, with an edge for each first letter."""
    automata = nodes_of(content_of(words))
    for turned in (False, True):
        texts = [word[::-1] if turned else word for word in words]
        beginnings = {text[:end] for text in texts for end in range(len(text))}
        nodes = {
            frozenset(text[len(start) :] for text in texts if text.startswith(start) and text != start)
            for start in beginnings
        }
        assert sorted(len({ending[0] for ending in endings}) for endings in nodes) == sorted(
            len(edges) for edges in automata[turned].values()
        )


@given(st.sets(st.text("abé中😀", min_size=1, max_size=6).map(str.encode)))
def test_a_file_is_read_as_its_page_draws_it(words: set[bytes]) -> None:
    for turned, nodes in enumerate(nodes_of(content_of(words))[:2]):
        found = set[bytes]()
        below = [(b"", min(nodes, default=0))]  # the root is finished last
        while below:
            begun, place = below.pop()
            for label, (flags, target) in nodes.get(place, {}).items():
                assert target == 0 or target > place
                if flags & 1:
                    found.add(begun + label)
                if target:
                    below.append((begun + label, target))
        assert found == {word.decode()[::-1].encode() if turned else word for word in words}


@pytest.mark.full
def test_a_target_far_away_takes_four_bytes() -> None:
    """The target is a node that two beginnings share, with more than a megabyte of other nodes between its parents."""
    dice = random.Random(5)
    middle = sorted({b"b" + bytes(dice.choices(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=16)) for _ in range(60_000)})
    words = [b"ashared", *middle, b"cshared"]
    content = content_of(words)
    heads = {content[HEADER_BYTES + place] for place in nodes_of(content)[0]}
    assert content[HEADER_BYTES + 1] == 0x40 and {head >> 6 for head in heads} == {1, 2, 3}
    graph = WordGraph.from_bytes(content)
    assert graph.contains(b"ashared") and graph.contains(b"cshared") and not graph.contains(b"bshared")
    assert graph.words(0, -1) == words


def test_words_that_need_more_room_than_allowed() -> None:
    builder = WordGraphBuilder(automaton_max_bytes=40)
    for word in (b"one", b"three", b"two"):
        builder.add(word)
    with pytest.raises(GraphError, match="3 words need more than 40 bytes"):
        builder.finish(1, 1)


def test_room_is_counted_to_the_byte() -> None:
    """The graph of one word takes a zero byte, then a node of one edge for each letter."""
    for room, fits in ((1 + 3 * 6, True), (3 * 6, False)):
        builder = WordGraphBuilder(automaton_max_bytes=room)
        builder.add(b"abc")
        if fits:
            assert WordGraph.from_bytes(builder.finish(1, 1)).contains(b"abc")
        else:
            with pytest.raises(GraphError):
                builder.finish(1, 1)


def test_many_words_with_the_same_end() -> None:
    """The reversed words differ only behind the eight bytes that are sorted first, and some words are endings of
    others.
    """
    words = [f"{number:b}abcdefgh".encode() for number in range(5000)] + [b"abcdefgh", b"bcdefgh", b"h"]
    graph = graph_of(words)
    assert graph.words(0, -1) == sorted(words)
    assert [word for word in words if graph.correct(word, 1, transpositions=True, limit=1).matches != [(word, 0)]] == []


def test_a_node_with_every_byte_that_begins_a_character() -> None:
    points = [*range(0x80), *range(0x80, 0x800, 0x40), *range(0x800, 0x10000, 0x800), *range(0x10000, 0x110000, 0x8000)]
    characters = [chr(point).encode() for point in points if not 0xD800 <= point < 0xE000]
    words = sorted({character[:1]: character for character in characters}.values())
    assert len(words) == 128 + 51
    graph = graph_of(word for one in words for word in (one, one + one))
    assert all(graph.contains(one) and graph.contains(one + one) for one in words)
    assert graph.correct(b"", 1, transpositions=False).matches == [(one, 1) for one in words]


def test_nul_is_a_letter_like_any_other() -> None:
    words = [b"a", b"a\0", b"a\0\0", b"\0", b"\0a", b"\0\0\0\0\0\0\0\0\0"]
    graph = graph_of(words)
    assert graph.words(0, -1) == sorted(words)
    assert graph.correct(b"a", 1, transpositions=False).matches == [(b"a", 0), (b"\0", 1), (b"\0a", 1), (b"a\0", 1)]
