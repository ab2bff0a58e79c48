"""`sonicpy cluster`: make a cluster, show it, or try one on this machine."""

import argparse
import json
from pathlib import Path

from sonicpy.cli import cluster_data
from sonicpy.cli.arguments import Verbs
from sonicpy.cli.brokers import add_brokers, brokers
from sonicpy.cli.cluster_room import load_cluster
from sonicpy.errors import ConfigError

DESCRIPTION = "Several machines that hold the same index; needs pip install 'sonicpy-search[cluster]'."
WHATS = "init, status, snapshot, add, drain, rebalance, spread, recover, import, backup, restore, upgrade or dev"
PARTITIONS = 16
PARTITIONS_MAX = 1024
COPIES = 3
LOGS = 1


def add_verbs(verbs: Verbs) -> None:
    """Add `cluster` and the verbs below it to the command line."""
    parser = verbs.add_parser(
        "cluster", description=DESCRIPTION, epilog="example: sonicpy cluster dev --data ./cluster"
    )
    below = parser.add_subparsers(metavar="WHAT", required=True, help=WHATS)
    _add_init(below)
    _add_status(below)
    _add_snapshot(below)
    _add_change(below, "add", "Let one more node hold partitions")
    _add_change(below, "drain", "Take all partitions from a node")
    _add_upgrade(below)
    cluster_data.add_verbs(below)
    _add_dev(below)


def _add_init(below: Verbs) -> None:
    parser = below.add_parser(
        "init",
        description="Make the cluster: once, before its nodes start. The number of partitions cannot change later.",
        epilog="example: sonicpy cluster init --cluster nats://a,nats://b,nats://c "
        "--monitor http://a:8222,http://b:8222,http://c:8222 --nodes n1,n2,n3",
    )
    add_brokers(parser)
    parser.add_argument("--monitor", metavar="URLS", required=True, help="the monitoring addresses of all brokers")
    parser.add_argument("--nodes", metavar="NAMES", required=True, help="names of the nodes that hold partitions")
    parser.add_argument(
        "--like", metavar="DIR", type=Path, help="cut texts as this backup, which the cluster can then restore"
    )
    _add_layout(parser)
    parser.set_defaults(run=init)


def _add_status(below: Verbs) -> None:
    parser = below.add_parser(
        "status",
        description="Show the partitions, and how far each node is. Exit status 1: a replica is missing or differs.",
        epilog="example: sonicpy cluster status --cluster nats://a,nats://b,nats://c",
    )
    add_brokers(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=status)


def _add_snapshot(below: Verbs) -> None:
    parser = below.add_parser(
        "snapshot",
        description="Let the nodes give the brokers a snapshot of every partition, and cut off the part of the log "
        "that two snapshots cover. Run it once a day or so: the log keeps every change until then.",
        epilog="example: sonicpy cluster snapshot --cluster nats://a,nats://b,nats://c",
    )
    add_brokers(parser)
    parser.set_defaults(run=snapshot)


def _add_upgrade(below: Verbs) -> None:
    parser = below.add_parser(
        "upgrade",
        description="Let the nodes write the newest version of the log's entries that each of them reads: after a new "
        "version of sonicpy was installed on all of them, one after the other.",
        epilog="example: sonicpy cluster upgrade --cluster nats://a,nats://b,nats://c",
    )
    add_brokers(parser)
    parser.set_defaults(run=upgrade)


def _add_change(below: Verbs, verb: str, what: str) -> None:
    parser = below.add_parser(
        verb,
        description=f"{what}. The nodes that gain partitions open them at once; `sonicpy cluster rebalance` waits for "
        "that, and then lets the nodes that held them before delete them.",
        epilog=f"example: sonicpy cluster {verb} n4 --cluster nats://a,nats://b,nats://c",
    )
    parser.add_argument("node", metavar="NAME", help="name of the node")
    add_brokers(parser)
    parser.set_defaults(run=change, change=verb)
    if verb == "drain":
        parser.add_argument("--force", action="store_true", help="even if partitions have too few replicas then")


