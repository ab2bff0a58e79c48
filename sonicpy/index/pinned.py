"""An index of one moment, for answers that take several tries."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, cast

from sonicpy._native.answer_cache import AnswerCache
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.several import UnitedLexicon, open_several
from sonicpy.store.views.view import View

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine
    from sonicpy.index.index import Index
    from sonicpy.store.views.open_cache import ReadableView


class PinnedEngine:
    """An engine whose reads all show one view; everything else is passed on to the engine behind it."""

    def __init__(self, engine: "Engine", view: View) -> None:
        self._engine = engine
        self._view = cast("ReadableView", view)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def read(self) -> AbstractContextManager["ReadableView"]:
        """Return a context manager for one read; see `Engine.read`."""
        return nullcontext(self._view)

    def read_words(self, collection: str, bucket: str) -> AbstractContextManager[Lexicon | None]:
        """Return a context manager for one read of a bucket's words; see `Engine.read_words`."""
        return nullcontext(self._engine.lexicons.of(self._view, collection, bucket))

    def read_several(
        self, collection: str, first: str, elements: tuple[str, ...]
    ) -> AbstractContextManager[UnitedLexicon | None]:
        """Return a context manager for one read of several buckets; see `Engine.read_several`."""
        most = self._engine.config.search.buckets_maximum
        return nullcontext(open_several(self._engine.lexicons, self._view, collection, first, elements, most))


@contextmanager
def pinned(index: "Index") -> Iterator["Index"]:
    """Return a context manager for an index that answers from one moment, with all changes made before; it takes no
    changes.

    Raises:
        StoreError: the changes could not be committed, or the store cannot be read.
    """
    with index.engine.snapshot_of_now() as view:
        there = object.__new__(type(index))
        there.__dict__.update(index.__dict__)
        there._engine = PinnedEngine(index.engine, view)  # type: ignore[assignment]
        there._kept = AnswerCache()
        yield there
