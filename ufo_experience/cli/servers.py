"""The commands that stay until they are ended: `review` (also `serve`), the local page where people see, correct and
approve what was learned, and `mcp`, the store as a Model Context Protocol server.
"""

from __future__ import annotations

import gc
import webbrowser
from typing import Annotated

import typer

from ufo_experience.cli.app import Db, Json, Network, app, open_memory
from ufo_experience.errors import MissingExtraError, RefusedError

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_USUAL = gc.get_threshold()  # of the interpreter: `main` lets it collect later, for commands that end soon


@app.command("review", rich_help_panel="Look after")
@app.command("serve", hidden=True)
def review(
    db: Db = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 0,
    host: Annotated[str, typer.Option(help="Address; this machine's own unless --allow-remote.")] = "127.0.0.1",
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Let another address be served: whoever has the token can write.")
    ] = False,
    read_only: Annotated[bool, typer.Option("--read-only", help="Show, and take no change.")] = False,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
    network: Network = None,
    json: Json = False,
) -> None:
    """Open the page of a store. It answers this machine alone, and whoever has the address that is printed."""
    with open_memory(db, json=json, network=network, audit=False) as (console, memory):
        if host not in LOOPBACK and not allow_remote:
            raise RefusedError(f"--host {host}: the page answers this machine only; say --allow-remote if you mean it")
        try:
            from ufo_experience.review.app import serve
        except ImportError as error:
            raise MissingExtraError(error.name or "starlette", extra="web") from error

        def tell(address: str) -> None:
            if console.as_json:
                console.answer({"store": memory.store.location, "address": address}, "")
            console.note(f"review {memory.store.location} at {address}\nCtrl-C ends it.")
            if open_browser and host in LOOPBACK:
                webbrowser.open(address)

        gc.set_threshold(*_USUAL)
        serve(memory, host=host, port=port, read_only=read_only, tell=tell)


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
    """Serve the store to MCP clients. Read-only unless more is allowed; nothing but the protocol goes to stdout.

    With --allow-writes a store that is not there yet is made: a client's first run is its first record.
    """
    with open_memory(db, json=False, create=allow_writes) as (_, memory):
        from ufo_experience.integrations.mcp_server import build_server, serve_stdio

        if host not in LOOPBACK:
            raise RefusedError(f"--host {host}: the server answers this machine only ({', '.join(LOOPBACK)})")
        server = build_server(memory, allow_writes=allow_writes, allow_approve=allow_approve)
        gc.set_threshold(*_USUAL)
        if not http:
            serve_stdio(server)
            return
        server.run("streamable-http", host=host, port=port)
