"""Whole stores in and out: our JSON (comes back in), our YAML and UFO's `experience.yaml` (for reading).

Whatever comes in from outside is untrusted: it lands quarantined, and what it says of its own trust and use is not
believed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, NotFoundError, UsageError
from ufo_experience.ids import content_id, is_id
from ufo_experience.redact import KeepObservations, redact_json, redact_record
from ufo_experience.schema import MAX_RECORD_BYTES, Experience, Trust, Usage, Verdict, validate
from ufo_experience.store.base import ExperienceStore, Status
from ufo_experience.store.files import check_output, open_regular, read_regular, replace_file
from ufo_experience.store.folder import FolderStore
from ufo_experience.store.lessons import Lesson, Lessons, is_lesson
from ufo_experience.store.records import canonical, encode
from ufo_experience.store.strict_json import parse
from ufo_experience.store.view import in_view, view_text

FORMAT = "ufo_experience"
VERSION = 1
MAX_IMPORT_CHARS = 256 * 2**20
MAX_IMPORT_BYTES = 4 * MAX_IMPORT_CHARS

UFO_YAML = ("experience.yaml", "demonstration.yaml")
UFO_INDEX = ("index.faiss", "index.pkl")  # left closed: a pickle can run code, and vectors are made from the texts
SKILL_RECORD = "experience.json"  # in the folder of a skill, see `integrations/skills.py`
YAML_HEAD = f'format: "{FORMAT}"'
_NOT_CONTENT: Any = {"id": True, "created_at": True, "trust": True, "usage": True, "provenance": {"origin"}}


@dataclass
class ImportReport:
    """What became of each thing in an import: ids added; skipped, failed and conflicts as (what, reason).

    `known` are ids that were stored before, `approved` those approved by this import, `unopened` UFO's index files.
    """

    added: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    conflicts: list[tuple[str, str]] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    approved: list[str] = field(default_factory=list)
    unopened: list[Path] = field(default_factory=list)


def export_json(store: ExperienceStore) -> str:
    """All records with their trust and usage, one a line, and the lessons; `import_json` reads it."""
    lines = ",\n".join(canonical(_full(experience)).decode("utf-8") for experience in store.scan())
    lessons = ",\n".join(canonical(one.model_dump(mode="json")).decode("utf-8") for one in Lessons(store).all())
    told = f',"lessons":[\n{lessons}\n]' if lessons else ""
    return f'{{"format":"{FORMAT}","version":{VERSION},"experiences":[\n{lines}\n]{told}}}\n'


def import_json(
    store: ExperienceStore, text: str, *, restore: bool = False, keep_observations: KeepObservations = "short"
) -> ImportReport:
    """Add the records of an export, or of a list of experiences or of state/action/outcome triples.

    The same id with the same content is skipped. The same id with other content gets an id of its own and is
    reported as a conflict; neither overwrites the other. A bad entry fails alone.

    Args:
        restore: this is your own backup: trust, usage and origin are taken as written, not quarantined.
        keep_observations: how much is kept of what was seen in a step (see `redact.redact_record`).

    Raises:
        DataError: the text as a whole is not an export.
    """
    return import_entries(store, _entries(text), restore=restore, keep_observations=keep_observations)


def import_entries(
    store: ExperienceStore,
    entries: Iterable[Any],
    *,
    restore: bool = False,
    keep_observations: KeepObservations = "short",
) -> ImportReport:
    """Add the records and lessons of an export that was read already; see `import_json`."""
    report = ImportReport()
    pending: dict[str, Experience] = {}
    lessons: list[Lesson] = []
    for position, entry in enumerate(entries):
        what = _name(entry, position)
        try:
            if isinstance(entry, Mapping) and is_lesson(str(entry.get("id"))):
                lessons.append(_read_lesson(entry, restore=restore))
                continue
            read = _read_entry(entry) if restore else _as_import(_read_entry(redact_json(entry)))
            experience = redact_record(read, keep_observations)
            encode(experience)  # over a limit: this entry fails, not the group it is stored in
            _place(store, experience, what, pending, report)
        except DataError as error:
            report.failed.append((what, str(error)))
    done = store.add(pending.values())
    Lessons(store).bring_in([one for one in lessons if any(_existing(store, id) for id in one.ids)])
    report.added += done.added
    report.skipped += [(id, "was removed from this store") for id in done.skipped]
    return report


def export_yaml(store: ExperienceStore) -> str:
    """All records with their trust and usage as YAML; every text is quoted, so that no reader takes it for a number."""
    entries = "".join(_yaml_entries([_full(experience)] for experience in store.scan()))
    return f"{YAML_HEAD}\nversion: {VERSION}\nexperiences:{f' []{chr(10)}' if not entries else chr(10) + entries}"


def first_edition(folder: Path) -> list[Any]:
    """The records of a store folder of the first edition with their trust, usage and verdicts, as entries to import;
    of one that cannot be read the bare id, which fails there with the others unharmed."""
    return [
        _first_entry(folder, path)
        for path in sorted((folder / "records").glob("??/*.json"))
        if not (folder / "tombstones" / path.name).exists()
    ]


def _stored_in(folder: Path) -> list[Any]:
    """The records of the folder of a store, of this edition or the first."""
    try:
        return [_full(one) for one in FolderStore.open(folder, create=False).scan()]
    except DataError:
        old = first_edition(folder)
        if not old:
            raise
        return old


def _skills_in(folder: Path) -> list[Any] | None:
    """The records of a folder of skills, or of one skill; None where there are none."""
    files = sorted([*folder.glob(SKILL_RECORD), *folder.glob(f"*/{SKILL_RECORD}")])
    return [parse(read_regular(file, MAX_RECORD_BYTES), file=str(file)) for file in files] or None


def _first_entry(folder: Path, path: Path) -> dict[str, Any]:
    try:
        record = _first_payload(path)
        known = folder / "status" / path.parent.name / path.name
        status = _first_payload(known) if known.is_file() else {}
        verdict = validate(Verdict, status["verdict"]) if status.get("verdict") else None
        given = record | {name: status[name] for name in ("trust", "usage") if name in status}
        one = validate(Experience, {name: value for name, value in given.items() if name not in ("hmac", "sealed")})
    except DataError:
        return {"id": path.stem}
    return _full(Status(trust=one.trust, usage=one.usage, verdict=verdict).over(one))


def _first_payload(path: Path) -> dict[str, Any]:
    whole = parse(read_regular(path, MAX_RECORD_BYTES, follow=False), file=str(path))
    payload = whole.get("payload") if isinstance(whole, dict) else None
    if not isinstance(payload, dict):
        raise DataError("no record of the first edition", file=str(path), code="E_SCHEMA")
    return payload


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
    writers: dict[str, Callable[[ExperienceStore], str]] = {"json": export_json, "yaml": export_yaml, "ufo": _as_view}
    if format not in writers:
        raise UsageError(f"no export format {format!r}; known: {', '.join(writers)}")
    left_out = Counter(reason for one in store.scan() if format == "ufo" and (reason := _why_not_in_view(one)))
    text = writers[format](store)
    count = len(store.ids()) - left_out.total()
    if output is None:
        return ExportReport(format, count, dict(left_out), text=text)
    path = Path(output)
    check_output(path)
    replace_file(path, text.encode("utf-8"))
    return ExportReport(format, count, dict(left_out), file=path)


def read_export(file: Path) -> list[Any] | None:
    """The entries of an export of this package, or of the folder of a store; None for any other file."""
    from ufo_experience.store.safe_yaml import load_yaml  # yaml is a second of loading

    if file.is_dir():
        return _stored_in(file) if (file / "records").is_dir() else _skills_in(file)
    if file.suffix.lower() == ".json" and _begins(file, '"experiences"'):
        return _entries(_text_of(file))
    if file.suffix.lower() in (".yaml", ".yml") and _begins(file, YAML_HEAD):
        entries = load_yaml(file, typed="experiences").get("experiences")
        return entries if isinstance(entries, list) else []
    return None


def ufo_yaml(source: Path) -> Path:
    """UFO's YAML file where its folder, or the folder of its index, is named; anything else as it is."""
    if not source.is_dir() or (source / "records").is_dir():  # a store of ours, with the view of it that UFO reads
        return source
    folders = [source, source.parent] if ufo_index(source) else [source]
    return next((folder / name for folder in folders for name in UFO_YAML if (folder / name).is_file()), source)


