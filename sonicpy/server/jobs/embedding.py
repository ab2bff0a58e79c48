"""The embedder of a server: a worker process makes the vectors of texts, of several at once if they wait.

An UPSERT needs a vector only if its object holds another text, or has none; an UPSERT of an empty text takes the vector
away.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sonicpy.channel.commands import Explain, Push, Query, Upsert
from sonicpy.config import Config
from sonicpy.errors import CommandError, InvalidArgument, ShuttingDown, SonicError, sentence_of
from sonicpy.filters.sorting import sorts_by_score
from sonicpy.ids import ObjectName
from sonicpy.index.ingest.embedding_job import column_of, embed_texts
from sonicpy.index.ingest.named_texts import given_texts
from sonicpy.index.ingest.replaced_vectors import forget_replaced
from sonicpy.server.jobs.workers import TRIES, DeadlyJob, Workers

if TYPE_CHECKING:
    from sonicpy.http.backend import TextRow
    from sonicpy.index.index import Index

logger = logging.getLogger(__name__)

BATCH_TEXTS = 64
"""The most texts of one job."""
EMBED_S = 60.0
"""The longest time in seconds of one job, beside the loading of the function: clients wait for its vectors."""
QUICK_SHARE = 0.25
"""After a job that took less than this share of its time limit, the next one may have twice as many texts."""
DEATHS_MAX = 16
"""How many workers may die on the parts of one job before a part on which one dies is refused as a whole: enough to
find two texts of BATCH_TEXTS that end workers, and few where each text does."""
ROWS_A_TURN = 32
"""The number of rows whose objects are asked for their texts before the loop serves other connections."""

STOPPED = "the server stops: it makes no more vectors"

TagsAndValues = tuple[Any, Any]
"""The tags and the values of an UPSERT."""
Waiting = tuple[str, "asyncio.Future[str]"]
"""A text, and the future of its vector."""
CommandT = TypeVar("CommandT", bound=Any)
Value = TypeVar("Value")
TextOrTexts = str | Mapping[str, str]
Made = dict[int, str | SonicError | None]
"""Place of a row -> its vector in the form for PUSH; an error: the vector is required and could not be made; None: it
is not required and could not be made, or the text is empty."""


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
        self._is_stopped = False
        self._setting = str(config.server.embed)
        self._is_required = config.server.embed_required
        self._ranks = config.search.ranking == "bm25"
        load_s = config.server.worker_time_limit
        self._limit_s = min(load_s or EMBED_S, EMBED_S)
        self._workers = Workers(
            load_s, idle_s=None, first=partial(column_of, self._setting), later_limit_s=self._limit_s
        )
        self._most_texts = BATCH_TEXTS  # of one job; fewer after a job that was late
        self._waiting: dict[bool, list[Waiting]] = {False: [], True: []}
        self._task: asyncio.Task[None] | None = None

    def is_due(self, command: Any) -> bool:
        """Return whether a command, one of KINDS, needs a vector, as far as that is known at once."""
        if command.vector is not None:
            return False
        if isinstance(command, Upsert):
            return self._may_need(*command[:3], command.meant, command.lang)
        return bool(command.text) and (isinstance(command, Push) or self.ranks(command.sort))

    def ranks(self, sort: str | None) -> bool:
        """Return whether the vector of a question decides an order that SORT names; None: the one by score."""
        return self._ranks and (sort is None or sorts_by_score(sort))

    def is_row_due(self, row: "TextRow", *, upsert: bool) -> bool:
        """Return whether a row, pushed or with `upsert` upserted, needs a vector, as far as that is known at once;
        False if it is refused."""
        if row.vector is not None:
            return False
        if not upsert:
            return isinstance(row.text, str) and bool(row.text)
        try:
            return self._may_need(*row[:3], row.texts or row.text, row.lang)
        except CommandError:
            return False

    def _may_need(self, collection: str, bucket: str, object: ObjectName, text: TextOrTexts, lang: str | None) -> bool:
        """Return whether an UPSERT needs a vector; True if that is unknown. Raises InvalidArgument as `upsert`."""
        if self._index is None:
            return bool(given_texts(text).text)
        if self._column is None:
            return True
        return self._index.needs_vector(collection, bucket, object, text, lang, self._column)

    async def with_vector(self, command: CommandT) -> CommandT:
        """Return a command with the vector of its text, if it needs one.

        Raises:
            SonicError: the vector could not be made, and is required.
        """
        if not isinstance(command, self.KINDS) or not self.is_due(command):
            return command
        if isinstance(command, Upsert):
            others = command.tags, command.values
            vector = await self.vector_of_upsert(*command[:3], command.meant, command.lang, others=others)
        else:
            vector = await self.vector_of(command.text, is_question=not isinstance(command, Push))
        with_it: CommandT = command._replace(vector=vector)  # type: ignore[assignment]
        return with_it

    async def vectors_of(self, rows: "Sequence[TextRow]", *, upsert: bool) -> Made:
        """Return the vectors of those rows of a bulk request that need one, as far as that is known now; `upsert` as in
        `is_row_due`."""
        due, column = [], await self._made_or_error(self.knows_column()) if upsert else True
        for place, row in enumerate(rows):
            if self.is_row_due(row, upsert=upsert):
                due.append(place)
            if place % ROWS_A_TURN == 0:
                await asyncio.sleep(0)
        if column is not True:
            return dict.fromkeys(due, column or None)
        texts = [given_texts(rows[at].texts or rows[at].text).text if upsert else rows[at].text for at in due]
        made = await asyncio.gather(*(self._made_or_error(self._vector_of_any(text)) for text in texts))
        return dict(zip(due, made, strict=True))

    async def with_row_vector(
        self, row: "TextRow", place: int, made: Made, seal: Callable[[], Awaitable[None]], *, upsert: bool
    ) -> "TextRow":
        """Return a row of a bulk request with its vector, to be pushed at once; see `vector_of_upsert`.

        Args:
            place: its place among the rows of `vectors_of`.
            made: the result of `vectors_of`. The object may have changed since, perhaps by a row before.
            seal: writes the changes of the rows before to the log. It is awaited before the vector is, because an error
                of another connection's changes would undo them meanwhile.

        Raises:
            InvalidArgument: the row is refused, because it has no vector, and needs one.
            StoreError: as `forget` and `seal`.
        """
        if place not in made and not (upsert and self.is_row_due(row, upsert=True)):
            return row
        text = row.texts or row.text
        if place in made:
            vector = made[place]
        else:
            await seal()
            vector = await self._made_or_error(self._vector_for(*row[:3], text, row.lang))
        if isinstance(vector, SonicError):
            raise InvalidArgument(f"the text has no vector: {sentence_of(vector)}") from vector
        if vector is None and upsert:
            if place in made:
                self._count_without_column(text)
            self.forget(row[:3], text, row.lang, (row.tags, row.values))
        return row._replace(vector=vector)

    @staticmethod
    async def _made_or_error(made: Awaitable[Value]) -> Value | SonicError:
        try:
            return await made
        except ShuttingDown:
            raise
        except SonicError as error:
            return error

    async def vector_of_upsert(
        self,
        collection: str,
        bucket: str,
        object: ObjectName,
        text: TextOrTexts,
        lang: str | None,
        *,
        others: TagsAndValues,
    ) -> str | None:
        """Return the vector that an UPSERT needs, as `vector_of`; None: also if the object has the vector of the text.
        The object loses the vector of another text. Both hold until the loop does something else.

        Args:
            collection, bucket, object, text, lang: as in `upsert`.
            others: the tags and the values of the UPSERT.

        Raises:
            InvalidArgument: as `upsert`.
            SonicError: the vector could not be made, and is required.
        """
        vector = await self._vector_for(collection, bucket, object, text, lang)
        if vector is None:
            self.forget((collection, bucket, object), text, lang, others)
        return vector

    async def _vector_for(
        self, collection: str, bucket: str, object: ObjectName, text: TextOrTexts, lang: str | None
    ) -> str | None:
        """Return the vector that an UPSERT needs; None: it needs none, or the vector could not be made. Raises as
        `vector_of_upsert`.
        """
        if not await self.knows_column():
            self._count_without_column(text)
            return None
        if not self._may_need(collection, bucket, object, text, lang):
            return None
        return await self._vector_of_any(given_texts(text).text)

    async def _vector_of_any(self, text: str) -> str | None:
        """Return the vector of a text, as `vector_of`; None for an empty text."""
        return await self.vector_of(text, is_question=False) if text else None

    def forget(
        self, names: tuple[str, str, ObjectName], text: TextOrTexts, lang: str | None, others: TagsAndValues
    ) -> None:
        """Take away the vector of another text that an object holds, before an UPSERT without a vector. If that is
        refused, raise its error instead.

        Raises InvalidArgument and StoreError as `upsert`.
        """
        if self._index is not None:
            forget_replaced(self._index, names, text, lang, self._column or "", others)

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
                self._missed(error)
        return self._column is not None

    def _count_without_column(self, text: TextOrTexts) -> None:
        """Count a text of an UPSERT that has no vector because the column of vectors is unknown. Raises InvalidArgument
        as `upsert`."""
        if self._index is not None and self._column is None:
            self.without += bool(given_texts(text).text)

    async def vector_of(self, text: str, *, is_question: bool) -> str | None:
        """Return the vector of a text, or of a question if `is_question`, in the form of `sonicpy.vectors`; None: it
        could not be made, and is not required.

        Raises:
            SonicError: the vector could not be made, and is required.
            ShuttingDown: `stop` was called.
        """
        if self._is_stopped:
            raise ShuttingDown(STOPPED)
        made: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._waiting[is_question].append((text, made))
        if self._task is None:
            self._task = asyncio.create_task(self._work())
        try:
            return await made
        except SonicError as error:
            self._missed(error)
            self.without += not is_question
            return None

    def _missed(self, error: SonicError) -> None:
        """Log the error that left texts without vectors. Raises the error if vectors are required."""
        if self._is_required:
            raise error
        logger.error("without a vector: %s", error)

    async def stop(self) -> None:
        """End the worker process; texts that wait for their vectors are refused."""
        self._is_stopped = True
        self._workers.stop()  # which ends the jobs below
        await asyncio.gather(*filter(None, (self._task, self._finding)), return_exceptions=True)

    async def _work(self) -> None:
        try:
            while are_questions := [which for which in (True, False) if self._waiting[which]]:
                if self._is_stopped:
                    self._refuse_waiting()
                    return
                for which in are_questions:
                    some = self._waiting[which][: self._most_texts]
                    del self._waiting[which][: len(some)]
                    await self._make(some, are_questions=which)
        finally:
            self._task = None

    def _refuse_waiting(self) -> None:
        for waiting in self._waiting.values():
            for _, made in waiting:
                if not made.done():
                    made.set_exception(ShuttingDown(STOPPED))
            waiting.clear()

    async def _make(self, some: list[Waiting], *, are_questions: bool) -> None:
        """Make the vectors of texts, each perhaps of another client. A job on which a worker died is done again in
        halves, so that only the text that ended the worker is refused; one that was late, too, if the first of its
        texts alone is not: perhaps the texts were too many, or one of them too long."""
        parts, deaths, lates = [(some, 0)], 0, 0
        try:
            while parts:
                part, died = parts.pop()
                if self._is_stopped:
                    raise ShuttingDown(STOPPED)
                tries = 1 if len(part) > 1 else max(1, TRIES - died)
                began_s = time.monotonic()
                try:
                    vectors = await self._workers.run_at_most(
                        tries, embed_texts, self._setting, [text for text, _ in part], are_questions=are_questions
                    )
                except DeadlyJob as error:
                    deaths += tries
                    half = len(part) // 2
                    lates += error.was_late
                    if lates > 1:  # without a success between them
                        raise
                    if half and error.was_late and deaths < DEATHS_MAX:
                        self._most_texts = half
                        rest = [part[half:], part[1:half], part[:1]]
                        parts += [(each, died) for each in rest if each]
                    elif half and error.has_ended_worker and deaths < DEATHS_MAX:
                        parts += [(part[half:], died + 1), (part[:half], died + 1)]
                    else:
                        _settle(part, [error] * len(part))
                else:
                    lates = 0
                    if time.monotonic() - began_s < QUICK_SHARE * self._limit_s:
                        self._most_texts = min(2 * self._most_texts, BATCH_TEXTS)
                    _settle(part, vectors)
        except SonicError as error:
            _settle(some, [error] * len(some))
        except BaseException:
            for _, made in some:
                made.cancel()
            raise


def _settle(some: Sequence[Waiting], vectors: Sequence[str | SonicError]) -> None:
    """Hand the vectors of texts, or their errors, to the callers that still wait for them."""
    for (_, made), vector in zip(some, vectors, strict=True):
        if made.done():
            continue
        if isinstance(vector, SonicError):
            made.set_exception(vector)
        else:
            made.set_result(vector)
