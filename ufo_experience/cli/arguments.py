"""Arguments that several commands take, and the filter that says which records are meant."""

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, Literal

import typer
from typer import Argument, Option

from ufo_experience.store.selection import RecordFilter


def filled(value: str | None) -> str | None:
    """A text that was given and is not empty: an empty one is an unset variable of a shell."""
    if value is not None and not value.strip():
        raise typer.BadParameter("empty; is a variable not set?")
    return value


def named(help: str) -> Any:
    return Option(callback=filled, help=help)


Context = typer.Context
Task = Annotated[list[str], Argument(help="What the agent is to do, in the user's words.", metavar="TASK")]
Application = Annotated[
    str | None, Option("--application", "--app", callback=filled, help="The application; process names count.")
]
Env = Annotated[str | None, named("Only experiences of this environment (exact).")]
TopK = Annotated[int | None, Option("-k", "--top-k", help="How many at most (1 to 50). Default: 3.")]
Threshold = Annotated[str | None, Option(help="Lowest score: a number from 0 to 1, or auto. Default: auto.")]
Session = Annotated[str | None, named("Name of the run; given again, it counts once.")]
Worked = Annotated[bool | None, Option("--success/--failure", help="How the run ended. Default: unknown.")]
Ids = Annotated[list[str], Argument(metavar="ID...", help="Ids of records; a unique beginning will do.")]
DryRun = Annotated[bool, Option("--dry-run", help="Only say which records it would be.")]
Trusts = Literal["quarantined", "observed", "verified", "approved"]
Judge = Literal["user", "program", "model", "agent"]

# The arguments that say which records are meant, by the fields of `RecordFilter`; `unknown` is one more `success`.
FILTER: dict[str, Any] = {
    "ids": Annotated[list[str], Argument(metavar="[ID]...", help="Ids; a unique beginning will do.")],
    "all": Annotated[bool, Option("--all", help="Every record.")],
    "application": Application,
    "source": Annotated[str, named("Records from this file, folder or session.")],
    "success": Annotated[bool, Option("--success/--failure", help="Records of runs that ended so.")],
    "unknown": Annotated[bool, Option("--unknown", help="Records of runs that nobody judged.")],
    "trust": Annotated[Trusts, Option(help="Records of this trust.")],
    "risk": Annotated[str, Option(help="Records with a risky step: any, none, or a kind.")],
    "search": Annotated[str, named("Records that hold all of these words.")],
    "since": Annotated[str, named("Made then or later, such as 2025-11-12.")],
}


def takes_filter(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the arguments of `FILTER`; it gets the `RecordFilter` that they make as `where`."""

    @wraps(command)
    def run(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in FILTER}
        meant = {name: value for name, value in chosen.items() if value is not None}
        meant["ids"] = tuple(chosen["ids"] or ())
        if meant.pop("unknown", False):
            meant["success"] = "unknown"
        if chosen["risk"] in ("any", "none"):
            meant["risk"] = chosen["risk"] == "any"
        command(where=RecordFilter(**meant), **given)

    own = inspect.signature(command, eval_str=True).parameters
    keyword = inspect.Parameter.KEYWORD_ONLY
    taken = [one.replace(kind=keyword) for name, one in own.items() if name != "where"]
    taken += [inspect.Parameter(name, keyword, default=None, annotation=kind) for name, kind in FILTER.items()]
    run.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in taken}
    return run
