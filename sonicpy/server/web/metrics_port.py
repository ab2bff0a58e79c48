"""HTTP of the second port, on threads of its own: slow and half-open clients hold few resources, for a short time."""

import contextlib
import io
import logging
import socket
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, NamedTuple

from sonicpy.server.connections.descriptors import fits_reserve
from sonicpy.server.connections.listeners import addresses_of

logger = logging.getLogger(__name__)

REQUEST_S = 10.0
"""The longest time in seconds for sending a request, and for reading its answer."""
CLIENTS_MAX = 64
"""The most connections, each with a thread; one more ends the oldest."""
BACKLOG = 128


class PageRequest(NamedTuple):
    """A request.

    Attributes:
        accept: the headers Accept and Accept-Encoding, None where one is missing.
    """

    path: str
    query: str
    accept: str | None
    accept_encoding: str | None


class MetricsPage(NamedTuple):
    """An answer to a request for a page of the port."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class MetricsPort(ThreadingMixIn, TCPServer):
    """A server with one thread per connection, so that a slow client delays no other.

    Args:
        answer: returns the answer to GET; it is called on the threads.

    Raises:
        OSError: the address cannot be used.
    """

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = BACKLOG

    def __init__(self, host: str, port: int, answer: Callable[[PageRequest], MetricsPage]) -> None:
        address = addresses_of(host)[0]
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.answer = answer
        self._open: dict[socket.socket, None] = {}  # in the order in which they came
        super().__init__((address, port), MetricsHandler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Return whether a client is answered, which needs a free descriptor of the reserve for this port."""
        return fits_reserve(request.fileno())

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve a connection on a thread; end the oldest one if there are too many."""
        if len(self._open) >= CLIENTS_MAX:
            logger.warning("more than %d connections to the metrics port: the oldest one is ended", CLIENTS_MAX)
            for oldest in list(self._open)[:1]:
                self._open.pop(oldest, None)  # now, so that the next connection ends another
                with contextlib.suppress(OSError):  # its client has ended it
                    oldest.shutdown(socket.SHUT_RDWR)
        self._open[request] = None
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection."""
        self._open.pop(request, None)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log the error that ended a connection, in one line."""
        logger.exception("an unexpected error has ended a connection to the metrics port")


class MetricsHandler(BaseHTTPRequestHandler):
    """One request."""

    server: MetricsPort
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(message)s\n"

    def setup(self) -> None:
        """Read from the connection within REQUEST_S."""
        super().setup()
        self.rfile = io.BufferedReader(InTime(self.connection, time.monotonic() + REQUEST_S))

    def handle(self) -> None:
        """Answer the request; do nothing if the client has gone."""
        with contextlib.suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Answer GET; HEAD without the body."""
        path, _, query = self.path.partition("?")
        asked = PageRequest(path, query, self.headers.get("Accept"), self.headers.get("Accept-Encoding"))
        page = self.server.answer(asked)
        self.connection.settimeout(REQUEST_S)
        self.send_response(page.status)
        for name, value in (*page.headers, ("Content-Length", str(len(page.body)))):
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page.body)

    do_HEAD = do_GET

    def version_string(self) -> str:
        """Return the name of the server."""
        return "sonicpy"

    def log_error(self, format: str, *args: object) -> None:
        """Log an error of the library: a client that was too slow as a warning, all others at level debug."""
        if any(isinstance(each, TimeoutError) for each in args):
            logger.warning("a client of the metrics port took more than %.0f s: its connection is ended", REQUEST_S)
        else:
            self.log_message(format, *args)

    def log_message(self, format: str, *args: object) -> None:
        """Log a message of the library at level debug."""
        logger.debug(format, *args)


class InTime(io.RawIOBase):
    """A stream of the bytes of a connection with one deadline for all reads.

    Args:
        until: the deadline by the monotonic clock; later reads raise TimeoutError.
    """

    def __init__(self, connection: socket.socket, until: float) -> None:
        self._connection = connection
        self._until = until

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes into a buffer; return their number. Raises TimeoutError."""
        left_s = self._until - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._connection.settimeout(left_s)
        return self._connection.recv_into(buffer)
