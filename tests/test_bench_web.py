"""Web applications that we did not write, in `bench steps`: their tasks can be done, and the database is the judge."""

from __future__ import annotations

import inspect
import json
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks.steps.environment import Command
from benchmarks.steps.web import WebTask, web_families
from benchmarks.steps.web.accessibility import AccessiblePage
from ufo_experience.errors import UsageError


def test_every_family_has_values_for_its_slots_and_a_way():
    """Two variants differ in their goal and in what the database must hold."""
    for name, family in web_families().items():
        goals = {family.filled(family.goal, seed) for seed in (0, 1)}
        assert len(goals) == 2, name
        assert "{" not in "".join(goals), name
        assert len(family.way) > 2, name


def test_an_unknown_family_is_refused():
    """By its name."""
    with pytest.raises(UsageError, match="trac/fly"):
        WebTask("trac/fly", None)  # type: ignore[arg-type]


@pytest.mark.browser
def test_a_page_is_read_as_its_accessibility_tree_names_it(browser, tmp_path):
    """Names, types, states, groups and options; acted on with real events."""
    file = tmp_path / "page.html"
    file.write_text(
        """<!DOCTYPE html><title>t</title><fieldset><legend>Who</legend><label>Name <input id=n></label></fieldset>
        <label>Size <select onchange="document.title = this.value"><option>S<option>L</select></label>
        <input type=checkbox aria-label=Agree checked><button onclick="document.title = n.value">Go</button>
        <button hidden>Gone</button><div role=alert>Careful</div>""",
        encoding="utf-8",
    )
    browser.open(file.as_uri())
    page = AccessiblePage(browser)
    read = page.read()
    name, size, agree, go = read.controls
    assert (name.name, name.type, name.within) == ("Name", "Edit", "Who")
    assert (size.name, size.options, size.value) == ("Size", ("S", "L"), "S")
    assert (agree.name, agree.checked, go.name, read.status) == ("Agree", True, "Go", ("Careful",))
    assert page.act(Command("select_item", size, {"text": "L"})) is None
    assert page.read().title == "L"
    assert page.act(Command("set_edit_text", name, {"text": "Ada"})) is None
    assert page.act(Command("click_input", go)) is None
    assert page.read().title == "Ada"
    assert page.act(Command("select_item", size, {"text": "XL"})) == "no option XL"


@pytest.mark.browser
@pytest.mark.skipif(
    not all(
        map(find_spec, ("canaille", "trac", "django", "flask_appbuilder", "helpdesk", "oscar", "roundup", "wagtail"))
    ),
    reason="the extra `bench-web` is not installed",
)
def test_every_other_task_is_reached_by_its_way_and_nothing_else_changes(browser):
    """In the applications themselves; the database is put back for each. All: `python -m benchmarks run`."""
    from benchmarks.run import demonstrate
    from ufo_experience.executor import SeleniumDriver

    assert len(web_families()) >= 30
    for name in [*web_families()][::2]:
        task = WebTask(name, browser)
        demonstrate(task, SeleniumDriver(browser.driver))
        assert task.done, name
        assert not task.unasked, name


def test_what_is_never_learned_is_no_procedure():
    """Twelve tasks of the help desk, which `run` does not learn."""
    from benchmarks.run import task_names

    unknown = [f"web/{name}" for name, family in web_families().items() if family.never_learned]
    assert len(unknown) == 12
    assert not set(unknown) & set(task_names())


def test_requests_in_other_words_and_of_harm_are_next_to_a_procedure():
    """Each procedure of the help desk is asked for in other words once."""
    from benchmarks.run import task_names, written_harm

    folder = Path(inspect.getfile(WebTask)).parent
    reworded = (folder / "helpdesk_reworded.jsonl").read_text("utf-8").splitlines()
    learned = [name for name in task_names() if name.startswith("web/helpdesk/")]
    assert [json.loads(line)["task"] for line in reworded] == learned
    assert {one["task"] for one in written_harm()} <= set(learned)


@pytest.mark.browser
@pytest.mark.skipif(find_spec("helpdesk") is None, reason="the extra `bench-web` is not installed")
def test_tasks_of_the_help_desk_are_reached_by_their_way_with_other_values(browser):
    """One in three, in another variant than the one that is learned; before it nothing is reached."""
    from benchmarks.run import ASKED, demonstrate
    from ufo_experience.executor import SeleniumDriver

    for name in [name for name in web_families() if name.startswith("helpdesk/")][::3]:  # all take minutes
        task = WebTask(name, browser)
        task.reset(ASKED[0])
        assert not task.done, name
        demonstrate(task, SeleniumDriver(browser.driver), ASKED[0])
        assert task.done, name
        assert not task.unasked, name


@pytest.mark.browser
def test_a_procedure_is_learned_from_one_demonstration_and_judged_by_the_state_of_the_page(browser, tmp_path):
    """`python -m benchmarks run`: other values are reached, and nothing else changes."""
    from benchmarks.run import ASKED, VALUES, carry_out, demonstrate, open_task
    from ufo_experience import ExperienceMemory
    from ufo_experience.executor import SeleniumDriver

    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    task = open_task("desktop/mute", browser)
    goal, steps = demonstrate(task, SeleniumDriver(browser.driver))
    memory.remember(goal, steps, True, task.application, "program")
    trial = carry_out(VALUES, memory, task, browser, task.reset(ASKED[0]).goal)
    assert (trial.reached, trial.said, trial.wrong, trial.calls) == (True, True, "", 0)
