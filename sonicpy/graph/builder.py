"""Builds the content of a graph file from sorted words, by ext/sonicpy/_native/graph_builder.pyx."""

from sonicpy._native.graph_builder import WORD_BYTES_MAX, GraphTooLarge, PackedGraphBuilder
from sonicpy.errors import GraphError

__all__ = ["WORD_BYTES_MAX", "WordGraphBuilder"]


class WordGraphBuilder(PackedGraphBuilder):
    """Builds the graph of one bucket: `add` takes the words in rising byte order, then `finish` is called once.

    Args:
        automaton_max_bytes: the most bytes of each of the three automata.
    """

    def finish(self, bucket: int, version: int) -> bytes:
        """Return the content of the graph file. Other threads can run meanwhile.

        Args:
            bucket: the id of the bucket.
            version: the version of the lexicon that the words were read from.

        Raises:
            GraphError: an automaton needs more bytes than allowed.
            ValueError: the builder is finished already.
        """
        try:
            return super().finish(bucket, version)
        except GraphTooLarge as error:
            raise GraphError(f"no word graph can be built: {error}") from error
