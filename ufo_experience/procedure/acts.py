"""An action of a way, and why there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ufo_experience.actions import Kind, kind_of
from ufo_experience.controls import bare
from ufo_experience.errors import UsageError
from ufo_experience.procedure.screen import Control, read_screen
from ufo_experience.procedure.steps import ProcedureStep, Target
from ufo_experience.request import holds
from ufo_experience.retrieve.pairing import abbreviates
from ufo_experience.schema import Control as NamedControl
from ufo_experience.schema import Step
from ufo_experience.trust.risk import asks_first

Reason = Literal[
    "done",
    "ways_part",
    "target_missing",
    "several_targets",
    "unbound_slot",
    "not_covered",
    "needs_consent",
    "unexpected_screen",
    "gave_up",
]
_ANSWER = ("function", "id", "name", "type", "within", "finish")  # of a model's answer: what is no parameter


@dataclass(frozen=True)
class Act:
    """One action. `target` is None for the window as a whole; with `confirm` a person should be asked first.

    With `fill` the task does not give what is typed or chosen: a parameter holds the name of the field in ‹›, in place
    of which the agent puts the value. `seen` is where the run had looked it up; with `read` the guide reads it off the
    screen there by itself. `step` is the step of the way that it carries out.
    """

    action: str
    target: Target | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    confirm: bool = False
    fill: bool = False
    read: bool = False
    seen: str = ""
    step: ProcedureStep | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.target, (Target, type(None))):
            raise UsageError(f"target is a Target, as Target(name={self.target!r:.60}), or Act.of finds it in view")

    @classmethod
    def of(cls, answer: Mapping[str, Any], controls: Iterable[Any]) -> Act:
        """The action of a model's answer: `function`, the `id` or `name` of a control in view, and its parameters.

        Raises UsageError: it names no function, or not just one control that is in view.
        """
        if not isinstance(answer.get("function"), str):
            raise UsageError("the answer names no function")
        wanted = {key: str(answer[key]) for key in ("id", "name") if answer.get(key) is not None}
        parameters = {key: value for key, value in answer.items() if key not in _ANSWER and value is not None}
        if not wanted:
            return cls(answer["function"], None, parameters)
        seen = read_screen(controls).controls
        found = [one for one in seen if all(str(getattr(one, key)) == value for key, value in wanted.items())]
        if len(found) != 1:
            raise UsageError(f"{len(found)} controls in view have {wanted}")
        return cls(answer["function"], target_of(found[0]), parameters)

    @property
    def kind(self) -> Kind:
        return kind_of(self.action)

    @property
    def alone(self) -> ProcedureStep:
        """The action as a step of no way."""
        return ProcedureStep(1, self.action, self.kind, self.target, self.parameters)

    @property
    def text(self) -> str:
        return self.alone.text

    @property
    def is_grave(self) -> bool:
        """True for what a person should be asked before: by what its step is known for and, of a control that the way
        does not know, by its name. "Remember and delete" says more than the "Remember" of its step.
        """
        step, target = self.step, self.target
        if self.confirm or (step is not None and step.ask_first):
            return True
        name, kind = (target.name, target.type) if target else ("", "")
        if step is not None and (step.takes_item or not bare(name)):
            return False
        known = step.name if step is not None and bare(step.name) in bare(name) else ""
        told = needs_consent(self.action, name, kind, self.parameters)
        return told and not (known and needs_consent(self.action, known, kind, self.parameters))


@dataclass(frozen=True)
class Stop:
    """Why there is no next step. `act` is what needs consent; with `in_view` the control, or one like it, is there."""

    reason: Reason
    detail: str
    act: Act | None = None
    in_view: bool = field(default=False, compare=False, repr=False)

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


def on_screen(act: Act, found: Control | Stop | Literal[True] | None, *, consent: bool) -> Act | Stop:
    """An action on what was found for it: a control, the window, or its effect, which is there already. What is grave
    needs the `consent` of a person."""
    if isinstance(found, Stop):
        return found
    if found is True:
        return Stop("done", "what it brings about is there already")
    ready = act if found is None else replace(act, target=target_of(found))
    if consent or not ready.is_grave:
        return ready
    name = f' on "{ready.target.name}"' if ready.target else ""
    detail = f"{act.action}{name} is hard to take back: look at the screen before it is done"
    return Stop("needs_consent", detail, replace(ready, confirm=True))


def target_of(control: Control) -> Target:
    return Target(control.name, control.type, control.within, control.id)


def needs_consent(action: str, name: str, type: str = "", parameters: Mapping[str, Any] | None = None) -> bool:
    """True when a person should be asked before an action: what it does to such a control is hard to take back."""
    control = NamedControl.model_construct(name=name, type=type)  # of a screen or an agent: nothing of it is kept
    given = dict(parameters or {})
    return asks_first(Step.model_construct(step_number=1, action_type=action, target_control=control, parameters=given))


def is_item_of(value: str, name: str, within: str = "") -> bool:
    """True for an item that is called so, stands in a row of that name, or whose name the value abbreviates."""
    return holds(f"{name}\n{within}", value) or abbreviates(value, name)


def carries_out(step: ProcedureStep, act: Act) -> bool:
    """True when an action says of itself that it is that of a step of a way, or does what the step says."""
    if (own := act.step) is not None:  # the screen may have told its name since
        return (own.number, own.action) == (step.number, step.action) and own.name in ("", step.name)
    other = act.alone
    if other.kind != step.kind or (step.role and other.role and step.role != other.role):
        return False
    same = bare(step.name) == bare(other.name)
    same |= bool(step.missing) and step.target is not None and not step.name
    if step.item_of and act.target is not None:
        same |= is_item_of(step.item_of, act.target.name, act.target.within)
    return same and (step.kind not in ("type", "select") or bool(step.missing) or act.text == step.text)
