"""What of a request is procedure and what a value: said by what the steps did, not by capitals."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.builders import memory_of
from ufo_experience.memory import ExperienceMemory

Steps = Sequence[tuple[str, str]]  # name and kind of what is clicked


def remembered(memory: ExperienceMemory, runs: Sequence[tuple[str, Steps]], application: str = "Office") -> None:
    """Store verified runs that click."""
    for task, steps in runs:
        taken = [{"action": "click", "control": name, "control_type": kind} for name, kind in steps]
        memory.remember(task, taken, application=application, success=True)


FEATURES: dict[str, list[tuple[str, Steps]]] = {
    "switches": [
        ("Turn on Night Light", [("System", "ListItem"), ("Display", "ListItem"), ("Night light", "Button")]),
        ("Turn on Focus Assist", [("System", "ListItem"), ("Focus", "ListItem"), ("Focus assist", "Button")]),
        ("Turn on Airplane Mode", [("Network & internet", "ListItem"), ("Airplane mode", "Button")]),
    ],
    "capitals on the control, too": [
        ("Switch on Battery Saver", [("Power", "ListItem"), ("Battery Saver", "CheckBox")]),
        ("Switch on Storage Sense", [("Storage", "ListItem"), ("Storage Sense", "ToggleButton")]),
        ("Switch on Mobile Hotspot", [("Network", "ListItem"), ("Mobile Hotspot", "CheckBox")]),
    ],
    "of the same noun": [
        ("Open the Navigation Pane", [("View", "TabItem"), ("Navigation Pane", "CheckBox")]),
        ("Open the Selection Pane", [("Home", "TabItem"), ("Select", "MenuItem"), ("Selection Pane…", "MenuItem")]),
        ("Open the Reviewing Pane", [("Review", "TabItem"), ("Reviewing Pane", "Button")]),
    ],
    "half of the name on the control": [
        ("Switch to Draft View", [("View", "TabItem"), ("Draft", "Button")]),
        ("Switch to Web Layout", [("View", "TabItem"), ("Web Layout", "Button")]),
        ("Switch to Immersive Reader", [("View", "TabItem"), ("Immersive Reader", "Button")]),
    ],
    "of several steps": [
        ("Insert a Drop Cap", [("Insert", "TabItem"), ("Drop Cap", "MenuItem"), ("Dropped", "MenuItem")]),
        ("Insert a Cover Page", [("Insert", "TabItem"), ("Cover Page", "MenuItem"), ("Austin", "ListItem")]),
        ("Insert a Text Box", [("Insert", "TabItem"), ("Text Box", "Button"), ("Simple Text Box", "ListItem")]),
    ],
    "words in another order": [
        ("Run the Spelling Check", [("Review", "TabItem"), ("Spelling", "Button")]),
        ("Run the Accessibility Check", [("Review", "TabItem"), ("Check Accessibility", "Button")]),
        ("Run the Compatibility Check", [("File", "TabItem"), ("Check Compatibility", "MenuItem")]),
    ],
    "one word": [
        ("Show the Ruler in the document", [("View", "TabItem"), ("Ruler", "CheckBox")]),
        ("Show the Gridlines in the document", [("View", "TabItem"), ("Gridlines", "CheckBox")]),
        ("Show the Watermark in the document", [("Design", "TabItem"), ("Watermark", "MenuItem")]),
    ],
    "another language": [
        ("Aktiviere den Nachtmodus", [("System", "ListItem"), ("Anzeige", "ListItem"), ("Nachtmodus", "CheckBox")]),
        ("Aktiviere den Flugmodus", [("Netzwerk", "ListItem"), ("Flugmodus", "CheckBox")]),
        ("Aktiviere den Ruhemodus", [("System", "ListItem"), ("Meldungen", "ListItem"), ("Ruhemodus", "CheckBox")]),
    ],
}


@pytest.mark.parametrize("case", [str, str.title, str.upper], ids=lambda case: case.__name__)
def test_features_that_the_steps_press_are_no_values_of_one_procedure(tmp_path, case):
    """However their requests were written: each is served for its own words alone, no run of the others' task."""
    memory = memory_of(tmp_path / "db")
    for kind, runs in FEATURES.items():
        remembered(memory, [(case(task), steps) for task, steps in runs], application=kind)
    for task in (task for runs in FEATURES.values() for task, _ in runs):
        found = memory.retrieve(task.lower())
        text = str(memory.build_prompt(task.lower(), found))
        assert [hit.experience.state.request for hit in found if hit.score > 0.8] == [case(task)]
        assert not any(mark in text for mark in ("[name", "runs)", "another way"))


def test_what_a_request_calls_by_name_stays_a_value_though_a_button_is_called_so(tmp_path):
    memory = memory_of(tmp_path / "db")
    clicks = [("Garden Club", "Button"), ("Group info", "Button"), ("Mute", "MenuItem")]
    remembered(memory, [("Mute the group Garden Club", clicks)])
    (hit,) = memory.retrieve("mute the group Allotment Neighbours")
    assert hit.experience.state.task == "mute the group <name>"
