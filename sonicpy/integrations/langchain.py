"""A retriever of LangChain over an index or a server: `from sonicpy.integrations.langchain import SonicRetriever`."""

from collections.abc import Callable, Mapping
from typing import Any

from sonicpy.api.hits import Hit
from sonicpy.search import FilterLike

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables.config import run_in_executor
except ImportError as missing:
    raise ImportError("SonicRetriever needs langchain-core: pip install 'sonicpy-search[langchain]'") from missing

Fetch = Callable[[list[str]], Mapping[str, Any]]
"""Takes names of objects; returns a mapping from names to texts, or to documents of LangChain."""


class SonicRetriever(BaseRetriever):  # type: ignore[misc]
    """A retriever whose documents are the objects that match a question, best first.

    An index holds words and no texts, so `fetch` reads the texts from the place where they are kept. An object without
    a text there is left out. `invoke` takes `k`, `filter` and the options of `query` for one question, too.

    Attributes:
        index: an Index or a Client, whose methods any thread may call.
        collection, bucket: the bucket that is searched.
        fetch: called once for each question, with the names of all hits.
        k: the most documents of an answer.
        filter: only objects whose tags and values meet it, as in `Index.query`; None: all.
        vector: returns the vector of a question, such as `embed_query` of embeddings of LangChain; None: words alone
            decide, or the embedder of the index.
        options: other options of `Index.query`, such as {"match": "any"}.
    """

    index: Any
    collection: str
    bucket: str = "default"
    fetch: Fetch
    k: int = 4
    filter: FilterLike = None
    vector: Callable[[str], Any] | None = None
    options: dict[str, Any] = {}

    def _get_relevant_documents(self, query: str, *, run_manager: Any, **given: Any) -> list[Any]:
        """Return the documents of a question. Raises as `Index.query`.

        Args:
            query: the question.
            run_manager: the callback manager of LangChain, which is not used.
            given: `k`, `filter` and options of `query` for this question.
        """
        options = {"filter": self.filter, **self.options, "limit": given.pop("k", self.k), **given}
        if self.vector is not None and options.get("vector") is None:
            options["vector"] = self.vector(query)
        hits = self.index.query(self.collection, self.bucket, query, **options)
        texts = self.fetch(hits.objects) if hits else {}
        return [self._document(hit, texts[hit.object]) for hit in hits if texts.get(hit.object) is not None]

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any, **given: Any) -> list[Any]:
        """Return the documents that answer a question, asked in a thread. Arguments and errors as in
        `_get_relevant_documents`.
        """

        def ask() -> list[Any]:
            return self._get_relevant_documents(query, run_manager=run_manager.get_sync(), **given)

        found: list[Any] = await run_in_executor(None, ask)
        return found

    def _document(self, hit: Hit, fetched: Any) -> Any:
        """Return the document of a hit: the one of `fetch` with the score added, or a new one with its text."""
        found = {"object": hit.object, "score": hit.score}
        if isinstance(fetched, Document):
            return fetched.model_copy(update={"metadata": {**fetched.metadata, **found}})
        place = {"collection": self.collection, "bucket": self.bucket}
        return Document(page_content=fetched, id=hit.object, metadata={**place, **found})
