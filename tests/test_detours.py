"""What an agent did in vain is not taught: runs that wander, handed in as a program hands them in."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wandering import Wandering, played_runs, wandering_runs
from ufo_experience import Act, Experience, ExperienceMemory, Guide, Stop, read_traces, redact
from ufo_experience.controls import VisibleControls, visibility
from ufo_experience.schema import Control, Outcome, Step, Trajectory, Visibility
from ufo_experience.summarize import open_summarizer


def learned(folder: Path, run: Wandering) -> Experience:
    """What is kept of a run that worked."""
    with ExperienceMemory.open(folder / "db", embedder="hashing") as memory:
        return memory.remember(run.task, run.steps, True, run.application, judge="user")


def way(task: str, *lines: str) -> Wandering:
    """A run in the form of the file of runs."""
    steps = "\n".join(line if line[0] in "+-" else f"+ {line}" for line in lines)
    (run,) = _parsed(f"# {task} | App\n{steps}\n")
    return run


def _parsed(text: str) -> list[Wandering]:
    class Text:
        def read_text(self, encoding: str) -> str:
            return text

    return list(wandering_runs(Text()))  # type: ignore[arg-type]


def shape(steps: Sequence[Any]) -> list[tuple[str, str]]:
    """Actions and controls, whatever was typed."""
    return [(one.action_type, one.target_control.name) for one in steps]


def _is(wanted: tuple[str, str], step: tuple[str, str]) -> bool:
    """The same step; a name that redaction took for a value is a placeholder."""
    return wanted == step or (wanted[0] == step[0] and step[1][:1] in ("{", "["))


def wanted(run: Wandering) -> list[tuple[str, str]]:
    pairs = zip(run.steps, run.needed, strict=True)
    return [(one["action_type"], one["target_control"]["name"]) for one, needed in pairs if needed]


@pytest.mark.parametrize(
    "runs",
    [wandering_runs, played_runs, *(pytest.param(partial(played_runs, n), marks=pytest.mark.slow) for n in (3, 4))],
)
def test_four_idle_steps_of_five_are_cut_and_no_needed_one(tmp_path, runs):
    """30 runs by hand (188 idle steps, 141 needed); played 28 (355, 128), 20 (311, 120), 12 (132, 70); kept twice is
    idle."""
    idle = cut = 0
    for number, run in enumerate(runs()):
        left = shape(learned(tmp_path / str(number), run).action.steps)
        rest = iter(left)
        assert all(any(_is(one, step) for step in rest) for one in wanted(run)), run.task  # all of them, in their order
        idle += run.needed.count(False)
        cut += len(run.steps) - len(left)
    assert cut / idle >= 0.8


def test_what_was_cut_stays_in_the_record_with_the_reason(tmp_path):
    run = way("Open the colors", 'click "Themes" (Hyperlink)', 'click "Back" (Button)', 'click "Colors" (Hyperlink)')
    one = learned(tmp_path, run)
    assert shape(one.action.steps) == [("click", "Colors")]
    assert [(cut.after, cut.action, cut.control, cut.why) for cut in one.action.cut] == [
        (0, "click", "Themes", "went back"),
        (0, "click", "Back", "went back"),
    ]


def test_a_log_file_is_cut_as_a_run_that_is_handed_in(tmp_path):
    run = next(wandering_runs())
    log = tmp_path / "run.json"
    log.write_text(json.dumps({"task": run.task, "application": run.application, "steps": run.steps, "success": True}))
    with ExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
        (id,) = memory.ingest(log, force=True).added
        assert shape(memory.store.get(id).action.steps) == shape(learned(tmp_path / "other", run).action.steps)


@pytest.mark.parametrize(
    "run",
    [
        way("Undo the last change", 'click "Edit" (MenuItem)', 'click "Undo" (MenuItem)'),
        way("Go back to the inbox", 'click "Mail" (Hyperlink)', "go_back"),
        way("Close the dialog with escape", 'click "About" (MenuItem)', "press_keys = {ESC}"),
        way("Turn the switch off and on", 'click "Wi-Fi" (ToggleButton)', 'click "Apply" (Button)',
            'click "Wi-Fi" (ToggleButton)', 'click "Apply" (Button)'),
        way("Like the next three pictures", 'click "Like" (Button)', 'click "Next" (Button)', 'click "Like" (Button)',
            'click "Next" (Button)', 'click "Like" (Button)'),
        way("Greet Bob and ask how he is", 'fill "Message" (Edit) = Hi', 'click "Send" (Button)',
            'fill "Message" (Edit) = How are you?', 'click "Send" (Button)'),
        way("Set the zone to Berlin", 'click "Zone" (ComboBox)', 'click "Berlin" (ListItem)', 'click "Back" (Button)',
            'click "Apply" (Button)'),
        way("Apply the theme and leave", 'click "Dark" (RadioButton)', 'click "Apply" (Button)',
            'click "Close" (Button)'),
        way("Bold and italic", 'click "Format" (MenuItem)', 'click "Bold" (MenuItem)', 'click "Format" (MenuItem)',
            'click "Italic" (MenuItem)'),
        way("Fill the form", 'fill "First name" (Edit) = Ada', 'fill "Last name" (Edit) = Ada',
            'click "Save" (Button)'),
    ],
    ids=lambda run: run.task,
)  # fmt: skip
def test_a_way_without_detours_is_kept_whole(tmp_path, run):
    assert len(learned(tmp_path, run).action.steps) == len(run.steps)


def test_an_agent_that_says_the_same_at_every_step_went_in_no_circle(tmp_path):
    """What is observed is in the agent's words: it tells of a return only where it told of leaving."""

    def kept(name: str, *seen: str) -> list[str]:
        controls = (("Work", "TabItem"), ("Details", "Hyperlink"), ("Save", "Button"))
        steps = [
            {"action": "click", "control": control, "control_type": kind, "observation": view}
            for (control, kind), view in zip(controls, seen, strict=True)
        ]
        with ExperienceMemory.open(tmp_path / name, embedder="hashing") as memory:
            learned = memory.remember("Keep it", steps, True, "App", judge="user")
        return [step.target_control.name for step in learned.action.steps]

    assert kept("same", "a form", "a form", "a form") == ["Work", "Details", "Save"]
    assert kept("left", "a form", "a list", "a form") == ["Save"]


