"""Freed memory of a server goes back to the system."""

import platform
import subprocess
import sys

import pytest

from sonicpy.server.process.heap import MMAP_BYTES
from tests.support.patience import WAIT_S

PROGRAM = f"""
import sys
from sonicpy.server.process.heap import bound_heap
if sys.argv[1] == "bound":
    bound_heap()
def anonymous_kb():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon"))
del (large := [bytearray(30 << 20)])[:]  # from now on, glibc takes smaller blocks from the heap
before = anonymous_kb()
blocks = [bytearray({2 * MMAP_BYTES}) for _ in range(100)]
pins = bytearray({MMAP_BYTES // 2})  # behind the blocks, so that the heap cannot shrink
del blocks
print(anonymous_kb() - before)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such settings")
def test_large_blocks_go_back_when_they_are_freed() -> None:
    grown = {how: grown_kb(how) for how in ("bound", "as it is")}
    assert grown["bound"] < 2_000 < 20_000 < grown["as it is"]


def grown_kb(how: str) -> int:
    command = [sys.executable, "-c", PROGRAM, how]
    return int(subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=True).stdout)
