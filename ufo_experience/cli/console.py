"""What the command line says: one JSON object on stdout with `--json`, else text for people; problems on stderr.

Text of records reaches a terminal without control characters, so that none can move its cursor or change its title.
"""

import codecs
import errno
import json
import logging
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import typer
from pydantic_core import to_jsonable_python

from ufo_experience.errors import ExperienceError, RefusedError, StorageError, with_store
from ufo_experience.procedure.cleaning import printable

_COLOURS = {
    **dict.fromkeys(("success", "verified", "approved"), "green"),
    **dict.fromkeys(("unknown", "observed"), "yellow"),
    **dict.fromkeys(("failure", "quarantined"), "red"),
}
_DROPPED_FIRST = ("steps", "date", "newest", "format", "trust", "application", "outcome")  # on a narrow terminal
_LEAST_TEXT = 24
SECONDS_BETWEEN_LINES = 10.0  # of progress, in a log that nobody may read


def counted(count: int, word: str) -> str:
    return f"{count} {word}{'s'[: count != 1]}"


class Table(NamedTuple):
    headers: Sequence[str]
    rows: Sequence[Sequence[object]]

    def text(self, width: int | None = None) -> str:
        """In colour for a terminal of this width: columns go, the least telling first, and the last one is cut."""
        from rich.cells import cell_len, set_cell_size

        texts = [[printable(str(cell)) for cell in row] for row in [self.headers, *self.rows]]
        columns = {cells[0]: cells for cells in zip(*texts, strict=True)}
        widths = {name: max(map(cell_len, cells)) for name, cells in columns.items()}
        last, whole = self.headers[-1], widths[self.headers[-1]]
        if width is not None:
            for name in (*_DROPPED_FIRST, ""):
                widths[last] = min(whole, width - sum(size + 2 for name, size in widths.items() if name != last))
                if widths[last] < min(whole, _LEAST_TEXT):
                    widths.pop(name, None)
        lines: list[str] = []
        for row in zip(*(columns[name] for name in widths), strict=True):
            cells = [set_cell_size(cell, max(size, 1)) for cell, size in zip(row, widths.values(), strict=True)]
            if cell_len(row[-1]) > widths[last]:
                cells[-1] = f"{set_cell_size(row[-1], max(widths[last] - 1, 0))}…"
            if width is not None:
                cells = [typer.style(cell, fg=_COLOURS.get(cell.strip()), bold=not lines or None) for cell in cells]
            lines.append("  ".join(cells).rstrip())
        return "\n".join(lines)


@dataclass(frozen=True)
class Console:
    """Where a command writes to. `as_json` is what the user asked for, `store` the one that was named."""

    as_json: bool = False
    store: str | None = None

    def answer(self, data: Any, shown: str | Table) -> None:
        """The result of a command: `data` as JSON, or what is `shown` to people; it holds no control characters."""
        if sys.stdout is None:  # closed before the program began
            raise StorageError("standard output is closed")
        if self.as_json:  # text as it is in UTF-8, as escapes where the pipe is of another encoding
            is_utf_8 = codecs.lookup(getattr(sys.stdout, "encoding", None) or "utf-8").name == "utf-8"
            text = printable(json.dumps(to_jsonable_python(data, fallback=str), ensure_ascii=not is_utf_8))
        elif isinstance(shown, Table):
            coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
            text = shown.text(shutil.get_terminal_size().columns if coloured else None)
        else:
            text = printable(shown)
        try:  # what is written is flushed: at the end of the program nobody is told that the disk was full
            typer.echo(text)
        except OSError as error:
            with suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:  # else the end of the program fails
                os.dup2(nowhere.fileno(), sys.stdout.fileno())
            if isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL):
                raise SystemExit(0) from None  # nobody reads on; on Windows such a pipe is an invalid argument
            raise StorageError(f"standard output: {error.strerror or error}") from error

    def with_store(self, text: str) -> str:
        """Our own words, each command in them with the store that was named: it can be copied."""
        return text if self.store is None else with_store(text, self.store)

    def note(self, text: str) -> None:
        """Something people should know; never part of the result."""
        with suppress(OSError, AttributeError):  # nobody is left to be told
            sys.stderr.write(printable(self.with_store(text)) + "\n")
            sys.stderr.flush()

    def fail(self, error: ExperienceError) -> NoReturn:
        """End with one line on stderr, with `--json` an object on stdout, too, and the exit code of the error."""
        message = self.with_store(str(error))
        self.note(f"error: {message}")
        if self.as_json:
            with suppress(StorageError):  # stdout may be what failed
                self.answer({"error": {"code": error.code, "message": message}}, "")
        raise SystemExit(error.exit_code) from error

    @property
    def is_terminal(self) -> bool:
        return sys.stderr is not None and sys.stderr.isatty()

    def confirm(self, question: str) -> None:
        """Ask the person at the terminal, who may say no. Raises `RefusedError` then, and where nobody can be asked."""
        if not (sys.stdin and sys.stdin.isatty() and self.is_terminal):
            raise RefusedError(f"{question} To do it without being asked: --yes")
        sys.stderr.write(printable(f"{question} [y/N] "))
        sys.stderr.flush()
        if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
            raise RefusedError("nothing was changed")

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[str, int, int], None]]:
        """A progress bar on stderr for long work; where stderr is no terminal a line now and then."""
        last = time.monotonic()

        def tell(what: str, done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
                last = time.monotonic()
                self.note(f"{what}: {done} of {total}" if total else f"{what}: {done}")

        if not self.is_terminal:
            yield tell
            return
        from rich.console import Console as RichConsole
        from rich.progress import Progress

        with Progress(console=RichConsole(stderr=True), transient=True) as bar:
            task = bar.add_task(title, total=None)
            yield lambda what, done, total: bar.update(task, completed=done, total=total or None)


class _HarmlessLog(logging.Formatter):
    """What is logged holds names of files and texts of servers."""

    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record))


def prepare_streams(*, verbose: bool) -> None:
    """A character that a stream cannot show becomes its escape; warnings go to stderr, and all of our log if asked."""
    for stream in (sys.stdout, sys.stderr):
        if reconfigure := getattr(stream, "reconfigure", None):
            reconfigure(errors="backslashreplace")
    if logging.lastResort:
        logging.lastResort.setLevel(logging.DEBUG if verbose else logging.WARNING)
        logging.lastResort.setFormatter(_HarmlessLog("%(levelname)s %(name)s: %(message)s" if verbose else None))
    logging.getLogger("ufo_experience").setLevel(logging.DEBUG if verbose else logging.NOTSET)
