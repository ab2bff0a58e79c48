"""Opening, looking up and listing; damage of every kind is an error and never a crash."""

import itertools
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sonicpy._native.letter_folding import Folding
from sonicpy._native.word_walks import find_words
from sonicpy.errors import GraphError
from sonicpy.graph.builder import WORD_BYTES_MAX
from sonicpy.graph.word_graph import WordGraph
from tests.graph.graphs import ALPHABETS, HEADER_BYTES, content_of, graph_of, nodes_of, words_of
from tests.reference.word_graph import WordList

WORDS = sorted("ca car card care cart cat catalog do dog zoo über éclair ähre 東京 東 10 2 _x".split())
GRAPH_WORDS = sorted(word.encode() for word in WORDS)

COMPLETIONS = [
    (b"car", 10, None, [b"car", b"card", b"care", b"cart"], "the prefix itself is a word"),
    (b"cata", 10, None, [b"catalog"], "the prefix is none"),
    (b"ca", 3, None, [b"ca", b"car", b"card"], "as many as are wanted"),
    (b"ca", 0, None, [], "none wanted"),
    (b"", 3, None, [b"10", b"2", b"_x"], "every word has the empty prefix"),
    (b"x", 10, None, [], "no word begins so"),
    (b"cars", 10, None, [], "no word begins so, though one ends inside"),
    ("東京".encode(), 10, None, ["東京".encode()], "several bytes a character"),
    ("東".encode()[:2], 10, None, ["東".encode(), "東京".encode()], "a prefix that ends inside a character"),
    (b"c" * 41, 10, None, [], "longer than any word"),
    (b"ca", 2, b"card", [b"care", b"cart"], "the next page"),
    (b"ca", 9, b"catalog", [], "the page behind the last"),
    (b"ca", 2, b"cardx", [b"care", b"cart"], "behind what is no word"),
    (b"ca", 2, b"carb", [b"card", b"care"], "behind what is no word, its end between two letters"),
    (b"ca", 9, b"cas", [b"cat", b"catalog"], "behind what is no word, shorter than the next"),
    (b"ca", 9, b"cz", [], "behind all that begin so"),
    (b"ca", 2, b"ca", [b"car", b"card"], "behind the prefix"),
    (b"ca", 2, b"c", [b"ca", b"car"], "before the prefix: its beginning"),
    (b"ca", 2, b"", [b"ca", b"car"], "before the prefix: the empty word"),
    (b"ca", 2, b"bz", [b"ca", b"car"], "before the prefix: another word"),
    (b"ca", 2, b"card" + b"z" * 60, [b"care", b"cart"], "behind what is longer than any word"),
    (b"", 2, b"zoo", ["ähre".encode(), "éclair".encode()], "over the border of ASCII"),
]


@pytest.mark.parametrize(
    ("prefix", "limit", "after", "expected", "why"), COMPLETIONS, ids=[case[-1] for case in COMPLETIONS]
)
def test_completions(prefix: bytes, limit: int, after: bytes | None, expected: list[bytes], why: str) -> None:
    assert graph_of(GRAPH_WORDS).complete(prefix, limit, after) == expected


def test_the_empty_graph() -> None:
    graph = graph_of([])
    assert len(graph) == 0
    assert not graph.contains(b"") and not graph.contains(b"a")
    assert graph.complete(b"", -1) == graph.complete(b"a", -1) == graph.complete(b"", -1, b"a") == []
    assert list(graph.completions(b"")) == graph.words(0, -1) == graph.words(3, -1) == []
    for distance in range(4):
        assert graph.correct(b"abc", distance, transpositions=True).matches == []


def test_one_word() -> None:
    graph = graph_of([b"word"])
    assert len(graph) == 1
    assert graph.contains(b"word")
    assert not any(graph.contains(other) for other in (b"", b"w", b"wor", b"words", b"ward", b"\xff"))
    assert graph.words(0, -1) == [b"word"]
    assert graph.correct(b"wrod", 1, transpositions=True).matches == [(b"word", 1)]


def test_the_longest_words() -> None:
    words = [b"a" * 160, b"a" * 159 + b"b", "ß".encode() * 80, "𝄞".encode() * 40, "東".encode() * 53 + b"x"]
    graph = graph_of(words)
    assert [len(word) for word in words] == [WORD_BYTES_MAX] * 5
    assert graph.words(0, -1) == sorted(words)
    assert all(graph.contains(word) and not graph.contains(word + b"a") for word in words)
    assert graph.complete(b"a" * 159, -1) == words[:2]
    assert graph.complete(b"a" * 160, -1, b"a" * 160) == []
    assert graph.correct("東".encode() * 55, 3, transpositions=False).matches == [(words[4], 2)]
    assert graph.correct("𝄞".encode() * 43, 3, transpositions=False).matches == [(words[3], 3)]


