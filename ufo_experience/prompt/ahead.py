"""What comes next, as text for a prompt: framed like every block of past experiences, since it is one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ufo_experience.procedure.acts import Act
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.render import ahead_text
from ufo_experience.procedure.steps import ProcedureStep
from ufo_experience.prompt.block import frame, new_nonce

CHOOSE = "Several ways may be meant: take the one learned for what you are to do, or none."


def ahead_block(guide: Guide, acts: Sequence[Act], nonce: str | None = None) -> str:
    """The actions of `guide.ahead` with the notes of the guide, as a block; "" for none."""
    if not acts:
        return ""
    return frame([ahead_text(guide.procedure.task, _steps(acts), guide.notes)], nonce or new_nonce())


def choice_block(ways: Sequence[tuple[Guide, Sequence[Act]]], nonce: str | None = None) -> str:
    """Several ways of which the agent may take one, each with what it was learned for; "" for none."""
    told = [ahead_text(one.procedure.task, _steps(acts), (CHOOSE, *one.notes)) for one, acts in ways if acts]
    return frame(told, nonce or new_nonce()) if told else ""


def _steps(acts: Sequence[Act]) -> list[ProcedureStep]:
    """The steps that actions carry out, with the controls in view now."""
    steps = [act.step or replace(act.alone, number=number) for number, act in enumerate(acts, start=1)]
    return [
        replace(step, target=act.target, item_of="", readable=True) if act.target and act.target.name else step
        for step, act in zip(steps, acts, strict=True)
    ]
