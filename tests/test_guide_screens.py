"""Hostile screens: whatever has changed since the way was gone, nothing is done to the wrong control."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.guide_world import control, experience, guide, screen
from ufo_experience import Act, Guide, Procedure, Stop
from ufo_experience.controls import ListedControl, around, bare, role_of
from ufo_experience.errors import UsageError

NAMES = ("Save", "Open", "Close", "Next", "Apply", "General", "Name", "Notes", "Size", "Colour", "Print", "Rotate")
KINDS = ("Button", "TabItem", "Edit", "CheckBox", "MenuItem")
TASK = 'Do the usual with "a new text"'
STRANGE = ("Wobble", "Zephyr", "Quartz", "Marble")


@dataclass(frozen=True)
class Thing:
    """A control with an identity that no guide sees."""

    key: int
    name: str
    kind: str
    enabled: bool = True
    dialog: bool = False
    within: str = ""

    def shown(self) -> dict[str, object]:
        flags = {"enabled": self.enabled, "dialog": self.dialog, "within": self.within}
        return {"id": self.key, "name": self.name, "type": self.kind, **flags}


def recorded(things: list[Thing], target: Thing) -> dict:
    """A step on `target`, as it is kept of a log that lists what was in view."""
    view = [ListedControl(str(one.key), one.name, one.kind, one.within or None, one.dialog) for one in things]
    place = around(view, str(target.key), target.name)
    text = {"text": "a new text"} if target.kind == "Edit" else {}
    return {
        "action_type": "set_edit_text" if target.kind == "Edit" else "click_input",
        "target_control": {"name": target.name, "type": target.kind, "within": place[0] if place else ""},
        "parameters": text,
        "around": place[1].model_dump() if place else None,
    }


@st.composite
def pages(draw: st.DrawFn) -> tuple[list[list[Thing]], list[Thing]]:
    """The pages of an application, and what was acted on, one control a page."""
    made, targets = [], []
    for number in range(draw(st.integers(1, 3))):
        pairs = draw(st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(KINDS)), min_size=3, max_size=9))
        page = [Thing(100 * number + place, name, kind) for place, (name, kind) in enumerate(pairs)]
        made.append(page)
        targets.append(draw(st.sampled_from(page)))
    return made, targets


@st.composite
def changed(draw: st.DrawFn, page: list[Thing]) -> list[Thing]:
    """A page some time later: labels, places, states and company may have changed."""
    things = list(page)
    for change in draw(st.lists(st.sampled_from(sorted(CHANGES)), max_size=3)):
        if things:
            things = CHANGES[change](draw, things)
    return things


def rename(draw: st.DrawFn, things: list[Thing]) -> list[Thing]:
    at = draw(st.integers(0, len(things) - 1))
    things[at] = replace(things[at], name=draw(st.sampled_from(NAMES + STRANGE)))
    return things


def remove(draw: st.DrawFn, things: list[Thing]) -> list[Thing]:
    del things[draw(st.integers(0, len(things) - 1))]
    return things


def disable(draw: st.DrawFn, things: list[Thing]) -> list[Thing]:
    at = draw(st.integers(0, len(things) - 1))
    things[at] = replace(things[at], enabled=False)
    return things


def move(draw: st.DrawFn, things: list[Thing]) -> list[Thing]:
    return draw(st.permutations(things))


def copy(draw: st.DrawFn, things: list[Thing]) -> list[Thing]:
    twin = draw(st.sampled_from(things))
    at = draw(st.integers(0, len(things)))
    return [*things[:at], replace(twin, key=twin.key + 5_000), *things[at:]]


def cover(draw: st.DrawFn, things: list[Thing]) -> list[Thing]:
    names = draw(st.lists(st.sampled_from((*NAMES, "OK", "Cancel")), min_size=1, max_size=3))
    return [*things, *(Thing(9_000 + n, name, "Button", dialog=True) for n, name in enumerate(names))]


CHANGES = {one.__name__: one for one in (rename, remove, disable, move, copy, cover)}


def is_right(acted: Thing, target: Thing, original: list[Thing], shown: list[Thing]) -> bool:
    """The very control; or, of its name and kind, the only one in view, when it was the only one then."""
    if acted.key == target.key:
        return True
    same = [
        [one for one in view if (bare(one.name), role_of(one.kind)) == (bare(target.name), role_of(target.kind))]
        for view in (original, shown)
    ]
    return acted in same[1] and len(same[0]) == len(same[1]) == 1


def took_the_place(acted: Thing, target: Thing, original: list[Thing], shown: list[Thing]) -> bool:
    """Another control of the kind stands just where the target stood: no screen tells that from a new label."""
    views = ((shown, shown.index(acted)), (original, original.index(target)))
    beside = [[one.name for one in (*view[max(0, at - 1) : at], *view[at + 1 : at + 2])] for view, at in views]
    return acted.kind == target.kind and beside[0] == beside[1]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_screen_makes_a_guide_act_on_a_wrong_control(data):
    """Up to the first check that fails every action is on the remembered control, usable and not covered."""
    original, targets = data.draw(pages())
    one = Guide(Procedure.of([experience(*map(recorded, original, targets), task=TASK)], TASK))
    for page, target in zip(original, targets, strict=True):
        shown = data.draw(changed(page))
        answer = one.next([thing.shown() for thing in shown])
        if isinstance(answer, Stop):
            break
        acted = next(thing for thing in shown if thing.key == answer.target.id)
        assume(not took_the_place(acted, target, page, shown))
        assert is_right(acted, target, page, shown)
        assert acted.enabled
        assert not any(thing.dialog for thing in shown) or acted.dialog
        one.note(answer)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_way_of_another_task_acts_only_on_what_it_names(data):
    """A wrong memory: no guess, no place, no neighbour leads it to a control of another name."""
    original, targets = data.draw(pages())
    one = Guide(Procedure.of([experience(*map(recorded, original, targets), task=TASK)], TASK))
    other, _ = data.draw(pages())
    for page in other:
        answer = one.next([thing.shown() for thing in page])
        if isinstance(answer, Stop):
            break
        acted = page[[thing.key for thing in page].index(answer.target.id)]
        assume(
            not any(took_the_place(acted, target, then, page) for then, target in zip(original, targets, strict=True))
        )
        assert bare(answer.target.name) in {bare(target.name) for target in targets}
        one.note(answer)


@settings(max_examples=40, deadline=None)
@given(pages())
def test_an_unchanged_application_is_walked_to_the_end_or_to_a_doubt_that_was_there(drawn):
    """Nothing has changed: the way stops only where the record itself cannot tell one control from another."""
    original, targets = drawn
    one = Guide(Procedure.of([experience(*map(recorded, original, targets), task=TASK)], TASK))
    for page, target in zip(original, targets, strict=True):
        answer = one.next([thing.shown() for thing in page], consent=True)
        if isinstance(answer, Stop):
            twins = [thing for thing in page if (thing.name, thing.kind) == (target.name, target.kind)]
            assert (answer.reason, len(twins) > 1) == ("several_targets", True)
            break
        assert answer.target.id == target.key
        one.note(answer)


# ---- the cases by name

FORM = [Thing(1, "Name", "Edit"), Thing(2, "Size", "Edit"), Thing(3, "Apply", "Button"), Thing(4, "Close", "Button")]


def after(things: list[Thing], step_on: Thing, *shown: Thing) -> Act | Stop:
    """What a guide says that remembers one step, of a screen."""
    return guide(recorded(things, step_on), task=TASK).next([one.shown() for one in shown])


def renamed_to(name: str) -> list[Thing]:
    return [*FORM[:2], replace(FORM[2], name=name), FORM[3]]


def test_a_new_label_in_the_old_place_is_followed():
    """Role, place and neighbours are those of the record."""
    answer = after(FORM, FORM[2], *renamed_to("Use these settings"))
    assert isinstance(answer, Act)
    assert answer.target.id == 3


@pytest.mark.parametrize("name", ["Delete everything", "Send"])
def test_a_new_label_that_is_riskier_is_not_followed(name):
    """In the same place, and something else."""
    assert isinstance(after(FORM, FORM[2], *renamed_to(name)), Stop)


def test_the_opposite_label_is_not_followed():
    """ "Show" where "Hide" stood does the reverse."""
    hide = Thing(3, "Hide the ruler", "Button")
    page = [*FORM[:2], hide, FORM[3]]
    assert isinstance(after(page, hide, *FORM[:2], replace(hide, name="Show the ruler"), FORM[3]), Stop)


def test_of_two_new_labels_none_is_followed():
    """Neighbours have changed as well: a doubt is left."""
    answer = after(FORM, FORM[2], FORM[0], FORM[1], replace(FORM[2], name="Use"), replace(FORM[3], name="Leave"))
    assert isinstance(answer, Stop)


def test_without_a_view_in_the_record_no_new_label_is_followed():
    """Between the fields filled before and after it stands another field: nothing tells that it is the same."""
    from tests.guide_world import fill

    one = guide(fill("Name", "a b"), fill("Size", "c d"), fill("Notes", "e f"), task='Put "a b", "c d" and "e f" in')
    form = screen(control("Name", "Edit", value="a b"), control("Measure", "Edit"), control("Notes", "Edit"))
    assert isinstance(one.next(form), Stop)


def test_a_moved_control_is_found_by_its_name():
    """Another place, the same control."""
    assert after(FORM, FORM[2], FORM[2], *FORM[:2], FORM[3]).target.id == 3


def test_a_screen_on_which_nothing_else_is_the_same_is_another_screen():
    """A button of that name, and none of its company."""
    company = [Thing(7, "Zephyr", "Edit"), Thing(8, "Quartz", "Edit"), Thing(9, "Marble", "Button")]
    assert after(FORM, FORM[2], *company, FORM[2]).reason == "unexpected_screen"


def test_a_step_is_not_passed_over_for_a_control_that_was_in_view_before_it():
    """A tab of the first page is gone; the button at the end of the way has a namesake that stood beside it."""
    first = [Thing(0, "Save", "Button"), Thing(1, "Save", "TabItem"), Thing(2, "Notes", "Button")]
    second = [Thing(100, "Save", "Button"), Thing(101, "Save", "TabItem"), Thing(102, "Save", "Button")]
    third = [*(Thing(200 + place, "Save", "Button") for place in range(7)), Thing(207, "Notes", "Button")]
    one = guide(recorded(first, first[1]), recorded(second, second[1]), recorded(third, third[7]), task=TASK)
    assert isinstance(one.next([first[0].shown(), first[2].shown()]), Stop)


def test_the_last_of_several_is_not_taken_for_the_one_that_was_meant():
    """There were three of the name; the one that is left may be another."""
    rows = [Thing(place, "Remove", "Button") for place in range(3)]
    assert after(rows, rows[1], rows[0]).reason in ("several_targets", "unexpected_screen")


def page_of(*titles: str) -> list[Thing]:
    """A list of pages, each with a button that names it, between the application's own controls."""
    rows = [[(title, "Hyperlink"), (f"More options for '{title}'", "Button")] for title in titles]
    pairs = [("Add", "Button"), ("Search", "Edit"), *(one for row in rows for one in row), ("Next", "Button")]
    return [Thing(place, name, kind) for place, (name, kind) in enumerate(pairs)]


