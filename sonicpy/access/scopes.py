"""The buckets that a key names: `collection/bucket`, both either exact or with `*` at the end.

    messages             every bucket of the collection messages
    messages/user-7      one bucket
    messages/user-*      the buckets whose names begin with user-
    shop-*/public        the bucket public of the collections whose names begin with shop-
    *                    everything

`%2F`, `%2A` and `%25` mean `/`, `*` and `%` in a name.
"""

import re
from typing import NamedTuple

from sonicpy.errors import InvalidArgument
from sonicpy.ids import check_bucket, check_collection, shown

SCOPES_MAX = 64
SCOPE_MAX = 520
"""The most characters of a scope: two names, with `%2F` and the like for their signs."""
_ESCAPED = re.compile(r"%(2F|2A|25)", re.IGNORECASE)
_NOT_ESCAPED = re.compile(r"%(?!2F|2A|25)", re.IGNORECASE)


class Pattern(NamedTuple):
    """A name, or the beginning of names."""

    text: str
    is_prefix: bool

    def covers(self, name: str) -> bool:
        """Return whether a name is among those of the pattern."""
        return name.startswith(self.text) if self.is_prefix else name == self.text

    def covers_all(self, other: "Pattern") -> bool:
        """Return whether every name of another pattern is among those of this one."""
        return self.covers(other.text) and (self.is_prefix or not other.is_prefix)


class KeyScope(NamedTuple):
    """The buckets whose names fit a pattern, in the collections whose names fit another pattern."""

    collection: Pattern
    bucket: Pattern

    def covers_all(self, other: "KeyScope") -> bool:
        """Return whether this scope covers every bucket of another scope."""
        return self.collection.covers_all(other.collection) and self.bucket.covers_all(other.bucket)


EVERY_NAME = Pattern("", True)
EVERYTHING = KeyScope(EVERY_NAME, EVERY_NAME)


def scope_of(text: object) -> KeyScope:
    """Return the scope in a text.

    Raises:
        InvalidArgument: the text has another form.
    """
    if not isinstance(text, str) or not 0 < len(text) <= SCOPE_MAX or text.count("/") > 1 or not text.isprintable():
        raise _no_scope(text)
    collection, slash, bucket = text.partition("/")
    if not collection or (slash and not bucket):
        raise _no_scope(text)
    return KeyScope(_pattern_of(collection, text), _pattern_of(bucket, text) if slash else EVERY_NAME)


def check_reach(text: str) -> None:
    """Raise InvalidArgument for a scope that fits no valid names of collections and buckets."""
    scope = scope_of(text)
    for check, pattern in ((check_collection, scope.collection), (check_bucket, scope.bucket)):
        if pattern.text:
            check(pattern.text)


def _pattern_of(part: str, text: str) -> Pattern:
    name, star, rest = part.partition("*")
    if rest or _NOT_ESCAPED.search(name):
        raise _no_scope(text)
    return Pattern(_ESCAPED.sub(lambda found: chr(int(found[1], 16)), name), bool(star))


def _no_scope(text: object) -> InvalidArgument:
    return InvalidArgument(
        f"the scope {shown(text)} is not collection or collection/bucket; either name may end with *, and %2F, %2A and "
        "%25 stand for /, * and % in it"
    )


def written_scope(scope: KeyScope) -> str:
    """Return a scope as a text from which `scope_of` makes an equal scope."""
    return f"{_written(scope.collection)}/{_written(scope.bucket)}"


def shown_scope(scope: KeyScope) -> str:
    """Return a scope as it is shown in a sentence."""
    if scope == EVERYTHING:
        return "the whole index"
    if scope.bucket == EVERY_NAME and not scope.collection.is_prefix:
        return f"all of the collection {scope.collection.text}"
    return written_scope(scope)


def _written(pattern: Pattern) -> str:
    escaped = pattern.text.replace("%", "%25").replace("/", "%2F").replace("*", "%2A")
    return f"{escaped}*" if pattern.is_prefix else escaped
