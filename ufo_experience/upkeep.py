"""Looking after a store: find, approve, quarantine, remove, import, export, verify. (`purging` deletes by source.)"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ufo_experience.embedding.cache import EmbeddingCache
from ufo_experience.errors import CorruptError, DataError, FormatVersionError, IndexMismatchError, UsageError
from ufo_experience.fileio.regular import open_regular, read_regular
from ufo_experience.index.generation import Generations, ids_digest
from ufo_experience.indexer import check_origin
from ufo_experience.ingest import ingest
from ufo_experience.schema import Experience, Problem, Trust
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.exchange import (
    MAX_IMPORT_BYTES,
    ImportReport,
    export_json,
    export_yaml,
    import_json,
    ufo_view,
)
from ufo_experience.summarizer import open_summarizer

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
    cache = EmbeddingCache(store.cache_folder / "embeddings.sqlite")
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
