"""What the commands share: the application object, options before and after a command, filters, and an open store."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
import typer.core

from ufo_experience.cli.console import Console, counted, printable
from ufo_experience.errors import ExperienceError

if TYPE_CHECKING:
    from ufo_experience.memory import ExperienceMemory

# The commands as help lists them: in the order of the pipeline, a panel for each purpose.
PANELS = {
    "Learn": ("ingest", "remember", "import", "index"),
    "Ask": ("retrieve", "prompt", "recommend", "report", "mcp"),
    "Look after": (
        *(
            "list",
            "show",
            "judge",
            "approve",
            "quarantine",
            "review",
            "serve",
            "remove",
            "purge",
            "export",
            "verify",
            "stats",
        ),
        "sources",
    ),
    "Measure": ("demo", "calibrate"),
}


MAX_INPUT = 1 << 24  # bytes of JSON that is handed in


@dataclass(frozen=True)
class Shared:
    """Options given before the command; what stands after it counts for more."""

    db: str | None = None
    json: bool = False
    network: bool | None = None
    http_service: bool | None = None
    verbose: bool = False


_shared: ContextVar[Shared] = ContextVar("shared", default=Shared())  # noqa: B039
_VERBOSE = ("-v", "--verbose")
_VERBOSE_HELP = "Say more about what is done, on stderr."
_HTTP = "--allow-http-service"
_HTTP_HELP = "Ask a model service in your own network over http://, without TLS."
_ANYWHERE = (*_VERBOSE, _HTTP)  # before or after a command, whichever it is


_ARGUMENT_ERROR: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


class _HarmlessLog(logging.Formatter):
    """What is logged holds names of files and texts of servers."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


@contextmanager
def _harmless_errors() -> Iterator[None]:
    """Let an error about arguments repeat them without control and direction characters."""
    try:
        yield
    except _ARGUMENT_ERROR as error:
        error.message = printable(error.message)
        raise


class Group(typer.core.TyperGroup):
    """Commands in pipeline order, in panels; what is `_ANYWHERE` may stand before or after a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse with what may stand anywhere in front."""
        end = args.index("--") if "--" in args else len(args)
        if not {"--success", "--failure"} - set(args[:end]):
            raise typer.BadParameter("--success and --failure say the contrary of each other: give one")
        said = [one for one in args[:end] if one in _ANYWHERE]
        return super().parse_args(ctx, [*said, *(one for one in args[:end] if one not in _ANYWHERE), *args[end:]])

    def make_context(self, *given: Any, **more: Any) -> Any:
        """As it is, but for what an error says of the arguments: no terminal obeys it."""
        with _harmless_errors():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """The same for the arguments of a command."""
        with _harmless_errors():
            return super().invoke(ctx)

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the panels; others at the end."""
        order = [name for names in PANELS.values() for name in names]
        return sorted(super().list_commands(ctx), key=lambda name: order.index(name) if name in order else len(order))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, with the panel it belongs to, and with what `parse_args` takes in its help."""
        command = super().get_command(ctx, cmd_name)
        panel = next((title for title, names in PANELS.items() if cmd_name in names), None)
        if panel and command is not None:
            command.rich_help_panel = panel  # type: ignore[attr-defined]
        if command is not None:
            command.epilog = f"{', '.join(_VERBOSE)}: {_VERBOSE_HELP} {_HTTP}: {_HTTP_HELP}"
        return command


def be_verbose() -> None:
    """Show the package's log on stderr."""
    logging.basicConfig()
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_HarmlessLog("%(levelname)s %(name)s: %(message)s"))
    logging.getLogger("ufo_experience").setLevel(logging.DEBUG)


app = typer.Typer(
    name="ufo-experience",
    help="Experience memory for UI agents: learn from session logs, hand the right steps to the next run.",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def filled(value: str | None) -> str | None:
    """A text that was given and is not empty: an empty one is an unset variable of a shell, and would mean no filter,
    or one that nothing passes.
    """
    if value is not None and not value.strip():
        raise typer.BadParameter("empty; is a variable not set?")
    return value


Db = Annotated[str | None, typer.Option("--db", help="The store: a folder or a URL. Default: experience_db.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object on stdout.")]
Network = Annotated[
    bool | None,
    typer.Option("--allow-network-store", help="Write even if the store lies on a network or synced folder."),
]
HttpService = Annotated[
    bool | None,
    typer.Option(_HTTP, help=_HTTP_HELP),
]
Task = Annotated[list[str], typer.Argument(help="What the agent is to do, in the user's words.", metavar="TASK")]
App = Annotated[
    str | None,
    typer.Option("--app", "--application", callback=filled, help="Only experiences of this application (exact)."),
]
Env = Annotated[
    str | None, typer.Option("--env", callback=filled, help="Only experiences of this environment (exact).")
]
TopK = Annotated[int | None, typer.Option("-k", "--top-k", help="How many at most (1 to 50). Default: 3.")]
Threshold = Annotated[str, typer.Option(help="Lowest score: a number from 0 to 1, or auto.")]
Explain = Annotated[bool, typer.Option("--explain", help="Show each signal's part of the score.")]
Ids = Annotated[list[str], typer.Argument(help="Ids of records; a unique beginning will do.")]
MaybeIds = Annotated[list[str] | None, typer.Argument(help="Ids of records; a unique beginning will do.")]
Where = Any  # a RecordFilter, made of the options that `takes_filter` adds
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say which records it would be.")]

Trusts = Literal["quarantined", "observed", "verified", "approved"]
Outcomes = Literal["success", "failure", "unknown"]


def _say_version(asked: bool) -> None:
    if asked:
        from ufo_experience import __version__

        Console().answer({}, f"ufo-experience {__version__}")
        raise typer.Exit


@app.callback()
def before_the_command(
    db: Db = None,
    json: Json = False,
    network: Network = None,
    http_service: HttpService = None,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help=_VERBOSE_HELP)] = False,
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_say_version, help="Print the version.")
    ] = False,
) -> None:
    """Experience memory for UI agents: learn from session logs, hand the right steps to the next run."""
    if logging.lastResort:
        logging.lastResort.setFormatter(_HarmlessLog("%(message)s"))
    if verbose:
        be_verbose()
    _shared.set(Shared(db, json, network, http_service, verbose))


