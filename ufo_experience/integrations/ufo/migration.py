"""UFO's own settings for experiences, and taking over what it has learned so far.

The settings are in `config/ufo/rag.yaml` (UFO 3), or in `config_dev.yaml` with the same keys before. What was learned
is in `vectordb/experience`: its YAML file is imported, the index beside it left closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from ufo_experience.errors import DataError
from ufo_experience.integrations.ufo.classes import ExperienceRetriever, ExperienceSummarizer, old_index_files
from ufo_experience.memory import ExperienceMemory
from ufo_experience.schema import validate
from ufo_experience.store.exchange import ImportReport
from ufo_experience.store.safe_yaml import load_yaml

_YAML_FILES = ("experience.yaml", "demonstration.yaml")
_STORES = (".", "experience_db", "demonstration_db")


@dataclass(frozen=True)
class RagConfig:
    """What UFO is told about experiences. Paths are relative to the folder UFO runs in.

    `experience` is RAG_EXPERIENCE, `top_k` RAG_EXPERIENCE_RETRIEVED_TOPK, `saved_path` EXPERIENCE_SAVED_PATH and
    `prompt` EXPERIENCE_PROMPT.
    """

    experience: bool = False
    top_k: int = 5
    saved_path: str = "vectordb/experience/"
    prompt: str = ""

    @property
    def db_path(self) -> Path:
        """The store, where UFO has its vector database."""
        return Path(self.saved_path) / "experience_db"

    @property
    def yaml_path(self) -> Path:
        """The file for people to read."""
        return Path(self.saved_path) / "experience.yaml"

    def retriever(self) -> ExperienceRetriever | None:
        """The retriever of this store; None when UFO is told to do without experiences."""
        return ExperienceRetriever(str(self.db_path)) if self.experience else None

    def summarizer(self) -> ExperienceSummarizer:
        """A summarizer for these settings."""
        return ExperienceSummarizer(prompt_template=self.prompt)


class _Keys(BaseModel):
    """The keys that are read; the file holds others, an API key among them, which are left alone."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="ignore")

    RAG_EXPERIENCE: bool = False
    RAG_EXPERIENCE_RETRIEVED_TOPK: int = Field(default=5, ge=0)
    EXPERIENCE_SAVED_PATH: str = "vectordb/experience/"
    EXPERIENCE_PROMPT: str = ""


def from_rag_config(path: str | Path) -> RagConfig:
    """Read UFO's settings file; a key that is missing has UFO's own default.

    Raises:
        DataError: the file cannot be read, or is no YAML.
        DataError: a value does not fit; its key is named.
    """
    file = Path(path)
    wanted: dict[str, Any] = {key: value for key, value in load_yaml(file).items() if key in _Keys.model_fields}
    keys = validate(_Keys, wanted, file=str(file))
    return RagConfig(
        keys.RAG_EXPERIENCE, keys.RAG_EXPERIENCE_RETRIEVED_TOPK, keys.EXPERIENCE_SAVED_PATH, keys.EXPERIENCE_PROMPT
    )


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
        done, trust = self.report, "approved" if self.approved else "quarantined until you approve them"
        told = f"{len(done.added)} added ({trust}), {len(done.skipped)} skipped, {len(done.failed)} failed"
        if not self.unopened:
            return told
        names = ", ".join(path.name for path in self.unopened)
        return (
            f"{told}; not opened: {names}. A pickle can run code when it is read, and the vectors are made again from "
            "the texts; the files can be deleted"
        )


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
    return migrate_into(ExperienceMemory.open(db_path or file.parent / "experience_db"), file, approve=approve)


def migrate_into(memory: ExperienceMemory, file: Path, *, approve: bool = False, restore: bool = False) -> Migration:
    """Import one file into an open memory: UFO's YAML file, or what `import_` reads; see `migrate`."""
    report = memory.import_(file, approve=approve, restore=restore)
    unopened = [path for name in _STORES for path in old_index_files(file.parent / name)]
    return Migration(file, report, approve, tuple(unopened))


def yaml_file(source: Path) -> Path | None:
    """UFO's YAML file at `source`: the file itself, in the folder, or beside a folder that holds UFO's index."""
    if not source.is_dir():
        return source if source.is_file() else None
    if (source / "records").is_dir():
        return None  # a store of ours, with the view of it that UFO reads
    folders = [source, source.parent] if old_index_files(source) else [source]
    return next((folder / name for folder in folders for name in _YAML_FILES if (folder / name).is_file()), None)
