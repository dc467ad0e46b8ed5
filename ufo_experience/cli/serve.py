"""The commands that stay until they are ended (`review`, the local page, and `mcp`), the demo, and `calibrate`."""

import os
import socket
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated

from typer import Option

from ufo_experience.cli.app import command, console_of, given_of, open_memory
from ufo_experience.cli.arguments import Context
from ufo_experience.errors import RefusedError, ServiceError, UsageError, needs_extra
from ufo_experience.memory import ExperienceMemory
from ufo_experience.settings import Settings

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SAMPLES = Path(__file__).resolve().parents[1] / "samples"
DEMO_TASK, DEMO_APPLICATION = "Write a new email to Priya and ask whether Friday still suits", "Outlook"


@contextmanager
def _listening(host: str, port: int) -> Iterator[tuple[socket.socket, str]]:
    """A socket at an address, and the address as it stands in a URL. Raises `ServiceError` where it is taken."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as listener:
        if os.name != "nt":  # there a second program would share the port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
        except OSError as error:
            raise ServiceError(
                f"port {port} of {host}: {error.strerror or error}; --port 0 takes a free one"
            ) from error
        yield listener, f"{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


@command("Look after")
def review(
    ctx: Context,
    port: Annotated[int, Option(min=0, max=65535, help="Port; 0 takes a free one.")] = 0,
    host: Annotated[str, Option(help="Address; this machine's own unless --allow-remote.")] = "127.0.0.1",
    allow_remote: Annotated[bool, Option("--allow-remote", help="Whoever has the token can write.")] = False,
    read_only: Annotated[bool, Option("--read-only", help="Show, and take no change.")] = False,
    open_browser: Annotated[bool, Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Open the page of a store. It answers this machine alone, and whoever has the address that is printed."""
    with open_memory(ctx) as (console, memory):
        if host not in LOOPBACK and not allow_remote:
            raise RefusedError(f"--host {host}: the page answers this machine only; say --allow-remote if you mean it")
        with needs_extra("web"):
            from ufo_experience.review.app import serve

        def tell(address: str) -> None:
            if console.as_json:
                console.answer({"store": memory.store.location, "address": address}, "")
            console.note(f"review {memory.store.location} at {address}\nCtrl-C ends it.")
            if open_browser and host in LOOPBACK:
                webbrowser.open(address)

        with _listening(host, port) as (listener, name):
            serve(memory, listener, name, read_only=read_only, tell=tell)


@command("Ask", "mcp")
def serve_mcp(
    ctx: Context,
    allow_writes: Annotated[bool, Option("--allow-writes", help="Offer report_outcome and record_run.")] = False,
    allow_approve: Annotated[bool, Option("--allow-approve", help="Offer approval, which asks the person.")] = False,
    allow_run: Annotated[bool, Option("--allow-run", help="Offer to carry out known ways in a browser here.")] = False,
    http: Annotated[bool, Option("--http", help="Serve HTTP on this machine instead of stdio.")] = False,
    host: Annotated[str, Option(help="Address for --http: this machine only.")] = "127.0.0.1",
    port: Annotated[int | None, Option(min=0, max=65535, help="Port for --http; 0: a free one. Default: 8000.")] = None,
) -> None:
    """Serve the store to MCP clients. Read-only unless more is allowed; nothing but the protocol goes to stdout.

    With --allow-writes a store that is not there yet is made: a client's first run is its first record.
    """
    if port is not None and not http:
        raise UsageError("--port is of --http: without it the protocol goes over stdin and stdout; say --http, too")
    with open_memory(ctx, create=allow_writes) as (console, memory):
        from ufo_experience.integrations.mcp_server import build_server, serve_http, serve_stdio

        if host not in LOOPBACK:
            raise RefusedError(f"--host {host}: the server answers this machine only ({', '.join(LOOPBACK)})")
        server = build_server(memory, allow_writes=allow_writes, allow_approve=allow_approve, allow_run=allow_run)
        if http:
            with _listening(host, 8000 if port is None else port) as (listener, name):
                console.note(f"serve {memory.store.location} at http://{name}/mcp\nCtrl-C ends it.")
                serve_http(server, listener, host)
        else:
            serve_stdio(server)


@command("Measure")
def demo(ctx: Context) -> None:
    """Run the whole loop on bundled sample logs, with no key and no network, and print the prompt it built.

    With --db what it learned is kept there, to be asked further. The task asked for is not among the samples.
    """
    console, db = console_of(ctx), given_of(ctx).get("db")
    place = nullcontext(db) if db else tempfile.TemporaryDirectory(prefix="ufo-experience-", ignore_cleanup_errors=True)
    with place as folder:
        settings = Settings(db=folder, embedder="hashing", summarizer="extractive")
        with ExperienceMemory.open(settings=settings) as memory:
            report = memory.ingest(SAMPLES, include_failures=True)
            number = len(list(SAMPLES.iterdir()))
            console.note(f"read {number} sample sessions: {len(report.added)} experiences learned")
            found = memory.retrieve(DEMO_TASK, application=DEMO_APPLICATION)
            best = ", ".join(f"{hit.score:.2f} {hit.task!r}" for hit in found)
            console.note(f"asked for {DEMO_TASK!r} in {DEMO_APPLICATION}: {best}")
            block = memory.build_prompt(DEMO_TASK, found)
    console.answer({"prompt": block.prompt, "ids": block.ids, "tokens": block.tokens}, str(block.prompt))


@command("Measure")
def calibrate(
    ctx: Context,
    labels: Annotated[Path, Option(help='JSON lines {"query", "id" or "text", "relevant"}.')],
    precision: Annotated[float, Option(help="Share of what is served that must be relevant.")] = 0.95,
    apply: Annotated[bool, Option("--apply", help="Use the threshold from now on.")] = False,
) -> None:
    """Find a threshold for the embedder in use, from labelled pairs; --apply keeps it."""
    with open_memory(ctx) as (console, memory):
        found = memory.calibrate(labels, precision=precision, apply=apply)
        text = (
            f"threshold {found.threshold:.3f} for {found.embedder}: precision {found.precision:.1%}, "
            f"recall {found.recall:.1%} on {found.pairs} pairs{'' if apply else '; nothing was changed (--apply does)'}"
        )
        console.answer(found, text)
