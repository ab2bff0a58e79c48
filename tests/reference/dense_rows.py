"""A slow reader of the rows that are packed in bits, written from the descriptions in the native modules."""

from collections.abc import Iterator

PLACES = 16


def varint(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits per byte, and the place of the next one."""
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
        if data[at - 1] < 0x80:
            return number, at


class Bits:
    """The bits of some bytes, the lowest one of each byte first."""

    def __init__(self, data: bytes) -> None:
        self._left = [byte >> bit & 1 for byte in data for bit in range(8)][::-1]

    def bits(self, count: int) -> int:
        return sum(self._left.pop() << place for place in range(count))

    def unary(self) -> int:
        zeros = 0
        while not self._left.pop():
            zeros += 1
        return zeros

    def golomb(self, k: int) -> int:
        size = self.unary()
        high = (1 << size) + self.bits(size) - 1
        return (high << k) + self.bits(k)

    def gaps(self, count: int, k: int) -> list[int]:
        lows = [self.bits(k) for _ in range(count)]
        return [(self.unary() << k) + low for low in lows]

    def end(self) -> None:
        if len(self._left) >= 8 or any(self._left):
            raise ValueError("bits are left over")


def read_block(block: bytes) -> list[tuple[int, int]]:
    """Return the (IID, tf) pairs of a dense block."""
    k, count = block[0] - 129, block[1] + 1
    first, at = varint(block, 2)
    bits = Bits(block[at:])
    iids = [first]
    for gap in bits.gaps(count - 1, k):
        iids.append(iids[-1] + gap + 1)
    tfs = [1] * count
    for _ in range(bits.bits(8)):
        place = bits.bits(7)
        tfs[place] = bits.golomb(0) + 2
    bits.end()
    return list(zip(iids, tfs, strict=True))


def read_records(row: bytes) -> list[tuple[int, bytes, list[tuple[int, int, bool]]]]:
    """Return place, OID and (term id, tf, hidden) of the terms of each record of a dense row of objects. Raises
    ValueError if it is no such row.
    """
    if row[0] < 0xFE:
        raise ValueError("the row is not dense")
    at = 3 if row[0] == 0xFF else 1
    places = [place for place in range(PLACES) if at == 1 or (row[1] | row[2] << 8) >> place & 1]
    oids: list[bytes] = []
    while len(oids) < len(places):
        shared, own = row[at], row[at + 1]
        oids.append((oids[-1][:shared] if shared else b"") + row[at + 2 : at + 2 + own])
        at += 2 + own
        for _ in range(row[at]):
            oids.append(counted_up(oids[-1]))
        at += 1
    bits = Bits(row[at:])
    records = [(place, oid, list(_terms(bits))) for place, oid in zip(places, oids, strict=True)]
    bits.end()
    return records


def counted_up(oid: bytes) -> bytes:
    """Return an OID whose number at the end is larger by one, with the same number of digits."""
    head = oid.rstrip(b"0123456789")
    number = oid[len(head) :]
    return head + str(int(number) + 1).encode().rjust(len(number), b"0")


def _terms(bits: Bits) -> Iterator[tuple[int, int, bool]]:
    count = bits.golomb(3)
    marks: dict[int, tuple[int, bool]] = {}
    if bits.bits(1):
        marked, any_hidden = bits.golomb(0) + 1, bits.bits(1)
        for _ in range(marked):
            place = bits.bits((count - 1).bit_length())
            hidden = bool(any_hidden and bits.bits(1))
            tf = bits.golomb(0) + 2 - any_hidden
            marks[place] = (0, True) if tf == 1 and not hidden else (tf, hidden)
        if len(marks) < marked or max(marks) >= count:
            raise ValueError("a mark has no place")
    term_id = -1
    for place in range(count):
        term_id += bits.golomb(max(4, (term_id + 2).bit_length() - 2)) + 1
        yield term_id, *marks.get(place, (1, False))


def read_names(row: bytes) -> list[tuple[int, int]]:
    """Return the (hash, IID) entries of a row of names; a row holds 32 of the 40 bits of a hash. Raises ValueError if
    the row is not dense.
    """
    if row[:2] != b"\x80\0":
        raise ValueError("the row is not dense")
    count, at = varint(row, 2)
    k, width = row[at], row[at + 1]
    bits = Bits(row[at + 2 :])
    hashes = [bits.bits(32)]
    iids = [bits.bits(width) for _ in range(count)]
    for gap in bits.gaps(count - 1, k):
        hashes.append(hashes[-1] + gap)
    bits.end()
    return [(hash << 8, iid) for hash, iid in zip(hashes, iids, strict=True)]


def read_terms(row: bytes) -> dict[int, bytes]:
    """Return the terms of a row of `terms` by their places. Raises ValueError if the row is damaged."""
    if row[0] != 0xFF:
        raise ValueError("the row holds one term")
    terms: dict[int, bytes] = {}
    at = 1
    while at < len(row):
        place, size = divmod(row[at], 16)
        at += 1
        if size == 15:
            more, at = varint(row, at)
            size += more
        terms[place] = row[at : at + size]
        if len(terms[place]) < size:
            raise ValueError("the last term is cut off")
        at += size
    return terms


def read_tags(row: bytes) -> dict[int, list[int]]:
    """Return the ids of tags in a row of `tags`, by the places of objects. Raises ValueError if the row is damaged."""
    count = row[0] + 1
    bits = Bits(row[1:])
    if count == 64:
        places = [*range(64)]
    elif count > 10:
        held = bits.bits(64)
        places = [place for place in range(64) if held >> place & 1]
    else:
        places = [bits.bits(6) for _ in range(count)]
    if len(places) != count or places != sorted(set(places)):
        raise ValueError("places of objects do not rise")
    k, m, has_same, has_one_count = bits.bits(6), bits.bits(6), bits.bits(1), bits.bits(1)
    one_count = bits.golomb(0) + 1 if has_one_count else 0
    found: dict[int, list[int]] = {}
    last: list[int] | None = None
    for place in places:
        if not has_same or not bits.bits(1):
            last, before = [], -1
            for number in range(one_count or bits.golomb(0) + 1):
                before += 1 + bits.golomb(m if number else k)
                last.append(before)
        if last is None:
            raise ValueError("the first object has the tags of none")
        found[place] = last
    bits.end()
    return found


def read_values(row: bytes) -> dict[int, int]:
    """Return the values in a row of `columns`, by the places of objects. Raises ValueError if the row is damaged."""
    count, width = row[0] + 1, row[1]
    step, at = varint(row, 2)
    lowest, at = varint(row, at)
    most, at = varint(row, at)
    bits = Bits(row[at:])
    if count == 128:
        places = [*range(128)]
    elif count > 18:
        held = bits.bits(128)
        places = [place for place in range(128) if held >> place & 1]
    else:
        places = [bits.bits(7) for _ in range(count)]
    if len(places) != count or places != sorted(set(places)):
        raise ValueError("places of objects do not rise")
    packed = [bits.bits(width) for _ in places]
    bits.end()
    start = lowest >> 1 if lowest % 2 == 0 else -(lowest + 1 >> 1)
    found = {place: start + number * (step + 1) for place, number in zip(places, packed, strict=True)}
    if max(packed) != most or min(packed) != 0 or not all(-(2**63) <= value < 2**63 for value in found.values()):
        raise ValueError("the bounds of values are not theirs")
    return found
