"""The terms of a query that SYNTAX(web), MATCH or FUZZY put demands on."""

from collections.abc import Iterable, Iterator

from sonicpy._native.terms import PART, SPECIAL, STOP, Terms
from sonicpy._native.word_break import is_unspaced_letter
from sonicpy.index.search.deciding_terms import deciding
from sonicpy.index.search.demands import NONE, AskedTerms, Demands, Either, RefusedWord, demands_of_options, within
from sonicpy.index.search.web_syntax import BEGUN, MANY, PHRASE, REFUSED, REQUIRED, WORDS, WebItem, WebQuery
from sonicpy.index.search.web_syntax import PART as INNER
from sonicpy.lexer.lexer import Lexer
from sonicpy.search import Search
from sonicpy.text_names import weights_of


def asked_terms(terms: Terms, web: WebQuery | None, code: str | None, lexer: Lexer, search: Search) -> Terms:
    """Return the terms of a search with its demands; the terms themselves if there are none.

    Args:
        terms: the terms of the text; of `web.wanted()`, if the text has signs.
        web: the text with its signs; None: signs do not count.
        code: the language of the text; None: unknown.
    """
    demands = demands_of_options(search.match, search.fuzzy)
    if search.fields is not None:
        demands = demands._replace(fields=tuple(weights_of(search.fields).items()))
    if web is not None and not web.is_plain:
        reader = _Reader(terms, code, lexer, is_given=search.lang is not None)
        demands = reader.demands(web)._replace(match=demands.match, edits=demands.edits, fields=demands.fields)
        terms = reader.terms()
    return terms if demands == NONE else AskedTerms(terms, demands)


