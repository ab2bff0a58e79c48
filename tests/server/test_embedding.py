"""A server with an embedder: OK comes only with the vector stored, and vectors outlive the model."""

import asyncio
import json
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import sonicpy
from sonicpy.config import Config, ServerConfig
from sonicpy.errors import ShuttingDown, StoreError, StoreFull, WorkerError
from sonicpy.http.backend import TextRow
from sonicpy.index.ingest.embedding_job import embed_texts
from sonicpy.server.jobs import embedding, workers
from sonicpy.server.jobs.embedding import Embedding
from sonicpy.server.web import http
from sonicpy.server.web.http import ServerBackend
from sonicpy.server.web.http_protocol import Pace
from tests.in_loop import serving_with, set_commit_after
from tests.processes import HOST, Server, free_port
from tests.server.peer import Peer
from tests.server.test_passes import full_log

MODEL = """
from pathlib import Path

def embed(texts):
    with Path(__file__).with_suffix(".log").open("a") as log:
        log.writelines(f"{text}\\n" for text in texts)
    if any("crash" in text for text in texts):
        raise RuntimeError("no vector of this")
    return [[text.lower().count(chr(97 + place)) * 4 - 1 for place in range(24)] for text in texts]
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The setting for a model that counts letters."""
    path = tmp_path_factory.mktemp("model") / "model.py"
    path.write_text(MODEL, encoding="utf-8")
    return f"{path}:embed"


@pytest.fixture
def server(tmp_path: Path, model: str) -> Iterator[Server]:
    port = free_port(HOST)
    settings = {"server.embed": model, "http.inet": f"{HOST}:{port}"}
    with Server(tmp_path, settings) as running:
        running.http = f"http://{HOST}:{port}"  # type: ignore[attr-defined]
        yield running


def posted(server: Server, path: str, given: dict[str, object] | str) -> dict[str, object]:
    body = given if isinstance(given, str) else json.dumps(given)
    request = urllib.request.Request(f"{server.http}{path}", body.encode(), {"Content-Type": "application/json"})  # type: ignore[attr-defined]
    with urllib.request.urlopen(request) as answer:
        found: dict[str, object] = json.load(answer)
        return found


def test_texts_and_questions_get_vectors(server: Server) -> None:
    with Peer(server, "ingest") as ingest:
        assert ingest.ask('PUSH c b boat "the boat"') == "OK"
        assert ingest.ask('PUSH c b hive "the buzzing bees"') == "OK"
        refused = ingest.ask('PUSH c b bad "the crash"')
        assert refused == "ERR internal_error"
        assert ingest.ask("COUNTB c b") == "RESULT 2", "not at all"
    posted(server, "/v1/push", {"collection": "c", "bucket": "b", "object": "jazz", "text": "the jazz"})
    rows = [{"collection": "c", "bucket": "b", "object": name, "text": f"the {name}"} for name in ("kiwi", "opal")]
    assert posted(server, "/v1/bulk", "\n".join(map(json.dumps, rows)))["pushed"] == 2
    check_answers(server)
    asked = {"collection": "c", "bucket": "b", "text": "the oboe boat", "limit": 1}
    (hit,) = posted(server, "/v1/query", asked)["hits"]  # type: ignore[misc]
    assert hit["object"] == "boat"  # type: ignore[index]
    server.kill()
    server.start()
    check_answers(server)


def check_answers(server: Server) -> None:
    with Peer(server, "search") as search:
        for text, first in (("the oboat", "boat"), ("the gnus bin", "hive"), ("the jaz", "jazz"), ("the wiki", "kiwi")):
            assert search.results(f'QUERY c b "{text}" LIMIT(1) MEANING(9)') == [first]
        explained = json.loads(search.ask('EXPLAIN c b "the oboat"').removeprefix("RESULT "))
        assert all(hit["likeness"] is not None for hit in explained["hits"])
        assert search.ask('QUERY c b "the crash"') == "ERR internal_error"


