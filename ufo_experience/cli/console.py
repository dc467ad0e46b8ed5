"""What the command line says: one JSON object on stdout with `--json`, else text for people; problems on stderr.

Text of records reaches a terminal without control characters, so that none can move its cursor or change its title.
Colours only where stdout is a terminal and `NO_COLOR` is not set.
"""

from __future__ import annotations

import codecs
import errno
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO

from ufo_experience.errors import ExperienceError, NotFoundError, RefusedError, StorageError
from ufo_experience.store.location import quoted

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)
_COMMAND = re.compile(r"ufo-experience [^;,()\n]*[^;,()\s]")  # to copy, as our texts name it
_STYLES = {
    "success": "green",
    "failure": "red",
    "unknown": "yellow",
    "approved": "bold green",
    "verified": "green",
    "observed": "yellow",
    "quarantined": "red",
    "ok": "green",
    "stale": "yellow",
    "corrupt": "red",
    "missing": "yellow",
}

_DROPPED_FIRST = ("steps", "date", "newest", "format", "trust", "application", "outcome")  # on a narrow terminal
_LEAST_TEXT = 24
SECONDS_BETWEEN_LINES = 10.0  # of progress, in a log that nobody may read


def printable(text: str) -> str:
    """`text` with control and direction characters written as JSON writes them; line breaks and tabs stay."""
    return _UNSAFE.sub(lambda match: json.dumps(match[0])[1:-1], text)


def counted(count: int, word: str) -> str:
    """`1 record`, `2 records`."""
    return f"{count} {word}{'s'[: count != 1]}"


