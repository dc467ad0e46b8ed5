"""The public names, listed once: what can be imported from `ufo_experience`, in the order of the pipeline.

The façade and everything it takes, returns or raises; the protocols of what can be replaced; the functions of UFO's
memory article. `ufo_experience` loads this module when the first of them is asked for.
"""

from __future__ import annotations

from ufo_experience.aio import AsyncExperienceMemory
from ufo_experience.embed import open_embedder
from ufo_experience.embed.base import Embedder, Spending
from ufo_experience.errors import (
    BudgetError,
    ConflictError,
    CorruptError,
    DataError,
    ExperienceError,
    FormatVersionError,
    IndexMismatchError,
    LockedError,
    MissingExtraError,
    NotFoundError,
    QuotaError,
    RefusedError,
    SchemaError,
    ServiceError,
    StorageError,
    TraceError,
    UsageError,
)
from ufo_experience.executor import Driver, Execution
from ufo_experience.index import open_index
from ufo_experience.index.base import ExperienceIndex, IndexReport, Progress
from ufo_experience.ingest import IngestReport
from ufo_experience.integrations.memory_article import (
    MemoryComparison,
    TaskExperience,
    build_experience_summary,
    build_prompt_with_memory,
    compare_with_without_memory,
    create_experience_index,
    record_experience,
    retrieve_relevant_experiences,
)
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.acts import Act, Stop
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.procedure.steps import Target
from ufo_experience.prompt.builder import Format, PromptBlock, build_prompt, inject, parse_block, strip_block
from ufo_experience.redact import redact, redact_text
from ufo_experience.retrieve.answer import Retrieval, Withheld
from ufo_experience.retrieve.calibration import Calibration
from ufo_experience.retrieve.structured import ActionAdvice
from ufo_experience.schema import (
    Action,
    Control,
    Experience,
    Hit,
    Judge,
    Outcome,
    Problem,
    Provenance,
    State,
    Step,
    Trajectory,
    Trust,
    Usage,
    Verdict,
)
from ufo_experience.settings import Settings, load_settings
from ufo_experience.store import open_store
from ufo_experience.store.base import Added, ExperienceStore, fingerprint
from ufo_experience.store.exchange import ExportReport, ImportReport
from ufo_experience.store.inspection import SourceInfo, StoreStats, Verification
from ufo_experience.store.selection import ChangeReport, RecordFilter
from ufo_experience.summarize import Summarizer, open_summarizer
from ufo_experience.traces import read_traces
from ufo_experience.traces.draft import LogGaps
from ufo_experience.traces.in_memory import JudgedBy, RunDetails, Steps

__all__ = [  # noqa: RUF022 - grouped as a reader meets them
    # the façade, its settings and filters
    "ExperienceMemory",
    "AsyncExperienceMemory",
    "Settings",
    "load_settings",
    "RecordFilter",
    "fingerprint",
    "Steps",
    "LogGaps",
    "RunDetails",
    "JudgedBy",
    "Format",
    "Progress",
    # the data model
    "Driver",
    "Execution",
    "Experience",
    "State",
    "Action",
    "Outcome",
    "Judge",
    "Step",
    "Control",
    "Provenance",
    "Usage",
    "Verdict",
    "Trust",
    "Trajectory",
    "Problem",
    # what the façade answers
    "Hit",
    "Retrieval",
    "Procedure",
    "PromptBlock",
    "Withheld",
    "Guide",
    "Act",
    "Stop",
    "Target",
    "ActionAdvice",
    "Calibration",
    "IngestReport",
    "IndexReport",
    "ImportReport",
    "ExportReport",
    "ChangeReport",
    "Verification",
    "StoreStats",
    "SourceInfo",
    # stages by themselves
    "read_traces",
    "redact",
    "redact_text",
    "open_summarizer",
    "open_store",
    "open_embedder",
    "open_index",
    "build_prompt",
    "inject",
    "parse_block",
    "strip_block",
    # protocols of what can be replaced
    "Summarizer",
    "ExperienceStore",
    "Added",
    "Embedder",
    "Spending",
    "ExperienceIndex",
    # UFO's memory article
    "TaskExperience",
    "record_experience",
    "create_experience_index",
    "build_experience_summary",
    "retrieve_relevant_experiences",
    "build_prompt_with_memory",
    "compare_with_without_memory",
    "MemoryComparison",
    # errors
    "ExperienceError",
    "UsageError",
    "DataError",
    "TraceError",
    "SchemaError",
    "CorruptError",
    "FormatVersionError",
    "NotFoundError",
    "IndexMismatchError",
    "ServiceError",
    "MissingExtraError",
    "BudgetError",
    "StorageError",
    "LockedError",
    "ConflictError",
    "QuotaError",
    "RefusedError",
]