def test_a_run_that_only_failed_or_looked_keeps_what_worked(tmp_path):
    run = way("Look at the page", "wait", 'click "Reports" (Hyperlink)', "screenshot")
    assert shape(learned(tmp_path, run).action.steps) == [("click", "Reports")]


def test_a_failed_run_keeps_the_way_it_went(tmp_path):
    run = way("Save the form", 'click "Save" (Button) ! not found', 'click "Menu" (MenuItem)', "press_keys = {ESC}")
    with ExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
        one = memory.remember(run.task, run.steps, False, run.application)
    assert len(one.action.steps) == 3


def test_what_is_typed_again_is_typed_once_and_never_stored(tmp_path):
    run = way("Rename it", 'fill "Name" (Edit) = summre', 'fill "Name" (Edit) = summer', 'click "OK" (Button)')
    one = learned(tmp_path, run)
    assert shape(one.action.steps) == [("fill", "Name"), ("click", "OK")]
    assert "summre" not in one.model_dump_json()


# ---- what was in view, where the log tells ----

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


def seen_way(*names: str, task: str = "do it") -> list[str]:
    """Names of what is kept of a run through the program."""
    steps, seen = walk(*names)
    return kept_of(steps, visibility(steps, seen), task)


def kept_of(steps: Sequence[Step], seen: Visibility, task: str = "do it") -> list[str]:
    run = Trajectory(
        request=task, steps=tuple(steps), outcome=Outcome(success=True), format="test", visibility=seen, detours=None
    )
    return [step.target_control.name for step in open_summarizer("extractive").summarize(run).action.steps]


def test_menus_opened_in_vain_are_left_out():
    """What was needed later was in view without them."""
    assert seen_way("View", "File", "Options…", "Name", "OK") == ["File", "Options…", "Name", "OK"]
    assert seen_way("File", "Print…", "View", "Zoom…", "File", "Options…", "Name", "OK") == [
        "File",
        "Options…",
        "Name",
        "OK",
    ]


def test_a_menu_item_that_opens_nothing_has_done_something():
    """Sorted, marked, chosen from a list that typing brought up: nothing later shows it."""
    assert seen_way("View", "Sort by date", "File", "Print…") == ["View", "Sort by date", "File", "Print…"]


def test_a_dialog_left_by_cancel_is_left_out_with_all_that_was_done_in_it():
    """From the step that brought it up; the log tells which, however long it stayed."""
    assert seen_way("File", "Options…", "General", "Name", "Cancel", "Flag") == ["Flag"]


def test_what_was_sent_off_before_cancel_stays():
    """ "Apply", then "Cancel": the dialog only closes."""
    straight = ["File", "Options…", "Name", "Apply", "Cancel", "Flag"]
    assert seen_way(*straight) == straight


