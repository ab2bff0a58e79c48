"""A node waits for brokers that are not ready; it ends with status 2 only for a wrong setting."""

import asyncio
import logging
import signal
import ssl
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")

from nats.errors import NoRespondersError  # noqa: E402
from nats.errors import TimeoutError as NatsTimeout  # noqa: E402
from nats.js.errors import APIError, KeyWrongLastSequenceError, NoStreamResponseError  # noqa: E402

from sonicpy.cluster.log import (
    jetstream_vault,  # noqa: E402
    refusals,  # noqa: E402
)
from sonicpy.cluster.log import patience as patience_module  # noqa: E402
from sonicpy.cluster.log.broker import NotReady  # noqa: E402
from sonicpy.cluster.log.ending import close  # noqa: E402
from sonicpy.cluster.log.jetstream import JetStream, connect  # noqa: E402
from sonicpy.cluster.log.patience import TELL_S, Patience, at_last  # noqa: E402
from sonicpy.cluster.log.refusals import meaning  # noqa: E402
from sonicpy.cluster.operator.dev import HOST, free_ports  # noqa: E402
from sonicpy.cluster.registry.registry import Registry  # noqa: E402
from sonicpy.errors import ConfigError, SonicError, StoreError  # noqa: E402
from tests.cluster.pretender import pretending, refusal  # noqa: E402
from tests.processes import environment  # noqa: E402
from tests.support.patience import WAIT_S

# Status and code of errors of NATS 2.12, as its list of errors has them.
ELECTING = [(503, 10004), (503, 10005), (503, 10008), (500, 10009), (500, 10006), (400, 10040), (400, 10044)]
FULL = [(503, 10023), (500, 10028), (500, 10047), (400, 10002), (503, 10076), (503, 10077), (500, 10118)]
UNKNOWN_AND_PASSING = [(500, 19999), (503, 19999), (503, None)]
NO_TIME_CURES = [(503, 10039), (503, 10035), (503, 10010), (500, 10074), (400, 10120)]


def error_of(status: int, code: int | None) -> APIError:
    """Return the error that nats-py raises for an answer."""
    try:
        APIError.from_error({"code": status, "err_code": code, "description": "said so"})
    except APIError as error:
        return error
    raise AssertionError


@pytest.mark.parametrize(("status", "code"), [*ELECTING, *FULL, *UNKNOWN_AND_PASSING])
def test_what_time_cures_is_waited_for(status: int, code: int | None) -> None:
    assert type(meaning(error_of(status, code))) is NotReady


@pytest.mark.parametrize(("status", "code"), NO_TIME_CURES)
def test_what_only_a_setting_cures_names_it(status: int, code: int) -> None:
    found = meaning(error_of(status, code))
    assert isinstance(found, ConfigError)
    assert f"said so, code {code}" in str(found)
    assert "; allowed " in str(found)


@pytest.mark.parametrize(
    "error", [NatsTimeout(), NoRespondersError(), NoStreamResponseError(), ConnectionRefusedError(111, "refused"),
              TimeoutError(), KeyWrongLastSequenceError("wrong last sequence")]
)  # fmt: skip
def test_silence_is_waited_for(error: Exception) -> None:
    assert type(meaning(error)) is NotReady


def test_a_refusal_of_what_was_asked_is_neither() -> None:
    found = meaning(error_of(400, 10025))
    assert isinstance(found, StoreError)
    assert not isinstance(found, NotReady)


def test_a_certificate_that_is_not_trusted_is_a_setting() -> None:
    error = ssl.SSLCertVerificationError(1, "bad")
    error.verify_message = "self-signed certificate"
    assert isinstance(meaning(error), ConfigError)


async def open_registry(address: str) -> None:
    connection = await connect(f"nats://{address}", "test")
    try:
        await Registry.open(connection, within_s=0.0)
    finally:
        await close(connection)


