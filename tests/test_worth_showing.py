"""Which experiences become examples: not the same way twice, not what is done to other values."""

from __future__ import annotations

import pytest

from tests.guide_world import choose, click, experience, fill
from ufo_experience.prompt.builder import build_prompt
from ufo_experience.schema import Experience, Hit


def hit(run: Experience, score: float = 0.6, **explanation: float) -> Hit:
    return Hit(experience=run, score=score, ranked_by="fused", explanation=explanation)


def run(number: int, task: str, *steps: dict) -> Experience:
    return experience(*steps, task=task, id=f"{number:032x}", provenance={"session": f"run {number}"})


BACKUP = 'Start {} copies at "{}"'


@pytest.mark.parametrize(
    ("often", "last", "shown"),
    [("hourly", "Save", 1), ("daily", "Save as draft", 2)],
    ids=["other values", "another end"],
)
def test_the_same_way_with_other_values_is_shown_once(often, last, shown):
    """The better one stays; one that ends otherwise is another way."""
    first = run(
        1, BACKUP.format("weekly", "06:45"), choose("Frequency", "weekly"), fill("Time", "06:45"), click("Save")
    )
    other = run(2, BACKUP.format(often, "19:20"), choose("Frequency", often), fill("Time", "19:20"), click(last))
    block = build_prompt(BACKUP.format("monthly", "08:00"), [hit(first), hit(other)])
    assert (block.ids[0], len(block.ids)) == (first.id, shown)


@pytest.mark.parametrize(
    ("task", "compared", "shown"),
    [
        ('The file "budget.xlsx" shall be called "Autumn"', True, False),
        ('The file "budget.xlsx" shall be called "Autumn"', False, True),
        ('Give the tab Sales the name "Autumn"', True, True),
        ("Give the tab another name", True, False),
    ],
    ids=["a file", "not found by words", "the same kinds", "no values"],
)
def test_a_doubtful_hit_of_retrieval_is_no_example_for_other_values(task, compared, shown):
    """What is done to a sheet is not done to a file."""
    known = run(1, 'Call the sheet Staff "Harbour" from now on', click("Rename"), fill("Sheet name", "Harbour"))
    block = build_prompt(task, [hit(known, **({"query_coverage": 0.4} if compared else {}))])
    assert bool(block.ids) is shown


@pytest.mark.parametrize(
    ("score", "shown"), [(0.6, False), (0.8, False), (0.95, True)], ids=["doubtful", "likely", "certain"]
)
def test_a_request_with_two_values_more_is_an_example_only_where_retrieval_is_certain(score, shown):
    """A task with three values is seldom one with one."""
    known = run(1, 'On sheet "Staff" display "Price" as "Currency"', click("Format"), click("OK"))
    block = build_prompt('Use "German" as the language we display', [hit(known, score, query_coverage=0.4)])
    assert bool(block.ids) is shown