def test_a_tab_replaced_by_its_neighbour_is_left_out():
    """Only the last one chosen matters, unless something was done in between."""
    assert seen_way("Archive", "Inbox", "Flag") == ["Inbox", "Flag"]
    assert seen_way("Archive", "Empty…", "Empty", "Inbox", "Flag") == ["Archive", "Empty…", "Empty", "Inbox", "Flag"]


def test_a_tab_the_task_names_stays():
    """It is chosen on purpose."""
    assert seen_way("Archive", "Inbox", "Flag", task="Look into the Archive, then flag it") == [
        "Archive",
        "Inbox",
        "Flag",
    ]


def test_what_led_to_a_control_stays():
    """The menu of a menu item, the tab of a button."""
    straight = ["Archive", "Empty…", "Empty"]
    assert seen_way(*straight) == straight


def test_cancel_of_a_dialog_that_a_button_brought_up_takes_nothing_back():
    """ "Send" did its work; the dialog that came up after it was another matter."""
    names = ["Text", "Send", "Cancel", "Flag"]
    steps = [
        Step(step_number=n, action_type="click", target_control=Control(name=name, type="Button"))
        for n, name in enumerate(names, 1)
    ]
    assert kept_of(steps, Visibility(visible_before={3: (3,)})) == names


class Mail:
    """The small mail program, played: what is in view, and what an action does."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def controls(self) -> list[dict[str, Any]]:
        view = [name for name in sorted(TYPES) if _is_legal([*self.done, name])]
        return [{"id": name, "name": name, "type": TYPES[name]} for name in view]


def played(guide: Guide | None) -> tuple[int, list[str]]:
    """How often an agent is asked that does what the guide foresees, as far as it is in view; and what it did."""
    mail, asked = Mail(), 0
    assert guide is not None
    while not (isinstance(said := guide.next(mail.controls(), consent=True), Stop) and said.reason == "done"):
        assert isinstance(said, Act), said
        asked += 1
        for act in guide.ahead(mail.controls()):
            if act.target is None or act.target.name not in [one["name"] for one in mail.controls()]:
                break
            mail.done.append(act.target.name)
            guide.note(act)
    return asked, mail.done


def test_the_second_and_third_play_after_a_wandering_one_take_at_most_two_fifths_of_its_calls(tmp_path):
    """The first one wandered through menus and tabs, asked before each step; what it did in vain is done once."""
    first = ["View", "File", "Print…", "Archive", "Inbox", "View", "Zoom…", "File", "Options…", "General", "Name", "OK"]
    steps, _ = walk(*first)
    needed = ["File", "Options…", "General", "Name", "OK"]
    calls = []
    with ExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
        before: list[str] = first
        for number in range(3):
            seen = [
                {"action_type": one.action_type, "target_control": one.target_control.model_dump(),
                 "parameters": one.parameters, "controls": view}
                for one, view in replayed(before, steps)
            ]  # fmt: skip
            memory.remember("Set the name to x", seen, True, "Mail", "program", session=str(number))
            asked, before = played(memory.guide("Set the name to x"))
            calls.append(asked)
            assert [name for name in before if name in needed] == needed
            assert len(before) <= len(needed) + 1  # the tab that was open at first is chosen once more
    assert max(calls) <= 0.4 * len(first)


def replayed(names: Sequence[str], steps: Sequence[Step]) -> list[tuple[Step, list[dict[str, Any]]]]:
    """The steps of a play with what was in view before each."""
    mail, found = Mail(), []
    for name in names:
        step = next(one for one in steps if one.target_control.name == name)
        found.append((step, mail.controls()))
        mail.done.append(name)
    return found


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
    kept = seen_way(*names)
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
    record = open_summarizer("extractive").summarize(redact(whole))
    assert [step.target_control.name for step in record.action.steps] == ["File", "Options…"]


def kept(folder: Path, task: str, *steps: tuple[str, ...], views: Sequence[Sequence[str]]) -> list[str]:
    """The controls of the steps that are kept, with what was in view before each."""
    told = [{"name": "Company", "type": "Text"}, {"name": "Language", "type": "Edit", "value": "English"}]
    given = [
        {
            "action": action,
            "control": name,
            "control_type": kind,
            **({"parameters": {"text": text[0]}} if text else {}),
            "controls": told + [dict(zip(("name", "type", "value"), one.split("/"), strict=False)) for one in view],
        }
        for (action, name, kind, *text), view in zip(steps, views, strict=True)
    ]
    with ExperienceMemory.open(folder / "db", embedder="hashing") as memory:
        learned = memory.remember(task, given, True, "App", judge="user")
    return [step.target_control.name for step in learned.action.steps]


def test_what_was_typed_on_the_wrong_page_goes_and_not_what_was_typed_on_the_right_one(tmp_path):
    menu = ["People/Hyperlink", "Profile/Hyperlink"]
    mine, people, theirs = [*menu, "City/Edit"], [*menu, "Rita/Hyperlink"], [*menu, "City/Edit", "Save/Button"]
    assert kept(
        tmp_path, "Rita lives in Eastham now",
        ("type", "City", "Edit", "Eastham"), ("click", "People", "Hyperlink"), ("click", "Rita", "Hyperlink"),
        ("type", "City", "Edit", "Eastham"), ("click", "Save", "Button"),
        views=[mine, [*menu, "City/Edit/Eastham"], people, theirs, [*menu, "City/Edit/Eastham", "Save/Button"]],
    ) == ["People", "Rita", "City", "Save"]  # fmt: skip


def test_two_links_of_one_menu_are_alike_but_not_where_they_lead_on(tmp_path):
    def led(name: str, first: str, second: str) -> list[str]:
        menu = [f"{first}/Hyperlink", f"{second}/Hyperlink"]
        return kept(
            tmp_path / name, "Take it off",
            ("click", first, "Hyperlink"), ("click", second, "Hyperlink"), ("click", "Remove", "Button"),
            views=[["Start/Text", *menu], ["One/Text", *menu], ["Two/Text", "Remove/Button", *menu]],
        )  # fmt: skip

    assert led("menu", "Groups", "Users") == ["Users", "Remove"]
    assert led("pages", "Next", "Previous page") == ["Next", "Previous page", "Remove"]


def test_a_button_that_saves_twice_counts_once_where_the_form_still_holds_all(tmp_path):
    def saved(name: str, then: str) -> list[str]:
        return kept(
            tmp_path / name, "Enter Ada of Kiel",
            ("type", "Name", "Edit", "Ada"), ("click", "Save", "Button"), ("type", "City", "Edit", "Kiel"),
            ("click", "Save", "Button"),
            views=[
                ["Name/Edit", "City/Edit", "Save/Button"], ["Name/Edit/Ada", "City/Edit", "Save/Button"],
                [f"Name/Edit/{then}", "City/Edit", "Save/Button"],
                [f"Name/Edit/{then}", "City/Edit/Kiel", "Save/Button"],
            ],
        )  # fmt: skip

    assert saved("held", "Ada") == ["Name", "City", "Save"]
    assert saved("emptied", "") == ["Name", "Save", "City", "Save"]


def test_the_same_link_in_two_rows_is_clicked_in_both_though_each_leads_away(tmp_path):
    def row(name: str) -> list[dict[str, str]]:
        within = f"{name} Take"
        return [{"name": one, "type": "Hyperlink", "within": within} for one in (name, "Take")]

    taken = [{"name": "All", "type": "Hyperlink"}]
    clicks = [
        ("Take", "Door Take", [*row("Door"), *row("Lamp")]),
        ("All", "", taken),
        ("Take", "Lamp Take", row("Lamp")),
    ]
    steps = [
        {"action": "click", "control": name, "control_type": "Hyperlink", "within": within,
         "controls": [{"name": "Tickets", "type": "Text"}, *view]}
        for name, within, view in clicks
    ]  # fmt: skip
    with ExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
        learned = memory.remember("The door and the lamp are mine", steps, True, "App", judge="user")
    assert shape(learned.action.steps) == [("click", "Take"), ("click", "All"), ("click", "Take")]


@pytest.mark.parametrize(("states", "left"), [([False, True, False], ["Save"]), ([None] * 3, ["More", "More", "Save"])])
def test_a_button_that_can_be_expanded_only_opens_and_another_may_do_something(tmp_path, states, left):
    more = [{"name": "More", "type": "Button", **({} if state is None else {"expanded": state})} for state in states]
    steps = [
        {"action": "click", "control": name, "control_type": "Button",
         "controls": [{"name": "Text", "type": "Text"}, {"name": "Save", "type": "Button"}, one]}
        for name, one in zip(("More", "More", "Save"), more, strict=True)
    ]  # fmt: skip
    with ExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
        learned = memory.remember("Keep it", steps, True, "App", judge="user")
    assert [step.target_control.name for step in learned.action.steps] == left
