"""Flood a server over one connection with PUSH or QUERY, as fast as it reads them, until stdin ends.

It runs as a process of its own, so that it does not slow down the test that measures meanwhile:

    python flood.py HOST PORT push|query
"""

import random
import socket
import sys
import threading

COMMANDS = 20_000
WORDS = 5_000
TEXT_WORDS = 12


def commands(kind: str) -> bytes:
    """Return many different commands: texts of a dozen words, or queries of three such words."""
    chance = random.Random(7)
    vocabulary = ["".join(chance.choices("abdefghiklmnoprstu", k=chance.randint(4, 9))) for _ in range(WORDS)]
    lines = []
    for number in range(COMMANDS):
        if kind == "push":
            lines.append(f'PUSH flood b o{number} "{" ".join(chance.choices(vocabulary, k=TEXT_WORDS))}"\n')
        else:
            lines.append(f'QUERY flood b "{" ".join(chance.choices(vocabulary, k=3))}"\n')
    return "".join(lines).encode()


def read_all(connection: socket.socket) -> None:
    """Read and drop answers."""
    while connection.recv(1 << 20):
        pass


def wait_for_end(ended: threading.Event) -> None:
    """Set `ended` at the end of stdin."""
    sys.stdin.read()
    ended.set()


def main(host: str, port: int, kind: str) -> None:
    """Send until stdin ends; print "flooding" once the flood has begun."""
    with socket.create_connection((host, port)) as connection:
        mode = "ingest" if kind == "push" else "search"
        connection.sendall(f"START {mode}\n".encode())
        threading.Thread(target=read_all, args=(connection,), daemon=True).start()
        lines = commands(kind)
        ended = threading.Event()
        threading.Thread(target=wait_for_end, args=(ended,), daemon=True).start()
        print("flooding", flush=True)
        while not ended.is_set():
            connection.sendall(lines)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