def ufo_index(folder: Path) -> list[Path]:
    """The files of UFO's own index in a folder."""
    return [folder / name for name in UFO_INDEX if (folder / name).is_file()]


def _as_view(store: ExperienceStore) -> str:
    return view_text(store.scan())


def _why_not_in_view(one: Experience) -> str | None:
    if in_view(one):
        return None
    if one.outcome.success is None:
        return "without a judged outcome"
    return "failures" if one.is_negative else "quarantined"


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


def _full(experience: Experience) -> dict[str, Any]:
    payload = experience.model_dump(mode="json", exclude_defaults=True)
    return payload | {"trust": experience.trust.value}


def _entries(text: str) -> list[Any]:
    if len(text) > MAX_IMPORT_CHARS:
        raise DataError(f"larger than {MAX_IMPORT_CHARS} characters", code="E_SCHEMA")
    value = parse(text, file="the given JSON")
    if isinstance(value, dict):
        version = value.get("version", VERSION)
        if type(version) is not int or version > VERSION:
            raise DataError(f"unknown version {version!r}", field="version", code="E_SCHEMA")
        parts = [value.get("experiences"), value.get("lessons", [])]
    else:
        parts = [value]
    for name, part in zip(("experiences", "lessons"), parts, strict=False):
        if not isinstance(part, list):
            raise DataError("not a list", field=name, code="E_SCHEMA")
    return [entry for part in parts for entry in part]


