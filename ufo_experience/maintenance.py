"""Looking after a store: trust, removal, erasure, import, export, verification and repair, and what is in it.

Every change takes a `RecordFilter`; with `dry_run` it only says what it would be about.
"""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import overload

from ufo_experience.embedding import CACHE_FILE
from ufo_experience.embedding.cache import EmbeddingCache
from ufo_experience.errors import (
    CorruptError,
    DataError,
    FormatVersionError,
    IndexMismatchError,
    NotFoundError,
    StorageError,
    UsageError,
)
from ufo_experience.fileio.atomic import Disk, make_folder, replace_file, storage_errors
from ufo_experience.fileio.regular import open_regular, read_regular
from ufo_experience.fileio.strict_json import parse
from ufo_experience.ids import is_id
from ufo_experience.index.build import check_origin, is_outdated, load_snapshot, prune
from ufo_experience.index.document import embedded_text
from ufo_experience.index.generations import Generations, ids_digest
from ufo_experience.ingest import ingest
from ufo_experience.schema import MAX_RECORD_BYTES, Experience, Problem, Trust, validate
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.exchange import (
    MAX_IMPORT_BYTES,
    VIEW,
    YAML_HEAD,
    ImportReport,
    as_entry,
    export_json,
    export_yaml,
    import_entries,
    import_json,
    in_view,
    ufo_view,
    write_view,
)
from ufo_experience.store.folder.layout import CORRUPT
from ufo_experience.store.folder.signing import signer_from_environment
from ufo_experience.store.folder.store import FileStore
from ufo_experience.store.selection import RecordFilter, chosen, resolve_among
from ufo_experience.summarizer import open_summarizer
from ufo_experience.traces.safe_yaml import load_yaml
from ufo_experience.trust.risk import risks

REMOVED = "removed"  # folder of what was removed and not purged


