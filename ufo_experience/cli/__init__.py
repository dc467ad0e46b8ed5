"""The command line: one subcommand per stage, each a call of the library.

Exit codes: 0 ok, 2 usage, 65 bad data, 69 service unavailable, 73 cannot write, 75 try again later (locked), 77
refused for safety.
"""

import gc
import os

from ufo_experience.cli import advice, bench, pipeline, records, servers
from ufo_experience.cli.app import app

__all__ = ["advice", "app", "bench", "main", "pipeline", "records", "servers"]

_COLLECT_AFTER = 50_000  # objects: what a command loads is not looked through again and again


def main() -> None:
    """Entry point. Errors of the package become one line on stderr and an exit code, never a traceback."""
    gc.set_threshold(_COLLECT_AFTER, 20, 20)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # to start more takes longer than a question
    app()
