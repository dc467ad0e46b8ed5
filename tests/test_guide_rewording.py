"""A way offered for a task in other words: which values stand for which, and when it is offered at all."""

from __future__ import annotations

import pytest

from tests.guide_world import choose, click, control, experience, fill, screen
from ufo_experience.procedure.acts import Act
from ufo_experience.procedure.offer import choices, offer
from ufo_experience.procedure.procedure import procedure_of
from ufo_experience.procedure.rewording import fits, match_values
from ufo_experience.schema import Hit
from ufo_experience.text.slots import find_slots

COMPARED = {"query_coverage": 0.5}
SHARE = (click("minutes.txt", "ListItem"), click("Share…"), fill("Share with", "lena@lab.example"), click("Share"))
LET = 'Let "lena@lab.example" see the file "minutes.txt"'


@pytest.mark.parametrize(
    ("old", "new", "pairs"),
    [
        (
            LET,
            'Share the file "thesis.docx" with "jane@corp.example"',
            "lena@lab.example=jane@corp.example minutes.txt=thesis.docx",
        ),
        (
            "On sheet Staff display Price as Currency",
            "Format Product in Sales as Date",
            "Staff=Sales Price=Product Currency=Date",
        ),
        ('Call the sheet Stock "Notes B"', 'Rename Sales to "Autumn"', "Stock=Sales Notes B=Autumn"),
        ('Write a subject "A" and a text "B"', 'Mail it, subject "C", saying "D"', "A=C B=D"),
        ('Write "A" and then "B"', 'Mail "C", saying "D"', ""),
        ("Send 3 to Bob", "Give Ann and Tom 4", "3=4"),
        ('Write with the subject "A" and "B"', 'Mail about "C" with the words "D"', ""),
        ('Forget the network "A"', 'Drop "B" from the known WLANs of HQ', "A=B"),
    ],
    ids=[
        "by type",
        "by preposition",
        "by quotes",
        "by the word before",
        "in doubt",
        "another number of names",
        "another word after the preposition",
        "names beside",
    ],
)
def test_values_of_a_rewording_are_matched_where_nothing_is_in_doubt(old, new, pairs):
    """Order alone tells nothing."""
    slots = find_slots(old), find_slots(new)
    found = match_values(*slots, old, new)
    assert " ".join(f"{slots[0][at].value}={slots[1][to].value}" for at, to in found.items()) == pairs


def test_a_way_is_offered_for_other_words_only_where_retrieval_compared_them_and_the_values_fit():
    """It is marked, comes after those of the same words, and keeps labels that the task used to name."""
    run, task = experience(*SHARE, task=LET), 'Grant "jane@corp.example" access to "thesis.docx"'
    guide = offer(task, [Hit(experience=run, score=0.6, ranked_by="fused", explanation=COMPARED)])
    assert guide is not None
    assert guide.procedure.reworded
    told = [(step.target.name, step.text, step.unbound) for step in guide.procedure.steps if step.target]
    assert told == [
        ("thesis.docx", "", ()),
        ("Share…", "", ()),
        ("Share with", "jane@corp.example", ()),
        ("Share", "", ()),
    ]
    for why, other in (("not compared", Hit(experience=run, score=1.0, ranked_by="fused")), ("values", None)):
        hits = [other or Hit(experience=run, score=0.9, ranked_by="fused", explanation=COMPARED)]
        assert offer(task if other else "Grant access to everybody", hits) is None, why
    same = Hit(experience=run, score=0.5, ranked_by="fused", explanation=COMPARED)
    alike = offer('Let "jane@corp.example" see the file "a.txt"', [same])
    assert alike is not None
    assert not alike.procedure.reworded


def test_what_only_the_old_words_name_stays_open_in_a_rewording():
    """An option named without quotes is nobody's label."""
    run = experience(choose("Frequency", "hourly"), fill("Time", "19:20"), task='Start hourly copies at "19:20"')
    hit = Hit(experience=run, score=0.6, ranked_by="fused", explanation=COMPARED)
    guide = offer('Save this computer every day from "06:45" on', [hit])
    assert guide is not None
    assert [bool(step.unbound) for step in guide.procedure.steps] == [True, False]


@pytest.mark.parametrize(
    "task",
    ["INSERT A TABLE INTO MINUTES.DOCX", "Put a table into minutes.docx"],
    ids=["in capitals", "another verb"],
)
def test_labels_stay_as_they_are_called_whatever_the_words_of_the_task(task):
    """Only the file is another; words in capitals are no values the way lacks."""
    way = (click("report.docx", "ListItem"), click("Insert", "TabItem"), click("Table"))
    run = experience(*way, task="Insert a table into report.docx")
    guide = offer(task, [Hit(experience=run, score=0.9, ranked_by="fused", explanation=COMPARED)])
    assert guide is not None
    names = [step.target.name.casefold() for step in guide.procedure.steps if step.target and not step.unbound]
    assert names == ["minutes.docx", "insert", "table"]


