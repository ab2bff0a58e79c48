"""The meaning of a refusal of the brokers: it is temporary, or a setting is wrong, or neither.

Brokers that start, elect a leader, lack a majority or are full refuse with many codes, or are silent. So an error that
is in none of the tables below counts as temporary, unless it refuses the request itself (HTTP's 4xx).
"""

import ssl
from typing import Any

from nats.js.errors import APIError, KeyWrongLastSequenceError

from sonicpy.cluster.log.broker import NotReady
from sonicpy.errors import ConfigError, SonicError, StoreError

SURE_S = 2.0
"""The time in seconds over which all answers have to agree before something counts as missing, because a broker that
has just become the leader may lack the newest state.
"""

JETSTREAM_ALLOWED = "allowed are brokers with JetStream"

SETTINGS = {
    10010: "allowed are three brokers that form a cluster",
    10035: "allowed is a user whose account the brokers know",
    10039: "allowed is a user whose account has JetStream",
    10074: "allowed are three brokers that form a cluster",
    10120: "allowed is a user whose account has limits of JetStream",
}
"""Code of an error of JetStream that a setting causes -> the allowed settings, as a part of a sentence."""

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
"""Codes of errors of JetStream that are temporary, or end with room on a disk, whatever their HTTP status."""

REFUSED = range(400, 500)
"""HTTP statuses of permanent refusals, unless the code is in a table."""


def meaning(error: Exception) -> SonicError:
    """Return the exception to raise for an error of nats-py or of the network.

    Returns:
        ConfigError: a setting has to be changed. StoreError: the brokers refuse the request. NotReady: any other error;
            try again.
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
    """Return the exception to raise for the part `error` of an answer of JetStream; see `meaning`."""
    return meaning_of_code(answer.get("err_code"), answer.get("code"), str(answer.get("description")))


def meaning_of_code(code: int | None, status: int | None, said: str) -> SonicError:
    """Return the exception to raise for an error of JetStream; see `meaning`.

    Args:
        code: the code of the error, such as 10008.
        status: its HTTP status.
        said: the description of the error.
    """
    told = f"{said}, code {code}" if code else said
    if code in SETTINGS:
        return ConfigError(f"the brokers refuse ({told}); {SETTINGS[code]}.")
    if code not in PASSING and status in REFUSED:
        return StoreError(f"the brokers refuse ({told})")
    return NotReady(f"the brokers are not ready ({told})")
