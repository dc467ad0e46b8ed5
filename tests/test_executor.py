"""A known way carried out without a model: checked before and after each step, asked for first, healed, handed over."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.procedure_world import click, do, fill, link, memory_of, seen, tick
from ufo_experience import Act, ExperienceMemory, Trust
from ufo_experience.errors import DataError, ServiceError, UsageError
from ufo_experience.executor import Executor, Target, UfoDriver

TASK = 'Give the user {} the role Editor with the note "{}"'
STEPS = [
    link("Users", "navigation"),
    link("Tom Kent"),
    tick("Editor"),
    fill("Note", "first"),
    click("Remember"),
    click("Send"),
]
PEOPLE = {"tkent": "Tom Kent", "mlopez": "Maria Lopez"}


class Pages:
    """A small application: a list of people, and a form for each. `names` are labels that were changed since."""

    def __init__(self, dead: str = "", **names: str) -> None:
        self.page, self.dead, self.names = "home", dead, names
        self.done: list[str] = []
        self.url = ""
        self.form = {"Editor": False, "Note": "", "Remember": 0, "Send": 0}

    def controls(self) -> list[dict[str, Any]]:
        """What is in view."""
        shown = [seen("Users", "Hyperlink", "navigation")]
        if self.page == "users":
            for login, name in PEOPLE.items():
                row = f"{login} {name}"
                shown += [seen(name, "Hyperlink", row), seen(login, "Text", row), seen("Delete", "Button", row)]
        elif self.page in PEOPLE:
            shown += [
                seen(f"User {self.page}", "Header"),
                seen(self._name("Editor"), "CheckBox", checked=self.form["Editor"]),
                seen(self._name("Note"), "Edit", value=self.form["Note"]),
                seen(self._name("Remember")),
                seen(self._name("Send")),
                seen(f"saved {self.form['Remember']} sent {self.form['Send']}", "Text"),
            ]
        return [{"id": number, **one} for number, one in enumerate(shown)]

    def _name(self, name: str) -> str:
        return self.names.get(name, name)

    def do(self, act: Act) -> None:
        """Carry out an action."""
        assert act.target is not None
        name = next((own for own, other in self.names.items() if other == act.target.name), act.target.name)
        self.done.append(name)
        if name == self.dead:
            return
        if name == "Users":
            self.page = "users"
        elif name in PEOPLE.values():
            self.page = next(login for login, one in PEOPLE.items() if one == name)
        elif name == "Editor":
            self.form["Editor"] = not self.form["Editor"]
        elif name == "Note":
            self.form["Note"] = act.parameters["text"]
        elif name in ("Remember", "Send"):
            self.form[name] = int(self.form[name]) + 1
        else:
            raise DataError(f"cannot do {name}")


def yes(act: Act) -> bool:
    return True


@pytest.fixture(scope="module")
def known_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that knows the way. Not to be changed: `memory` has a copy."""
    pages, steps = Pages(), [dict(one) for one in STEPS]
    pages.page = "tkent"
    for one in steps[2:]:
        one["controls"] = [{key: said for key, said in shown.items() if key != "id"} for shown in pages.controls()]
    folder = tmp_path_factory.mktemp("known") / "db"
    with memory_of(folder, (TASK.format("tkent", "first"), steps)):
        return folder


@pytest.fixture
def memory(known_once: Path, tmp_path: Path) -> ExperienceMemory:
    return memory_of(Path(shutil.copytree(known_once, tmp_path / "db")))


NEW = TASK.format("mlopez", "second")


def test_a_way_is_carried_out_for_another_person_without_a_model(memory):
    """Each step has its effect seen; the check is a text on the screen, and the way is credited."""
    pages = Pages()
    told: list[str] = []
    done = memory.run(NEW, pages, ask=yes, check="sent 1", progress=lambda one: told.append(one.effect))
    assert (done.reached, done.stopped, done.calls, done.calls_saved, done.checked) == (True, "done", 0, 6, True)
    assert pages.done == ["Users", "Maria Lopez", "Editor", "Note", "Remember", "Send"]
    assert (pages.page, pages.form["Note"]) == ("mlopez", "second")
    assert told == ["the screen changed"] * 2 + ["it was switched", "the value is there"] + ["the screen changed"] * 2
    assert memory.store.get(done.procedure).usage.helped == 1


