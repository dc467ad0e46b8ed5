"""`experience.yaml`: the successes of a folder in UFO's own form, for UFO and for reading.

It follows the records as the index does: a new one is appended, one that goes is blanked out where it stands, and only
what somebody else has changed is written anew as a whole.
"""

import json
import mmap
import os
import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

from ufo_experience.schema import Experience, Trust
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.catalog import Catalog, note
from ufo_experience.store.files import replace_file, stamp_of, storage_errors

VIEW = "experience.yaml"
HEAD = (
    b"# Made from the records of this store, which bring it up to date: edits here are lost.\n"
    b"# `ufo-experience import FILE` reads a file like this one.\n"
)
_EMPTY = HEAD + b"{}\n"
_CHANGED = "viewed IS NOT change"
_BELOW_KEY = re.compile(rb"(?: .*\n|\n)*")


def left_out_of_view(one: Experience) -> str | None:
    """Why UFO's `experience.yaml` does not take a record; None for a success that is observed or better."""
    if not one.outcome.success:
        return "without a judged outcome" if one.outcome.success is None else "failures"
    return None if one.trust.rank >= Trust.OBSERVED.rank else "quarantined"


def view_text(store: ExperienceStore) -> str:
    """The whole view as text."""
    shown = (one for one in store.scan() if not left_out_of_view(one))
    entries = [_entry(one, number) for number, one in enumerate(shown)]
    return (b"".join([HEAD, *entries]) if entries else _EMPTY).decode()


class View:
    """Keeps the file in line with the records of a catalog. `scan` reads the live ones among some ids."""

    def __init__(self, root: Path, catalog: Catalog, scan: Callable[[list[str]], Iterable[Experience]]) -> None:
        self._path, self._catalog, self._scan = root / VIEW, catalog, scan

    def follow(self) -> None:
        """Bring the file up to date; the caller holds the lock. Raises `StorageError`."""
        stamp, top = self._mark()
        now = stamp_of(self._path)
        anew = stamp != now or now.startswith(f"{len(_EMPTY)} ")
        where = "" if anew else f"WHERE {_CHANGED}"
        changed = self._catalog.read(f"SELECT number, id, change, live FROM record {where} ORDER BY number")
        if not changed and stamp == now:
            return
        numbers = {id: number for number, id, _, live in changed if live}
        records = {numbers[one.id]: one for one in self._scan([*numbers])}
        texts = {number: _entry(records.get(number), number) for number, *_ in changed}
        if anew:
            replace_file(self._path, [HEAD, *texts.values()] if any(texts.values()) else _EMPTY)
        else:
            with storage_errors(self._path), open(self._path, "r+b") as stream:
                right = _blank_others(stream, {number: text for number, text in texts.items() if number <= top})
                stream.seek(0, os.SEEK_END)
                stream.write(b"".join(text for number, text in texts.items() if number not in right))
        mark = json.dumps([stamp_of(self._path), max([top, *texts])])
        # what cannot be read now is looked at again
        shown = [(change, number) for number, _, change, live in changed if number in records or not live]
        self._catalog.write(_note, mark, shown)

    def is_current(self) -> bool:
        """True when nothing has changed since it was written."""
        changed = self._catalog.read(f"SELECT 1 FROM record WHERE {_CHANGED} LIMIT 1")
        return not changed and self._mark()[0] == stamp_of(self._path)

    def _mark(self) -> tuple[str, int]:
        """The stamp of the file when it was written (another: others wrote it), the last number that was in it."""
        stamp, top = json.loads(self._catalog.meta(VIEW) or '["never", 0]')
        return stamp, top


def _note(db: sqlite3.Connection, mark: str, shown: Iterable[tuple[int, int]]) -> None:
    note(db, **{VIEW: mark})
    db.executemany("UPDATE record SET viewed = ? WHERE number = ?", shown)


def _blank_others(stream: BinaryIO, texts: Mapping[int, bytes]) -> set[int]:
    """Make comments of the entries that are not what they should be; returns the numbers of those that are."""
    right = set()
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        for number, text in texts.items():
            key = b"\nexample%d:\n" % number
            start = whole.find(key) + 1
            entry = _BELOW_KEY.match(whole, start + len(key) - 1)
            if start and entry and whole[start : entry.end()] == text:
                right.add(number)
            elif start and entry:
                stream.seek(start)
                stream.write(b"#" + b" " * (entry.end() - start - 2) + b"\n")
    return right


def _entry(experience: Experience | None, number: int) -> bytes:
    """One example as UFO writes it, under a key of its own; empty for what is left out."""
    if experience is None or left_out_of_view(experience):
        return b""
    from ufo_experience.integrations.formats import to_ufo_example
    from ufo_experience.store.safe_yaml import dump_yaml  # yaml is slow to load

    return dump_yaml({f"example{number}": to_ufo_example(experience)}).encode()