@pytest.mark.full
@pytest.mark.parametrize("ranking", ["bm25", "newest"])
def test_a_question_in_another_order_gets_no_vector(tmp_path: Path, ranking: str) -> None:
    path, port = tmp_path / "model.py", free_port(HOST)
    path.write_text(MODEL, encoding="utf-8")
    at = {"server.embed": f"{path}:embed", "search.ranking": ranking, "http.inet": f"{HOST}:{port}"}
    scope: dict[str, object] = {"collection": "c", "bucket": "b"}
    with Server(tmp_path / "server", at) as server, Peer(server, "search") as search:
        server.http = f"http://{HOST}:{port}"  # type: ignore[attr-defined]
        posted(server, "/v1/push", {**scope, "object": "o", "text": "boat"})
        path.with_suffix(".log").unlink()
        for sort in ("newest", None) if ranking == "newest" else ("newest",):
            asked = {**scope, "text": "boat", **({} if sort is None else {"sort": sort})}
            (hit,) = posted(server, "/v1/query", asked)["hits"]  # type: ignore[misc]
            assert hit == {"object": "o", "score": None}
            order = "" if sort is None else f" SORT({sort})"
            assert search.results(f'QUERY c b "boat"{order}') == ["o"]
            for verb in ("explain", "search") if sort is None else ():
                address = f"{server.http}/v1/{verb}?{urllib.parse.urlencode(asked)}"  # type: ignore[attr-defined]
                with urllib.request.urlopen(address) as answer:
                    assert json.load(answer)["hits"]
        assert not path.with_suffix(".log").exists(), "the model is not asked"
        posted(server, "/v1/query", {**scope, "text": "boat", "sort": "score"})
        assert path.with_suffix(".log").exists() == (ranking == "bm25")


@pytest.mark.full
def test_a_long_text_without_a_vector_does_not_get_that_of_its_end(tmp_path: Path, model: str) -> None:
    port = free_port(HOST)
    settings = {"server.embed": model, "server.embed_required": "false", "http.inet": f"{HOST}:{port}"}
    row = {"collection": "c", "bucket": "b", "object": "o", "text": "the crash" + " of a boat" * 3_000}
    with Server(tmp_path, settings) as server:
        server.http = f"http://{HOST}:{port}"  # type: ignore[attr-defined]
        posted(server, "/v1/push", row)
        posted(server, "/v1/bulk", json.dumps({**row, "object": "p"}))
        with Peer(server, "search") as search, Peer(server, "control") as control:
            explained = json.loads(search.ask('EXPLAIN c b "the boat"').removeprefix("RESULT "))
            assert [hit["likeness"] for hit in explained["hits"]] == [None, None]
            assert json.loads(control.ask("STATS").removeprefix("RESULT "))["texts_without_vector"] == 2


@pytest.mark.full
def test_a_row_that_is_refused_gets_no_vector_and_stops_no_other(server: Server, model: str) -> None:
    texts: list[object] = [{"title": "the jazz"}, "the boat", 5, {"title": 5}]
    rows = [{"collection": "c", "bucket": "b", "object": f"o{at}", "text": text} for at, text in enumerate(texts)]
    for path, taken in (("/v1/bulk", 1), ("/v1/bulk?upsert=true", 2)):
        answer = posted(server, path, "\n".join(map(json.dumps, rows)))
        assert (answer["pushed"], answer["refused"]) == (taken, len(rows) - taken)


def test_a_row_without_a_vector_is_refused_for_itself(server: Server, model: str) -> None:
    texts = ["the boat", "the crash", "the jazz", "the boat", "a crash"]
    rows = [{"collection": "c", "bucket": "b", "object": f"o{at % 3}", "text": text} for at, text in enumerate(texts)]
    for path in ("/v1/bulk", "/v1/bulk?upsert=true", "/v1/bulk?upsert=true"):
        answer = posted(server, path, "\n".join(map(json.dumps, rows)))
        assert (answer["pushed"], answer["refused"]) == (3, 2)
        reason = f"the text has no vector: server.embed = '{model}' failed: RuntimeError: no vector of this"
        assert answer["first_refused"] == [{"row": 2, "reason": reason}, {"row": 5, "reason": reason}]
    with Peer(server, "search") as search:
        assert search.ask("EXISTS c b o1") == "RESULT 0"
        assert search.results('QUERY c b "the boat"') == ["o0", "o2"]
    posted(server, "/v1/push", {"collection": "c", "bucket": "b", "object": "o1", "text": "hive", "vector": [1] * 24})
    rows = [{"collection": "c", "bucket": "b", "object": "o1", "text": text} for text in ("hive", "crash", "hive")]
    answer = posted(server, "/v1/bulk?upsert=true", "\n".join(map(json.dumps, rows)))
    assert (answer["pushed"], answer["refused"]) == (2, 1)


