"""An action checked against the screen by its target alone, whatever way it belongs to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Literal

from ufo_experience.actions import kind_of
from ufo_experience.controls import bare
from ufo_experience.procedure.acts import Act, Stop, for_a_person, needs_consent, target_of
from ufo_experience.procedure.matching import Miss, effect_is_there, find
from ufo_experience.procedure.screen import Control, Screen, read_screen
from ufo_experience.procedure.steps import STAYS, ProcedureStep


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