class _Reader:
    """Reads the items of one text."""

    def __init__(self, terms: Terms, code: str | None, lexer: Lexer, *, is_given: bool) -> None:
        self._first = terms
        self._code = code
        self._is_given = is_given
        self._lexer = lexer
        self._numbers = {(word, WORDS, ""): number for number, word in enumerate(terms.words)}
        self._more: list[tuple[bytes, int]] = []
        self._lexed_before: dict[str, Terms] = {}

    def terms(self) -> Terms:
        """Return the terms of the text, followed by those that only occur in items."""
        first, more = self._first, self._more
        return Terms(
            [*first.words, *(word for word, _ in more)],
            first.counts + bytes(1 for _ in more),
            first.flags + bytes(flags for _, flags in more),
            [*first.typed, *(len(word) for word, _ in more)],
            first.last,
            first.languages,
        )

    def demands(self, web: WebQuery) -> Demands:
        """Return the demands of the items."""
        if any(item.field for item in items_in(web)):
            self._give_to_fields(web)
        required: list[int] = []
        either: list[Either] = []
        items = [item for items in web.items for item in items if item.sign != REFUSED]
        marked = {kind: self._of_kind(items, kind) for kind in (BEGUN, INNER)}
        for items in web.items:
            wanted = [item for item in items if item.sign != REFUSED]
            numbers = [found for item in wanted if (found := self._of(item))] if not _are_plain(wanted) else []
            has_to = any(
                item.sign == REQUIRED or item.kind == PHRASE or (item.field and len(items) == 1) for item in wanted
            )
            if len(numbers) > 1:
                either.append((has_to, tuple(dict.fromkeys(numbers))))
            elif has_to:
                required += [number for found in numbers for number in found]
        free = set(self._alone(web)) if either else set()
        refused = [(word, item.field) for item in _all_refused(web) for word in self._refused([item])]
        fields = {number: item.field for item in items_in(web) if item.field for number in self._of(item)}
        count = len(self._first) + len(self._more)
        fields |= {count + place: field for place, (_, field) in enumerate(refused) if field}
        return Demands(
            inside=tuple(fields.items()),
            required=tuple(dict.fromkeys(required)),
            begun=marked[BEGUN],
            inner=marked[INNER],
            either=tuple((has_to, tuple(map(tuple, within(each)))) for has_to, each in either),
            free=tuple(sorted(free)),
            refused=tuple(word for word, _ in refused),
            phrases=tuple(self._phrases(web)),
        )

    def _give_to_fields(self, web: WebQuery) -> None:
        """Give the words of the text that it has in fields alone to these items: the last one with the word."""
        fields = {word: item.field for item in items_in(web) if item.field for word in self._lexed(item.text).words}
        plain = self._lexed(" ".join(item.text for item in items_in(web) if not item.field)).words
        for word in fields.keys() - set(plain):
            number = self._numbers.pop((word, WORDS, ""), None)
            if number is not None:
                self._numbers[word, WORDS, fields[word]] = number

    def _phrases(self, web: WebQuery) -> Iterator[tuple[bool, tuple[str, ...]]]:
        """Yield the words of each phrase, and whether it is needed, without the phrases among alternatives."""
        for either in web.items:
            item = either[0]
            if len(either) == 1 and item.kind == PHRASE and item.sign != REFUSED:
                terms = self._terms_of(item.text, self._lexer.ordered())
                words = tuple(terms.words[number].decode() for number in terms.order or ())
                if len(words) > 1 or item.is_option:
                    yield item.is_option, words

    def _alone(self, web: WebQuery) -> Iterator[int]:
        """Yield the numbers of the terms that are wanted by themselves, not as alternatives."""
        alone = [either[0] for either in web.items if len(either) == 1 and either[0].sign != REFUSED]
        plain = self._lexed(" ".join(item.text for item in alone if item.kind not in MANY and not item.field))
        yield from (self._numbers[word, WORDS, ""] for word in plain.words if (word, WORDS, "") in self._numbers)
        for item in alone:
            if item.kind in MANY or item.field:
                yield from self._of(item)

    def _of_kind(self, items: Iterable[WebItem], kind: str) -> tuple[int, ...]:
        """Return the terms that represent many words: the last term of each item of a kind."""
        found = [self._of(item) for item in items if item.kind == kind]
        return tuple(dict.fromkeys(numbers[-1] for numbers in found if numbers))

    def _of(self, item: WebItem) -> tuple[int, ...]:
        """Return the numbers of the terms of an item; terms that the text lacks are added to it."""
        if item.kind == INNER:
            return (self._number((letters_of(item.text, self._lexer), INNER, item.field), SPECIAL),)
        terms = _without_letters(deciding(self._lexed(item.text)))
        kinds = [WORDS] * len(terms)
        if item.kind == BEGUN and kinds:
            kinds[-1] = BEGUN
        words = zip(terms, kinds, strict=True)
        return tuple([self._number((word, kind, item.field), flags) for (word, flags), kind in words])

    def _number(self, key: tuple[bytes, str, str], flags: int) -> int:
        """Return the number of a term, given by its word, its kind and the field in which it is searched."""
        if key not in self._numbers:
            self._numbers[key] = len(self._numbers)
            self._more.append((key[0], flags))
        return self._numbers[key]

    def _lexed(self, text: str) -> Terms:
        terms = self._lexed_before.get(text)
        if terms is None:
            terms = self._lexed_before[text] = self._terms_of(text, self._lexer)
        return terms

    def _terms_of(self, text: str, lexer: Lexer) -> Terms:
        """Return the terms of an item in the language of the whole text."""
        return lexer.lex(text, self._code) if self._is_given else lexer.lex_piece(text, self._code)

    def _refused(self, items: Iterable[WebItem]) -> Iterator[RefusedWord]:
        """Yield the words that items refuse; an item of several words refuses nothing."""
        for item in items:
            if item.kind == INNER:
                yield RefusedWord(letters_of(item.text, self._lexer).decode(), item.kind)
                continue
            found = _only_word(item.text, self._lexer)
            if found is not None:
                word, flags = found
                yield RefusedWord(word.decode(), item.kind, not flags & (SPECIAL | PART) and item.kind == WORDS)


def items_in(web: WebQuery) -> Iterator[WebItem]:
    """Yield the items of a text that are not refused."""
    return (item for items in web.items for item in items if item.sign != REFUSED)


def _all_refused(web: WebQuery) -> Iterator[WebItem]:
    return (item for items in web.items for item in items if item.sign == REFUSED)


def letters_of(part: str, lexer: Lexer) -> bytes:
    """Return the letters of a part of words in the normal form of words."""
    terms = lexer.lex_plain(part)
    return terms.words[0] if len(terms) == 1 else lexer.normal(part).encode()


def _without_letters(terms: list[tuple[bytes, int]]) -> list[tuple[bytes, int]]:
    """Return terms with their flags, without the letters of runs without blanks, which are terms beside the words."""
    words = [(word, flags) for word, flags in terms if not (flags & STOP and is_unspaced_letter(word))]
    return words or terms


def _are_plain(items: list[WebItem]) -> bool:
    return len(items) == 1 and items[0].is_plain


def _only_word(text: str, lexer: Lexer) -> tuple[bytes, int] | None:
    """Return the word that represents the text of an item, and its flags; None: the text has several words."""
    terms = lexer.lex_plain(text)
    found = list(zip(terms.words, terms.flags, strict=True))
    typed = lexer.normal(text).encode()
    same = [one for one in found if one[0] == typed]
    return same[0] if same else found[0] if len(found) == 1 else None
