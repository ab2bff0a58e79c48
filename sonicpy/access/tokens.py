"""Tokens of tenants: JSON Web Tokens (RFC 7519) that an application signs with the signing secret of a key.

The secret comes from `server.secret` and the name of the key (HKDF of RFC 5869, with SHA-256), so that no store, backup
or snapshot holds anything from which a token can be made. A token narrows its key:

    header   {"alg": "HS256", "kid": "web"}
    payload  {"exp": 1790000000, "buckets": ["messages/user-7"], "filter": "NOT draft"}
"""

import dataclasses
import hmac
import time
from typing import Any

from sonicpy.access.grant import Grant, NotPermitted
from sonicpy.access.key import FILTER_MAX, NAME, is_past
from sonicpy.access.scopes import SCOPES_MAX, KeyScope, scope_of
from sonicpy.errors import ConfigError, InvalidArgument
from sonicpy.filters.fixed import with_fixed
from sonicpy.ids import shown

ALGORITHM = "HS256"
LIFE_MAX_S = 7 * 24 * 3600
SKEW_S = 60
TOKEN_MAX = 8192
"""The most characters of a token."""
SECRET_MIN = 32
"""The fewest characters of server.secret."""
CLAIMS = frozenset({"exp", "iat", "nbf", "buckets", "filter", "sub", "jti"})
"""The claims that a token may have; `sub` and `jti` are for the application and have no effect here."""
EXPIRED = "the token has expired; its exp is over"
TIME_MAX = 1e11
"""The bound of the times of a token, in seconds since 1970."""
_SALT = b"sonicpy tokens"


def check_secret(secret: str) -> None:
    """Raise ConfigError if server.secret is too short to sign with."""
    if len(secret) < SECRET_MIN:
        raise ConfigError(
            f"server.secret has {len(secret)} characters; allowed are at least {SECRET_MIN}, chosen at random."
        )


def signing_secret(secret: str, key: str) -> str:
    """Return the secret with which tokens of a key are signed, as 64 hexadecimal digits."""
    extracted = hmac.digest(_SALT, secret.encode(errors="surrogateescape"), "sha256")
    return hmac.digest(extracted, f"token of {key}\x01".encode(), "sha256").hex()


def looks_like_token(secret: bytes) -> bool:
    """Return whether a secret has the form of a token: three parts of base64 with dots between them."""
    return secret.count(b".") == 2 and secret.startswith(b"ey")


def key_of_token(token: str) -> str | None:
    """Return the name of the key in a token, before its signature is checked; None: it names no key."""
    jwt = _jwt()
    if len(token) > TOKEN_MAX:
        return None
    try:
        header = jwt.get_unverified_header(token)
    except (jwt.exceptions.InvalidTokenError, RecursionError):  # JSON may be nested very deeply
        return None
    name = header.get("kid")
    return name if isinstance(name, str) and NAME.fullmatch(name) else None


def narrowed(token: str, signed_with: str, grant: Grant) -> Grant | None:
    """Return the rights of a token of a key; None: it was not signed with the secret of the key.

    Args:
        signed_with: the signing secret.
        grant: the rights of the key.

    Raises:
        NotPermitted: the signature is right, but the token is too old, too long-lived, or has a wrong claim.
    """
    jwt = _jwt()
    unchecked = dict.fromkeys((f"verify_{claim}" for claim in ("exp", "iat", "nbf", "aud", "iss", "sub", "jti")), False)
    try:
        claims = jwt.decode(token, signed_with, algorithms=[ALGORITHM], options=unchecked)
    except (jwt.exceptions.InvalidTokenError, RecursionError):
        return None
    return _narrowed(claims, grant)


def _narrowed(claims: dict[str, Any], grant: Grant) -> Grant:
    unknown = sorted(claims.keys() - CLAIMS)
    if unknown:
        raise NotPermitted(f"the token has the claim {shown(unknown[0])}; allowed are {', '.join(sorted(CLAIMS))}")
    expires = _end(claims)
    for claim in ("sub", "jti"):
        value = claims.get(claim)
        if value is not None and (isinstance(value, bool) or not isinstance(value, str | int)):
            raise NotPermitted(f"{claim} of the token is {shown(value)}; allowed are texts and whole numbers")
    text = claims.get("filter")
    if text is not None and not (isinstance(text, str) and text.strip() and len(text) <= FILTER_MAX):
        raise NotPermitted(f"the filter of the token is {shown(text)}; allowed are 1 to {FILTER_MAX} characters")
    filters = (*grant.filters, *(() if text is None else (text,)))
    try:
        with_fixed(filters, None, apart=True)
    except InvalidArgument as error:
        raise NotPermitted(f"the filter of the token: {error}") from None
    return dataclasses.replace(
        grant,
        within=_scopes(claims["buckets"]) if "buckets" in claims else None,
        filters=filters,
        expires=expires if grant.expires is None else min(expires, grant.expires),
    )


def _end(claims: dict[str, Any]) -> float:
    """Return the time up to which a token is taken by a clock that is SKEW_S ahead of that of its application.

    Raises:
        NotPermitted: a time of the token is missing, wrong, over, or to come.
    """
    if claims.get("exp") is None:
        raise NotPermitted("the token has no exp; allowed are 7 days from now")
    times = {claim: claims[claim] for claim in ("exp", "iat", "nbf") if claim in claims}
    for claim, value in times.items():
        # JSON of Python reads NaN and Infinity, too; an int may be too large for a float.
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < TIME_MAX:
            raise NotPermitted(f"{claim} of the token is {shown(value)}; allowed are seconds since 1970, below 1e11")
    now = time.time()
    exp = times.pop("exp")
    if is_past(exp + SKEW_S, now):
        raise NotPermitted(EXPIRED)
    if any(begin > now + SKEW_S for begin in times.values()):
        raise NotPermitted("the token is not valid yet; its nbf or iat is to come")
    if exp > now + LIFE_MAX_S + SKEW_S:
        raise NotPermitted("the exp of the token is more than 7 days ahead; allowed are 7 days from now")
    return float(exp + SKEW_S)


def _scopes(names: object) -> tuple[KeyScope, ...]:
    if not isinstance(names, list) or not 0 < len(names) <= SCOPES_MAX:
        raise NotPermitted(f"buckets of the token is {shown(names)}; allowed is a list of 1 to {SCOPES_MAX} scopes")
    try:
        return tuple(map(scope_of, names))
    except InvalidArgument as error:
        raise NotPermitted(f"buckets of the token: {error}") from None


def _jwt() -> Any:
    """Return the module jwt, which is imported only in a server with tokens."""
    import jwt  # noqa: PLC0415

    return jwt
