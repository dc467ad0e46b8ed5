"""The functions of UFO's memory article under their own names, as thin calls of the façade."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from ufo_experience.errors import DataError, UsageError
from ufo_experience.ids import content_id
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.procedure import Procedure
from ufo_experience.prompt.builder import build_prompt
from ufo_experience.schema import Experience, Hit, Trust, expect, validate
from ufo_experience.traces.plain import run_of

INDEX_DB = "index_db"  # the store beside flat files of the article
UNKNOWN_APPLICATION = "Unknown"
SUMMARY_STEPS = 10
_IN_JSON: tuple[str, ...] = ("task_id", "task_description", "application", "steps", "total_steps")
_IN_JSON += ("duration_seconds", "success", "metadata")
_OF_A_STEP = {"step_number", "observation", "action_type", "target_control", "parameters", "result"}


@dataclass(frozen=True)
class TaskExperience:
    """A recorded run under the article's names: a view of `experience`, all of which is in `metadata`."""

    task_id: str
    task_description: str
    application: str
    steps: list[dict[str, Any]]
    total_steps: int
    start_time: datetime
    end_time: datetime
    success: bool | None
    metadata: dict[str, Any] = field(default_factory=dict)
    experience: Experience | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, experience: Experience) -> TaskExperience:
        """The view of a record. Without times in its log it began, and ended, when the record was made."""
        steps = expect(Experience, experience, "experience").action.steps
        times = [step.timestamp for step in steps if step.timestamp] or [experience.created_at]
        took = experience.outcome.latency_ms
        return cls(
            task_id=experience.id,
            task_description=experience.state.request or experience.state.task,
            application=experience.state.application or UNKNOWN_APPLICATION,
            steps=[
                step.model_dump(mode="json", include=_OF_A_STEP) | {"target_control": step.target_control.name}
                for step in steps
            ],
            total_steps=len(steps),
            start_time=times[0],
            end_time=max(times[0], times[-1]) if took is None else times[0] + timedelta(milliseconds=took),
            success=experience.outcome.success,
            metadata=experience.model_dump(mode="json", exclude_defaults=True),
            experience=experience,
        )

    def to_dict(self) -> dict[str, Any]:
        told = vars(self) | {"duration_seconds": (self.end_time - self.start_time).total_seconds()}
        return {name: told[name] for name in _IN_JSON}


def record_experience(
    task: str,
    execution_trace: Sequence[Mapping[str, Any]],
    *,
    success: bool | None = True,
    db: str | Path = "experience_db",
) -> TaskExperience:
    """Store a finished run; returns it under the article's names, as it is stored (without secrets).

    Each entry of the trace names at least an action, else it is a `DataError`; step, thought, action_type,
    control_text, parameters, result, application and timestamp are the article's names, others are understood too.
    """
    first = execution_trace[0] if isinstance(execution_trace, Sequence) and execution_trace else {}
    application = first.get("application") if isinstance(first, Mapping) else None
    with ExperienceMemory.open(db) as memory:
        return TaskExperience.of(memory.remember(task, execution_trace, success=success, application=application))


def build_experience_summary(experience: Mapping[str, Any] | Experience | TaskExperience) -> str:
    """The searchable one-liner "Task: … App: … Steps: a(b) -> …" over the first ten steps."""
    if isinstance(experience, Experience):
        experience = TaskExperience.of(experience)
    view = experience.to_dict() if isinstance(experience, TaskExperience) else experience
    try:
        steps = [f"{step['action_type']}({step['target_control']})" for step in view["steps"][:SUMMARY_STEPS]]
        return f"Task: {view['task_description']} App: {view['application']} Steps: {' -> '.join(steps)}"
    except (KeyError, TypeError) as error:
        raise DataError(f"not a task experience: {error}", code="E_SCHEMA") from error


def create_experience_index(experiences_dir: str | Path) -> ExperienceMemory:
    """Embed every experience of a folder that has no vector yet; returns the memory that answers from the index.

    The folder is a store, or one of the article's flat files (`<task_id>.json`): those are read into the store
    `index_db` inside it. Theirs is the owner's word: a run that says `success: true` counts as verified.
    """
    folder = Path(experiences_dir)
    flat = [] if (folder / "records").is_dir() else sorted(folder.glob("*.json"))
    if not flat:
        memory = ExperienceMemory.open(experiences_dir, create=False)
    else:
        memory = ExperienceMemory.open(folder / INDEX_DB)
        report = memory.ingest(*flat, format="execution-trace", include_failures=True, summarizer="extractive")
        for read in map(memory.get, report.added):
            if read.trust is Trust.OBSERVED and read.outcome.success is not None:
                memory.judge(read.id, success=read.outcome.success)
        if not len(memory):
            reason = report.failed[0][1] if report.failed else "no task experience"
            raise DataError(f"none of {len(flat)} files could be read: {reason}", file=str(folder))
    memory.index()
    return memory


