"""The explorer's logic on hand-made screens: no browser."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.steps.demonstration import Hints, HintStep
from benchmarks.steps.desktop.templates import templates
from benchmarks.steps.environment import Command, ControlView, Observation, Reply
from benchmarks.steps.episode import run_episode
from benchmarks.steps.explorer import Explorer
from benchmarks.steps.goal_parser import Goal, align, substitute
from benchmarks.steps.replay import Follower
from benchmarks.steps.value_slotting import best_option, value_for

MAIL = Goal('Write to "jane@corp.example" with the subject "Site visit" and the message "See you."')


def screen(*controls: tuple[str, str], goal: str = "", window: str = "Main", **flags: object) -> Observation:
    """A screen of (name, type) controls; `flags` hold for all of them."""
    views = tuple(ControlView(at, name, kind, **flags) for at, (name, kind) in enumerate(controls, 1))
    return Observation(goal, "App", window, views, ("App",))


def names(command: Command | None) -> tuple[str, str, str]:
    """Function, control and text of a command."""
    assert command is not None
    return command.function, command.control.name if command.control else "", command.parameters.get("text", "")


# ---- wording ----


def test_a_goal_gives_up_its_quoted_values_in_order_and_then_its_names():
    """Quoted texts come first, capitalised words and numbers after them; a sentence's first word is no name."""
    found = [one.text for one in Goal('Put the file "a.txt" into Projects on 10/20/2017. Then stop.').values]
    assert found == ["a.txt", "Projects", "10/20/2017"]


@pytest.mark.parametrize(
    ("name", "least", "most"),
    [
        ("Mute", 1.0, 1.0),
        ("Calendar", 1.5, 1.5),
        ("Calendar alerts", 1.2, 1.2),
        ("Sound & alerts", 0.3, 0.5),
        ("Help", 0, 0),
    ],
)
def test_closeness_ranks_values_before_words_before_nothing(name, least, most):
    """A control that is a value of the goal is closer than one that shares a word."""
    assert least <= Goal("Mute the alerts of Calendar").closeness(name) <= most


def test_undoing_words_are_negative_and_name_what_is_undone():
    """Unmute speaks of mute; until, under and unit do not undo anything."""
    assert Goal("Unmute the alerts").is_negative
    assert "mut" in Goal("Unmute the alerts").undone
    assert not Goal("Wait until the unit is under way").is_negative


def test_two_wordings_of_one_task_align_their_values():
    """What differs between two goals of one kind maps from old to new, quoted or not, of any length."""
    assert align("Allow Video call to use the Camera", "Allow Scanner to use the Location") == {
        "Video call": "Scanner",
        "Camera": "Location",
    }
    assert align('Rename "a" to "b"', 'Rename "c" to "d"') == {"a": "c", "b": "d"}


def test_unlike_tasks_do_not_align():
    """Tasks without a common wording give no mapping, which would be nonsense."""
    assert align("Mute the alerts of Calendar", 'Write a letter to "Jane"') == {}


@given(st.dictionaries(st.text("abcXY", min_size=1, max_size=4), st.text("xyz+\\", max_size=4), max_size=4))
def test_substitution_is_done_in_one_pass(pairs):
    """A value put in is never replaced again, whatever it holds."""
    key = next(iter(pairs), "none")
    folded = {one.casefold(): value for one, value in pairs.items()}
    assert substitute(key, pairs) == folded.get(key.casefold(), key)


# ---- filling fields ----


@pytest.mark.parametrize(
    ("field", "text"), [("To", "jane@corp.example"), ("Subject", "Site visit"), ("Message", "See you.")]
)
def test_each_field_gets_the_value_its_name_and_form_ask_for(field, text):
    """An address goes to `To`, the words before a value speak for its field."""
    filling = value_for(ControlView(1, field, "Edit"), MAIL)
    assert filling is not None
    assert (filling.text, filling.sure) == (text, True)


def test_a_repeated_password_gets_the_same_value_again():
    """Only a field that asks for a repetition gets a value that was used."""
    goal = Goal('Lock it with the password "Kestrel9"')
    again = ControlView(1, "Repeat password", "Edit", input="password")
    assert value_for(again, goal, {"Kestrel9"}).text == "Kestrel9"
    assert value_for(ControlView(2, "Password", "Edit", input="password"), goal, {"Kestrel9"}) is None


