"""What a block tells is right for other words, also where nothing marks a value, or a label cannot be told whole."""

from __future__ import annotations

import pytest

from benchmarks.reading import parse_block
from tests.procedure_world import choose, click, fill, link, memory_of, obey, screen, seen, told
from ufo_experience import ExperienceMemory


def test_a_label_that_cannot_be_told_whole_is_told_by_its_first_words(tmp_path):
    """Too long a one, and one with an address; a strange word that the task says is told."""
    long = "Click here to add or remove people who should get a copy of all that is written"
    steps = [click(long), click("Assign this ticket to ada@site.test"), click("Require auth_time claim"), click("Save")]
    text = told(memory_of(tmp_path, ("Copy it to me and switch on the auth_time claim", steps)), "switch on auth_time")
    assert '1. click "Click here to add or remove people who…" (Button)' in text
    assert '2. click "Assign this ticket to…" (Button)' in text
    assert '3. click "Require auth_time claim" (Button)' in text
    assert "site.test" not in text


def test_a_number_of_the_task_is_what_an_items_name_begins_with(tmp_path):
    """It stands in other rows, too: in their dates."""
    row = "{} Open Jan 6, 2026"
    names = ["16. Door is stuck", "9. Mouse jumps in room 6", "6. Tap drips"]
    learned = ("Close ticket 9 by hand", [link(names[1], row.format(names[1])), click("Close")])
    memory = memory_of(tmp_path, learned)
    assert 'click "6. …" (Hyperlink) in the row of 6' in told(memory, "Close ticket 6 by hand")
    view = screen(*(seen(name, "Hyperlink", row.format(name)) for name in names), seen("Close"))
    assert [one["name"] for one in obey(memory, "Close ticket 6 by hand", view)[0]] == ["6. Tap drips", "Close"]


def test_a_box_called_by_a_number_and_a_value_is_found_by_the_value(tmp_path):
    """The number is another one today."""
    names = ["9 Tap drips", "11 Mouse jumps"]
    row = " ".join(names)
    memory = memory_of(tmp_path, ('Keep "Mouse jumps"', [click(names[1], "RadioButton", row), click("Validate")]))
    assert "1. click the RadioButton of Door is stuck" in told(memory, 'Keep "Door is stuck"')
    now = ["5 Lamp is dark", "7 Door is stuck"]
    view = screen(*(seen(name, "RadioButton", " ".join(now)) for name in now), seen("Validate"))
    assert [one["name"] for one in obey(memory, 'Keep "Door is stuck"', view)[0]] == ["7 Door is stuck", "Validate"]


def test_a_page_is_known_again_whatever_its_cells_offer_to_choose(tmp_path):
    """The choices are called as the cells they stand in."""

    def page(*cells):
        both = [[seen(one, "DataItem"), seen(one, "RadioButton", checked=False)] for one in cells]
        return screen(*(one for two in both for one in two), seen("Validate"))

    step = {**click("Validate"), "controls": page("akim", "tkent", "carla", "bruno")}
    memory = memory_of(tmp_path, ("Validate the merge", [step]))
    assert obey(memory, "Validate the merge", page("farid", "elif", "dmitri", "jsmith"))[1] == "done"


@pytest.mark.parametrize("typed", ["The fault is in the wall.", "The fault is in the wall"])
def test_the_mark_that_ends_the_request_is_typed_where_the_run_typed_it(tmp_path, typed):
    """The words are the same with and without it."""
    task = "Write a new reply. Name: {}. Text: {}"
    steps = [fill("Name", "Please wait"), fill("Body", typed), click("Save")]
    memory = memory_of(tmp_path, (task.format("Please wait", "The fault is in the wall."), steps))
    text = told(memory, task.format("Found it", "Which of the two do you mean?"))
    assert 'type "Found it" in "Name"' in text
    assert f'type "Which of the two do you mean{"?" * typed.endswith(".")}" in "Body"' in text


def test_a_value_is_as_long_as_the_link_that_the_request_names(tmp_path):
    """A capital marks but its first word; nothing of the old one is told."""
    task = "I do not use the saved query {} any more"
    memory = memory_of(tmp_path, (task.format("My reading list"), [link("My reading list"), click("Forget it")]))
    text = told(memory, task.format("Nobody has them"))
    assert 'click "Nobody has them" (Hyperlink)' in text
    assert "Not covered: –" in text
    assert task.format("[value]") in text


def test_a_value_ends_at_a_bracket(tmp_path):
    """The number before it is one by itself."""
    task = "Ticket {} ({}) must be finished by {}"
    name = "8. Update asks for a password"
    steps = [link(name, f"{name} Open"), fill("Due on", "2027-04-09"), click("Save")]
    memory = memory_of(tmp_path, (task.format(8, "Update asks for a password", "2027-04-09"), steps))
    text = told(memory, task.format(5, "Spreadsheet crashes when it is saved", "2027-03-17"))
    assert 'click "5. …" (Hyperlink) in the row of 5 [beside "Spreadsheet crashes when it is saved"]' in text
    assert 'type "2027-03-17" in "Due on"' in text


def test_the_verb_of_a_request_is_no_value_of_it(tmp_path):
    """It is so called in the application, whatever another person calls it."""
    steps = [
        click("Review", "TabItem"),
        click("Accept", "MenuButton"),
        link("Delete", "Doctors Delete"),
        click("OK", "Hyperlink"),
    ]
    memory = memory_of(
        tmp_path, ("Accept all changes in the document", steps[:2]), ("Delete the group Doctors", steps[2:])
    )
    assert '2. click "Accept" (MenuButton)' in told(memory, "Approve all changes in the document")
    text = told(memory, "Delete the group Plumbers")
    assert 'click "Delete" (Hyperlink) in the row of Plumbers [ask first]' in text
    assert 'click "OK" (Hyperlink)' in text.splitlines()[2]