def test_nothing_but_bytes_is_asked_for() -> None:
    graph = graph_of(GRAPH_WORDS)
    for ask in (graph.contains, graph.completions, lambda word: graph.correct(word, 1, transpositions=True)):
        for word in ("text", None, bytearray(b"car")):
            with pytest.raises(TypeError):
                ask(word)  # type: ignore[arg-type]


@given(st.data())
def test_lookup_and_listing_as_in_a_sorted_list(data: st.DataObject) -> None:
    alphabet = data.draw(st.sampled_from(list(ALPHABETS.values())))
    words = data.draw(st.sets(words_of(alphabet, 6), max_size=40))
    graph, judge = graph_of(words), WordList(words)
    assert len(graph) == len(judge)
    asked = data.draw(st.lists(words_of(alphabet, 6) | st.binary(max_size=4), max_size=10)) + sorted(words)[:10]
    prefixes = [word[:end] for word in asked for end in range(4)]
    limit = data.draw(st.integers(-1, 5))
    for word in asked:
        assert graph.contains(word) == judge.contains(word)
        for prefix in prefixes:
            assert graph.complete(prefix, limit, word) == judge.complete(prefix, limit, word)
    for prefix in prefixes:
        assert graph.complete(prefix, limit) == judge.complete(prefix, limit)
        assert list(graph.completions(prefix)) == judge.complete(prefix, -1)
    for offset in range(len(words) + 2):
        assert graph.words(offset, limit) == judge.words(offset, limit)


@pytest.mark.parametrize("size", [1, 2, 7])
def test_pages_join_to_the_whole_list(size: int) -> None:
    graph = graph_of(GRAPH_WORDS)
    pages: list[bytes] = []
    while page := graph.complete(b"", size, pages[-1] if pages else None):
        pages += page
    assert pages == GRAPH_WORDS


@pytest.mark.parametrize("count", [0, 1, 255, 256, 257, 511, 512, 513, 1000])
def test_every_place_is_found_by_its_number(count: int) -> None:
    words = sorted(f"{number:b}".replace("1", "東").encode() for number in range(count))
    graph = graph_of(words)
    assert len(graph) == count
    for offset in [*range(0, count + 2, 7), 254, 255, 256, 257, 511, 512, count - 1, count, 2**63]:
        if offset >= 0:
            assert graph.words(offset, 3) == words[offset : offset + 3]
    assert graph.words(0, -1) == words


@pytest.mark.parametrize("shared", [10, 37, 38, 39, 60])
def test_long_words_are_found_by_their_number(shared: int) -> None:
    words = sorted(b"w" * shared + f"{number:050b}".encode() for number in range(700))
    words = sorted([*words, b"v", *(b"x%03d" % number for number in range(150))])
    graph = graph_of(words)
    for offset in (0, 1, 254, 255, 256, 257, 511, 512, 513, 767, 768, 800, 850):
        assert graph.words(offset, 2) == words[offset : offset + 2]


def test_an_iterator_goes_on_where_it_was_and_stays_at_its_end() -> None:
    words = graph_of(GRAPH_WORDS).completions(b"ca")
    assert list(itertools.islice(words, 3)) == [b"ca", b"car", b"card"]
    assert list(words) == [b"care", b"cart", b"cat", b"catalog"]
    assert list(words) == []


def test_an_iterator_holds_its_graph() -> None:
    content = content_of(GRAPH_WORDS)
    words = WordGraph.from_bytes(content).completions(b"")
    del content
    assert list(words) == GRAPH_WORDS


# -- files --------------------------------------------------------------------------------------------------------


def test_a_file_may_be_replaced_and_deleted_while_it_is_open(tmp_path: Path) -> None:
    path = tmp_path / "1-1"
    path.write_bytes(content_of(GRAPH_WORDS, bucket=7, version=9))
    graph = WordGraph(path)
    other = tmp_path / "other"
    other.write_bytes(content_of([b"other"]))
    other.rename(path)
    assert WordGraph(path).words(0, -1) == [b"other"]
    path.unlink()
    assert (graph.bucket, graph.version, len(graph)) == (7, 9, len(GRAPH_WORDS))
    assert graph.words(0, -1) == GRAPH_WORDS


