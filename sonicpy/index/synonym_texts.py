"""Rules of synonyms as they are written: `ny, new york` and `tv => television`."""

from collections.abc import Iterable, Iterator

from sonicpy._native.terms import Terms
from sonicpy.arguments import not_unicode, text_of
from sonicpy.errors import InvalidArgument
from sonicpy.ids import is_iterable
from sonicpy.index.search.deciding_terms import deciding
from sonicpy.lexer.lexer import Lexer
from sonicpy.store.rows.synonym_rules import RULE_WORDS_MAX, RULES_MAX, Phrase, SynonymRule

ARROW = "=>"
BETWEEN = ","
SHOWN = 60
"""The most letters of a rule that an error shows."""
NOT_IN_COMPAT = "synonyms are not offered in compat mode: Sonic lacks them"
TOO_MANY_RULES = f"the collection would have more than {RULES_MAX} rules of synonyms; allowed are {RULES_MAX}"


def read_rules(texts: object, lexer: Lexer) -> list[SynonymRule]:
    """Return rules with their words in the form that a bucket holds.

    Args:
        texts: the rules: by `a, b, c`, a query with one of them also looks for the others; by `a, b => c, d`, a query
            with `a` or `b` also looks for `c` and `d`. Each may be several words, which an object has to hold all.

    Raises:
        InvalidArgument: a rule has another form, no other word, or too many words; or there are too many rules.
    """
    if isinstance(texts, str | bytes) or not is_iterable(texts):
        raise InvalidArgument(f"rules is a {type(texts).__name__}; allowed is a list of texts")
    rules: dict[str, SynonymRule] = {}
    for text in texts:
        rule = read_rule(text_of("rule", text), lexer)
        rules[rule.text] = rule
        if len(rules) > RULES_MAX:
            raise InvalidArgument(TOO_MANY_RULES)
    return list(rules.values())


def read_rule(text: str, lexer: Lexer) -> SynonymRule:
    """Return one rule. Raises as `read_rules`."""
    text = " ".join(text.split())
    left, *right = text.split(ARROW)
    if len(right) > 1:
        raise InvalidArgument(f"the rule {_shown(text)} has {ARROW} more than once; allowed is once")
    sides = [tuple(dict.fromkeys(_phrases(side, text, lexer))) for side in (left, *right)]
    words = sum(len(phrase) for side in sides for phrase in side)
    if words > RULE_WORDS_MAX:
        raise InvalidArgument(f"the rule {_shown(text)} has {words} words; allowed are {RULE_WORDS_MAX}")
    if all(other == phrase for phrase in sides[0] for other in sides[-1]):
        raise InvalidArgument(f"the rule {_shown(text)} has one word alone; allowed are `a, b` and `a => b`")
    return SynonymRule(text, *sides)


def rule_lines(lines: Iterable[str]) -> Iterator[str]:
    """Yield the rules in a file, one per line; skip blank lines, lines that begin with #, and a byte order mark."""
    plain = (line.strip().removeprefix("\ufeff").strip() for line in lines)
    return (line for line in plain if line and not line.startswith("#"))


def _phrases(side: str, rule: str, lexer: Lexer) -> Iterator[Phrase]:
    for part in side.split(BETWEEN):
        words = tuple(word.decode() for word, _ in deciding(_lexed(part, lexer)))
        if not words:
            raise InvalidArgument(f"the rule {_shown(rule)} has no word in {_shown(part)}; allowed is at least one")
        yield words


def _lexed(part: str, lexer: Lexer) -> Terms:
    try:
        return lexer.lex_plain(part)
    except UnicodeEncodeError as error:
        raise not_unicode("rule", error) from error


def _shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else f"{text[:SHOWN]}...")
