"""URLs of databases, without the passwords in them."""

import re

_PASSWORD = re.compile(
    r"\A([\w+]+://(?!\[)[^/:?]*):(?:[^@?]*|(?!\d*\?\w+=)[^@?/\]]*\?[^@]*)@(?:[^/?@]*@)*|(://[^/@:]*):[^/@]*@"
)
"""As SQLAlchemy reads URLs: the user ends before the first colon, the password before the first @ behind it. A password
with a question mark is hidden, too, unless it looks like a port and a parameter; and one with several @, to the last. A
URL in a parameter has a password without slashes."""
_PASSWORD_PARAMETER = re.compile(r"([?&](?:ssl)?(?:password|passwd|pwd)=)[^&]*", re.IGNORECASE)
_PASSWORD_OF_ODBC = re.compile(
    r"((?:odbc_connect=|;|%3B)(?:password|pwd)(?:=|%3D))(?:(?:%7B|\{)[^&]{0,1000}?(?:%7D|\})|(?:(?!%3B)[^&;])*)",
    re.IGNORECASE,
)


def without_password(url: str) -> str:
    """Return the URL of a database without its passwords; another text as it is."""
    if "://" not in url:
        return url
    for pattern in (_PASSWORD_PARAMETER, _PASSWORD_OF_ODBC):
        url = pattern.sub(r"\1...", url)
    return _PASSWORD.sub(r"\1\2:...@", url)
