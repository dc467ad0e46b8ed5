"""Which of two equal ways can be gone on from here: the one whose next target is on the screen now.

    screen = OnScreen.of([("Insert", "TabItem", ""), ("Save", "Button", "Save As")], done=["File"], application="Word")
    screen.fit(experience)  # 0 (its next target is not in view) … 1 (it is, by name and role)

The next target of a way is that of the step after the last one already done; of a way nobody has begun, the first.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ufo_experience.controls import bare, role_of
from ufo_experience.request import application_key
from ufo_experience.schema import Experience, Hit, Step

OTHER_ROLE = 0.5  # of the fit is left where name and role disagree
ELSEWHERE = 0.5  # of the fit is left where the step belongs to another application, site, window or dialog
UNNAMED = 0.25  # the fit of a step that names no control: nothing tells whether it can be done here
_WINDOWS = frozenset("window dialog alertdialog pane document".split())
_WORD = re.compile(r"[^\W_]+")
_SLOT = re.compile(r"\{\{[^{}]*\}\}")


@dataclass(frozen=True)
class OnScreen:
    """The controls in view, as pairs of words and role, and the weight of each word: rare ones tell more."""

    controls: tuple[tuple[frozenset[str], str], ...]
    weights: Mapping[str, float]
    windows: frozenset[str] = frozenset()
    done: tuple[str, ...] = ()
    application: str = ""

    @classmethod
    def of(
        cls, controls: Iterable[tuple[str, str, str]], done: Iterable[str] = (), application: str | None = None
    ) -> OnScreen:
        """Read name, type and window (or dialog, or row) of the controls in view, and the names of those acted on so
        far, in order. `application` is the one in front, on the web its host.
        """
        seen = tuple(controls)
        read = tuple((_words(name), role_of(kind)) for name, kind, _ in seen)
        windows = {bare(within) for _, _, within in seen if within}
        windows |= {bare(name) for name, kind, _ in seen if windows and role_of(kind) in _WINDOWS}
        counts = Counter(word for words, _ in read for word in words)
        weights = {word: math.log(1 + len(read) / count) for word, count in counts.items()}
        return cls(read, weights, frozenset(windows), tuple(map(bare, done)), application_key(application))

    def fit(self, experience: Experience) -> float:
        """How surely the next target of this way is in view, from 0 to 1; 0 when the way is at its end."""
        step = self.next_step(experience)
        if step is None:
            return 0.0
        wanted = _words(_SLOT.sub(" ", step.target_control.name))
        if not wanted:
            return UNNAMED
        role, unknown = role_of(step.target_control.type), math.log(1 + max(len(self.controls), 1))
        whole = sum(self.weights.get(word, unknown) for word in wanted)
        best = max((self._overlap(wanted, words, role, kind) for words, kind in self.controls), default=0.0)
        return best / whole * (ELSEWHERE if self._is_elsewhere(step) else 1.0)

    def next_step(self, experience: Experience) -> Step | None:
        """The step of a way that comes after what was done; None when all of them are behind."""
        steps = [step for step in experience.action.steps if step.ok]
        names = [bare(step.target_control.name) for step in steps]
        at = 0
        for name in self.done:
            if name in names[at:]:
                at = names.index(name, at) + 1
        return steps[at] if at < len(steps) else None

    def _overlap(self, wanted: frozenset[str], words: frozenset[str], role: str, kind: str) -> float:
        """Weight of the words two names share; a name that says more than is wanted shares less."""
        shared = sum(self.weights[word] for word in wanted & words)
        more = sum(self.weights[word] for word in words - wanted)
        agrees = 1.0 if not (role and kind) or role == kind else OTHER_ROLE
        return shared * agrees * (shared / (shared + more) if shared else 0.0)

    def _is_elsewhere(self, step: Step) -> bool:
        own, window = application_key(step.application), bare(step.target_control.within)
        other = bool(own and self.application and own != self.application)
        return other or bool(window and self.windows and window not in self.windows)


def among_equals(hits: Sequence[Hit], screen: OnScreen, equal: float) -> tuple[Hit, ...]:
    """The hits, best first; those within `equal` of the best score by how well they fit the screen, and so on."""
    rest = [_told(hit, screen) for hit in sorted(hits, key=lambda one: (-one.score, one.experience.id))]
    ordered: list[Hit] = []
    while rest:
        equals = [hit for hit in rest if hit.score >= rest[0].score - equal]
        ordered += sorted(equals, key=lambda one: -one.explanation["on_screen"])
        rest = rest[len(equals) :]
    return tuple(ordered)


def _told(hit: Hit, screen: OnScreen) -> Hit:
    fit = round(screen.fit(hit.experience), 6)
    return hit.model_copy(update={"explanation": {**hit.explanation, "on_screen": fit}})


def _words(name: str) -> frozenset[str]:
    return frozenset(_WORD.findall(name.casefold()))
