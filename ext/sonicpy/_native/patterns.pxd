"""Finds patterns in a text, such as mail addresses and numbers, before words are cut.

`next_match` goes through a text once. A long run of characters without a match is read once for each pattern, not once
for each character, because a Scan keeps the runs around the present place.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memcmp, memset

from sonicpy._native.characters cimport (
    BYTE_KINDS, DIGIT, IN_PATTERN, NO_ASCII, SPACE, UNSPACED, WORD, is_ascii_blank, is_ascii_letter, properties,
    properties_at,
)
from sonicpy._native.utf8 cimport decode

cdef enum:
    MARK_MAX = 2  # up to this byte, words hold the marks of aliases, of the names of texts, and of joints

cdef enum Pattern:
    NO_PATTERN
    MAIL
    USERNAME
    URL
    IPV4
    PHONE
    DOMAIN
    IDENTIFIER

cdef struct Run:
    Py_ssize_t end  # the run covers every start before this offset
    Py_ssize_t last_start  # starts up to here match
    Py_ssize_t match_end

cdef struct Match:
    Pattern kind
    Py_ssize_t begin
    Py_ssize_t end
    Py_ssize_t core_end  # without the character that an IPv4 address of Sonic takes too much

cdef struct Scan:
    bint at_borders  # matches begin and end at word borders
    bint spaced  # letters of scripts without blanks belong to no match
    bint newer  # a phone number ends before an address
    Py_ssize_t at  # the next match begins here or later
    Py_ssize_t checked  # up to here a byte was found without which no pattern matches
    Run mail
    Run username
    Run url
    Run domain
    Run identifier


cdef inline void begin_scan(Scan *scan, bint at_borders, bint spaced, bint newer) noexcept nogil:
    memset(scan, 0, sizeof(Scan))
    scan.at_borders = at_borders
    scan.spaced = spaced
    scan.newer = newer


cdef inline bint next_match(const uint8_t *text, Py_ssize_t size, Scan *scan, Match *match) noexcept nogil:
    """Write the next match of any pattern; return False if there is none up to the end of the text."""
    cdef Py_ssize_t at = scan.at
    cdef int width
    while at < size:
        if at >= scan.checked:
            at = next_candidate(text, size, at, &scan.checked)
            if at == size:
                break
        match.kind = match_at(text, size, at, scan, &match.end, &match.core_end)
        if match.kind != NO_PATTERN:
            match.begin = at
            scan.at = match.end
            return True
        decode(text, at, &width)
        at += width
    return False


cdef inline Py_ssize_t next_candidate(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, Py_ssize_t *checked
) noexcept nogil:
    """Return the beginning of the next run without ASCII blanks that may hold a match, and its end in `checked`."""
    cdef Py_ssize_t begin = find_sign_of_pattern(text, size, at), end = begin
    if begin == size:
        return size
    while begin > at and not is_ascii_blank(text[begin - 1]):
        begin -= 1
    while end < size and not is_ascii_blank(text[end]):
        end += 1
    checked[0] = end
    return begin


cdef inline Pattern match_at(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, Scan *scan, Py_ssize_t *end, Py_ssize_t *core_end
) noexcept nogil:
    """Return the first pattern that matches at `at`, or NO_PATTERN; set `end` and `core_end` as in Match."""
    cdef uint16_t found = properties_at(text, size, at)
    if not (is_word(found, scan.spaced) or text[at] in b"@+.-:"):
        return NO_PATTERN
    if at >= scan.mail.end:
        find_mail(text, size, at, scan.spaced, &scan.mail)
    if at <= scan.mail.last_start:
        end[0] = core_end[0] = scan.mail.match_end
        return MAIL
    if text[at] == c'@':
        if at >= scan.username.end:
            find_username(text, size, at, scan.spaced, &scan.username)
        if at <= scan.username.last_start:
            end[0] = core_end[0] = scan.username.match_end
            return USERNAME
    if at >= scan.url.end:
        find_url(text, size, at, scan.spaced, &scan.url)
    if at <= scan.url.last_start:
        end[0] = core_end[0] = scan.url.match_end
        return URL
    if found & DIGIT or text[at] == c'+':
        end[0] = match_ipv4(text, size, at, scan.at_borders, scan.spaced, core_end)
        if end[0] >= 0:
            return IPV4
        end[0] = core_end[0] = match_phone(text, size, at, scan.at_borders, scan.spaced, scan.newer)
        if end[0] >= 0:
            return PHONE
    if at >= scan.domain.end:
        find_domain(text, size, at, &scan.domain)
        if (
            scan.at_borders and at <= scan.domain.last_start
            and not is_clean_domain(text, size, at, scan.domain.match_end, scan.spaced)
        ):
            scan.domain.last_start = -1
    if at <= scan.domain.last_start:
        end[0] = core_end[0] = scan.domain.match_end
        return DOMAIN
    if at >= scan.identifier.end:
        find_identifier(text, size, at, scan.spaced, &scan.identifier)
    if at <= scan.identifier.last_start:
        end[0] = core_end[0] = scan.identifier.match_end
        return IDENTIFIER
    return NO_PATTERN


cdef inline bint is_host_byte(uint8_t byte) noexcept nogil:
    return is_ascii_letter(byte) or c'0' <= byte <= c'9' or byte == c'.' or byte == c'-'


cdef inline bint is_word(uint16_t found, bint spaced) noexcept nogil:
    """Return whether a character belongs to words; with `spaced`, only of scripts that separate words by blanks.

    Without `spaced`, a digit in a sentence without blanks would make the whole sentence an identifier.
    """
    return found & WORD and not (spaced and found & UNSPACED)


cdef inline Py_ssize_t skip_word(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, uint8_t extra, uint8_t other, uint8_t third, bint spaced
) noexcept nogil:
    """Return the end of the run of word characters and of up to three extra bytes; 0 means no extra byte."""
    cdef int width
    cdef uint32_t point
    while at < size:
        point = decode(text, at, &width)
        if not (
            is_word(properties(point), spaced) or (point and (point == extra or point == other or point == third))
        ):
            break
        at += width
    return at


cdef inline Py_ssize_t skip_solid(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint spaced, Py_ssize_t *after_word, Py_ssize_t *after_solid
) noexcept nogil:
    """Return the start of white space, or if `spaced` of a mark that no word has; set `after_word` to the end of the
    last word character before it, and `after_solid` to that of the last character other than a dot; -1: there is no
    such character."""
    cdef int width
    cdef uint32_t point
    cdef uint16_t found
    after_word[0] = after_solid[0] = -1
    while at < size:
        point = decode(text, at, &width)
        found = properties(point)
        if found & SPACE or spaced and point <= MARK_MAX:
            break
        at += width
        if found & WORD:
            after_word[0] = at
        if point != c'.':
            after_solid[0] = at
    return at


cdef inline void find_mail(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint spaced, Run *run
) noexcept nogil:
    """Find one or more of: word . + -; then @; one or more of: word -; then a dot; one or more of: word . -"""
    cdef Py_ssize_t local = skip_word(text, size, at, c'.', c'+', c'-', spaced), host, tail
    run.end = local if local > at else at + 1
    run.last_start = -1
    if local > at and local < size and text[local] == c'@':
        host = skip_word(text, size, local + 1, c'-', 0, 0, spaced)
        if host > local + 1 and host < size and text[host] == c'.':
            tail = skip_word(text, size, host + 1, c'.', c'-', 0, spaced)
            if tail > host + 1:
                run.last_start = local - 1
                run.match_end = tail


cdef inline void find_username(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint spaced, Run *run
) noexcept nogil:
    """Find @, then characters other than white space up to the last word character among them."""
    cdef Py_ssize_t after_word, after_solid
    run.end = skip_solid(text, size, at, spaced, &after_word, &after_solid)
    if run.end <= at:
        run.end = at + 1
    run.last_start = after_word - 2 if after_word > 0 else -1
    run.match_end = after_word


cdef inline void find_url(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint spaced, Run *run
) noexcept nogil:
    """Find two or more word characters, ://, then characters other than white space, the last one not a dot."""
    cdef Py_ssize_t scheme = skip_word(text, size, at, 0, 0, 0, spaced), after_word, after_solid
    cdef Py_ssize_t last = scheme
    run.end = scheme if scheme > at else at + 1
    run.last_start = -1
    if scheme + 3 < size and memcmp(text + scheme, b"://", 3) == 0 and scheme > at:
        last -= 1
        while text[last] & 0xC0 == 0x80:
            last -= 1
        if last == at:  # a scheme of one letter, which a text may have very often: the rest is not read for each
            return
        skip_solid(text, size, scheme + 3, spaced, &after_word, &after_solid)
        if after_solid > 0:
            run.last_start = last - 1  # at least one more character comes before the last one
            run.match_end = after_solid


