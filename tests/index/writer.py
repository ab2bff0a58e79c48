"""Writes an index until a signal ends it: consolidates, flushes and pushes as fast as possible.

python -m tests.index.writer FOLDER
"""

import sys
import threading

import sonicpy


def main() -> None:
    stopped = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stopped.set()), daemon=True).start()
    with sonicpy.open(sys.argv[1]) as index:
        index.push("c", "b", "anchor", "anchored forever", "none")
        index.consolidate()
        print("ready", flush=True)
        round = 0
        while not stopped.is_set():
            round += 1
            rows = [(f"o{n}", f"shared round{round} word{round}x{n}") for n in range(20)]
            index.push_many(rows, collection="c", bucket="b", lang="none")
            index.push("c", f"b{round % 3}", "o", f"other words {round}", "none")
            index.consolidate()
            if round % 5 == 0:
                index.flush("c", f"b{round % 3}")
            if round % 40 == 0:
                for number in range(20):
                    index.flush("c", "b", f"o{number}")


if __name__ == "__main__":
    main()
