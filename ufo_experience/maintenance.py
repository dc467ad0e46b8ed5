"""Looking after a store: find, approve, quarantine, remove, import, export, verify. (`purging` deletes by source.)"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ufo_experience.embedding import CACHE_FILE
from ufo_experience.embedding.cache import EmbeddingCache
from ufo_experience.errors import (
    CorruptError,
    DataError,
    FormatVersionError,
    IndexMismatchError,
    StorageError,
    UsageError,
)
from ufo_experience.fileio.atomic import storage_errors
from ufo_experience.fileio.regular import open_regular, read_regular
from ufo_experience.index.build import check_origin, prune
from ufo_experience.index.document import task_text
from ufo_experience.index.generations import Generations, ids_digest
from ufo_experience.ingest import ingest
from ufo_experience.schema import Experience, Problem, Trust
from ufo_experience.store.base import ExperienceStore, matches_source
from ufo_experience.store.exchange import (
    MAX_IMPORT_BYTES,
    VIEW,
    ImportReport,
    export_json,
    export_yaml,
    import_json,
    ufo_view,
    write_view,
)
from ufo_experience.store.folder.layout import CORRUPT, NOT_FOUND
from ufo_experience.store.folder.store import FileStore
from ufo_experience.summarizer import open_summarizer


def purge(store: ExperienceStore, generations: Generations, source: str) -> list[Experience]:
    """Delete every record of a source (its path, a folder above it, or its session), and whatever was derived from it.

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
    _purge_cache(store.cache_folder / CACHE_FILE, survey.kept)
    if folder:
        _purge_temps(folder)
        named = [f'"{form}{end}' for form in {source, _in_json(source)} if form for end in ('"', "/", "\\")]
        _purge_copies(folder / CORRUPT, [*named, *(text for one in survey.found for text in _texts(one))])
    store.remove([one.id for one in survey.found], reason="purged")
    if folder and (folder / VIEW).exists():
        write_view(store, folder / VIEW)
    prune(store, generations)
    for error in survey.unread:
        raise CorruptError(f"may come from {source!r} too: {error.reason}", file=error.file, code=error.code)
    return survey.found


def known_sources(store: ExperienceStore, source: str, limit: int = 3) -> list[str]:
    """The sources and sessions of a store that are spelled most like `source`, best first."""
    known = {name for one in store.scan() for name in (one.provenance.source, one.provenance.session) if name}
    return difflib.get_close_matches(source, sorted(known), n=limit, cutoff=0.0)


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
        if matches_source(one.provenance, source):
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


MIN_PREFIX = 4


@dataclass
class Verification:
    """What `verify` found. `index` is ok, stale (behind the records), corrupt or missing."""

    records: int = 0
    corrupt: list[Problem] = field(default_factory=list)
    index: str = "missing"
    generation: int = 0


def resolve(store: ExperienceStore, beginnings: Iterable[str]) -> list[str]:
    """The full ids that begin so. Raises `DataError` for one that fits no record, `UsageError` for an unclear one."""
    known = store.ids()
    return [_resolve(known, beginning) for beginning in beginnings]


def set_trust(store: ExperienceStore, ids: Iterable[str], trust: Trust) -> list[Experience]:
    """Give records another trust; returns them as they are now."""
    changed = list(ids)
    for identifier in changed:
        store.set_status(identifier, trust=trust)
    return [store.get(identifier) for identifier in changed]


def remove(store: ExperienceStore, ids: Iterable[str]) -> list[Experience]:
    """Delete records for good; returns what they were."""
    gone = [store.get(identifier) for identifier in ids]
    store.remove([one.id for one in gone], reason="removed by request")
    return gone


def import_file(store: ExperienceStore, file: Path) -> ImportReport:
    """Take in an export of this package (JSON), or a log or `experience.yaml` of UFO's; all of it quarantined."""
    if file.suffix.lower() == ".json" and _is_export(file):
        return import_json(store, _text_of(file))
    report = ingest([file], store, open_summarizer("extractive"), include_failures=True, trust=Trust.QUARANTINED)
    broken = [(problem.file, problem.message) for problem in report.problems]
    return ImportReport(added=report.added, skipped=report.skipped, failed=[*report.failed, *broken])


def export(store: ExperienceStore, format: str) -> str:
    """All records as one text: `json` (ours, imports again), `yaml` (ours), `ufo` (UFO's `experience.yaml`)."""
    writers = {"json": export_json, "yaml": export_yaml, "ufo": ufo_view}
    if format not in writers:
        raise UsageError(f"no export format {format!r}; known: {', '.join(writers)}")
    return writers[format](store)


def verify(store: ExperienceStore, generations: Generations) -> Verification:
    """Read every byte of records, index and cached vectors."""
    records = store.verify()
    found = Verification(records.records, list(records.corrupt))
    cache = EmbeddingCache(store.cache_folder / CACHE_FILE)
    damage = cache.check()
    if damage:
        found.corrupt.append(Problem(file=str(cache.path), code=CorruptError.default_code, message=damage))
    try:
        generation = generations.current()
        if generation is None:
            return found
        found.generation = generation.manifest.generation
        generation.check()
        check_origin(generation.manifest, store)
    except (CorruptError, IndexMismatchError, FormatVersionError) as error:
        found.index = "corrupt"
        found.corrupt.append(Problem(file=error.file or "index", code=error.code, message=str(error)))
        return found
    found.index = "ok" if generation.manifest.ids_digest == ids_digest(store.ids()) else "stale"
    return found


def _resolve(known: list[str], beginning: str) -> str:
    fitting = [identifier for identifier in known if identifier.startswith(beginning.lower())]
    if len(fitting) == 1 and (len(beginning) >= MIN_PREFIX):
        return fitting[0]
    if not fitting:
        raise DataError(f"no record {beginning!r}", code="E_NOT_FOUND")
    raise UsageError(f"{beginning!r} fits {len(fitting)} records; give more of the id (at least {MIN_PREFIX} digits)")


def _is_export(file: Path) -> bool:
    """True when the file begins like an export of this package."""
    try:
        with open_regular(file, MAX_IMPORT_BYTES) as stream:
            return b'"experiences"' in stream.read(4096)
    except OSError as error:
        raise DataError(error.strerror or str(error), file=str(file)) from error


def _text_of(file: Path) -> str:
    try:
        return read_regular(file, MAX_IMPORT_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start}", file=str(file)) from error
