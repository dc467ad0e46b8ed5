"""Experience memory for UI agents. Public names in pipeline order, loaded when first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# Name → the module it lives in; `import ufo_experience` itself loads none of them.
_HOMES = {
    "read_traces": "traces",
    "redact": "redaction",
    "redact_text": "redaction",
    "open_summarizer": "summarizer",
    "open_store": "store",
    "open_embedder": "embedding",
    "build_prompt": "prompt.builder",
    "inject": "prompt.builder",
    "parse_block": "prompt.builder",
    "strip_block": "prompt.builder",
    "Guide": "guide.guide",
    "Act": "guide.guide",
    "Stop": "guide.guide",
    "Target": "guide.procedure",
    "ExperienceMemory": "memory",
    "Experience": "schema",
    "State": "schema",
    "Action": "schema",
    "Outcome": "schema",
    "Step": "schema",
    "Trajectory": "schema",
    "Hit": "schema",
    "Trust": "schema",
    "ExperienceError": "errors",
    "record_experience": "integrations.memory_article",
    "create_experience_index": "integrations.memory_article",
    "build_experience_summary": "integrations.memory_article",
    "retrieve_relevant_experiences": "integrations.memory_article",
    "build_prompt_with_memory": "integrations.memory_article",
    "compare_with_without_memory": "integrations.memory_article",
}

__all__ = [*_HOMES, "__version__"]

if TYPE_CHECKING:
    from ufo_experience.embedding import open_embedder as open_embedder
    from ufo_experience.errors import ExperienceError as ExperienceError
    from ufo_experience.guide.guide import Act as Act
    from ufo_experience.guide.guide import Guide as Guide
    from ufo_experience.guide.guide import Stop as Stop
    from ufo_experience.guide.procedure import Target as Target
    from ufo_experience.integrations.memory_article import build_experience_summary as build_experience_summary
    from ufo_experience.integrations.memory_article import build_prompt_with_memory as build_prompt_with_memory
    from ufo_experience.integrations.memory_article import compare_with_without_memory as compare_with_without_memory
    from ufo_experience.integrations.memory_article import create_experience_index as create_experience_index
    from ufo_experience.integrations.memory_article import record_experience as record_experience
    from ufo_experience.integrations.memory_article import (
        retrieve_relevant_experiences as retrieve_relevant_experiences,
    )
    from ufo_experience.memory import ExperienceMemory as ExperienceMemory
    from ufo_experience.prompt.builder import build_prompt as build_prompt
    from ufo_experience.prompt.builder import inject as inject
    from ufo_experience.prompt.builder import parse_block as parse_block
    from ufo_experience.prompt.builder import strip_block as strip_block
    from ufo_experience.redaction import redact as redact
    from ufo_experience.redaction import redact_text as redact_text
    from ufo_experience.schema import Action as Action
    from ufo_experience.schema import Experience as Experience
    from ufo_experience.schema import Hit as Hit
    from ufo_experience.schema import Outcome as Outcome
    from ufo_experience.schema import State as State
    from ufo_experience.schema import Step as Step
    from ufo_experience.schema import Trajectory as Trajectory
    from ufo_experience.schema import Trust as Trust
    from ufo_experience.store import open_store as open_store
    from ufo_experience.summarizer import open_summarizer as open_summarizer
    from ufo_experience.traces import read_traces as read_traces


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
