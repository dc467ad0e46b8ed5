"""Whole stores in and out: our JSON, which comes back in, and UFO's `experience.yaml`.

Whatever comes in from outside is untrusted: it lands quarantined, and what it says of its own trust and use is not
believed.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, StorageError, UsageError
from ufo_experience.ids import content_id, is_id
from ufo_experience.redact import KeepObservations, readable, redact_json, redact_record
from ufo_experience.schema import MAX_RECORD_BYTES, Experience, Trust, Usage, Verdict, validate
from ufo_experience.store.base import ExperienceStore, Status
from ufo_experience.store.files import read_regular, read_utf8, replace_file
from ufo_experience.store.folder import FolderStore
from ufo_experience.store.lessons import Lesson, Lessons, is_lesson
from ufo_experience.store.records import canonical, encode, unsealed
from ufo_experience.store.strict_json import parse
from ufo_experience.store.view import left_out_of_view, view_text
from ufo_experience.store.watch import LEFT_ALONE

FORMAT, VERSION = "ufo_experience", 1
MAX_IMPORT_BYTES = 1 << 28
SKILL_RECORD = "experience.json"  # in the folder of a skill, see `integrations/skills.py`
UFO_YAML = ("experience.yaml", "demonstration.yaml")
UFO_INDEX = ("index.faiss", "index.pkl")  # left closed: a pickle can run code, and vectors are made from the texts
_EXPORT = re.compile(  # or the file of a record
    rf'\s{{0,9}}\{{\s{{0,9}}(?:"format"\s{{0,9}}:\s{{0,9}}"{FORMAT}"|"id": "[0-9a-f]{{32}}",\n "state": )'
)
_NOT_CONTENT: Any = {"id": True, "created_at": True, "trust": True, "usage": True, "provenance": {"origin"}}


@dataclass
class ImportReport:
    """Ids `added`, what was `skipped` or `failed` (each with the reason), ids `known` before and `approved` now."""

    added: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    approved: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ExportReport:
    """What was written: how many records, to which file (None: `text` holds it), and what was left out, by reason."""

    format: str
    records: int
    left_out: dict[str, int]
    file: Path | None = None
    text: str = ""


def export(store: ExperienceStore, format: str, output: str | Path | None) -> ExportReport:
    """See `ExperienceMemory.export`."""
    writers = {"json": _as_json, "ufo": view_text}
    if format == "skills":
        raise UsageError("skills are folders: ufo_experience.integrations.skills.export_skills(memory, folder)")
    if format not in writers:
        raise UsageError(f"no export format {format!r}; known: {', '.join(writers)}; a file is named so: output=…")
    left_out = Counter(reason for one in store.scan() if format == "ufo" and (reason := left_out_of_view(one)))
    count, text = len(store.ids()) - left_out.total(), writers[format](store)
    if output is None:
        return ExportReport(format, count, dict(left_out), text=text)
    path = Path(output)
    if path.is_symlink() or (path.exists() and not path.is_file()):  # a file written whole takes its place
        raise StorageError(f"{path}: is a folder, link, pipe or device; name a regular file")
    replace_file(path, text.encode("utf-8"))
    return ExportReport(format, count, dict(left_out), file=path)


def _as_json(store: ExperienceStore) -> str:
    """All records with their trust and usage, one a line, and the lessons."""
    lines = ",\n".join(canonical(_full(experience)).decode() for experience in store.scan())
    lessons = ",\n".join(canonical(one.model_dump(mode="json")).decode() for one in Lessons(store).all())
    told = f',"lessons":[\n{lessons}\n]' if lessons else ""
    return f'{{"format":"{FORMAT}","version":{VERSION},"experiences":[\n{lines}\n]{told}}}\n'


def _full(experience: Experience) -> dict[str, Any]:
    return experience.model_dump(mode="json", exclude_defaults=True) | {"trust": experience.trust.value}


def import_entries(
    store: ExperienceStore, entries: Iterable[Any], restore: bool, keep_observations: KeepObservations
) -> ImportReport:
    """Add the records and lessons of an export that was read already; with `restore` they are taken as written.

    The same id with the same content is skipped, with other content it has failed. A bad entry fails alone.
    """
    report = ImportReport()
    pending: dict[str, Experience] = {}
    lessons: list[Lesson] = []
    for position, entry in enumerate(entries):
        if isinstance(entry, DataError):  # of a file that holds no whole record
            report.failed.append((entry.file or str(position), entry.reason))
            continue
        id = entry.get("id") if isinstance(entry, Mapping) else None
        what = str(id) if is_id(id) else f"experiences.{position}"
        try:
            if is_lesson(str(id)):
                lessons.append(_read_lesson(entry, restore))
                continue
            one = redact_record(_read_entry(entry, restore), keep_observations)
            encode(one)  # over a limit: this entry fails, not the group it is stored in
            known = pending.get(one.id) or (store.get(one.id) if one.id in store else None)
            if known is None:
                pending[one.id] = one
            elif _content(known) == _content(one):
                report.skipped.append((what, "stored already"))
                report.known.append(one.id)
            else:
                raise DataError("the store holds another record of this id: give this one another id")
        except DataError as error:
            report.failed.append((what, str(error)))
    done = store.add(pending.values())
    Lessons(store).bring_in([one for one in lessons if any(id in store for id in one.ids)])
    report.added += done.added
    report.skipped += [(id, "was removed from this store") for id in done.skipped]
    return report


def read_export(file: Path) -> list[Any] | None:
    """The entries of an export of this package, or of the folder of a store or of skills; None for anything else."""
    if (file / "records").is_dir():
        return _stored_in(file)
    if file.is_dir() and (skills := sorted([*file.glob(SKILL_RECORD), *file.glob(f"*/{SKILL_RECORD}")])):
        return [parse(read_regular(skill, MAX_RECORD_BYTES), file=str(skill)) for skill in skills]
    if file.suffix.lower() != ".json" or file.is_dir():
        return None
    text = read_utf8(file, MAX_IMPORT_BYTES)
    return entries_of(text, str(file)) if is_export(text) or '"experiences"' in text[:4096] else None


def is_export(text: str) -> bool:
    """True for what an export of this package, or the file of a record, begins with."""
    return _EXPORT.match(text) is not None


def entries_of(text: str, file: str = "the given JSON") -> list[Any]:
    """The entries of an export or a record as JSON text, or of a list of experiences or triples. Raises `DataError`."""
    if len(text) > MAX_IMPORT_BYTES:
        raise DataError(f"larger than {MAX_IMPORT_BYTES} characters", code="E_SCHEMA")
    value = parse(text, file=file)
    if isinstance(value, dict) and is_id(value.get("id")):
        return [unsealed(value)[0]]
    whole = value if isinstance(value, dict) else {"experiences": value}
    version = whole.get("version", VERSION)
    if type(version) is not int or version > VERSION:
        newer = f"unknown version {version!r}: if a newer release of this package wrote it, install that one"
        raise DataError(newer, file=file, field="version", code="E_SCHEMA")
    parts = {"experiences": whole.get("experiences"), "lessons": whole.get("lessons", [])}
    for name, part in parts.items():
        if not isinstance(part, list):
            raise DataError("not a list", field=name, code="E_SCHEMA")
    return [entry for part in parts.values() for entry in part]


def _read_entry(entry: Any, restore: bool) -> Experience:
    """An experience of our own form, or a triple with optional metadata; a stranger's waits for approval."""
    if not isinstance(entry, Mapping):
        raise DataError("not an object", code="E_SCHEMA")
    given = dict(entry) if restore else redact_json(dict(entry), readable)
    if "id" in given:
        one = validate(Experience, given)
    else:
        extra = given.get("metadata") or {}
        parts = {name: given.get(name, {}) for name in ("state", "action", "outcome")}
        if not all(isinstance(part, Mapping) for part in (*parts.values(), extra)):
            raise DataError("not an object", field="state, action, outcome or metadata", code="E_SCHEMA")
        known = {name: extra[name] for name in ("salience", "episode_id", "created_at") if name in extra}
        known["id"] = extra["id"] if is_id(extra.get("id")) else content_id(given)
        one = validate(Experience, {"created_at": datetime.now(timezone.utc), **parts, **known})
    if restore:
        return one
    provenance = one.provenance.model_copy(update={"origin": "import"})
    return one.model_copy(update={"trust": Trust.QUARANTINED, "usage": Usage(), "provenance": provenance})


