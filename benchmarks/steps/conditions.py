"""The conditions of `bench steps`, each a place an agent's past experiences come from, or None.

    off       no memory
    advise    what retrieval finds, at the product's own threshold, as a block in the prompt
    labels    the same with the threshold calibrated on labelled pairs, which users do not have
    ahead     what is known of the way is offered as actions to come, each checked before it is done
    replay    a known way, taken for proven, is carried out without the agent while nothing is in doubt
    random    one experience of another task, advised: what a wrong one costs; random-ahead, random-replay: followed
    oracle    one experience of this task, advised, whatever retrieval says: what a perfect retrieval would bring
    bm25      baseline: the experience whose request is nearest by textbook BM25, always one
    raw       baseline: the same, with every action of the log instead of its summary
    first     baseline: the same, with the first action only, as UFO's experience database keeps it

Tests teach nothing: they neither save nor credit, so that their order does not matter.
"""

from __future__ import annotations

import json
import logging
import random
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.steps.baselines import NearestByWords, Shape, all_steps, as_it_is, first_step
from benchmarks.steps.plan import Case
from ufo_experience.errors import DataError
from ufo_experience.ingest import IngestReport
from ufo_experience.memory import ExperienceMemory
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.offer import LOOKED_THROUGH
from ufo_experience.prompt.builder import PromptBlock, build_prompt
from ufo_experience.retrieve.answer import Retrieval
from ufo_experience.schema import Experience, Hit
from ufo_experience.session import RecallMode

_PRECISION = 0.9
_NONCE = "01234567"

_log = logging.getLogger(__name__)

OFF, ADVISE, LABELS, RANDOM, ORACLE = "off", "advise", "labels", "random", "oracle"
AHEAD, REPLAY, RANDOM_AHEAD, RANDOM_REPLAY = "ahead", "replay", "random-ahead", "random-replay"
BM25, RAW, FIRST = "bm25", "raw", "first"


class ReadOnly:
    """A memory that answers and learns nothing; `only` are the ids that may answer (None: all)."""

    def __init__(self, memory: ExperienceMemory, only: Collection[str] | None = None) -> None:
        self._memory, self._only = memory, only

    def ingest(self, *paths: str | Path, include_failures: bool = False) -> IngestReport:
        """Nothing is learned."""
        return IngestReport()

    def retrieve(
        self, task: str, *, application: str | None = None, top_k: int | None = None, **screen: Any
    ) -> Retrieval:
        """As the memory answers."""
        return self._memory.retrieve(task, application=application, top_k=top_k, only=self._only, **screen)

    def build_prompt(
        self, task: str, hits: Sequence[Hit] | None = None, *, max_tokens: int | None = None
    ) -> PromptBlock:
        """As the memory builds it, but with the same nonce every time, so that tokens can be compared."""
        limit = max_tokens or self._memory.settings.max_tokens
        return build_prompt(task, hits or (), max_tokens=limit, runs_of=self._memory._runs_of, nonce=_NONCE)

    def guide(
        self, task: str, *, application: str | None = None, hits: Sequence[Hit] | None = None, proven_after: int = 0
    ) -> Guide | None:
        """As the memory leads."""
        found = self.retrieve(task, application=application) if hits is None else hits
        return self._memory.guide(task, hits=found, proven_after=proven_after)

    def choices(
        self, task: str, *, application: str | None = None, hits: Sequence[Hit] | None = None
    ) -> Sequence[Guide]:
        """As the memory lets choose."""
        if hits is None:
            found = self.retrieve(task, application=application, near=LOOKED_THROUGH)
            hits = [*found, *found.near]
        return self._memory.choices(task, hits=hits)

    def report(self, what: Iterable[Hit | str], *, success: bool, session: str | None = None) -> list[str]:
        """Nothing is credited."""
        return []


class OneExperience(ReadOnly):
    """Answers every question with the same experience."""

    def __init__(self, memory: ExperienceMemory, identifier: str) -> None:
        super().__init__(memory)
        self._hit = Hit(experience=memory.store.get(identifier), score=1.0, ranked_by="structured")

    def retrieve(
        self, task: str, *, application: str | None = None, top_k: int | None = None, **screen: Any
    ) -> Retrieval:
        """Hits of the one experience."""
        return Retrieval((self._hit,))


