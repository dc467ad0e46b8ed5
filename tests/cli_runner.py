"""Runs `ufo-experience` for tests, in their own process."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import typer.main
from typer.testing import CliRunner

from ufo_experience.cli import app


@cache
def commands() -> Any:
    """All our commands, as the library below Typer sees them. Made once: it takes as long as running ten."""
    return typer.main.get_command(app)


@dataclass
class Done:
    """How a command ended, and what it wrote."""

    exit_code: int
    stdout: str
    stderr: str
    output: str


@contextmanager
def warnings_on_stderr() -> Iterator[None]:
    """Our warnings go where those of a program go, though pytest takes them, too."""
    root = logging.getLogger()
    root.addHandler(logging.lastResort)
    try:
        yield
    finally:
        root.removeHandler(logging.lastResort)


def invoke(*arguments: object, text: str | None = None, env: dict[str, str | None] | None = None) -> Done:
    """Run a command in this process, however it ends. An error that is no exit code is raised."""
    code: Any = 0
    with CliRunner().isolation(input=text, env=env or {}) as streams, warnings_on_stderr():
        try:
            commands().main(args=[*map(str, arguments)], prog_name="ufo-experience")
        except SystemExit as end:
            code = end.code or 0
        sys.stdout.flush()
        sys.stderr.flush()
        return Done(code, *(stream.getvalue().decode().replace("\r\n", "\n") for stream in streams))


ENV = {
    name: value for name, value in os.environ.items() if not name.startswith(("OPENAI_", "AZURE_", "UFO_EXPERIENCE_"))
}


class Cli:
    """Runs commands in a folder, without the settings of the environment. A call fails unless it ends with `code`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: object, code: int = 0, text: str | None = None, **env: str) -> Done:
        """Run a command here. An error that is no exit code is raised."""
        done = self.try_(*arguments, text=text, **env)
        assert done.exit_code == code, done.stderr
        return done

    def try_(self, *arguments: object, text: str | None = None, **env: str) -> Done:
        """Run a command here, however it ends."""
        unset = {name: None for name in os.environ if name not in ENV}
        before = Path.cwd()
        os.chdir(self.folder)
        try:
            return invoke(*arguments, text=text, env={**unset, **env})
        finally:
            os.chdir(before)

    def json(self, *arguments: object, code: int = 0, text: str | None = None, **env: str) -> dict:
        """The one object a command prints with --json."""
        return json.loads(self(*arguments, "--json", code=code, text=text, **env).stdout)