def test_what_was_typed_may_hold_a_day_now(tmp_path):
    """A value inside of it is no value by itself."""
    task = "Write a new reply. Name: {}. Text: {}."
    steps = [fill("Name", "Please wait"), fill("Body", "The fault is in the wall"), click("Save")]
    memory = memory_of(tmp_path, (task.format("Please wait", "The fault is in the wall"), steps))
    text = told(memory, task.format("Two of them", "We are back on Monday"))
    assert 'type "We are back on Monday" in "Body"' in text
    assert "Not covered: –" in text


def test_a_link_to_the_page_itself_is_clicked_where_it_opens_something(tmp_path):
    """It is selected, as a tab that is open is."""
    steps = [link("+ Create"), choose("Template", "Room check"), click("Add")]
    memory = memory_of(tmp_path, ('Hang up the list "Room check"', steps))
    guide = memory.guide('Hang up the list "Leaver"')
    create = seen("+ Create", "Hyperlink", selected=True)
    assert guide.next(screen(create)).target.name == "+ Create"
    assert guide.next(screen(create, seen("Template", "ComboBox"), seen("Add"))).target.name == "Template"


def test_a_choice_among_options_can_be_read_from_the_block(tmp_path):
    """The block says what the option holds."""
    memory = memory_of(
        tmp_path, ('The ticket "Tap drips" comes first', [choose("Ticket", "12 Tap drips"), click("Save")])
    )
    block = memory.build_prompt('The ticket "Door is stuck" comes first').text
    assert parse_block(block)[0]["steps"][0]["option_of"] == "Door is stuck"


def test_one_of_several_cards_is_the_one_behind_what_the_task_names(tmp_path):
    """No row holds both; a card in which the button is missing is not left for the next."""

    def cards(*names, missing=""):
        of = {name: [seen(name, "Hyperlink"), seen("Since May", "Text"), seen("Revoke", "Button")] for name in names}
        return screen(
            seen("Consents", "Header"), *(one for name in of for one in of[name][: 2 if name == missing else 3])
        )

    task = "I do not want {} to have access to my data any more"
    memory = memory_of(tmp_path, (task.format("Payroll"), [{**click("Revoke"), "controls": cards("Payroll")}]))
    assert 'click "Revoke" (Button) in the row of Chat [ask first]' in told(memory, task.format("Chat"))
    acted, end = obey(memory, task.format("Chat"), cards("Archive", "Chat", "Wiki"))
    assert ([one["id"] for one in acted], end) == ([6], "done")
    for view in (cards("Archive", "Chat", "Wiki", missing="Chat"), cards("Archive", "Wiki")):
        assert obey(memory, task.format("Chat"), view)[0] == []


SAME = {
    "a value in lower case at the beginning, as its row is called": (
        (
            'Payroll asks for too much. Limit its scope to "openid groups".',
            [link("Payroll", "Payroll Jan 5"), fill("Scope", "openid groups"), click("Edit")],
        ),
        'Archive asks for too much. Limit its scope to "openid phone".',
        'click "Archive" (Hyperlink) in the row of Archive',
    ),
    "most of the words are values": (
        (
            "close Laptop battery lasts ten minutes; reason: Not our business",
            [
                link("2. Laptop battery lasts ten minutes", "2. Laptop battery lasts ten minutes Open"),
                fill("Comment", "Not our business"),
                click("Closed", "RadioButton"),
            ],
        ),
        "close Spreadsheet crashes when it is saved; reason: It went away by itself",
        'type "It went away by itself" in "Comment"',
    ),
    "no blanks between words": (
        ("把标题改成春季工作计划", [fill("标题", "春季工作计划"), click("保存")]),
        "把标题改成年终总结和新的安排",
        'type "年终总结和新的安排" in "标题"',
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_a_request_of_the_same_task_is_known_by_what_the_run_typed_and_took(name, tmp_path):
    """Nothing marks its values."""
    (task, steps), asked, expected = SAME[name]
    memory = ExperienceMemory.open(tmp_path, embedder="hashing")
    memory.remember(task, steps, True, "App", "program")
    block = memory.build_prompt(asked, memory.retrieve(asked)).text
    assert expected in block
    assert "Not covered: –" in block


def test_each_button_that_says_a_value_says_the_new_one(tmp_path):
    """Also the second: what asks whether it is meant says it again."""
    steps = [link("News"), click("Delete 'Film night'"), click("Yes, delete 'Film night'")]
    memory = memory_of(tmp_path, ('Delete the page "Film night" in News', steps))
    text = told(memory, 'Delete the page "Roof repairs" in News')
    assert "3. click \"Yes, delete 'Roof repairs'\" (Button) [ask first]" in text
    assert "Film night" not in text


@pytest.mark.parametrize("where", ["{} in Wagtail", "In Wagtail: {}"])
def test_the_name_of_the_application_is_covered_by_its_way(tmp_path, where):
    """Not a name that only shares a word with it."""
    memory = memory_of(tmp_path, ("Put the event on the list", [click("New"), click("Send")]), application="Wagtail")
    assert "Not covered: –" in told(memory, where.format("Put the event on the list"))
    assert "Not covered: –" not in told(memory, where.format("Put the event on the list") + " and notify Ada")
    assert "Not covered: –" not in told(memory, "Put the event on the list of Wagtails Ltd")
