"""The word graphs of an index, for tests: their files, their pending words, and the typos that they correct."""

from sonicpy import Index
from sonicpy.index.maintenance.consolidate import Built
from tests.index.shorthand import B, C

WORDS = ["anker", "birne", "dampf", "eiche", "feder", "grube", "hafen", "insel"]
"""Words that are not similar to each other."""

COMPAT = {"server__compat": "sonic"}
IN_SONICS_WAY = {"search__live_words": False, "search__suggest_order": "alphabetical"}


def graph_files(index: Index) -> list[str]:
    """Return the names of the files in the folder of graphs, sorted."""
    return sorted(path.name for path in index.engine.graphs.folder.glob("*"))


def bucket_id(index: Index, bucket: str = B) -> int:
    """Return the number of a bucket."""
    with index.engine.store.reading() as view:
        state = view.bucket(C, bucket)
        assert state is not None
        return state.bucket


def pending_words(index: Index, bucket: str = B) -> set[str]:
    """Return the words that were added or removed since the graph of the bucket was built."""
    with index.engine.store.reading() as view:
        state = view.bucket(C, bucket)
        assert state is not None
        return {word.decode() for word in view.pending_words(state)}


def build(index: Index, bucket: str = B) -> Built:
    """Build the graph of a bucket, the first step of a consolidation, and return it."""
    index.engine.commit()
    built = index.maintainer.build_graph(bucket_id(index, bucket))
    assert built is not None
    return built


def publish_and_prune(index: Index, built: Built) -> None:
    """Take the remaining steps of a consolidation."""
    index.maintainer.publish_graphs([built])
    start: bytes | None = b""
    while start is not None:
        start = index.maintainer.prune_pending(built, start)
    index.engine.commit()


def typo(word: str) -> str:
    """Return a word with one letter replaced."""
    return f"{word[:2]}q{word[3:]}"


def corrected(index: Index, bucket: str = B) -> set[str]:
    """Return the members of WORDS that are found with a typo in them."""
    return {word for word in WORDS if index.suggest(C, bucket, typo(word)) == [word]}
