"""The shortest path through what a run saw, and when controls were in view."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ufo_experience.redact import redact
from ufo_experience.schema import Control, Step
from ufo_experience.summarize.effective_steps import effective_steps
from ufo_experience.summarize.extractive import ExtractiveSummarizer
from ufo_experience.summarize.shortest_path import MOST_STEPS
from ufo_experience.traces import read_traces
from ufo_experience.traces.in_view import VisibleControls, visibility

# A small mail program: which menus and tabs lead to which controls. Menus and the two tabs are always in view.
ALWAYS = {("File", "MenuItem"), ("View", "MenuItem"), ("Inbox", "TabItem"), ("Archive", "TabItem")}
BEHIND = {
    "File": {("Print…", "MenuItem"), ("Options…", "MenuItem")},
    "View": {("Zoom…", "MenuItem"), ("Sort by date", "MenuItem")},
    "Inbox": {("Flag", "Button"), ("Compose", "Button")},
    "Archive": {("Empty…", "Button")},
    "Options…": {("General", "TabItem"), ("Name", "Edit"), ("Apply", "Button"), ("OK", "Button"), ("Cancel", "Button")},
    "Empty…": {("Cancel", "Button"), ("Empty", "Button")},
}
TYPES = {name: kind for group in (ALWAYS, *BEHIND.values()) for name, kind in group}


def walk(*names: str) -> tuple[list[Step], list[VisibleControls]]:
    """A run through the program, and what was in view before each step."""
    steps, seen, dialog, page, menu = [], [], None, "Inbox", None
    for number, name in enumerate(names, 1):
        view = BEHIND[dialog] if dialog else ALWAYS | BEHIND[page] | BEHIND.get(menu or "", set())
        assert (name, TYPES[name]) in view, f"{name} is not in view"
        kind = TYPES[name]
        action = "set_edit_text" if kind == "Edit" else "click_input"
        steps.append(
            Step(
                step_number=number,
                action_type=action,
                target_control=Control(name=name, type=kind),
                parameters={"text": "x"} if kind == "Edit" else {},
                application="Mail",
            )
        )
        seen.append(frozenset(view))
        menu = name if kind == "MenuItem" and name in BEHIND and not name.endswith("…") else None
        page = name if name in ("Inbox", "Archive") else page
        dialog = (
            None if name in ("OK", "Cancel", "Empty") else name if name.endswith("…") and name in BEHIND else dialog
        )
    return steps, seen


def way(*names: str, task: str = "do it") -> list[str]:
    """Names of what is kept of a run."""
    steps, seen = walk(*names)
    kept = effective_steps(
        steps, task, visibility(steps, seen).visible_before, opened=visibility(steps, seen).menu_opened_after
    )
    return [step.target_control.name for step in kept]


def test_menus_opened_in_vain_are_left_out():
    """What was needed later was in view without them."""
    assert way("View", "File", "Options…", "Name", "OK") == ["File", "Options…", "Name", "OK"]
    assert way("File", "Print…", "View", "Zoom…", "File", "Options…", "Name", "OK") == [
        "File",
        "Options…",
        "Name",
        "OK",
    ]


def test_a_menu_item_that_opens_nothing_has_done_something():
    """Sorted, marked, chosen from a list that typing brought up: nothing later shows it."""
    assert way("View", "Sort by date", "File", "Print…") == ["View", "Sort by date", "File", "Print…"]


def test_a_dialog_left_by_cancel_is_left_out_with_all_that_was_done_in_it():
    """From the step that brought it up; the log tells which, however long it stayed."""
    assert way("File", "Options…", "General", "Name", "Cancel", "Flag") == ["Flag"]


def test_what_was_sent_off_before_cancel_stays():
    """ "Apply", then "Cancel": the dialog only closes."""
    straight = ["File", "Options…", "Name", "Apply", "Cancel", "Flag"]
    assert way(*straight) == straight


def test_of_a_very_long_run_every_step_is_kept():
    """Each would be compared with each; ten thousand steps are the most a log may bring."""
    steps, _ = walk(*["View", "File"] * (MOST_STEPS // 2), "Print…")
    assert effective_steps(steps, "do it", opened=[step.step_number for step in steps]) == tuple(steps)


def test_a_tab_replaced_by_its_neighbour_is_left_out():
    """Only the last one chosen matters, unless something was done in between."""
    assert way("Archive", "Inbox", "Flag") == ["Inbox", "Flag"]
    assert way("Archive", "Empty…", "Empty", "Inbox", "Flag") == ["Archive", "Empty…", "Empty", "Inbox", "Flag"]


def test_a_tab_the_task_names_stays():
    """It is chosen on purpose."""
    assert way("Archive", "Inbox", "Flag", task="Look into the Archive, then flag it") == ["Archive", "Inbox", "Flag"]


def test_what_led_to_a_control_stays():
    """The menu of a menu item, the tab of a button."""
    straight = ["Archive", "Empty…", "Empty"]
    assert way(*straight) == straight


def test_a_button_that_went_out_of_view_is_reached_the_way_it_was():
    """Another dialog may have one of the same name: only menus and tabs are the same wherever they are seen."""
    steps, seen = walk("File", "Print…", "View", "Zoom…", "Flag")
    in_view = visibility(steps, seen)
    in_view.visible_before[5] = (3, 5)  # before View there was one of that name, then none, and now another
    kept = effective_steps(steps, "do it", in_view.visible_before, opened=in_view.menu_opened_after)
    names = [step.target_control.name for step in kept]
    assert names == ["View", "Zoom…", "Flag"]


def test_cancel_of_a_dialog_that_a_button_brought_up_takes_nothing_back():
    """ "Send" did its work; the dialog that came up after it was another matter."""
    names = ["Text", "Send", "Later", "Flag"]
    steps = [
        Step(step_number=n, action_type="click", target_control={"name": name, "type": "Button"})
        for n, name in enumerate(names, 1)
    ]
    steps[2] = steps[2].model_copy(update={"target_control": Control(name="Cancel", type="Button")})
    kept = effective_steps(steps, "do it", {3: (3,)})
    assert [step.step_number for step in kept] == [1, 2, 3, 4]


def test_controls_of_two_applications_are_two_controls():
    """A menu File was in view all the time, but that of another program."""
    steps, _ = walk("File", "Print…", "View", "File", "Options…")
    steps[3] = steps[3].model_copy(update={"application": "Sheet"})
    view = frozenset({("File", "MenuItem"), ("View", "MenuItem"), ("Print…", "MenuItem"), ("Options…", "MenuItem")})
    assert visibility(steps, [view] * 5).visible_before[4] == (4,)


@pytest.mark.parametrize("count", [0, 201])
def test_without_views_or_for_very_long_runs_nothing_is_known(count):
    """The comparison is quadratic, and no such run is an example."""
    steps, _ = walk("File")
    seen = frozenset({("File", "MenuItem")}) if count else frozenset()
    assert visibility(steps * max(1, count), [seen] * max(1, count)).visible_before == {}


def _walks() -> st.SearchStrategy[list[str]]:
    """Random legal runs."""

    @st.composite
    def draw_walk(draw: st.DrawFn) -> list[str]:
        names: list[str] = []
        for _ in range(draw(st.integers(1, 12))):
            legal = [name for name in sorted(TYPES) if _is_legal([*names, name])]
            names.append(draw(st.sampled_from(legal)))
        return names

    return draw_walk()


def _is_legal(names: list[str]) -> bool:
    try:
        walk(*names)
    except AssertionError:
        return False
    return True


@given(_walks())
def test_every_shortened_run_can_be_walked(names):
    """Each step finds its control: what is kept is a legal run, ends as the run ended, and is not longer."""
    kept = way(*names)
    assert len(kept) <= len(names)
    assert _is_legal(kept)


def test_views_of_a_session_log_shorten_its_experience(tmp_path: Path):
    """From response.log and request.log to the record: the menu opened in vain is gone."""
    names = ["View", "File", "Options…"]
    steps, _ = walk(*names)
    controls = [{"id": str(n), "name": name, "type": kind} for n, (name, kind) in enumerate(sorted(ALWAYS))]
    lines, requests = [], []
    for number, step in enumerate(steps):
        name = step.target_control.name
        came_up = {"File": "Zoom…", "Options…": "Options…"}.get(name)
        behind = [{"id": "9", "name": came_up, "type": "MenuItem"}] if came_up else []
        requests.append({"step": number, "control_info": [*controls, *behind], "plan": []})
        target = {"kind": "control", "name": name, "id": "1", "type": "MenuItem"}
        call = {"function": "click_input", "arguments": {"id": "1", "name": name}, "target": target}
        lines.append(
            {
                "request": "open the options",
                "session_step": number,
                "round_step": number,
                "agent_type": "AppAgent",
                "agent_name": "AppAgent/Mail",
                "subtask": "open the options",
                "application": "Mail",
                "action": [{**call, "result": {"status": "success", "result": "ok"}}],
                "status": "FINISH" if number == 2 else "CONTINUE",
            }
        )
    folder = tmp_path / "run"
    folder.mkdir()
    for file, records in (("response.log", lines), ("request.log", requests)):
        text = "".join(json.dumps(one) + "\n" for one in records)
        (folder / file).write_text(text, encoding="utf-8", newline="\n")
    (folder / "evaluation.log").write_text(json.dumps({"complete": "yes"}) + "\n", encoding="utf-8", newline="\n")
    [whole] = [one for one in read_traces(folder) if one.subtask is None]
    record = ExtractiveSummarizer().summarize(redact(whole))
    assert [step.target_control.name for step in record.action.steps] == ["File", "Options…"]
