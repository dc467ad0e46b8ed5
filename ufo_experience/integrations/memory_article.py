"""The functions of UFO's memory article under their own names, as thin calls of the façade.

record_experience("Email Jane", trace)                  store one successful run
index = create_experience_index("experience_db")        bring the index in line; what it returns answers queries
found = retrieve_relevant_experiences("Email Bob", index)
prompt = build_prompt_with_memory("Email Bob", screenshot, controls, found)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ufo_experience.errors import SchemaError
from ufo_experience.formats.task_experience import (
    TaskExperience,
    build_experience_summary,
    from_task_experience,
    to_task_experience,
)
from ufo_experience.memory import ExperienceMemory
from ufo_experience.prompt.builder import build_prompt
from ufo_experience.redaction import redact
from ufo_experience.schema import Experience, Hit, Outcome, Trajectory, Trust
from ufo_experience.summarizer import ExtractiveSummarizer

__all__ = [
    "MemoryComparison",
    "TaskExperience",
    "build_experience_summary",
    "build_prompt_with_memory",
    "compare_with_without_memory",
    "create_experience_index",
    "record_experience",
    "retrieve_relevant_experiences",
]

_REQUIRED = ("step", "thought", "action_type", "timestamp")


def record_experience(
    task: str, execution_trace: Sequence[Mapping[str, Any]], *, db: str | Path = "experience_db"
) -> Experience:
    """Store a successful run; each entry of the trace has step, thought, action_type, timestamp, and may have
    control_text, parameters, result, application.

    Raises:
        SchemaError: the trace is empty, or an entry lacks a field.
    """
    if not execution_trace:
        raise SchemaError("the execution trace is empty", field="execution_trace")
    view = {
        "task_description": task,
        "application": execution_trace[0].get("application", "Unknown"),
        "steps": [_step(entry, place) for place, entry in enumerate(execution_trace)],
        "start_time": execution_trace[0]["timestamp"],
        "end_time": execution_trace[-1]["timestamp"],
        "success": True,
    }
    read = from_task_experience(view, trust=Trust.VERIFIED)
    run = Trajectory(
        request=task,
        applications=(read.state.application,) if read.state.application else (),
        steps=read.action.steps,
        outcome=Outcome(success=True, latency_ms=read.outcome.latency_ms, evaluated_by="user", judge="person"),
        format="execution-trace",
        session=read.id,
        started_at=read.created_at,
    )
    experience = ExtractiveSummarizer().summarize(redact(run))
    memory = ExperienceMemory.open(db)
    memory.store.add([experience])
    return experience


def create_experience_index(experiences_dir: str | Path) -> ExperienceMemory:
    """Embed every experience of a store that has no vector yet; returns the memory that answers from the index."""
    memory = ExperienceMemory.open(experiences_dir, create=False)
    memory.index()
    return memory


def retrieve_relevant_experiences(
    new_task: str, index: ExperienceMemory, top_k: int = 3, similarity_threshold: float | None = 0.75
) -> list[dict[str, Any]]:
    """Past experiences at or above the threshold, best first, as `TaskExperience` dicts with `similarity_score`.

    0.75 suits OpenAI's text-embedding-3-small; None takes the threshold that belongs to the embedder in use.
    """
    hits = index.retrieve(new_task, top_k=top_k, similarity_threshold=similarity_threshold)
    return [{**to_task_experience(hit.experience), "similarity_score": hit.score} for hit in hits]


def build_prompt_with_memory(
    task: str,
    screenshot: str,
    controls: Sequence[Mapping[str, Any]],
    relevant_experiences: Sequence[Mapping[str, Any]],
    *,
    max_tokens: int = 1200,
) -> str:
    """The text prompt for `task` with past experiences as suggestions.

    `screenshot` and `controls` travel beside the text in a vision prompt, as in the article; they are not part of it.
    """
    hits = [
        Hit(experience=from_task_experience(view), score=float(view["similarity_score"]), ranked_by="fused")
        for view in relevant_experiences
    ]
    return str(build_prompt(task, hits, max_tokens=max_tokens).prompt)


@dataclass(frozen=True)
class MemoryComparison:
    """The same task run without and with memory; `step_reduction` is 1 - with/without."""

    task: str
    without_memory: Mapping[str, Any]
    with_memory: Mapping[str, Any]

    @property
    def step_reduction(self) -> float:
        """Share of steps saved; negative when memory added steps."""
        return 1.0 - float(self.with_memory["steps"]) / float(self.without_memory["steps"])

    def __str__(self) -> str:
        lines = [
            f"{name} memory: {run['steps']} steps, ${run.get('cost') or 0.0:.3f}"
            for name, run in (("Without", self.without_memory), ("With", self.with_memory))
        ]
        return "\n".join([*lines, f"Step reduction: {self.step_reduction * 100:.0f}%"])


def compare_with_without_memory(task: str, run_ufo_task: Callable[..., Mapping[str, Any]]) -> MemoryComparison:
    """Run `task` twice through `run_ufo_task(task, use_memory=…)`, which returns at least `steps` (and `cost`)."""
    return MemoryComparison(task, run_ufo_task(task, use_memory=False), run_ufo_task(task, use_memory=True))


def _step(entry: Mapping[str, Any], place: int) -> dict[str, Any]:
    for name in _REQUIRED:
        if name not in entry:
            raise SchemaError("missing", field=f"execution_trace.{place}.{name}")
    return {
        "step_number": entry["step"],
        "observation": entry["thought"],
        "action_type": entry["action_type"],
        "target_control": entry.get("control_text", ""),
        "parameters": entry.get("parameters", {}),
        "result": entry.get("result", "success"),
    }
