"""The plan of SIMILAR: the words of the record of an object that weigh most, the heaviest ones with their families."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.math cimport sqrt
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, qsort

from sonicpy._native.bm25 cimport idf
from sonicpy._native.byte_order cimport compare_bytes
from sonicpy._native.characters cimport UNSPACED, properties_at
from sonicpy._native.memory cimport zeroed
from sonicpy._native.object_record cimport ObjectRecord
from sonicpy._native.plan cimport R_ADDS, Clause, Plan, clauses_of
from sonicpy._native.term_rows cimport TermInfo
from sonicpy._native.terms cimport Terms

from sonicpy._native.planner import NOTHING_LEFT_OUT, SHARE_EXPONENT_MAX, SHARE_STRENGTH

cdef enum:
    TERMS = 56
    BRINGING = 12
    FAMILIES = 8
    READ = 400
    COMMON_FEW = 64
    COMMON_PART = 5
    ALWAYS = 3  # words that are never left out
    SHARED = 2  # objects that hold a word: one of a single object leads to no other object
    COUNT_MAX = 255

TERMS_MAX = TERMS
"""The most words of an object that are looked for."""
BRINGING_MAX = BRINGING
"""The number of words of which a similar object holds at least one, or a form of it: more take longer, and find nothing
better."""
FAMILIES_MAX = FAMILIES
"""The number of words that also count in their other forms."""
READ_MAX = READ
"""The most words of an object whose weights are compared: those that the object holds most often."""
COMMON_SHARE, COMMON_MIN = COMMON_PART, COMMON_FEW
"""A word that more than 64 objects and more than a fifth of all hold is left out: it takes long and separates objects
less."""

cdef double strength = SHARE_STRENGTH, exponent_max = SHARE_EXPONENT_MAX


cdef struct Weighed:  # a word of the object
    double weight
    uint64_t term_id
    uint32_t tf
    Py_ssize_t place  # in the lists of words and of rows
    const uint8_t *word
    Py_ssize_t size


def similar_plan(lexicon not None, ObjectRecord record not None, matching) -> tuple | None:
    """Return the plan to find the objects that are similar to an object, and the rows of its words in their order;
    None: the object shares no word with another one.

    The weight of a word is its `idf` times the square root of its frequency in the object. Of the FAMILIES_MAX heaviest
    words, the forms that the object holds, too, count as one word, and a family weighs as in a query.

    Args:
        lexicon: the words of the bucket.
        record: the record of the object.
        matching: the matching of families; None: no word has a family.
    """
    cdef uint64_t objects = lexicon.objects
    cdef list words, rows
    cdef Weighed *found
    cdef Py_ssize_t count, number
    record.unpack_terms()
    found = <Weighed *> zeroed(record._count, sizeof(Weighed))
    try:
        count = read_shown(record, found)
        words = lexicon.reader.term_bytes([found[number].term_id for number in range(count)])
        rows = lexicon.rows(words)
        count = heaviest(found, weigh(found, count, words, rows, objects), rows, objects)
        return planned(lexicon, found, count, words, rows, matching) if count else None
    finally:
        free(found)


cdef Py_ssize_t read_shown(ObjectRecord record, Weighed *found) noexcept:
    """Read the terms of a record that are not hidden, at most READ_MAX, by rising term id; return their number."""
    cdef Py_ssize_t step, count = 0
    for step in range(record._count):
        if not record._held[step].hidden:
            found[count].term_id, found[count].tf = record._held[step].term_id, record._held[step].tf
            count += 1
    if count > READ:
        qsort(found, count, sizeof(Weighed), by_frequency)
        count = READ
        qsort(found, count, sizeof(Weighed), by_term)
    return count


cdef Py_ssize_t weigh(Weighed *found, Py_ssize_t count, list words, list rows, uint64_t objects) except -1:
    """Weigh the words that other objects hold, too, and put them in order, the heaviest first; return their number."""
    cdef Py_ssize_t number, kept = 0
    cdef TermInfo row
    cdef bytes word
    for number in range(count):
        row = rows[number]
        if row is not None and row._word.df >= SHARED:
            word = words[number]
            found[kept] = Weighed(
                idf(objects, row._word.df) * sqrt(found[number].tf), found[number].term_id, found[number].tf, number,
                <const uint8_t *> PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word),
            )
            kept += 1
    qsort(found, kept, sizeof(Weighed), by_weight)
    return kept


cdef Py_ssize_t heaviest(Weighed *found, Py_ssize_t count, list rows, uint64_t objects) except -1:
    """Leave out the words that many objects hold, except the ALWAYS heaviest ones, and all behind the TERMS_MAX first;
    return the number of those that are left."""
    cdef uint64_t common = max(<uint64_t> COMMON_FEW, objects // COMMON_PART)
    cdef Py_ssize_t number, kept = 0
    for number in range(count):
        if number < ALWAYS or (<TermInfo?> rows[found[number].place])._word.df <= common:
            found[kept] = found[number]
            kept += 1
            if kept == TERMS:
                break
    return kept


cdef tuple planned(lexicon, Weighed *found, Py_ssize_t count, list words, list rows, matching):
    """Return the plan of the words that were chosen, and the rows of all of its words."""
    cdef dict others = {} if matching is None else families(lexicon, found, count, words, matching), kept = {}
    cdef list names = [], infos = [], clauses
    cdef bytearray counts = bytearray()
    cdef Py_ssize_t number
    cdef Clause clause
    cdef Plan plan
    for number in range(count):
        if found[number].tf:  # else it counts as a form of another one
            if number in others:
                kept[len(names)] = others[number]
            names.append(words[found[number].place])
            infos.append(rows[found[number].place])
            counts.append(min(found[number].tf, <uint32_t> COUNT_MAX))
    clauses = clauses_of(
        Terms(names, bytes(counts), bytes(len(names))), infos, lexicon.objects, 0, 0, kept if kept else None
    )
    order(clauses)
    plan = Plan(
        clauses, lexicon.average_length, min(exponent_max, strength / len(clauses)), full_first=False,
        left_out=NOTHING_LEFT_OUT, enough=None,
    )
    rows = []
    for clause in clauses:
        rows.append(infos[clause.term])
        if clause.term in kept:
            rows += [row for _, row in kept[clause.term]]
    return plan, rows


cdef dict families(lexicon, Weighed *found, Py_ssize_t count, list words, matching):
    """Return number of a word -> the other words of its family that objects hold, each with its row, for the first
    words. A form that is among the words counts as the heavier one: its frequency becomes 0, and that of the other one
    grows by it."""
    cdef dict forms = {}, places = {}
    cdef list asked = [], rows, held
    cdef Py_ssize_t number, at = 0
    cdef object other
    cdef tuple family
    cdef TermInfo row
    for number in range(min(count, <Py_ssize_t> FAMILIES)):
        if not properties_at(found[number].word, found[number].size, 0) & UNSPACED:
            family = lexicon.family(words[found[number].place], matching).words
            if family:
                forms[number] = family
                asked += family
    if not asked:
        return forms
    rows = lexicon.rows(asked)
    for number in range(count):
        places[words[found[number].place]] = number
    for number in list(forms):
        family, held = forms[number], []
        for word in family:
            row = rows[at]
            at += 1
            if row is None or not row._word.df:
                continue
            held.append((word, row))
            other = places.get(word)
            if other is not None and found[number].tf and <Py_ssize_t> other > number:
                found[number].tf += found[<Py_ssize_t> other].tf
                found[<Py_ssize_t> other].tf = 0
        if held:
            forms[number] = held
        else:
            del forms[number]
    return forms


cdef int order(list clauses) except -1:
    """Put the clauses in order, the heaviest first, and let only the first ones bring objects."""
    cdef Py_ssize_t number, at
    cdef Clause clause
    for number in range(1, len(clauses)):
        clause, at = clauses[number], number
        while at and (<Clause> clauses[at - 1]).weight < clause.weight:
            clauses[at] = clauses[at - 1]
            at -= 1
        clauses[at] = clause
    for number in range(BRINGING, len(clauses)):
        (<Clause> clauses[number]).role = R_ADDS
    return 0


cdef int by_frequency(const void *left, const void *right) noexcept nogil:
    cdef const Weighed *one = <const Weighed *> left
    cdef const Weighed *other = <const Weighed *> right
    if one.tf != other.tf:
        return -1 if one.tf > other.tf else 1
    return by_term(left, right)


cdef int by_term(const void *left, const void *right) noexcept nogil:
    return -1 if (<const Weighed *> left).term_id < (<const Weighed *> right).term_id else 1


cdef int by_weight(const void *left, const void *right) noexcept nogil:
    cdef const Weighed *one = <const Weighed *> left
    cdef const Weighed *other = <const Weighed *> right
    if one.weight != other.weight:
        return -1 if one.weight > other.weight else 1
    return compare_bytes(one.word, one.size, other.word, other.size)
