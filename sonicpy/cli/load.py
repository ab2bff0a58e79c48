"""The verb `sonicpy load`: agents send queries to servers; the runner chooses the queries and reports the times."""

import argparse
import asyncio
import contextlib
import os
import secrets
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from sonicpy.children import ends_with_parent
from sonicpy.cli.arguments import Verbs, number, seconds
from sonicpy.cli.output import add_json, show
from sonicpy.cli.passwords import PASSWORD_VARIABLE, password_given
from sonicpy.client.address import Address
from sonicpy.client.client_settings import TIMEOUT_S
from sonicpy.config import split_address
from sonicpy.errors import LoadError
from sonicpy.interpreter import sonicpy_command
from sonicpy.load.agent import Agent
from sonicpy.load.hub import HELLO_S, Guest, LoadOutcome, default_deadline_s, open_hub
from sonicpy.load.messages import DEFAULT_HUB
from sonicpy.load.report import as_text, figures, write_csv, write_json
from sonicpy.load.test_set import TestSet, read_test_set

NO_AGENTS = 2
BAD_SET = 3
PARTIAL = 4
NOT_ALL_SUCCEEDED = 5

DESCRIPTION = """\
Put servers under load. `agent` sends the queries of a runner to servers; `run` hands a test set to all agents that
connect within --wait seconds and prints the times of the answers; `list` prints those agents. Agents may start before
the runner, serve any number of runs, and live on other machines. A test set is a JSON file such as
{"Iterations": 250, "Spaces": ["articles/default"], "Queries": ["bike", "new york"], "Limit": 10}; those of Letarette's
lrload work unchanged.
Exit status of run: 0 done, 2 no agents, 3 the test set cannot be read, 4 some agents did not answer in time, 5 with
--strict: not every query succeeded."""
EXAMPLE = "example: sonicpy load run --agents 4 --server 127.0.0.1:1491 simple.json"

ADDRESS_HELP = "HOST:PORT on which the runner meets its agents (default: 127.0.0.1:14910)"


