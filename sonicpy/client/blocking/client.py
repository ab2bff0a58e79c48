"""Client: the interface of Index over blocking connections; any number of threads may share one."""

import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sonicpy.api.bucket import Bucket
from sonicpy.api.explanation import Explanation
from sonicpy.api.hits import Hits
from sonicpy.api.html import figures_table, index_tables
from sonicpy.api.rows import TEXT_COLUMN, Progress, PushReport, Shape, read_rows
from sonicpy.channel.commands import Mode
from sonicpy.client import plans
from sonicpy.client.address import Address
from sonicpy.client.blocking.pool import Pool, Settings
from sonicpy.client.plans import Plan, Value
from sonicpy.client.pushes import Pushes, Report, Waiting
from sonicpy.errors import NotOffered, SonicError


class Client:
    """An index on a server; made by `sonicpy.connect`.

    Every method raises CommandError for what the server refuses (or would refuse: names and languages are checked
    before), and ClientError when it cannot be asked: NotOffered, ConnectionLost, TimedOut, WrongPassword.
    """

    def __init__(self, address: Address, pool: Pool, server: str) -> None:
        self._address = address
        self._pool = pool
        self._server = server

    @classmethod
    def open(cls, address: Address, settings: Settings) -> Self:
        """Return a client that has spoken with its server; `sonicpy.connect` does it."""
        pool = Pool(address, settings)
        with pool.lent(Mode.SEARCH) as connection:
            return cls(address, pool, str(connection.facts))

    def __repr__(self) -> str:
        return f"<Client of {self._address}, {self._server}>"

    @property
    def server(self) -> str:
        """Name and version of the server, as it greeted when the client was made."""
        return self._server

    # -- changes -------------------------------------------------------------------------------------------------

    def push(self, collection: str, bucket: str, object: str, text: str, lang: str | None = None) -> None:
        """Add a text to an object; one too long for a line is sent in several. The same text again changes nothing.

        Args:
            lang: ISO 639-3 code of the text; None: the server guesses; "none": no language.
        """
        self._run(plans.push(collection, bucket, object, text, lang))

    def push_many(
        self,
        rows: Any,
        *,
        collection: str | None = None,
        bucket: str | None = None,
        object: str | None = None,
        text: str | Sequence[str] = TEXT_COLUMN,
        lang: str | None = None,
        new: bool = False,
        progress: Progress | None = None,
    ) -> PushReport:
        """Push many texts, some hundred under way at a time; return how many were indexed, which were refused and why.

        Rows are as in `Index.push_many`. Where the connection breaks, what was not acknowledged is pushed again.

        Args:
            rows: an iterable of tuples (object, text), (object, text, lang), (collection, bucket, object, text) or
                (collection, bucket, object, text, lang), or of dicts; or a table of pyarrow, pandas or Polars.
            collection, bucket: of all rows; None: each row tells its own, in the columns of these names.
            object: the column with the name of the object; None: `id`, else `object`.
            text: the column with the text; several are put together.
            lang: as in `push`, of all rows; None: each row's column `lang`, where there is one.
            new: not offered over Sonic Channel: whether an object is there is not asked for.
            progress: called now and then with the number of rows that are done.

        Raises:
            CommandError, TypeError, ValueError: as `Index.push_many`.
            ClientError: the server could not be asked any more; a note says how many rows were indexed.
        """
        if new:
            raise NotOffered("new of push_many", self._server)
        report = Report(progress)
        pushes = Pushes(read_rows(rows, Shape(collection, bucket, object, text, lang)), report.settled)
        try:
            self._send(pushes)
        except SonicError as trouble:
            report.note_on(trouble)
            raise
        return report.finish()

    def pop(self, collection: str, bucket: str, object: str, text: str) -> int:
        """Take the words of a text from an object; return how many went."""
        return self._run(plans.pop(collection, bucket, object, text))

    def flush(self, collection: str, bucket: str | None = None, object: str | None = None) -> int:
        """Forget a collection, a bucket or an object, by how many names are given; return what the server counts."""
        return self._run(plans.flush(collection, bucket, object))

    def flush_collection(self, collection: str) -> int:
        """Forget a collection; return 1 if it existed, else 0."""
        return self.flush(collection)

    def flush_bucket(self, collection: str, bucket: str) -> int:
        """Forget a bucket; return 1 if it existed, else 0."""
        return self.flush(collection, bucket)

    def flush_object(self, collection: str, bucket: str, object: str) -> int:
        """Forget an object; return how many words it held."""
        return self.flush(collection, bucket, object)

    def bucket(self, collection: str, bucket: str) -> Bucket:
        """Return one bucket: the same methods without the two names. Raises CommandError for a name."""
        return Bucket(self, collection, bucket)

    def batch(self) -> "Batch":
        """Group the pushes made inside a `with` block: they are sent together, some hundred at a time."""
        return Batch(self._address, self._pool, self._server)

    # -- answers -------------------------------------------------------------------------------------------------

    def query(
        self,
        collection: str,
        bucket: str,
        text: str,
        *,
        limit: int = 10,
        offset: int = 0,
        lang: str | None = None,
        total: bool = False,
    ) -> Hits:
        """Return the objects that answer a text, best first, with scores if the server tells them."""
        return self._run(plans.query(collection, bucket, text, limit, offset, lang, total))

    def explain(
        self, collection: str, bucket: str, text: str, *, limit: int = 10, lang: str | None = None
    ) -> Explanation:
        """Return why a query answers what it does."""
        return self._run(plans.explain(collection, bucket, text, limit, lang))

    def suggest(self, collection: str, bucket: str, word: str, *, limit: int = 5) -> list[str]:
        """Return words of the bucket that complete or correct `word`."""
        return self._run(plans.suggest(collection, bucket, word, limit))

    def words(self, collection: str, bucket: str, *, limit: int = 100, offset: int = 0) -> list[str]:
        """Return words of the bucket in byte order."""
        return self._run(plans.words(collection, bucket, limit, offset))

    def count(self, collection: str, bucket: str | None = None, object: str | None = None) -> int:
        """Count the buckets of a collection, the words of a bucket or those of an object, by how many names."""
        return self._run(plans.count(collection, bucket, object))

    def count_buckets(self, collection: str) -> int:
        """Return how many buckets of the collection hold words."""
        return self.count(collection)

    def count_words(self, collection: str, bucket: str) -> int:
        """Return how many different words the bucket holds."""
        return self.count(collection, bucket)

    def count_objects(self, collection: str, bucket: str) -> int:
        """Return how many objects the bucket holds."""
        return self._run(plans.number("COUNTB", collection, bucket))

    def count_object_words(self, collection: str, bucket: str, object: str) -> int:
        """Return how many different words the object holds."""
        return self.count(collection, bucket, object)

    # -- upkeep --------------------------------------------------------------------------------------------------

    def consolidate(self) -> None:
        """Let the server build the word graphs of all buckets whose words changed; return when they are built."""
        self._run(plans.consolidate())

    def backup(self, folder: Path | str) -> None:
        """Let the server write a backup; return when it is whole.

        Args:
            folder: on the server's machine, a path without white space.
        """
        self._run(plans.backup(folder))

    def restore(self, folder: Path | str) -> None:
        """Let the server replace the collections that a backup holds; return when they are. Args as in `backup`."""
        self._run(plans.restore(folder))

    def stats(self, collection: str | None = None, bucket: str | None = None) -> dict[str, Any]:
        """Return figures of the index, a collection or a bucket."""
        found: dict[str, Any] = self._run(plans.stats(collection, bucket))
        return found

    def verify(self) -> list[str]:
        """Let the server check every table against every other; return what is wrong."""
        found: list[str] = self._run(plans.verify())
        return found

    def ping(self) -> float:
        """Ask for a sign of life; return after how many seconds it came."""
        began = time.monotonic()
        self._run(plans.ping(Mode.SEARCH))
        return time.monotonic() - began

    def info(self) -> dict[str, int]:
        """Return what INFO tells, figure by figure."""
        return self._run(plans.info())

    def close(self) -> None:
        """Close all connections; those that other threads are using when these are done."""
        self._pool.close()

    def _repr_html_(self) -> str:
        """Return tables for notebooks."""
        try:
            return index_tables(repr(self), self.stats)
        except NotOffered:
            return figures_table(repr(self), self.info())
        except SonicError as trouble:
            return figures_table(repr(self), {"note": str(trouble)})

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, pushes: Pushes) -> None:
        self._pool.push(pushes)

    def _run(self, plan: Plan[Value]) -> Value:
        try:
            exchange = next(plan)
            while True:
                try:
                    reply = self._pool.carry_out(exchange)
                except SonicError as trouble:
                    exchange = plan.throw(trouble)
                else:
                    exchange = plan.send(reply)
        except StopIteration as end:
            value: Value = end.value
            return value


class Batch(Client):
    """A client inside `with client.batch() as batch`: pushes are sent some hundred at a time.

    Every other method first sends the pushes that wait, so the order of things stays. What a server refuses of a push
    is raised when it was sent, at the end of the block at the latest; for one thread.
    """

    def __init__(self, address: Address, pool: Pool, server: str) -> None:
        super().__init__(address, pool, server)
        self._waiting = Waiting()

    def push(self, collection: str, bucket: str, object: str, text: str, lang: str | None = None) -> None:
        """Add a text to an object; it is sent later."""
        if self._waiting.add(collection, bucket, object, text, lang):
            self.send()

    def send(self) -> None:
        """Send the pushes that wait."""
        if self._waiting:
            self._pool.push(self._waiting.take())
            self._waiting.raise_refusal()

    def close(self) -> None:
        """Send the pushes that wait; the client stays open."""
        self.send()

    def _send(self, pushes: Pushes) -> None:
        self.send()
        super()._send(pushes)

    def _run(self, plan: Plan[Value]) -> Value:
        self.send()
        return super()._run(plan)
