"""The embedder of a server: a worker process makes the vectors of texts, of several at once if they wait."""

import asyncio
import logging
from typing import Any, TypeVar

from sonicpy.channel.commands import Explain, Push, Query
from sonicpy.config import Config
from sonicpy.errors import SonicError
from sonicpy.index.ingest.embedding_job import embed_texts
from sonicpy.server.jobs.workers import Workers

logger = logging.getLogger(__name__)

BATCH_TEXTS = 64
"""The most texts of one job."""

CommandT = TypeVar("CommandT", bound=Any)


def has_embedder(config: Config) -> bool:
    """Return whether the settings name a function for vectors; compat mode has none."""
    return config.server.embed is not None and config.server.compat != "sonic"


class Embedding:
    """Makes the vectors of texts and questions that come without one. Create it while the loop runs.

    Attributes:
        without: how many texts were stored without a vector, because it could not be made.
    """

    KINDS = (Push, Query, Explain)

    def __init__(self, config: Config) -> None:
        self.without = 0
        self._setting = str(config.server.embed)
        self._is_required = config.server.embed_required
        self._ranks = config.search.ranking == "bm25"
        self._workers = Workers(config.server.worker_time_limit, idle_s=None)
        self._waiting: dict[bool, list[tuple[str, asyncio.Future[str]]]] = {False: [], True: []}
        self._task: asyncio.Task[None] | None = None

    def is_due(self, command: Any) -> bool:
        """Return whether a command, one of KINDS, needs a vector."""
        return command.vector is None and bool(command.text) and (self._ranks or isinstance(command, Push))

    async def with_vector(self, command: CommandT) -> CommandT:
        """Return a command with the vector of its text, if it needs one.

        Raises:
            SonicError: the vector could not be made, and is required.
        """
        if not isinstance(command, self.KINDS) or not self.is_due(command):
            return command
        vector = await self.vector_of(command.text, is_question=not isinstance(command, Push))
        with_it: CommandT = command._replace(vector=vector)  # type: ignore[assignment]
        return with_it

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
            if self._is_required:
                raise
            self.without += not is_question
            logger.error("without a vector: %s", error)
            return None

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
            if not made.done():
                made.set_result(vector)
