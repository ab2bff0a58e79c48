"""A hash table with open addressing: it maps the hash of a key to the number of an entry.

A slot holds the hash (upper 32 bits) and the number plus one (lower 32 bits); an empty slot is 0. So the table grows
without reading keys, and keys are compared only if their hashes are equal. The owner stores the entries, compares their
keys, and keeps at least half of the slots empty:

    slot = home_slot(table, hash)
    while (number = next_match(table, hash, &slot)) >= 0:
        if the key of entry `number` is the wanted one: found
    set_slot(table, slot, hash, new_number)  # the probe ended at an empty slot
"""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

cdef extern from *:
    """
    #define GOLDEN_RATIO_64 0x9E3779B97F4A7C15ULL /* 2^64 divided by the golden ratio, for multiplicative hashing */
    """
    const uint64_t GOLDEN_RATIO_64


cdef struct HashTable:
    uint64_t *slots
    uint32_t mask  # number of slots, a power of two, minus one


cdef inline uint32_t hash_number(uint64_t number) noexcept nogil:
    """Return the hash of a key that is a number (Knuth's multiplicative hashing)."""
    return <uint32_t> (number * GOLDEN_RATIO_64 >> 32)


cdef inline bint begin_table(HashTable *table, uint32_t slots) noexcept nogil:
    """Allocate empty slots, whose number is a power of two. Return False if there is no memory."""
    table.mask = slots - 1
    table.slots = <uint64_t *> calloc(slots, sizeof(uint64_t))
    return table.slots != NULL


cdef inline void end_table(HashTable *table) noexcept nogil:
    free(table.slots)


cdef inline void clear_table(HashTable *table) noexcept nogil:
    """Empty all slots."""
    memset(table.slots, 0, (<size_t> table.mask + 1) * sizeof(uint64_t))


cdef inline uint32_t home_slot(const HashTable *table, uint32_t hash) noexcept nogil:
    return hash & table.mask


cdef inline int64_t next_match(const HashTable *table, uint32_t hash, uint32_t *slot) noexcept nogil:
    """Return the number of the next entry whose hash is `hash`, and move `slot` behind the entry; -1: `slot` is an
    empty slot."""
    cdef uint64_t held = table.slots[slot[0]]
    while held:
        slot[0] = (slot[0] + 1) & table.mask
        if held >> 32 == hash:
            return <int64_t> <uint32_t> held - 1
        held = table.slots[slot[0]]
    return -1


cdef inline void set_slot(HashTable *table, uint32_t slot, uint32_t hash, uint32_t number) noexcept nogil:
    table.slots[slot] = <uint64_t> hash << 32 | (number + 1)


cdef inline void insert(HashTable *table, uint32_t hash, uint32_t number) noexcept nogil:
    """Put an entry into the first empty slot from its home on; there must be an empty slot."""
    cdef uint32_t slot = hash & table.mask
    while table.slots[slot]:
        slot = (slot + 1) & table.mask
    set_slot(table, slot, hash, number)


cdef inline bint double_table(HashTable *table) noexcept nogil:
    """Double the number of slots. Return False if there is no memory; then nothing has changed."""
    cdef HashTable larger
    cdef uint64_t held
    cdef uint32_t number
    if not begin_table(&larger, 2 * (table.mask + 1)):
        return False
    for number in range(table.mask + 1):
        held = table.slots[number]
        if held:
            insert(&larger, <uint32_t> (held >> 32), <uint32_t> held - 1)
    free(table.slots)
    table[0] = larger
    return True
