"""Print the costs of HTTP and of the channel in one run: queries, rows, and a PING beside them.

    python -m benchmarks.http [REQUESTS]

The program starts `sonicpy serve` with `http.inet` and measures the CPU time of the server. The queries also go to
datasette over FTS5, and an empty GET to other HTTP frameworks, where they are installed.
"""

import asyncio
import contextlib
import http.client
import importlib.util
import json
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from urllib.parse import quote, urlencode

import sonicpy
from benchmarks.accounting import own_cpu_s
from benchmarks.command_line import parse_count
from benchmarks.measure import Taken
from benchmarks.pings import Pinging
from tests.processes import HOST, Server, free_port
from tests.support.texts import messages

OBJECTS = 10_000
ROWS = 20_000
SCOPE = {"collection": "messages", "bucket": "default"}
FRAMEWORKS = {
    "no framework": """
async def app(scope, receive, send):
    headers = [(b"content-type", b"application/json"), (b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"{}"})
""",
    "falcon": """
import falcon.asgi
class Nothing:
    async def on_get(self, request, response):
        response.media = {}
app = falcon.asgi.App()
app.add_route("/", Nothing())
""",
    "starlette": """
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
async def nothing(request):
    return JSONResponse({})
app = Starlette(routes=[Route("/", nothing)])
""",
    "fastapi": """
from fastapi import FastAPI
app = FastAPI()
@app.get("/")
async def nothing() -> dict[str, str]:
    return {}
""",
}
UVICORN = "import uvicorn; uvicorn.run(app, host={host!r}, port={port}, log_level='error', lifespan='off')"


def per_request(pid: int, count: int, ask: Callable[[int], object]) -> float:
    """Return the CPU time of a process per request in microseconds, for `count` calls of `ask` with their numbers."""
    for number in range(min(200, count)):
        ask(number)
    with Taken(partial(own_cpu_s, pid)) as taken:
        for number in range(count):
            ask(number)
    return taken.cpu_s / count * 1e6


class Getter:
    """One connection that is kept alive."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=30)

    def get(self, path: str) -> bytes:
        """Return the body of an answer."""
        self._connection.request("GET", path)
        answer = self._connection.getresponse()
        body = answer.read()
        assert answer.status == 200, (answer.status, body)
        return body


@contextlib.contextmanager
def started(command: list[str], port: int) -> Iterator[int]:
    """Run `command`, a server on `port`, inside a `with` block; yield its process id once it accepts connections."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                http.client.HTTPConnection(HOST, port).connect()
                break
            time.sleep(0.05)
        try:
            yield process.pid
        finally:
            process.terminate()


def print_frameworks(count: int) -> None:
    """Print the cost of an empty GET, over `count` requests, in each framework, under uvicorn."""
    print("a GET that does nothing, CPU time in microseconds")
    for name, source in FRAMEWORKS.items():
        if name in sys.stdlib_module_names or (name != "no framework" and importlib.util.find_spec(name) is None):
            print(f"  {name:30}  not installed")
            continue
        port = free_port()
        with started([sys.executable, "-c", source + UVICORN.format(host=HOST, port=port)], port) as pid:
            get = partial(Getter(port).get, "/")
            print(f"  {name:30}{per_request(pid, count, lambda _, get=get: get()):8.0f}")  # type: ignore[misc]


def pairs_of(texts: list[str]) -> list[list[str]]:
    """Return two words of each of the first texts that have two words."""
    found = ([word for word in text.split() if word.isalnum()][1:3] for text in texts[:2_000])
    return [pair for pair in found if len(pair) == 2]


def print_queries(server: Server, http_port: int, texts: list[str], count: int) -> None:
    """Print the cost of a query of two words over the channel and over HTTP."""
    words = [" ".join(pair) for pair in pairs_of(texts)]
    with sonicpy.connect(f"sonic://{HOST}:{server.port}") as client:
        bucket = client.bucket(*SCOPE.values())
        channel = per_request(server.pid, count, lambda number: bucket.query(words[number % len(words)]))
    getter = Getter(http_port)

    def ask(number: int, **more: str) -> bytes:
        return getter.get("/v1/query?" + urlencode({**SCOPE, "text": words[number % len(words)], **more}))

    lean = per_request(server.pid, count, ask)
    whole = per_request(server.pid, count, lambda number: ask(number, stem="true"))
    print("\na query of two words, CPU time in microseconds")
    print(f"  {'channel':30}{channel:8.0f}")
    print(f"  {'HTTP':30}{lean:8.0f}{lean / channel:8.1f} x")
    print(f"  {'HTTP with a rare parameter':30}{whole:8.0f}{whole / channel:8.1f} x")


