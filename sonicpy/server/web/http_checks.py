"""Checks of the section [http] at the start, which `sonicpy config check` makes as well."""

from ipaddress import ip_address

from sonicpy.config import Config, HttpConfig
from sonicpy.config.problems import naming
from sonicpy.errors import ConfigError
from sonicpy.http.application import check_hits
from sonicpy.server.connections.listeners import addresses_of, explaining


def check_http(config: Config) -> None:
    """Check the section [http], whose address is set, without listening.

    Raises:
        ConfigError: other machines can reach the address without a password, or `http.hits` cannot be read.
        SonicError: the name in the address is not known.
    """
    http = config.http
    assert http.address is not None
    host_of(http.address[0], config.channel.auth_password, http)
    if http.hits is not None:
        with naming("http.hits"):
            check_hits(http.hits)


def host_of(name: str, password: str | None, config: HttpConfig) -> str:
    """Return the IP address of the name in http.inet.

    Raises:
        ConfigError: other machines can reach it without a password, and `http.without_password` is false.
        SonicError: the name is not known.
    """
    with explaining(str(config.inet), "http.inet"):
        host = addresses_of(name)[0]
    if password is None and not config.without_password and not ip_address(host).is_loopback:
        raise ConfigError(
            f"http.inet is {config.inet}, which other machines reach, and channel.auth_password is not set; "
            "allowed are an address of this machine alone, a password, or http.without_password = true."
        )
    return host
