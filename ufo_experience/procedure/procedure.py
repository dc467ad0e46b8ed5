"""An experience as a procedure: what to do to what, in order, and whether that may be offered as a way at all."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ufo_experience.actions import is_press, is_typing, plain, typed_leaf
from ufo_experience.errors import DataError
from ufo_experience.redact import keystrokes
from ufo_experience.redact.names import listed
from ufo_experience.redact.text import PLACEHOLDER
from ufo_experience.schema import Around, Control, Experience, Step, Trust
from ufo_experience.summarize.detours import has_effect
from ufo_experience.text.controls import is_fixed, role_of
from ufo_experience.trust.confirm import confirm_of, confirms
from ufo_experience.trust.risk import risks

_LABEL = re.compile(r"(?!.{41})[^\W\d_]+(?:[ &'-]{1,3}[^\W\d_]+){0,3}")  # up to four plain words

Kind = Literal["click", "type", "select", "keys", "switch", "other"]

_CLICKS = listed(
    "click clickinput doubleclick doubleclickinput leftclick rightclick rightclickinput tap clickelement toggle "
    "check uncheck activate invoke"
)
_SELECTS = listed("selectitem selectoption select choose choosefromlist setcombobox")
_SWITCHES = listed(
    "switchapplication selectapplicationwindow selectapplication switchapp openapp openapplication launchapp"
)
_APPLICATION_KEYS = ("text", "app_name", "application", "application_name", "name", "app", "window")
_LOCATORS = listed("id name label index control controlname controltext controllabel controlid target selector element")


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

    `whole`, as all of its text; or right behind `key` (before it, with `before`), a value of the new task. `value_type`
    is what kind of thing it was (see `redaction.vault.slot_type`).
    """

    place: int
    type: str
    whole: bool = False
    beside: int | None = None
    key: str = ""
    value_type: str = "text"

    @property
    def can_be_read(self) -> bool:
        """True when it can be told from all else in view."""
        return self.whole or bool(self.key)


@dataclass(frozen=True)
class ProcedureStep:
    """One step of a way. `within` of the target is "" where the record does not say; `unbound` names open slots.

    `confirm` says that a person is asked before, `pending` that this is only so for what was chosen before it. `value`
    is the value of the task that the target bears, as a file in a list does. `seen` is where the run looked up what it
    typed, `around` is what stood around it when the
    way was gone. `told` is False where only this record knows the name, `hidden` are parameters of that kind. `varies`
    says that other runs of the same task acted on something else there: the name is a value.
    """

    number: int
    action: str
    kind: Kind
    target: Target | None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    application: str = ""
    confirm: bool = False
    agent: str = ""
    unbound: tuple[str, ...] = ()
    value: str = ""
    told: bool = True
    hidden: tuple[str, ...] = ()
    around: Around | None = None
    pending: bool = False
    seen: LookedUp | None = None
    varies: bool = False

    @property
    def role(self) -> str:
        """The kind of control it acts on, "" when unknown."""
        return role_of(self.target.type) if self.target else ""

    @property
    def text(self) -> str:
        """What is typed or chosen; "" when nothing is."""
        return next((str(value) for key, value in self.parameters.items() if key in ("text", "value", "keys")), "")

    @property
    def can_be_filled(self) -> bool:
        """True when only what is typed or chosen is open: the field itself is known."""
        target = self.target
        if not self.unbound or target is None or not target.name or self.kind not in ("type", "select"):
            return False
        place = f"{target.name}\n{target.within}"
        known = not PLACEHOLDER.search(place) and not any(one.casefold() in place.casefold() for one in self.unbound)
        return known and bool(self.left_open)

    @property
    def left_open(self) -> dict[str, str]:
        """Of an open step the parameter that is typed or chosen, with the name of the field in place of the value."""
        name = self.target.name if self.target and self.unbound else ""
        return {key: f"‹{name}›" for key in self.parameters if name and key in ("text", "value", "keys")}


@dataclass(frozen=True)
class Procedure:
    """A way as it was gone: for `request`, whose values stand in it by `slots` (placeholder → type) or by name.

    `constants` are the values of placeholders that are the same whatever the task. `unspoken` are values of the task
    that no step speaks of: they may have been so when the run began, as a folder that was open; True for those that the
    remembered task did not name. `parts` says how runs of the same words went on behind the last step, where they went
    two ways. With `reworded` the task at hand asks for it in other words: that it is the same is for the agent to see.
    `more` are words that only one of the two tasks says beside what both say. `said_so`: the task says it in the same
    words, though retrieval was not sure.
    """

    id: str
    request: str
    task: str
    application: str
    steps: tuple[ProcedureStep, ...]
    slots: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, str] = field(default_factory=dict)
    unspoken: Mapping[str, bool] = field(default_factory=dict)
    parts: str = ""
    reworded: bool = False
    more: tuple[str, ...] = ()
    said_so: bool = False

    @property
    def is_beyond_doubt(self) -> bool:
        """True when the task at hand asks for the same in the same words: nobody need look whether it is meant."""
        return not self.reworded and not self.more


