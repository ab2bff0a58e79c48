"""`sonicpy keys`: make keys that allow some verbs in some buckets, list and revoke them."""

import argparse
import json
import re
import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sonicpy.access.key import Key, hash_of, is_past, make_key, name_of_key, new_secret, rights_of
from sonicpy.access.key_store import KeyStore
from sonicpy.access.scopes import check_reach
from sonicpy.access.tokens import check_secret, signing_secret
from sonicpy.access.verbs import FILTERED
from sonicpy.cli.arguments import Verbs
from sonicpy.cli.brokers import add_brokers, brokers, names_cluster
from sonicpy.cli.cluster_room import load_cluster
from sonicpy.cli.output import remark, show
from sonicpy.cli.settings import add_index_flags, load_settings
from sonicpy.cli.target import expect_index
from sonicpy.errors import ConfigError, InvalidArgument

DESCRIPTION = """\
A key is a secret that clients send in place of the password: with START, or over HTTP as Authorization: Bearer. It
allows some verbs in some buckets. Keys are kept beside the index, without their secrets; a change takes hold within a
second, also for open connections."""
ADD = """\
Make a key, and print its secret, which is shown this once. VERBS are names of verbs with commas between them (query,
suggest, explain, list, count, push, pop, flush ...), or search, ingest, control or all. A bucket is COLLECTION,
COLLECTION/BUCKET or *; each name may end with *."""
EXPORT = """\
Print the keys, without their secrets, as a file for the setting server.keys, by which other servers know them, too."""
SIGN = """\
Print the secret with which an application signs tokens of a key: JSON Web Tokens, HS256, with the name of the key as
kid, and exp, at most 7 days ahead, buckets and filter as claims. It comes from server.secret and the name."""
UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DURATION = re.compile(r"(\d{1,6})([smhd])")


def add_verbs(verbs: Verbs) -> None:
    """Add `keys` and its verbs to the command line."""
    example = "example: sonicpy keys add web --verbs query,suggest --bucket messages/public"
    parser = verbs.add_parser("keys", description=DESCRIPTION, epilog=example)
    actions = parser.add_subparsers(title="verbs", metavar="VERB", required=True)
    add = _action(actions, "add", "make a key", ADD, run_add)
    add.add_argument("name", metavar="NAME", help="of the key: letters, digits, _ and -")
    add.add_argument("--verbs", metavar="VERBS", default="search", help="what it allows (default: search)")
    add.add_argument(
        "--bucket", metavar="BUCKETS", action="append", required=True, help="where; may be given several times"
    )
    add.add_argument("--filter", metavar="TEXT", help="a filter that all its questions pass")
    add.add_argument("--expires", metavar="WHEN", help="30d, 12h, or a date such as 2027-01-31")
    add.add_argument("--rate", metavar="N", type=_rate, help="requests a second")
    _action(actions, "list", "print the keys", "Print the keys, without their secrets.", run_list)
    revoke = _action(actions, "revoke", "end a key", "End a key and the tokens of it, within a second.", run_revoke)
    revoke.add_argument("name", metavar="NAME")
    sign = _action(actions, "sign", "print the secret that signs tokens of a key", SIGN, run_sign)
    sign.add_argument("name", metavar="NAME")
    export = _action(actions, "export", "print the keys as a file of the configuration", EXPORT, run_export)
    export.set_defaults(is_utf8=True)


