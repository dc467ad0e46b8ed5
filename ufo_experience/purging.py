"""Deleting everything that came from one source, so that no byte of its texts stays in the store folder.

Derived things go first (cached vectors, set-aside copies), then the records, then what is rewritten from the records
(the view, the index). Cut short at any point, the same purge run again finishes the work.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ufo_experience.embedding.cache import EmbeddingCache
from ufo_experience.errors import CorruptError, DataError, StorageError
from ufo_experience.index.features import task_text
from ufo_experience.index.generation import Generations
from ufo_experience.indexer import prune
from ufo_experience.schema import Experience
from ufo_experience.store.atomic import storage_errors
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.exchange import VIEW, write_view
from ufo_experience.store.files import FileStore
from ufo_experience.store.layout import CORRUPT, NOT_FOUND
from ufo_experience.store.origin import is_from

CACHE = "embeddings.sqlite"


def purge(store: ExperienceStore, generations: Generations, source: str) -> list[Experience]:
    """Delete every record of a source (its path or its session), and whatever was derived from it.

    Gone afterwards: records, cached vectors, every generation of the index that held them, copies of damaged files
    that mention them, and their part of `experience.yaml`. Returns what the records were.

    Raises:
        StorageError: something could not be deleted, and the message names it; run the same purge again.
        CorruptError: all this is done, but a file that cannot be read may come from `source` too; it is named.
        LockedError: another process is writing.
    """
    folder = Path(store.location) if isinstance(store, FileStore) else None
    if isinstance(store, FileStore):
        store.set_aside_corrupt()
    survey = _survey(store, source)
    _purge_cache(store.cache_folder / CACHE, survey.kept)
    if folder:
        _purge_temps(folder)
        _purge_copies(folder / CORRUPT, [source, *(text for one in survey.found for text in _texts(one))])
    store.remove([one.id for one in survey.found], reason="purged")
    if folder and (folder / VIEW).exists():
        write_view(store, folder / VIEW)
    prune(store, generations)
    for error in survey.unread:
        raise CorruptError(f"may come from {source!r} too: {error.reason}", file=error.file, code=error.code)
    return survey.found


@dataclass
class _Survey:
    """The records of a source, the texts others are embedded by, and why some could not be read."""

    found: list[Experience] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    unread: list[DataError] = field(default_factory=list)


def _survey(store: ExperienceStore, source: str) -> _Survey:
    survey = _Survey()
    for id in store.ids():
        try:
            one = store.get(id)
        except DataError as error:
            survey.unread += [error] if error.code != NOT_FOUND else []
            continue
        if is_from(one.provenance, source):
            survey.found.append(one)
        else:
            survey.kept.add(task_text(one))
    return survey


def _texts(one: Experience) -> list[str]:
    return [one.id, one.state.request, one.state.task, one.provenance.source, one.provenance.session]


def _purge_cache(path: Path, texts: Iterable[str]) -> None:
    """Keep the vectors of these texts only: they count as sensitive as their text, and one whose record is damaged
    has no text any more. Caches that were moved aside go whole.
    """
    with storage_errors(path):
        for aside in path.parent.glob(f"{path.name}.corrupt-*"):
            aside.unlink()
    if path.is_file():
        with EmbeddingCache(path) as cache:
            cache.keep_only(texts)
            if cache.warning:
                raise StorageError(f"{path}: not purged: {cache.warning}")


def _purge_temps(folder: Path) -> None:
    """What a process that died while it wrote the view left behind."""
    with storage_errors(folder):
        for path in folder.glob(".*.tmp"):
            path.unlink()


def _purge_copies(folder: Path, texts: Iterable[str]) -> None:
    """Delete files that were set aside and hold one of the texts, as they stand in a record or plain."""
    wanted = {form.encode("utf-8") for text in texts if text for form in (text, _in_json(text))}
    with storage_errors(folder):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            data = path.read_bytes()
            if any(text in data for text in wanted):
                path.unlink()


def _in_json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]