def test_what_stands_in_rows_of_other_things_makes_no_other_screen():
    """Buttons that name their row are as much the user's as the row is."""
    before, now = page_of("Budget 7", "Lunch", "Roof", "Garden"), page_of("Flood", "Choir", "Report 9", "Market")
    step = recorded(before, before[3])
    said = guide(step, task='Copy the page "Budget 7"', new='Copy the page "Report 9"').next(
        [one.shown() for one in now]
    )
    assert isinstance(said, Act)
    assert said.target.name == "More options for 'Report 9'"


def test_the_row_tells_controls_of_one_name_apart():
    """And it is the row of the new task's value."""
    rows = [Thing(place, "Open", "Button", within=name) for place, name in enumerate(("a.txt", "b.txt", "c.txt"))]
    way = Procedure.of([experience(recorded(rows, rows[0]), task="Open the file a.txt")], "Open the file c.txt")
    answer = Guide(way).next([one.shown() for one in rows])
    assert isinstance(answer, Act)
    assert answer.target.id == 2


def test_a_switch_goes_the_way_it_went_then():
    """It was off and was clicked: now it is on, and is left alone."""
    step = recorded(FORM, FORM[0]) | {"action_type": "click_input", "parameters": {}}
    step["target_control"] = {"name": "Grid", "type": "CheckBox"}
    step["around"] = {"checked": False}
    answers = [
        guide(step, task="The grid, please").next(screen(control("Grid", "CheckBox", checked=now)))
        for now in (True, False)
    ]
    assert [getattr(one, "reason", "act") for one in answers] == ["done", "act"]


@pytest.mark.parametrize("controls", [[{"foo": 1}], ["File"], [None]])
def test_controls_that_cannot_be_read_are_refused(controls):
    """Not taken for an empty screen."""
    with pytest.raises(UsageError, match="id, name and type"):
        guide().next(controls)
