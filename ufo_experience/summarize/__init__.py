"""Stage 3, summarize: `Trajectory` → `Experience`. `open_summarizer` makes one from its spec."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ufo_experience.errors import UsageError

if TYPE_CHECKING:
    from ufo_experience.service.settings import OpenAISettings
    from ufo_experience.summarize.base import Summarizer, experience_id
    from ufo_experience.summarize.extractive import ExtractiveSummarizer

    Access = OpenAISettings | Callable[[], OpenAISettings] | None

__all__ = ["ExtractiveSummarizer", "Summarizer", "experience_id", "open_summarizer"]

# A query needs none of these; they are loaded when a trajectory is to be summarized.
_LATER = {"ExtractiveSummarizer": "extractive", "Summarizer": "base", "experience_id": "base"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_LATER[name]}"), name)


def open_summarizer(spec: str = "auto", settings: Access = None) -> Summarizer:
    """Make the summarizer a spec names: `extractive`, `openai`, `openai:<model>`, or `auto` (OpenAI if a key is set).

    `settings` reach the OpenAI service (default: the environment); a function is asked for them only if they are used.

    Raises:
        UsageError: nobody knows this spec.
        ServiceError: `openai` was asked for and no key is set (`E_NO_KEY`).
    """
    kind, _, model = spec.strip().partition(":")
    if kind not in _KINDS or (model and kind != "openai"):
        raise UsageError(f"unknown summarizer {spec!r}; known are: auto, extractive, openai, openai:<model>")
    return _KINDS[kind](model, settings)


def _extractive(model: str, settings: Access) -> Summarizer:
    from ufo_experience.summarize.extractive import ExtractiveSummarizer

    return ExtractiveSummarizer()


def _openai(model: str, settings: Access) -> Summarizer:
    from ufo_experience.summarize.openai import DEFAULT_MODEL, OpenAISummarizer

    return OpenAISummarizer(model or DEFAULT_MODEL, settings=_read(settings))


def _auto(model: str, settings: Access) -> Summarizer:
    known = _read(settings)
    return _openai(model, known) if known.has_key() else _extractive(model, known)


def _read(settings: Access) -> OpenAISettings:
    from ufo_experience.service.settings import OpenAISettings

    given = settings() if callable(settings) else settings
    return given or OpenAISettings.from_env()


_KINDS: dict[str, Callable[[str, Access], Summarizer]] = {
    "auto": _auto,
    "extractive": _extractive,
    "openai": _openai,
}
