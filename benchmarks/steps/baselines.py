"""What an agent could be shown instead of what this package finds, for comparison under the same agent.

All take the experience whose request is nearest by textbook BM25, always one; they differ in how much of it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from benchmarks.retrieval.bm25 import PlainBM25
from ufo_experience.schema import Experience
from ufo_experience.traces import read_traces

Shape = Callable[[Experience], Experience]


class NearestByWords:
    """The experience with the nearest request among those given."""

    def __init__(self, records: Iterable[Experience]) -> None:
        self._records = list(records)
        texts = [one.state.request or one.state.task for one in self._records]
        self._engine = PlainBM25(texts) if texts else None

    def find(self, task: str) -> Experience | None:
        """The nearest; None when nothing shares a word with the task."""
        if self._engine is None:
            return None
        scores = self._engine.scores(task)
        best = int(scores.argmax())
        return self._records[best] if scores[best] > 0 else None


def as_it_is(experience: Experience) -> Experience:
    """The experience as this package made it."""
    return experience


def all_steps(experience: Experience) -> Experience:
    """With every action of the log it was made of, with the values it had, instead of the summary."""
    trajectory = next(iter(read_traces(experience.provenance.source)), None)
    if trajectory is None:
        return experience
    state = experience.state.model_copy(update={"task": trajectory.task})
    action = experience.action.model_copy(update={"steps": trajectory.steps})
    return experience.model_copy(update={"state": state, "action": action, "slots": {}})


def first_step(experience: Experience) -> Experience:
    """With its first action only, which is what UFO keeps of a run in its experience database."""
    return experience.model_copy(
        update={"action": experience.action.model_copy(update={"steps": experience.action.steps[:1]})}
    )