def test_an_open_graph_takes_no_file_descriptor(tmp_path: Path) -> None:
    path = tmp_path / "graph"
    path.write_bytes(content_of(GRAPH_WORDS))
    graphs = [WordGraph(path) for _ in range(50)]
    with open(path, "rb") as file:
        number = file.fileno()
    again = [WordGraph(path) for _ in range(50)]
    with open(path, "rb") as file:
        assert file.fileno() <= number, "below: the garbage of other tests is gone"
    assert all(graph.contains(b"card") for graph in graphs + again)


def test_what_is_no_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    for path in (tmp_path / "missing", tmp_path, empty):
        with pytest.raises(GraphError, match=str(path)):
            WordGraph(path)


def test_a_path_with_a_nul_is_an_error() -> None:
    with pytest.raises(GraphError):
        WordGraph(Path("a\0b"))


# -- damage -------------------------------------------------------------------------------------------------------

WORDS_COUNT, FORWARD_SIZE, FORWARD_ROOT, BACKWARD_ROOT = 24, 32, 36, 44


def test_a_file_cut_off_anywhere(tmp_path: Path) -> None:
    content = content_of(GRAPH_WORDS)
    path = tmp_path / "graph"
    for size in range(len(content)):
        with pytest.raises(GraphError):
            WordGraph.from_bytes(content[:size])
        path.write_bytes(content[:size])
        with pytest.raises(GraphError):
            WordGraph(path)


def test_a_file_with_more_behind() -> None:
    with pytest.raises(GraphError):
        WordGraph.from_bytes(content_of(GRAPH_WORDS) + b"\0")


def test_any_bit_flipped() -> None:
    content = content_of(GRAPH_WORDS)
    for bit in range(8 * len(content)):
        damaged = bytearray(content)
        damaged[bit >> 3] ^= 1 << (bit & 7)
        with pytest.raises(GraphError):
            WordGraph.from_bytes(bytes(damaged))


def sealed(content: bytearray) -> bytes:
    """Return the content with its right checksum."""
    content[-4:] = struct.pack("<I", zlib.crc32(content[:-4]))
    return bytes(content)


def with_number(at: int, value: int) -> bytes:
    content = bytearray(content_of(GRAPH_WORDS))
    struct.pack_into("<I", content, at, value)
    return sealed(content)


def automaton(*nodes: bytes) -> bytes:
    """Return a file whose forward automaton is `nodes`, the root first; the others are empty."""
    header = b"SPYGRAPH" + struct.pack("<IIQQIIIIII", 4, 1, 1, 1, 1 + sum(map(len, nodes)), 1, 1, 0, 1, 0)
    return sealed(bytearray(header + b"\0" + b"".join(nodes) + b"\0\0" + bytes(8 + 4)))


def node(*edges: tuple[bytes, int, int], head: int = 0x40) -> bytes:
    """Return a node with edges of (label, flags, distance to the target), in the form for many edges."""
    numbers = [struct.pack("<I", flags | distance << 4) for _, flags, distance in edges]
    return bytes([head, len(edges)]) + b"".join(label for label, _, _ in edges) + b"".join(numbers)


LEAF = node((b"b", 1, 0))


def plain_automaton(*nodes: bytes) -> bytes:
    """Return a file of format 2 whose forward automaton is `nodes`, the root last; the backward one is empty."""
    size = 1 + sum(map(len, nodes))
    header = b"SPYGRAPH" + struct.pack("<IIQQIIII", 2, 1, 1, 1, size, size - len(nodes[-1]), 1, 0)
    return sealed(bytearray(header + b"\0" + b"".join(nodes) + b"\0" + bytes(8 + 4)))


def plain_node(*edges: tuple[bytes, int, int]) -> bytes:
    """Return a node of format 2 with edges of (label, flags, distance back to the target)."""
    return node(*edges, head=0)


PLAIN_LEAF = plain_node((b"b", 1, 0))


def old_automaton(*nodes: bytes) -> bytes:
    """Return a file of format 1 with the given nodes."""
    content = bytearray(plain_automaton(*nodes))
    content[8] = 1
    return sealed(content)


def old_node(*edges: tuple[bytes, int, int]) -> bytes:
    """Return a node of format 1 with edges of (label, flags, target)."""
    return plain_node(*edges)[1:]


OLD_LEAF = old_node((b"b", 1, 0))