def test_a_vector_may_be_missing_where_the_settings_allow_it(tmp_path: Path, model: str) -> None:
    with Server(tmp_path, {"server.embed": model, "server.embed_required": "false"}) as server:
        with Peer(server, "ingest") as ingest:
            assert ingest.ask('PUSH c b boat "the boat"') == ingest.ask('PUSH c b bad "the crash"') == "OK"
        with Peer(server, "search") as search:
            assert search.results('QUERY c b "crash"') == ["bad"]
        with Peer(server, "control") as control:
            assert json.loads(control.ask("STATS").removeprefix("RESULT "))["texts_without_vector"] == 1


@pytest.mark.full
@pytest.mark.parametrize("way", ["channel", "http", "bulk"])
def test_an_object_does_not_keep_the_vector_of_another_text(tmp_path: Path, model: str, way: str) -> None:
    port = free_port(HOST)
    settings = {"server.embed": model, "server.embed_required": "false", "http.inet": f"{HOST}:{port}"}
    with Server(tmp_path, settings) as server:
        server.http = f"http://{HOST}:{port}"  # type: ignore[attr-defined]

        def upsert(text: str) -> None:
            row = {"collection": "c", "bucket": "b", "object": "o", "text": text}
            if way == "channel":
                with Peer(server, "ingest") as ingest:
                    assert ingest.ask(f'UPSERT c b o "{text}"') == "OK"
            elif way == "http":
                posted(server, "/v1/upsert", row)
            else:
                assert posted(server, "/v1/bulk?upsert=true", f"{json.dumps(row)}\n" * 2)["pushed"] == 2

        def has_vector() -> bool:
            with Peer(server, "search") as search:
                (hit,) = json.loads(search.ask('EXPLAIN c b "the"').removeprefix("RESULT "))["hits"]
            return hit["likeness"] is not None

        for text, is_there in (("the boat", True), ("the crash", False), ("the boat", True), ("the boat", True)):
            upsert(text)
            assert has_vector() == is_there
        upsert("\\n" if way == "channel" else "")
        server.kill()
        with sonicpy.open(tmp_path / "store") as index:
            (held,) = index.holdings("c", "b")
            assert "vectors" not in held.fields, "of a text that is gone"
        server.start()
        upsert("the boat")
        assert has_vector()
        server.kill()
        server.start({**settings, "server.embed": "no_such_package.at_all:embed"})
        for text, is_there in (("the boat", True), ("the hive", False)):
            upsert(text)
            server.kill()
            with sonicpy.open(tmp_path / "store") as index:
                (hit,) = index.explain("c", "b", "the", vector=[1] * 24).hits
            assert (hit.likeness is not None) == is_there
            server.start()


def test_an_upsert_that_is_refused_takes_no_vector_away(server: Server, tmp_path: Path) -> None:
    row: dict[str, object] = {"collection": "c", "bucket": "b", "object": "o", "text": ""}
    full = {f"v{number}": number for number in range(16)}
    posted(server, "/v1/upsert", {**row, "text": "the boat", "values": full})
    one_more = {**row, "values": {"seventeenth": 1}}
    with pytest.raises(urllib.error.HTTPError, match="400"):
        posted(server, "/v1/upsert", one_more)
    assert posted(server, "/v1/bulk?upsert=true", json.dumps(one_more))["refused"] == 1
    with Peer(server, "ingest") as ingest:
        assert ingest.ask('UPSERT c b o "\\n" SET(seventeenth=1)').startswith("ERR")
    server.kill()
    with sonicpy.open(tmp_path / "store") as index:
        (held,) = index.holdings("c", "b")
    assert "vectors" in held.fields


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "No module named 'no_such_package'"), ("embed = 5", "embed is 5"), ("other = 5", "AttributeError"),
        ("raise RuntimeError('no memory')", "RuntimeError: no memory"), ("undefined", "NameError"),
    ],
)  # fmt: skip
def test_a_function_that_cannot_be_imported(tmp_path: Path, text: str | None, says: str) -> None:
    setting = "no_such_package.at_all:embed"
    if text is not None:
        (tmp_path / "model.py").write_text(text, encoding="utf-8")
        setting = f"{tmp_path}/model.py:embed"
    with pytest.raises(StoreError, match=f"^server.embed = .* cannot be imported: {says}"):
        embed_texts(setting, ["x"], are_questions=False)
    if text is None or "raise" in text:
        with Server(tmp_path / "server", {"server.embed": setting}) as server, Peer(server, "ingest") as ingest:
            assert ingest.ask('PUSH c b o "x"') == "ERR internal_error"


