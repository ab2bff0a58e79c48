"""Report the state of the server to the service manager: systemd's notify protocol, for units of Type=notify."""

import logging
import os
import socket

logger = logging.getLogger(__name__)

READY = "READY=1"
STOPPING = "STOPPING=1"
SEND_S = 1.0
"""The longest wait in seconds for a manager that does not read."""


def notify(state: str) -> None:
    """Send `state` to the socket that NOTIFY_SOCKET names, if there is one; an error is only logged."""
    name = os.environ.get("NOTIFY_SOCKET", "")
    if not name:
        return
    address = f"\0{name[1:]}" if name.startswith("@") else name  # "@" means the NUL byte of an abstract name
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.settimeout(SEND_S)
            manager.sendto(state.encode(), address)
    except OSError as error:
        logger.warning("cannot tell %s to NOTIFY_SOCKET %s: %s", state, name, error.strerror or error)
