"""Compare queries over TLS with and without a search process, to which the main process passes decrypted bytes.

    python -m benchmarks.tls [TEXTS]

Both servers hold the first TEXTS chat messages, consolidated. Eight connections send new queries of three words, and
PINGs. Times are CPU times per command; all figures are the median of the rounds.
"""

import shutil
import socket
import tempfile
from pathlib import Path
from statistics import median

import sonicpy
from benchmarks.accounting import own_cpu_s
from benchmarks.command_line import parse_count
from benchmarks.corpora import chat_messages
from benchmarks.peers.servers import Sonicpy
from benchmarks.versus.rates import read_run
from benchmarks.versus.workload import BUCKET, COLLECTION, EIGHT, PING, QUERY_3, Commands
from tests.processes import HOST
from tests.server.certificates import Certificates, write_certificates
from tests.support.texts import oid

TEXTS = 100_000
ROUNDS = 7
SECONDS = 1.0


class TlsServer(Sonicpy):
    """A sonicpy server with TLS."""

    def __init__(self, name: str, folder: Path, certificates: Certificates, processes: int) -> None:
        super().__init__(name, folder, {**certificates.settings(), "server.search_processes": processes})
        self._context = certificates.client()

    def open_socket(self) -> socket.socket:
        """Return a connection with TLS."""
        return self._context.wrap_socket(super().open_socket(), server_hostname=HOST)


def main() -> None:
    """Fill the servers, send the commands, and print the figures."""
    count = parse_count("tls", __doc__, "TEXTS", TEXTS)
    given = chat_messages(count)
    commands = Commands(given)
    with tempfile.TemporaryDirectory() as name:
        certificates = write_certificates(Path(name, "certificates"))
        folders = [Path(name, str(processes)) for processes in range(2)]
        with sonicpy.open(folders[0] / "store") as index:
            index.push_many([(oid(n), text) for n, text in enumerate(given)], collection=COLLECTION, bucket=BUCKET)
            index.consolidate()
        shutil.copytree(*folders)
        with (
            TlsServer("one process", folders[0], certificates, 0) as one,
            TlsServer("and a search process", folders[1], certificates, 1) as more,
        ):
            measure((one, more), commands)


def measure(servers: tuple[TlsServer, TlsServer], commands: Commands) -> None:
    """Send commands to both servers in turn, and print their CPU times."""
    found: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    for number in range(ROUNDS + 1):  # the first one fills the caches
        for operation in (PING, QUERY_3):
            for server in servers:
                before_s = own_cpu_s(server.pid)
                done = read_run(server, operation, EIGHT, commands.lines(operation), SECONDS)
                main_s, asked = own_cpu_s(server.pid) - before_s, len(done.latencies_s)
                if number:
                    figures = done.per_s, main_s / asked * 1e6, done.cpu_us
                    found.setdefault((operation, server.name), []).append(figures)
    print("over TLS, 8 connections                 per second   us, main process   us, all processes")
    for (operation, name), figures in found.items():
        rate, main_us, all_us = (median(values) for values in zip(*figures, strict=True))
        print(f"  {operation:14}{name:22}{rate:12,.0f}{main_us:19.1f}{all_us:20.1f}")


if __name__ == "__main__":
    main()
