"""Sorted words in, the content of a graph file out; ext/sonicpy/_native/graph.pyx does it and draws the file."""

from sonicpy._native import graph
from sonicpy._native.graph import WORD_BYTES_MAX
from sonicpy.errors import GraphError

__all__ = ["WORD_BYTES_MAX", "WordGraphBuilder"]


class WordGraphBuilder(graph.WordGraphBuilder):
    """Takes the words of one bucket in rising byte order by `add`, then `finish` is called once.

    Args:
        edges_max: the most edges that each of the two automata may have (5 bytes each in the file).
    """

    def finish(self, bucket: int, version: int) -> bytes:
        """Return the content of the graph file; other threads run meanwhile.

        Args:
            bucket: id of the bucket whose words these are.
            version: of the lexicon they were taken from.

        Raises:
            GraphError: the words need more edges than allowed.
            ValueError: the builder is finished already.
        """
        try:
            return super().finish(bucket, version)
        except graph.GraphTooLarge as error:
            raise GraphError(f"no word graph can be built: {error}") from error
