"""The line in the log about a command that took long: who asked what kind of thing where, but not with which text."""

import logging

from sonicpy.channel.commands import Command
from sonicpy.ids import NAME_MAX_BYTES
from sonicpy.server.logs import FIELDS

logger = logging.getLogger(__name__)


def log_slow(verb: str, command: bytes | Command, seconds: float, peer: object) -> None:
    """Log a command that took `seconds`.

    Args:
        command: bytes: what the session answered by itself.
        peer: its address, as the socket gives it: empty for a Unix socket; None: it is gone.
    """
    fields: dict[str, object] = {"verb": verb, "ms": f"{seconds * 1000:.1f}", "peer": peer_name(peer)}
    for name in ("collection", "bucket", "object"):
        value = getattr(command, name, None)
        if value is not None:
            fields[name] = value[:NAME_MAX_BYTES]  # whether it is a valid name is found out by the index
    text = getattr(command, "text", None)
    if text is not None:
        fields["characters"] = len(text)
    logger.warning("slow command", extra={FIELDS: fields})


def peer_name(peer: object) -> str:
    """Return an address of a socket as a person writes it."""
    match peer:
        case (str(host), int(port), *_):
            return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        case None:
            return "gone"
    return "unix"
