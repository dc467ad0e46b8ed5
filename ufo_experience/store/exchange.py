"""Whole stores in and out: our JSON (comes back in), our YAML and UFO's `experience.yaml` (for reading).

Whatever comes in from outside is untrusted: it lands quarantined, and what it says of its own trust and use is not
believed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, LockedError, NotFoundError, SchemaError
from ufo_experience.store.files import Disk, replace_file
from ufo_experience.store.files import open_regular
from ufo_experience.store.strict_json import parse
from ufo_experience.ids import content_id, is_id
from ufo_experience.integrations.formats.triple import from_triple
from ufo_experience.integrations.formats.ufo_example import to_ufo_example
from ufo_experience.redact import redact_json, redact_record
from ufo_experience.schema import Experience, Trust, Usage, validate
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.codec import canonical
from ufo_experience.store.folder.commit import writing_copies
from ufo_experience.store.folder.layout import VIEW as VIEW
from ufo_experience.store.records import encode_record

FORMAT = "ufo_experience"
VERSION = 1
MAX_IMPORT_CHARS = 256 * 2**20
MAX_IMPORT_BYTES = 4 * MAX_IMPORT_CHARS

YAML_HEAD = f'format: "{FORMAT}"'
_NOT_CONTENT: Any = {"id": True, "created_at": True, "trust": True, "usage": True, "provenance": {"origin"}}
MAX_VIEW_BYTES = 1 << 40
_VIEW_HEAD = (
    "# Made from the records of this store and written anew by `index`: edits here are lost.\n"
    "# `ufo-experience import FILE` reads a file like this one.\n"
)


@dataclass
class ImportReport:
    """What became of each thing in an import: ids added; skipped, failed and conflicts as (what, reason).

    `known` are ids that were stored before, `approved` those approved by this import.
    """

    added: list[str] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)
    conflicts: list[tuple[str, str]] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    approved: list[str] = field(default_factory=list)


def export_json(store: ExperienceStore) -> str:
    """All records with their trust and usage, one a line; `import_json` reads it."""
    lines = ",\n".join(canonical(_full(experience)).decode("utf-8") for experience in store.scan())
    return f'{{"format":"{FORMAT}","version":{VERSION},"experiences":[\n{lines}\n]}}\n'


def import_json(store: ExperienceStore, text: str, *, restore: bool = False) -> ImportReport:
    """Add the records of an export, or of a list of experiences or of state/action/outcome triples.

    The same id with the same content is skipped. The same id with other content gets an id of its own and is
    reported as a conflict; neither overwrites the other. A bad entry fails alone.

    Args:
        restore: this is your own backup: trust, usage and origin are taken as written, not quarantined.

    Raises:
        DataError: the text as a whole is not an export.
    """
    return import_entries(store, _entries(text), restore=restore)


def import_entries(store: ExperienceStore, entries: Iterable[Any], *, restore: bool = False) -> ImportReport:
    """Add the records of an export that was read already; see `import_json`."""
    report = ImportReport()
    pending: dict[str, Experience] = {}
    for position, entry in enumerate(entries):
        what = _name(entry, position)
        try:
            experience = _read_entry(entry) if restore else _as_import(_read_entry(redact_json(entry)))
            encode_record(experience)  # over a limit: this entry fails, not the group it is stored in
            _place(store, experience, what, pending, report)
        except DataError as error:
            report.failed.append((what, str(error)))
    done = store.add(pending.values())
    report.added += done.added
    report.skipped += [(id, "was removed from this store") for id in done.skipped]
    return report


def export_yaml(store: ExperienceStore) -> str:
    """All records with their trust and usage as YAML; every text is quoted, so that no reader takes it for a number."""
    entries = "".join(_yaml_entries(([_full(experience)] for experience in store.scan()), quoted=True))
    return f"{YAML_HEAD}\nversion: {VERSION}\nexperiences:{f' []{chr(10)}' if not entries else chr(10) + entries}"


def ufo_view(store: ExperienceStore) -> str:
    """What `write_view` writes, as text."""
    return _head(store).decode() + "".join(_view(store))


def write_view(store: ExperienceStore, path: str | Path, disk: Disk | None = None) -> None:
    """Write `experience.yaml` in UFO's format: the successes that are observed or better, streamed, replaced at once.

    Raises:
        StorageError: the disk refused; the old view is as it was.
    """
    head = _head(store)
    replace_file(Path(path), chain([head], (chunk.encode("utf-8") for chunk in _view(store))), disk or Disk())


def update_view(store: ExperienceStore, path: Path) -> bool:
    """Write the view unless it is of the store as it is now; returns whether it was written. Raises as `write_view`.

    While another process writes it, nothing is done.
    """
    with suppress(LockedError), writing_copies(path.parent, 0, Disk()):
        with suppress(DataError), open_regular(path, MAX_VIEW_BYTES) as view:
            if view.read(len(_head(store))) == _head(store):
                return False
        write_view(store, path)
        return True
    return False


def _head(store: ExperienceStore) -> bytes:
    return f"{_VIEW_HEAD}# Store revision {store.revision()}\n".encode()


def in_view(experience: Experience) -> bool:
    """True for what UFO's `experience.yaml` takes: a success that is observed or better."""
    return bool(experience.outcome.success) and experience.trust.rank >= Trust.OBSERVED.rank


