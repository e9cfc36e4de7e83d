"""Uses the tools with the SDK for Python, whose client checks structured answers against
the schemas of the list.

    PYTHONPATH=... python3 check.py PIGREP mcp ...
"""
import asyncio
import os
import sys

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client


async def main():
    command, *args = sys.argv[1:]
    server = StdioServerParameters(command=command, args=args, env=dict(os.environ))
    async with stdio_client(server) as (read, write), ClientSession(read, write) as client:
        await client.initialize()
        tools = (await client.list_tools()).tools
        assert len(tools) == 10, tools

        async def call(name, arguments, fails=False):
            # The names of fields are those on the wire, whatever the version calls them.
            result = (await client.call_tool(name, arguments)).model_dump(by_alias=True)
            assert bool(result.get("isError")) == fails, (name, arguments, result)
            text = result["content"][0]["text"]
            assert text, name
            return text if fails else result["structuredContent"]

        found = await call("search", {"query": "timeout"})
        session = found["sessions"][0]
        place = {"session": session["session"], "entry": session["hits"][0]["entry"]}
        for name, arguments in [
            ("search", {"query": "zzzqqq parser", "flat": True}),
            ("grep", {"pattern": "time.?out", "context": 1}),
            ("find_fix", {"error": "EACCES: permission denied"}),
            ("list_sessions", {"query": "parser"}),
            ("tool_calls", {"results": True}),
            ("usage", {"by": ["day", "session"]}),
            ("status", {}),
            ("read_session", place),
            ("read_session", {**place, "transcript": True, "full": True}),
        ]:
            await call(name, arguments)
        assert "hint: list_sessions" in await call("read_session", {"session": "nothing"}, fails=True)
        assert "nearest: limit" in await call("search", {"query": "x", "limits": 1}, fails=True)
        prompts = (await client.list_prompts()).prompts
        resources = (await client.list_resources()).resources
        content = await client.read_resource(resources[0].uri)
        assert prompts and content.contents[0].text
        print(f"sdk for python: {len(tools)} tools answer as their schemas say, errors keep their hints")


asyncio.run(asyncio.wait_for(main(), 60))
