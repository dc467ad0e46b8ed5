"""Taking over what UFO has learned: `vectordb/experience` with its YAML file, and the index beside it left closed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ufo_experience.errors import DataError
from ufo_experience.memory import ExperienceMemory
from ufo_experience.store.exchange import ImportReport

_YAML_FILES = ("experience.yaml", "demonstration.yaml")
_INDEX_FILES = ("index.faiss", "index.pkl")
_STORES = (".", "experience_db", "demonstration_db")


@dataclass(frozen=True)
class Migration:
    """What became of each entry, whether they may be injected now, and the files that were not opened."""

    source: Path
    report: ImportReport
    approved: bool
    unopened: tuple[Path, ...]

    @property
    def message(self) -> str:
        """The same in a few sentences."""
        done = self.report
        trust = "approved" if self.approved else "quarantined until you approve them"
        parts = [f"{len(done.added)} added ({trust}), {len(done.skipped)} skipped, {len(done.failed)} failed"]
        if self.unopened:
            names = ", ".join(path.name for path in self.unopened)
            parts.append(
                f"not opened: {names}. A pickle can run code when it is read, and the vectors are made again from the "
                "texts; the files can be deleted"
            )
        return "; ".join(parts)


def migrate(source: str | Path, db_path: str | Path | None = None, *, approve: bool = False) -> Migration:
    """Import UFO's experiences from its folder, or from the YAML file, into the store at `db_path`.

    Without `db_path` that is `experience_db` beside the YAML file, where the drop-in for UFO looks. Imported records
    are quarantined; `approve` is the owner's word that they may be injected, also for entries imported before.

    Raises:
        DataError: there is no such file.
        StorageError, LockedError: the store cannot be written.
    """
    file = yaml_file(Path(source))
    if file is None:
        raise DataError(f"no {' or '.join(_YAML_FILES)} here", file=str(source), code="E_MISSING")
    memory = ExperienceMemory.open(db_path or file.parent / "experience_db")
    return migrate_into(memory, file, approve=approve)


def migrate_into(memory: ExperienceMemory, file: Path, *, approve: bool = False) -> Migration:
    """Import one file into an open memory: UFO's YAML file, or what `import_file` reads; see `migrate`."""
    report = memory.import_(file, approve=approve)
    unopened = [path for name in _STORES for path in old_index_files(file.parent / name)]
    return Migration(file, report, approve, tuple(unopened))


def yaml_file(source: Path) -> Path | None:
    """UFO's YAML file at `source`: the file itself, in the folder, or beside a folder that holds UFO's index."""
    if not source.is_dir():
        return source if source.is_file() else None
    folders = [source, source.parent] if old_index_files(source) else [source]
    return next((folder / name for folder in folders for name in _YAML_FILES if (folder / name).is_file()), None)


def old_index_files(folder: Path) -> list[Path]:
    """The files of a LangChain index in a folder."""
    return [folder / name for name in _INDEX_FILES if (folder / name).is_file()]
