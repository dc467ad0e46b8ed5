"""What `bench steps` compares with, and how it tells what an action did."""

from __future__ import annotations

from datetime import datetime, timezone

import pytest

from benchmarks.steps.agents import foreseen_in
from benchmarks.steps.baselines import NearestByWords, as_it_is, first_step
from benchmarks.steps.desktop.desktop import unasked_changes
from benchmarks.steps.desktop.templates import rewordings, templates
from benchmarks.steps.plan import make_plan
from ufo_experience import Act, Guide, Procedure
from ufo_experience.errors import UsageError
from ufo_experience.executor import Target
from ufo_experience.prompt.builder import ahead_block
from ufo_experience.schema import Action, Experience, Outcome, Provenance, State, Step


def experience(number: int, request: str, steps: int) -> Experience:
    """A run that worked."""
    return Experience(
        id=f"{number:032x}",
        state=State(task=request, request=request),
        action=Action(strategy="s", steps=tuple(Step(step_number=at + 1, action_type="click") for at in range(steps))),
        outcome=Outcome(success=True),
        provenance=Provenance(source="log"),
        created_at=datetime(2026, 1, 1, tzinfo=timezone.utc),
    )


def test_the_nearest_request_by_words_is_one_that_shares_some():
    """BM25 over requests; None when no word is shared."""
    mail, sheet = experience(1, "Send a mail to Jane", 2), experience(2, "Sort the sheet by price", 3)
    nearest = NearestByWords([mail, sheet])
    assert nearest.find("send Omar the mail") == mail
    assert nearest.find("quite unheard") is None
    assert NearestByWords([]).find("send") is None


def test_a_first_action_memory_shows_one_step():
    """As UFO's experience database keeps it."""
    one = experience(1, "Send a mail", 3)
    assert [step.step_number for step in first_step(one).action.steps] == [1]
    assert as_it_is(one) == one


def test_a_change_counts_unless_it_was_there_or_is_wanted():
    """Made, taken away, or set to something else."""
    start = {"a": {"x": 1, "y": 2}, "list": [1]}
    wanted = {"a": {"x": 5, "y": 2}, "list": [1]}
    assert unasked_changes(start, wanted, start) == frozenset()
    assert unasked_changes(start, wanted, wanted) == frozenset()
    assert unasked_changes(start, wanted, {"a": {"x": 7}, "list": [1, 2], "new": {"z": 0}}) == {
        "/a/x",
        "/a/y",
        "/list",
        "/new/z",
    }


def test_what_comes_next_is_read_from_its_block():
    """In the form in which it can be answered."""
    acts = [Act("click_input", Target("Save", "Button")), Act("set_edit_text", Target("Name", "Edit"), {"text": "b"})]
    assert foreseen_in(ahead_block(Guide(Procedure("", "Save it", "Save it", "", ())), acts)) == (
        {"function": "click_input", "name": "Save", "type": "Button"},
        {"function": "set_edit_text", "name": "Name", "type": "Edit", "text": "b"},
    )
    assert foreseen_in("") == ()


@pytest.mark.parametrize("author", ["a", "b"])
def test_every_task_is_reworded_with_the_same_slots(author):
    """Twice by each author."""
    for name, template in templates().items():
        goals = rewordings(author)[name]
        assert len(goals) == 2, name
        for goal in goals:
            assert template.variant(0, goal).goal != template.variant(0).goal
            assert template.variant(0, goal).wanted == template.variant(0).wanted


def test_a_part_of_a_plan_is_chosen_by_group_and_task():
    """With the lessons its memories need; what it does not have is a usage error."""
    plan = make_plan("desktop", 1)
    part = plan.only(["shown"], ["signature"])
    assert [(one.group, one.task) for one in part.tests] == [("shown", "signature")]
    assert list(part.lessons) == ["demonstrated"]
    for groups, tasks in ((["no-such"], []), ([], ["no-such"])):
        with pytest.raises(UsageError, match="no-such"):
            plan.only(groups, tasks)
