"""SonicRetriever answers as `query` does, with texts; it passes the tests that LangChain ships for retrievers."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import sonicpy
from tests.processes import HOST, Server

pytest.importorskip("langchain_core", reason="needs the extra: pip install 'sonicpy-search[langchain]'")

from langchain_core.documents import Document  # noqa: E402

from sonicpy.integrations.langchain import SonicRetriever  # noqa: E402

TEXTS = {
    "m:1": "Sunny weather in Nantes",
    "m:2": "Rainy weather in Lisbon, and a cold wind",
    "m:3": "The weather report for the whole week, from Monday to Sunday",
    "m:4": "Lunch at noon",
    "m:5": "No weather at all today, says the station on the hill near the river",
}


def fetch(names: list[str]) -> dict[str, str]:
    return {name: TEXTS[name] for name in names}


@pytest.fixture(scope="module")
def index() -> Iterator[sonicpy.Index]:
    with sonicpy.open(":memory:") as opened:
        for name, text in TEXTS.items():
            opened.push("mail", "default", name, text, "eng", tags=["even" if int(name[2:]) % 2 == 0 else "odd"])
        yield opened


@pytest.fixture
def retriever(index: sonicpy.Index) -> Any:
    return SonicRetriever(index=index, collection="mail", fetch=fetch)


@pytest.mark.parametrize("question", ["weather", "wether lisbon", "lun", "nothing of it"])
def test_documents_are_the_hits_with_their_texts(index: sonicpy.Index, retriever: Any, question: str) -> None:
    hits = index.query("mail", "default", question, limit=4)
    found = retriever.invoke(question)
    assert [document.id for document in found] == hits.objects
    assert [document.page_content for document in found] == [TEXTS[hit] for hit in hits]
    assert [document.metadata["score"] for document in found] == hits.scores
    assert all(document.metadata["collection"] == "mail" for document in found)
    assert asyncio.run(retriever.ainvoke(question)) == found


def test_options_of_one_question_and_of_all(index: sonicpy.Index, retriever: Any) -> None:
    def names(found: list[Document]) -> list[str | None]:
        return [document.id for document in found]

    assert names(retriever.invoke("weather", k=1)) == index.query("mail", "default", "weather", limit=1).objects
    assert names(retriever.invoke("weather", filter="even")) == ["m:2"]
    assert names(asyncio.run(retriever.ainvoke("weather", filter="even"))) == ["m:2"]
    even = retriever.model_copy(update={"filter": "even", "options": {"match": "all"}})
    assert names(even.invoke("weather lunch")) == []
    assert names(even.invoke("weather lunch", match="any")) == index.query(
        "mail", "default", "weather lunch", match="any", filter="even"
    ).objects  # fmt: skip
    with pytest.raises(sonicpy.InvalidArgument, match="match is 'some'"):
        retriever.invoke("weather", match="some")


def test_fetch_may_return_documents_and_leave_some_out(index: sonicpy.Index) -> None:
    asked: list[list[str]] = []

    def two(names: list[str]) -> dict[str, Document]:
        asked.append(names)
        return {name: Document(page_content=TEXTS[name], metadata={"from": "ann"}) for name in names if name != "m:2"}

    found = SonicRetriever(index=index, collection="mail", fetch=two).invoke("weather")
    assert [document.metadata["object"] for document in found] == [name for name in asked[0] if name != "m:2"]
    assert {document.metadata["from"] for document in found} == {"ann"}
    assert len(asked) == 1 and "m:2" in asked[0]


def test_a_vector_of_the_question_puts_hits_in_order() -> None:
    like, unlike = [1.0] * 8, [-1.0] * 8
    with sonicpy.open(":memory:") as index:
        index.push("c", "b", "far", "blue boat", "eng", unlike)
        index.push("c", "b", "near", "blue boat on a very long and winding river", "eng", like)
        named: Any = {"index": index, "collection": "c", "bucket": "b", "fetch": lambda names: dict.fromkeys(names, "")}
        words = SonicRetriever(**named).invoke("boat")
        both = SonicRetriever(**named, vector=lambda question: like, options={"meaning": 2}).invoke("boat")
    assert [document.id for document in words] == ["far", "near"]
    assert [document.id for document in both] == ["near", "far"]


def test_over_a_server(shared_server: Server) -> None:
    with sonicpy.connect(f"sonic://{HOST}:{shared_server.port}") as client:
        client.push_many(list(TEXTS.items()), collection="chain", bucket="default")
        retriever = SonicRetriever(index=client, collection="chain", fetch=fetch)
        assert retriever.invoke("lunch")[0].page_content == TEXTS["m:4"]


def test_nothing_else_loads_the_package() -> None:
    program = """
import sys; sys.modules["langchain_core"] = None
import sonicpy, sonicpy.integrations
try:
    import sonicpy.integrations.langchain
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "SonicRetriever needs langchain-core: pip install 'sonicpy-search[langchain]'\n"
