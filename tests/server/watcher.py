"""PING a server every few milliseconds until stdin ends. Then print two numbers in seconds: the time of the slowest
PING, without the server's waits for a core (`waiting.py`); and the excess of the longest pause, which is the longest
time for which the busy machine delays a process.

It runs as a process of its own, so that the threads of a test that attacks the server do not slow it down:

    python -m tests.server.watcher HOST PORT PASSWORD PID
"""

import socket
import sys
import threading
import time

from tests.server.waiting import waited_s, without_waits
from tests.support.patience import WAIT_S

PAUSE_S = 0.005


def wait_for_end(ended: threading.Event) -> None:
    """Set `ended` at the end of stdin."""
    sys.stdin.read()
    ended.set()


def main(host: str, port: int, password: str, pid: int) -> None:
    """Print "watching" once the session has begun, and the measurements at the end."""
    with socket.create_connection((host, port), WAIT_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = connection.makefile("rb")
        connection.sendall(f"START search {password}\n".encode())
        assert lines.readline().startswith(b"CONNECTED ")
        assert lines.readline().startswith(b"STARTED search ")
        ended = threading.Event()
        threading.Thread(target=wait_for_end, args=(ended,), daemon=True).start()
        print("watching", flush=True)
        slowest = latest = 0.0
        paused = time.perf_counter()
        while not ended.wait(PAUSE_S):
            began = time.perf_counter()
            latest = max(latest, began - paused - PAUSE_S)
            before = waited_s(pid)
            began = time.perf_counter()
            connection.sendall(b"PING\n")
            assert lines.readline() == b"PONG\r\n"
            took = time.perf_counter() - began
            slowest = max(slowest, without_waits(took, before, waited_s(pid)))
            paused = time.perf_counter()
        print(slowest, latest, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
