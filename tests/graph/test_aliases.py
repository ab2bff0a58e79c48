"""The words of a graph by their parts: a graph finds each word with a part, and its place, and no other words."""

from hypothesis import example, given
from hypothesis import strategies as st

from sonicpy._native.letter_folding import Folding
from sonicpy._native.parts import parts_of, word_of
from sonicpy._native.word_walks import find_words
from sonicpy.graph.builder import WordGraphBuilder
from sonicpy.graph.word_graph import WordGraph
from tests.graph.graphs import graph_of

AS_TYPED = Folding({})
JOINED = st.text("ab1é._'글", min_size=1, max_size=7).map(str.encode)


def joined(graph: WordGraph, part: bytes, *, is_begun: bool = False) -> list[bytes]:
    """Return the words with an alias of a part, or of parts that begin with it, in byte order."""
    pattern = part if is_begun else part + b"\0"
    return sorted(map(word_of, find_words([graph.aliases], [pattern], AS_TYPED, begins=True)))


@given(st.sets(JOINED, max_size=8))
def test_every_part_leads_to_its_words(words: set[bytes]) -> None:
    graph = graph_of(words)
    parts = {part for word in words for part in parts_of(word)}

    for part in parts:
        found = joined(graph, part) + graph.begun(part, 100, 10_000)
        assert sorted(set(found)) == sorted(word for word in words if part in parts_of(word))


@example({"1é1é".encode()}, b"1")
@given(st.sets(JOINED, max_size=8), st.text("ab1", min_size=1, max_size=2).map(str.encode))
def test_the_beginning_of_a_part_leads_to_its_words(words: set[bytes], beginning: bytes) -> None:
    found = set(joined(graph_of(words), beginning, is_begun=True))

    begun = {(word, part) for word in words for part in parts_of(word) if part.startswith(beginning)}
    assert {word for word, part in begun if not word.startswith(part)} <= found
    assert found <= {word for word, _ in begun}, "a later part may be as the beginning of its word"


def test_parts_are_found_whole_or_by_their_beginning() -> None:
    graph = graph_of([b"a.log", b"b.log", b"c.log", b"b.logo"])

    assert joined(graph, b"log") == [b"a.log", b"b.log", b"c.log"]
    assert joined(graph, b"lo", is_begun=True) == [b"a.log", b"b.log", b"b.logo", b"c.log"]
    assert joined(graph, b"lo") == joined(graph, b"b.log") == []


def test_joints_of_capital_letters_lead_to_the_word_without_them() -> None:
    builder = WordGraphBuilder()
    builder.add(b"getelementbyid")
    for term in (
        b"get\2element\2by\2id",
        b"get\2element\2by\2id",
        b"x" * 158 + b"\2yy",
        b"x" * 159 + b"\2zz",
        b"plain",
    ):
        builder.add_joints(term)
    graph = WordGraph.from_bytes(builder.finish(1, 1))

    assert graph.words(0, -1) == [b"getelementbyid"]
    for part in (b"get", b"element", b"by", b"id", b"byid", b"elementbyid"):
        assert joined(graph, part) == [b"getelementbyid"]
    assert joined(graph, b"yy") == [b"x" * 158 + b"yy"], "as long as the words of graphs may be"
    assert joined(graph, b"zz") == graph.begun(b"get", 100, 10_000) == []


def test_words_with_a_first_part_are_read_up_to_a_limit() -> None:
    words = [b"user_%03d" % number for number in range(200)]
    graph = graph_of([*words, b"userland"])

    assert graph.begun(b"user", 1_000, 10_000) == words
    assert graph.begun(b"user", 7, 10_000) == words[:7]
    assert graph.begun(b"user", 1_000, 12) == words[:3], "four bytes are behind the part of each word"
    assert graph.begun(b"user", 0, 10_000) == graph.begun(b"user", 1_000, 0) == []
