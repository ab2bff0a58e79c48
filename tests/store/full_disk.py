"""A process whose files may not grow, which is a full disk for LMDB and the log.

    python -m tests.store.full_disk FOLDER env|log

It fills the store until a change is refused, checks the rules for this state, makes room again, continues, and prints
the acknowledged objects as JSON. It is a program because the limit applies to the whole process.
"""

import json
import resource
import sys
from pathlib import Path

from sonicpy.errors import StoreError, StoreFull
from sonicpy.store.store import Store
from tests.store.shorthand import found, open_store, push

PUSHES_MAX = 20_000


def main(folder: Path, victim: str) -> None:
    store = open_store(folder)
    acknowledged = _push_some(store, "before", 300)
    store.commit()
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (_limit(folder, victim), hard))
    refused = None
    for number in range(PUSHES_MAX):
        try:
            store.apply(push(f"full{number}", _text(number)))
            store.seal()
            acknowledged.append(f"full{number}")
            if number % 50 == 49:
                store.commit()
        except StoreFull as fault:
            refused = str(fault)
            break
    assert refused is not None, "the limit was never felt"
    assert found(store, "common") == acknowledged[::-1], "reads go on and show what was acknowledged"
    for _ in range(3):  # still no room
        try:
            store.apply(push("refused", "common"))
            store.commit()
        except StoreError:
            continue
        acknowledged.append("refused")
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    store.commit()
    acknowledged += _push_some(store, "after", 300)
    assert [oid for oid in found(store, "common") if oid != "refused"] == [
        oid for oid in reversed(acknowledged) if oid != "refused"
    ]
    print(json.dumps({"refused": refused, "acknowledged": acknowledged}), flush=True)


def _push_some(store: Store, name: str, count: int) -> list[str]:
    oids = [f"{name}{number}" for number in range(count)]
    for number, oid in enumerate(oids):
        store.apply(push(oid, _text(number)))
        store.seal()
    return oids


def _text(number: int) -> str:
    return f"common word{number} {'x' * 200}{number}"


def _limit(folder: Path, victim: str) -> int:
    environment = (folder / "data.mdb").stat().st_size
    if victim == "env":
        return environment + (64 << 10)
    (segment,) = (folder / "log").glob("*.log")
    return segment.stat().st_size + 1000


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