@pytest.mark.parametrize("ask", [None, lambda act: False, lambda act: "perhaps"])
def test_a_step_to_ask_for_first_is_not_done_unless_somebody_says_yes(memory, ask):
    """Nothing half done is called done."""
    pages = Pages()
    done = memory.run(NEW, pages, ask=ask)
    assert (done.reached, done.reason, pages.form["Send"]) == (False, "refused", 0)


def test_a_step_without_an_effect_stops_the_run(memory):
    """The button does nothing: what follows is not done."""
    pages = Pages(dead="Remember")
    guide = memory.guide(NEW)
    done = Executor(guide, pages, ask=yes, wait=0.0).run()
    assert (done.reason, done.steps[-1].ok, pages.done[-1]) == ("no_effect", False, "Remember")


@pytest.mark.parametrize(
    ("typed", "shown", "reached"),
    [("13.60", 13.600000381469727, True), ("13.60", "13.60", True), ("13.60", 1.36, False)],
)
def test_a_field_of_numbers_may_tell_what_was_typed_in_its_own_way(tmp_path, typed, shown, reached):
    held = {"value": ""}

    def controls() -> list[dict[str, Any]]:
        return [{"id": 1, **seen("Price", "Spinner", **held)}, {"id": 2, **seen("Keep")}]

    step = do("type", "Price", "Spinner", text="12.75")
    memory = memory_of(tmp_path, ("The price is 12.75 from today", [step]))
    driver = SimpleNamespace(controls=controls, do=lambda act: held.update(value=shown))
    done = memory.run(f"The price is {typed} from today", driver, wait=0.1)
    assert done.reached is reached
    assert done.reason == ("done" if reached else "no_effect")


def test_a_check_that_says_no_is_no_success(memory):
    """The way is at its end; it is blamed."""
    done = memory.run(NEW, Pages(), ask=yes, check=lambda driver: False)
    assert (done.reached, done.reason, done.checked) == (False, "check_failed", False)
    assert memory.store.get(done.procedure).usage.hurt == 1


def test_a_control_of_a_new_name_in_the_same_place_is_used_and_the_way_is_stored_as_it_is_now(memory):
    """After success by a check; the old one is put aside."""
    done = memory.run(NEW, Pages(Remember="Keep"), ask=yes, check="sent 1")
    assert (done.reached, done.healed, done.steps[4].healed) == (True, 1, "Remember → Keep")
    assert memory.store.get(done.procedure).trust is Trust.QUARANTINED
    assert [one.target_control.name for one in memory.store.get(done.learned).action.steps][4] == "Keep"
    assert memory.store.get(done.learned).provenance.supersedes == done.procedure
    again = memory.run(TASK.format("tkent", "third"), Pages(Remember="Keep"), ask=yes)
    assert (again.reached, again.healed) == (True, 0)


def test_a_button_that_says_another_deed_in_the_same_place_is_not_taken_for_the_one_that_stood_there(memory):
    """Nothing is known of what "Print everything" does."""
    done = memory.run(NEW, pages := Pages(Remember="Print everything"), ask=yes, check="sent 1", wait=0.0)
    assert (done.reason, done.healed, pages.form["Send"]) == ("target_missing", 0, 0)


def test_a_way_whose_healing_a_check_refused_is_not_carried_out_again(memory):
    """One failed heal puts it aside, until it has helped somebody else."""
    first = memory.run(NEW, Pages(Remember="Keep"), ask=yes, check=lambda driver: False)
    again = memory.run(NEW, Pages(Remember="Keep"), ask=yes)
    assert (first.healed, first.reason, again.reason) == (1, "check_failed", "no_way")


@pytest.mark.parametrize("failure", ["the check refuses it", "it has no effect"])
def test_a_way_whose_healing_failed_twice_is_put_aside(memory, failure):
    """Neither run nor shown any more, although it had helped between the two; the reason and the way back are told."""
    for number in range(2):
        pages, refuses = Pages(Remember="Keep"), lambda driver: False
        if failure == "it has no effect":
            pages.dead, refuses = "Remember", None
        failed = memory.run(NEW, pages, ask=yes, check=refuses, wait=0.0)
        assert (failed.healed, failed.reached) == (1, False)
        assert len(memory.retrieve(NEW)) == 1 - number
        memory.report([failed.procedure], success=True, session=f"helped {number}")
    found = memory.retrieve(NEW)
    assert (list(found), "quarantined" in str(found.reason)) == ([], True)
    assert memory.run(NEW, Pages(), ask=yes).reason == "no_way"
    assert memory.build_prompt(NEW).text == ""


