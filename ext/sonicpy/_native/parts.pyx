"""The parts of a joined word: `os.path.join` has `os`, `path`, `join` and `path.join`.

    token   letters, or digits, with their marks. A number is one token with the signs between its digits (1,000, 14.2.1).
    joint   the place where two tokens meet: a sign is between them, letters change to digits or back, Latin letters to
            those of another script or back, or a small letter meets a capital one. Folding loses the last kind, so a
            hidden term has it: the byte JOINT. In Arabic script the non-joiner is a sign.
    piece   the tokens between two signs. A piece with more than CHANGES_MAX changes of ASCII letters and digits is a code,
            and whole, unless these are at most CHANGES_OF_NAMES_MAX, and one of the tokens at most has a single character
            (wh1000xm4). A piece with a single digit between ASCII letters is whole, too, if the digit is 0, which there
            replaces a letter (ubunt0user), or if fewer than three letters follow it (b2b; but mp3player)
    run     the tokens from a joint to the end of the word; from a change of ASCII letters to digits or back only inside the
            last piece
    tail    the syllables of a token of Hangul behind two others or more: nouns are often written together there

Tokens, pieces, runs and tails are parts of the word, if they have two letters, three digits, or both a letter and a
digit, and are not the word itself. An apostrophe before the last one or two letters of a word is no joint (don't,
you're), unless they are in another script (iPhone'а). An Arabic article before a noun is a token. Words without
letters, unless a low line begins or ends them (_2024), and addresses of devices have no parts.

    alias   the part, a byte 0, and the word's bytes before it; then a byte 1 and the bytes behind it, if there are any.
            So a walk that looks for words finds the word by its part
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memchr, memcmp, memcpy

from sonicpy._native.characters cimport (
    ALPHABETIC, ALPHANUMERIC, BYTE_KINDS, CLASS_MASK, DIGIT, DOUBLE_QUOTE, EXTEND, FORMAT, IN_DIGITS, IN_LETTERS, MARK,
    NUMERIC, ZWJ, properties,
)
from sonicpy._native.joints cimport JOINT
from sonicpy._native.keys cimport is_shortened_term
from sonicpy._native.utf8 cimport decode, is_utf8

JOINT_MARK = bytes([JOINT])

cdef enum:
    TOKENS_MAX = 64  # of a word; the rest of the word is one more
    CHANGES_MAX = 2
    CHANGES_OF_NAMES_MAX = 4
    LETTERS_MIN = 2
    DIGITS_MIN = 3
    BEHIND_MIN = 3  # letters behind an article, an apostrophe, or a single digit
    ADDRESS_PIECES_MIN = 4
    ADDRESS_DIGITS_MAX = 4
    ARTICLES = 6
    NON_JOINER = 0x200C
    HANGUL_FIRST = 0xAC00
    HANGUL_LAST = 0xD7A3
    HANGUL_BYTES = 3  # of a syllable

cdef enum Kind:  # of a character
    SIGN
    LETTER
    FIGURE
    ATTACHED  # it belongs to the character before it

cdef enum Joint:  # the joint before a token
    AFTER_SIGN  # or nothing
    CHANGE
    HUMP

cdef struct Token:
    Py_ssize_t begin, end
    int letters, digits
    Joint joint

cdef const char *ARTICLE[ARTICLES]  # the longest first
ARTICLE[:] = [
    b"\xd8\xa8\xd8\xa7\xd9\x84", b"\xd9\x81\xd8\xa7\xd9\x84", b"\xd9\x83\xd8\xa7\xd9\x84", b"\xd9\x88\xd8\xa7\xd9\x84",
    b"\xd8\xa7\xd9\x84", b"\xd9\x84\xd9\x84",
]  # bal, fal, kal, wal, al, ll
cdef int[6] ARTICLE_BYTES = [6, 6, 6, 6, 4, 4]


# -- characters ---------------------------------------------------------------------------------------------------

cdef inline Kind kind_at(const uint8_t *word, Py_ssize_t at, int *width) noexcept nogil:
    cdef uint32_t point = decode(word, at, width)
    cdef uint16_t found
    cdef int kind
    if point == JOINT:
        return SIGN
    found = properties(point)
    kind = found & CLASS_MASK
    if kind == NUMERIC or found & DIGIT:
        return FIGURE
    if found & ALPHANUMERIC:
        return LETTER
    if kind == EXTEND or kind == FORMAT or kind == ZWJ or found & (MARK | ALPHABETIC) or kind == DOUBLE_QUOTE:
        return ATTACHED
    return ATTACHED if point == 0x5F3 or point == 0x5F4 else SIGN  # marks of Hebrew abbreviations


cdef inline bint is_apostrophe(uint32_t point) noexcept nogil:
    return point == c"'" or point == 0x2019 or point == 0x2018 or point == 0x2BC or point == 0x2BB or point == 0xFF07


cdef inline bint is_between_digits(uint32_t point) noexcept nogil:
    """Return whether a sign between two digits belongs to the number."""
    return point == c"." or point == c"," or point == c":" or is_apostrophe(point) or point == 0x66B or point == 0x66C


cdef inline bint is_latin(uint32_t point) noexcept nogil:
    """Return whether a letter is Latin, or a Greek one, which units mix with Latin ones."""
    return point < 0x400 or 0x1E00 <= point < 0x2000


cdef inline bint is_arabic(uint32_t point) noexcept nogil:
    return 0x600 <= point < 0x780


cdef bint ends_in_clitic(const uint8_t *word, Py_ssize_t size, Py_ssize_t at, uint32_t before) noexcept nogil:
    """Return whether no more than one or two letters are left from `at` on, in the script of the letter `before`."""
    cdef int letters = 0, width
    cdef Kind kind
    while at < size:
        kind = kind_at(word, at, &width)
        if kind == SIGN or kind == FIGURE or kind == LETTER and is_latin(decode(word, at, &width)) != is_latin(before):
            return False
        letters += kind == LETTER
        at += width
    return 0 < letters < BEHIND_MIN


# -- tokens -------------------------------------------------------------------------------------------------------

cdef int read_tokens(const uint8_t *word, Py_ssize_t size, Token *tokens) noexcept nogil:
    """Write the tokens of a word, at most TOKENS_MAX, and return their number."""
    cdef Py_ssize_t at = article_size(word, size)
    cdef int count = 0, width
    cdef uint32_t point, letter = 0  # the last one
    cdef Kind kind, last = LETTER if at else SIGN  # of the character before, marks passed over
    cdef Joint joint = AFTER_SIGN
    if at:
        tokens[0] = Token(0, at, 0, 0, AFTER_SIGN)
        count = 1
        joint = HUMP
        last = SIGN
    while at < size:
        kind = kind_at(word, at, &width)
        point = decode(word, at, &width)
        if point == NON_JOINER and last == LETTER and is_arabic(letter):
            last, joint = SIGN, AFTER_SIGN
        elif kind == ATTACHED:
            if last != SIGN:
                tokens[count - 1].end = at + width
        elif kind == SIGN:
            if last == FIGURE and is_between_digits(point) and is_digit(word, size, at + width):
                pass  # the number goes on
            elif last == LETTER and is_apostrophe(point) and ends_in_clitic(word, size, at + width, letter):
                tokens[count - 1].end = size
                tokens[count - 1].letters += 1  # at least
                return count
            else:
                joint = HUMP if point == JOINT and last != SIGN else AFTER_SIGN if point != JOINT else joint
                last = SIGN
        else:
            if last == kind == LETTER and is_latin(letter) != is_latin(point):
                last, joint = SIGN, HUMP
            if last != kind and count < TOKENS_MAX:
                tokens[count] = Token(at, at, 0, 0, CHANGE if last != SIGN else joint)
                count += 1
            if kind == LETTER:
                letter = point
            tokens[count - 1].end = at + width
            tokens[count - 1].letters += kind == LETTER
            tokens[count - 1].digits += kind == FIGURE
            last = kind
            joint = AFTER_SIGN
        at += width
    return count


cdef inline bint is_digit(const uint8_t *word, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    cdef int width
    return at < size and kind_at(word, at, &width) == FIGURE


cdef Py_ssize_t article_size(const uint8_t *word, Py_ssize_t size) noexcept nogil:
    """Return the number of bytes of the Arabic article with which a word begins, if enough letters follow it; else
    0."""
    cdef int number, letters = 0, width
    cdef Py_ssize_t at
    if size < 4 + 2 * BEHIND_MIN or not 0xD8 <= word[0] <= 0xD9:
        return 0
    for number in range(ARTICLES):
        at = ARTICLE_BYTES[number]
        if memcmp(word, ARTICLE[number], at) == 0:
            while at < size and letters < BEHIND_MIN:
                if kind_at(word, at, &width) != LETTER and kind_at(word, at, &width) != ATTACHED:
                    return 0
                letters += kind_at(word, at, &width) == LETTER
                at += width
            return ARTICLE_BYTES[number] if letters == BEHIND_MIN else 0
    return 0


# -- parts --------------------------------------------------------------------------------------------------------

cdef void find_parts(const uint8_t *word, Py_ssize_t size, Parts *parts) noexcept nogil:
    """Find the parts of a word, as places in it. Parts of a hidden term may contain JOINT."""
    cdef Token tokens[TOKENS_MAX]
    cdef bint is_code[TOKENS_MAX]
    cdef int count, first, end, number, letters
    parts.count = 0
    if is_plain(word, size):
        return
    count = read_tokens(word, size, tokens)
    letters = word[0] == c"_" or word[size - 1] == c"_"  # it counts as a letter (_2024)
    for number in range(count):
        letters += tokens[number].letters
    if count == 0 or letters == 0 or is_address(word, size, tokens, count):
        return
    first = tokens[0].begin == 0 and tokens[0].letters + tokens[0].digits == 0  # 1: behind the article
    is_code[0] = first  # so the article is no part
    while first < count:
        end = end_of_piece(tokens, count, first)
        is_code[first] = is_a_code(word, tokens, first, end)
        for number in range(first, end):
            is_code[number] = is_code[first]
            if not is_code[first]:
                add_part(word, size, tokens, number, number + 1, parts)
        first = end
    first = 0
    while first < count:
        end = end_of_piece(tokens, count, first)
        if end > first + 1 or is_code[first]:
            add_part(word, size, tokens, first, end, parts)
        first = end
    for first in range(count - 1, -1, -1):
        if begins_run(word, tokens, count, first) and (tokens[first].joint == AFTER_SIGN or not is_code[first]):
            add_part(word, size, tokens, first, count, parts)
    for first in range(count):
        add_tails(word, size, &tokens[first], parts)


cdef void add_tails(const uint8_t *word, Py_ssize_t size, const Token *token, Parts *parts) noexcept nogil:
    """Add the tails of a token of Hangul: two or more syllables behind two or more others."""
    cdef Py_ssize_t at, least = HANGUL_BYTES * LETTERS_MIN
    cdef int width
    if token.end - token.begin < 2 * least or not 0xEA <= word[token.begin] <= 0xED:
        return
    at = token.begin
    while at < token.end:
        if not HANGUL_FIRST <= decode(word, at, &width) <= HANGUL_LAST:
            return
        at += width
    at = token.begin + least
    while at <= token.end - least:
        add_span(word, size, at, token.end, parts)
        at += HANGUL_BYTES


cdef inline bint begins_run(const uint8_t *word, const Token *tokens, int count, int number) noexcept nogil:
    return (
        tokens[number].joint != CHANGE
        or word[tokens[number - 1].begin] >= 0x80
        or end_of_piece(tokens, count, number) == count
    )


cdef inline bint is_plain(const uint8_t *word, Py_ssize_t size) noexcept nogil:
    """Return whether a word consists of ASCII letters or of ASCII digits, as most words do."""
    cdef Py_ssize_t at
    cdef uint8_t all_kinds = 0, kind
    for at in range(size):
        kind = BYTE_KINDS[word[at]] & (IN_LETTERS | IN_DIGITS)
        if kind == 0:
            return False
        all_kinds |= kind
    return all_kinds != IN_LETTERS | IN_DIGITS


cdef int end_of_piece(const Token *tokens, int count, int first) noexcept nogil:
    first += 1
    while first < count and tokens[first].joint != AFTER_SIGN:
        first += 1
    return first


cdef bint is_a_code(const uint8_t *word, const Token *tokens, int first, int end) noexcept nogil:
    cdef int number, changes = 0, singles = 0
    for number in range(first, end):
        singles += tokens[number].letters + tokens[number].digits == 1
    for number in range(first + 1, end):
        changes += (
            tokens[number].joint == CHANGE and word[tokens[number - 1].begin] < 0x80 and word[tokens[number].begin] < 0x80
        )
        if (
            tokens[number].digits == 1 and tokens[number].joint == CHANGE and word[tokens[number - 1].begin] < 0x80
            and number + 1 < end and tokens[number + 1].joint == CHANGE and word[tokens[number + 1].begin] < 0x80
            and (word[tokens[number].begin] == c"0" or tokens[number + 1].letters < BEHIND_MIN)
        ):
            return True
    return changes > (CHANGES_OF_NAMES_MAX if singles <= 1 else CHANGES_MAX)


cdef void add_part(
    const uint8_t *word, Py_ssize_t size, const Token *tokens, int first, int end, Parts *parts
) noexcept nogil:
    """Add the tokens from `first` to `end` - 1 as a part, if they are a part and have not been added yet."""
    cdef int letters = 0, digits = 0, number
    cdef Py_ssize_t begin = tokens[first].begin, length = tokens[end - 1].end - begin
    for number in range(first, end):
        letters += tokens[number].letters
        digits += tokens[number].digits
    if letters >= LETTERS_MIN or digits >= DIGITS_MIN or (letters and digits):
        add_span(word, size, begin, begin + length, parts)


cdef void add_span(
    const uint8_t *word, Py_ssize_t size, Py_ssize_t begin, Py_ssize_t end, Parts *parts
) noexcept nogil:
    cdef Py_ssize_t length = end - begin
    cdef int number
    if parts.count == PARTS_MAX or is_all(word, size, begin, end):
        return
    for number in range(parts.count):
        if (
            parts.spans[number].end - parts.spans[number].begin == length
            and memcmp(word + parts.spans[number].begin, word + begin, length) == 0
        ):
            return
    parts.spans[parts.count] = Span(begin, begin + length)
    parts.count += 1


cdef inline bint is_all(const uint8_t *word, Py_ssize_t size, Py_ssize_t begin, Py_ssize_t end) noexcept nogil:
    """Return whether a part covers the whole word, except for bytes JOINT."""
    while begin and word[begin - 1] == JOINT:
        begin -= 1
    while end < size and word[end] == JOINT:
        end += 1
    return begin == 0 and end == size


cdef bint is_address(const uint8_t *word, Py_ssize_t size, const Token *tokens, int count) noexcept nogil:
    """Return whether a word is the address of a device: groups of one to four hexadecimal digits behind colons."""
    cdef Py_ssize_t at, begin = 0
    cdef int pieces = 1
    for at in range(size):
        if word[at] == c":":
            pieces += 1
            begin = at + 1
        elif not (c"0" <= word[at] <= c"9" or c"a" <= word[at] <= c"f") or at - begin >= ADDRESS_DIGITS_MAX:
            return False
    return pieces >= ADDRESS_PIECES_MIN


cdef Py_ssize_t without_camels(const uint8_t *word, Py_ssize_t size, uint8_t *out) noexcept nogil:
    """Write a word without the bytes JOINT; return its number of bytes."""
    cdef Py_ssize_t at, written = 0
    for at in range(size):
        if word[at] != JOINT:
            out[written] = word[at]
            written += 1
    return written


cdef bint begins_plainly(const uint8_t *word, const Parts *parts, int number) noexcept nogil:
    """Return whether a word begins with a part and the joint behind it is visible, so that the word is found by its
    beginning."""
    return parts.spans[number].begin == 0 and word[parts.spans[number].end] != JOINT


cdef Py_ssize_t write_alias(const uint8_t *word, Py_ssize_t size, const Span *part, uint8_t *out) noexcept nogil:
    """Write an alias without the bytes JOINT, and return its size, which is at most twice that of the word, plus
    two."""
    cdef Py_ssize_t written = without_camels(word + part.begin, part.end - part.begin, out)
    out[written] = 0
    written += 1
    written += without_camels(word, part.begin, out + written)
    if part.end < size:
        out[written] = 1
        written += 1
        written += without_camels(word + part.end, size - part.end, out + written)
    return written


def word_of(bytes alias not None) -> bytes:
    """Return the word of an alias; other bytes are a word, which is returned."""
    cdef const char *start = <const char *> alias
    cdef Py_ssize_t size = len(alias), part, before
    cdef const char *found = <const char *> memchr(start, 0, size)
    cdef bytes word
    cdef char *out
    if found == NULL:
        return alias
    part = found - start
    size -= part + 1
    found = <const char *> memchr(start + part + 1, 1, size)
    before = size if found == NULL else found - (start + part + 1)
    if found != NULL:
        size -= 1
    word = PyBytes_FromStringAndSize(NULL, part + size)
    out = <char *> word
    memcpy(out, start + part + 1, before)
    memcpy(out + before, start, part)
    if found != NULL:
        memcpy(out + before + part, found + 1, size - before)
    return word


def nearest_parts(dict found not None) -> dict:
    """Return the words that a walk found, each with its smallest distance, which may be that of one of its parts.

    Args:
        found: words and aliases with their distances; without aliases, `found` itself is returned.
    """
    cdef dict words
    cdef bytes each
    if not has_alias(found):
        return found
    words = {}
    for each, its in found.items():
        if memchr(<const char *> each, 0, len(each)) != NULL:
            each = word_of(each)
        known = words.get(each)
        if known is None or its < known:
            words[each] = its
    return words


cdef bint has_alias(dict found) except -1:
    cdef bytes each
    for each in found:
        if memchr(<const char *> each, 0, len(each)) != NULL:
            return True
    return False


cdef int check_utf8(bytes word) except -1:
    """Raise UnicodeDecodeError if a word, perhaps of a damaged row, is not UTF-8."""
    if not is_utf8(<const uint8_t *> word, len(word)):
        word.decode()
    return 0


def aliases_of(bytes word not None) -> list:
    """Return the aliases of the parts of a word, or of a hidden term, at most 16. Raises UnicodeDecodeError."""
    cdef Parts parts
    cdef bytes room
    cdef int number
    cdef list found = []
    check_utf8(word)
    find_parts(<const uint8_t *> word, len(word), &parts)
    for number in range(parts.count):
        room = PyBytes_FromStringAndSize(NULL, 2 * len(word) + 2)
        size = write_alias(<const uint8_t *> word, len(word), &parts.spans[number], <uint8_t *> <char *> room)
        found.append(room[:size])
    return found


def aliases_from(list words not None, Py_ssize_t first) -> list:
    """Return (place, aliases) of the words that have aliases, with places counted from `first`; a term that is too long
    for its key has none. Raises like `aliases_of`."""
    cdef bytes word
    cdef list found = [], aliases
    cdef const uint8_t *text
    for word in words:
        text = word
        aliases = [] if is_plain(text, len(word)) or is_shortened_term(text, len(word)) else aliases_of(word)
        if aliases:
            found.append((first, aliases))
        first += 1
    return found


def parts_of(bytes word not None) -> list:
    """Return the parts of a word, at most 16: its tokens, then pieces of several tokens, then runs, the shortest first.

    Args:
        word: a folded word in UTF-8, or a hidden term whose bytes JOINT (2) mark joints.

    Raises:
        UnicodeDecodeError: the word is not UTF-8.
    """
    cdef Parts parts
    cdef int number
    cdef list found = []
    check_utf8(word)
    find_parts(<const uint8_t *> word, len(word), &parts)
    for number in range(parts.count):
        part = word[parts.spans[number].begin : parts.spans[number].end].replace(JOINT_MARK, b"")
        if part not in found:
            found.append(part)
    return found


def tokens_of(bytes word not None) -> list:
    """Return the tokens of a folded word in UTF-8, its runs of letters and its numbers, in their order."""
    cdef Token tokens[TOKENS_MAX]
    cdef int number
    return [
        word[tokens[number].begin : tokens[number].end]
        for number in range(read_tokens(<const uint8_t *> word, len(word), tokens))
        if tokens[number].letters or tokens[number].digits
    ]