def _name(entry: Any, position: int) -> str:
    """How a report names an entry: its id, else its place in the list."""
    id = entry.get("id") if isinstance(entry, Mapping) else None
    return str(id) if is_id(id) else f"experiences.{position}"


def _read_entry(entry: Any) -> Experience:
    """An experience of our own form, or of a state/action/outcome triple with optional metadata."""
    if not isinstance(entry, Mapping):
        raise DataError("not an object", code="E_SCHEMA")
    if "id" in entry:
        return validate(Experience, entry)
    extra = entry.get("metadata") or {}
    names = ("state", "action", "outcome")
    parts = [entry.get(name, {}) for name in names]
    if not all(isinstance(part, Mapping) for part in (*parts, extra)):
        raise DataError("not an object", field="state, action, outcome or metadata", code="E_SCHEMA")
    known = {name: extra[name] for name in ("salience", "episode_id", "created_at") if name in extra}
    id = extra["id"] if is_id(extra.get("id")) else content_id(entry)
    record = {"created_at": datetime.now(timezone.utc), **dict(zip(names, parts, strict=True)), **known, "id": id}
    return validate(Experience, record)


def _read_lesson(entry: Mapping[str, Any], *, restore: bool) -> Lesson:
    """A lesson as it was written, or, of a stranger, one that waits for approval and has helped nobody."""
    lesson = validate(Lesson, entry if restore else redact_json(dict(entry)))
    strange = {"trust": Trust.QUARANTINED, "helped": 0, "hurt": 0}
    return lesson if restore else lesson.model_copy(update=strange)


def _as_import(experience: Experience) -> Experience:
    provenance = experience.provenance.model_copy(update={"origin": "import"})
    return experience.model_copy(
        update={"trust": Trust.QUARANTINED, "usage": Usage(), "provenance": provenance},
    )


def _place(
    store: ExperienceStore, experience: Experience, what: str, pending: dict[str, Experience], report: ImportReport
) -> None:
    """Put a record among `pending` under an id that is free for its content, or skip it."""
    known = pending.get(experience.id) or _existing(store, experience.id)
    if known is None:
        pending[experience.id] = experience
        return
    if _content(known) == _content(experience):
        report.skipped.append((what, "stored already"))
        report.known.append(known.id)
        return
    renamed = experience.model_copy(
        update={"id": content_id({"id": experience.id, "content": _content(experience)}), "trust": Trust.QUARANTINED}
    )
    if renamed.id in pending or _existing(store, renamed.id):
        report.skipped.append((what, f"stored already, as {renamed.id}"))
        report.known.append(renamed.id)
        return
    pending[renamed.id] = renamed
    report.conflicts.append((what, f"the store holds another record of this id; added as {renamed.id}, quarantined"))


def _existing(store: ExperienceStore, id: str) -> Experience | None:
    try:
        return store.get(id)
    except NotFoundError:
        return None


def _content(experience: Experience) -> dict[str, Any]:
    """What makes two records of one id the same: everything but the time and what becomes of a record in a store."""
    return redact_record(experience).model_dump(mode="json", exclude=_NOT_CONTENT)


def _yaml_entries(documents: Iterable[Any]) -> Iterator[str]:
    """Each value as a piece of one YAML document, with every text in quotes."""
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            """Write a shared value twice rather than as an alias, which our reader refuses."""
            return True

    Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))
    for document in documents:
        yield yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