@pytest.mark.parametrize("fault", [DataError, ServiceError])
def test_a_driver_that_cannot_act_ends_the_run_with_what_was_done(memory, fault):
    """Not with an error of its own."""

    class Broken(Pages):
        """Fails at the button."""

        def do(self, act: Act) -> None:
            """Fail at one."""
            if act.target and act.target.name == "Remember":
                raise fault("the button is stuck")
            super().do(act)

    done = memory.run(NEW, Broken(), ask=yes)
    assert (done.reached, done.reason, done.detail) == (False, "unexpected_screen", "the button is stuck")
    assert [one.ok for one in done.steps] == [True] * 4 + [False]


def test_a_browser_that_is_gone_ends_the_run_with_what_was_done(memory):
    """The report holds the steps until then."""

    class Gone(Pages):
        """Nothing is in view any more after two steps."""

        def controls(self) -> list[dict[str, Any]]:
            """What is in view."""
            if len(self.done) > 1:
                raise ServiceError("no such window")
            return super().controls()

    done = memory.run(NEW, Gone(), ask=yes)
    assert (done.reached, done.reason) == (False, "failed")
    assert done.detail == "no such window; whether this was done nobody saw: click the Hyperlink of mlopez"
    assert [one.ok for one in done.steps] == [True, False]


def test_a_link_to_where_one_is_already_is_no_reason_to_stop(tmp_path):
    """What the step after it acts on is in view."""
    steps = [link("Users", "navigation"), link("Tom Kent"), tick("Editor"), fill("Note", "first"), click("Remember")]
    memory = memory_of(tmp_path / "db", (TASK.format("tkent", "first"), steps))
    pages = Pages()
    pages.page = "users"
    done = Executor(memory.guide(NEW), pages, wait=0.0).run()
    assert (done.reached, done.steps[0].effect) == (True, "it was there")


def test_a_check_is_also_a_part_of_the_address(memory):
    """Of drivers that tell it."""
    pages = Pages()
    pages.url = "https://admin.example/users/mlopez"
    assert memory.run(NEW, pages, ask=yes, check="/users/mlopez").checked is True
    other = Pages()
    other.url = pages.url
    assert memory.run(NEW, other, ask=yes, check="/users/tkent").checked is False


def test_nothing_is_healed_that_is_to_be_asked_for_first(memory):
    """Another name on the button that sends is another button."""
    pages = Pages(Send="Deliver")
    done = memory.run(NEW, pages, ask=yes, wait=0.0)
    assert (done.reached, done.reason, pages.form["Send"]) == (False, "target_missing", 0)


@pytest.mark.parametrize(
    "answer", [{"function": "click", "name": "A box to tick"}, Act("click", Target("A box to tick", "CheckBox"))]
)
def test_where_the_screen_disagrees_the_agent_acts_and_the_way_goes_on(memory, answer):
    """One question; it sees what is in view and why the way does not go on. It answers as a model does, or in acts."""
    asked: list[str] = []

    def agent(controls: list[dict[str, Any]], stop: Any) -> list[Any]:
        asked.append(stop.reason)
        return [answer]

    pages = Pages(Editor="A box to tick", Note="Remark")
    done = memory.run(NEW, pages, ask=yes, agent=agent, wait=0.0)
    assert asked[0] == "target_missing"
    assert [one.by for one in done.steps][:3] == ["way", "way", "agent"]
    assert done.calls >= 1


def test_an_agent_that_knows_nothing_ends_the_run_with_the_reason(memory):
    """And it may not do what is to be asked for first by itself."""
    pages = Pages(Editor="Zephyr", Note="Quartz", Remember="Marble", Send="Wobble")
    silent = memory.run(NEW, pages, ask=yes, agent=lambda controls, stop: None, wait=0.0)
    assert (silent.reason, silent.calls) == ("unexpected_screen", 1)
    rash = memory.run(
        NEW, Pages(Editor="Zephyr", Note="Quartz"), agent=lambda c, s: [{"function": "click", "name": "Send"}], wait=0.0
    )
    assert rash.reason == "refused"


