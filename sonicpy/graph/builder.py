"""Sorted words in, the content of a graph file out; ext/sonicpy/_native/graph_builder.pyx builds it."""

from sonicpy._native.graph_builder import WORD_BYTES_MAX, GraphTooLarge, PackedGraphBuilder
from sonicpy.errors import GraphError

__all__ = ["WORD_BYTES_MAX", "WordGraphBuilder"]


class WordGraphBuilder(PackedGraphBuilder):
    """Takes the words of one bucket by `add`, in rising byte order; then `finish` is called once.

    Args:
        automaton_max_bytes: the most bytes of each of the three automata.
    """

    def finish(self, bucket: int, version: int) -> bytes:
        """Return the content of the graph file; other threads run meanwhile.

        Args:
            bucket: id of the bucket.
            version: the version of the lexicon that the words were read from.

        Raises:
            GraphError: an automaton needs more bytes than allowed.
            ValueError: the builder is finished already.
        """
        try:
            return super().finish(bucket, version)
        except GraphTooLarge as error:
            raise GraphError(f"no word graph can be built: {error}") from error
