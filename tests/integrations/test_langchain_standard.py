"""SonicRetriever passes the standard tests that the package langchain-tests ships for retrievers."""

from collections.abc import Iterator
from typing import Any

import pytest

import sonicpy

pytest.importorskip("langchain_tests", reason="needs langchain-tests: pip install 'sonicpy-search[assistants]'")

from langchain_tests.integration_tests import RetrieversIntegrationTests  # noqa: E402

from sonicpy.integrations.langchain import SonicRetriever  # noqa: E402
from tests.integrations.test_langchain import TEXTS, fetch  # noqa: E402

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class TestSonicRetriever(RetrieversIntegrationTests):
    """The standard tests for retrievers, which the base class defines."""

    @pytest.fixture(autouse=True)
    def opened(self) -> Iterator[None]:
        with sonicpy.open(":memory:") as index:
            index.bucket("mail", "default").push_many(list(TEXTS.items()))
            self.index = index
            yield

    @property
    def retriever_constructor(self) -> type[Any]:
        return SonicRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": self.index, "collection": "mail", "fetch": fetch}

    @property
    def retriever_query_example(self) -> str:
        return "weather"
