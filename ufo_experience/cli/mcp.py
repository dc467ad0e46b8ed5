"""`ufo-experience mcp`: the store as a Model Context Protocol server."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ufo_experience.cli.app import Db, app, open_memory
from ufo_experience.errors import RefusedError

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@app.command("mcp", rich_help_panel="Ask")
def serve_mcp(
    db: Db = None,
    allow_writes: Annotated[bool, typer.Option("--allow-writes", help="Offer report_outcome and record_run.")] = False,
    allow_approve: Annotated[
        bool, typer.Option("--allow-approve", help="Offer approval, which asks the person behind the client.")
    ] = False,
    http: Annotated[bool, typer.Option("--http", help="Serve HTTP on this machine instead of stdio.")] = False,
    host: Annotated[str, typer.Option(help="Address for --http: this machine only.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port for --http.")] = 8000,
) -> None:
    """Serve the store to MCP clients. Read-only unless more is allowed; nothing but the protocol goes to stdout."""
    with open_memory(db, json=False) as (_, memory):
        from ufo_experience.integrations.mcp_server import build_server

        if host not in LOOPBACK:
            raise RefusedError(f"--host {host}: the server answers this machine only ({', '.join(LOOPBACK)})")
        server = build_server(memory, allow_writes=allow_writes, allow_approve=allow_approve)
        options: dict[str, Any] = {"host": host, "port": port} if http else {}
        server.run("streamable-http" if http else "stdio", **options)
