"""Tests of the files for three machines: compose file, units, settings of brokers, alerts. They fit each other and
sonicpy.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sonicpy.cli.brokers import CLUSTER_VARIABLE
from sonicpy.cli.parser import make_parser
from sonicpy.config import load
from tests.support.patience import WAIT_S

yaml = pytest.importorskip("yaml", reason="needs PyYAML, which the extra test installs")

ROOT = Path(__file__).resolve().parents[1]
FILES = ROOT / "configs" / "cluster"
RUNBOOK = (ROOT / "docs" / "cluster-operations.md").read_text(encoding="utf-8")
COMPOSE = yaml.safe_load((FILES / "compose.yaml").read_text(encoding="utf-8"))
UNITS = sorted(path.name for path in FILES.glob("*.service"))
MACHINE = {
    name: shlex.split(value)[0]
    for line in (FILES / "machine.env").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
    for name, _, value in [line.partition("=")]
}
GROUPS = yaml.safe_load((FILES / "alerts.yaml").read_text(encoding="utf-8"))["groups"]
RULES = [rule for group in GROUPS for rule in group["rules"]]
OF_OTHERS = {"up", "node_filesystem_avail_bytes", "node_filesystem_size_bytes"}
"""Metrics of Prometheus itself and of node_exporter."""


def unit(name: str, key: str) -> list[str]:
    return re.findall(rf"^{key}=(.*)$", (FILES / name).read_text(encoding="utf-8"), re.MULTILINE)


def filled(text: str) -> str:
    """Return a text with the variables of the machine's file replaced by their values, as systemd and compose do."""
    return re.sub(r"\$\{(\w+)[^}]*\}", lambda found: {**MACHINE, "STATE_DIRECTORY": "/var/lib/x"}[found[1]], text)


def command_lines() -> Iterator[list[str]]:
    """Yield every command line of sonicpy in the files for three machines, in their comments and in the runbook."""
    for name in UNITS:
        yield from (shlex.split(filled(line)) for line in unit(name, "ExecStart"))
    yield [filled(word) for word in COMPOSE["services"]["node"]["command"]]
    text = (FILES / "compose.yaml").read_text(encoding="utf-8").replace(" \\\n#", "")
    yield from (shlex.split(line) for line in re.findall(r"run --rm node (sonicpy .*)", text))
    page = RUNBOOK.replace(" \\\n", " ")
    # What comes from a later part of the command line is told in the same words as `sonicpy help cluster` does.
    yield from (shlex.split(line) for line in re.findall(r"^ *(sonicpy cluster .*)$", page, re.MULTILINE))


@pytest.mark.parametrize("line", [line for line in command_lines() if line[0].endswith("sonicpy")], ids=" ".join)
def test_every_command_line_is_one_of_ours(line: list[str]) -> None:
    make_parser().parse_args(line[1:])


def test_there_are_command_lines() -> None:
    lines = [" ".join([Path(line[0]).name, *line[1:3]]) for line in command_lines()]
    assert {"sonicpy cluster init", "sonicpy cluster snapshot", "sonicpy cluster status"} <= set(lines)
    assert "nats-server -c /etc/sonicpy-broker.conf" in lines


def test_the_settings_are_known() -> None:
    environment = {key: filled(value) for key, value in COMPOSE["services"]["node"]["environment"].items()}
    loaded = load(ROOT / "configs" / "container.cfg", environment, {})
    assert loaded.remarks == ()
    assert loaded.config.metrics.address == ("0.0.0.0", 9491)
    assert loaded.config.channel.auth_password == MACHINE["SONIC_CHANNEL__AUTH_PASSWORD"]


def test_both_services_write_only_their_volumes() -> None:
    for name, service in COMPOSE["services"].items():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert f"{name}-store:/var/lib/sonic/store" in service["volumes"]
        assert (FILES / service["build"]["context"]).resolve() == ROOT
        assert service["build"]["args"]["EXTRAS"] == "[cluster,metrics]"
    assert "./nats.conf:/etc/nats.conf:ro" in COMPOSE["services"]["broker"]["volumes"]
    assert 'install --no-cache-dir ".${EXTRAS}"' in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_brokers_sync_before_they_acknowledge() -> None:
    assert '    sync_interval: "always"\n' in (FILES / "nats.conf").read_text(encoding="utf-8")


