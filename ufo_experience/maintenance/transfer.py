"""Records in and out of a store in one file: import of exports and logs, export in three formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ufo_experience.errors import DataError, UsageError
from ufo_experience.store.files import Disk, replace_file
from ufo_experience.store.files import check_output, open_regular, read_regular
from ufo_experience.ingest import ingest
from ufo_experience.schema import Experience, Trust
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.exchange import (
    MAX_IMPORT_BYTES,
    YAML_HEAD,
    ImportReport,
    export_json,
    export_yaml,
    import_entries,
    import_json,
    in_view,
    ufo_view,
)
from ufo_experience.summarize import open_summarizer
from ufo_experience.traces.safe_yaml import load_yaml


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
    check_output(path)
    replace_file(path, text.encode("utf-8"), Disk())
    return ExportReport(format, count, dict(left_out), file=path)


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
