"""What tests of the guide share: experiences in short, screens in short, and a way along them."""

from __future__ import annotations

from typing import Any

from ufo_experience import Guide, Procedure
from ufo_experience.redact import redact_record
from ufo_experience.schema import Experience, validate

TASK = 'Schedule a backup "daily" at 06:45'
NEW_TASK = 'Schedule a backup "weekly" at 07:15'


def step(action: str, name: str = "", kind: str | None = None, **parameters: Any) -> dict[str, Any]:
    return {"action_type": action, "target_control": {"name": name, "type": kind}, "parameters": parameters}


def click(name: str, kind: str = "Button") -> dict[str, Any]:
    return step("click_input", name, kind)


def fill(name: str, text: str) -> dict[str, Any]:
    return step("set_edit_text", name, "Edit", text=text)


def choose(name: str, text: str) -> dict[str, Any]:
    return step("select_item", name, "ComboBox", text=text)


BACKUP = (
    click("Backup", "TabItem"),
    click("Schedule…"),
    choose("Frequency", "daily"),
    fill("Time", "06:45"),
    click("Save"),
)


def experience(*steps: dict[str, Any], task: str = TASK, **more: Any) -> Experience:
    """A verified run that worked, redacted as the gate before a store does."""
    record = {
        "id": "0" * 32,
        "state": {"task": task, "request": task, "application": "Settings"},
        "action": {"steps": [{**one, "step_number": number} for number, one in enumerate(steps, start=1)]},
        "outcome": {"success": True},
        "created_at": "2026-01-01T00:00:00Z",
        "trust": "verified",
        **more,
    }
    return redact_record(validate(Experience, record))


def guide(*steps: dict[str, Any], task: str = TASK, new: str | None = None) -> Guide:
    """A guide along `steps`, which were done for `task`, in the task `new` (None: the same once more)."""
    way = Procedure.of([experience(*(steps or BACKUP), task=task)], task if new is None else new)
    return Guide(way)


def control(name: str, kind: str = "Button", **more: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, **more}


def screen(*controls: dict[str, Any]) -> list[dict[str, Any]]:
    """Controls with ids in reading order."""
    return [{"id": str(number), **one} for number, one in enumerate(controls, start=1)]


FIRST = screen(
    control("General", "TabItem", selected=True), control("Backup", "TabItem"), control("Language", "ComboBox")
)
PAGE = screen(control("General", "TabItem"), control("Backup", "TabItem", selected=True), control("Schedule…"))
FORM = screen(
    control("Frequency", "ComboBox", value="never", dialog=True),
    control("Time", "Edit", value="", dialog=True),
    control("Save", dialog=True),
    control("Cancel", dialog=True),
)