def shared() -> Shared:
    """The options that stood before the command."""
    return _shared.get()


def console_for(json: bool) -> Console:
    """Where a command writes to; `--json` may have stood before the command."""
    return Console(as_json=json or shared().json)


@contextmanager
def open_memory(
    db: str | None, *, json: bool, create: bool = False, network: bool | None = None, **options: Any
) -> Iterator[tuple[Console, ExperienceMemory]]:
    """A console and an open store; asking a store that is not there is an error, not an empty answer."""
    before, console = shared(), console_for(json)
    with console.errors():
        from ufo_experience.memory import ExperienceMemory
        from ufo_experience.settings import load_settings

        place = before.db if db is None else db
        allowed: dict[str, Any] = {
            "allow_network_store": network or before.network,
            "allow_http_service": before.http_service,
        }
        settings = load_settings(db=place, **allowed, **options)
        console.same_store = "" if place is None else f" --db {quote(place)}"
        with ExperienceMemory.open(settings=settings, create=create) as memory:
            yield console, memory


@contextmanager
def telling_what_was_kept(console: Console, memory: ExperienceMemory) -> Iterator[None]:
    """Where a person stops the work (Ctrl-C: exit code 130) or an error ends it, say what was kept and how to go on."""
    before = len(memory)
    try:
        yield
    except ExperienceError:
        with suppress(ExperienceError):  # where the store cannot be asked any more, the error says so
            if kept := len(memory) - before:
                console.note(
                    f"{counted(kept, 'record')} of this run kept, and not in the index yet. When what is said below is "
                    f"mended: ufo-experience index{console.same_store}"
                )
        raise
    except KeyboardInterrupt:
        console.note(
            f"stopped: {counted(len(memory) - before, 'record')} of this run kept. The same command again goes on: "
            "what is stored is passed over, and what is not in the index yet gets there (as by: ufo-experience "
            f"index{console.same_store})"
        )
        raise SystemExit(130) from None


def text_of(words: list[str]) -> str:
    """A task that was typed with or without quotes. Raises `UsageError` when it is empty."""
    from ufo_experience.errors import UsageError

    task = " ".join(words)
    if not any(letter.isalnum() for letter in task):
        raise UsageError("the task is empty: say what the agent is to do")
    return task


def read_json(given: str) -> Any:
    """A JSON value: that of a file, of stdin (`-`), or the text itself when it begins as an object or a list.

    Raises:
        DataError: it is not JSON; file and line are named.
        NotFoundError: there is no such file.
    """
    from pathlib import Path

    from ufo_experience.fileio.regular import read_regular
    from ufo_experience.fileio.strict_json import parse

    if given.lstrip()[:1] in ("{", "["):
        return parse(given.encode("utf-8", "replace"), file="the given JSON")
    data = sys.stdin.buffer.read(MAX_INPUT) if given == "-" else read_regular(Path(given), MAX_INPUT)
    return parse(data, file="stdin" if given == "-" else given)


def record_filter(
    everything: Annotated[bool, typer.Option("--all", help="Every record.")] = False,
    application: Annotated[
        str | None,
        typer.Option("--app", "--application", callback=filled, help="Records of this application (exact)."),
    ] = None,
    source: Annotated[
        str | None, typer.Option(callback=filled, help="Records from this file, folder or session.")
    ] = None,
    session: Annotated[str | None, typer.Option(callback=filled, help="Records of this session.")] = None,
    format: Annotated[str | None, typer.Option(callback=filled, help="Records from logs of this format.")] = None,
    outcome: Annotated[Outcomes | None, typer.Option(help="Records of runs that ended so.")] = None,
    trust: Annotated[Trusts | None, typer.Option(help="Records of this trust.")] = None,
    risk: Annotated[str | None, typer.Option(help="Records with a risky step: any, none, or a kind.")] = None,
    search: Annotated[str | None, typer.Option(callback=filled, help="Records that hold all of these words.")] = None,
    since: Annotated[datetime | None, typer.Option(help="Records made then or later, such as 2025-11-12.")] = None,
) -> Any:
    """The `RecordFilter` that these options make."""
    from ufo_experience.store.selection import RecordFilter

    said: dict[str | None, bool | Literal["unknown"] | None] = {"success": True, "failure": False, "unknown": "unknown"}
    at_risk: dict[str | None, bool] = {"any": True, "none": False}
    return RecordFilter(
        all=everything,
        application=application,
        source=source,
        session=session,
        format=format,
        success=said.get(outcome),
        trust=trust,
        risk=at_risk.get(risk, risk),
        search=search,
        since=since,
    )


def takes_filter(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `record_filter` in place of its parameter `where`."""
    names = inspect.signature(record_filter).parameters
    own = inspect.signature(command, eval_str=True).parameters
    options = inspect.signature(record_filter, eval_str=True).parameters

    def run(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in names}
        command(where=record_filter(**chosen), **given)

    both = [*(one for name, one in own.items() if name != "where"), *options.values()]
    keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in both]
    run.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in keyword}
    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    return run
