"""PING a server every few milliseconds until stdin ends; then print two 99th percentiles in seconds: of the times of
the PINGs, and of the excess of pauses over their planned length, which measures the load of the machine.

It runs as a process of its own, so that the threads of an attacking test do not slow it down: python pinger.py HOST
PORT
"""

import select
import socket
import sys
import time

PAUSE_S = 0.005


def main(host: str, port: int) -> None:
    """Send PINGs until stdin ends; print both percentiles and the number of PINGs."""
    pings: list[float] = []
    late: list[float] = []
    with socket.create_connection((host, port), 30) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = connection.makefile("rb")
        connection.sendall(b"START search\n")
        lines.readline(), lines.readline()
        print("pinging", flush=True)
        while True:
            began = time.perf_counter()
            if select.select([sys.stdin], [], [], PAUSE_S)[0]:
                break
            late.append(time.perf_counter() - began - PAUSE_S)
            began = time.perf_counter()
            connection.sendall(b"PING\n")
            assert lines.readline() == b"PONG\r\n"
            pings.append(time.perf_counter() - began)
    print(*(sorted(times)[len(times) * 99 // 100] for times in (pings, late)), len(pings), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
