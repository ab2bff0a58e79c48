"""AsyncBucket: the methods of an AsyncClient without the two names in front, as Bucket is for the others."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sonicpy.api.explanation import Explanation
from sonicpy.api.hits import Hits
from sonicpy.api.rows import TEXT_COLUMN, Progress, PushReport
from sonicpy.ids import check_bucket, check_collection

if TYPE_CHECKING:
    from sonicpy.client.aio.client import AsyncClient


class AsyncBucket:
    """One bucket of a client, whether it exists or not. It keeps nothing but the names.

    Raises:
        CommandError: a name is not 1 to 128 ASCII characters without white space.
    """

    __slots__ = ("_client", "bucket", "collection")

    def __init__(self, client: "AsyncClient", collection: str, bucket: str) -> None:
        check_collection(collection)
        check_bucket(bucket)
        self._client = client
        self.collection = collection
        self.bucket = bucket

    def __repr__(self) -> str:
        return f"{self._client!r}.bucket({self.collection!r}, {self.bucket!r})"

    async def push(self, object: str, text: str, lang: str | None = None) -> None:
        """Add a text to an object; see `AsyncClient.push`."""
        await self._client.push(self.collection, self.bucket, object, text, lang)

    async def push_many(
        self,
        rows: Any,
        *,
        object: str | None = None,
        text: str | Sequence[str] = TEXT_COLUMN,
        lang: str | None = None,
        new: bool = False,
        progress: Progress | None = None,
    ) -> PushReport:
        """Push many texts; return what was indexed and what was refused. See `AsyncClient.push_many`."""
        return await self._client.push_many(
            rows,
            collection=self.collection,
            bucket=self.bucket,
            object=object,
            text=text,
            lang=lang,
            new=new,
            progress=progress,
        )

    async def pop(self, object: str, text: str) -> int:
        """Take the words of a text from an object; return how many went."""
        return await self._client.pop(self.collection, self.bucket, object, text)

    async def query(
        self, text: str, *, limit: int = 10, offset: int = 0, lang: str | None = None, total: bool = False
    ) -> Hits:
        """Return the objects that answer a text, best first; see `AsyncClient.query`."""
        return await self._client.query(
            self.collection, self.bucket, text, limit=limit, offset=offset, lang=lang, total=total
        )

    async def explain(self, text: str, *, limit: int = 10, lang: str | None = None) -> Explanation:
        """Return why a query answers what it does."""
        return await self._client.explain(self.collection, self.bucket, text, limit=limit, lang=lang)

    async def suggest(self, word: str, *, limit: int = 5) -> list[str]:
        """Return words that complete or correct `word`."""
        return await self._client.suggest(self.collection, self.bucket, word, limit=limit)

    async def words(self, *, limit: int = 100, offset: int = 0) -> list[str]:
        """Return words in byte order."""
        return await self._client.words(self.collection, self.bucket, limit=limit, offset=offset)

    async def count(self, object: str | None = None) -> int:
        """Return how many different words the bucket, or one of its objects, holds."""
        return await self._client.count(self.collection, self.bucket, object)

    async def count_objects(self) -> int:
        """Return how many objects there are."""
        return await self._client.count_objects(self.collection, self.bucket)

    async def flush(self, object: str | None = None) -> int:
        """Forget everything, or one object; see `AsyncClient.flush`."""
        return await self._client.flush(self.collection, self.bucket, object)

    async def stats(self) -> dict[str, Any]:
        """Return what the bucket holds, as a dict that JSON can tell."""
        return await self._client.stats(self.collection, self.bucket)
