"""Which of two equal ways can be gone on from here: the one whose next target is on the screen now.

    screen = OnScreen.of([("Insert", "TabItem", ""), ("Save", "Button", "Save As")], done=["File"], application="Word")
    screen.fit(experience)  # 0 (its next target is not in view) … 1 (it is, by name and role)

The next target of a way is that of the step after the last one already done; of a way nobody has begun, the first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ufo_experience.controls import bare, role_of
from ufo_experience.request import application_key
from ufo_experience.schema import Experience, Hit, Step

HALF = 0.5  # of the fit is left where the role is another, or the step is in another application, window or dialog
UNNAMED = 0.25  # the fit of a step that names no control: nothing tells whether it can be done here
_WINDOWS = frozenset("window dialog alertdialog pane document".split())
_SLOT = re.compile(r"\{\{[^{}]*\}\}")


@dataclass(frozen=True)
class OnScreen:
    """The controls in view, as names and roles, the windows among them, and what was acted on so far."""

    controls: frozenset[tuple[str, str]]
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
        windows = {bare(within) for _, _, within in seen if within}
        windows |= {bare(name) for name, kind, _ in seen if windows and role_of(kind) in _WINDOWS}
        named = frozenset((bare(name), role_of(kind)) for name, kind, _ in seen)
        return cls(named, frozenset(windows), tuple(map(bare, done)), application_key(application))

    def fit(self, experience: Experience) -> float:
        """How surely the next target of this way is in view, from 0 to 1; 0 when the way is at its end."""
        step = self.next_step(experience)
        if step is None:
            return 0.0
        wanted, role = bare(_SLOT.sub(" ", step.target_control.name)), role_of(step.target_control.type)
        if not wanted:
            return UNNAMED
        roles = {kind for name, kind in self.controls if name == wanted}
        agrees = 1.0 if {role, ""} & roles or not role else HALF
        return agrees * (HALF if self._is_elsewhere(step) else 1.0) if roles else 0.0

    def next_step(self, experience: Experience) -> Step | None:
        """The step of a way that comes after what was done; None when all of them are behind."""
        steps = [step for step in experience.action.steps if step.ok]
        names = [bare(step.target_control.name) for step in steps]
        at = 0
        for name in self.done:
            if name in names[at:]:
                at = names.index(name, at) + 1
        return steps[at] if at < len(steps) else None

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