def add_verbs(verbs: Verbs) -> None:
    """Add `load` and its three jobs to the command line."""
    parser = verbs.add_parser(
        "load", description=DESCRIPTION, epilog=EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    jobs = parser.add_subparsers(metavar="JOB", required=True, help="agent, list or run")
    agent = jobs.add_parser("agent", description="Ask servers whatever a runner wants, until it is interrupted.")
    agent.add_argument("--hub", metavar="HOST:PORT", type=_address, default=DEFAULT_HUB, help=ADDRESS_HELP)
    _add_servers(agent)
    agent.add_argument("--name", default="", help="shown by list")
    agent.set_defaults(run=run_agent)
    listing = jobs.add_parser("list", description="Print the agents that connect within --wait seconds.")
    _add_hub(listing)
    add_json(listing)
    listing.set_defaults(run=run_list)
    run = jobs.add_parser("run", description="Hand a test set to agents and print how long the answers took.")
    run.add_argument("set", metavar="TESTSET.json", type=Path)
    _add_hub(run)
    run.add_argument("--agents", metavar="N", type=number, default=0, help="start N agents here, for this run")
    _add_servers(run)
    run.add_argument("--limit", metavar="N", type=number, help="use at most N agents")
    run.add_argument("--output", metavar="FILE", type=Path, help="write one CSV line for each query")
    run.add_argument("--json", metavar="FILE", type=Path, help="write the figures as JSON")
    run.add_argument("--seed", metavar="N", type=number, help="repeat the choice of queries (default: at random)")
    run.add_argument("--deadline", metavar="S", type=seconds, help="wait for agents at most S seconds")
    run.add_argument("--strict", action="store_true", help="exit status 5 unless every query succeeded")
    run.set_defaults(run=run_set)


def _add_hub(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--hub", metavar="HOST:PORT", type=_address, default=DEFAULT_HUB, help=ADDRESS_HELP)
    parser.add_argument(
        "--wait", metavar="S", type=seconds, default=HELLO_S, help=f"wait S seconds for agents (default: {HELLO_S:g})"
    )


def _add_servers(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--server",
        metavar="HOST:PORT[,HOST:PORT...]",
        type=_addresses,
        default=[("127.0.0.1", 1491)],
        help="the servers; each query goes to all of them (default: 127.0.0.1:1491)",
    )
    parser.add_argument(
        "--password", metavar="P", help=f"the password of the servers (default: {PASSWORD_VARIABLE}, which hides it)"
    )
    parser.add_argument("--connections", metavar="N", type=number, default=1, help="queries under way (default: 1)")
    parser.add_argument(
        "--timeout", metavar="S", type=seconds, default=TIMEOUT_S, help=f"for an answer (default: {TIMEOUT_S:g})"
    )


def run_agent(arguments: argparse.Namespace) -> int:
    """Work as an agent until the process is interrupted; return the exit status."""
    password = arguments.password or password_given()
    servers = [Address(host, port, password=password) for host, port in arguments.server]
    agent = Agent(arguments.hub, servers, max(1, arguments.connections), arguments.timeout, arguments.name)
    print(f"agent {agent.id} waits for requests", flush=True)
    asyncio.run(agent.run())
    return 0


def run_list(arguments: argparse.Namespace) -> int:
    """Print the agents that connect; return the exit status. Raises LoadError if the address cannot be used."""
    agents = asyncio.run(_guests(arguments.hub, arguments.wait))
    found = [agent.id for agent in agents]
    show(arguments, found, f"{len(agents)} agents responding: [{', '.join(found)}]")
    return 0 if agents else NO_AGENTS


async def _guests(address: tuple[str, int], wait_s: float) -> list[Guest]:
    async with open_hub(address) as hub:
        return await hub.gather(wait_s)


def run_set(arguments: argparse.Namespace) -> int:
    """Run a test set and print the report; return the exit status. Raises LoadError if the address cannot be used."""
    try:
        asked, unknown = read_test_set(arguments.set)
    except LoadError as error:
        print(f"sonicpy: {error}", file=sys.stderr)
        return BAD_SET
    for key in unknown:
        print(f'sonicpy: the key "{key}" in {arguments.set} has no meaning', file=sys.stderr)
    if count := asked.unknown_syntax():
        print(f"sonicpy: {count} queries use syntax the server does not have: sent as plain text", file=sys.stderr)
    outcome = asyncio.run(_outcome(arguments, asked))
    if outcome is None:
        print("sonicpy: no agents available", file=sys.stderr)
        return NO_AGENTS
    print(as_text(outcome), flush=True)
    if arguments.output:
        write_csv(outcome, arguments.output)
    if arguments.json:
        write_json(outcome, arguments.json)
    if outcome.missing:
        return PARTIAL
    return NOT_ALL_SUCCEEDED if arguments.strict and figures(outcome)["success_ratio"] < 1 else 0


async def _outcome(arguments: argparse.Namespace, asked: TestSet) -> LoadOutcome | None:
    """Wait for agents and run the test set; return None if there is no agent."""
    deadline_s = arguments.deadline or default_deadline_s(asked, arguments.timeout)
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    async with open_hub(arguments.hub) as hub:
        with local_agents(arguments):
            expected = arguments.agents or None
            wait_s = arguments.wait if expected is None else max(arguments.wait, 30.0)
            agents = (await hub.gather(wait_s, expected))[: arguments.limit]
            return await hub.run(asked, agents, seed, deadline_s) if agents else None


@contextlib.contextmanager
def local_agents(arguments: argparse.Namespace) -> Iterator[None]:
    """Run local agents for this run, each in a process, for the length of a `with` block."""
    servers = ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in arguments.server)
    host, port = arguments.hub
    command = sonicpy_command("load", "agent", "--hub", f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    command += ["--server", servers, "--connections", str(arguments.connections), "--timeout", str(arguments.timeout)]
    password = arguments.password or password_given()
    variables = os.environ if password is None else {**os.environ, PASSWORD_VARIABLE: password}
    started = [
        subprocess.Popen(command, stdout=subprocess.DEVNULL, env=variables, preexec_fn=ends_with_parent())
        for _ in range(arguments.agents)
    ]
    try:
        yield
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait()


def _address(text: str) -> tuple[str, int]:
    try:
        return split_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f'"{text}" is not HOST:PORT, such as 127.0.0.1:1491 or [::1]:1491') from error


def _addresses(text: str) -> list[tuple[str, int]]:
    return [_address(part) for part in text.split(",")]