def test_a_broker_understands_its_settings(tmp_path: Path) -> None:
    pytest.importorskip("nats", reason="needs nats-py: pip install nats-py")
    from tests.cluster.clusters import broker_program  # noqa: PLC0415

    program = str(broker_program())
    used = set(re.findall(r"\$(\w+)", re.sub(r"#.*", "", (FILES / "nats.conf").read_text(encoding="utf-8"))))
    environment = {name: {**MACHINE, "STORE": str(tmp_path)}[name] for name in used}
    done = subprocess.run(
        [program, "-t", "-c", str(FILES / "nats.conf")],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=WAIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert used - {"STORE"} <= set(COMPOSE["services"]["broker"]["environment"])


@pytest.mark.parametrize("name", UNITS)
def test_units_take_away_what_they_do_not_need(name: str) -> None:
    for key in ("DynamicUser", "NoNewPrivileges", "PrivateTmp", "ProtectHome"):
        assert unit(name, key) == ["yes"], key
    assert unit(name, "ProtectSystem") == ["strict"]
    assert unit(name, "EnvironmentFile") == ["/etc/default/sonicpy-cluster"]
    used = set(re.findall(r"\$\{(\w+)\}", (FILES / name).read_text(encoding="utf-8")))
    assert used <= {*MACHINE, "STATE_DIRECTORY"}


def test_what_is_killed_is_started_again_for_as_long_as_it_takes() -> None:
    for name in ("sonicpy-node.service", "sonicpy-broker.service"):
        assert unit(name, "Restart") == ["on-failure"]
        assert unit(name, "StartLimitIntervalSec") == ["0"]
        assert unit(name, "RestartPreventExitStatus") == []
    assert {service["restart"] for service in COMPOSE["services"].values()} == {"unless-stopped"}


def test_no_command_line_holds_the_addresses_of_brokers() -> None:
    """Addresses of brokers may hold a password, and other users see command lines."""
    for line in [
        *(line for name in UNITS for line in unit(name, "ExecStart")),
        *COMPOSE["services"]["node"]["command"],
    ]:
        assert "--cluster" not in line
        assert "nats://" not in filled(line)
    assert "SONICPY_CLUSTER" in COMPOSE["services"]["node"]["environment"]
    assert CLUSTER_VARIABLE in MACHINE


@pytest.mark.parametrize("name", [*UNITS, "sonicpy-snapshot.timer"])
def test_systemd_understands_the_unit(name: str, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("needs systemd-analyze")
    for path in FILES.glob("sonicpy-*"):  # it looks whether the programs are there, and what a timer starts
        text = re.sub(r"/opt/sonicpy/bin/[\w-]+", sys.executable, path.read_text(encoding="utf-8"))
        (tmp_path / path.name).write_text(text, encoding="utf-8")
    command = [program, "verify", tmp_path / name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=WAIT_S)
    assert (done.returncode, done.stderr) == (0, "")


# -- alerts ------------------------------------------------------------------------------------------------------------


def known_metrics() -> set[str]:
    """Return the names of the samples of every metric that the pages name."""
    rows = RUNBOOK + (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    found = {*OF_OTHERS}
    for name, kind in re.findall(r"^\| `(sonicpy_\w+)` \| (\w+) \|", rows, re.MULTILINE):
        name = name.removesuffix("_total")
        found |= {"gauge": {name}, "counter": {f"{name}_total"}}.get(kind, {f"{name}_count", f"{name}_sum"})
    return found


def selectors(expression: Any) -> Iterator[Any]:
    """Yield the selectors of metrics in an expression."""
    if hasattr(expression, "name") and hasattr(expression, "matchers"):
        yield expression
        return
    for part in ("lhs", "rhs", "expr", "vector_selector", "args"):
        found = getattr(expression, part, None)
        for one in found if isinstance(found, list) else [] if found is None else [found]:
            yield from selectors(one)


@pytest.mark.parametrize("rule", RULES, ids=[rule["alert"] for rule in RULES])
def test_an_alert(rule: dict[str, Any]) -> None:
    """Prometheus can read an alert, its metrics exist, and so does its part of the runbook."""
    promql = pytest.importorskip("promql_parser", reason="needs promql-parser, which the extra test installs")
    expression = promql.parse(rule["expr"])
    names = {selector.name for selector in selectors(expression)}
    assert names
    assert names <= known_metrics()
    page, _, anchor = rule["annotations"]["runbook"].partition("#")
    assert page == "cluster-operations.md"
    headings = re.findall(r"^### (.*)$", RUNBOOK, re.MULTILINE)
    assert anchor in [heading.lower().replace(" ", "-") for heading in headings]
    assert rule["labels"]["severity"] in ("warning", "critical")
    labels = {"instance", "partition", "log", "node", "mountpoint"}
    assert set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"])) <= labels


HEALTHY = {
    "up": 1, "sonicpy_partition_faulty": 0, "sonicpy_partition_lag_seconds": 3.0, "sonicpy_refusing": 0,
    "sonicpy_log_waiting_seconds": 9.0, "sonicpy_brokers_silent_seconds": 5.0,
}  # fmt: skip
"""The worst values of metrics that are usual, even while a new leader is elected."""
BROKEN = {
    "up": 0, "sonicpy_partition_faulty": 1, "sonicpy_partition_lag_seconds": 11.0, "sonicpy_refusing": 1,
    "sonicpy_log_waiting_seconds": 14.0, "sonicpy_brokers_silent_seconds": 16.0,
}  # fmt: skip
COMPARE = {"==": lambda left, right: left == right, ">": lambda left, right: left > right}


def test_alerts_are_silent_as_long_as_all_is_well() -> None:
    promql = pytest.importorskip("promql_parser", reason="needs promql-parser, which the extra test installs")
    told = set()
    for rule in RULES:
        expression = promql.parse(rule["expr"])
        name = getattr(expression.lhs, "name", None)
        if name in HEALTHY:
            told.add(name)
            fires = COMPARE[str(expression.op)]
            assert not fires(HEALTHY[name], expression.rhs.val), rule["alert"]
            assert fires(BROKEN[name], expression.rhs.val), rule["alert"]
    assert told == set(HEALTHY)


Vector = dict[str, float]
"""Partition -> value."""


def evaluated(expression: Any, now: list[tuple[str, float]], before: Vector) -> Vector:
    """Return the value of an expression for each partition; only some kinds of expressions are supported.

    Args:
        now: the samples of the one metric, each with its partition.
        before: the newest sample of each partition, if it is recent.
    """
    kind = type(expression).__name__
    if kind == "ParenExpr":
        return evaluated(expression.expr, now, before)
    if kind == "Call":
        assert expression.func.name == "last_over_time"
        return before
    if kind == "AggregateExpr":
        assert str(expression.op) == "count"
        inner = expression.expr
        if type(inner).__name__ == "Call":
            return dict.fromkeys(before, 1.0)
        assert str(inner.op) == "=="
        well = Counter(partition for partition, value in now if value == inner.rhs.val)
        return {partition: float(count) for partition, count in well.items()}
    left = evaluated(expression.lhs, now, before) if type(expression.lhs).__name__ != "NumberLiteral" else None
    match str(expression.op):
        case "*":
            assert left is None
            return {key: expression.lhs.val * value for key, value in evaluated(expression.rhs, now, before).items()}
        case "or":
            assert left is not None
            return evaluated(expression.rhs, now, before) | left
        case "<":
            assert left is not None
            return {key: value for key, value in left.items() if value < expression.rhs.val}
    raise AssertionError(kind)


@pytest.mark.parametrize(
    ("samples", "fires"),
    [
        ([0, 0, 0], False),
        ([0, 0, 1], False),
        ([0, 1, 1], True),
        ([0], True),
        ([1, 1, 1], True),  # none is well
        ([], True),  # all nodes that hold it are down
    ],
)
def test_too_few_replicas_also_if_there_are_none(samples: list[int], fires: bool) -> None:
    promql = pytest.importorskip("promql_parser", reason="needs promql-parser, which the extra test installs")
    rule = next(rule for rule in RULES if rule["alert"] == "SonicpyTooFewReplicas")
    now = [("3", float(value)) for value in samples] + [("4", 0.0)] * 3
    found = evaluated(promql.parse(rule["expr"]), now, {"3": 0.0, "4": 0.0})
    assert list(found) == (["3"] if fires else [])


def test_prometheus_scrapes_what_nodes_serve() -> None:
    found = yaml.safe_load((FILES / "prometheus.yaml").read_text(encoding="utf-8"))
    jobs = {job["job_name"]: job["static_configs"][0]["targets"] for job in found["scrape_configs"]}
    port = MACHINE["SONIC_METRICS__INET"].rpartition(":")[2]
    assert [target.rpartition(":")[2] for target in jobs["sonicpy"]] == [port] * 3
    used = {match for rule in RULES for match in re.findall(r'job="(\w+)"', rule["expr"])}
    assert used <= set(jobs)
    assert all((FILES / name).exists() for name in found["rule_files"])


def test_each_failure_says_what_is_seen_what_to_do_and_how_to_check() -> None:
    _, _, failures = RUNBOOK.partition("## When something fails\n")
    head, *each = failures.split("\n### ")
    assert each
    assert all(check in head for check in ("`sonicpy cluster status`", "`/readyz`", "`/healthz`"))
    for failure in each:
        heading = failure.partition("\n")[0]
        parts = re.findall(r"^- \*\*(\w+)\*\*", failure, re.MULTILINE)
        assert parts in (["Seen", "Do"], ["Seen", "Do", "Check"]), heading