class Console:
    """Where a command writes to. `as_json` is what the user asked for, `store` the one that was named."""

    def __init__(
        self, *, as_json: bool = False, store: str | None = None, out: TextIO | None = None, err: TextIO | None = None
    ) -> None:
        self.as_json: bool = as_json
        self._store = store
        self._out, self._err = out or sys.stdout or _Nowhere("standard output"), err or sys.stderr or _Nowhere("")
        for stream in (self._out, self._err):
            reconfigure: Callable[..., None] | None = getattr(stream, "reconfigure", None)
            if reconfigure:  # a console that cannot show a character shows its escape instead of failing
                reconfigure(errors="backslashreplace")

    def answer(self, data: Mapping[str, Any], text: str) -> None:
        """The result of a command: `data` as JSON, or `text`; without control characters, also through a pipe."""
        shown = self._json(data) if self.as_json else text
        with self._writing():
            self._out.write(printable(shown) + "\n")
            self._out.flush()  # now: at the end of the program nobody is told that the disk was full

    def _json(self, data: Mapping[str, Any]) -> str:
        """JSON that any program reads: text as it is in UTF-8, as escapes where the pipe is of another encoding."""
        utf_8 = codecs.lookup(getattr(self._out, "encoding", None) or "utf-8").name == "utf-8"
        return json.dumps(data, ensure_ascii=not utf_8, default=str)

    def answer_table(self, data: Mapping[str, Any], headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
        """Rows as a table, coloured on a terminal."""
        if self.as_json or not self._out.isatty() or "NO_COLOR" in os.environ:
            self.answer(data, table(headers, rows))
            return
        from rich.console import Console as RichConsole
        from rich.table import Table
        from rich.text import Text

        terminal = RichConsole(file=self._out)
        widths = [max(len(printable(str(cell))) for cell in column) for column in zip(headers, *rows, strict=True)]
        places = _columns_that_fit(headers, widths, terminal.width)
        shown = Table(box=None, pad_edge=False, header_style="bold")
        for place in places:
            least = None if place == places[-1] else widths[place]
            shown.add_column(headers[place], no_wrap=True, overflow="ellipsis", min_width=least)
        for row in rows:
            cells = [str(row[place]) for place in places]
            shown.add_row(*(Text(printable(cell), style=_STYLES.get(cell, "")) for cell in cells))
        with self._writing():
            terminal.print(shown)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Turn a result that could not be written into a `StorageError`; a reader that has gone needs none."""
        try:
            yield
        except OSError as error:
            _to_nowhere(self._out)
            if isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL):
                raise SystemExit(0) from None  # on Windows a pipe without a reader is an invalid argument
            raise StorageError(f"standard output: {error.strerror or error}") from error

    @property
    def is_terminal(self) -> bool:
        """True when a person reads the notes."""
        return self._err.isatty()

    def with_store(self, text: str) -> str:
        """Our own words, each command in them with the store that was named: it can be copied."""
        here = f" --db {quoted(self._store)}" if self._store is not None else ""
        return _COMMAND.sub(lambda found: found[0] if "--db" in found[0] else found[0] + here, text)

    def note(self, text: str) -> None:
        """Something people should know; never part of the result."""
        with suppress(OSError):  # nobody is left to be told
            self._err.write(printable(self.with_store(text)) + "\n")
            self._err.flush()

    def confirm(self, question: str) -> None:
        """Ask the person at the terminal, who may say no. Raises `RefusedError` then, and where nobody can be asked."""
        if not (sys.stdin and sys.stdin.isatty() and self._err.isatty()):
            raise RefusedError(f"{question} To do it without being asked: --yes")
        self._err.write(printable(f"{question} [y/N] "))
        self._err.flush()
        if sys.stdin.readline().strip().casefold() not in ("y", "yes"):
            raise RefusedError("nothing was changed")

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn an error of this package into one line on stderr and its exit code."""
        try:
            yield
        except ExperienceError as error:
            message = self.with_store(str(error) + _cure(error))
            self.note(f"error: {message}")
            if self.as_json and not isinstance(self._out, _Nowhere):
                self.answer({"error": {"code": error.code, "message": message}}, "")
            raise SystemExit(error.exit_code) from error

    def _telling(self) -> Callable[[str, int, int], None]:
        last = time.monotonic()

        def tell(what: str, done: int, total: int) -> None:
            nonlocal last
            if time.monotonic() - last >= SECONDS_BETWEEN_LINES:
                last = time.monotonic()
                self.note(f"{what}: {done} of {total}" if total else f"{what}: {done}")

        return tell

    @contextmanager
    def progress(self, title: str) -> Iterator[Callable[[str, int, int], None]]:
        """A progress bar on stderr for long work; where stderr is no terminal a line now and then."""
        if not self._err.isatty():
            yield self._telling()
            return
        from rich.console import Console as RichConsole
        from rich.progress import Progress

        with Progress(console=RichConsole(file=self._err), transient=True) as bar:
            task = bar.add_task(title, total=None)
            yield lambda what, done, total: bar.update(task, completed=done, total=total or None)


class _Nowhere(io.StringIO):
    """In place of a stream that was closed before the program began. What is called "" may be written to in vain."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def write(self, text: str) -> int:
        if self._name:
            raise StorageError(f"{self._name} is closed")
        return len(text)


def _to_nowhere(stream: TextIO) -> None:
    """Let what is still in the buffer of a stream go nowhere, so that the end of the program does not fail on it."""
    with suppress(OSError, ValueError):  # a stream of no file
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _columns_that_fit(headers: Sequence[str], widths: Sequence[int], width: int) -> list[int]:
    """The columns a terminal of `width` shows beside the last one, of which some must be left to read."""
    places = list(range(len(headers)))
    for dropped in (headers.index(name) for name in _DROPPED_FIRST if name in headers):
        if sum(widths[place] + 2 for place in places[:-1]) + min(widths[-1], _LEAST_TEXT) <= width:
            break
        places.remove(dropped)
    return places


def table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A plain text table; the last column is not padded."""
    texts = [[printable(str(cell)) for cell in row] for row in [headers, *rows]]
    widths = [max(len(row[column]) for row in texts) for column in range(len(headers))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in texts]
    return "\n".join(lines)


def _cure(error: ExperienceError) -> str:
    """What to do about it, where the command line knows."""
    if isinstance(error, NotFoundError) and error.reason.startswith("no experience store"):
        if Path(str(error.file)).is_file():
            return ": it is a file, a store is a folder"
        return f"; to make one: ufo-experience ingest PATH --db {error.file}"
    if isinstance(error, NotFoundError) and error.reason.startswith("no record '"):
        return "; ids stand in: ufo-experience list"
    if str(error).endswith("give --labels FILE"):
        return ' with lines such as {"query": "email Bob", "id": "6935f48a…", "relevant": true}'
    return ""
