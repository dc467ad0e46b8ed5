"""An experience as a procedure: what to do to what, in order, and whether that may be offered as a way at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from ufo_experience.errors import DataError
from ufo_experience.redaction import keystrokes
from ufo_experience.redaction.actions import is_press, is_typing, plain, typed_leaf
from ufo_experience.redaction.names import listed, words_of
from ufo_experience.schema import Around, Experience, Step, Trust
from ufo_experience.summarizer.effective_steps import has_effect
from ufo_experience.text.controls import role_of
from ufo_experience.trust.risk import risks

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
_RISKY = listed(
    "delete remove erase discard overwrite reset uninstall send submit publish post pay buy purchase order transfer "
    "unsubscribe revoke shutdown kill rm wipe format"
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
class ProcedureStep:
    """One step of a way. `within` of the target is "" where the record does not say; `unbound` names open slots.

    `value` is the value of the task that the target bears, as a file in a list does. `around` is what stood around it
    when the way was gone.
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
    around: Around | None = None

    @property
    def role(self) -> str:
        """The kind of control it acts on, "" when unknown."""
        return role_of(self.target.type) if self.target else ""

    @property
    def text(self) -> str:
        """What is typed or chosen; "" when nothing is."""
        return next((str(value) for key, value in self.parameters.items() if key in ("text", "value", "keys")), "")


@dataclass(frozen=True)
class Procedure:
    """A way as it was gone: for `request`, whose values stand in it by `slots` (placeholder → type) or by name."""

    id: str
    request: str
    task: str
    application: str
    steps: tuple[ProcedureStep, ...]
    slots: Mapping[str, str] = field(default_factory=dict)


def procedure_of(experience: Experience) -> Procedure:
    """The way a run went.

    Raises:
        DataError: it may not be offered: the run did not succeed, a step was never executed or names no control, or
            something in it is risky whatever the task and nobody approved it.
    """
    if experience.outcome.success is not True:
        raise _unfit("its run is not known to have succeeded")
    steps = [step for step in experience.action.steps if has_effect(step)]
    if any(step.status == "not_executed" for step in steps):
        raise _unfit("it holds steps that were planned and never executed")
    done = [step for step in steps if step.ok]
    if not done:
        raise _unfit("it has no executed steps")
    if experience.trust is not Trust.APPROVED and (found := risks(experience)):
        raise _unfit(f"it is risky ({', '.join(found)}) and nobody approved it")
    state = experience.state
    return Procedure(
        id=experience.id,
        request=state.request or state.task,
        task=state.task,
        application=state.application or "",
        steps=tuple(procedure_step(number, step) for number, step in enumerate(done, start=1)),
        slots=dict(experience.slots),
    )


def procedure_step(number: int, step: Step) -> ProcedureStep:
    """One executed step as a step of a procedure.

    Raises:
        DataError: it acts on no named control, or only on coordinates.
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
    elif not (kind == "keys" and _only_chords(step)):
        raise _unfit(f"step {number} ({step.action_type}) names no control")
    return ProcedureStep(
        number,
        step.action_type,
        kind,
        target,
        parameters,
        step.application or "",
        needs_consent(step.action_type, name),
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


def needs_consent(action: str, name: str) -> bool:
    """True when a person should be asked first: what the action or its control is called is hard to take back."""
    return bool({*words_of(action), *words_of(name)} & _RISKY) and not is_typing(action)


def _only_chords(step: Step) -> bool:
    """True when a step without a control presses keys, and types no text into whatever has the focus."""
    leaf = typed_leaf(step)
    return leaf is not None and keystrokes.is_chord(leaf[1], bare=True)


def _unfit(reason: str) -> DataError:
    return DataError(f"this experience is no way to follow: {reason}", code="E_PROCEDURE")
