"""Answers of one moment: an index whose changes are not seen for as long as an answer takes."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, cast

from sonicpy.index.answers import Answers
from sonicpy.index.search.answer_cache import AnswerCache
from sonicpy.index.search.lexicon import Lexicon
from sonicpy.index.search.several import UnitedLexicon, open_several

if TYPE_CHECKING:
    from sonicpy.index.engine import Engine
    from sonicpy.index.index import Index
    from sonicpy.store.views.open_cache import ReadableView


class PinnedEngine:
    """An engine whose reads show one view; the rest is that of the engine."""

    def __init__(self, engine: "Engine", view: "ReadableView") -> None:
        self._engine = engine
        self._view = view

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


class PinnedAnswers(Answers):
    """The methods of an index that answer, of one moment."""

    def __init__(self, index: "Index", view: "ReadableView") -> None:
        self._engine = PinnedEngine(index.engine, view)  # type: ignore[assignment]
        self._config = index.config
        self._kept = AnswerCache()
        self.questions = index.questions


@contextmanager
def pinned(index: "Index") -> Iterator[PinnedAnswers]:
    """Return a context manager for the answers of an index with all changes until now.

    Raises:
        StoreError: they could not be committed, or the store cannot be read.
    """
    with index.engine.snapshot_of_now() as view:
        yield PinnedAnswers(index, cast("ReadableView", view))
