"""An open word graph; ext/sonicpy/_native/graph.pyx draws the file and walks it.

Invariant: an open graph is whole. Its checksum and every edge were verified, so no answer can leave its memory.
"""

import os
from pathlib import Path
from typing import Self

from sonicpy._native import graph
from sonicpy._native.graph import EDGE_BUDGET, Completions, Corrections
from sonicpy.errors import GraphError

__all__ = ["EDGE_BUDGET", "Completions", "Corrections", "WordGraph"]


class WordGraph(graph.WordGraph):
    """The words of one bucket at one lexicon version, read-only. Any number of threads may use it.

    The file stays mapped for as long as the graph, or an iterator over its words, is held. Meanwhile it may be
    replaced or deleted, but not written or cut off in place.

    Args:
        path: a file that holds what `WordGraphBuilder.finish` returned.

    Raises:
        GraphError: it is missing, not a word graph, not a whole one, or not what was written.
    """

    def __new__(cls, path: Path) -> Self:
        try:
            return super().__new__(cls, graph.MappedFile(os.fsencode(path)))
        except (OSError, graph.DamagedGraph) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise GraphError(f"{path} cannot be read as a word graph: {reason}") from error

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Return the graph that `WordGraphBuilder.finish` made, without a file.

        Raises:
            GraphError: this is not a word graph, not a whole one, or not what was made.
        """
        try:
            return super().__new__(cls, content)
        except graph.DamagedGraph as error:
            raise GraphError(f"{len(content)} bytes cannot be read as a word graph: {error}") from error
