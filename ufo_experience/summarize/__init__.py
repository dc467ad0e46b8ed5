"""Stage 3, summarize: `Trajectory` → `Experience`. `open_summarizer` makes one from its spec."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ufo_experience.errors import UsageError
from ufo_experience.summarize.base import Summarizer, experience_id
from ufo_experience.summarize.extractive import ExtractiveSummarizer

if TYPE_CHECKING:
    from ufo_experience.service import Service

    Asked = Service | Callable[[], Service] | None

__all__ = ["ExtractiveSummarizer", "Summarizer", "experience_id", "open_summarizer"]


def open_summarizer(spec: str = "extractive", service: Asked = None) -> Summarizer:
    """Make the summarizer a spec names: `extractive`, `openai`, `openai:<model>`, or `auto` (OpenAI if a key is set).

    `service` (default: the one the environment names) may be a function, which is called only if a model is asked.

    Raises:
        UsageError: nobody knows this spec.
        ServiceError: `openai` was asked for and no key is set (`E_NO_KEY`).
    """
    kind, _, model = spec.strip().partition(":")
    if kind not in ("auto", "extractive", "openai") or (model and kind != "openai"):
        raise UsageError(f"unknown summarizer {spec!r}; known are: auto, extractive, openai, openai:<model>")
    if kind == "extractive":
        return ExtractiveSummarizer()
    from ufo_experience.service import DEFAULT_CHAT, Service
    from ufo_experience.summarize.model import OpenAISummarizer

    asked = (service() if callable(service) else service) or Service()
    if kind == "auto" and not asked.access.api_key:
        return ExtractiveSummarizer()
    return OpenAISummarizer(model or DEFAULT_CHAT, service=asked)
