"""The whole loop on bundled sample logs: read, summarize, store, index, retrieve, prompt. No key, no network."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from ufo_experience.memory import ExperienceMemory
from ufo_experience.prompt.builder import PromptBlock
from ufo_experience.settings import Settings

SAMPLES = Path(__file__).resolve().parents[1] / "samples"
TASK = "Send an email to Priya about the offsite agenda"
APPLICATION = "Outlook"


def run_demo(say: Callable[[str], None], db: str | None = None) -> PromptBlock:
    """Learn from the sample logs in the store `db` (default: a temporary one) and build the prompt for a task that is
    not among them.
    """
    with nullcontext(db) if db else tempfile.TemporaryDirectory(prefix="ufo-experience-") as folder:
        memory = ExperienceMemory.open(settings=Settings(db=folder, embedder="hashing", summarizer="extractive"))
        report = memory.ingest(SAMPLES, include_failures=True)
        say(f"read {len(list(SAMPLES.iterdir()))} sample sessions: {len(report.added)} experiences learned")
        found = memory.retrieve(TASK, application=APPLICATION)
        best = ", ".join(f"{hit.score:.2f} {hit.experience.state.request!r}" for hit in found)
        say(f"asked for {TASK!r} in {APPLICATION}: {best}")
        return memory.build_prompt(TASK, found)