def test_a_date_field_gets_the_date_in_its_own_form():
    """Month/day/year becomes year-month-day for a date input."""
    assert (
        value_for(ControlView(1, "tt", "Edit", input="date"), Goal("Enter 10/20/2017 as the date")).text == "2017-10-20"
    )


def test_the_longest_option_the_goal_names_is_chosen():
    """`First two rows` wins over `First`."""
    box = ControlView(1, "Freeze", "ComboBox", options=("First", "First two rows", "None"))
    assert best_option(box, Goal("Freeze the first two rows")) == "First two rows"


# ---- exploring ----


def test_the_explorer_fills_all_fields_before_it_sends():
    """Fields first, in the order of the goal; the button that sends comes last."""
    agent, values, seen = Explorer(), {}, []
    while len(seen) < 4:
        fields = tuple(
            ControlView(at, name, "Edit", value=values.get(name, ""), dialog=True)
            for at, name in enumerate(("To", "Subject", "Message"), 1)
        )
        buttons = (ControlView(4, "Cancel", "Button", dialog=True), ControlView(5, "Send", "Button", dialog=True))
        command = agent.next_command(Observation(MAIL.text, "Mail", "New message – Mail", fields + buttons), MAIL.text)
        function, name, text = names(command)
        values[name] = text
        seen.append((function, name))
    assert seen[-1] == ("click_input", "Send")
    assert {name for _, name in seen[:3]} == {"To", "Subject", "Message"}


def test_the_explorer_prefers_the_control_the_goal_names():
    """A lexical match beats curiosity."""
    goal = "Open the Reports page"
    assert (
        names(Explorer().next_command(screen(("Home", "TabItem"), ("Reports", "TabItem"), goal=goal), goal))[1]
        == "Reports"
    )


def test_the_explorer_backs_out_of_a_dialog_that_offers_nothing():
    """With nothing to fill in and nothing close, Cancel is clicked, not OK."""
    dialog = screen(("Zoom", "CheckBox"), ("Cancel", "Button"), ("OK", "Button"), window="Zoom – App", dialog=True)
    assert names(Explorer().next_command(dialog, "Rename the sheet"))[1] == "Cancel"


def test_the_explorer_leaves_risky_buttons_alone():
    """What deletes is not clicked unless the goal asks for it."""
    page = screen(("Delete all", "Button"), ("Help", "Button"))
    assert Explorer().next_command(page, "Turn on the lamp") is None
    assert names(Explorer().next_command(page, "Delete all of it"))[1] == "Delete all"


def test_a_checkbox_is_left_when_it_is_as_wanted():
    """Turning off something that is off already is no step."""
    off = Observation("Turn off Magnifier", "App", "Main", (ControlView(1, "Magnifier", "CheckBox", checked=False),))
    on = Observation("Turn off Magnifier", "App", "Main", (ControlView(1, "Magnifier", "CheckBox", checked=True),))
    assert Explorer().next_command(off, off.goal) is None
    assert names(Explorer().next_command(on, on.goal))[1] == "Magnifier"


def test_the_same_seed_explores_in_the_same_order():
    """Equal ideas are settled by the seed alone; another seed may differ."""
    page = screen(*((f"Tab {letter}", "TabItem") for letter in "ABCDEFGH"))
    first = [names(Explorer(seed).next_command(page, "Do it"))[1] for seed in range(6)]
    assert first == [names(Explorer(seed).next_command(page, "Do it"))[1] for seed in range(6)]
    assert len(set(first)) > 1


# ---- following ----


def test_hints_are_followed_with_the_values_of_the_new_goal():
    """Names and texts of the past task are replaced by those of the present one."""
    hints = Hints(
        (HintStep("click_input", "Chat", "ListItem"), HintStep("set_edit_text", "Title", "Edit", {"text": "Old"})),
        'Call Chat "Old"',
    )
    goal, agent = 'Call Maps "New"', Explorer()
    page = screen(("Chat", "ListItem"), ("Maps", "ListItem"), ("Title", "Edit"), goal=goal)
    assert names(agent.next_command(page, goal, hints)) == ("click_input", "Maps", "")
    assert names(agent.next_command(page, goal, hints)) == ("set_edit_text", "Title", "New")


