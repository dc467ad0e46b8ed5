"""An action of a way, and why there is none; an action checked against the screen by its target alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ufo_experience.errors import UsageError
from ufo_experience.procedure.matching import Miss, Reason, effect_is_there, find
from ufo_experience.procedure.procedure import ProcedureStep, Target, kind_of, needs_consent
from ufo_experience.procedure.screen import Control, Screen, read_screen
from ufo_experience.text.controls import bare, role_of

STAYS = ("type", "select")  # after these the screen is the same, but for a value
_ANSWER = ("function", "id", "name", "type", "within", "finish")  # of a model's answer: what is no parameter
TEXTS = ("text", "value", "keys")


@dataclass(frozen=True)
class Act:
    """One action. `target` is None for the window as a whole; with `confirm` a person should be asked first.

    With `fill` the task does not give what is typed or chosen: a parameter holds the name of the field in ‹›, in place
    of which the agent puts the value. `seen` is where the run had looked it up; with `read` the guide reads it off the
    screen there by itself.
    """

    action: str
    target: Target | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    confirm: bool = False
    fill: bool = False
    read: bool = False
    seen: str = ""

    @classmethod
    def of(cls, answer: Mapping[str, Any], controls: Iterable[Any]) -> Act:
        """The action of a model's answer: `function`, the `id` or `name` of a control in view, and its parameters.

        Raises:
            UsageError: it names no function, or no control that is in view, or several.
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


@dataclass(frozen=True)
class Stop:
    """Why there is no next step. For `needs_consent`, `act` is what consent is needed for."""

    reason: Reason
    detail: str
    act: Act | None = None

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}"


def check_action(
    act: Act, controls: Screen | Iterable[Any], *, application: str | None = None, consent: bool = False
) -> Act | Stop:
    """An action checked against the screen by its target alone; see `Guide.check`."""
    screen = read_screen(controls)
    kind = kind_of(act.action)
    step = ProcedureStep(0, act.action, kind, act.target, act.parameters)
    if kind == "switch" or act.target is None:
        found = find_application(step, screen, application) if kind == "switch" and act.target is not None else None
    else:
        found = find(step, screen, {one.bare for one in screen.controls})
    if found is True or (kind in STAYS and isinstance(found, Control) and effect_is_there(step, found, "") is True):
        return Stop("done", "what it brings about is there already")
    if isinstance(found, Miss):
        return Stop(found.reason, found.detail)
    ready = act if found is None else replace(act, target=target_of(found))
    name, kind_of_control = (act.target.name, act.target.type) if act.target else ("", "")
    risky = needs_consent(act.action, name, kind_of_control, act.parameters)
    return for_a_person(ready) if risky and not consent else ready


def for_a_person(act: Act) -> Stop:
    """Why a person is asked before an action."""
    act = replace(act, confirm=True)
    name = f' on "{act.target.name}"' if act.target else ""
    return Stop("needs_consent", f"{act.action}{name} is hard to take back: look at the screen before it is done", act)


def target_of(control: Control) -> Target:
    """A control in view as what an action acts on."""
    return Target(control.name, control.type, control.within, control.id)


def find_application(step: ProcedureStep, screen: Screen, application: str | None) -> Control | Miss | Literal[True]:
    """The application a step brings to the front; True when it is there, or nothing more can be known of it."""
    name = step.target.name if step.target else ""
    if application and bare(application) == bare(name):
        return True
    listed = screen.applications.get(bare(name))
    if listed is not None:
        return listed
    if screen.applications and application is None:
        return True  # those that could be brought to the front are listed, and it is not among them
    return Miss("target_missing", f"no application {name!r} is open")


def carries_out(step: ProcedureStep, act: Act) -> bool:
    """True when an action does what a step of a way says."""
    names = (bare(one.name) if one else "" for one in (step.target, act.target))
    if kind_of(act.action) != step.kind or len(set(names)) > 1:
        return False
    roles = {step.role, role_of(act.target.type) if act.target else ""} - {""}
    return len(roles) < 2 and (step.kind not in ("type", "select") or bool(step.unbound) or text_of(act) == step.text)


def text_of(act: Act) -> str:
    """What is typed or chosen; "" when nothing is."""
    return next((str(value) for key, value in act.parameters.items() if key in TEXTS), "")