@pytest.mark.full
def test_every_row_without_a_vector_counts(tmp_path: Path) -> None:
    settings = {"server.embed": "nosuchmodule:embed", "server.embed_required": "false"}
    rows = [{"collection": "c", "bucket": "b", "object": f"o{number}", "text": "a text"} for number in range(20)]
    rows += [{"collection": "c", "bucket": "b", "object": "empty", "text": ""}]
    with Server(tmp_path, {**settings, "http.inet": f"{HOST}:{(port := free_port())}"}) as server:
        address = f"http://{HOST}:{port}/v1/bulk"
        for number, query in enumerate(("?upsert=true", ""), 1):
            body = "\n".join(map(json.dumps, rows[: 22 - number])).encode()
            urllib.request.urlopen(urllib.request.Request(address + query, body)).close()
            with Peer(server, "control") as control:
                assert json.loads(control.ask("STATS").removeprefix("RESULT "))["texts_without_vector"] == 20 * number


def test_a_function_that_makes_no_vector(tmp_path: Path) -> None:
    path = tmp_path / "model.py"
    path.write_text("def embed(texts): return [None if 'crash' in text else [1.0] * 24 for text in texts]\n")
    for are_questions in (False, True):
        first, second = embed_texts(f"{path}:embed", ["boat", "crash"], are_questions=are_questions)
        assert isinstance(first, str)
        assert str(second).startswith("embed is refused: it made no vector of 'crash'")


@pytest.mark.full
def test_an_upsert_is_embedded_if_its_text_is_new(server: Server, model: str) -> None:
    noted = Path(model.rpartition(":")[0]).with_suffix(".log")

    def embedded() -> list[str]:
        lines = noted.read_text().splitlines() if noted.exists() else []
        noted.unlink(missing_ok=True)
        return sorted(lines)

    def bulk(rows: dict[str, str] | list[tuple[str, str]]) -> None:
        names = ("collection", "bucket", "object", "text")
        pairs = [*rows.items()] if isinstance(rows, dict) else rows
        body = "\n".join(json.dumps(dict(zip(names, ("c", "b", *row), strict=True))) for row in pairs)
        assert posted(server, "/v1/bulk?upsert=true", body)["pushed"] == len(pairs)

    embedded()
    rows = {"boat": "the boat", "hive": "the buzzing bees", "jazz": "the jazz", "kiwi": "the kiwi"}
    with Peer(server, "ingest") as ingest:
        for _ in range(2):
            for name, text in rows.items():
                assert ingest.ask(f'UPSERT c b {name} "{text}"') == "OK"
        assert embedded() == sorted(rows.values())
        check_answers(server)
        embedded()
        bulk(rows)
        posted(server, "/v1/upsert", {"collection": "c", "bucket": "b", "object": "jazz", "text": "the jazz"})
        assert embedded() == []
        assert ingest.ask('UPSERT c b boat "the" MORE(1)') == ingest.ask('UPSERT c b boat "boat"') == "OK"
        assert ingest.ask('UPSERT c b boat "the boat" TAGS(red)') == "OK"
        assert embedded() == []
        assert ingest.ask('UPSERT c b hive "gone" FIELD(title)') == ingest.ask('PUSH c b kiwi "more"') == "OK"
        assert embedded() == ["gone", "more"]
        posted(server, "/v1/upsert", {"collection": "c", "bucket": "b", "object": "jazz", "text": {"a": "x", "": "y"}})
        assert embedded() == ["x y"]
        bulk([*rows.items(), ("boat", "other"), ("boat", "the boat")])
        again = ["other", "the boat", "the buzzing bees", "the jazz", "the kiwi"]
        assert embedded() == again
        check_answers(server)
        assert ingest.ask('UPSERT c b boat "the crash"') == "ERR internal_error"
        server.kill()
        server.start()
        embedded()
        bulk(rows)
        assert embedded() == [], "known also by a new server"
        check_answers(server)


