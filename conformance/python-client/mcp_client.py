"""Runs the official Python client of MCP and fastmcp's client against the server at argv[1]; prints the results as JSON."""

import asyncio
import json
import sys

from fastmcp import Client
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamablehttp_client


async def play(url: str) -> dict:
    async with streamablehttp_client(url) as (read, write, get_session_id):
        async with ClientSession(read, write) as session:
            about = await session.initialize()
            await session.send_ping()
            tools = (await session.list_tools()).tools
            added = await session.call_tool("add", {"a": 1, "b": 2})
            greeted = await session.call_tool("greet", {"name": "Bo"})
            tallies = [(await session.call_tool("tally")).structuredContent for _ in range(2)]
            failed = await session.call_tool("fail", {"why": "no luck"})
            wrong = await session.call_tool("add", {"a": "x"})
            try:
                await session.call_tool("nope", {})
                unknown = None
            except McpError as error:
                unknown = error.error.code
            return {
                "server": about.serverInfo.name,
                "revision": about.protocolVersion,
                "has_session": bool(get_session_id()),
                "tools": {tool.name: tool.inputSchema for tool in tools},
                "added": [added.isError, added.structuredContent, added.content[0].text],
                "greeted": greeted.structuredContent,
                "tallies": tallies,
                "failed": [failed.isError, failed.content[0].text],
                "wrong": wrong.isError,
                "unknown": unknown,
            }


async def play_fast(url: str) -> list:
    async with Client(url) as client:
        return [(await client.call_tool("add", {"a": 4})).data, (await client.call_tool("tally")).data]


async def refused(url: str) -> dict:
    async with streamablehttp_client(url) as (read, write, _):
        async with ClientSession(read, write) as session:
            try:
                await session.initialize()
            except McpError as error:
                return {"code": error.error.code, "data": error.error.data}


async def main(url: str) -> None:
    played = await play(url)
    fast = await play_fast(url)
    async with Client(url):
        full = await refused(url)
    print(json.dumps({"played": played, "fast": fast, "full": full}))


asyncio.run(main(sys.argv[1]))
