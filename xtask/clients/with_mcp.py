"""The official client of MCP for Python, by HTTP and as the process that starts `ken`."""
import asyncio
import contextlib
import json
import os

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from rows import QUESTION, SERVER, check_words, report
from stand_in import BERTH


@contextlib.asynccontextmanager
async def by_http():
    async with streamable_http_client(f"{SERVER}/mcp") as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()
        yield session


@contextlib.asynccontextmanager
async def by_stdio():
    program, *arguments = json.loads(os.environ["TRIAL_MCP"])
    server = StdioServerParameters(command=program, args=arguments, env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


async def use(opened):
    """What an agent does: it lists the tools, searches, fetches what it found, and asks."""
    async with opened() as session:
        tools = {tool.name for tool in (await session.list_tools()).tools}
        assert tools == {"search", "fetch", "ask", "knows"}, tools
        found = (await session.call_tool("search", {"query": QUESTION})).structured_content["results"]
        fetched = (await session.call_tool("fetch", {"id": found[0]["id"]})).structured_content
        assert "berth 14" in fetched["text"], fetched
        said = (await session.call_tool("ask", {"question": QUESTION})).structured_content
        check_words(said["answer"], BERTH)
        refused = await session.call_tool("fetch", {"id": "nothing"})
        assert refused.is_error, refused


def http():
    """HTTP: tools are listed; search, fetch, ask; an unknown id is an error"""
    asyncio.run(use(by_http))


def stdio():
    """stdio: tools are listed; search, fetch, ask; an unknown id is an error"""
    asyncio.run(use(by_stdio))


report("mcp", [http, stdio])
