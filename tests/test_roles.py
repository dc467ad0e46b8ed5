"""What of a request is procedure and what a value: said by what the steps did, not by capitals."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.builders import TEXTS, a_record_of, memory_of
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


def typed(name: str, text: str) -> dict[str, str]:
    """A step that types."""
    return {"action": "type", "control": name, "control_type": "Edit", "text": text}


OFTEN = {  # what is done again and again, and other words for it
    "Archive all messages from news{}@shop.example": ("Archive the messages of Bob", "Archive all mails from Ann"),
    "Post the incoming invoice 40{} of vendor 1{}": ("Book the vendor's invoice 77", "post supplier invoice 12"),
    "Print page {} of the contract": ("Print the first page of the agreement", "print page 3 of my letter"),
    "Assign the ticket OPS-{} to Dana": ("Give ticket OPS-4 to Dana", "assign the issue OPS-900 to Tim"),
    "Set a timer for {} minutes": ("Start a 5 minute countdown", "set the timer to 3 minutes"),
    "Rename the picture IMG{}.png to holiday{}.png": (
        "Change the name of the picture a.png to b.png",
        "rename the photo cat.png to dog.png",
    ),
    "Add user{}@corp.example to the team channel": (
        "Invite zoe@corp.example to the team channel",
        "put max@corp.example into our team channel",
    ),
}


def test_what_was_done_often_is_found_in_other_words_as_well_as_before(tmp_path):
    """How rare a word is, is counted over tasks: runs of one do not make its words common."""
    others = [*map(a_record_of, TEXTS)]
    for number, (task, asked) in enumerate(OFTEN.items()):
        runs = [a_record_of(task.replace("{}", str(run)), session=f"{run}") for run in range(10, 50)]
        once, often = (memory_of(tmp_path / f"{number}-{len(some)}", *others, *some) for some in (runs[:1], runs))
        for query in asked:
            before, after = (memory.retrieve(query, threshold=0.0)[0] for memory in (once, often))
            assert after.experience.state.task == before.experience.state.task == runs[0].state.task
            assert after.score >= before.score - 0.05


WAYS: list[tuple[str, str, Steps]] = [  # a way, the way back, and what the steps of the first click
    (
        "Copy the photos from the USB stick to the desktop",
        "Copy the photos from the desktop to the USB stick",
        [("USB Drive (E:)", "TreeItem"), ("Copy", "Button"), ("Desktop", "TreeItem"), ("Paste", "Button")],
    ),
    (
        "Move the mails from the inbox to the archive",
        "Move the mails from the archive to the inbox",
        [("Inbox", "TreeItem"), ("Move", "Button"), ("Archive", "TreeItem")],
    ),
    (
        "Move the pictures from the phone into the album",
        "Move the pictures from the album into the phone",
        [("Phone", "TreeItem"), ("Move", "Button"), ("Album", "TreeItem")],
    ),
    (
        "Drag the file out of the folder Work into the recycle bin",
        "Drag the file out of the recycle bin into the folder Work",
        [("Work", "TreeItem"), ("Cut", "Button"), ("Recycle Bin", "TreeItem"), ("Paste", "Button")],
    ),
    (
        "Copy the values from Sheet1 to Summary",
        "Copy the values from Summary to Sheet1",
        [("Sheet1", "TabItem"), ("Copy", "Button"), ("Summary", "TabItem"), ("Paste", "Button")],
    ),
    (
        "Import the contacts from the phone to the address book",
        "Import the contacts from the address book to the phone",
        [("Phone", "ListItem"), ("Import", "Button"), ("Address book", "ListItem")],
    ),
    (
        "Move the report to the cloud from the computer",
        "Move the report from the cloud to the computer",
        [("Computer", "TreeItem"), ("Move", "Button"), ("Cloud", "TreeItem")],
    ),
    (
        "Transfer the recording from the camera to the laptop",
        "Transfer the recording from the laptop to the camera",
        [("Camera", "TreeItem"), ("Transfer", "Button"), ("Laptop", "TreeItem")],
    ),
]


def test_the_way_back_is_another_task(tmp_path):
    """Whichever of the two is known; each is found in its own direction."""
    memory = memory_of(tmp_path / "db")
    for number, (way, _, steps) in enumerate(WAYS):
        remembered(memory, [(way, steps)], application=f"app{number}")
    for way, back, _ in WAYS:
        assert [hit.task for hit in memory.retrieve(way)][:1] == [way]
        assert way not in [hit.task for hit in memory.retrieve(back)]


def test_where_from_and_where_to_were_typed_they_are_values(tmp_path):
    memory = memory_of(tmp_path / "db")
    steps = [typed("From", "Berlin"), typed("To", "Paris"), {"action": "click", "control": "Search"}]
    memory.remember("Find a flight from Berlin to Paris", steps, application="Flights", success=True)
    steps = [typed("From", "Savings"), typed("To", "Checking"), {"action": "click", "control": "Send"}]
    memory.remember("Transfer 50 euros from Savings to Checking", steps, application="Bank", success=True)
    assert len(memory.retrieve("find a flight from Paris to Berlin")) == 1
    assert len(memory.retrieve("transfer 20 euros from Checking to Savings")) == 1
