"""Calls tools by the official MCP client over HTTP, and hears of their progress. Argument: the server's URL."""

import asyncio
import sys

from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client


async def main():
    async with streamable_http_client(sys.argv[1]) as streams:
        async with ClientSession(*streams[:2]) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            assert all(tool.title for tool in tools), tools
            steps = []

            async def heard(progress, total, message):
                steps.append((progress, message))

            question = {"question": "Who changes the oil?"}
            answer = await session.call_tool("ask", question, progress_callback=heard)
            assert "Ida" in answer.content[0].text, answer
            assert [step for step, _ in steps] == [1, 2, 3] and all(text for _, text in steps), steps
            found = await session.call_tool("search", {"query": "oil"})
            assert found.content, found
    print("all right")


asyncio.run(main())
