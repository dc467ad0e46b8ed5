"""What the commands share: the application object, options, and an open store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ufo_experience.cli.console import Console

if TYPE_CHECKING:
    from ufo_experience.memory import ExperienceMemory

app = typer.Typer(
    name="ufo-experience",
    help="Experience memory for UI agents: learn from session logs, hand the right steps to the next run.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Db = Annotated[str | None, typer.Option("--db", help="The store: a folder or a URL. Default: experience_db.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Network = Annotated[
    bool | None,
    typer.Option("--allow-network-store", help="Write even if the store lies on a network or synced folder."),
]
Task = Annotated[str, typer.Argument(help="What the agent is to do, in the user's words.")]
App = Annotated[str | None, typer.Option("--app", help="Only experiences of this application (exact).")]
Env = Annotated[str | None, typer.Option("--env", help="Only experiences of this environment (exact).")]
TopK = Annotated[int | None, typer.Option("-k", "--top-k", help="How many at most (1 to 50). Default: 3.")]
Threshold = Annotated[str, typer.Option(help="Lowest score: a number, or auto (calibrated for the embedder).")]
Explain = Annotated[bool, typer.Option("--explain", help="Show each signal's part of the score.")]
Ids = Annotated[list[str], typer.Argument(help="Ids of records; a unique beginning will do.")]

Trusts = Literal["quarantined", "observed", "verified", "approved"]


@contextmanager
def open_memory(
    db: str | None, *, json: bool, create: bool = False, network: bool | None = None, **options: Any
) -> Iterator[tuple[Console, ExperienceMemory]]:
    """A console and an open store; asking a store that is not there is an error, not an empty answer."""
    console = Console(as_json=json)
    with console.errors():
        from ufo_experience.config import load_settings
        from ufo_experience.memory import ExperienceMemory

        settings = load_settings(db=db, allow_network_store=network, **options)
        yield console, ExperienceMemory.open(settings=settings, create=create)
