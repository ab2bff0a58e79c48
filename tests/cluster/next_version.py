"""A sonicpy with one more version of the log's entries than the present one, in place of the next release.

python -m tests.cluster.next_version serve ...     the command line, as `python -m sonicpy`
"""

import sys
import zlib

from sonicpy.cli.main import main
from sonicpy.cluster.log.batches import Batch, pack_batch, unpack_batch
from sonicpy.cluster.log.versions import FORMATS, EntryFormat

NEXT = max(FORMATS) + 1


def pack_next(batch: Batch) -> bytes:
    return bytes([NEXT]) + zlib.compress(pack_batch(batch))


def unpack_next(entry: bytes) -> Batch:
    return unpack_batch(zlib.decompress(entry[1:]))


NEXT_FORMAT = EntryFormat(pack_next, unpack_next)

if __name__ == "__main__":
    FORMATS[NEXT] = NEXT_FORMAT
    sys.exit(main())