@dataclass(frozen=True)
class ChangeReport(Sequence[Experience]):
    """The records a change was about, as they are now (what is gone: as it was); a sequence of them.

    `left_out` says of records that fit the filter and were not changed, why. After a `dry_run` nothing was changed.
    """

    records: tuple[Experience, ...] = ()
    left_out: tuple[tuple[str, str], ...] = ()
    dry_run: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the records."""
        return tuple(one.id for one in self.records)

    def __len__(self) -> int:
        return len(self.records)

    @overload
    def __getitem__(self, place: int) -> Experience: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Experience, ...]: ...
    def __getitem__(self, place: int | slice) -> Experience | tuple[Experience, ...]:
        return self.records[place]


def set_trust(store: ExperienceStore, where: RecordFilter, trust: Trust, *, dry_run: bool = False) -> ChangeReport:
    """Give records another trust.

    Approving by a filter leaves out records with a risky step unless `ids` or `risk` say that they are meant.

    Raises:
        UsageError: the filter is empty.
        NotFoundError, ConflictError: as `select`; then nothing was changed.
    """
    found = chosen(store, where)
    careful = trust is Trust.APPROVED and not where.ids and where.risk is None
    kinds = {one.id: risks(one) for one in found} if careful else {}
    changed = [one for one in found if not kinds.get(one.id)]
    left_out = tuple((id, f"risky ({', '.join(kind)}); approve it by its id") for id, kind in kinds.items() if kind)
    if not dry_run:
        for one in changed:
            store.set_status(one.id, trust=trust, expected=where.expected.get(one.id))
        changed = [store.get(one.id) for one in changed]
    return ChangeReport(tuple(changed), left_out, dry_run)


def remove(store: ExperienceStore, where: RecordFilter, *, dry_run: bool = False) -> ChangeReport:
    """Take records out of the store; the same log read again does not bring them back, `undo_remove` does.

    Their bytes are kept in `removed/` until they are purged. Raises as `set_trust`.
    """
    gone = chosen(store, where)
    if not dry_run:
        folder = store.cache_folder / REMOVED
        make_folder(folder, Disk())
        for one in gone:
            replace_file(folder / f"{one.id}.json", as_entry(one), Disk())
        store.remove([one.id for one in gone], reason="removed by request")
    return ChangeReport(tuple(gone), dry_run=dry_run)


def undo_remove(store: ExperienceStore, ids: Sequence[str]) -> list[Experience]:
    """Bring records back as they were when they were removed; in a signed store they come back quarantined.

    Raises:
        NotFoundError, UsageError: no removed record, or several, have an id that begins so.
    """
    known = {path.stem: path for path in _removed_files(store)}
    back = []
    for id in resolve_among(list(known), ids, "no removed record"):
        entry = validate(Experience, parse(read_regular(known[id], MAX_RECORD_BYTES), file=str(known[id])))
        signed = isinstance(store, FileStore) and signer_from_environment(Path(store.location)) is not None
        back.append(entry.model_copy(update={"trust": Trust.QUARANTINED}) if signed else entry)
    store.add(back, revive=True)
    with storage_errors(store.cache_folder / REMOVED):
        for one in back:
            known[one.id].unlink()
    return [store.get(one.id) for one in back]


def _removed_files(store: ExperienceStore) -> list[Path]:
    folder = store.cache_folder / REMOVED
    return sorted(path for path in folder.glob("*.json") if is_id(path.stem)) if folder.is_dir() else []


def _purge_removed(store: ExperienceStore, where: RecordFilter, named: set[str] | None) -> list[Experience]:
    """Delete what `remove` kept and the filter means, and what cannot be read any more; returns what it was."""
    gone = []
    for path in _removed_files(store):
        if named is not None and path.stem not in named:
            continue
        try:
            one = validate(Experience, parse(read_regular(path, MAX_RECORD_BYTES), file=str(path)))
        except DataError:
            one = None
        if one is None or where.admits(one):
            with storage_errors(path):
                path.unlink()
            gone += [one] if one else []
    return gone


def purge(store: ExperienceStore, generations: Generations, where: RecordFilter | str) -> list[Experience]:
    """Erase records, and whatever was derived from them. A text is a source: a file, a folder above it, or a session.

    Gone afterwards: records, cached vectors, every generation of the index that held them, copies of damaged files
    that mention them, and their part of `experience.yaml`. Returns what the records were.

    Raises:
        StorageError: something could not be deleted, and the message names it; run the same purge again.
        CorruptError: all this is done, but a file that cannot be read may be meant too; it is named.
        LockedError: another process is writing.
    """
    where = RecordFilter(source=where) if isinstance(where, str) else where
    if where.is_empty:
        raise UsageError("which records? give a source, ids, a filter (application, session, …), or all")
    folder = Path(store.location) if isinstance(store, FileStore) else None
    if isinstance(store, FileStore):
        store.set_aside_corrupt()
    known = [*store.ids(), *(path.stem for path in _removed_files(store))]
    named = set(resolve_among(known, where.ids)) if where.ids else None
    survey = _survey(store, where, named)
    survey.found += _purge_removed(store, where, named)
    _purge_cache(store.cache_folder / CACHE_FILE, survey.kept)
    if folder:
        _purge_temps(folder)
        forms = {where.source or "", _in_json(where.source or "")} - {""}
        spelled = [f'"{form}{end}' for form in forms for end in ('"', "/", "\\")]
        _purge_copies(folder / CORRUPT, [*spelled, *(text for one in survey.found for text in _texts(one))])
    store.remove([one.id for one in survey.found], reason="purged")
    if folder and (folder / VIEW).exists():
        write_view(store, folder / VIEW)
    prune(store, generations)
    for error in survey.unread:
        raise CorruptError(f"may be meant too: {error.reason}", file=error.file, code=error.code)
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


def _survey(store: ExperienceStore, where: RecordFilter, named: set[str] | None) -> _Survey:
    survey = _Survey()
    for id in store.ids():
        try:
            one = store.get(id)
        except NotFoundError:
            continue
        except DataError as error:
            survey.unread.append(error)
            continue
        if (named is None or id in named) and where.admits(one):
            survey.found.append(one)
        else:
            survey.kept.add(embedded_text(one))
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


@dataclass
class Verification:
    """What `verify` found. `index` is ok, stale (behind the records), corrupt or missing; `repaired` was set aside."""

    records: int = 0
    corrupt: list[Problem] = field(default_factory=list)
    index: str = "missing"
    generation: int = 0
    repaired: list[Problem] = field(default_factory=list)


def import_file(store: ExperienceStore, file: Path, *, restore: bool = False) -> ImportReport:
    """Take in an export of this package (JSON), or a log or `experience.yaml` of UFO's; all of it quarantined.

    Raises:
        DataError: the file cannot be read, or `restore` is asked for and it is no export of ours.
    """
    if file.suffix.lower() == ".json" and _begins(file, '"experiences"'):
        return import_json(store, _text_of(file), restore=restore)
    if file.suffix.lower() in (".yaml", ".yml") and _begins(file, YAML_HEAD):
        entries = load_yaml(file, typed="experiences").get("experiences")
        return import_entries(store, entries if isinstance(entries, list) else [], restore=restore)
    if restore:
        raise DataError("no export of this package: only that can be restored", file=str(file))
    report = ingest([file], store, open_summarizer("extractive"), include_failures=True, trust=Trust.QUARANTINED)
    broken = [(problem.file, problem.message) for problem in report.problems]
    failed = [*report.failed, *broken]
    return ImportReport(added=report.added, skipped=report.skipped, failed=failed, known=report.known)


@dataclass(frozen=True)
class ExportReport:
    """What was written: how many records, to which file (None: `text` holds it), and what was left out, by reason."""

    format: str
    records: int
    left_out: dict[str, int]
    file: Path | None = None
    text: str = ""


def export(store: ExperienceStore, format: str = "json", output: str | Path | None = None) -> ExportReport:
    """Write the records to one file: `json` and `yaml` (ours, both can be imported), `ufo` (its `experience.yaml`).

    UFO imitates what it reads: its format takes successes only, of records that are not quarantined.

    Raises:
        UsageError: no such format.
        StorageError: the file cannot be written; an older file of that name is as it was.
    """
    writers: dict[str, Callable[[ExperienceStore], str]] = {"json": export_json, "yaml": export_yaml, "ufo": ufo_view}
    if format not in writers:
        raise UsageError(f"no export format {format!r}; known: {', '.join(writers)}")
    left_out = Counter(reason for one in store.scan() if format == "ufo" and (reason := _why_not_in_view(one)))
    text = writers[format](store)
    count = len(store.ids()) - left_out.total()
    if output is None:
        return ExportReport(format, count, dict(left_out), text=text)
    path = Path(output)
    if path.is_dir():
        raise StorageError(f"{path}: is a folder; name a file in it")
    if not path.parent.is_dir():
        raise StorageError(f"{path}: there is no folder {str(path.parent)!r}")
    replace_file(path, text.encode("utf-8"), Disk())
    return ExportReport(format, count, dict(left_out), file=path)


def _why_not_in_view(one: Experience) -> str | None:
    if in_view(one):
        return None
    if one.outcome.success is None:
        return "without a judged outcome"
    return "failures" if one.is_negative else "quarantined"


@dataclass(frozen=True)
class SourceInfo:
    """Records of one source (a log file or an import): how many, of which format, when the newest was made."""

    source: str
    format: str
    records: int
    newest: datetime


def sources(store: ExperienceStore) -> list[SourceInfo]:
    """Where the records came from, the newest first; records added by a program have the source ""."""
    found: dict[tuple[str, str], list[Experience]] = {}
    for one in store.scan():
        found.setdefault((one.provenance.source, one.provenance.format), []).append(one)
    infos = [
        SourceInfo(source, format, len(records), max(one.created_at for one in records))
        for (source, format), records in found.items()
    ]
    return sorted(infos, key=lambda info: (info.newest, info.source), reverse=True)


@dataclass(frozen=True)
class StoreStats:
    """What is in a store. The counts are by name, the most frequent first; `bytes` is what a folder takes on disk."""

    location: str
    records: int
    trust: dict[str, int]
    outcome: dict[str, int]
    applications: dict[str, int]
    formats: dict[str, int]
    held_for_risk: int
    injected: int
    helped: int
    hurt: int
    oldest: datetime | None
    newest: datetime | None
    bytes: int | None
    embedder: str | None = None
    generation: int = 0
    indexed: int = 0
    threshold: float | None = None


def stats(store: ExperienceStore, generations: Generations) -> StoreStats:
    """Count what is in a store; reads every record."""
    counts: dict[str, Counter[str]] = {name: Counter() for name in ("trust", "outcome", "application", "format")}
    injected = helped = hurt = risky = 0
    times: list[datetime] = []
    for one in store.scan():
        counts["trust"][one.trust.value] += 1
        counts["outcome"][{True: "success", False: "failure", None: "unknown"}[one.outcome.success]] += 1
        counts["application"][one.state.application or "-"] += 1
        counts["format"][one.provenance.format or "-"] += 1
        risky += bool(one.trust is not Trust.APPROVED and risks(one))
        injected, helped, hurt = injected + one.usage.injected, helped + one.usage.helped, hurt + one.usage.hurt
        times.append(one.created_at)
    manifest = generations.last_manifest()
    calibration = manifest.calibration if manifest else None
    return StoreStats(
        location=store.location,
        records=len(times),
        trust=dict(counts["trust"].most_common()),
        outcome=dict(counts["outcome"].most_common()),
        applications=dict(counts["application"].most_common()),
        formats=dict(counts["format"].most_common()),
        held_for_risk=risky,
        injected=injected,
        helped=helped,
        hurt=hurt,
        oldest=min(times, default=None),
        newest=max(times, default=None),
        bytes=_size(Path(store.location)) if isinstance(store, FileStore) else None,
        embedder=manifest.embedder if manifest else None,
        generation=manifest.generation if manifest else 0,
        indexed=manifest.records if manifest else 0,
        threshold=calibration.threshold if calibration else None,
    )


def _size(folder: Path) -> int:
    with storage_errors(folder):
        return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def repair(store: ExperienceStore) -> list[Problem]:
    """Set aside what cannot be used, with the reason beside it; returns what it was. Caches are made again later."""
    EmbeddingCache(store.cache_folder / CACHE_FILE).repair()
    return store.set_aside_corrupt() if isinstance(store, FileStore) else []


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
        snapshot = load_snapshot(store, generations)
    except (CorruptError, IndexMismatchError, FormatVersionError) as error:
        found.index = "corrupt"
        found.corrupt.append(Problem(file=error.file or "index", code=error.code, message=str(error)))
        return found
    indexed = generation.manifest.ids_digest
    if is_outdated(generation.manifest):
        indexed = ""
    elif snapshot is not None:  # with what was learned since the generation was published
        indexed = ids_digest(snapshot.catalog.ids())
    found.index = "ok" if indexed == ids_digest(store.ids()) else "stale"
    return found


def _begins(file: Path, words: str) -> bool:
    """True when these words stand at the beginning of the file, as they do in an export of this package."""
    try:
        with open_regular(file, MAX_IMPORT_BYTES) as stream:
            return words.encode("ascii") in stream.read(4096)
    except OSError as error:
        raise DataError(error.strerror or str(error), file=str(file)) from error


def _text_of(file: Path) -> str:
    try:
        return read_regular(file, MAX_IMPORT_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start}", file=str(file)) from error