def test_a_task_nobody_knows_and_words_no_step_serves(memory):
    """The first is not begun, the second stops before what is grave."""
    with ExperienceMemory.open(Path(memory.store.location).parent / "empty") as empty:
        assert empty.run(NEW, Pages()).reason == "no_way"
    pages = Pages()
    assert memory.run(NEW + " and delete the draft", pages, ask=yes).reason == "not_covered"
    assert pages.form["Send"] == 0


def test_asynchronous_drivers_are_awaited_by_arun_alone(memory):
    """UFO's dispatcher: controls by their fields, actions with id and name."""

    class Dispatcher:
        """UFO's commands on the same pages."""

        def __init__(self) -> None:
            self.pages = Pages()

        async def execute_commands(self, commands: list[Any], timeout: float | None = None) -> list[Any]:
            """One result for each."""
            (command,) = commands
            if command.tool_name.startswith("get_"):
                return [SimpleNamespace(status="success", result=self.pages.controls(), error=None)]
            given = dict(command.parameters)
            target = SimpleNamespace(id=given.pop("id"), name=given.pop("name"))
            self.pages.do(SimpleNamespace(target=target, parameters=given))  # type: ignore[arg-type]
            return [SimpleNamespace(status="success", result="done", error=None)]

    dispatcher = Dispatcher()
    with pytest.raises(UsageError, match="arun"):
        memory.run(NEW, UfoDriver(dispatcher))
    done = asyncio.run(memory.arun(NEW, UfoDriver(dispatcher), ask=yes))
    assert (done.reached, dispatcher.pages.form["Send"]) == (True, 1)


@pytest.mark.parametrize("fault", [ServiceError("gone"), RuntimeError("no such target"), KeyboardInterrupt()])
@pytest.mark.parametrize("place", range(6))
@pytest.mark.parametrize("done_before", [False, True])
def test_a_run_that_breaks_off_at_any_step_tells_what_was_done(memory, place, fault, done_before):
    """Killed before or after the action took place: the step nobody saw the end of is the last, and not called done."""

    class Killed(Pages):
        """Its driver dies with one action, and answers nothing from then on."""

        dead_now = False

        def controls(self) -> list[dict[str, Any]]:
            """What is in view."""
            if self.dead_now:
                raise fault
            return super().controls()

        def do(self, act: Act) -> None:
            """Carry out an action, or die."""
            self.dead_now = len(self.done) == place
            if done_before or not self.dead_now:
                super().do(act)
            if self.dead_now:
                raise fault

    pages = Killed()
    done = memory.run(NEW, pages, ask=yes, check="sent 1")
    assert (done.reached, done.checked) == (False, None)
    assert done.reason == ("interrupted" if isinstance(fault, KeyboardInterrupt) else "failed")
    assert [one.ok for one in done.steps] == [True] * place + [False]
    assert len(pages.done) == place + done_before
    assert memory.store.get(done.procedure).usage.hurt == 0


def test_a_browser_that_died_does_not_count_against_a_healing(memory):
    """Only a control without an effect, or a check, does."""

    class Gone(Pages):
        """Dies at the button of another name."""

        def do(self, act: Act) -> None:
            """Die at one."""
            super().do(act)
            if act.target and act.target.name == "Keep":
                self.page = ""

        def controls(self) -> list[dict[str, Any]]:
            """What is in view."""
            if not self.page:
                raise ServiceError("gone")
            return super().controls()

    done = memory.run(NEW, Gone(Remember="Keep"), ask=yes)
    assert (done.healed, done.heal_failed, memory.store.get(done.procedure).usage.hurt) == (1, False, 0)


def test_a_control_that_comes_late_is_waited_for(memory):
    """A page shows itself while it is still loading."""

    class Slow(Pages):
        """Looks three times before the form is there."""

        looks = 0

        def controls(self) -> list[dict[str, Any]]:
            """What is in view."""
            self.looks += self.page in PEOPLE
            shown = super().controls()
            return shown if self.looks > 3 else [one for one in shown if one["name"] != "Editor"]

    assert memory.run(NEW, Slow(), ask=yes).stopped == "done"