def _action(actions: Any, name: str, summary: str, description: str, run: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, help=summary, description=description)
    add_index_flags(parser)
    add_brokers(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def _rate(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{ascii(text)} is not a number of requests a second") from None


def run_add(arguments: argparse.Namespace) -> int:
    """Add a key and print its secret; return 0. Raises InvalidArgument or ConfigError."""
    name = name_of_key(arguments.name)
    secret = new_secret(name)
    verbs = [verb.strip().lower() for verb in arguments.verbs.split(",")]
    given = {
        "verbs": verbs if arguments.filter is None or arguments.verbs != "search" else sorted(FILTERED),
        "scopes": [scope.strip() for scopes in arguments.bucket for scope in scopes.split(",")],
        "filter": arguments.filter,
        "expires": None if arguments.expires is None else time_of(arguments.expires),
        "rate": arguments.rate,
        "created": time.time(),
    }
    for scope in given["scopes"]:
        check_reach(scope)
    key = make_key(name, hash_of(secret.encode()), given)
    if not _store(arguments).put(key):
        raise InvalidArgument(f"there is a key {name} already; allowed is another name, or keys revoke {name} first")
    show(arguments, {"name": name, "secret": secret, **rights_of(key)}, secret)
    if not arguments.json and sys.stderr.isatty():
        remark("this secret is shown once; only its hash is kept")
    if load_settings(arguments).config.channel.auth_password is None:
        remark("channel.auth_password is not set: without a secret, everybody may do everything")
    return 0


def run_list(arguments: argparse.Namespace) -> int:
    """Print the keys; return 0. Raises StoreError if the folder holds neither keys nor an index."""
    for key in _all(arguments):
        show(arguments, {"name": key.name, **rights_of(key)}, _line(key))
    return 0


def run_revoke(arguments: argparse.Namespace) -> int:
    """Remove a key; return 0, or 1 if there is none."""
    removed = _store(arguments).remove(name_of_key(arguments.name))
    if not removed:
        remark(f"there is no key {arguments.name}")
    return 0 if removed else 1


def run_sign(arguments: argparse.Namespace) -> int:
    """Print the signing secret of a key; return 0. Raises ConfigError if server.secret is not set."""
    config = load_settings(arguments).config
    name, secret = name_of_key(arguments.name), config.server.secret
    if secret is None:
        raise ConfigError("server.secret is not set; allowed is a text of at least 32 characters, chosen at random.")
    check_secret(secret)
    signing = signing_secret(secret, name)
    if not names_cluster(arguments) and config.server.keys is None:
        held = [key.name for key in _store(arguments).all()]
        if held and name not in held:
            remark(
                f"there is no key {name}, so its tokens are refused until there is one; there is {', '.join(held[:5])}"
            )
    show(arguments, {"name": name, "signing_secret": signing}, signing)
    return 0


def run_export(arguments: argparse.Namespace) -> int:
    """Print the keys as TOML; return 0. Raises StoreError if the folder holds neither keys nor an index."""
    for key in _all(arguments):
        held = {"hash": key.hash.hex(), **rights_of(key)}
        lines = [f"{part} = {_toml(value)}" for part, value in held.items()]
        show(arguments, {"name": key.name, **held}, f"[{key.name}]", *lines, "")
    return 0


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, str):  # a string of JSON is one of TOML, but for the character DEL
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def _store(arguments: argparse.Namespace) -> Any:
    if names_cluster(arguments):
        registered = load_cluster("registry.registered_keys")
        return registered.ClusterKeys(brokers(arguments))
    return KeyStore(Path(load_settings(arguments).config.store.kv.path))


def _all(arguments: argparse.Namespace) -> Iterable[Key]:
    store = _store(arguments)
    if isinstance(store, KeyStore) and not store.is_there:
        expect_index(store.path.parent)
    keys: Iterable[Key] = store.all()
    return keys


def _line(key: Key) -> str:
    held = rights_of(key)
    parts = [key.name, ",".join(held["verbs"]), " ".join(held["scopes"])]
    if key.filter is not None:
        parts.append(f"filter {key.filter}")
    if key.rate is not None:
        parts.append(f"{key.rate:g} a second")
    if key.expires is not None:
        when = datetime.fromtimestamp(key.expires, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        parts.append(f"{'expired' if is_past(key.expires) else 'until'} {when}")
    return "  ".join(parts)


def time_of(text: str) -> float:
    """Return the time that a text names, as seconds since 1970.

    Args:
        text: a duration from now, such as 30d, 12h, 5m or 10s; or a date, or a time, of ISO 8601 (UTC without an
            offset).

    Raises:
        InvalidArgument: the text is neither a duration nor a time, or the time is in the past.
    """
    when = _time_of(text)
    if when <= time.time():
        raise InvalidArgument(f"--expires is {text!r}, which is over; allowed are times to come")
    return when


def _time_of(text: str) -> float:
    if found := DURATION.fullmatch(text):
        return time.time() + int(found[1]) * UNITS_S[found[2]]
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgument(
            f"--expires is {text!r}; allowed are durations such as 30d or 12h, and dates such as 2027-01-31"
        ) from None
    return (when if when.tzinfo is not None else when.replace(tzinfo=UTC)).timestamp()
