"""An open word graph; ext/sonicpy/_native/graph.pyx draws the file and reads it.

Invariant: an open graph is complete. Its checksum and every edge were verified, so no walk can leave its bytes.
"""

import os
from functools import cached_property
from pathlib import Path
from typing import Self

from sonicpy._native.corrector import EDGE_BUDGET, Corrections
from sonicpy._native.graph import Completions, DamagedGraph, MappedFile, PackedGraph
from sonicpy.errors import GraphError

__all__ = ["EDGE_BUDGET", "Completions", "Corrections", "WordGraph"]


class WordGraph(PackedGraph):
    """The words of one bucket at one lexicon version, read-only. Any number of threads may use it.

    The file stays mapped as long as the graph, or an iterator over its words, is referenced. Meanwhile the file may be
    replaced or deleted, but not written to or truncated in place.

    Args:
        path: the file with the result of `WordGraphBuilder.finish`.

    Raises:
        GraphError: the file is missing, is no word graph, or is incomplete or damaged.
    """

    def __new__(cls, path: Path) -> Self:
        try:
            return super().__new__(cls, MappedFile(os.fsencode(path)))
        except (OSError, DamagedGraph) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise GraphError(f"{path} cannot be read as a word graph: {reason}") from error

    @cached_property
    def text(self) -> bytes:
        """All words in byte order, each with a line feed behind it. Made once, and kept; it is as large as the
        words."""
        return self.made_text()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """Return the graph for bytes that `WordGraphBuilder.finish` returned, without a file.

        Raises:
            GraphError: the bytes are no word graph, or are incomplete or damaged.
        """
        try:
            return super().__new__(cls, content)
        except DamagedGraph as error:
            raise GraphError(f"{len(content)} bytes cannot be read as a word graph: {error}") from error