@pytest.mark.parametrize(
    ("task", "more"),
    [
        ('Write to "Bo" with the subject "A" and the message "B", with high importance', ("high", "importance")),
        ('Write to "Bo" with the message "B" and the subject "A"', ()),
    ],
)
def test_a_task_that_says_more_than_the_one_a_way_was_learned_for_is_not_beyond_doubt(task, more):
    """It is offered, and what only one of the two says is said: nobody replays it unseen."""
    run = experience(
        fill("To", "Ann"), click("Deliver"), task='Write to "Ann" with the subject "C" and the message "D"'
    )
    guide = offer(task, [Hit(experience=run, score=0.9, ranked_by="fused", explanation=COMPARED)])
    assert guide is not None
    assert guide.procedure.more == more
    assert guide.procedure.is_beyond_doubt is not bool(more)


@pytest.mark.parametrize(
    ("task", "fitting"),
    [
        ('Grant "jane@corp.example" access to "thesis.docx"', True),
        ('Let our PC at HQ give "jane@corp.example" access to "thesis.docx"', True),
        ('Let "Jane" see "thesis.docx"', False),
        ('Let "jane@corp.example" see the file "a.txt" as "guest"', False),
    ],
    ids=["the same types", "names that may be no values", "no address", "one more in quotes"],
)
def test_a_task_in_other_words_needs_a_value_of_each_type_and_has_no_other(task, fitting):
    """What the steps of the way take of its own request."""
    assert fits(procedure_of(experience(*SHARE, task=LET)), task) is fitting


def test_ways_to_choose_from_are_likely_by_their_score_or_by_the_controls_the_task_names():
    """Three at most, the likeliest first; none that was not compared, or whose values the task lacks."""
    proxy = (click("Connections", "TreeItem"), click("Proxy", "TabItem"), fill("Address", "a.example"), click("Save"))
    runs = {
        "proxy": (experience(*proxy, task='Send the traffic through "a.example"', id="1" * 32), 0.001),
        "mail": (experience(click("Junk", "TreeItem"), click("Add"), task='Block "a.example"', id="2" * 32), 0.06),
        "two": (experience(*proxy, task='Send "x" through "a.example"', id="3" * 32), 0.9),
        "none": (experience(click("Sound", "TabItem"), task='Mute "a.example"', id="4" * 32), 0.001),
    }
    task = 'Configure the proxy "b.example"'
    hits = [
        Hit(experience=run, score=score, ranked_by="fused", explanation=COMPARED if name != "two" else {})
        for name, (run, score) in runs.items()
    ]
    found = choices(task, hits)
    assert [one.procedure.id[0] for one in found] == ["1", "2"]
    assert all(one.procedure.reworded for one in found)
    assert [step.text for step in found[0].procedure.steps if step.text] == ["b.example"]


def test_what_the_words_leave_open_the_screen_settles():
    """The one item of its kind that the task names, the one option of a list; a place called after it goes along."""
    menu = (
        click("File", "MenuItem"),
        click("HTML…", "MenuItem"),
        {**fill("File name", "A"), "within": "Export as HTML"},
    )
    menu[2]["target_control"]["within"] = menu[2].pop("within")
    run = experience(*menu, choose("Pages", "odd"), task='Give me the odd pages as HTML under the name "A"')
    hit = Hit(experience=run, score=0.6, ranked_by="fused", explanation=COMPARED)
    guide = offer('Save all pages as PDF, "B"', [hit])
    assert guide is not None
    file, save, pdf = (control(name, "MenuItem") for name in ("File", "Save", "PDF…"))
    pages = {**control("Pages", "ComboBox"), "options": ["all", "odd", "even"]}
    name = {**control("File name", "Edit"), "within": "Export as PDF"}
    done = []
    for shown in ((file, save), (save, pdf), (name, pages), (name, pages)):
        act = guide.next(screen(*shown))
        assert isinstance(act, Act), act
        done.append((act.target.name if act.target else "", act.parameters.get("text")))
        guide.note(act)
    assert done == [("File", None), ("PDF…", None), ("File name", "B"), ("Pages", "all")]


def test_where_one_way_was_asked_for_in_the_same_words_there_is_no_choice():
    """Though retrieval is not sure of it: all that is another stands in its steps. It is not replayed all the same."""
    way = (click("Staff", "TabItem"), click("Hide…", "MenuItem"), click("Price", "CheckBox"))
    runs = [
        experience(*way, task="Hide Price on sheet Staff", id="1" * 32),
        experience(click("Staff", "TabItem"), click("Price", "CheckBox"), task="Leave Price in Staff", id="2" * 32),
    ]
    hits = [Hit(experience=run, score=0.2, ranked_by="fused", explanation=COMPARED) for run in reversed(runs)]
    for task, ids in (("Hide Units on sheet Sales", "1"), ("Put Units of Sales aside", "21")):
        found = choices(task, hits)
        assert "".join(one.procedure.id[0] for one in found) == ids
        assert [one.procedure.said_so for one in found] == [len(ids) == 1] * len(ids)
        assert all(one.procedure.reworded for one in found)
