"""Stage 2, SUMMARIZE: `Trajectory` → `Experience`. `open_summarizer` makes one from its spec."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ufo_experience.errors import UsageError
from ufo_experience.summarizer.base import Summarizer, experience_id
from ufo_experience.summarizer.extractive import ExtractiveSummarizer

if TYPE_CHECKING:
    from ufo_experience.openai_service.client import OpenAISettings

__all__ = ["ExtractiveSummarizer", "Summarizer", "experience_id", "open_summarizer"]


def open_summarizer(spec: str = "auto", settings: OpenAISettings | None = None) -> Summarizer:
    """Make the summarizer a spec names: `extractive`, `openai`, `openai:<model>`, or `auto` (OpenAI if a key is set).

    `settings` reach the OpenAI service (default: the environment).

    Raises:
        UsageError: nobody knows this spec.
        ServiceError: `openai` was asked for and no key is set (`E_NO_KEY`).
    """
    kind, _, model = spec.strip().partition(":")
    if kind not in _KINDS or (model and kind != "openai"):
        raise UsageError(f"unknown summarizer {spec!r}; known are: auto, extractive, openai, openai:<model>")
    return _KINDS[kind](model, settings)


def _extractive(model: str, settings: OpenAISettings | None) -> Summarizer:
    return ExtractiveSummarizer()


def _openai(model: str, settings: OpenAISettings | None) -> Summarizer:
    from ufo_experience.openai_service.client import OpenAISettings
    from ufo_experience.summarizer.openai import DEFAULT_MODEL, OpenAISummarizer

    return OpenAISummarizer(model or DEFAULT_MODEL, settings=settings or OpenAISettings.from_env())


def _auto(model: str, settings: OpenAISettings | None) -> Summarizer:
    from ufo_experience.openai_service.client import OpenAISettings

    settings = settings or OpenAISettings.from_env()
    return _openai(model, settings) if settings.has_key() else _extractive(model, settings)


_KINDS: dict[str, Callable[[str, OpenAISettings | None], Summarizer]] = {
    "auto": _auto,
    "extractive": _extractive,
    "openai": _openai,
}
