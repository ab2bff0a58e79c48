"""Numbers packed in bits, for rows that rarely change. The lowest bit of a byte comes first.

    bits(n)      a number of n bits, the lowest one first
    unary        the number in zeros, then a one
    golomb(k)    unary(z), then bits(z) and bits(k), for a number whose k low bits come last and whose rest plus 1
                 has z bits behind its highest one: an exponential Golomb code (Teuhola, "A compression method for
                 clustered bit-vectors", 1978)
    gaps(k)      bits(k) of each of several numbers, then unary of the rest of each: Rice codes (Rice and Plaunt,
                 "Adaptive variable-length coding", 1971), the fixed parts in front, where they need no search
"""

from libc.stdint cimport UINT32_MAX, uint8_t, uint32_t, uint64_t

from sonicpy._native.bits cimport count_bits, highest_bit, lowest_bit
from sonicpy._native.blake2b cimport eight_bytes

cdef enum:
    BITS_MAX = 56  # of one call: up to seven more bits may wait to be written
    SPARE_BYTES = 8  # that a writer needs behind its output
    PAIRED_BITS = 6  # of a number at least, so that sums of PAIRED_MAX of them have no more than twice as many
    PAIRED_MAX = 128


cdef struct BitWriter:
    uint8_t *out  # where the next whole byte goes
    uint64_t pending
    int filled  # bits of `pending`, less than eight between calls


cdef struct BitReader:
    const uint8_t *start
    uint64_t size  # bytes
    uint64_t at  # the next bit


cdef inline void begin_bits(BitWriter *bits, uint8_t *out) noexcept nogil:
    bits.out, bits.pending, bits.filled = out, 0, 0


cdef inline void put_bits(BitWriter *bits, uint64_t value, int count) noexcept nogil:
    """Write a number of `count` bits, at most BITS_MAX.

    The number must not have more bits, and SPARE_BYTES behind the next byte must be writable.
    """
    cdef uint64_t pending = bits.pending | value << bits.filled
    cdef uint8_t *out = bits.out
    cdef int filled = bits.filled + count
    out[0], out[1], out[2], out[3] = <uint8_t> pending, pending >> 8 & 0xFF, pending >> 16 & 0xFF, pending >> 24 & 0xFF
    out[4], out[5], out[6], out[7] = pending >> 32 & 0xFF, pending >> 40 & 0xFF, pending >> 48 & 0xFF, pending >> 56
    bits.out = out + (filled >> 3)
    bits.pending = pending >> (filled & 56)
    bits.filled = filled & 7


cdef inline void put_unary(BitWriter *bits, uint64_t value) noexcept nogil:
    while value >= BITS_MAX:
        put_bits(bits, 0, BITS_MAX)
        value -= BITS_MAX
    put_bits(bits, <uint64_t> 1 << value, <int> value + 1)


cdef inline void put_golomb(BitWriter *bits, uint64_t value, int k) noexcept nogil:
    """Write a number below 2**(BITS_MAX + k) - 2**k."""
    cdef uint64_t high = (value >> k) + 1
    cdef int size = highest_bit(high)
    if 2 * size + 1 + k <= BITS_MAX:  # nearly always
        put_bits(
            bits,
            <uint64_t> 1 << size | (high ^ <uint64_t> 1 << size) << (size + 1) | (value & low_bits(k)) << (2 * size + 1),
            2 * size + 1 + k,
        )
        return
    put_unary(bits, size)
    put_bits(bits, high ^ <uint64_t> 1 << size, size)
    put_bits(bits, value & low_bits(k), k)


