"""BLAKE2b without a key (RFC 7693), for digests of at most eight bytes."""

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy, memset

cdef extern from *:
    """
    /* Macros, because compilers do not unroll twelve rounds by themselves, which costs half of all instructions. */

    #define SONICPY_TURN(value, bits) ((value) >> (bits) | (value) << (64 - (bits)))

    #define SONICPY_MIX(v, a, b, c, d, x, y) \\
        v[a] += v[b] + (x); \\
        v[d] = SONICPY_TURN(v[d] ^ v[a], 32); \\
        v[c] += v[d]; \\
        v[b] = SONICPY_TURN(v[b] ^ v[c], 24); \\
        v[a] += v[b] + (y); \\
        v[d] = SONICPY_TURN(v[d] ^ v[a], 16); \\
        v[c] += v[d]; \\
        v[b] = SONICPY_TURN(v[b] ^ v[c], 63)

    #define SONICPY_MIX_ALL(v, m, order) do { \\
        SONICPY_MIX(v, 0, 4, 8, 12, m[(order) >> 60], m[(order) >> 56 & 15]); \\
        SONICPY_MIX(v, 1, 5, 9, 13, m[(order) >> 52 & 15], m[(order) >> 48 & 15]); \\
        SONICPY_MIX(v, 2, 6, 10, 14, m[(order) >> 44 & 15], m[(order) >> 40 & 15]); \\
        SONICPY_MIX(v, 3, 7, 11, 15, m[(order) >> 36 & 15], m[(order) >> 32 & 15]); \\
        SONICPY_MIX(v, 0, 5, 10, 15, m[(order) >> 28 & 15], m[(order) >> 24 & 15]); \\
        SONICPY_MIX(v, 1, 6, 11, 12, m[(order) >> 20 & 15], m[(order) >> 16 & 15]); \\
        SONICPY_MIX(v, 2, 7, 8, 13, m[(order) >> 12 & 15], m[(order) >> 8 & 15]); \\
        SONICPY_MIX(v, 3, 4, 9, 14, m[(order) >> 4 & 15], m[(order) & 15]); \\
    } while (0)
    """
    void mix_all "SONICPY_MIX_ALL"(uint64_t *v, const uint64_t *m, uint64_t order) noexcept nogil
    # Does one round on the state; the digits of `order` are the order in which it takes the words of the block.

cdef enum:
    BLOCK_BYTES = 128


cdef inline uint64_t blake2b(const uint8_t *message, uint64_t size, int digest_bytes) noexcept nogil:
    """Return the digest as a number, low byte first; the caller ignores the bits above `digest_bytes`."""
    cdef uint64_t h[8]
    cdef uint8_t last[BLOCK_BYTES]
    cdef uint64_t hashed = 0
    h[0] = <uint64_t> 0x6A09E667F3BCC908 ^ 0x01010000 ^ digest_bytes
    h[1] = <uint64_t> 0xBB67AE8584CAA73B
    h[2] = <uint64_t> 0x3C6EF372FE94F82B
    h[3] = <uint64_t> 0xA54FF53A5F1D36F1
    h[4] = <uint64_t> 0x510E527FADE682D1
    h[5] = <uint64_t> 0x9B05688C2B3E6C1F
    h[6] = <uint64_t> 0x1F83D9ABFB41BD6B
    h[7] = <uint64_t> 0x5BE0CD19137E2179
    while size - hashed > BLOCK_BYTES:
        hashed += BLOCK_BYTES
        compress(h, message + hashed - BLOCK_BYTES, hashed, False)
    memset(last, 0, BLOCK_BYTES)
    memcpy(last, message + hashed, size - hashed)
    compress(h, last, size, True)
    return h[0]


cdef inline void compress(uint64_t *h, const uint8_t *block, uint64_t hashed, bint is_last) noexcept nogil:
    """Work one block into the state; `hashed` is the number of bytes of the message up to the end of this block."""
    cdef uint64_t v[16]
    cdef uint64_t m[16]
    cdef int number
    for number in range(16):
        m[number] = eight_bytes(block + 8 * number)
    for number in range(8):
        v[number] = h[number]
    v[8] = <uint64_t> 0x6A09E667F3BCC908
    v[9] = <uint64_t> 0xBB67AE8584CAA73B
    v[10] = <uint64_t> 0x3C6EF372FE94F82B
    v[11] = <uint64_t> 0xA54FF53A5F1D36F1
    v[12] = <uint64_t> 0x510E527FADE682D1 ^ hashed
    v[13] = <uint64_t> 0x9B05688C2B3E6C1F
    v[14] = <uint64_t> 0x1F83D9ABFB41BD6B ^ -<uint64_t> is_last
    v[15] = <uint64_t> 0x5BE0CD19137E2179
    mix_all(v, m, 0x0123456789ABCDEF)
    mix_all(v, m, 0xEA489FD61C02B753)
    mix_all(v, m, 0xB8C052FDAE367194)
    mix_all(v, m, 0x7931DCBE265A40F8)
    mix_all(v, m, 0x905724AFE1BC683D)
    mix_all(v, m, 0x2C6A0B834D75FE19)
    mix_all(v, m, 0xC51FED4A0763928B)
    mix_all(v, m, 0xDB7EC13950F4862A)
    mix_all(v, m, 0x6FE9B308C2D714A5)
    mix_all(v, m, 0xA2847615FB9E3CD0)
    mix_all(v, m, 0x0123456789ABCDEF)
    mix_all(v, m, 0xEA489FD61C02B753)
    for number in range(8):
        h[number] ^= v[number] ^ v[number + 8]


cdef inline uint64_t eight_bytes(const uint8_t *at) noexcept nogil:
    """Return eight bytes as a number, low byte first."""
    return (
        <uint64_t> at[0] | <uint64_t> at[1] << 8 | <uint64_t> at[2] << 16 | <uint64_t> at[3] << 24
        | <uint64_t> at[4] << 32 | <uint64_t> at[5] << 40 | <uint64_t> at[6] << 48 | <uint64_t> at[7] << 56
    )
