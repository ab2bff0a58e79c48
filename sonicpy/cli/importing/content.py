"""The content of a file, by its first bytes: gzip is decompressed, and formats that are not text are refused."""

import gzip
import io
import re
from typing import IO, cast

from sonicpy.errors import ConfigError

GZIP = ".gz"
GZIP_MARK = b"\x1f\x8b"
ALLOWED = "allowed are JSON, JSONL, CSV and TSV, plain or compressed with gzip"
OTHERS: tuple[tuple[bytes, str], ...] = (
    (rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)", f"is compressed with bzip2; {ALLOWED}"),
    (rb"\xfd7zXZ\x00", f"is compressed with xz; {ALLOWED}"),
    (rb"\x28\xb5\x2f\xfd", f"is compressed with Zstandard; {ALLOWED}"),
    (rb"PK\x03\x04", f"is a ZIP archive or a spreadsheet; {ALLOWED}"),
    (rb"PAR1\x15", "is Parquet; --format parquet reads it"),
)
"""(pattern of the first bytes of a format that import does not read, end of the sentence that refuses it)."""
UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
HEAD_BYTES = 1 << 10
ZEROS_MAX = 20
"""The number of bytes among which a text in UTF-8 holds at most one zero byte."""


def opened(file: IO[bytes], path: str, *, is_utf8: bool) -> IO[bytes]:
    """Return the content of a file, decompressed if it begins as gzip or its name ends in .gz.

    Args:
        file: the file at its beginning: a BufferedReader, or bytes in memory.
        path: the name of the file, for messages.
        is_utf8: the content is read as UTF-8.

    Raises:
        ConfigError: the file is not text.
        OSError: the file cannot be read, or is not gzip although its name ends in .gz.
    """
    if path.lower().endswith(GZIP) or _head(file).startswith(GZIP_MARK):
        file = cast(IO[bytes], gzip.GzipFile(fileobj=file))
    head = _head(file)
    for pattern, said in OTHERS:
        if re.match(pattern, head):
            raise ConfigError(f"{path} {said}.")
    if is_utf8 and head.startswith(UTF16_MARKS):
        raise ConfigError(f"{path} begins like UTF-16; allowed is UTF-8, or the encoding given with --encoding.")
    if is_utf8 and head.count(0) * ZEROS_MAX > len(head):
        raise ConfigError(f"{path} is no text in UTF-8, because every few bytes one is zero; {ALLOWED}.")
    return file


def _head(file: IO[bytes]) -> bytes:
    if isinstance(file, io.BytesIO):
        return bytes(file.getbuffer()[:HEAD_BYTES])
    return cast(io.BufferedReader, file).peek(HEAD_BYTES)[:HEAD_BYTES]