class Nearest(ReadOnly):
    """Answers with the nearest experience by BM25, in the shape of a baseline."""

    def __init__(self, learned: Learned, shape: Shape) -> None:
        super().__init__(learned.memory)
        ids = [one for ids in learned.families.values() for one in ids]
        self._nearest, self._shape = NearestByWords(learned.memory.store.get(one) for one in ids), shape

    def retrieve(
        self, task: str, *, application: str | None = None, top_k: int | None = None, **screen: Any
    ) -> Retrieval:
        """The one experience, or none when no word is shared."""
        found = self._nearest.find(task)
        return Retrieval(
            () if found is None else (Hit(experience=self._shape(found), score=1.0, ranked_by="structured"),)
        )


@dataclass(frozen=True)
class Learned:
    """A memory and, for each task, the experiences in it that worked, the shortest first.

    `calibrated` is the same memory with a threshold calibrated on labels; None where there was nothing to calibrate
    on. `hidden` is an environment whose experiences are not served, "" for none.
    """

    memory: ExperienceMemory
    families: Mapping[str, tuple[str, ...]]
    calibrated: ExperienceMemory | None = None
    hidden: str = ""

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

    def without(self, kind: str) -> Learned:
        """What was learned elsewhere than in that environment: the others of its experiences are not served."""
        families = {name: ids for name, ids in self.families.items() if not name.startswith(f"{kind}/")}
        return replace(self, families=families, hidden=kind)

    def serving(self, memory: ExperienceMemory) -> ExperienceMemory:
        """A memory of these (the main one or the calibrated) that answers and learns nothing."""
        known = None if not self.hidden else {one for ids in self.families.values() for one in ids}
        return ReadOnly(memory, known)

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


def calibrated(
    learned: Learned, goals: Sequence[tuple[str, str]], folder: Path, embedder: str
) -> ExperienceMemory | None:
    """A copy of the memory whose threshold is set by what was learned: goals of one task are alike, of two are not.

    Args:
        goals: task and goal of each learned variant.
        folder: where the copy and the pairs go.
        embedder: that of the memory.

    Returns:
        None where the goals do not tell tasks apart.
    """
    pairs = [
        {"query": query, "text": text, "relevant": family == other}
        for at, (family, query) in enumerate(goals)
        for place, (other, text) in enumerate(goals)
        if at != place and query != text
    ]
    if len({one["relevant"] for one in pairs}) < 2:  # one task, or one variant of each: nothing to tell apart
        return None
    shutil.copytree(learned.memory.store.location, folder / "db")
    labels = folder / "labels.jsonl"
    labels.write_text("".join(json.dumps(one) + "\n" for one in pairs), encoding="utf-8", newline="\n")
    memory = ExperienceMemory.open(folder / "db", embedder=embedder)
    try:
        memory.calibrate(labels, precision=_PRECISION)
    except DataError as error:  # tasks too much alike
        _log.warning("not calibrated: %s", error)
        return None
    return memory


def _one(learned: Learned, identifier: str | None) -> ExperienceMemory | None:
    return OneExperience(learned.memory, identifier) if identifier else None


def _labelled(learned: Learned) -> ExperienceMemory | None:
    return learned.serving(learned.calibrated) if learned.calibrated is not None else None


def _nearest(shape: Shape) -> MakeSource:
    return lambda learned, case: Nearest(learned, shape)


MakeSource = Callable[["Learned", Case], "ExperienceMemory | None"]
CONDITIONS: Mapping[str, MakeSource] = {
    OFF: lambda learned, case: None,
    ADVISE: lambda learned, case: learned.serving(learned.memory),
    LABELS: lambda learned, case: _labelled(learned),
    AHEAD: lambda learned, case: learned.serving(learned.memory),
    REPLAY: lambda learned, case: learned.serving(learned.memory),
    RANDOM_AHEAD: lambda learned, case: _one(learned, learned.wrong(case)),
    RANDOM_REPLAY: lambda learned, case: _one(learned, learned.wrong(case)),
    RANDOM: lambda learned, case: _one(learned, learned.wrong(case)),
    ORACLE: lambda learned, case: _one(learned, learned.right(case)),
    BM25: _nearest(as_it_is),
    RAW: _nearest(all_steps),
    FIRST: _nearest(first_step),
}
# How a session uses what its condition finds; "advise" where nothing is said.
MODES: Mapping[str, RecallMode] = {
    AHEAD: "ahead",
    REPLAY: "replay",
    RANDOM_AHEAD: "ahead",
    RANDOM_REPLAY: "replay",
}