def procedure_of(
    experience: Experience,
    shown: Experience | None = None,
    constants: Mapping[str, str] | None = None,
    *,
    until: int | None = None,
    parts: str = "",
    varying: Collection[str] = (),
) -> Procedure:
    """The way a run went.

    Args:
        shown: the record as it may be shown for the task at hand (see `trust.values.presentable`), None for as it is.
            A name that is not in it is acted on when it is in view and is not told before; a value is an open slot.
        constants: the values of placeholders that are the same for every task.
        until: the number of the first step that is not offered, since runs of the same words went two ways from there,
            as `parts` says.
        varying: names that only some of the runs of the same task acted on.

    Raises:
        DataError: it may not be offered: the run did not succeed, a step was never executed or names no control, or
            something in it is risky whatever the task and nobody approved it.
    """
    if experience.outcome.success is not True:
        raise _unfit("its run is not known to have succeeded")
    steps = [step for step in experience.action.steps if has_effect(step)]
    asked = confirms(experience.action.steps)
    told = {step.step_number: step for step in (shown or experience).action.steps}
    if any(step.status == "not_executed" for step in steps):
        raise _unfit("it holds steps that were planned and never executed")
    done = [step for step in steps if step.ok]
    done = [step for step in done if until is None or step.step_number < until]
    if not done:
        raise _unfit("it has no executed steps" if until is None else "runs of the same words agree on no step of it")
    if experience.trust is not Trust.APPROVED and (found := risks(experience)):
        raise _unfit(f"it is risky ({', '.join(found)}) and nobody approved it")
    state = experience.state
    return Procedure(
        id=experience.id,
        request=state.request or state.task,
        task=state.task,
        application=state.application or "",
        steps=tuple(
            replace(
                procedure_step(number, step),
                confirm=step.step_number in asked and not leads_on(step, next(iter(done[number : number + 1]), None)),
                pending=confirm_of(step) is None,
                told=_may_be_told(step, told.get(step.step_number, step)),
                hidden=_hidden(step, told.get(step.step_number, step)),
                seen=_looked_up(step, done),
                varies=step.target_control.name in varying,
            )
            for number, step in enumerate(done, start=1)
        ),
        slots=dict(experience.slots),
        constants=dict(constants or {}),
        parts=parts,
    )


def procedure_step(number: int, step: Step) -> ProcedureStep:
    """One executed step as a step of a procedure.

    Raises:
        DataError: it acts on no named control, or only on coordinates, and is neither keys nor an address.
    """
    kind = kind_of(step.action_type)
    parameters = {
        key: value for key, value in step.parameters.items() if plain(key) not in _LOCATORS or kind == "switch"
    }
    name, target = step.target_control.name.strip(), None
    if kind == "switch":
        name = name or next((str(step.parameters[key]) for key in _APPLICATION_KEYS if step.parameters.get(key)), "")
    if name:
        target = Target(name, step.target_control.type or "", step.target_control.within)
    elif not (kind == "keys" and _only_chords(step)) and not _opens_address(step):
        raise _unfit(f"step {number} ({step.action_type}) names no control")
    return ProcedureStep(
        number,
        step.action_type,
        kind,
        target,
        parameters,
        step.application or "",
        confirm_of(step) is not None,
        step.agent or "",
        around=step.around,
    )


def kind_of(action: str) -> Kind:
    """What an action does to a control, whatever its tool calls it."""
    name = plain(action)
    if name in _SWITCHES:
        return "switch"
    if name in _SELECTS:
        return "select"
    if is_press(action) or name == "keyboardinput":
        return "keys"
    if is_typing(action):
        return "type"
    return "click" if name in _CLICKS else "other"


def needs_consent(action: str, name: str, type: str = "", parameters: Mapping[str, Any] | None = None) -> bool:
    """True when a person should be asked before an action: what it does to such a control is hard to take back."""
    control = Control.model_construct(name=name, type=type)  # of a screen or an agent: nothing of it is kept
    step = Step.model_construct(
        step_number=1, action_type=action, target_control=control, parameters=dict(parameters or {})
    )
    return confirm_of(step) is not None and not leads_on(step)


def leads_on(step: Step, after: Step | None = None) -> bool:
    """True for what only opens something further: "Share…" asks with whom, and a menu item before another is a menu."""
    if step.target_control.name.rstrip().endswith(("…", "...")):
        return True
    return after is not None and all(role_of(one.target_control.type) == "menuitem" for one in (step, after))


def _may_be_told(step: Step, told: Step) -> bool:
    """True when other runs know the name as well, or it is a plain label of the application's own."""
    name, role = step.target_control.name, role_of(step.target_control.type)
    if told.target_control.name == name:
        return True
    return is_fixed(role) and role != "hyperlink" and _LABEL.fullmatch(name.strip(" …:")) is not None


def _looked_up(step: Step, done: Sequence[Step]) -> LookedUp | None:
    seen = step.seen
    if seen is None:
        return None
    place = sum(one.step_number <= seen.after for one in done)
    return LookedUp(place, seen.type, seen.whole, seen.beside)


def _hidden(step: Step, told: Step) -> tuple[str, ...]:
    """The parameters whose value only this record knows."""
    return tuple(key for key, value in step.parameters.items() if told.parameters.get(key, value) != value)


def _only_chords(step: Step) -> bool:
    """True when a step without a control presses keys, and types no text into whatever has the focus."""
    leaf = typed_leaf(step)
    return leaf is not None and keystrokes.is_chord(leaf[1], bare=True)


def _opens_address(step: Step) -> bool:
    """True for going to an address of the web: no control is acted on."""
    address = step.parameters.get("url")
    named = step.target_control.name.strip()
    return not named and isinstance(address, str) and address.startswith(("http://", "https://"))


def _unfit(reason: str) -> DataError:
    return DataError(f"this experience is no way to follow: {reason}", code="E_PROCEDURE")
