"""The verbs that move the data of a cluster: `rebalance`, `spread`, `recover`, `import`, `backup`, `restore`."""

import argparse
from pathlib import Path

from sonicpy.cli.arguments import Verbs, seconds
from sonicpy.cli.brokers import add_brokers, brokers
from sonicpy.cli.cluster_room import load_cluster
from sonicpy.cli.settings import load_settings
from sonicpy.errors import ConfigError

REBALANCE_S = 3600.0


def add_verbs(below: Verbs) -> None:
    """Add the verbs below `cluster`."""
    _add_rebalance(below)
    _add_spread(below)
    _add_recover(below)
    _add_import(below)
    _add_backup(below)
    _add_restore(below)


def _add_rebalance(below: Verbs) -> None:
    parser = below.add_parser(
        "rebalance",
        description="After add or drain: wait until every partition is where it belongs, then let the nodes that held "
        "it before delete it. The cluster serves meanwhile.",
        epilog="example: sonicpy cluster rebalance --cluster nats://a,nats://b,nats://c",
    )
    add_brokers(parser)
    parser.add_argument(
        "--timeout", metavar="S", type=seconds, default=REBALANCE_S, help="time limit in seconds (default: 3600)"
    )
    parser.set_defaults(run=rebalance)


def _add_spread(below: Verbs) -> None:
    parser = below.add_parser(
        "spread",
        description="Let each bucket of a collection have parts in several partitions, for a bucket that outgrows a "
        "machine. Only while the collection holds no bucket.",
        epilog="example: sonicpy cluster spread messages 8 --cluster nats://a,nats://b,nats://c",
    )
    parser.add_argument("collection", metavar="COLLECTION", help="its name")
    parser.add_argument("parts", metavar="PARTS", type=int, help="number of parts of each bucket; 1: it is not spread")
    add_brokers(parser)
    parser.set_defaults(run=spread)


def _add_recover(below: Verbs) -> None:
    parser = below.add_parser(
        "recover",
        description="Rebuild replicas. With --from: replicas have stopped because the brokers lost a log, or they "
        "differ; that of the named node is right. With --node alone: the replicas of this node are deleted and begin "
        "with snapshot and log.",
        epilog="example: sonicpy cluster recover --from n1 --cluster nats://a,nats://b,nats://c",
    )
    add_brokers(parser)
    parser.add_argument("--from", dest="source", metavar="NODE", default="", help="the node whose replicas are right")
    parser.add_argument("--node", metavar="NODE", default="", help="rebuild only the replicas of this node")
    parser.add_argument(
        "--partition", metavar="N", type=int, help="only this partition, even if nothing is wrong with it"
    )
    parser.add_argument(
        "--anyway", action="store_true", help="even if another node holds newer changes, which are lost then"
    )
    parser.set_defaults(run=recover)


def _add_import(below: Verbs) -> None:
    parser = below.add_parser(
        "import",
        description="Push the content of a store, a backup, or the backup of a cluster into a cluster, in the same "
        "order, while it serves. The settings must be those of the nodes.",
        epilog="example: sonicpy cluster import ./data/store --cluster nats://a,nats://b,nats://c",
    )
    parser.add_argument("path", metavar="DIR", type=Path, help="folder of the index or backup")
    _add_settings(parser)
    parser.set_defaults(run=import_)


def _add_backup(below: Verbs) -> None:
    parser = below.add_parser(
        "backup",
        description="Write a snapshot of every partition into a new folder on this machine.",
        epilog="example: sonicpy cluster backup ./backup --cluster nats://a,nats://b,nats://c",
    )
    parser.add_argument("path", metavar="DIR", type=Path, help="a folder that does not exist, or is empty")
    add_brokers(parser)
    parser.set_defaults(run=back_up)


def _add_restore(below: Verbs) -> None:
    parser = below.add_parser(
        "restore",
        description="Push the backup of a cluster into an empty cluster, of any number of partitions.",
        epilog="example: sonicpy cluster restore ./backup --cluster nats://a,nats://b,nats://c",
    )
    parser.add_argument("path", metavar="DIR", type=Path, help="a folder written by sonicpy cluster backup")
    _add_settings(parser)
    parser.set_defaults(run=restore)


def _add_settings(parser: argparse.ArgumentParser) -> None:
    add_brokers(parser)
    parser.add_argument("-c", "--config", metavar="FILE", type=Path, help="settings file of the nodes (TOML)")
    parser.set_defaults(inet=None, log_level=None, data=None)


def rebalance(arguments: argparse.Namespace) -> int:
    """Wait until the partitions have moved; return the exit status. Raises SonicError."""
    layout = load_cluster("node.moves").rebalance(brokers(arguments), arguments.timeout, _say)
    for node in layout.nodes:
        print(f"{node}: {len(layout.of_node(node))} partitions")
    return 0


def spread(arguments: argparse.Namespace) -> int:
    """Divide the buckets of a collection into parts; return the exit status. Raises SonicError."""
    module = load_cluster("operator.spread_collection")
    layout = module.spread(brokers(arguments), arguments.collection, arguments.parts)
    for name, parts in layout.spread:
        print(f"{name}: each bucket has {parts} parts")
    if arguments.parts == 1:
        print(f"{arguments.collection}: no bucket is spread")
    return 0


def recover(arguments: argparse.Namespace) -> int:
    """Make replicas anew; return the exit status. Raises SonicError."""
    if not arguments.source and not arguments.node:
        raise ConfigError("--from and --node are missing; allowed is one of them, or both.")
    module = load_cluster("operator.recover")
    wish = module.Wish(arguments.source, arguments.node, arguments.partition, arguments.anyway)
    number = module.recover(brokers(arguments), wish, _say)
    print(f"{number} partitions recovered")
    return 0


def import_(arguments: argparse.Namespace) -> int:
    """Push a folder into a cluster; return the exit status. Raises SonicError."""
    config = load_settings(arguments).config
    number = load_cluster("operator.transfer").import_folder(brokers(arguments), arguments.path, config, _say)
    print(f"{number} objects imported")
    return 0


def back_up(arguments: argparse.Namespace) -> int:
    """Write the backup of a cluster; return the exit status. Raises SonicError."""
    size = load_cluster("operator.transfer").backup(brokers(arguments), arguments.path, _say)
    print(f"{arguments.path} holds {size} bytes")
    return 0


def restore(arguments: argparse.Namespace) -> int:
    """Push a backup into an empty cluster; return the exit status. Raises SonicError."""
    config = load_settings(arguments).config
    number = load_cluster("operator.transfer").restore(brokers(arguments), arguments.path, config, _say)
    print(f"{number} objects restored")
    return 0


def _say(line: str) -> None:
    print(line, flush=True)
