"""The MCP server by the client microsoft/UFO uses: fastmcp 2.x over stdio, in an environment of its own.

    pip install "fastmcp==2.11.3"
    python tools/fastmcp_client.py ufo-experience mcp --db FOLDER --allow-writes

Asks for a task, with `--allow-writes` records a run of it and asks again; every answer is printed, an error ends it.
"""

from __future__ import annotations

import asyncio
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

TASK = "Draft an email to Jane about the budget"
STEPS = [{"action": "click", "control": "New Email", "control_type": "Button"}]


async def talk(command: str, arguments: list[str]) -> None:
    """List the tools, ask, record a run, and ask again."""
    transport = StdioTransport(command=command, args=arguments, env={}, cwd=".")  # as UFO makes it
    async with Client(transport) as client:
        names = sorted(tool.name for tool in await client.list_tools())
        print("tools:", ", ".join(names))
        if "experience_prompt" not in names:
            sys.exit("the server offers no experience_prompt")
        calls = [("find_experience", {"task": TASK}), ("experience_prompt", {"task": TASK})]
        recorded = {"task": TASK, "application": "Outlook", "steps": STEPS, "success": True}
        if "record_run" in names:
            calls += [("record_run", recorded), ("find_experience", {"task": TASK})]
        for name, given in calls:
            answer = await client.call_tool(name, given, raise_on_error=True)
            print(f"{name}:", answer.structured_content or answer.data or answer.content)


if __name__ == "__main__":
    asyncio.run(talk(sys.argv[1], sys.argv[2:]))