def test_a_placeholder_is_filled_from_the_goal():
    """`{{input:n}}` gets the value that fits the field, not merely the n-th."""
    hints = Hints((HintStep("set_edit_text", "Subject", "Edit", {"text": "{{input:1}}"}),), "Write an e-mail")
    assert (
        names(Explorer().next_command(screen(("To", "Edit"), ("Subject", "Edit")), MAIL.text, hints))[2] == "Site visit"
    )


def test_a_step_whose_effect_is_there_is_skipped():
    """A tab that is open and a field that holds its value cost no step."""
    hints = Hints((HintStep("click_input", "View", "TabItem"), HintStep("click_input", "Magnifier", "CheckBox")))
    page = Observation(
        "Enlarge",
        "App",
        "Main",
        (ControlView(1, "View", "TabItem", selected=True), ControlView(2, "Magnifier", "CheckBox", checked=False)),
    )
    assert names(Follower(hints, Goal("Enlarge")).next(page))[1] == "Magnifier"


def test_the_follower_resynchronises_when_a_menu_is_gone():
    """A step that is not needed any more is skipped when the next one is in sight."""
    hints = Hints((HintStep("click_input", "More", "MenuItem"), HintStep("click_input", "Print…", "MenuItem")))
    assert (
        names(Follower(hints, Goal("Print it")).next(screen(("File", "MenuItem"), ("Print…", "MenuItem"))))[1]
        == "Print…"
    )


def test_an_input_is_never_skipped_for_the_button_after_it():
    """Without the field, Save is not pressed: the explorer looks for it first."""
    hints = Hints((HintStep("click_input", "Mute", "CheckBox"), HintStep("click_input", "Save", "Button")))
    page = screen(("Banner", "CheckBox"), ("Badge", "CheckBox"), ("Cancel", "Button"), ("Save", "Button"), dialog=True)
    assert Follower(hints, Goal("Silence it")).next(page) is None


def test_a_renamed_button_of_a_dialog_is_recognised_by_its_place():
    """Save is called Keep changes now: the last button that nobody knows."""
    hints = Hints((HintStep("click_input", "Save", "Button"),))
    page = screen(("Cancel", "Button"), ("Keep changes", "Button"), window="Edit – App", dialog=True)
    assert names(Follower(hints, Goal("Do it")).next(page))[1] == "Keep changes"


def test_an_item_that_has_moved_is_looked_for_next_door():
    """The file is not in the remembered folder: the other folders are opened."""
    hints = Hints(
        (HintStep("click_input", "Documents", "TreeItem"), HintStep("click_input", "a.txt", "ListItem")),
        'Print "a.txt"',
    )
    follower, goal = Follower(hints, Goal('Print "b.txt"')), 'Print "b.txt"'
    folders = (("Documents", "TreeItem"), ("Pictures", "TreeItem"))
    assert names(follower.next(screen(*folders, goal=goal)))[1] == "Documents"
    assert names(follower.next(screen(*folders, ("a.txt", "ListItem"), goal=goal)))[1] == "Pictures"
    assert names(follower.next(screen(*folders, ("b.txt", "ListItem"), goal=goal)))[1] == "b.txt"


def test_hints_that_fit_nothing_fall_back_to_exploring():
    """A memory of another application costs no step here."""
    hints = Hints(
        (HintStep("click_input", "Ribbon", "TabItem"), HintStep("click_input", "Macro", "ListItem")), "Record a macro"
    )
    page = screen(("Home", "TabItem"), ("Reports", "TabItem"), goal="Open the Reports page")
    assert names(Explorer().next_command(page, page.goal, hints))[1] == "Reports"


def test_what_failed_before_is_tried_last():
    """A control of a failed run gives way to an equal one."""
    page = screen(("Wallpaper", "TabItem"), ("Theme", "TabItem"))
    for avoided, wanted in (("Wallpaper", "Theme"), ("Theme", "Wallpaper")):
        hints = Hints(avoid=(HintStep("click_input", avoided, "TabItem"),))
        assert names(Explorer().next_command(page, "Make it dark", hints))[1] == wanted


