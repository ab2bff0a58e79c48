"""The slow log: one line per slow command, with its verb, scope and peer, but without its text."""

import logging

from sonicpy.channel.commands import Command
from sonicpy.ids import NAME_MAX_BYTES
from sonicpy.server.watching.logs import FIELDS

logger = logging.getLogger(__name__)


def log_slow(verb: str, command: bytes | Command, seconds: float, peer: object) -> None:
    """Log a command that took `seconds`.

    Args:
        command: the command; or, if the session answered the line itself, the reply.
        peer: the address of the client, as the socket gives it: empty for a Unix socket; None: the connection is
            closed.
    """
    fields: dict[str, object] = {"verb": verb, "ms": f"{seconds * 1000:.1f}", "peer": peer_name(peer)}
    for name in ("collection", "bucket", "object"):
        value = getattr(command, name, None)
        if value is not None:
            fields[name] = value[:NAME_MAX_BYTES]  # may be too long: the index checks names, not the parser
    text = getattr(command, "text", None)
    if text is not None:
        fields["characters"] = len(text)
    logger.warning("slow command", extra={FIELDS: fields})


def peer_name(peer: object) -> str:
    """Return the address of a peer as host:port, "unix" or "gone"."""
    match peer:
        case (str(host), int(port), *_):
            return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        case None:
            return "gone"
    return "unix"