def _add_dev(below: Verbs) -> None:
    parser = below.add_parser(
        "dev",
        description="Run three brokers and three nodes on this machine until a stop signal, to try a cluster. Prints "
        "the address of each node, then `ready`.",
        epilog="example: sonicpy cluster dev --data ./cluster",
    )
    parser.add_argument(
        "--data", metavar="DIR", type=Path, help="keep everything in this folder (default: a temporary one)"
    )
    _add_layout(parser)
    parser.set_defaults(run=dev)


def _add_layout(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--partitions", metavar="N", type=int, default=PARTITIONS, help="number of partitions (default: 16)"
    )
    parser.add_argument(
        "--copies", metavar="N", type=int, default=COPIES, help="number of nodes that hold each partition (default: 3)"
    )
    parser.add_argument(
        "--logs", metavar="N", type=int, default=LOGS, help="number of logs that the partitions share (default: 1)"
    )


def init(arguments: argparse.Namespace) -> int:
    """Make a cluster; return the exit status. Raises SonicError."""
    setup = load_cluster("operator.setup")
    nodes = arguments.nodes.split(",")
    _check_layout(arguments)
    monitors = arguments.monitor.split(",")
    analyzer = None if arguments.like is None else load_cluster("operator.transfer").made_with(arguments.like)
    layout = arguments.partitions, arguments.copies, nodes, arguments.logs
    made = setup.init(brokers(arguments), monitors, *layout, analyzer)
    print(f"the cluster has {made.partitions} partitions on {', '.join(made.nodes)}")
    return 0


def status(arguments: argparse.Namespace) -> int:
    """Show a cluster; return the exit status. Raises SonicError."""
    found = load_cluster("registry.status").status(brokers(arguments))
    if arguments.json:
        print(json.dumps(found.figures))
    else:
        for line in found.lines():
            print(line)
    return 0 if found.is_whole else 1


def snapshot(arguments: argparse.Namespace) -> int:
    """Take snapshots of all partitions; return the exit status. Raises SonicError."""
    for done in load_cluster("node.snapshots").snapshot_all(brokers(arguments)):
        print(
            f"partition {done['partition']}: a snapshot of {done['bytes']} bytes at {done['position']}, "
            f"the log begins at {done['log_from']}"
        )
    return 0


def upgrade(arguments: argparse.Namespace) -> int:
    """Make nodes write a newer version of entries; return the exit status. Raises SonicError."""
    found = load_cluster("registry.upgrade").upgrade(brokers(arguments))
    before, after = found.before, found.after
    if after.version == before.version:
        print(f"nodes go on to write entries of version {after.version}, the newest that {', '.join(found.last)} read")
    else:
        print(f"nodes write entries of version {after.version} from now on, not {before.version}")
    if new := sorted(after.names - before.names):
        print(f"their changes may use {', '.join(new)}")
    return 0


def change(arguments: argparse.Namespace) -> int:
    """Assign partitions to a new node, or those of a node to the others; return the exit status. Raises SonicError."""
    setup = load_cluster("operator.setup")
    if arguments.change == "add":
        layout = setup.add(brokers(arguments), arguments.node)
    else:
        layout = setup.drain(brokers(arguments), arguments.node, force=arguments.force)
    for node in layout.nodes:
        print(f"{node}: {len(layout.settled().of_node(node))} partitions, when sonicpy cluster rebalance is done")
    return 0


def dev(arguments: argparse.Namespace) -> int:
    """Run a cluster on this machine, to try it; return the exit status. Raises SonicError."""
    _check_layout(arguments)
    said: int = load_cluster("operator.dev").run(
        arguments.data, arguments.partitions, arguments.copies, arguments.logs, _say
    )
    return said


def _check_layout(arguments: argparse.Namespace) -> None:
    for name, most in (("partitions", PARTITIONS_MAX), ("copies", 7), ("logs", arguments.partitions)):
        number = getattr(arguments, name)
        if not 1 <= number <= most:
            raise ConfigError(f"--{name} is {number}; allowed is 1 to {most}.")


def _say(line: str) -> None:
    print(line, flush=True)
