"""Full-text peers behind a socket, one call after the other through a client: our server, Sonic, PostgreSQL."""

from collections.abc import Sequence
from typing import Any

import sonicpy
from benchmarks.peers import postgres
from benchmarks.peers.servers import Server
from benchmarks.published.oracle import LIMIT, PREFIX, TYPO
from benchmarks.published.texts import BUCKET, COLLECTION, Item, TextPeer
from tests.processes import HOST
from tests.support.server_process import PASSWORD


class Served(TextPeer):
    """A server of the channel that is filled already, asked through our client.

    Args:
        expanding: another server of the same documents, for prefixes and typos: expansions are a setting.
    """

    def __init__(self, server: Server, expanding: Server | None = None) -> None:
        self.name = server.name  # type: ignore[misc]
        self.pids = [server.pid, *([] if expanding is None else [expanding.pid])]
        self._client = sonicpy.connect(address(server))
        self._expanding = self._client if expanding is None else sonicpy.connect(address(expanding))

    def load(self, items: Sequence[Item]) -> None:
        """It is filled already."""

    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        client = self._expanding if kind in (PREFIX, TYPO) else self._client
        return [int(name) for name in client.query(COLLECTION, BUCKET, " ".join(words), limit=LIMIT, lang="none")]

    def point(self, number: int) -> bool:
        return self._client.count(COLLECTION, BUCKET, str(number)) > 0

    def update(self, number: int, text: str) -> None:
        self._client.flush_object(COLLECTION, BUCKET, str(number))
        self._client.push(COLLECTION, BUCKET, str(number), text, lang="none")

    def close(self) -> None:
        self._client.close()
        self._expanding.close()


class Postgres(TextPeer):
    """PostgreSQL, asked through psycopg over a Unix socket."""

    name = postgres.NAME

    def __init__(self, connection: Any) -> None:
        self.pids = [connection.info.backend_pid]
        self._texts = postgres.Texts(connection)

    def load(self, items: Sequence[Item]) -> None:
        self._texts.load(items)

    def find(self, kind: str, words: Sequence[str]) -> list[int] | None:
        return self._texts.find(kind, words)

    def point(self, number: int) -> bool:
        return self._texts.point(number)

    def update(self, number: int, text: str) -> None:
        self._texts.update(number, text)


def address(server: Server) -> str:
    """Return where our client finds a server."""
    return f"sonic://:{PASSWORD}@{HOST}:{server.port}"