@pytest.mark.full
def test_objects_whose_names_are_numbers_are_embedded(server: Server, model: str) -> None:
    row = {"collection": "c", "bucket": "b", "object": 7, "text": "the boat"}

    def likeness() -> object:
        with Peer(server, "search") as search:
            (hit,) = json.loads(search.ask('EXPLAIN c b "the"').removeprefix("RESULT "))["hits"]
        assert hit["object"] == "7"
        return hit["likeness"]

    posted(server, "/v1/upsert", row)  # which finds the column
    assert likeness() is not None
    for path in ("/v1/upsert", "/v1/push", "/v1/bulk", "/v1/bulk?upsert=true"):
        with Peer(server, "ingest") as ingest:
            assert ingest.ask("FLUSHB c b") == "RESULT 1"
        posted(server, path, json.dumps({**row, "text": "the hive"}))
        assert likeness() is not None, path


@pytest.mark.full
@pytest.mark.parametrize("path", ["/v1/upsert", "/v1/bulk?upsert=true"])
def test_a_text_of_a_number_keeps_no_former_vector(tmp_path: Path, model: str, path: str) -> None:
    port = free_port(HOST)
    settings = {"server.embed": model, "server.embed_required": "false", "http.inet": f"{HOST}:{port}"}
    with Server(tmp_path, settings) as server:
        server.http = f"http://{HOST}:{port}"  # type: ignore[attr-defined]
        for text, is_there in (("the boat", True), ("the crash", False)):
            posted(server, path, json.dumps({"collection": "c", "bucket": "b", "object": 7, "text": text}))
            with Peer(server, "search") as search:
                (hit,) = json.loads(search.ask('EXPLAIN c b "the"').removeprefix("RESULT "))["hits"]
            assert (hit["likeness"] is not None) == is_there
        with Peer(server, "control") as control:
            assert json.loads(control.ask("STATS").removeprefix("RESULT "))["texts_without_vector"] == 1


def test_a_text_without_a_vector_refuses_no_other(tmp_path: Path, model: str) -> None:
    with Server(tmp_path, {"server.embed": model}) as server:
        peers = [Peer(server, "ingest") for _ in range(8)]
        for number, peer in enumerate(peers):
            peer.send_lines(f'PUSH c b o{number} "{"the crash" if number == 3 else "the boat"}"')
        answers = [peer.line() for peer in peers]
        for peer in peers:
            peer.close()
        assert [number for number, answer in enumerate(answers) if answer != "OK"] == [3]


DEADLY = """
import os
from pathlib import Path

with Path(__file__).with_suffix(".log").open("a") as log:
    log.write("started\\n")

def embed(texts):
    if any("die" in text for text in texts):
        os._exit(9)
    return [[1.0] * 24 for _ in texts]
"""


def made_of(folder: Path, texts: list[str]) -> tuple[list[str | BaseException | None], int]:
    """Return the vectors of texts that come at once, or their errors, and how many workers were started for them."""
    (folder / "deadly.py").write_text(DEADLY)
    embedding_of = Config(server=ServerConfig(embed=f"{folder / 'deadly.py'}:embed"))

    async def make() -> list[str | BaseException | None]:
        embedding = Embedding(embedding_of)
        made = [embedding.vector_of(text, is_question=False) for text in texts]
        try:
            return await asyncio.gather(*made, return_exceptions=True)
        finally:
            await embedding.stop()

    return asyncio.run(make()), (folder / "deadly.log").read_text().count("started")


@pytest.mark.full
def test_a_text_that_ends_the_worker_refuses_no_other(tmp_path: Path) -> None:
    found, started = made_of(tmp_path, [f"text {number}" if number != 5 else "die" for number in range(16)])
    assert [number for number, one in enumerate(found) if not isinstance(one, str)] == [5]
    assert str(found[5]) == "a worker process died on one job; see the system log for what ended them"
    assert started == 6, "for 16, 8, 4, 2 and 1 texts, and after that"


@pytest.mark.full
def test_workers_are_not_started_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "DEATHS_MAX", 4)
    found, started = made_of(tmp_path, ["die"] * 16 + ["text"] * 16)
    assert [isinstance(one, WorkerError) for one in found] == [True] * 16 + [False] * 16
    assert started == 7, "for 32, 16, 8, 4, 4, 8 and 16 texts"


