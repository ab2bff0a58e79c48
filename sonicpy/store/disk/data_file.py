"""The few bytes of LMDB's data file that sonicpy reads itself: meta pages, the newest list of replaced pages, roots.

    page 0, 1   meta pages: each commit writes one of them, in turn. Their end, which LMDB never writes, holds a stamp
    stamp       "SONICID1" | store id, 16 bytes                            at the end of both meta pages

Every commit writes pages to new places and lists the replaced pages under its own number. LMDB reuses these once no
reader shows an older commit.
"""

import os
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from sonicpy.disk import sync_file, write_whole
from sonicpy.errors import StoreDamaged

PAGE_HEADER: Final = struct.Struct("=QHHHH")
"""The fields of the head of a page: number, unused, flags, end of the list of nodes, start of the nodes. In an overflow
page the last two are its number of pages."""
META_HEAD: Final = struct.Struct("=IIQQ")
"""The first fields of a meta page: magic number, version of the format, address, size of the map."""
DATABASE: Final = struct.Struct("=IHHQQQQQ")
"""The fields of a tree: page size (only in the first tree), flags, depth, branch, leaf and overflow pages, entries,
root."""
META_TAIL: Final = struct.Struct("=QQ")
"""The last fields of a meta page: last page in use, number of the commit."""
NODE: Final = struct.Struct("=HHHH")
"""The head of a node: size of the data as two halves, flags, size of the key. In a branch page the first three are the
number of the child."""
NUMBER: Final = struct.Struct("=Q")
"""The number of a page, or of a commit."""
STAMP: Final = struct.Struct("<8s16s")

MAGIC: Final = 0xBEEFC0DE
FORMAT_VERSION: Final = 1
STAMP_MAGIC: Final = b"SONICID1"
BRANCH_PAGE, LEAF_PAGE, META_PAGE = 0x01, 0x02, 0x08
BIG_DATA: Final = 0x01
"""The flag of a node whose data is on overflow pages."""
SUB_TREE: Final = 0x02
"""The flag of a node whose data describes a table."""
NO_PAGE: Final = 2**64 - 1
PAGE_BYTES_MIN, PAGE_BYTES_MAX = 512, 1 << 16
META_PAGES: Final = 2
USUAL_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
DEPTH_MAX: Final = 32
"""The most levels of a tree in LMDB."""
META_START: Final = struct.pack("=HHHHII", 0, META_PAGE, 0, 0, MAGIC, FORMAT_VERSION)
"""The first bytes of a meta page behind its number."""
META_BYTES: Final = PAGE_HEADER.size + META_HEAD.size + 2 * DATABASE.size + META_TAIL.size


class MetaPage(NamedTuple):
    """A meta page: the head of a commit.

    Attributes:
        content: the whole page.
        number: the number of the commit.
        page_bytes: the size of a page.
        pages: the number of pages of the commit, including free ones.
        roots: the root pages of the list of replaced pages and of the table of tables; NO_PAGE for an empty one.
    """

    content: bytes
    number: int
    page_bytes: int
    pages: int
    roots: tuple[int, int]


def meta_page(content: bytes) -> MetaPage | None:
    """Return the MetaPage that a page contains, or None if the page is no meta page."""
    if len(content) < META_BYTES:
        return None
    flags = PAGE_HEADER.unpack_from(content)[2]
    place = PAGE_HEADER.size
    magic, version, _, _ = META_HEAD.unpack_from(content, place)
    place += META_HEAD.size
    free, main = (DATABASE.unpack_from(content, place + number * DATABASE.size) for number in (0, 1))
    last, number = META_TAIL.unpack_from(content, place + 2 * DATABASE.size)
    page_bytes = free[0]
    is_size = PAGE_BYTES_MIN <= page_bytes <= PAGE_BYTES_MAX and not page_bytes & (page_bytes - 1)
    if not flags & META_PAGE or magic != MAGIC or version != FORMAT_VERSION or not is_size:
        return None
    return MetaPage(content[:page_bytes], number, page_bytes, last + 1, (free[-1], main[-1]))


def meta_pages(descriptor: int) -> list[MetaPage]:
    """Return the one or two meta pages that can be read, in the order of the file; none if the file is damaged."""
    sizes = [1 << power for power in range(PAGE_BYTES_MIN.bit_length() - 1, PAGE_BYTES_MAX.bit_length())]
    sizes.sort(key=lambda size: size != USUAL_PAGE_BYTES)
    for page_bytes in sizes:
        content = os.pread(descriptor, 2 * page_bytes, 0)
        pages = meta_page(content[:page_bytes]), meta_page(content[page_bytes:])
        found = [meta for meta in pages if meta is not None and meta.page_bytes == page_bytes]
        if found:
            return found
    return []


