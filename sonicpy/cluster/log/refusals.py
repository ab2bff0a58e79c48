"""The meaning of a refusal of the brokers: time cures it, or a setting is wrong, or neither.

Brokers that start, choose a leader, have lost most of each other or are full refuse with many codes, or are silent; so
everything that no table names counts as something that passes, unless it is a refusal of what was asked (HTTP's 4xx).
"""

import ssl
from typing import Any

from nats.js.errors import APIError, KeyWrongLastSequenceError

from sonicpy.cluster.log.broker import NotReady
from sonicpy.errors import ConfigError, SonicError, StoreError

SURE_S = 2.0
"""A broker that has just become the leader may not know yet all that there is: it has to say for this time that
something is missing."""

JETSTREAM_ALLOWED = "allowed are brokers with JetStream"

SETTINGS = {
    10010: "allowed are three brokers that form a cluster",
    10035: "allowed is a user whose account the brokers know",
    10039: "allowed is a user whose account has JetStream",
    10074: "allowed are three brokers that form a cluster",
    10120: "allowed is a user whose account has limits of JetStream",
}
"""By the code of an error of JetStream that only another setting ends: the setting."""

PASSING = frozenset(
    {
        10002,  # the account has no room
        10004,  # incomplete results
        10005,  # no suitable peers
        10006,  # not in clustered mode, yet
        10007,  # not assigned to this broker
        10008,  # temporarily unavailable: no leader
        10009,  # not the leader
        10023,  # insufficient resources
        10028,  # memory is full
        10040,  # a peer is not a member, yet
        10041,  # Raft
        10044,  # the broker is not a member, yet
        10047,  # the disk is full
        10076,  # JetStream is not enabled, as after a full disk
        10077,  # an entry was not stored
        10118,  # the stream is offline
        10119,  # the consumer is offline
    }
)
"""Codes of errors of JetStream that time ends, or room on a disk, whatever HTTP's number beside them says."""

REFUSED = range(400, 500)
"""HTTP's numbers of what is refused for good, unless a code is in the tables."""


def meaning(error: Exception) -> SonicError:
    """Return what to raise for an error of nats-py or of the network.

    Returns:
        ConfigError: only another setting ends it. StoreError: the brokers refuse what was asked. NotReady: anything
        else, so ask again.
    """
    if isinstance(error, ssl.SSLCertVerificationError):
        return ConfigError(
            f"a broker has a certificate that is not trusted ({error.verify_message}); allowed is one that the file "
            "in the variable SSL_CERT_FILE signs."
        )
    if isinstance(error, APIError) and not isinstance(error, KeyWrongLastSequenceError):
        code, status = getattr(error, "err_code", None), getattr(error, "code", None)  # each class sets some of them
        return meaning_of_code(code, status, str(getattr(error, "description", None) or error))
    return NotReady(f"the brokers do not answer ({error or type(error).__name__})")


def meaning_of_answer(answer: dict[str, Any]) -> SonicError:
    """Return what to raise for the part `error` of an answer of JetStream; see `meaning`."""
    return meaning_of_code(answer.get("err_code"), answer.get("code"), str(answer.get("description")))


def meaning_of_code(code: int | None, status: int | None, said: str) -> SonicError:
    """Return what to raise for an error of JetStream; see `meaning`.

    Args:
        code: of the error, such as 10008.
        status: the number that it would have in HTTP.
        said: its description.
    """
    told = f"{said}, code {code}" if code else said
    if code in SETTINGS:
        return ConfigError(f"the brokers refuse ({told}); {SETTINGS[code]}.")
    if code not in PASSING and status in REFUSED:
        return StoreError(f"the brokers refuse ({told})")
    return NotReady(f"the brokers are not ready ({told})")
