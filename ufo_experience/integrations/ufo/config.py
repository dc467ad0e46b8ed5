"""UFO's own settings for experiences: `config/ufo/rag.yaml` (UFO 3), or `config_dev.yaml` with the same keys before."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, Field

from ufo_experience.schema import validate

if TYPE_CHECKING:
    from ufo_experience.integrations.ufo import ExperienceRetriever, ExperienceSummarizer


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
        from ufo_experience.integrations.ufo import ExperienceRetriever

        return ExperienceRetriever(str(self.db_path)) if self.experience else None

    def summarizer(self) -> ExperienceSummarizer:
        """A summarizer for these settings."""
        from ufo_experience.integrations.ufo import ExperienceSummarizer

        return ExperienceSummarizer(prompt_template=self.prompt)


class _Keys(BaseModel):
    """The keys that are read; the file holds others, an API key among them, which are left alone."""

    model_config = ConfigDict(extra="ignore")

    RAG_EXPERIENCE: bool = False
    RAG_EXPERIENCE_RETRIEVED_TOPK: int = Field(default=5, ge=0)
    EXPERIENCE_SAVED_PATH: str = "vectordb/experience/"
    EXPERIENCE_PROMPT: str = ""


def from_rag_config(path: str | Path) -> RagConfig:
    """Read UFO's settings file; a key that is missing has UFO's own default.

    Raises:
        TraceError: the file cannot be read, or is no YAML.
        SchemaError: a value does not fit; its key is named.
    """
    from ufo_experience.traces.safe_yaml import load_yaml

    file = Path(path)
    wanted: dict[str, Any] = {key: value for key, value in load_yaml(file).items() if key in _Keys.model_fields}
    keys = validate(_Keys, wanted, file=str(file))
    return RagConfig(
        keys.RAG_EXPERIENCE, keys.RAG_EXPERIENCE_RETRIEVED_TOPK, keys.EXPERIENCE_SAVED_PATH, keys.EXPERIENCE_PROMPT
    )