def newest_meta_page(descriptor: int) -> MetaPage:
    """Return the meta page of the last commit. Raises StoreDamaged if there is none."""
    found = meta_pages(descriptor)
    if not found:
        raise StoreDamaged("the data file of the store has no readable meta page")
    return max(found, key=lambda meta: meta.number)


def is_begun(content: bytes, page_bytes: int) -> bool:
    """Return whether a data file has no more than LMDB writes when it makes one: a part of two meta pages, or zeros."""
    pages = [content[place : place + page_bytes] for place in range(0, len(content), page_bytes)]
    if len(pages) > META_PAGES or any(meta.pages > META_PAGES for meta in map(meta_page, pages) if meta is not None):
        return False
    return all(
        not page.strip(b"\0") or (NUMBER.pack(number) + META_START).startswith(page[: NUMBER.size + len(META_START)])
        for number, page in enumerate(pages)
    )


def write_meta_pages(descriptor: int, meta: MetaPage) -> None:
    """Make `meta` both meta pages, so that its commit is the last one; the caller syncs the file. Raises OSError."""
    for place in (0, 1):
        numbered = place.to_bytes(8, "little" if PAGE_HEADER.pack(1, 0, 0, 0, 0)[0] else "big") + meta.content[8:]
        write_whole(descriptor, numbered, place * meta.page_bytes)


def sync_data(descriptor: int) -> None:
    """Wait until the disk has the data file. Raises OSError if the disk failed."""
    sync_file(descriptor)


def store_id(meta: MetaPage) -> bytes | None:
    """Return the id in the stamp of a meta page; None: the page has no stamp."""
    magic, held = STAMP.unpack(meta.content[-STAMP.size :])
    return held if magic == STAMP_MAGIC else None


def stamp(descriptor: int) -> bytes:
    """Return the id of the store; write an id to both meta pages if one of them lacks it. Raises OSError."""
    found = meta_pages(descriptor)
    held = [store_id(meta) for meta in found]
    identity = next(filter(None, held), None) or os.urandom(16)
    if found and (len(found) < 2 or held != [identity, identity]):
        page_bytes = found[0].page_bytes
        for place in (1, 2):
            write_whole(descriptor, STAMP.pack(STAMP_MAGIC, identity), place * page_bytes - STAMP.size)
    return identity


def replaced_pages(descriptor: int, meta: MetaPage) -> int:
    """Return the number of pages that a commit replaced, from its row in the list of replaced pages."""
    page = meta.roots[0]
    for _ in range(DEPTH_MAX):
        if page == NO_PAGE:
            return 0
        content = os.pread(descriptor, meta.page_bytes, page * meta.page_bytes)
        if len(content) < meta.page_bytes:
            return 0
        _, _, flags, lower, _ = PAGE_HEADER.unpack_from(content)
        last = struct.unpack_from("=H", content, lower - 2)[0]
        low, high, node_flags, key_bytes = NODE.unpack_from(content, last)
        if flags & BRANCH_PAGE:
            page = low | high << 16 | node_flags << 32
            continue
        if struct.unpack_from("=Q", content, last + NODE.size)[0] != meta.number:
            return 0
        data = last + NODE.size + key_bytes
        count: int = struct.unpack_from("=Q", content, data)[0]
        if node_flags & BIG_DATA:  # the data is the number of an overflow page
            held = os.pread(descriptor, 8, count * meta.page_bytes + PAGE_HEADER.size)
            count = struct.unpack("=Q", held)[0]
        return count
    return 0


def file_faults(descriptor: int) -> Iterator[str]:
    """Yield the faults of the data file that can be found without reading all pages: in its size, meta pages and
    roots."""
    found = meta_pages(descriptor)
    size = os.fstat(descriptor).st_size
    if len(found) < 2:
        yield f"{2 - len(found)} of its 2 meta pages cannot be read"
    for meta in found:
        if size < meta.pages * meta.page_bytes:
            yield f"it has {size} bytes, its commit {meta.number} uses {meta.pages * meta.page_bytes}"
    for root in max(found, key=lambda meta: meta.number).roots if found else ():
        if root == NO_PAGE:
            continue
        held = os.pread(descriptor, PAGE_HEADER.size, root * found[0].page_bytes)
        if len(held) < PAGE_HEADER.size:
            yield f"its root page {root} is behind its end"
            continue
        number, _, flags, _, _ = PAGE_HEADER.unpack(held)
        if number != root or not flags & (BRANCH_PAGE | LEAF_PAGE):
            yield f"its page {root} is not the root of a table"
