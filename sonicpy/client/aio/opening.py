"""open_nearest: a session with the first server that opens one, with a task for each server."""

import asyncio
from collections import deque

from sonicpy.channel.commands import Mode
from sonicpy.client.address import Address
from sonicpy.client.aio.connection import AsyncConnection
from sonicpy.client.servers import HEAD_START_S, Servers, none_answers
from sonicpy.errors import ClientError

Tasks = dict["asyncio.Task[AsyncConnection]", Address]


async def open_nearest(servers: Servers, mode: Mode, timeout_s: float) -> AsyncConnection:
    """Return an open session, and note its server.

    Args:
        timeout_s: as in `AsyncConnection.open`.

    Raises:
        ClientError: no server opened a session.
    """
    if not servers.are_several:
        return await AsyncConnection.open(servers.addresses[0], mode, timeout_s)
    tasks: Tasks = {}
    try:
        connection = await _first(servers, mode, timeout_s, tasks)
    except BaseException:
        await _stop(tasks)
        raise
    try:
        await _stop(tasks)
    except BaseException:  # cancelled: the connection will not be used
        connection.abort()
        raise
    return connection


async def _first(servers: Servers, mode: Mode, timeout_s: float, tasks: Tasks) -> AsyncConnection:
    """Connect to group after group; return the first session, and leave the other tasks in `tasks`. Raises ClientError
    if no server accepts the session.
    """
    asked = servers.groups()
    groups = deque(asked)
    errors: list[ClientError] = []
    while groups or tasks:
        if not tasks:
            _start(groups.popleft(), tasks, mode, timeout_s)
        done, _ = await asyncio.wait(
            tasks, timeout=HEAD_START_S if groups else None, return_when=asyncio.FIRST_COMPLETED
        )
        if not done:
            _start(groups.popleft(), tasks, mode, timeout_s)
        for task in done:
            if task.exception() is None:
                servers.note_open(tasks.pop(task), asked)
                return task.result()
        errors += [_error_of(task, servers, tasks.pop(task)) for task in done]
    raise none_answers(errors)


def _start(group: list[Address], tasks: Tasks, mode: Mode, timeout_s: float) -> None:
    for address in group:
        tasks[asyncio.create_task(AsyncConnection.open(address, mode, timeout_s))] = address


def _error_of(task: "asyncio.Task[AsyncConnection]", servers: Servers, address: Address) -> ClientError:
    """Return the ClientError of a task that opened no session, and note that the server at `address` did not answer.
    Raises any other exception of the task.
    """
    error = task.exception()
    if not isinstance(error, ClientError):
        task.result()
        raise AssertionError("a task without an error opened a session")
    servers.note_lost(address)
    return error


async def _stop(tasks: Tasks) -> None:
    """Cancel the slower tasks and close their sessions, before the first `await`."""
    for task in tasks:
        if not task.cancel() and not task.cancelled() and task.exception() is None:
            task.result().abort()
    await asyncio.gather(*tasks, return_exceptions=True)