def print_datasette(folder: Path, texts: list[str], count: int) -> None:
    """Print the cost of the queries in datasette over FTS5."""
    if importlib.util.find_spec("datasette") is None:
        print(f"  {'datasette over FTS5':30}  not installed")
        return
    path = folder / "messages.db"
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        database.execute("create virtual table messages using fts5(object unindexed, text)")
        database.executemany("insert into messages values (?, ?)", ((f"o{n}", text) for n, text in enumerate(texts)))
    port = free_port()
    command = [sys.executable, "-m", "datasette", str(path), "--host", HOST, "--port", str(port)]
    sql = "select object, rank from messages where messages match :text order by rank limit 10"
    words = [" OR ".join(f'"{word}"' for word in pair) for pair in pairs_of(texts)]
    with started(command, port) as pid:
        getter = Getter(port)
        path_of = f"/messages.json?_shape=array&sql={quote(sql)}&text="
        cost = per_request(pid, count, lambda number: getter.get(path_of + quote(words[number % len(words)])))
    print(f"  {'datasette over FTS5':30}{cost:8.0f}")


def print_rows(server: Server, http_port: int, texts: list[str]) -> None:
    """Print the rows per second of push_many and of a stream of rows, and the delays of PINGs meanwhile."""
    rows = [("many", "channel", f"o{number}", text) for number, text in enumerate(texts[:ROWS])]

    clock = partial(own_cpu_s, server.pid)

    async def push() -> float:
        async with sonicpy.connect_async(f"sonic://{HOST}:{server.port}") as client:
            began = time.perf_counter()
            report = await client.push_many(rows)
            assert report.indexed == len(rows)
            return len(rows) / (time.perf_counter() - began)

    body = b"".join(
        json.dumps({"collection": "many", "bucket": "http", "object": name, "text": text}).encode() + b"\n"
        for _, _, name, text in rows
    )
    connection = http.client.HTTPConnection(HOST, http_port)
    with Taken(clock) as taken, Pinging(server) as pinging:
        channel = asyncio.run(push())
    print("\nrows a second, and the CPU time of the server for a row in microseconds")
    print(f"  {'push_many':30}{channel:8,.0f}{taken.cpu_s / len(rows) * 1e6:8.0f}   {pinging}")
    with Taken(clock) as taken, Pinging(server) as pinging:
        began = time.perf_counter()
        connection.request("POST", "/v1/bulk", body)
        answer = json.loads(connection.getresponse().read())
        rate = len(rows) / (time.perf_counter() - began)
    assert answer["pushed"] == len(rows), answer
    cost = taken.cpu_s / len(rows) * 1e6
    print(f"  {'POST /v1/bulk':30}{rate:8,.0f}{cost:8.0f}   {pinging}   {rate / channel:.2f} x")


def main() -> None:
    """Print the tables."""
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    count = parse_count("http", __doc__ or "", "REQUESTS", 2_000)
    texts = messages(max(OBJECTS, ROWS))
    with tempfile.TemporaryDirectory() as name:
        folder, http_port = Path(name), free_port()
        print_frameworks(count)
        with Server(folder, {"http.inet": f"{HOST}:{http_port}"}) as server:
            with sonicpy.connect(f"sonic://{HOST}:{server.port}") as client:
                pairs = ((f"o{number}", text) for number, text in enumerate(texts[:OBJECTS]))
                client.bucket(*SCOPE.values()).push_many(list(pairs))
            print_queries(server, http_port, texts, count)
            print_datasette(folder, texts[:OBJECTS], count)
            print_rows(server, http_port, texts)


if __name__ == "__main__":
    main()
