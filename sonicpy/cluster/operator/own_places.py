"""Settings that only one process of a machine can use, such as `http.inet`: each node of `cluster dev` has its own."""

import os
from collections.abc import Mapping, Sequence

from sonicpy.config import Config
from sonicpy.config.sources import variable_of


def shared_ports(config: Config) -> list[str]:
    """Return the keys of the settings, besides `channel.inet`, that let a node listen on a port."""
    return [key for key, inet in (("http.inet", config.http.inet), ("metrics.inet", config.metrics.inet)) if inet]


def places_of(node: str, config: Config, addresses: Sequence[str]) -> dict[str, str]:
    """Return the settings that a node has instead of those that all nodes share.

    Args:
        addresses: a free address for each of `shared_ports`.
    """
    places = dict(zip(shared_ports(config), addresses, strict=True))
    socket = config.channel.unix_socket
    if socket is not None:
        places["channel.unix_socket"] = str(socket.with_name(f"{socket.stem}-{node}{socket.suffix}"))
    return places


def with_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of this process with other settings, which are given by their dotted keys."""
    given = {variable_of(key): value for key, value in settings.items()}
    return {name: value for name, value in os.environ.items() if name.upper() not in given} | given
