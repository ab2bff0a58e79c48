"""A key as it is kept: its name, its rights, and a hash of its secret, from which the secret cannot be made.

A secret is `NAME.RANDOM`: 32 random bytes as base64 for URLs, of which the store holds BLAKE2b. They cannot be
guessed, so a slow hash would only slow down START.
"""

import base64
import hashlib
import hmac
import json
import math
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sonicpy.access.grant import Grant
from sonicpy.access.scopes import SCOPES_MAX, KeyScope, scope_of, written_scope
from sonicpy.access.verbs import GROUPS, verbs_of
from sonicpy.errors import ConfigError, InvalidArgument
from sonicpy.filters.fixed import with_fixed
from sonicpy.ids import shown

NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
SECRET_BYTES = 32
HASH_BYTES = 32
FILTER_MAX = 4096
RATE_MAX = 1e6
PARTS = {"hash", "verbs", "scopes", "filter", "rate", "expires", "created"}


@dataclass(frozen=True, slots=True)
class Key:
    """A key.

    Attributes:
        name: letters, digits, `_` and `-`.
        hash: BLAKE2b of the secret.
        verbs, scopes, filter, rate, expires: as in `Grant`.
        created: the time in seconds since 1970.
    """

    name: str
    hash: bytes
    verbs: frozenset[str]
    scopes: tuple[KeyScope, ...]
    filter: str | None = None
    rate: float | None = None
    expires: float | None = None
    created: float = 0.0

    def is_of(self, secret: bytes) -> bool:
        """Return whether a secret is that of the key."""
        return hmac.compare_digest(self.hash, hash_of(secret))

    def grant(self) -> Grant:
        """Return the rights of the key."""
        filters = () if self.filter is None else (self.filter,)
        return Grant(self.name, self.verbs, self.scopes, None, filters, self.expires, self.rate)


def hash_of(secret: bytes) -> bytes:
    """Return the hash of a secret, which is stored in its place."""
    return hashlib.blake2b(secret, digest_size=HASH_BYTES, person=b"sonicpy key").digest()


def new_secret(name: str) -> str:
    """Return a new secret for the key with a name."""
    return f"{name}.{base64.urlsafe_b64encode(secrets.token_bytes(SECRET_BYTES)).decode().rstrip('=')}"


def key_name(secret: bytes) -> str | None:
    """Return the name in a secret, or None if it does not have the form of one."""
    name, dot, rest = secret.decode("ascii", "replace").partition(".")
    return name if dot and rest and NAME.fullmatch(name) else None


def name_of_key(name: object) -> str:
    """Return the name of a key. Raises InvalidArgument if it is not allowed."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidArgument(
            f"the name of a key is {shown(name)}; allowed are 1 to 64 letters and digits of ASCII, _ and -"
        )
    return name


def make_key(name: str, secret_hash: bytes, given: Mapping[str, Any]) -> Key:
    """Return a key.

    Args:
        given: verbs and scopes as lists of texts; filter, rate, expires and created may be missing.

    Raises:
        InvalidArgument: a value is not allowed; the message names it.
    """
    unknown = sorted(set(given) - PARTS)
    if unknown:
        raise InvalidArgument(f"{unknown[0]} is not known for a key; allowed are {', '.join(sorted(PARTS))}")
    scopes = given.get("scopes", [])
    if not isinstance(scopes, list | tuple) or not 0 < len(scopes) <= SCOPES_MAX:
        raise InvalidArgument(f"scopes is {shown(scopes)}; allowed are 1 to {SCOPES_MAX} of them")
    verbs = given.get("verbs", ["search"])
    if not isinstance(verbs, list | tuple):
        raise InvalidArgument(f"verbs is {shown(verbs)}; allowed is a list of verbs")
    text = given.get("filter")
    if text is not None and (not isinstance(text, str) or not text.strip() or len(text) > FILTER_MAX):
        raise InvalidArgument(f"filter is {shown(text)}; allowed are 1 to {FILTER_MAX} characters")
    if text is not None:
        with_fixed((text,), None, apart=True)
    return Key(
        name_of_key(name),
        secret_hash,
        verbs_of(verbs),
        tuple(map(scope_of, scopes)),
        text,
        _number("rate", given.get("rate"), RATE_MAX),
        _number("expires", given.get("expires"), 1e11),
        _number("created", given.get("created"), 1e11) or 0.0,
    )


def _number(what: str, value: Any, ceiling: float) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= ceiling:
        raise InvalidArgument(f"{what} is {shown(value)}; allowed is a number above 0, up to {ceiling:,.0f}")
    return float(value)


def pack_key(key: Key) -> bytes:
    """Return a key as the store holds it, as JSON."""
    return json.dumps({"hash": key.hash.hex(), **rights_of(key)}, separators=(",", ":")).encode()


def rights_of(key: Key) -> dict[str, Any]:
    """Return the rights of a key in the form that `make_key` takes; groups of verbs have their names."""
    group = next((name for name, verbs in GROUPS.items() if verbs == key.verbs), None)
    held = {
        "verbs": sorted(key.verbs) if group is None else [group],
        "scopes": [written_scope(scope) for scope in key.scopes],
        "filter": key.filter,
        "rate": key.rate,
        "expires": key.expires,
        "created": key.created or None,
    }
    return {name: value for name, value in held.items() if value is not None}


def unpack_key(name: str, packed: Mapping[str, Any], where: str) -> Key:
    """Return a key from its stored parts.

    Args:
        where: the place of the key, for the message.

    Raises:
        ConfigError: the parts are damaged, or a newer version wrote them.
    """
    try:
        secret_hash = bytes.fromhex(packed["hash"])
        if len(secret_hash) != HASH_BYTES:
            raise ValueError("its hash has another length")
        return make_key(name, secret_hash, {part: value for part, value in packed.items() if part != "hash"})
    except (KeyError, TypeError, ValueError) as error:
        reason = "it has no hash" if isinstance(error, KeyError) else str(error)
        raise ConfigError(f"{where}: the key {shown(name)} cannot be read: {reason}.") from error


def is_past(expires: float | None, now: float | None = None) -> bool:
    """Return whether a key or a token has expired.

    Args:
        expires: the time at which it expires, in seconds since 1970; None: never.
        now: the present time, in seconds since 1970; None: that of the clock.
    """
    return (math.inf if expires is None else expires) <= (time.time() if now is None else now)
