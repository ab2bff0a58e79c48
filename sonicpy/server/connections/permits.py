"""Keys on the channel: from START to the commands that a key allows. Sessions with the password do not use this
module.
"""

import logging
from collections.abc import Callable, Mapping
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sonicpy.access.admission import Held, Keys, Permit
from sonicpy.access.grant import NotPermitted, asked_scopes
from sonicpy.access.key_file import KeyFile
from sonicpy.access.key_store import KeyStore
from sonicpy.access.tokens import check_secret
from sonicpy.channel import commands
from sonicpy.channel.commands import Command
from sonicpy.config import Config
from sonicpy.config.problems import naming
from sonicpy.errors import SessionEnded, SonicError
from sonicpy.server.connections.dispatch import Postponed, Take
from sonicpy.server.connections.fixed_filters import coarse_reply, within

if TYPE_CHECKING:
    from sonicpy.channel.session import Session
    from sonicpy.server.connections.serving import CommandKind

logger = logging.getLogger(__name__)

VERB_OF: Mapping[type, str] = {
    commands.Query: "query",
    commands.Suggest: "suggest",
    commands.Explain: "explain",
    commands.List: "list",
    commands.Exists: "exists",
    commands.Objects: "objects",
    commands.Buckets: "buckets",
    commands.Collections: "collections",
    commands.Push: "push",
    commands.Upsert: "upsert",
    commands.Tag: "tag",
    commands.CountFacets: "facets",
    commands.Claim: "upsert",
    commands.FlushV: "flush",
    commands.FlushPassing: "flush",
    commands.Synonyms: "synonyms",
    commands.SetSynonyms: "synonyms",
    commands.Pop: "pop",
    commands.Count: "count",
    commands.CountC: "count",
    commands.CountB: "count",
    commands.CountO: "count",
    commands.FlushC: "flush",
    commands.FlushB: "flush",
    commands.FlushO: "flush",
    commands.Trigger: "trigger",
    commands.Info: "info",
    commands.Stats: "stats",
    commands.Verify: "verify",
    commands.Similar: "similar",
}
"""Type of a command -> the verb of a key that allows it. A command without a verb is refused."""
NAMING = ("collection", "bucket", "buckets")
"""The fields of commands that hold names of buckets."""
REACHED_MAX = 256
"""The most buckets of a connection that are remembered as allowed, so that they are not checked for each command."""
CommandCall = Callable[[Any, Any], bytes]


def keys_of(config: Config) -> Keys:
    """Return the keys of a server: those of the file of `server.keys`, and those beside the index.

    Raises:
        ConfigError: the file cannot be read, or `server.secret` is too short.
    """
    if config.server.secret is not None:
        check_secret(config.server.secret)
    with naming("server.keys"):
        files = [] if config.server.keys is None else [KeyFile(config.server.keys)]
    takes_filters = config.server.compat != "sonic"
    return Keys([*files, KeyStore(Path(config.store.kv.path))], config.server.secret, takes_filters=takes_filters)


def admitting(keys: Keys) -> Callable[[bytes], Permit | None]:
    """Return the function by which a session admits secrets that are not the password."""

    def admit(secret: bytes) -> Permit | None:
        try:
            return keys.admit(secret)
        except NotPermitted as refused:
            raise SessionEnded(str(refused)) from refused
        except SonicError as error:  # the sources of keys, which the next attempt reads again
            logger.error("a secret cannot be looked up: %s", error)
            raise SessionEnded("internal_error") from error

    return admit


def held_by(session: "Session") -> Held | None:
    """Return the rights of a session, to send to another process; None: it has no permit."""
    permit: Permit | None = session.permit
    return None if permit is None else permit.held


def may_go_on(session: "Session") -> bool:
    """Return whether another process of the server can check the rights of a session."""
    return session.permit is None or held_by(session) is not None


def guarded(kinds: Mapping[type, "CommandKind"], permit: Permit) -> dict[type, "CommandKind"]:
    """Return the kinds of commands with the check of a permit before each call."""
    reached: set[tuple[Any, ...]] = set()
    return {kind: row._replace(call=_guard(permit, kind, row.call, reached)) for kind, row in kinds.items()}


def _guard(permit: Permit, kind: type, call: CommandCall, reached: set[tuple[Any, ...]]) -> CommandCall:
    """Return a call with the check of a permit before it.

    Args:
        reached: names of buckets that the permit allows. A command that names these again needs no further check,
            because the rights of a permit never change.
    """
    grant, use = permit.grant, permit.use
    places = [place for place, field in enumerate(getattr(kind, "_fields", ())) if field in NAMING]
    if grant.filters or VERB_OF.get(kind) not in grant.verbs or len(places) < 2:
        return partial(_call, permit, call)
    named = itemgetter(*places)

    def call_within(target: Any, command: Any) -> bytes:
        names = named(command)
        if names in reached:
            use()
        else:
            permitted(permit, command, counts=True)
            _note(reached, names)
        return call(target, command)

    return call_within


def _note(reached: set[tuple[Any, ...]], names: tuple[Any, ...]) -> None:
    if any(names[2:]):  # a list of buckets may be long
        return
    if len(reached) >= REACHED_MAX:
        reached.clear()
    reached.add(names)


def _call(permit: Permit, call: CommandCall, target: Any, command: Any) -> bytes:
    allowed = permitted(permit, command, counts=True)
    if permit.grant.filters and isinstance(allowed, commands.Query):
        return _coarsened(call, target, allowed)
    return call(target, allowed)


def _coarsened(call: CommandCall, target: Any, command: commands.Query) -> bytes:
    """Return the reply to a query of a key with a fixed filter, with less exact scores. Another node may answer it.
    Raises Postponed if the service has to ask elsewhere.
    """
    try:
        return coarse_reply(command, call(target, command))
    except Postponed as postponed:
        ask = postponed.ask
        if ask is None:
            raise
        raise Postponed(lambda take: ask(_coarsening(command, take))) from None


def _coarsening(command: commands.Query, take: Take) -> Take:
    return lambda reply: take(coarse_reply(command, reply) if isinstance(reply, bytes) else reply)


def permitted(permit: Permit, command: Command, *, counts: bool) -> Command:
    """Return a command as a permit allows it: unchanged, or with the fixed filter added.

    Args:
        counts: the command counts for the rate of the key.

    Raises:
        NotPermitted: the permit does not allow the command.
    """
    grant = permit.use() if counts else permit.grant
    verb = VERB_OF.get(type(command))
    if verb is None:
        raise NotPermitted(f"the key {grant.key} does not allow this command")
    named = (getattr(command, name, None) for name in NAMING)
    grant.check(verb, asked_scopes(*named))
    return within(grant, command)


def shown_reply(permit: Permit, command: Command, reply: bytes) -> bytes:
    """Return the reply to a permitted command, without the parts that the permit does not allow to be seen."""
    return coarse_reply(command, reply) if permit.grant.filters else reply