def retrieve_relevant_experiences(
    new_task: str, index: ExperienceMemory | str | Path, top_k: int = 3, similarity_threshold: float | None = 0.75
) -> list[dict[str, Any]]:
    """Past experiences at or above the threshold (None: the calibrated one), best first, failed runs last, as
    `TaskExperience` dicts with `similarity_score`; `index` is what `create_experience_index` returned, or a folder for
    it. Steps are bound to the new task, as in any prompt."""
    memory = index if isinstance(index, ExperienceMemory) else create_experience_index(index)
    found = memory.retrieve(new_task, top_k=top_k, threshold=similarity_threshold)
    return [_view(hit, new_task) for hit in (*found, *found.negatives)]


def _view(hit: Hit, task: str) -> dict[str, Any]:
    """An experience as the procedure it stands for, in the words of the article."""
    way = Procedure.of([hit.experience], task)
    steps = [
        {
            "step_number": step.number,
            "observation": "",
            "action_type": step.action,
            "target_control": step.label,
            "parameters": {} if step.missing else dict(step.parameters),
            "result": step.error or "success",
        }
        for step in way.steps
    ]
    told = {"trust": hit.experience.trust.value, "reason": way.reason, "not_covered": list(way.uncovered)}
    return TaskExperience.of(hit.experience).to_dict() | {
        "task_description": way.task,
        "steps": steps,
        "total_steps": len(steps),
        "metadata": {key: value for key, value in told.items() if value},
        "similarity_score": hit.score,
    }


def build_prompt_with_memory(
    task: str,
    screenshot: str,
    controls: Sequence[Mapping[str, Any]],
    relevant_experiences: Sequence[Mapping[str, Any]],
    *,
    max_tokens: int = 1200,
) -> str:
    """The text prompt for `task` with past experiences; `screenshot` and `controls` travel beside it."""
    hits = [
        Hit(experience=_record(view), score=float(view["similarity_score"]), ranked_by="fused")
        for view in expect(Iterable, relevant_experiences, "relevant_experiences")
    ]
    return str(build_prompt(task, hits, max_tokens=max_tokens).prompt)


def _record(view: Mapping[str, Any]) -> Experience:
    """A dict of the article as a record; nothing is known of who vouches for it."""
    if missing := [key for key in ("task_description", "steps", "success", "similarity_score") if key not in view]:
        raise DataError("is missing", field=missing[0], code="E_SCHEMA")
    task, application = view["task_description"], view.get("application")
    run = run_of(task, view["steps"], success=view["success"], session="article")
    record = {
        "id": content_id(dict(view)),
        "state": {"task": task, "application": None if application == UNKNOWN_APPLICATION else application},
        "action": {"steps": run.trajectory.steps},
        "outcome": {"success": view["success"]},
        "created_at": datetime.now(timezone.utc),
    }
    return validate(Experience, record)


@dataclass(frozen=True)
class MemoryComparison:
    """The same task run without and with memory."""

    task: str
    without_memory: Mapping[str, Any]
    with_memory: Mapping[str, Any]

    @property
    def step_reduction(self) -> float | None:
        """1 - with/without, negative when memory added steps; None when a run did not reach the goal."""
        runs = (self.without_memory, self.with_memory)
        if not all(run.get("success", True) for run in runs):
            return None
        before, after = (float(run["steps"]) for run in runs)
        return 1.0 - after / before if before else 0.0

    def __str__(self) -> str:
        runs = (("Without", self.without_memory), ("With", self.with_memory))
        lines = [f"{name} memory: {run['steps']} steps, ${run.get('cost') or 0.0:.3f}" for name, run in runs]
        lost = [name.lower() for name, run in runs if not run.get("success", True)]
        saved = self.step_reduction
        told = f"{saved * 100:.0f}%" if saved is not None else f"none: {' and '.join(lost)} memory the goal was missed"
        return "\n".join([*lines, f"Step reduction: {told}"])


def compare_with_without_memory(task: str, run_ufo_task: Callable[..., Mapping[str, Any]]) -> MemoryComparison:
    """Run `task` twice through `run_ufo_task(task, use_memory=…)`, which returns `steps`, and better also `cost` and
    `success` (without it both runs are taken to have reached the goal)."""
    if not callable(run_ufo_task):
        raise UsageError(f"run_ufo_task is a function, not {run_ufo_task!r:.60}")
    runs = [run_ufo_task(task, use_memory=use) for use in (False, True)]
    for run in runs:
        if "steps" not in expect(Mapping, run, "what run_ufo_task returns"):
            raise DataError("required: how many steps the run took", field="steps", code="E_SCHEMA")
    return MemoryComparison(task, *runs)
