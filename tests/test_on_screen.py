"""State-aware recall: among equals comes the way whose next target is on the screen now."""

from __future__ import annotations

import pytest

from ufo_experience import ExperienceMemory
from ufo_experience.retrieve.on_screen import OnScreen

TASK = "Insert a table into the document"
RIBBON = [
    {"action": "click", "control": "Insert", "control_type": "TabItem"},
    {"action": "click", "control": "Table", "control_type": "Button"},
]
MENU = [
    {"action": "click", "control": "Menu", "control_type": "MenuItem"},
    {"action": "click", "control": "Insert table…", "control_type": "MenuItem"},
    {"action": "click", "control": "OK", "control_type": "Button"},
]


@pytest.fixture
def memory(tmp_path):
    opened = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    for steps in (RIBBON, MENU):
        opened.remember(TASK, steps, success=True, application="Word", judge="user")
    return opened


def first_of(memory, controls, done=()):
    """The first step of the way that is found."""
    found = memory.retrieve(TASK, application="Word", controls=[{"name": n, "type": t} for n, t in controls], done=done)
    return found[0].experience.action.steps[0].target_control.name


@pytest.mark.parametrize(
    ("controls", "done", "first"),
    [
        ([("Insert", "TabItem"), ("Home", "TabItem")], (), "Insert"),
        ([("Menu", "MenuItem"), ("Help", "MenuItem")], (), "Menu"),
        ([("Table", "Button"), ("Menu", "MenuItem")], ["Insert"], "Insert"),
        ([("insert table", "MenuItem"), ("Table of contents", "Hyperlink")], ["Menu", "Insert"], "Menu"),
        ([("Close", "Button")], (), "Insert"),
    ],
)
def test_the_way_that_can_be_gone_on_from_here_comes_first(memory, controls, done, first):
    """Of two runs of one task; where neither can be, the shorter one."""
    assert first_of(memory, controls, done) == first


def test_a_target_of_another_role_fits_half(memory):
    """And not at all where nothing of its name is in view."""
    (way,) = (one for one in memory.list() if len(one.action.steps) == 2)
    screens = ([("insert…", "TabItem", "")], [("Insert", "Button", "")], [("Insert row 1", "Button", "")])
    assert [OnScreen.of(seen).fit(way) for seen in screens] == [1.0, 0.5, 0.0]


def test_a_way_that_is_at_its_end_or_elsewhere_fits_less(memory):
    """Nothing is next; the same name in another application is half as sure."""
    (way,) = (one for one in memory.list() if len(one.action.steps) == 2)
    seen = [("Insert", "TabItem", ""), ("Table", "Button", "")]
    assert OnScreen.of(seen, ["Insert", "Table"]).fit(way) == 0.0
    assert OnScreen.of(seen, (), "Excel").fit(way) == 0.5 * OnScreen.of(seen, (), "WINWORD.EXE").fit(way) == 0.5


def test_a_way_whose_next_target_stands_in_another_window_fits_less(tmp_path):
    """The same button of another dialog is half as sure; where no window is known, nothing is doubted."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    target = {"name": "Save", "type": "Button", "within": "Save As"}
    way = memory.remember("Keep a copy", [{"action": "click", "target_control": target}], success=True, judge="user")
    assert way.action.steps[0].target_control.within == "Save As"
    fits = [OnScreen.of([("Save", "Button", window)]).fit(way) for window in ("Save As", "", "Options")]
    assert fits == [1.0, 1.0, 0.5]
