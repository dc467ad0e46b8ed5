"""Values that a run looked up on the screen: where they stood is kept, and they are read there again or asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.guide_world import click, control, experience, fill, screen
from ufo_experience import Act, Guide, Procedure, Stop, read_traces
from ufo_experience.schema import Seen, Step

LIST = "Objects: Laboratory CC-7300, Archive CC-7080."
TASK, NEW = "Plan 3 for the Laboratory", "Plan 4 for the Archive"


def read(folder: Path, shown: set[tuple[str, str]], text: str) -> Step:
    """The second step of a log: a text is typed while these controls are in view."""
    controls = [{"name": name, "type": kind} for name, kind in shown]
    typed = {"action": "set_edit_text", "control": "Field", "parameters": {"text": text}, "controls": controls}
    run = {"task": TASK, "steps": [{"action": "click_input", "control": "Find"}, typed]}
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    (found,) = read_traces(folder / "run.json")
    return found.steps[1]


@pytest.mark.parametrize(
    ("shown", "text", "seen"),
    [
        ({("CC-7300", "Text")}, "CC-7300", Seen(after=1, type="Text", whole=True)),
        ({(LIST, "Text")}, "CC-7300", Seen(after=1, type="Text", beside=2)),
        ({("CC-7300 Laboratory", "ListItem")}, "CC-7300", Seen(after=1, type="ListItem", beside=-2)),
        ({(LIST, "Text")}, "CC-7080", Seen(after=1, type="Text")),
        ({("Laboratory", "Text")}, "Laboratory", None),
        ({("CC-7300", "Button")}, "CC-7300", None),
        ({("CC-73001", "Text")}, "CC-7300", None),
    ],
    ids=["all of a text", "behind a value", "before a value", "elsewhere", "named", "a button", "part of a word"],
)
def test_where_a_typed_text_had_stood_is_kept_and_not_the_text(tmp_path, shown, text, seen):
    """Only of what the request does not name and what is no label of the application's own."""
    assert read(tmp_path, shown, text).seen == seen


def way(seen: dict[str, Any]) -> Guide:
    """Find, then type a code that only the old run knows, then save; made for another department."""
    run = experience(click("Find"), {**fill("Object", "CC-7300"), "seen": seen}, click("Save"), task=TASK)
    return Guide(Procedure.of([run], NEW))


def form(said: str) -> list[dict[str, Any]]:
    return screen(control("Find"), control("Object", "Edit", value=""), control("Save"), control(said, "Text"))


@pytest.mark.parametrize("seen", [{"beside": 2}, {"whole": True}], ids=["beside a value of the task", "all of a text"])
def test_a_value_is_read_where_the_run_had_found_it(seen):
    """Without asking: in `ahead` it is marked, and the mark is replaced once the value is in view."""
    guide = way({"after": 1, "type": "Text", **seen})
    text = LIST if "beside" in seen else "CC-7080"
    act = guide.ahead(form("Ready"))[1]
    assert (act.read, act.fill, act.parameters["text"]) == (True, False, "‹Object›")
    guide.note(guide.next(form("Ready")))
    checked = guide.check(act, form(text))
    assert isinstance(checked, Act)
    assert checked.parameters["text"] == "CC-7080"


def test_where_nothing_or_several_stand_there_the_agent_is_asked_and_told_where_to_look():
    """So it is for a text that stood beside no value of the task."""
    guide = way({"after": 1, "type": "Text", "beside": 2})
    guide.note(guide.next(form("Ready")))
    for said in ("Ready", "Archive CC-1 and Archive CC-2", "Archives CC-7080"):
        stop = guide.next(form(said))
        assert isinstance(stop, Stop)
        assert (stop.reason, "seen in Text" in stop.detail) == ("unbound_slot", True)
    untold = way({"after": 1, "type": "Text"}).ahead(form("Ready"))[1]
    assert (untold.fill, untold.read, untold.seen) == (True, False, 'in Text, after step 1 "Find"')