def test_a_stop_ends_what_waits_for_vectors(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\nSTARTED = time.sleep(600)\n\ndef embed(texts): ...\n")
    config = Config(server=ServerConfig(embed=f"{tmp_path / 'slow.py'}:embed"))

    async def stop(index: sonicpy.Index) -> None:
        embedding = Embedding(config, index)
        finding = asyncio.create_task(embedding.knows_column())
        pushes = [asyncio.create_task(embedding.vector_of(str(at), is_question=False)) for at in range(70)]
        await asyncio.sleep(0.2)
        await embedding.stop()
        assert {task for task in asyncio.all_tasks() if not task.done()} <= {asyncio.current_task(), finding, *pushes}
        found = await asyncio.gather(finding, *pushes, return_exceptions=True)
        assert {type(one) for one in found} == {WorkerError, ShuttingDown}
        with pytest.raises(ShuttingDown):
            await embedding.vector_of("late", is_question=False)

    with sonicpy.open(tmp_path / "store") as index:
        asyncio.run(stop(index))


def test_rows_before_one_that_waits_for_a_vector_are_in_the_log(
    tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Meanwhile the disk is full for the changes of others, which must not take those rows with them."""
    set_commit_after(monkeypatch, 60.0)
    monkeypatch.setattr(http, "TURN_S", 60.0)
    vector_of, is_full = Embedding.vector_of, False

    async def fails_for_others(self: Embedding, text: str, *, is_question: bool) -> str | None:
        made = await vector_of(self, text, is_question=is_question)
        if is_full:
            with full_log():
                self._index.push("c", "b", "another", "text")  # type: ignore[union-attr]
                with pytest.raises(StoreFull):
                    self._index.engine.store.seal()  # type: ignore[union-attr]
        return made

    async def push() -> None:
        nonlocal is_full
        async with serving_with(tmp_path, {"server": {"embed": model}}) as (service, _):
            service.unready = None
            backend = ServerBackend(service, Pace())
            row = TextRow("c", "b", "boat", "the boat", None)
            try:
                assert await backend.push_rows([row], upsert=True) == []
                monkeypatch.setattr(Embedding, "vector_of", fails_for_others)
                changed, is_full = row._replace(text="the hive", vector=[1] * 24), True
                rows = [row._replace(object="jazz", vector=[1] * 24), changed, row]  # the last becomes due in the turn
                assert await backend.push_rows(rows, upsert=True) == []
                assert sorted(service.index.objects("c", "b")) == ["boat", "jazz"]
            finally:
                await service.embedding.stop()  # type: ignore[union-attr]

    asyncio.run(push())


HANGING = """
import os, time
from pathlib import Path

with Path(__file__).with_suffix(".log").open("a") as log:
    log.write("started\\n")
time.sleep(LOAD_S)

def embed(texts):
    if any("hang" in text for text in texts) or len(texts) > MOST:
        time.sleep(600)
    return [[1.0] * 24 for _ in texts]
"""


def made_in_time(
    folder: Path, monkeypatch: pytest.MonkeyPatch, texts: list[str], most: int = 100, load_s: float = 0.0
) -> tuple[list[str | BaseException | None], int]:
    """Return what `made_of` does, of a function that hangs on some texts, and on more than `most` at once."""
    monkeypatch.setattr(embedding, "EMBED_S", 0.5)
    monkeypatch.setattr(workers, "BEAT_S", 0.1)
    source = HANGING.replace("MOST", str(most)).replace("LOAD_S", str(load_s))
    monkeypatch.setattr(sys.modules[__name__], "DEADLY", source)
    return made_of(folder, texts)


def test_a_function_that_hangs_is_given_up_soon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for texts, started in ((["hang"], 1), (["hang"] * 16, 2)):
        folder = tmp_path / str(len(texts))
        folder.mkdir()
        found, number = made_in_time(folder, monkeypatch, texts)
        says = "a worker process was killed, because its job took longer than 0.5 s"
        assert [str(one) for one in found] == [says] * len(texts)
        assert number == started


@pytest.mark.full
def test_a_text_on_which_a_function_hangs_refuses_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"text {number}" if number != 5 else "hang" for number in range(16)]
    found, _ = made_in_time(tmp_path, monkeypatch, texts)
    assert [number for number, one in enumerate(found) if not isinstance(one, str)] == [5]


@pytest.mark.full
def test_fewer_texts_are_given_to_a_slow_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, _ = made_in_time(tmp_path, monkeypatch, ["text"] * 16, most=5)
    assert all(isinstance(one, str) for one in found)


@pytest.mark.full
def test_a_function_may_take_longer_to_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found, started = made_in_time(tmp_path, monkeypatch, ["text"], load_s=1.5)
    assert isinstance(found[0], str) and started == 1
