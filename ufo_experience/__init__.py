"""Experience memory for UI agents. Start with `ExperienceMemory.open`; other errors are in `ufo_experience.errors`."""

__version__ = "0.1.0"

from typing import TYPE_CHECKING

from ufo_experience.embed import open_embedder
from ufo_experience.embed.base import Embedder
from ufo_experience.errors import DataError, ExperienceError, UsageError, no_such_name
from ufo_experience.executor import Execution
from ufo_experience.ingest import IngestReport
from ufo_experience.integrations.memory_article import (
    TaskExperience,
    build_experience_summary,
    build_prompt_with_memory,
    compare_with_without_memory,
    create_experience_index,
    record_experience,
    retrieve_relevant_experiences,
)
from ufo_experience.integrations.recorder import Recorder
from ufo_experience.memory import ExperienceMemory
from ufo_experience.memory.aio import AsyncExperienceMemory
from ufo_experience.procedure.acts import Act, Stop
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.prompt.builder import PromptBlock, build_prompt, inject, strip_block
from ufo_experience.redact import redact, redact_text
from ufo_experience.retrieve.answer import Retrieval
from ufo_experience.schema import Action, Control, Experience, Hit, Outcome, Problem, State, Step, Trajectory, Trust
from ufo_experience.settings import Settings, load_settings
from ufo_experience.store.base import ExperienceStore
from ufo_experience.store.selection import RecordFilter
from ufo_experience.summarize.base import Summarizer
from ufo_experience.traces import read_traces

if not TYPE_CHECKING:  # a checker knows the names

    def __getattr__(name: str) -> None:
        raise no_such_name(name, ExperienceMemory)


__all__ = [  # noqa: RUF022 - grouped as a reader meets them
    # the memory
    "ExperienceMemory",
    "AsyncExperienceMemory",
    "Recorder",
    "Settings",
    "load_settings",
    "RecordFilter",
    # what it keeps
    "Experience",
    "State",
    "Action",
    "Outcome",
    "Step",
    "Control",
    "Trust",
    "Trajectory",
    "Problem",
    # what it answers
    "Hit",
    "Retrieval",
    "PromptBlock",
    "Procedure",
    "Guide",
    "Act",
    "Stop",
    "Execution",
    "IngestReport",
    # stages by themselves
    "read_traces",
    "redact",
    "redact_text",
    "build_prompt",
    "inject",
    "strip_block",
    "open_embedder",
    # what can be replaced
    "Embedder",
    "ExperienceStore",
    "Summarizer",
    # UFO's memory article
    "TaskExperience",
    "record_experience",
    "create_experience_index",
    "build_experience_summary",
    "retrieve_relevant_experiences",
    "build_prompt_with_memory",
    "compare_with_without_memory",
    # errors
    "ExperienceError",
    "UsageError",
    "DataError",
]
