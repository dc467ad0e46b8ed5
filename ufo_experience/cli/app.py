"""What the commands share: the application object, options that stand anywhere, filters, and an open store."""

from __future__ import annotations

import inspect
import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
import typer.core

from ufo_experience import __version__
from ufo_experience.cli.console import Console, counted, printable
from ufo_experience.errors import ExperienceError, NotFoundError, UsageError, plain_words
from ufo_experience.settings import load_settings
from ufo_experience.store.files import read_regular
from ufo_experience.store.selection import RecordFilter
from ufo_experience.store.strict_json import parse

if TYPE_CHECKING:
    from ufo_experience.memory import ExperienceMemory

# The commands as help lists them: in the order of the pipeline, a panel for each purpose.
PANELS = {
    "Learn": "ingest remember import index".split(),
    "Ask": "retrieve prompt run recommend report mcp".split(),
    "Look after": "list show judge approve quarantine review remove purge export verify stats sources".split(),
    "Measure": "demo calibrate".split(),
}
MAX_INPUT = 1 << 24  # bytes of JSON that is handed in
# What may stand before or after any command, and what it says; the values of the store's setting of that name.
_SWITCHES = {
    "--json": "as_json",
    "-v": "verbose",
    "--verbose": "verbose",
    "--allow-network-store": "allow_network_store",
    "--allow-http-service": "allow_http_service",
}
_ANYWHERE = (
    "With every command: --db STORE (a folder or a URL; default: experience_db), --json (one JSON object on stdout), "
    "-v, --verbose (say more, on stderr), --allow-network-store, --allow-http-service."
)
_ARGUMENT_ERROR: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


class _HarmlessLog(logging.Formatter):
    """What is logged holds names of files and texts of servers."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


@contextmanager
def _our_words() -> Iterator[None]:
    """Let an error about arguments name what the command takes, and repeat nothing that a terminal would obey."""
    try:
        yield
    except _ARGUMENT_ERROR as error:
        if (option := getattr(error, "option_name", None)) and getattr(error, "ctx", None):
            error.possibilities = None
            error.message = f"No such option: {option}. {error.ctx.info_name} takes: {_taken_by(error.ctx.command)}"
        error.message = printable(plain_words(error.message))
        raise


def _taken_by(command: Any) -> str:
    """The arguments and options of a command, by their names, and what every command takes."""
    taken = [one for one in command.params if not getattr(one, "hidden", False)]
    names = [
        "/".join([max(one.opts, key=len), *one.secondary_opts])
        if one.param_type_name == "option"
        else one.metavar or one.name.upper()
        for one in taken
    ]
    return "; every command: ".join(filter(None, (", ".join(names), "--db, --json, --verbose")))


class Group(typer.core.TyperGroup):
    """Commands in pipeline order, in panels; the options of `_ANYWHERE` may stand before or after a command."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take out what may stand anywhere, for `shared`, and parse the rest."""
        end = args.index("--") if "--" in args else len(args)
        if not {"--success", "--failure"} - set(args[:end]):
            raise typer.BadParameter("--success and --failure say the contrary of each other: give one")
        given, rest = _taken_out(args[:end])
        ctx.obj = given
        _give_log(verbose="verbose" in given)
        return super().parse_args(ctx, [*rest, *args[end:]])

    def make_context(self, *given: Any, **more: Any) -> Any:
        """As it is, but for what an error says of the arguments."""
        with _our_words():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        """The same for the arguments of a command; an error of ours becomes one line and an exit code."""
        with _our_words(), console_of(ctx).errors():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """A command that is not there is answered with those that are."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            known = self.list_commands(ctx)
            near = get_close_matches(args[0], known, n=1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            ctx.fail(f"No such command {args[0]!r}.{meant} There are: {', '.join(known)}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """Names in the order of the panels; others at the end."""
        order = [name for names in PANELS.values() for name in names]
        return sorted(super().list_commands(ctx), key=lambda name: order.index(name) if name in order else len(order))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, with the panel it belongs to, and what may stand with every command in its help."""
        command: Any = super().get_command(ctx, cmd_name)
        if command is not None:
            command.rich_help_panel = next((title for title, names in PANELS.items() if cmd_name in names), None)
            command.epilog = _ANYWHERE
        return command


