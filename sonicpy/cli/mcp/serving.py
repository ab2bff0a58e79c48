"""Serves tools over the Model Context Protocol, on the standard input and output, by the package mcp."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import suppress
from threading import Thread
from typing import Any, Self

from sonicpy.cli.mcp.tools import Tool, ToolBox, ToolRefused
from sonicpy.errors import ConfigError
from sonicpy.version import VERSION

try:
    import anyio
    import anyio.to_thread
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server
except ImportError as missing:
    raise ConfigError("mcp needs the package mcp: run pip install 'sonicpy-search[mcp]'.") from missing

INSTRUCTIONS = """\
A full-text index of words. A collection has buckets, a bucket has objects. A search returns the names of objects that \
match, best first. collections and buckets list the names that there are."""


def serve(box: ToolBox) -> None:
    """Answer an assistant until it closes the standard input. Raises OSError if the standard output takes no more."""
    try:
        anyio.run(_serve, box)
    except* OSError as failed:
        raise next(_leaves(failed)) from None


def _leaves(group: BaseException) -> Iterator[BaseException]:
    """Yield the errors of a group, and of the groups in it."""
    if isinstance(group, BaseExceptionGroup):
        for error in group.exceptions:
            yield from _leaves(error)
    else:
        yield group


async def _serve(box: ToolBox) -> None:
    server = make_server(box)
    async with stdio_server(stdin=InputLines()) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class InputLines:
    """The lines of the standard input, for the running loop.

    A daemon thread reads them, so that Ctrl-C ends the program at once; the thread of the package would wait for a
    line.
    """

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        Thread(target=self._read, args=(asyncio.get_running_loop(),), daemon=True).start()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> str:
        line = await self._lines.get()
        if line is None:
            raise StopAsyncIteration
        return line

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        with open(0, "rb", closefd=False) as input_bytes, suppress(RuntimeError):  # the loop is closed
            for line in input_bytes:
                loop.call_soon_threadsafe(self._lines.put_nowait, line.decode(errors="replace"))
            loop.call_soon_threadsafe(self._lines.put_nowait, None)


def make_server(box: ToolBox) -> Any:
    """Return a server of the package mcp that offers the tools."""

    async def list_tools(context: Any, params: Any) -> Any:
        return types.ListToolsResult(tools=[_listed(tool) for tool in box.tools])

    async def call_tool(context: Any, params: Any) -> Any:
        try:
            answer = await anyio.to_thread.run_sync(box.call, params.name, params.arguments or {})
        except ToolRefused as refused:
            return types.CallToolResult(content=[_text(str(refused))], is_error=True)
        return types.CallToolResult(
            content=[_text(json.dumps(answer, ensure_ascii=False))], structured_content=answer
        )  # fmt: skip

    return Server(
        "sonicpy", version=VERSION, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool
    )


def _text(text: str) -> Any:
    return types.TextContent(type="text", text=text)


def _listed(tool: Tool) -> Any:
    hints = types.ToolAnnotations(
        read_only_hint=not tool.is_change,
        destructive_hint=tool.is_erasing,
        idempotent_hint=True,
        open_world_hint=False,
    )
    return types.Tool(name=tool.name, description=tool.sentence, input_schema=tool.schema, annotations=hints)