def test_an_agent_stands_in_for_the_last_step_and_the_way_is_stored_as_it_is_now(memory):
    """It is told which step is missing, and somebody allows what stands in for it; the next run needs no agent."""
    asked: list[str] = []

    def ask(act: Act) -> bool:
        asked.append(act.target.name if act.target else "")
        return True

    def agent(controls: list[dict[str, Any]], stop: Any) -> list[Act]:
        (button,) = [one for one in controls if one["name"] == "Dispatch"]
        return [replace(stop.act, target=Target("Dispatch", "Button", "", button["id"]))]

    done = memory.run(NEW, Pages(Send="Dispatch"), ask=ask, agent=agent, check="sent 1", wait=0.0)
    assert (done.stopped, done.calls, done.steps[-1].by, done.steps[-1].healed) == (
        "done",
        1,
        "agent",
        "Send → Dispatch",
    )
    assert asked == ["Dispatch"]
    again = memory.run(TASK.format("tkent", "third"), Pages(Send="Dispatch"), ask=yes, check="sent 1", wait=0.0)
    assert (again.stopped, again.calls) == ("done", 0)


def test_what_stands_in_for_a_step_to_ask_for_first_is_asked_for_whatever_it_is_called(memory):
    """A harmless name does not make it harmless."""
    pages = Pages(Send="Fine")
    done = memory.run(NEW, pages, agent=lambda c, s: [{"function": "click", "name": "Fine"}], wait=0.0)
    assert (done.reason, pages.form["Send"]) == ("refused", 0)


@pytest.mark.parametrize("name", ["Delete everything", "Remember and delete everything"])
def test_what_stands_in_for_a_harmless_step_is_asked_for_by_its_own_name(memory, name):
    """A step that nobody is asked before does not make it harmless, nor does the name of that step in it."""
    pages = Pages(Remember=name)

    def agent(controls: list[dict[str, Any]], stop: Any) -> list[Act]:
        (button,) = [one for one in controls if one["name"] == name]
        return [replace(stop.act, target=Target(name, "Button", "", button["id"]))]

    done = memory.run(NEW, pages, agent=agent, wait=0.0)
    assert (done.reason, pages.form["Remember"]) == ("refused", 0)


def test_an_answer_of_the_agent_that_names_nothing_in_view_ends_the_run_with_what_was_done(memory):
    """A model makes up a name."""
    made_up = {"function": "click", "name": "Warp drive"}
    done = memory.run(NEW, Pages(Editor="Zephyr", Note="Quartz"), ask=yes, agent=lambda c, s: [made_up], wait=0.0)
    assert (done.reached, done.reason, len(done.steps)) == (False, "unexpected_screen", 2)
    assert "Warp drive" in done.detail


def test_an_agent_that_types_what_is_there_already_has_not_done_the_task(memory):
    """The run goes on, or ends with a reason."""
    pages = Pages(Editor="Zephyr")
    pages.form["Note"] = "here"
    same = {"function": "type", "name": "Note", "text": "here"}
    done = memory.run(NEW, pages, ask=yes, agent=lambda controls, stop: [same], wait=0.0)
    assert (done.reached, pages.form["Send"]) == (False, 0)


def test_a_run_follows_the_way_that_a_dry_run_shows(tmp_path):
    """What is word for word the same but for its values is found, shown and carried out."""
    task = "{} has left us; keep what is known, but nobody may get in with it"
    with ExperienceMemory.open(tmp_path / "db", embedder="hashing") as memory:
        steps = [link("Users", "navigation"), link("Tom Kent"), click("Remember")]
        memory.remember(task.format("tkent"), steps, True, "App", "program", session="run")
        asked = task.format("mlopez")
        assert memory.retrieve(asked)
        assert memory.guide(asked) is not None
        assert memory.run(asked, Pages()).stopped == "done"


def test_a_request_that_begins_with_a_name_is_bound_to_another(tmp_path):
    """Nothing tells the first word of a sentence from a name, but that both begin with another before a name."""
    task = '{} has a new nickname: "{}"'
    steps = [link("Users", "navigation"), click("Edit", within="tkent Tom Kent"), fill("Note", "tommy-k")]
    memory = memory_of(tmp_path / "db", (task.format("Tom Kent", "tommy-k"), steps))
    guide = memory.guide(task.format("Maria Lopez", "mary-lo"))
    assert guide is not None
    assert (guide.uncovered, guide.procedure.steps[1].row_of) == ((), "Maria Lopez")