cdef inline void find_domain(const uint8_t *text, Py_ssize_t size, Py_ssize_t at, Run *run) noexcept nogil:
    """Find ASCII letters, digits, dots and hyphens, then a dot and at least two ASCII letters."""
    cdef Py_ssize_t end = at, dot, tail
    while end < size and is_host_byte(text[end]):
        end += 1
    run.end = end if end > at else at + 1
    run.last_start = -1
    dot = end - 3
    while dot > at:
        if text[dot] == c'.' and is_ascii_letter(text[dot + 1]) and is_ascii_letter(text[dot + 2]):
            tail = dot + 3
            while tail < end and is_ascii_letter(text[tail]):
                tail += 1
            run.last_start = dot - 1
            run.match_end = tail
            return
        dot -= 1


cdef inline void find_identifier(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint spaced, Run *run
) noexcept nogil:
    """Find word characters, colons and hyphens with at least one digit or underscore among them."""
    cdef Py_ssize_t from_here = at
    cdef int width
    cdef uint32_t point
    run.last_start = -1
    while at < size:
        point = decode(text, at, &width)
        if not (is_word(properties(point), spaced) or point == c':' or point == c'-'):
            break
        if point == c'_' or properties(point) & DIGIT:
            run.last_start = at
        at += width
    run.match_end = at
    run.end = at if at > from_here else from_here + 1


