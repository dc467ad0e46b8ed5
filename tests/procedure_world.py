"""What tests of procedures share: runs learned through the façade, screens in short, an agent that obeys the guide."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ufo_experience import Act, ExperienceMemory, Stop

Given = dict[str, Any]


def do(action: str, name: str = "", kind: str | None = None, within: str = "", **parameters: Any) -> Given:
    """One recorded step."""
    control = {"name": name, "type": kind, "within": within}
    return {"action_type": action, "target_control": control, "parameters": parameters}


def click(name: str, kind: str = "Button", within: str = "") -> Given:
    return do("click", name, kind, within)


def fill(name: str, text: str, within: str = "") -> Given:
    return do("type", name, "Edit", within, text=text)


def choose(name: str, text: str) -> Given:
    return do("select_option", name, "ComboBox", text=text)


def link(name: str, within: str = "") -> Given:
    return click(name, "Hyperlink", within)


def tick(name: str) -> Given:
    return click(name, "CheckBox")


def seen(name: str, kind: str = "Button", within: str = "", **more: Any) -> Given:
    """One control in view."""
    return {"name": name, "type": kind, "within": within, **more}


def screen(*controls: Given) -> list[Given]:
    """Controls with ids in reading order."""
    return [{"id": number, **one} for number, one in enumerate(controls)]


def memory_of(folder: Path, *runs: tuple[str, list[Given]], application: str = "App") -> ExperienceMemory:
    """A memory that has learned runs which worked, each judged by a program, in a session of its own."""
    memory = ExperienceMemory.open(folder, embedder="hashing", threshold=0.0)
    for number, (task, steps) in enumerate(runs):
        memory.remember(task, steps, True, application, "program", session=f"run {number}")
    return memory


def obey(memory: ExperienceMemory, task: str, view: list[Given], most: int = 20) -> tuple[list[Given], str]:
    """What an agent without any judgement does: all that the guide tells, until it tells nothing more.

    A person allows what is asked for. Answers with the controls it acted on, and with what it stopped.
    """
    guide = memory.guide(task)
    acted: list[Given] = []
    if guide is None:
        return acted, "nothing known"
    for _ in range(most):
        said = guide.next(view)
        if isinstance(said, Stop) and said.reason == "needs_consent" and said.act is not None:
            said = said.act
        if isinstance(said, Stop):
            return acted, said.reason
        acted += [one for one in view if said.target is not None and one["id"] == said.target.id]
        guide.note(said)
    return acted, "too many steps"


def told(memory: ExperienceMemory, task: str) -> str:
    """What the block for a task tells, without its frame and the nonce in it."""
    return "\n".join(memory.build_prompt(task).text.split("\n")[1:-1])


TOOLS = {"click": "click_input", "tick": "click_input", "type": "set_edit_text", "choose": "select_item"}


def as_action(step: Given) -> Given:
    """A step as it was read from a block, as agents answer: function, name, type, text."""
    given = {
        "function": TOOLS.get(step["action"], step["action"]),
        "name": step["control"],
        "type": step.get("control_type"),
    }
    return given | step.get("parameters", {})


__all__ = [
    "Act",
    "Stop",
    "as_action",
    "choose",
    "click",
    "do",
    "fill",
    "link",
    "memory_of",
    "obey",
    "screen",
    "seen",
    "tick",
    "told",
]