FORGED = [
    (with_number(8, 3), "another format"),
    (with_number(8, 1), "nodes of another format"),
    (with_number(8, 2), "a header of another format"),
    (old_automaton(OLD_LEAF, old_node((b"a", 0, 7))), "an old edge to its own node"),
    (old_automaton(old_node((b"b", 1, 7)), old_node((b"a", 0, 1))), "an old edge to a later node: a circle"),
    (old_automaton(OLD_LEAF, old_node((b"a", 0, 2))), "an old edge into a node"),
    (old_automaton(OLD_LEAF, old_node((b"a", 0, 14))), "an old edge behind the last node"),
    (old_automaton(OLD_LEAF, old_node((b"a", 0, 0x0FFFFFFF))), "an old edge far outside"),
    (old_automaton(old_node(), old_node((b"a", 0, 1))), "an old node without edges"),
    (old_automaton(OLD_LEAF, b"\xff" + old_node((b"a", 0, 1))[1:]), "an old node longer than the file"),
    (with_number(FORWARD_ROOT, 0x0FFFFFFF), "a root outside"),
    (with_number(FORWARD_ROOT, 2), "a root inside a node"),
    (with_number(BACKWARD_ROOT, 0x0FFFFFFF), "the other root outside"),
    (with_number(BACKWARD_ROOT, 2), "the other root inside a node"),
    (with_number(FORWARD_SIZE, 0), "an automaton without its first byte, and too many bytes"),
    (with_number(WORDS_COUNT, 256), "a sign missing"),
    (with_number(WORDS_COUNT + 4, 0xFFFFFFFF), "more words than any file holds"),
    (automaton(node((b"a", 0, 6)), LEAF), "an edge into its own node"),
    (automaton(node((b"a", 0, 8)), LEAF), "an edge into a node"),
    (automaton(node((b"a", 0, 14)), LEAF), "an edge to behind the last node"),
    (automaton(node((b"a", 0, 0x0FFFFFFF)), LEAF), "an edge far outside"),
    (automaton(b"\x41a\xb1", LEAF), "an edge of one byte to behind the last node"),
    (automaton(node((b"a", 0, 7)), node()), "a node without edges"),
    (automaton(node((b"a", 0, 7)), b"\x80"), "a node with short edges without edges"),
    (automaton(node((b"a", 0, 7)), b"\xff" + LEAF[1:]), "a node longer than the file"),
    (automaton(node((b"a", 0, 7)), b"\x40\xff" + LEAF[2:]), "a node of many edges longer than the file"),
    (automaton(b"a"), "a link to nothing"),
    (automaton(b"\xb0a"), "a link with flags to nothing"),
    (automaton(b"a\xb0"), "a link without its label"),
    (plain_automaton(plain_node((b"b", 1, 1)), plain_node((b"a", 0, 7))), "1.0: an edge to before the first node"),
    (plain_automaton(PLAIN_LEAF, plain_node((b"a", 0, 6))), "1.0: an edge into a node"),
    (plain_automaton(PLAIN_LEAF, plain_node((b"a", 0, 8))), "1.0: an edge to before the first node from the second"),
    (plain_automaton(PLAIN_LEAF, plain_node((b"a", 0, 9))), "1.0: an edge to before the automaton"),
    (plain_automaton(PLAIN_LEAF, plain_node((b"a", 0, 0x0FFFFFFF))), "1.0: an edge far outside"),
    (plain_automaton(PLAIN_LEAF, b"\x41a\x81"), "1.0: an edge of one byte to before the automaton"),
    (plain_automaton(plain_node(), plain_node((b"a", 0, 2))), "1.0: a node without edges"),
    (plain_automaton(b"\x40", plain_node((b"a", 0, 1))), "1.0: a short node without edges"),
    (plain_automaton(PLAIN_LEAF, b"\xff" + PLAIN_LEAF[1:]), "1.0: a node longer than the file"),
    (plain_automaton(PLAIN_LEAF, b"\0\xff" + PLAIN_LEAF[2:]), "1.0: a long node longer than the file"),
]


def test_a_forged_file_that_is_sound_opens() -> None:
    """A valid file opens; each case of FORGED differs from it in one place."""
    for root in (node((b"a", 0, 7)), b"\x41a\x30", b"\x81a\x40\0", b"\xc1a\x50\0\0", b"\xb0a", b"a"):
        assert WordGraph.from_bytes(automaton(root, LEAF)).words(0, -1) == [b"ab"]
    for root in (plain_node((b"a", 0, 7)), b"\x41a\x70", b"\x81a\x70\0", b"\xc1a\x70\0\0"):
        assert WordGraph.from_bytes(plain_automaton(PLAIN_LEAF, root)).words(0, -1) == [b"ab"]