cdef inline Py_ssize_t match_ipv4(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint at_borders, bint spaced, Py_ssize_t *address_end
) noexcept nogil:
    """Return the end of an IPv4 address, or -1: four groups of one to three digits with dots between them.

    Neither a dot nor a digit may follow. Without `at_borders` the character that follows belongs to the match, as in
    Sonic; `address_end` leaves it out.
    """
    cdef int group, digits, width
    cdef uint16_t found
    for group in range(4):
        digits = 0
        while digits < 4 and at < size and properties_at(text, size, at) & DIGIT:
            decode(text, at, &width)
            at += width
            digits += 1
        if digits == 0 or digits == 4:
            return -1
        if group < 3:
            if at >= size or text[at] != c'.':
                return -1
            at += 1
    address_end[0] = at
    if at >= size:
        return at
    found = properties(decode(text, at, &width))
    if at_borders:
        if is_word(found, spaced) or (text[at] == c'.' and properties_at(text, size, at + 1) & DIGIT):
            return -1
        return at
    return -1 if text[at] == c'.' or found & DIGIT else at + width


cdef inline bint is_phone_separator(uint8_t byte, bint at_borders) noexcept nogil:
    return byte in b" .-" or (not at_borders and is_ascii_blank(byte))


cdef inline Py_ssize_t match_phone(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, bint at_borders, bint spaced, bint newer
) noexcept nogil:
    """Return the end of a phone number, or -1: perhaps a plus, then at least five digits.

    Between two digits there may be one blank, dot or hyphen; without `at_borders`, as in Sonic, any ASCII white space
    counts as a blank. With `newer`, a number without a plus ends before a blank and an IPv4 address (port 443
    10.0.0.17).
    """
    cdef int digits = 0, width
    cdef Py_ssize_t end = -1, separated, address_end
    cdef bint has_plus = text[at] == c'+'
    if has_plus:
        at += 1
    while at < size:
        separated = at + 1 if digits and is_phone_separator(text[at], at_borders) else at
        if not properties_at(text, size, separated) & DIGIT:
            break
        if (
            newer and separated > at and text[at] == c' ' and not has_plus
            and match_ipv4(text, size, separated, at_borders, spaced, &address_end) >= 0
        ):
            break
        decode(text, separated, &width)
        at = separated + width
        digits += 1
        if digits >= 5 and not (at_borders and is_word(properties_at(text, size, at), spaced)):
            end = at
    return end


cdef inline bint is_clean_domain(
    const uint8_t *text, Py_ssize_t size, Py_ssize_t at, Py_ssize_t end, bint spaced
) noexcept nogil:
    """Return whether a domain has no empty label, lies between word borders and is not of the form `end.Next`.

    In `end.Next` only the blank after a full stop is missing.
    """
    cdef Py_ssize_t step = at - 1, dot = at
    if text[at] == c'.' or text[at] == c'-' or is_word(properties_at(text, size, end), spaced):
        return False
    while step > 0 and text[step] & 0xC0 == 0x80:
        step -= 1
    if at > 0 and is_word(properties_at(text, size, step), spaced):
        return False
    for step in range(at, end):
        if text[step] == c'.':
            if step == dot + 1 and step > at + 1:
                return False
            dot = step
    return not (
        c'a' <= text[dot - 1] <= c'z' and c'A' <= text[dot + 1] <= c'Z' and c'a' <= text[dot + 2] <= c'z'
    )


cdef inline Py_ssize_t find_sign_of_pattern(const uint8_t *text, Py_ssize_t size, Py_ssize_t at) noexcept nogil:
    """Return the place of the next byte that may belong to a pattern: every match contains such a byte (a sign, a digit
    or an underscore). Without one, return the end of the text.

    A match begins in the same run without ASCII blanks as the first such byte in it.
    """
    cdef uint8_t byte, kind
    cdef int width
    while at < size:
        byte = text[at]
        kind = BYTE_KINDS[byte]
        while not kind & (IN_PATTERN | NO_ASCII):
            at += 1
            if at == size:
                return size
            byte = text[at]
            kind = BYTE_KINDS[byte]
        if kind & NO_ASCII:
            if properties(decode(text, at, &width)) & DIGIT:
                return at
            at += width
        elif byte == c'.':
            if (
                0 < at < size - 2 and is_ascii_letter(text[at + 1]) and is_ascii_letter(text[at + 2])
                and is_host_byte(text[at - 1])
            ):
                return at
            at += 1
        elif byte == c':':
            if at + 2 < size and text[at + 1] == c'/' and text[at + 2] == c'/':
                return at
            at += 1
        else:
            return at
    return size
