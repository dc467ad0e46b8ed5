"""The command line: one subcommand per stage, each a call of the library.

Exit codes: 0 ok, 2 usage, 65 bad data, 69 service unavailable, 73 cannot write, 75 try again later (locked), 77
refused for safety.
"""

import gc
import os
import sys

from ufo_experience.cli import advice, pipeline, records, servers
from ufo_experience.cli.app import app

__all__ = ["advice", "app", "main", "pipeline", "records", "servers"]

_COLLECT_AFTER = 200_000  # objects: what a command loads is not looked through again and again


def main() -> None:
    """Entry point. Errors of the package become one line on stderr and an exit code, never a traceback."""
    gc.set_threshold(_COLLECT_AFTER, 20, 20)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # to start more takes longer than a question
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # to look for some reads every package's list of them
    _build_only(sys.argv[1:2])
    try:
        app()
    finally:
        gc.freeze()  # the interpreter looks through all that is left before it lets it go


def _build_only(first: list[str]) -> None:
    """Where the first argument names a command, let the others be: to build all takes longer than a question."""
    said = [one for one in app.registered_commands if (one.name or getattr(one.callback, "__name__", "")) in first]
    groups = [one for one in app.registered_groups if one.name in first]
    if said or groups:
        app.registered_commands, app.registered_groups = said, groups