def in_format_2(content: bytes) -> bytes:
    """Return the content of a graph file as 1.0 wrote it, without aliases."""
    automata, roots = [], []
    for nodes in nodes_of(content)[:2]:
        automaton, places = b"\0", {0: 0}
        for place in sorted(nodes, reverse=True):
            places[place] = here = len(automaton)
            edges = [
                (label, flags, target and here - places[target]) for label, (flags, target) in nodes[place].items()
            ]
            automaton += plain_node(*edges)
        automata.append(automaton)
        roots.append(places[min(nodes, default=0)])
    sizes = [number for pair in zip(map(len, automata), roots, strict=True) for number in pair]
    behind = content[HEADER_BYTES + sum(struct.unpack_from("<I", content, at)[0] for at in (32, 40, 48)) :]
    header = content[:8] + struct.pack("<I", 2) + content[12:32] + struct.pack("<IIII", *sizes)
    return sealed(bytearray(header + b"".join(automata) + behind))


@given(st.sampled_from(list(ALPHABETS.values())).flatmap(lambda letters: st.sets(words_of(letters), max_size=20)))
def test_a_file_of_format_2_has_the_same_words_and_corrections(words: set[bytes]) -> None:
    content = content_of(words)
    graph, plain = WordGraph.from_bytes(content), WordGraph.from_bytes(in_format_2(content))
    assert plain.words(0, -1) == graph.words(0, -1)
    for word in list(words)[:3]:
        asked = [each.correct(word, 2, transpositions=True).matches for each in (graph, plain)]
        assert asked[0] == asked[1]


def test_a_file_of_format_2_opens_without_aliases() -> None:
    graph = WordGraph.from_bytes(in_format_2(content_of([b"a.b", b"x.yy"])))
    assert not graph.has_aliases and find_words([graph.aliases], [b""], Folding({}), begins=True) == {}


def test_a_file_of_format_1_opens() -> None:
    """A small graph of format 1; larger ones are in tests/fixtures/format4."""
    content = old_automaton(OLD_LEAF, old_node((b"a", 0, 1), (b"c", 1, 1)))
    assert WordGraph.from_bytes(content).words(0, -1) == [b"ab", b"c", b"cb"]
    with pytest.raises(GraphError):
        WordGraph.from_bytes(content[:-1])


@pytest.mark.parametrize(("content", "why"), FORGED, ids=[why for _, why in FORGED])
def test_a_checksum_is_not_trusted_alone(content: bytes, why: str) -> None:
    with pytest.raises(GraphError):
        WordGraph.from_bytes(content)


def test_a_sign_longer_than_a_word_does_no_harm() -> None:
    content = bytearray(content_of(f"{number:03}".encode() for number in range(300)))
    sign = len(content) - 4 - 8 - 41
    assert content[sign : sign + 4] == b"\x03255"
    content[sign] = 0xFF
    assert WordGraph.from_bytes(sealed(content)).words(256, 2) == [b"256", b"257"]


@pytest.mark.parametrize("node_before", [node((b"a", 1 | 2, 7)), b"\xb3a"], ids=["nodes", "links"])
def test_walks_end_at_the_longest_word_whatever_the_file_says(node_before: bytes) -> None:
    graph = WordGraph.from_bytes(automaton(*[node_before] * 200, node((b"a", 1, 0))))
    assert graph.words(0, -1) == [b"a" * size for size in range(1, 161)]
    assert graph.complete(b"a" * 160, -1, b"a" * 170) == graph.complete(b"a" * 161, -1) == []
    assert graph.correct(b"a" * 58, 3, transpositions=True).matches[0] == (b"a" * 58, 0)


@pytest.mark.parametrize("before", range(50, 55))
def test_walks_end_at_the_longest_word_inside_a_character(before: int) -> None:
    every_width = 2 | 4 | 8
    typed = ("東" * before + "😀").encode()
    labels = [bytes([byte]) for byte in typed]
    chain = [node((label, 1 | every_width, 7)) for label in labels[:-1]] + [node((labels[-1], 1 | every_width, 0))]
    graph = WordGraph.from_bytes(automaton(*chain))
    found = graph.correct(typed, 3, transpositions=True).matches
    assert ((typed, 0) in found) == (len(typed) <= WORD_BYTES_MAX)
    assert found
    assert all(len(word) <= WORD_BYTES_MAX for word, _ in found)


def test_labels_that_are_not_utf8_do_no_harm() -> None:
    for labels in (b"\x80\xbf", b"\xff\xfe", b"\xc0\xc1", b"\xf0a", b"\xe4\xff"):
        chain = [node((labels[:1], 1, 7)), node((labels[1:], 1, 0))]
        graph = WordGraph.from_bytes(automaton(*chain))
        for distance in range(4):
            for word in (b"", b"a", "中".encode(), "é中😀".encode()):
                assert graph.correct(word, distance, transpositions=True).whole
