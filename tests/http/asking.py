"""One HTTP connection of a test to a server."""

import http.client
import json
import socket
from collections.abc import Iterable
from types import TracebackType
from typing import Any, NamedTuple, Self
from urllib.parse import urlencode

from tests.processes import HOST
from tests.support.patience import WAIT_S


class Answer(NamedTuple):
    """The answer to a request."""

    status: int
    headers: dict[str, str]
    body: Any


class Asking:
    """A connection that is kept alive."""

    def __init__(self, port: int, password: str | None = None, host: str = HOST) -> None:
        self._connection = http.client.HTTPConnection(host, port, timeout=WAIT_S)
        self._headers = {} if password is None else {"Authorization": f"Bearer {password}"}

    def get(self, path: str, **parameters: object) -> Answer:
        """Send GET with parameters in the address; return the answer."""
        return self._ask("GET", f"{path}?{urlencode(parameters)}" if parameters else path, None)

    def post(self, path: str, **body: object) -> Answer:
        """Send POST with a JSON object; return the answer."""
        return self._ask("POST", path, json.dumps(body).encode())

    def stream(self, path: str, parts: Iterable[bytes]) -> Answer:
        """Send POST with a body in parts; return the answer."""
        return self._ask("POST", path, parts)

    def _ask(self, method: str, path: str, body: Any) -> Answer:
        headers = {**self._headers, "Content-Type": "application/json"}
        self._connection.request(method, path, body, headers)
        answer = self._connection.getresponse()
        text = answer.read()
        held = json.loads(text) if "json" in answer.headers.get("content-type", "") else text
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, held)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()


def raw(port: int, source: str | None = None) -> socket.socket:
    """Return a connection on which nothing was sent yet, from a given address of this machine or any."""
    return socket.create_connection((HOST, port), WAIT_S, None if source is None else (source, 0))


def ends(connection: socket.socket) -> bytes:
    """Return the bytes that the server sends until it closes the connection."""
    received = b""
    try:
        while part := connection.recv(1 << 16):
            received += part
    except ConnectionError:
        pass
    return received