def test_what_a_failed_run_did_not_finish_is_tried_first():
    """Once; after that it is a control like others."""
    page = screen(("Wallpaper", "TabItem"), ("Theme", "TabItem"), ("Fonts", "TabItem"))
    for begun in ("Wallpaper", "Theme", "Fonts"):
        hints = Hints(unfinished=(HintStep("click_input", begun, "TabItem"),))
        explorer = Explorer()
        assert names(explorer.next_command(page, "Make it dark", hints))[1] == begun
        assert names(explorer.next_command(page, "Make it dark", hints))[1] != begun


def test_a_control_the_goal_names_may_be_of_another_kind_now_and_need_no_way():
    """The button was in a menu when the memory was made."""
    hints = Hints((HintStep("click_input", "more", "MenuItem"), HintStep("click_input", "Retweet", "ListItem")))
    page = screen(("more", "MenuItem"), ("Retweet", "Button"), goal='Click on "Retweet"')
    assert names(Explorer().next_command(page, page.goal, hints))[1] == "Retweet"


def test_another_value_of_the_goal_is_no_stand_in():
    """What is to be clicked is not there yet: the row of that user is something else."""
    hints = Hints((HintStep("click_input", "Share", "ListItem"),), 'For the user @ann click on "Share"')
    page = screen(("Mute @bob", "ListItem"), ("Menu", "MenuItem"), goal='For the user @bob click on "Share"')
    follower = Follower(hints, Goal(page.goal))
    assert follower.next(page) is None


def test_a_hint_step_is_read_from_a_mapping():
    """Missing parts are empty, parameters become text."""
    step = HintStep.of({"function": "set_edit_text", "control": "Port", "type": "Edit", "parameters": {"text": 8080}})
    assert step == HintStep("set_edit_text", "Port", "Edit", {"text": "8080"})
    assert HintStep.of({"function": "wait"}) == HintStep("wait")


# ---- episodes and templates ----


class Door:
    """A task of one click, which does not end by itself when `stuck`."""

    name = "door"

    def __init__(self, stuck: bool = False) -> None:
        self.stuck, self.open = stuck, False

    def reset(self, seed: int) -> Observation:
        """One button."""
        self.open = False
        return screen(("Open the door", "Button"), goal=f"Open the door {seed}")

    def step(self, command: Command) -> Reply:
        """Opens, unless it is stuck."""
        self.open = not self.stuck
        return Reply(self.reset(0) if self.stuck else screen(), "success")

    @property
    def done(self) -> bool:
        """Open."""
        return self.open

    @property
    def score(self) -> float:
        """Open."""
        return float(self.open)

    def close(self) -> None:
        """Nothing."""


@pytest.mark.parametrize(("stuck", "success"), [(False, True), (True, False)])
def test_an_episode_ends_when_the_task_is_done_or_the_agent_gives_up(stuck, success):
    """One step opens the door; a stuck one is tried once and given up."""
    episode = run_episode(Door(stuck), Explorer(), seed=3)
    assert (episode.steps, episode.success, episode.goal) == (1, success, "Open the door 3")


def test_there_are_enough_tasks_with_enough_variants():
    """At least 24 families of several steps over four applications, each with at least four different goals."""
    long = [one for one in templates().values() if not one.is_single]
    assert len(long) >= 24
    assert {one.application for one in long} == {"Settings", "Mail", "Sheet", "Files"}
    few = [one.name for one in long if len({one.variant(seed).goal for seed in range(12)}) < 4]
    assert few == []


def test_no_task_is_reached_before_it_is_begun():
    """The start lacks what the goal asks for, the wanted state has it."""
    for template in templates().values():
        for seed in range(4):
            task = template.variant(seed)
            assert not task.holds(task.start), (template.name, seed)
            assert task.holds(task.wanted), (template.name, seed)


def test_the_same_seed_gives_the_same_variant_and_its_own_copy():
    """Variants repeat exactly and share nothing that could be changed."""
    one, two = (templates()["flag"].variant(2) for _ in range(2))
    assert one == two
    one.start["mail"]["messages"].clear()
    assert two.start["mail"]["messages"]