def _read_lesson(entry: Mapping[str, Any], restore: bool) -> Lesson:
    """A lesson; a stranger's waits for approval and has helped nobody."""
    if restore:
        return validate(Lesson, entry)
    strange = {"trust": Trust.QUARANTINED, "helped": 0, "hurt": 0}
    return validate(Lesson, redact_json(dict(entry))).model_copy(update=strange)


def _content(experience: Experience) -> dict[str, Any]:
    """What makes two records of one id the same: everything but the time and what becomes of a record in a store."""
    return redact_record(experience).model_dump(mode="json", exclude=_NOT_CONTENT)


def _stored_in(folder: Path) -> list[Any]:
    """The records of the folder of a store, of this edition or the first."""
    try:
        store = FolderStore.open(folder, create=False)
        torn = [one for one in store.verify().corrupt if one.code not in LEFT_ALONE]
        errors = [DataError(one.message, file=one.place) for one in torn]
        return [*map(_full, store.scan()), *errors]
    except DataError:
        paths = sorted((folder / "records").glob("??/*.json"))
        old = [_first_edition(folder, path) for path in paths if not (folder / "tombstones" / path.name).exists()]
        if not old:
            raise
        return old


def ufo_yaml(source: Path) -> Path:
    """UFO's YAML file where its folder, or the folder of its index, is named; anything else as it is."""
    if not source.is_dir() or (source / "records").is_dir():  # a store of ours, with the view of it that UFO reads
        return source
    folders = [source, source.parent] if ufo_index(source) else [source]
    return next((folder / name for folder in folders for name in UFO_YAML if (folder / name).is_file()), source)


def ufo_index(folder: Path) -> list[Path]:
    """The files of UFO's own index in a folder."""
    return [folder / name for name in UFO_INDEX if (folder / name).is_file()]


def _first_edition(folder: Path, path: Path) -> dict[str, Any]:
    """A record with what was said of it; of one that cannot be read its bare id, which fails alone."""
    try:
        record = _payload(path)
        known = folder / "status" / path.parent.name / path.name
        status = _payload(known) if known.is_file() else {}
        verdict = validate(Verdict, status["verdict"]) if status.get("verdict") else None
        given = record | {name: status[name] for name in ("trust", "usage") if name in status}
        one = validate(Experience, {name: value for name, value in given.items() if name not in ("hmac", "sealed")})
    except DataError:
        return {"id": path.stem}
    return _full(Status(trust=one.trust, usage=one.usage, verdict=verdict).over(one))


def _payload(path: Path) -> dict[str, Any]:
    whole = parse(read_regular(path, MAX_RECORD_BYTES, follow=False), file=str(path))
    payload = whole.get("payload") if isinstance(whole, dict) else None
    if not isinstance(payload, dict):
        raise DataError("no record of the first edition", file=str(path), code="E_SCHEMA")
    return payload
