"""The command line: one subcommand per stage, each a call of the library.

Exit codes: 0 ok, 2 usage, 65 bad data, 69 service unavailable, 73 cannot write, 75 try again later (locked), 77
refused for safety.
"""

from ufo_experience.cli import learn, ask, look_after, serve  # isort: skip  (the order of the commands in the help)
from ufo_experience.cli.app import app

__all__ = ["app", "ask", "learn", "look_after", "main", "serve"]


def main() -> None:
    """Entry point. Errors of the package become one line on stderr and an exit code, never a traceback."""
    app()
