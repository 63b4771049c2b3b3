"""Uses a server's tools with the official MCP client, over HTTP and by a program that it starts.
Arguments: the server's URL, the program, and a corpus."""

import asyncio
import json
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

URL, PROGRAM, CORPUS = sys.argv[1:]


def field(value, snake, camel):
    """A field by either of its names, which differ among versions of the package."""
    return getattr(value, snake, None) or getattr(value, camel, None)


async def use(session):
    await session.initialize()
    tools = (await session.list_tools()).tools
    assert [tool.name for tool in tools] == ["search", "fetch", "ask", "knows"], tools
    found = await session.call_tool("search", {"query": "Orrin lighthouse", "max_tokens": 500})
    results = json.loads(found.content[0].text)["results"]
    assert results and results[0]["id"] and results[0]["url"] and results[0]["title"], results
    fetched = await session.call_tool("fetch", {"id": results[0]["id"]})
    assert field(fetched, "structured_content", "structuredContent")["text"], fetched
    answer = await session.call_tool("ask", {"question": "Who is the keeper of the Orrin lighthouse?"})
    assert field(answer, "structured_content", "structuredContent")["route"], answer
    knows = await session.call_tool("knows", {"question": "What is the capital of France?"})
    known = field(knows, "structured_content", "structuredContent")
    assert 0 <= known["score"] <= 1 and known["policy"] == "prompt", known
    one = await session.call_tool("search", {"query": "Orrin lighthouse", "k": "1"})
    assert len(field(one, "structured_content", "structuredContent")["results"]) == 1, one
    odd = await session.call_tool("search", {"query": "Orrin lighthouse", "k": "many"})
    assert field(odd, "is_error", "isError") and "`k`" in odd.content[0].text, odd
    wrong = await session.call_tool("fetch", {"id": "nothing"})
    assert field(wrong, "is_error", "isError"), wrong


async def main():
    async with streamable_http_client(URL.removesuffix("/v1") + "/mcp") as streams:
        async with ClientSession(*streams[:2]) as session:
            await use(session)
    arguments = ["serve", "mcp", "--corpus", CORPUS, "--policy", "prompt"]
    program = StdioServerParameters(command=PROGRAM, args=arguments, env=dict(os.environ))
    async with stdio_client(program) as streams:
        async with ClientSession(*streams[:2]) as session:
            await use(session)
    print("all right")


asyncio.run(main())
