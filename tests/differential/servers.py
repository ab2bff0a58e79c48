"""A server that plays scenarios: one process for each configuration, one collection for each scenario."""

import re
import socket
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.differential.scenario import (
    CONSOLIDATE,
    INFO,
    INGEST,
    PLACE,
    PROFILES,
    TOGETHER,
    WRITERS,
    Scenario,
    Step,
)
from tests.processes import HOST, environment
from tests.support.paths import ROOT
from tests.support.server_process import PASSWORD, ServerProcess

ANSWER_S = 10.0
MARKER = re.compile(rb"^(PENDING|EVENT [A-Z]+) \w+", re.MULTILINE)
EVENT = re.compile(rb"(?<=^EVENT QUERY )(.+)(?=\r\n)", re.MULTILINE)
BY_CLOCK = re.compile(rb"(uptime|command_latency_\w+)\(\d+\)")
"""The figures of INFO that differ between any two servers."""
BASE = {
    "server.log_level": '"error"',
    "channel.auth_password": f'"{PASSWORD}"',
    "store.fst.graph.consolidate_after": 290,
}
COUNTED_S = 0.05
"""The wait before INFO in seconds, because Sonic counts a command a moment after its answer."""
CLOSED = b"<closed>"
SILENT = b"<no answer>"
PROBE = b"PING"


class Player(ServerProcess):
    """One server of one configuration.

    Args:
        binary: Sonic's executable; None: sonicpy in compat mode.
        profile: the name of the configuration.
    """

    def __init__(self, name: str, folder: Path, profile: str, binary: str | None) -> None:
        super().__init__(name, folder)
        self._binary = binary
        self._profile = profile
        self._played = 0

    def command(self) -> list[str]:
        settings = {
            **BASE,
            "channel.inet": f'"{HOST}:{self.port}"',
            "store.kv.path": f'"{self.folder}/kv/"',
            "store.fst.path": f'"{self.folder}/fst/"',
            **PROFILES[self._profile],
        }
        config = self.beside("cfg")
        config.write_text("".join(f"{key} = {value}\n" for key, value in settings.items()))
        if self._binary is not None:
            return [self._binary, "-c", str(config)]
        return [sys.executable, "-m", "sonicpy", "serve", "-c", str(config)]

    def variables(self) -> dict[str, str]:
        return {**environment({"server.compat": "sonic"} if self._binary is None else {}), "PYTHONPATH": str(ROOT)}

    def play(self, scenario: Scenario) -> list[bytes]:
        """Return the answer to each step, in a collection that no earlier scenario has used."""
        self._played += 1
        collection = b"played-%d-" % self._played
        with Connections(self) as connections:
            return [self._answer(connections, step, collection) for step in scenario.steps]

    def _answer(self, connections: "Connections", step: Step, collection: bytes) -> bytes:
        if step.is_restart:
            connections.close()
            self.stop()
            self.start()
            return b""
        if step == INFO:
            time.sleep(COUNTED_S)
        line = step.line.replace(PLACE, collection)
        if step.connection == TOGETHER:
            return b"".join(sorted(connections.ask_together(line.split(b"\n"))))
        answer = connections.ask(step.connection, line)
        if step == CONSOLIDATE:
            return b""  # the reply is OK, or that a consolidation is under way; later commands show its effect
        answer = comparable(answer).replace(collection, PLACE)
        return EVENT.sub(sorted_objects, answer) if step.is_set else answer


def comparable(answer: bytes) -> bytes:
    """Return an answer without markers and figures of the clock, which differ from run to run."""
    return MARKER.sub(rb"\1", BY_CLOCK.sub(rb"\1()", answer))


def is_ping(line: bytes) -> bool:
    """Return whether the answer to a line may be mistaken for that to the PING that follows it."""
    try:
        return line.decode().strip().upper().startswith("PING")
    except UnicodeDecodeError:
        return False


def sorted_objects(found: re.Match[bytes]) -> bytes:
    """Return the objects of an answer in the order of their names."""
    return b" ".join(sorted(found[0].split(b" ")))


class Connections:
    """The open connections of one scenario, by name; each opens when it is first used."""

    def __init__(self, server: Player) -> None:
        self._server = server
        self._open: dict[str, socket.socket] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        for connection in self._open.values():
            connection.close()
        self._open.clear()

    def ask(self, name: str, line: bytes) -> bytes:
        """Return the answer to a line: everything before the answer to the PING that follows it."""
        connection = self._open.get(name)
        if connection is None:
            connection = self._open[name] = self._start(name.partition(" ")[0])
        connection.sendall(line + b"\r\n" + PROBE + b"\r\n")
        received, answers = b"", 2 if is_ping(line) else 1
        deadline = time.monotonic() + ANSWER_S
        while True:
            connection.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                data = connection.recv(1 << 16)
            except TimeoutError:
                return received + SILENT
            except ConnectionError:
                data = b""
            received += data
            if not data:
                connection.close()
                del self._open[name]
                return received + CLOSED
            if self._is_whole(received, answers):
                return received.removesuffix(b"PONG\r\n")

    def ask_together(self, lines: Sequence[bytes]) -> list[bytes]:
        """Return the answers to lines that several connections send at the same time."""

        def ask_all(writer: int) -> list[bytes]:
            return [self.ask(f"{INGEST} {TOGETHER} {writer}", line) for line in lines[writer::WRITERS]]

        with ThreadPoolExecutor(WRITERS) as threads:
            return [answer for answers in threads.map(ask_all, range(WRITERS)) for answer in answers]

    @staticmethod
    def _is_whole(received: bytes, answers: int) -> bool:
        """Return whether the PING is answered, after `answers` - 1 lines, and every PENDING has its EVENT."""
        lines = received.split(b"\r\n")
        pending = sum(line.startswith(b"PENDING ") for line in lines)
        events = sum(line.startswith(b"EVENT ") for line in lines)
        return lines[-1] == b"" and b"PONG" in lines[answers - 1 :] and pending == events

    def _start(self, mode: str) -> socket.socket:
        connection = socket.create_connection((HOST, self._server.port), ANSWER_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            with connection.makefile("rb", buffering=0) as lines:
                lines.readline()
                connection.sendall(f"START {mode} {PASSWORD}\r\n".encode())
                lines.readline()
        except ConnectionError as error:
            connection.close()
            raise RuntimeError(f"{error}; {self._server.state()}") from error
        return connection
