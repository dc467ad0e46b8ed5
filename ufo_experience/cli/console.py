"""What the command line says: one JSON object on stdout with `--json`, else text for people; problems on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TextIO

from ufo_experience.errors import ExperienceError


class Console:
    """Where a command writes to. `as_json` is what the user asked for."""

    def __init__(self, *, as_json: bool = False, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.as_json = as_json
        self._out, self._err = out or sys.stdout, err or sys.stderr
        for stream in (self._out, self._err):
            reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
            if reconfigure:  # a console that cannot show a character shows its escape instead of failing
                reconfigure(errors="backslashreplace")

    def answer(self, data: Mapping[str, Any], text: str) -> None:
        """The result of a command: `data` as JSON, or `text`."""
        self._out.write((json.dumps(data, ensure_ascii=False, default=str) if self.as_json else text) + "\n")

    def note(self, text: str) -> None:
        """Something people should know; never part of the result."""
        self._err.write(text + "\n")

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn an error of this package into one line on stderr and its exit code."""
        try:
            yield
        except ExperienceError as error:
            self.note(f"error: {error}")
            if self.as_json:
                self.answer({"error": {"code": error.code, "message": str(error)}}, "")
            raise SystemExit(error.exit_code) from error

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[int, int], None]]:
        """A progress bar on stderr for long work; nothing where stderr is no terminal."""
        if not self._err.isatty():
            yield lambda done, total: None
            return
        from rich.console import Console as RichConsole
        from rich.progress import Progress

        with Progress(console=RichConsole(file=self._err), transient=True) as bar:
            task = bar.add_task(title, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total)


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A plain text table; the last column is not padded."""
    texts = [[str(cell) for cell in row] for row in [headers, *rows]]
    widths = [max(len(row[column]) for row in texts) for column in range(len(headers))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in texts]
    return "\n".join(lines)
