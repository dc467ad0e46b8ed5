"""The conditions of `bench steps`, each a place an agent's past experiences come from, or None.

    off       no memory
    on        what retrieval finds
    random    one experience of another task: what a wrong one costs
    oracle    one experience of this task, whatever retrieval says: what a perfect retrieval would bring

Tests teach nothing: they neither save nor credit, so that their order does not matter.
"""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ufo_experience.benchmark.steps.plan import Case
from ufo_experience.errors import DataError
from ufo_experience.ingest import IngestReport
from ufo_experience.memory import ExperienceMemory
from ufo_experience.prompt.builder import PromptBlock, build_prompt
from ufo_experience.retrieval.answer import Retrieval
from ufo_experience.schema import Experience, Hit
from ufo_experience.session.recall import ExperienceSource

_PRECISION = 0.9
_NONCE = "0123456789abcdef" * 2

_log = logging.getLogger(__name__)

OFF, ON, RANDOM, ORACLE = "off", "on", "random", "oracle"


class ReadOnly:
    """A memory that answers and learns nothing; `only` are the ids that may answer (None: all)."""

    def __init__(self, memory: ExperienceMemory, only: Collection[str] | None = None) -> None:
        self._memory, self._only = memory, only

    def ingest(self, *paths: str | Path, include_failures: bool = False) -> IngestReport:
        """Nothing is learned."""
        return IngestReport()

    def retrieve(self, task: str, *, application: str | None = None, top_k: int | None = None) -> Retrieval:
        """As the memory answers."""
        return self._memory.retrieve(task, application=application, top_k=top_k, only=self._only)

    def build_prompt(
        self, task: str, hits: Sequence[Hit] | None = None, *, max_tokens: int | None = None
    ) -> PromptBlock:
        """As the memory builds it, but with the same nonce every time, so that tokens can be compared."""
        limit = max_tokens or self._memory.settings.max_tokens
        return build_prompt(task, hits or (), max_tokens=limit, nonce=_NONCE)

    def report(self, what: Iterable[Hit | str], *, success: bool, session: str | None = None) -> list[str]:
        """Nothing is credited."""
        return []


class OneExperience(ReadOnly):
    """Answers every question with the same experience."""

    def __init__(self, memory: ExperienceMemory, identifier: str) -> None:
        super().__init__(memory)
        self._hit = Hit(experience=memory.store.get(identifier), score=1.0, ranked_by="structured")

    def retrieve(self, task: str, *, application: str | None = None, top_k: int | None = None) -> Retrieval:
        """The one experience."""
        return Retrieval((self._hit,))


@dataclass(frozen=True)
class Learned:
    """A memory and, for each task, the experiences in it that worked, the shortest first."""

    memory: ExperienceMemory
    families: Mapping[str, tuple[str, ...]]

    @classmethod
    def of(cls, memory: ExperienceMemory, folders: Mapping[str, str]) -> Learned:
        """Sort what is in the memory by task; `folders` maps the name of a log folder to the task it is of."""
        found: dict[str, list[Experience]] = {}
        for one in memory.store.scan():
            family = folders.get(_folder(one))
            if family is not None and one.outcome.success:
                found.setdefault(family, []).append(one)
        ordered = {
            family: sorted(ones, key=lambda one: (len(one.action.steps), _folder(one)))
            for family, ones in found.items()
        }
        return cls(memory, {family: tuple(one.id for one in ones) for family, ones in sorted(ordered.items())})

    def right(self, case: Case) -> str | None:
        """The shortest experience of the same task."""
        return next(iter(self.families.get(case.family, ())), None)

    def wrong(self, case: Case) -> str | None:
        """An experience of another task of the same environment, by the seed of the case."""
        others = [
            ids[0]
            for family, ids in self.families.items()
            if family != case.family and family.startswith(f"{case.kind}/")
        ]
        return random.Random(f"{case.family}/{case.seed}").choice(others) if others else None


def _folder(experience: Experience) -> str:
    """The name of the log folder, which, unlike an id, is the same in every run."""
    return Path(experience.provenance.source).parent.name


def calibrate(memory: ExperienceMemory, goals: Sequence[tuple[str, str]], labels: Path) -> None:
    """Set the memory's threshold by what was learned: goals of one task are alike, goals of two are not.

    Args:
        goals: task and goal of each learned variant.
        labels: where the pairs are written to.
    """
    pairs = [
        {"query": query, "text": text, "relevant": family == other}
        for at, (family, query) in enumerate(goals)
        for place, (other, text) in enumerate(goals)
        if at != place and query != text
    ]
    if len({one["relevant"] for one in pairs}) < 2:  # one task, or one variant of each: nothing to tell apart
        return
    labels.write_text("".join(json.dumps(one) + "\n" for one in pairs), encoding="utf-8", newline="\n")
    try:
        memory.calibrate(labels, precision=_PRECISION)
    except DataError as error:  # tasks too much alike: the default threshold stays
        _log.warning("not calibrated: %s", error)


def _one(learned: Learned, identifier: str | None) -> ExperienceSource | None:
    return OneExperience(learned.memory, identifier) if identifier else None


CONDITIONS: Mapping[str, Callable[[Learned, Case], ExperienceSource | None]] = {
    OFF: lambda learned, case: None,
    ON: lambda learned, case: ReadOnly(learned.memory),
    RANDOM: lambda learned, case: _one(learned, learned.wrong(case)),
    ORACLE: lambda learned, case: _one(learned, learned.right(case)),
}