cdef inline void put_gaps(BitWriter *bits, const uint32_t *gaps, int count, int k) noexcept nogil:
    cdef uint64_t together = 0, rest, mask = low_bits(k)
    cdef int number, size = 0
    for number in range(count):  # as many fixed parts at once as fit
        if size + k > BITS_MAX:
            put_bits(bits, together, size)
            together, size = 0, 0
        together |= (gaps[number] & mask) << size
        size += k
    put_bits(bits, together, size)
    together, size = 0, 0
    for number in range(count):
        rest = gaps[number] >> k
        if size + rest >= BITS_MAX:
            put_bits(bits, together, size)
            together, size = 0, 0
            if rest >= BITS_MAX:
                put_unary(bits, rest)
                continue
        size += <int> rest
        together |= <uint64_t> 1 << size
        size += 1
    put_bits(bits, together, size)


cdef inline uint64_t gap_bits(const uint32_t *gaps, int count, int k) noexcept nogil:
    """Return the number of bits that `put_gaps` writes."""
    cdef uint64_t found = <uint64_t> count * (k + 1)
    cdef int number
    for number in range(count):
        found += gaps[number] >> k
    return found


cdef inline int best_k(const uint32_t *gaps, int count) noexcept nogil:
    """Return the k with which `put_gaps` writes the fewest bits."""
    cdef uint64_t total = 0, size, smaller
    cdef int number, k
    for number in range(count):
        total += gaps[number]
    if total <= <uint64_t> count:
        return 0
    # Gaps of random places are best with k about log2(ln 2 * mean); few others are far from it.
    k = highest_bit(total // count)
    size = gap_bits(gaps, count, k)
    while k:
        smaller = gap_bits(gaps, count, k - 1)
        if smaller >= size:
            break
        size = smaller
        k -= 1
    return k


cdef inline uint8_t *end_bits(BitWriter *bits) noexcept nogil:
    """Fill the last byte with zeros, and return the place of the next byte."""
    if bits.filled:
        put_bits(bits, 0, 8 - bits.filled)
    return bits.out


cdef inline uint64_t low_bits(int count) noexcept nogil:
    """Return a number of `count` ones, at most BITS_MAX."""
    return (<uint64_t> 1 << count) - 1


cdef inline uint64_t peek(const BitReader *bits, uint64_t at) noexcept nogil:
    """Return the bits from a place on, 64 - place % 8 of them; behind the end there are zeros."""
    cdef uint64_t place = at >> 3, found = 0
    cdef int number = 0
    if place + 8 <= bits.size:
        return eight_bytes(bits.start + place) >> (at & 7)
    while number < 8 and place + number < bits.size:
        found |= <uint64_t> bits.start[place + number] << (8 * number)
        number += 1
    return found >> (at & 7)


cdef inline uint64_t take_bits(BitReader *bits, int count) noexcept nogil:
    """Read a number of `count` bits, at most BITS_MAX."""
    cdef uint64_t found = peek(bits, bits.at) & low_bits(count)
    bits.at += count
    return found


cdef inline bint take_unary(BitReader *bits, uint64_t *value) noexcept nogil:
    """Read a number in unary; return False if the bits end first."""
    cdef uint64_t word = peek(bits, bits.at)
    cdef int step
    value[0] = 0
    while word == 0:
        step = 64 - <int> (bits.at & 7)
        value[0] += step
        bits.at += step
        if bits.at >= 8 * bits.size:
            return False
        word = peek(bits, bits.at)
    step = lowest_bit(word)
    value[0] += step
    bits.at += step + 1
    return True


cdef inline bint take_golomb(BitReader *bits, int k, uint64_t *value) noexcept nogil:
    """Read a number; return False if the bits end first, or encode no number that `put_golomb` writes."""
    cdef uint64_t place = bits.at >> 3, word = 0
    cdef int size
    if place + 8 <= bits.size:
        word = eight_bytes(bits.start + place) >> (bits.at & 7)
    if word:
        size = lowest_bit(word)
        if 2 * size + 1 + k <= BITS_MAX:  # nearly always
            word >>= size + 1
            value[0] = (((<uint64_t> 1 << size | word & low_bits(size)) - 1) << k) | (word >> size & low_bits(k))
            bits.at += 2 * size + 1 + k
            return True
    return take_any_golomb(bits, k, value)


cdef inline bint take_any_golomb(BitReader *bits, int k, uint64_t *value) noexcept nogil:
    """Carry out `take_golomb` for a long number, or one near the end."""
    cdef uint64_t size = 0
    if not take_unary(bits, &size) or size >= BITS_MAX or size + k > 63:
        return False
    value[0] = (<uint64_t> 1 << size | take_bits(bits, <int> size)) - 1
    value[0] = value[0] << k | take_bits(bits, k)
    return True


cdef struct GapReader:  # reads gaps one by one
    const BitReader *bits
    uint64_t low_at, at  # the next fixed part, and the rest that follows
    uint64_t word, mask
    int left  # bits of `word`
    int k


cdef inline bint begin_gaps(GapReader *gaps, const BitReader *bits, uint64_t count, int k) noexcept nogil:
    """Begin to read `count` gaps at the next bit; k is at most 32. Return False if the bits end first."""
    gaps.bits, gaps.low_at, gaps.at, gaps.k = bits, bits.at, bits.at + count * k, k
    gaps.mask = low_bits(k)
    if gaps.at > 8 * bits.size:
        return False
    gaps.word = peek(bits, gaps.at)
    gaps.left = 64 - <int> (gaps.at & 7)
    return True


cdef inline bint next_gap(GapReader *gaps, uint32_t *gap) noexcept nogil:
    """Read the next gap; return False if the bits end first, or if it has more than 32 bits."""
    cdef uint64_t high = 0
    cdef int step
    while gaps.word == 0:
        high += gaps.left
        gaps.at += gaps.left
        if gaps.at >= 8 * gaps.bits.size:
            return False
        gaps.word = peek(gaps.bits, gaps.at)
        gaps.left = 64 - <int> (gaps.at & 7)
    step = lowest_bit(gaps.word)
    high += step
    gaps.word = gaps.word >> step >> 1
    gaps.at += step + 1
    gaps.left -= step + 1
    high = high << gaps.k | (peek(gaps.bits, gaps.low_at) & gaps.mask)
    gap[0] = <uint32_t> high
    gaps.low_at += gaps.k
    return high <= UINT32_MAX


cdef inline bint find_one(const BitReader *bits, uint64_t *byte, uint64_t *word, uint64_t *found) noexcept nogil:
    """Find the next bit that is 1, and remove it from `word`, the eight bytes read from `byte` on; return False if the
    bits end first."""
    while word[0] == 0:
        byte[0] += 8
        if byte[0] >= bits.size:
            return False
        word[0] = peek(bits, byte[0] << 3)
    found[0] = (byte[0] << 3) + lowest_bit(word[0])
    word[0] &= word[0] - 1
    return True


cdef inline bint take_gaps(BitReader *bits, uint32_t *gaps, int count, int k) noexcept nogil:
    """Read `count` gaps; return False if the bits end first, or if a gap has more than 32 bits. k is at most 32."""
    cdef uint64_t low_at = bits.at, at = bits.at + <uint64_t> count * k, mask = low_bits(k)
    cdef uint64_t byte = at >> 3, word = peek(bits, at) << (at & 7), found, gap, largest = 0
    cdef int number
    if at > 8 * bits.size:
        return False
    for number in range(count):
        if not find_one(bits, &byte, &word, &found):
            return False
        gap = (found - at) << k
        at = found + 1
        largest |= gap
        gaps[number] = <uint32_t> gap
    if ((low_at + <uint64_t> count * k) >> 3) + 8 <= bits.size:  # as nearly always, no fixed part is near the end
        for number in range(count):
            gaps[number] |= <uint32_t> (eight_bytes(bits.start + (low_at >> 3)) >> (low_at & 7) & mask)
            low_at += k
    else:
        for number in range(count):
            gaps[number] |= <uint32_t> (peek(bits, low_at) & mask)
            low_at += k
    bits.at = at
    return largest <= UINT32_MAX


cdef inline bint take_rising(BitReader *bits, uint32_t *numbers, int count, int k) noexcept nogil:
    """Read `count` gaps into the numbers behind numbers[0], each of which is one more than its gap above the number
    before it; return False if the bits end first, or if a number has more than 32 bits. k is at most 32."""
    cdef uint64_t low_at = bits.at, begin = bits.at + <uint64_t> count * k, mask = low_bits(k), fields
    cdef uint64_t byte = begin >> 3, word = peek(bits, begin) << (begin & 7), found = begin - 1
    cdef uint64_t lows = numbers[0], last = numbers[0]
    cdef int number = 0, stop, at_once = BITS_MAX // k if k else count
    cdef bint is_inside = (begin >> 3) + 8 <= bits.size  # as nearly always, no fixed part is near the end
    if begin > 8 * bits.size:
        return False
    while number < count:
        fields = eight_bytes(bits.start + (low_at >> 3)) >> (low_at & 7) if is_inside else peek(bits, low_at)
        low_at += at_once * k
        stop = min(number + at_once, count)
        while number < stop:
            if not find_one(bits, &byte, &word, &found):
                return False
            lows += 1 + (fields & mask)
            fields >>= k
            last = ((found - begin - number) << k) + lows  # each of the gaps before has a one of its own
            number += 1
            numbers[number] = <uint32_t> last
    bits.at = found + 1
    return last <= UINT32_MAX


cdef inline uint64_t sum_of_fields(const uint8_t *start, uint64_t at, int count, int k) noexcept nogil:
    """Return the sum of `count` numbers of k bits; eight bytes from each of them on must be readable."""
    cdef uint64_t mask = low_bits(k), together = 0, odd = 0, total = 0, word
    cdef int number, pairs
    if k >= PAIRED_BITS and count <= PAIRED_MAX:  # the even ones and the odd ones of a word are added at once
        pairs = BITS_MAX // (2 * k)
        for number in range(pairs):
            odd |= mask << (2 * k * number)
        while count >= 2 * pairs > 0:
            word = eight_bytes(start + (at >> 3)) >> (at & 7)
            together += (word & odd) + (word >> k & odd)
            at += 2 * k * pairs
            count -= 2 * pairs
        for number in range(pairs):
            total += together >> (2 * k * number) & low_bits(2 * k)
    for number in range(count):
        total += eight_bytes(start + (at >> 3)) >> (at & 7) & mask
        at += k
    return total


cdef inline bint skip_gaps(BitReader *bits, int count, int k, uint64_t *total) noexcept nogil:
    """Read `count` gaps for their sum alone; return False if the bits end first. k is at most 32."""
    cdef uint64_t low_at = bits.at, begin = bits.at + <uint64_t> count * k, mask = low_bits(k)
    cdef uint64_t byte = begin >> 3, word = peek(bits, begin) << (begin & 7), lows = 0, found = begin
    cdef int number, left = count, here
    if begin > 8 * bits.size:
        return False
    if count:
        here = count_bits(word)
        while here < left:
            left -= here
            byte += 8
            if byte >= bits.size:
                return False
            word = peek(bits, byte << 3)
            here = count_bits(word)
        for number in range(left - 1):
            word &= word - 1
        found = (byte << 3) + lowest_bit(word) + 1
    if ((low_at + <uint64_t> count * k) >> 3) + 8 <= bits.size:
        lows = sum_of_fields(bits.start, low_at, count, k)
    else:
        for number in range(count):
            lows += peek(bits, low_at) & mask
            low_at += k
    total[0] = ((found - begin - count) << k) + lows
    bits.at = found
    return True


cdef inline bint is_at_end(const BitReader *bits) noexcept nogil:
    """Return whether less than a byte is left, and all its bits are zeros."""
    return bits.at <= 8 * bits.size < bits.at + 8 and peek(bits, bits.at) == 0
