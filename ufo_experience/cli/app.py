"""What the commands share: the application object, options that stand anywhere, and an open store."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from ufo_experience import __version__
from ufo_experience.cli.console import Console, prepare_streams
from ufo_experience.errors import ExperienceError, NotFoundError, UsageError, nearest, plain_words
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.cleaning import printable
from ufo_experience.settings import load_settings
from ufo_experience.store.files import read_regular
from ufo_experience.store.strict_json import parse

MAX_INPUT = 1 << 24  # bytes of JSON that is handed in
# What may stand before or after any command, and what it says; the values of the store's setting of that name.
_SWITCHES = {
    "--json": "as_json",
    "-v": "verbose",
    "--verbose": "verbose",
    "--allow-http-service": "allow_http_service",
}
_TRUTHS = ("yes", "no", "true", "false", "0", "1")
_ANYWHERE = (
    "With every command: --db STORE (a folder or a URL; default: experience_db), --json (one JSON object on stdout), "
    "-v, --verbose (say more, on stderr), --allow-http-service."
)
_OTHER_ARGUMENTS = ("NoSuchOption", "MissingParameter", "UsageError")  # errors of arguments a command does not take
_ARGUMENT_ERROR: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


class Group(typer.core.TyperGroup):
    """Takes the options of `_ANYWHERE` before or after a command. Errors are answered in our words."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        if not {"--success", "--failure"} - set(args[:end]):
            raise typer.BadParameter("--success and --failure say the contrary of each other: give one")
        options = [one for known in self.commands.values() for one in known.params if getattr(one, "is_flag", False)]
        flags = {*_SWITCHES, *(name for one in options for name in (*one.opts, *one.secondary_opts))}
        for switch, word in pairwise(args[:end]):
            if switch in flags and word.casefold() in _TRUTHS:
                raise typer.BadParameter(f"{switch} takes no value: leave out {word}")
        ctx.obj, rest = _taken_out(args[:end])
        prepare_streams(verbose="verbose" in ctx.obj)
        return super().parse_args(ctx, [*rest, *args[end:]])

    def make_context(self, *given: Any, **more: Any) -> Any:
        with _our_words():
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        with _our_words():
            try:
                return super().invoke(ctx)
            except ExperienceError as error:
                console_of(ctx).fail(error)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            near = nearest(args[0], [*self.list_commands(ctx), "--help", "--version"])
            ctx.fail(f"No such command {args[0]!r}.{f' Did you mean {near}?' if near else ''}")
        return super().resolve_command(ctx, args)


