"""A simulated broker with the part of the NATS protocol that requests to JetStream need, and the same answer to every
request.
"""

import json
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

INFO = {"server_id": "a", "version": "2.12.0", "max_payload": 1 << 20, "headers": True, "jetstream": True}
NO_RESPONDERS = b"NATS/1.0 503\r\n\r\n"
JETSTREAM = b"$JS.API."


class Pretender:
    """One simulated broker.

    Attributes:
        answer: the answer of JetStream, as JSON; None: JetStream does not answer. Other requests get no answer.
        is_silent: whether no request is answered.
        asked: the subjects of the requests.
        sent: the options that clients have sent with CONNECT.
    """

    def __init__(self, answer: Mapping[str, Any] | None, info: Mapping[str, Any]) -> None:
        self.answer = answer
        self.is_silent = False
        self.asked: list[str] = []
        self.sent: list[dict[str, Any]] = []
        self._info = {**INFO, **info}
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._listening.accept()
            except OSError:  # closed
                return
            threading.Thread(target=self._serve, args=(connected,), daemon=True).start()

    def _serve(self, connected: socket.socket) -> None:
        sids: dict[bytes, bytes] = {}
        try:
            with connected, connected.makefile("rb") as lines:
                connected.sendall(b"INFO " + json.dumps(self._info).encode() + b"\r\n")
                for line in lines:
                    verb, *words = line.split()
                    if verb == b"CONNECT":
                        self.sent.append(json.loads(line[len(b"CONNECT ") :]))
                    elif verb == b"PING":
                        connected.sendall(b"PONG\r\n")
                    elif verb == b"SUB":
                        sids[words[0].removesuffix(b"*")] = words[-1]
                    elif verb in (b"PUB", b"HPUB"):
                        lines.read(int(words[-1]) + 2)
                        self._reply(connected, sids, words)
        except OSError:  # the client is gone
            return

    def _reply(self, connected: socket.socket, sids: dict[bytes, bytes], words: list[bytes]) -> None:
        reply = words[1] if len(words) > 2 else b""
        sid = next((sid for begin, sid in sids.items() if reply.startswith(begin)), None)
        self.asked.append(words[0].decode())
        if sid is None or self.is_silent:
            return
        if self.answer is None or not words[0].startswith(JETSTREAM):
            size = len(NO_RESPONDERS)
            connected.sendall(b"HMSG %b %b %d %d\r\n%b\r\n" % (reply, sid, size, size, NO_RESPONDERS))
        else:
            body = json.dumps(self.answer).encode()
            connected.sendall(b"MSG %b %b %d\r\n%b\r\n" % (reply, sid, len(body), body))


@contextmanager
def pretending(answer: Mapping[str, Any] | None, **info: Any) -> Iterator[Pretender]:
    """Run a simulated broker inside a `with` block.

    Args:
        answer, info: see `Pretender`; `info` is added to the information that every broker sends.
    """
    broker = Pretender(answer, info)
    try:
        yield broker
    finally:
        broker.close()


def refusal(status: int, code: int, said: str) -> dict[str, Any]:
    """Return the answer of JetStream that refuses a request."""
    return {"type": "io.nats.jetstream.api.v1.stream_info_response",
            "error": {"code": status, "err_code": code, "description": said}}  # fmt: skip