STARTS: list[tuple[Mapping[str, Any] | None, dict[str, Any], type[SonicError], str]] = [
    (refusal(503, 10008, "JetStream system temporarily unavailable"), {}, NotReady, "code 10008"),
    (None, {}, NotReady, "not ready"),  # JetStream is not up yet, or its disk was full
    (None, {"jetstream": False}, ConfigError, "the broker that answers has no JetStream"),
    (refusal(503, 10039, "JetStream not enabled for account"), {}, ConfigError, "code 10039"),
    (refusal(404, 10059, "stream not found"), {}, ConfigError, "run sonicpy cluster init first"),
]


@pytest.mark.parametrize(("answer", "info", "kind", "said"), STARTS)
def test_a_start_tells_a_setting_from_brokers_that_are_not_ready(
    answer: Mapping[str, Any] | None,
    info: dict[str, Any],
    kind: type[SonicError],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(jetstream_vault, "SURE_S", 0.0)
    with pretending(answer, **info) as broker, pytest.raises(kind, match=said) as caught:
        asyncio.run(open_registry(broker.address))
    assert type(caught.value) is kind


def test_a_missing_cluster_is_believed_only_if_it_is_said_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster counts as missing only after answers over some time: a new leader may not have loaded its streams
    yet.
    """
    monkeypatch.setattr(jetstream_vault, "PAUSE_S", 0.02)
    monkeypatch.setattr(jetstream_vault, "SURE_S", 0.3)
    with pretending(refusal(404, 10059, "stream not found")) as broker:
        with pytest.raises(ConfigError, match="hold no cluster"):
            asyncio.run(open_registry(broker.address))
        assert len(broker.asked) > 2


def test_a_missing_log_is_believed_only_if_it_is_said_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(address: str) -> None:
        connection = await connect(f"nats://{address}", "test")
        try:
            await JetStream(connection).epoch(0)
        finally:
            await close(connection)

    monkeypatch.setattr("sonicpy.cluster.log.jetstream.SURE_S", 0.3)
    with pretending(refusal(404, 10059, "stream not found")) as broker:
        with pytest.raises(StoreError, match="the brokers have no stream sonicpy_0"):
            asyncio.run(ask(broker.address))
        assert len(broker.asked) > 2
    assert refusals.SURE_S > 1


def test_a_wait_is_told_now_and_then_and_its_end_once(caplog: pytest.LogCaptureFixture) -> None:
    clock = [0.0]

    async def test() -> None:
        patience = Patience("the node n1", lambda: clock[0])
        for _ in range(int(3 * TELL_S) + 1):
            await patience.wait(NotReady("no leader"), 0.0)
            clock[0] += 1.0
        patience.end()

    with caplog.at_level(logging.WARNING):
        asyncio.run(test())
    *waits, end = [record.message for record in caplog.records]
    assert len(waits) == 3
    assert all("no leader" in line and "the node n1 has waited for" in line for line in waits)
    assert "the brokers answer after" in end


def test_a_start_goes_on_once_the_brokers_are_ready(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience_module, "AGAIN_S", 0.0)
    errors: list[Exception] = [NotReady("no leader"), NatsTimeout(), NoRespondersError(), error_of(503, 10008)]

    async def attempt() -> str:
        if errors:
            raise errors.pop(0)
        return "open"

    assert asyncio.run(at_last("a test", attempt)) == "open"
    errors.append(error_of(503, 10039))
    with pytest.raises(ConfigError, match="code 10039"):
        asyncio.run(at_last("a test", attempt))


@pytest.mark.full
def test_a_node_waits_for_brokers_and_ends_in_order_if_it_is_stopped(tmp_path: Path) -> None:
    address = f"nats://{HOST}:{free_ports(1)[0]}"
    with pretending(refusal(503, 10008, "JetStream system temporarily unavailable")) as broker:
        command = [
            *(sys.executable, "-m", "sonicpy", "serve", "--node", "n1", "--data", str(tmp_path / "data")),
            *("--cluster", f"{address},nats://{broker.address}", "--inet", f"{HOST}:0"),
        ]
        process = subprocess.Popen(command, env=environment({}), stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        line = process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=WAIT_S)[1]
    assert "the node n1 has waited for" in line
    assert "code 10008" in line
    assert rest == ""
    assert process.returncode == 0