class Command(typer.core.TyperCommand):
    """Refuses what would be lost in silence: an option given twice, and a word apart from the task it would join."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        parser: Any = self.make_parser(ctx)
        given, _, order = parser.parse_args([*args])
        for one in order:
            if one.param_type_name == "option" and not (one.is_flag or one.multiple) and order.count(one) > 1:
                raise typer.BadParameter(f"{one.opts[0]} is given twice, and takes one value")
        said = given.get("task")  # of `ingest` it is an option
        task = [] if said is None or isinstance(said, str) else [*said]
        if task not in (args[at : at + len(task)] for at in range(len(args) + 1)):
            raise typer.BadParameter(f"{task[-1]!r} stands apart from the task: write the task in one, in quotes")
        return super().parse_args(ctx, args)


@contextmanager
def _our_words() -> Iterator[None]:
    """Let an error about arguments name what the command takes, and repeat nothing that a terminal would obey."""
    try:
        yield
    except _ARGUMENT_ERROR as error:
        context, said = getattr(error, "ctx", None), error.message or ""
        if context and type(error).__name__ == "NoSuchOption":
            own = [name for one in context.command.params for name in (*one.opts, *one.secondary_opts)]
            known = {_bare(name): name for name in [*own, "--db", *_SWITCHES] if name.startswith("-")}
            near = " or ".join(known.get(one, one) for one in nearest(_bare(error.option_name), known).split(" or "))
            said = f"No such option: {error.option_name}{f'; did you mean {near}?' if near else ''}"
            error.possibilities = None
        if context and "extra argument" in said:
            valued = [max(one.opts, key=len) for one in context.command.params if not getattr(one, "is_flag", True)]
            said += f"; what is it? It stands after {', '.join([*valued, '--db'])}"
        if context and type(error).__name__ in _OTHER_ARGUMENTS:
            said = f"{said}{'' if said.endswith(('?', '.')) else '.'} " if said else ""
            names = ", ".join(getattr(context.command, "commands", ()))
            taken = f"{context.info_name} takes: {_taken_by(context.command)}"
            said += f"There are: {names}; each says more with --help" if names else taken
        error.message = printable(plain_words(said))
        raise


def _bare(option: str) -> str:
    """The name of an option as an argument in Python is called."""
    return option.lstrip("-").replace("-", "_")


def _taken_by(command: Any) -> str:
    """The arguments and options of a command, by their names, and what every command takes."""
    names = [
        "/".join([max(one.opts, key=len), *one.secondary_opts])
        if one.param_type_name == "option"
        else one.metavar or one.name.upper()
        for one in command.params
    ]
    return "; every command: ".join(filter(None, (", ".join(names), "--db, --json, --verbose")))


def _taken_out(args: list[str]) -> tuple[dict[str, Any], list[str]]:
    """The options that may stand anywhere, by their setting, and the other arguments. The last --db counts."""
    given: dict[str, Any] = {}
    rest: list[str] = []
    words = iter(args)
    for word in words:
        if word in _SWITCHES:
            given[_SWITCHES[word]] = True
        elif word == "--db" or word.startswith("--db="):
            given["db"] = word.partition("=")[2] if "=" in word else next(words, None)
            if given["db"] is None:
                raise typer.BadParameter("--db needs the place of a store: a folder or a URL")
        else:
            rest.append(word)
    return given, rest


app = typer.Typer(
    name="ufo-experience",
    cls=Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def command(panel: str, name: str | None = None) -> Callable[..., Any]:
    """A command in its panel of the help, with what may stand with every command below it."""
    return app.command(name, cls=Command, rich_help_panel=panel, epilog=_ANYWHERE)


def _say_version(asked: bool) -> None:
    if asked:
        Console().answer({}, f"ufo-experience {__version__}")
        raise typer.Exit


Version = Annotated[bool, typer.Option("--version", is_eager=True, callback=_say_version, help="Print the version.")]


@app.callback(epilog=_ANYWHERE)
def before_the_command(version: Version = False) -> None:
    """Experience memory for UI agents: learn from session logs, hand the right steps to the next run."""


def given_of(ctx: typer.Context) -> dict[str, Any]:
    """The options that stood anywhere, by their setting."""
    return dict(ctx.find_root().obj)


def console_of(ctx: typer.Context) -> Console:
    return Console("as_json" in given_of(ctx), given_of(ctx).get("db"))


@contextmanager
def open_memory(
    ctx: typer.Context, *, create: bool = False, **options: Any
) -> Iterator[tuple[Console, ExperienceMemory]]:
    """A console and an open store; asking a store that is not there is an error, not an empty answer."""
    own = {name: value for name, value in given_of(ctx).items() if name not in ("as_json", "verbose")}
    with ExperienceMemory.open(settings=load_settings(**own, **options), create=create) as memory:
        yield console_of(ctx), memory


@contextmanager
def telling_itself(module: str) -> Iterator[None]:
    """Where a command says itself of what this module would warn."""
    logger = logging.getLogger(module)
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(logging.NOTSET)


def text_of(words: list[str]) -> str:
    """A task that was typed with or without quotes. Raises `UsageError` when it is empty."""
    task = " ".join(words)
    if not any(letter.isalnum() for letter in task):
        raise UsageError("the task is empty: say what the agent is to do")
    return task


def read_json(given: str) -> Any:
    """A JSON value: that of a file, of stdin (`-`), or the text itself when it begins as an object or a list."""
    if given.lstrip()[:1] in ("{", "["):
        return parse(given.encode("utf-8", "replace"), file="the given JSON")
    if given != "-" and not Path(given).exists():
        raise NotFoundError("no such file, and no JSON: an object begins with {, a list with [", file=given)
    data = sys.stdin.buffer.read(MAX_INPUT) if given == "-" else read_regular(Path(given), MAX_INPUT)
    return parse(data, file="stdin" if given == "-" else given)