def _taken_out(args: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The options that may stand anywhere, by their setting, and the other arguments. The last --db counts."""
    given: dict[str, Any] = {}
    rest: list[str] = []
    words = iter(args)
    for word in words:
        if word in _SWITCHES:
            given[_SWITCHES[word]] = True
        elif word == "--db" or word.startswith("--db="):
            place = word.partition("=")[2] if "=" in word else next(words, None)
            if place is None:
                raise typer.BadParameter("--db needs the place of a store: a folder or a URL")
            given["db"] = place
        else:
            rest.append(word)
    return given, rest


def _give_log(*, verbose: bool) -> None:
    """Warnings of the package on stderr; all of its log where the user asks for more."""
    if logging.lastResort:
        logging.lastResort.setFormatter(_HarmlessLog("%(message)s"))
    if verbose:
        logging.basicConfig()
        for handler in logging.getLogger().handlers:
            handler.setFormatter(_HarmlessLog("%(levelname)s %(name)s: %(message)s"))
        logging.getLogger("ufo_experience").setLevel(logging.DEBUG)


app = typer.Typer(
    name="ufo-experience",
    help="Experience memory for UI agents: learn from session logs, hand the right steps to the next run.",
    epilog=_ANYWHERE,
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _say_version(asked: bool) -> None:
    if asked:
        Console().answer({}, f"ufo-experience {__version__}")
        raise typer.Exit


@app.callback(epilog=_ANYWHERE)
def before_the_command(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_say_version, help="Print the version.")
    ] = False,
) -> None:
    """Experience memory for UI agents: learn from session logs, hand the right steps to the next run."""


def filled(value: str | None) -> str | None:
    """A text that was given and is not empty: an empty one is an unset variable of a shell, and would mean no filter,
    or one that nothing passes.
    """
    if value is not None and not value.strip():
        raise typer.BadParameter("empty; is a variable not set?")
    return value


def moment(value: str | None) -> str | None:
    """A date that somebody typed, as ISO text."""
    try:
        return None if value is None else datetime.fromisoformat(value.strip()).isoformat()
    except ValueError:
        raise typer.BadParameter(f"{value!r} is no date; write 2025-11-12 or 2025-11-12T10:30") from None


Context = typer.Context
Task = Annotated[list[str], typer.Argument(help="What the agent is to do, in the user's words.", metavar="TASK")]
Application = Annotated[
    str | None, typer.Option("--application", "--app", callback=filled, help="The application; process names count.")
]
Env = Annotated[str | None, typer.Option(callback=filled, help="Only experiences of this environment (exact).")]
TopK = Annotated[int | None, typer.Option("-k", "--top-k", help="How many at most (1 to 50). Default: 3.")]
Threshold = Annotated[str | None, typer.Option(help="Lowest score: a number from 0 to 1, or auto. Default: auto.")]
Session = Annotated[str | None, typer.Option(callback=filled, help="Name of the run; given again, it counts once.")]
Worked = Annotated[bool | None, typer.Option("--success/--failure", help="How the run ended. Default: unknown.")]
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids of records; a unique beginning will do.")]
MaybeIds = Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Ids; a unique beginning will do.")]
Where = Any  # a RecordFilter, made of the options that `takes_filter` adds
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say which records it would be.")]
Trusts = Literal["quarantined", "observed", "verified", "approved"]


def console_of(ctx: Context) -> Console:
    """Where a command writes to."""
    given = given_of(ctx)
    return Console(as_json="as_json" in given, store=given.get("db"))


def given_of(ctx: Context) -> dict[str, Any]:
    """The options that stood anywhere, by their setting."""
    return dict(ctx.find_root().obj)


@contextmanager
def open_memory(ctx: Context, *, create: bool = False, **options: Any) -> Iterator[tuple[Console, ExperienceMemory]]:
    """A console and an open store; asking a store that is not there is an error, not an empty answer."""
    from ufo_experience.memory import ExperienceMemory

    own = {name: value for name, value in given_of(ctx).items() if name not in ("as_json", "verbose")}
    with ExperienceMemory.open(settings=load_settings(**own, **options), create=create) as memory:
        yield console_of(ctx), memory


@contextmanager
def telling_what_was_kept(console: Console, memory: ExperienceMemory) -> Iterator[None]:
    """Where a person stops the work (Ctrl-C: exit code 130) or an error ends it, say what was kept and how to go on."""
    before, again = len(memory), "ufo-experience index"
    try:
        yield
    except ExperienceError:
        with suppress(ExperienceError):  # where the store cannot be asked any more, the error says so
            if kept := len(memory) - before:
                console.note(
                    f"{counted(kept, 'record')} of this run kept, and not in the index yet. When what is said below is "
                    f"mended: {again}"
                )
        raise
    except KeyboardInterrupt:
        console.note(
            f"stopped: {counted(len(memory) - before, 'record')} of this run kept. The same command again goes on: "
            f"what is stored is passed over, and what is not in the index yet gets there (as by: {again})"
        )
        raise SystemExit(130) from None


def text_of(words: list[str]) -> str:
    """A task that was typed with or without quotes. Raises `UsageError` when it is empty."""
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
    if given.lstrip()[:1] in ("{", "["):
        return parse(given.encode("utf-8", "replace"), file="the given JSON")
    if given != "-" and not Path(given).exists():
        raise NotFoundError("no such file, and no JSON: an object begins with {, a list with [", file=given)
    data = sys.stdin.buffer.read(MAX_INPUT) if given == "-" else read_regular(Path(given), MAX_INPUT)
    return parse(data, file="stdin" if given == "-" else given)


def record_filter(
    everything: Annotated[bool, typer.Option("--all", help="Every record.")] = False,
    application: Application = None,
    source: Annotated[
        str | None, typer.Option(callback=filled, help="Records from this file, folder or session.")
    ] = None,
    session: Annotated[str | None, typer.Option(callback=filled, help="Records of this session.")] = None,
    format: Annotated[str | None, typer.Option(callback=filled, help="Records from logs of this format.")] = None,
    success: Annotated[bool | None, typer.Option("--success/--failure", help="Records of runs that ended so.")] = None,
    unknown: Annotated[bool, typer.Option("--unknown", help="Records of runs that nobody judged.")] = False,
    trust: Annotated[Trusts | None, typer.Option(help="Records of this trust.")] = None,
    risk: Annotated[str | None, typer.Option(help="Records with a risky step: any, none, or a kind.")] = None,
    search: Annotated[str | None, typer.Option(callback=filled, help="Records that hold all of these words.")] = None,
    since: Annotated[str | None, typer.Option(callback=moment, help="Made then or later, such as 2025-11-12.")] = None,
) -> RecordFilter:
    """The `RecordFilter` that these options make."""
    at_risk: dict[str | None, bool] = {"any": True, "none": False}
    return RecordFilter(
        all=everything,
        application=application,
        source=source,
        session=session,
        format=format,
        success="unknown" if unknown else success,
        trust=trust,
        risk=at_risk.get(risk, risk),
        search=search,
        since=None if since is None else datetime.fromisoformat(since).replace(tzinfo=timezone.utc),
    )


def takes_filter(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `record_filter` in place of its parameter `where`."""
    own = inspect.signature(command, eval_str=True).parameters
    options = inspect.signature(record_filter, eval_str=True).parameters

    def run(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in options}
        command(where=record_filter(**chosen), **given)

    both = [*(one for name, one in own.items() if name != "where"), *options.values()]
    keyword = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in both]
    run.__signature__ = inspect.Signature(keyword)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in keyword}
    run.__name__, run.__doc__, run.__module__ = command.__name__, command.__doc__, command.__module__
    return run
