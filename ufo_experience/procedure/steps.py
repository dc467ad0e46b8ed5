"""What a procedure is made of: steps with an action, a target and a value, bound to the task at hand.

step.action   what the run's own tool called it ("click_input"); `kind` is the same in one word
step.target   the control: name, type, and what stands around it; `item_of` is the value it is found by
step.missing  what the task does not say, and nobody may guess
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ufo_experience.actions import Kind, kind_of, plain
from ufo_experience.controls import is_fixed, role_of
from ufo_experience.schema import Around, Experience, Step
from ufo_experience.trust.risk import asks_first

Source = Literal["", "task", "constant", "open"]

TEXT_KEYS = ("text", "value", "option", "keys")
STAYS = ("type", "select")  # after these the screen is the same, but for a value
_APPLICATION_KEYS = ("text", "app_name", "application", "application_name", "name", "app", "window")
_FIELDS = frozenset("edit combobox spinner field cell area".split())  # a click there puts the caret there
_LOCATORS = frozenset(
    "id name label index control controlname controltext controllabel controlid target selector element".split()
)


@dataclass(frozen=True)
class Target:
    """What an action acts on. `id` is that of the control on the screen now, None for one that is not in view yet.

    Its parts can be read as items as well: `target["id"]`.
    """

    name: str
    type: str = ""
    within: str = ""
    id: Any = None

    def __getitem__(self, part: str) -> Any:
        if part not in ("name", "type", "within", "id"):
            raise KeyError(part)
        return getattr(self, part)


@dataclass(frozen=True)
class LookedUp:
    """Where what a step types had stood in view: behind the first `place` steps, in a control of this `type`.

    It was all of that control's text (`whole`), or stood right beside `key`, a value of the new task.
    """

    place: int
    type: str
    whole: bool = False
    before: bool = False
    key: str = ""

    @property
    def can_be_read(self) -> bool:
        """True when it can be told from all else in view."""
        return self.whole or bool(self.key)


@dataclass(frozen=True)
class ProcedureStep:
    """One step, bound to the task at hand.

    `value_from` says where what is typed or chosen comes from: the task, a constant of the procedure, or nobody knows
    ("open"). `item_of` is the value of the task by which an item of a list, a row or a link is found. `missing` names
    what is open; a step with any is not carried out by itself. `optional` are the runs that did it and all runs.
    `asked_for` is False for a step that is asked for first and of which the request names nothing.
    `readable` is False for a name that is shown to nobody; `after` is the field filled right before, for one of
    several equal controls; `row_of` the value whose row the control stands in.
    """

    number: int
    action: str
    kind: Kind
    target: Target | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    application: str = ""
    agent: str = ""
    value_from: Source = ""
    item_of: str = ""
    row_of: str = ""
    after: str = ""
    missing: tuple[str, ...] = ()
    optional: tuple[int, int] | None = None
    ask_first: bool = False
    asked_for: bool = True
    readable: bool = True
    around: Around | None = None
    seen: LookedUp | None = None
    error: str = ""

    @property
    def role(self) -> str:
        """The kind of control it acts on, "" when unknown."""
        return role_of(self.target.type) if self.target else ""

    @property
    def is_own(self) -> bool:
        """True for a control that the application put there; a link may be what its user keeps there."""
        if self.kind in ("type", "select", "switch", "open", "keys"):
            return True
        return is_fixed(self.role) and self.role != "hyperlink"

    @property
    def fills_in(self) -> bool:
        """True for what sets a value of a form: the screen stays as it is."""
        return self.kind in STAYS or (self.kind == "click" and self.role in ("checkbox", "radiobutton"))

    @property
    def text(self) -> str:
        """What is typed, chosen or pressed; "" when nothing is."""
        said = next((self.parameters[key] for key in TEXT_KEYS if key in self.parameters), "")
        return "+".join(map(str, said)) if isinstance(said, (list, tuple)) else str(said)

    @property
    def can_be_filled(self) -> bool:
        """True when only what is typed or chosen is open: the field itself is known."""
        return bool(self.missing) and self.value_from == "open" and len(self.missing) == 1 and self.target is not None

    @property
    def is_plain_click(self) -> bool:
        """True for one click with the left button."""
        double = self.parameters.get("double") in (True, "true", "True") or "double" in self.action
        return not double and "right" not in self.action and self.parameters.get("button") in ("left", "", None)


def read_steps(run: Experience) -> list[ProcedureStep]:
    """The steps that were done in a run, numbered from 1, bound to nothing yet; of a failed run all that was tried."""
    done = [step for step in run.action.steps if step.ok or (step.status == "failed" and not run.outcome.success)]
    steps: list[ProcedureStep] = []
    for number, step in enumerate(done, start=1):
        before = steps[-1] if steps else None
        filled = before.target.name if before and before.target and before.kind in STAYS else ""
        asks = asks_first(step, done[: number - 1]) and not _opens_menu(done[number - 1 : number + 1])
        one = replace(read_step(number, step), ask_first=asks, after=filled, seen=_looked_up(step, done))
        steps.append(_where_the_caret_is(one, steps))
    return steps


def _where_the_caret_is(step: ProcedureStep, before: Sequence[ProcedureStep]) -> ProcedureStep:
    """A step that types into no control in particular types into the field that was clicked last."""
    if step.kind != "type" or step.target is not None:
        return step
    last = next((one for one in reversed(before) if one.kind != "keys"), None)
    into = last is not None and last.is_plain_click and last.role in _FIELDS
    return replace(step, target=last.target) if last is not None and into else step


def read_step(number: int, step: Step) -> ProcedureStep:
    """One step as it was recorded."""
    kind = kind_of(step.action_type)
    kept = {key: value for key, value in step.parameters.items() if kind == "switch" or plain(key) not in _LOCATORS}
    name = step.target_control.name.strip()
    if not name and kind == "switch":
        name = next((str(kept[key]) for key in _APPLICATION_KEYS if kept.get(key)), "")
    if not name and kind in ("click", "type", "select"):
        name = _named_in(step.observation, {str(value).strip() for value in step.parameters.values()})
    control = step.target_control
    in_row = bool(control.within) and is_fixed(role_of(control.type))  # a box without a name, told by its row
    return ProcedureStep(
        number,
        step.action_type,
        kind,
        Target(name, control.type or "", control.within) if name or in_row else None,
        kept,
        step.application or "",
        step.agent or "",
        around=step.around,
        error=step.error or "",
    )


def _opens_menu(two: Sequence[Step]) -> bool:
    """True for a menu item right before another: it only opens the menu that holds it."""
    return len(two) == 2 and all(role_of(one.target_control.type) == "menuitem" for one in two)


def _looked_up(step: Step, done: Sequence[Step]) -> LookedUp | None:
    seen = step.seen
    if seen is None:
        return None
    place = sum(one.step_number <= seen.after for one in done)
    return LookedUp(place, seen.type, seen.whole, key=str(seen.beside or ""))


_QUOTED_NAME = re.compile(r"[\"“„«「『]([^\"“”„«»「」『』]{1,60})[\"”“»」』]")


def _named_in(thought: str, typed: Collection[str]) -> str:
    """The one name a thought quotes beside what is typed, in any language: `click the "Save" button`; else ""."""
    names = dict.fromkeys(found.strip() for found in _QUOTED_NAME.findall(thought))
    return next(iter(names)) if len(names) == 1 and names.keys().isdisjoint(typed) else ""


def texts_of(value: Any) -> Iterator[str]:
    """All texts and numbers in a JSON value, as texts."""
    if isinstance(value, Mapping):
        for item in value.values():
            yield from texts_of(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts_of(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)
