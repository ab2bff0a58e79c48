"""An index of one moment, for answers that take several tries."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, cast

from sonicpy._native.answer_cache import AnswerCache
from sonicpy.errors import StoreDamaged, StoreFull
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.several import UnitedLexicon, open_several
from sonicpy.late_logger import LateLogger
from sonicpy.store.views.view import View

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine
    from sonicpy.index.index import Index
    from sonicpy.store.views.open_cache import ReadableView

logger = LateLogger(__name__)


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
    changes. While the store refuses changes, it shows the last commit.

    Raises:
        StoreError: the store cannot be read.
    """
    if not index.engine.store.refusing:  # else the commit would be tried, and undone, for each query
        try:
            index.engine.commit_before_reading()
        except (StoreDamaged, StoreFull) as error:
            logger.debug("%s", error)
    with index.engine.store.snapshot() as view:
        there = object.__new__(type(index))
        there.__dict__.update(index.__dict__)
        there._engine = PinnedEngine(index.engine, view)  # type: ignore[assignment]
        there._kept = AnswerCache()
        yield there