def as_entry(experience: Experience) -> bytes:
    """One record with its trust and usage, as it stands in an export."""
    return canonical(_full(experience))


def _full(experience: Experience) -> dict[str, Any]:
    payload = experience.model_dump(mode="json", exclude_defaults=True)
    return payload | {"trust": experience.trust.value}


def _entries(text: str) -> list[Any]:
    if len(text) > MAX_IMPORT_CHARS:
        raise SchemaError(f"larger than {MAX_IMPORT_CHARS} characters")
    value = parse(text, file="the given JSON")
    if isinstance(value, dict):
        version = value.get("version", VERSION)
        if type(version) is not int or version > VERSION:
            raise SchemaError(f"unknown version {version!r}", field="version")
        value = value.get("experiences")
    if not isinstance(value, list):
        raise SchemaError("not a list", field="experiences")
    return value


def _name(entry: Any, position: int) -> str:
    """How a report names an entry: its id, else its place in the list."""
    id = entry.get("id") if isinstance(entry, Mapping) else None
    return str(id) if is_id(id) else f"experiences.{position}"


def _read_entry(entry: Any) -> Experience:
    """An experience of our own form, or of a state/action/outcome triple with optional metadata."""
    if not isinstance(entry, Mapping):
        raise SchemaError("not an object")
    if "id" in entry:
        return validate(Experience, entry)
    extra = entry.get("metadata") or {}
    parts = [entry.get(name, {}) for name in ("state", "action", "outcome")]
    if not all(isinstance(part, Mapping) for part in (*parts, extra)):
        raise SchemaError("not an object", field="state, action, outcome or metadata")
    known = {name: extra[name] for name in ("salience", "episode_id", "created_at") if name in extra}
    id = extra["id"] if is_id(extra.get("id")) else content_id(entry)
    return from_triple(*parts, **known, id=id)


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


def _view(store: ExperienceStore) -> Iterator[str]:
    good = filter(in_view, store.scan())
    entries = ({f"example{number}": to_ufo_example(one)} for number, one in enumerate(good))
    empty = True
    for text in _yaml_entries(entries, quoted=False):
        empty = False
        yield text
    if empty:
        yield "{}\n"


def _yaml_entries(documents: Iterable[Any], *, quoted: bool) -> Iterator[str]:
    """Each value as a piece of one YAML document; `quoted` puts every text in quotes."""
    import yaml

    base: Any = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

    class Dumper(base):  # type: ignore[misc]
        def ignore_aliases(self, data: Any) -> bool:
            """Write a shared value twice rather than as an alias, which our reader refuses."""
            return True

    if quoted:
        Dumper.add_representer(
            str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
        )
    for document in documents:
        yield yaml.dump(document, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
