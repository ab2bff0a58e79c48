"""The embedder of a server: a worker process makes the vectors of texts, of several at once if they wait.

An UPSERT needs a vector only if its object holds another text, or has none.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sonicpy.channel.commands import Explain, Push, Query, Upsert
from sonicpy.config import Config
from sonicpy.errors import CommandError, SonicError
from sonicpy.index.ingest.embedding_job import column_of, embed_texts
from sonicpy.index.ingest.held_vectors import forget_vectors
from sonicpy.index.ingest.named_texts import given_texts
from sonicpy.server.jobs.workers import Workers

if TYPE_CHECKING:
    from sonicpy.http.backend import TextRow
    from sonicpy.index.index import Index

logger = logging.getLogger(__name__)

BATCH_TEXTS = 64
"""The most texts of one job."""
ROWS_A_TURN = 32
"""The number of rows whose objects are asked for their texts before the loop serves other connections."""

CommandT = TypeVar("CommandT", bound=Any)
TextOrTexts = str | Mapping[str, str]


def has_embedder(config: Config) -> bool:
    """Return whether the settings name a function for vectors; compat mode has none."""
    return config.server.embed is not None and config.server.compat != "sonic"


class Embedding:
    """Makes the vectors of texts and questions that come without one. Create it while the loop runs.

    Args:
        index: the index; None: its objects are elsewhere, each UPSERT needs a vector, and one without keeps the former.

    Attributes:
        without: how many texts were stored without a vector, because it could not be made.
    """

    KINDS = (Push, Upsert, Query, Explain)

    def __init__(self, config: Config, index: "Index | None" = None) -> None:
        self.without = 0
        self._index = index
        self._column: str | None = None  # that the function fills; None: unknown yet
        self._finding: asyncio.Task[str] | None = None
        self._setting = str(config.server.embed)
        self._is_required = config.server.embed_required
        self._ranks = config.search.ranking == "bm25"
        self._workers = Workers(config.server.worker_time_limit, idle_s=None)
        self._waiting: dict[bool, list[tuple[str, asyncio.Future[str]]]] = {False: [], True: []}
        self._task: asyncio.Task[None] | None = None

    def is_due(self, command: Any) -> bool:
        """Return whether a command, one of KINDS, needs a vector, as far as that is known at once."""
        if command.vector is not None:
            return False
        if isinstance(command, Upsert):
            return self._may_need(*command[:3], command.meant, command.lang)
        return bool(command.text) and (self._ranks or isinstance(command, Push))

    def is_row_due(self, row: "TextRow", *, upsert: bool) -> bool:
        """Return whether a row needs a vector, as far as that is known at once; False for one that is refused."""
        if row.vector is not None:
            return False
        if not upsert:
            return isinstance(row.text, str) and bool(row.text)
        try:
            return self._may_need(*row[:3], row.texts or row.text, row.lang)
        except CommandError:
            return False

    def _may_need(self, collection: str, bucket: str, object: str, text: TextOrTexts, lang: str | None) -> bool:
        """Return whether an UPSERT needs a vector; True if that is unknown. Raises InvalidArgument as `upsert`."""
        if self._index is None or self._column is None:
            return bool(given_texts(text).text)
        return self._index.needs_vector(collection, bucket, object, text, lang, self._column)

    async def with_vector(self, command: CommandT) -> CommandT:
        """Return a command with the vector of its text, if it needs one.

        Raises:
            SonicError: the vector could not be made, and is required.
        """
        if not isinstance(command, self.KINDS) or not self.is_due(command):
            return command
        if isinstance(command, Upsert):
            vector = await self.vector_of_upsert(*command[:3], command.meant, command.lang)
        else:
            vector = await self.vector_of(command.text, is_question=not isinstance(command, Push))
        with_it: CommandT = command._replace(vector=vector)  # type: ignore[assignment]
        return with_it

    async def with_vectors(self, rows: "Sequence[TextRow]", *, upsert: bool) -> "tuple[list[TextRow], set[int]]":
        """Return rows with the vectors of their texts, of an UPSERT only where one is needed; and the places of the
        rows that needed one. Raises as `with_vector`.
        """
        found = list(rows)
        if upsert and not await self.knows_column():
            return found, set(range(len(found)))
        due = []
        for place, row in enumerate(found):
            if self.is_row_due(row, upsert=upsert):
                due.append((place, row))
            if place % ROWS_A_TURN == 0:
                await asyncio.sleep(0)
        texts = [given_texts(row.texts or row.text).text if upsert else row.text for _, row in due]
        made = await asyncio.gather(*(self.vector_of(text, is_question=False) for text in texts))
        for (place, row), vector in zip(due, made, strict=True):
            found[place] = row._replace(vector=vector)
        return found, {place for place, _ in due}

    async def vector_of_upsert(
        self, collection: str, bucket: str, object: str, text: TextOrTexts, lang: str | None
    ) -> str | None:
        """Return the vector that an UPSERT needs, as `vector_of`; None: also if the object has the vector of the text.
        The object loses the vector of another text. Both hold until the loop does something else.

        Raises:
            InvalidArgument: as `upsert`.
            SonicError: the vector could not be made, and is required.
        """
        vector = None
        if await self.knows_column():
            whole = given_texts(text).text
            if not whole or not self._may_need(collection, bucket, object, text, lang):
                return None
            vector = await self.vector_of(whole, is_question=False)
        if vector is None:
            self.forget(collection, bucket, object, text, lang)
        return vector

    def forget(self, collection: str, bucket: str, object: str, text: TextOrTexts, lang: str | None) -> None:
        """Take away the vector of another text that an object holds, before an UPSERT whose vector could not be made.

        Raises InvalidArgument and StoreError as `upsert`.
        """
        column = self._column or ""
        if self._index is not None and self._index.needs_vector(collection, bucket, object, text, lang, column):
            forget_vectors(self._index.engine, (collection, bucket, object), column)

    async def knows_column(self) -> bool:
        """Ask the worker for the column of vectors, unless it is known or not needed; return whether there is one.

        Raises:
            SonicError: the function cannot be imported, and vectors are required.
        """
        if self._index is None:
            return True
        if self._column is None:
            if self._finding is None or self._finding.done():
                self._finding = asyncio.create_task(self._workers.run(column_of, self._setting))
            try:
                self._column = await asyncio.shield(self._finding)
            except SonicError as error:
                self._missed(error, is_question=False)
        return self._column is not None

    async def vector_of(self, text: str, *, is_question: bool) -> str | None:
        """Return the vector of a text in the form of `sonicpy.vectors`; None: it could not be made, and need not be.

        Raises:
            SonicError: the vector could not be made, and is required.
        """
        made: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[is_question].append((text, made))
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        try:
            return await made
        except SonicError as error:
            self._missed(error, is_question=is_question)
            return None

    def _missed(self, error: SonicError, *, is_question: bool) -> None:
        """Count a text without a vector. Raises the error if vectors are required."""
        if self._is_required:
            raise error
        self.without += not is_question
        logger.error("without a vector: %s", error)

    def stop(self) -> None:
        """End the worker process."""
        if self._task is not None:
            self._task.cancel()
        self._workers.stop()

    async def _work(self) -> None:
        try:
            while are_questions := [which for which in (True, False) if self._waiting[which]]:
                for which in are_questions:
                    some = self._waiting[which][:BATCH_TEXTS]
                    del self._waiting[which][: len(some)]
                    await self._make(some, are_questions=which)
        finally:
            self._task = None

    async def _make(self, some: list[tuple[str, "asyncio.Future[str]"]], *, are_questions: bool) -> None:
        texts = [text for text, _ in some]
        try:
            vectors = await self._workers.run(embed_texts, self._setting, texts, are_questions=are_questions)
        except SonicError as error:
            for _, made in some:
                if not made.done():
                    made.set_exception(error)
            return
        except BaseException:
            for _, made in some:
                made.cancel()
            raise
        for (_, made), vector in zip(some, vectors, strict=True):
            if made.done():
                continue
            if isinstance(vector, SonicError):
                made.set_exception(vector)
            else:
                made.set_result(vector)
