"""`bench steps`: what the agent reads in its prompt, the plan, the paired figures, and one small run in a browser."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.retrieval.metrics import Estimate
from benchmarks.steps.agent_registry import open_agent
from benchmarks.steps.agents import Demonstrator, explorer_agent, prompt_for
from benchmarks.steps.conditions import CONDITIONS, Learned, OneExperience, ReadOnly
from benchmarks.steps.demonstration import HintStep
from benchmarks.steps.environment import Command, ControlView, Observation, Reply
from benchmarks.steps.episode_session import Outcome, log_folder, run_session
from benchmarks.steps.page import report_text, write_page
from benchmarks.steps.plan import Case, make_plan
from benchmarks.steps.prompt_reading import dead_ends, not_finished, read_hints, without_loops
from benchmarks.steps.report import CurvePoint, PracticePoint, Run, StepReport, reduction
from benchmarks.steps.workplace import Workplace
from tests.openai_stub import OpenAIStub
from ufo_experience import ExperienceMemory
from ufo_experience.errors import UsageError
from ufo_experience.integrations.memory_article import MemoryComparison
from ufo_experience.session import Command as SessionCommand
from ufo_experience.session import Result, Target

GOAL = 'Rename the file "{}" to "{}"'


class Renaming:
    """A file list: a menu with a dead end beside the way to a dialog with one field."""

    name = "test/rename"

    def __init__(self, old: str, new: str) -> None:
        self._old, self._new = old, new

    def reset(self, seed: int) -> Observation:
        self.window, self.text, self.reached = "Files", "", False
        return self._look()

    def step(self, command: Command) -> Reply:
        name = command.control.name if command.control else ""
        if command.function == "set_edit_text":
            self.text = command.parameters["text"]
        elif name in ("Help…", "Change…", "Cancel"):
            self.window = {"Help…": "Help", "Change…": "Change", "Cancel": "Files"}[name]
        elif name == "OK":
            self.reached, self.window = self.text == self._new, "Files"
        return Reply(self._look(), "success")

    @property
    def done(self) -> bool:
        return self.reached

    @property
    def score(self) -> float:
        return float(self.reached)

    @property
    def over(self) -> bool:
        return False

    @property
    def unasked(self) -> frozenset[str]:
        return frozenset({"help"}) if self.window == "Help" else frozenset()

    def close(self) -> None:
        pass

    def _look(self) -> Observation:
        screens = {
            "Files": [("Help…", "Button"), (self._old, "ListItem"), ("Change…", "Button")],
            "Help": [("Cancel", "Button")],
            "Change": [("Name", "Edit"), ("Cancel", "Button"), ("OK", "Button")],
        }
        controls = tuple(
            ControlView(number, name, kind, dialog=self.window != "Files")
            for number, (name, kind) in enumerate(screens[self.window], 1)
        )
        return Observation(GOAL.format(self._old, self._new), "Files", self.window, controls)


def shown(name: str) -> Command:
    """A command of somebody who knows the way, on the screen of `Renaming`."""
    ids = {"Change…": 3, "Name": 1, "OK": 3}
    function, parameters = ("set_edit_text", {"text": "b.txt"}) if name == "Name" else ("click_input", {})
    kind = "Edit" if name == "Name" else "Button"
    return Command(function, ControlView(ids[name], name, kind), parameters)


@pytest.fixture
def memory(tmp_path) -> ExperienceMemory:
    """A memory that learned from the log of one demonstration."""
    way = [shown(name) for name in ("Change…", "Name", "OK")]
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    outcome = run_session(
        Renaming("old-a.txt", "b.txt"),
        0,
        memory,
        tmp_path / "logs",
        recall=None,
        save="always",
        make_agent=lambda workplace: Demonstrator(workplace, way),
    )
    assert (outcome.success, outcome.steps, len(outcome.saved)) == (True, 3, 1)
    return memory


def test_an_episode_leaves_a_log_that_becomes_an_experience(memory):
    """Steps, typed values as slots and the program's verdict come through the normal pipeline."""
    (learned,) = memory.store.scan()
    assert [step.target_control.name for step in learned.action.steps] == ["Change…", "Name", "OK"]
    assert learned.action.steps[1].parameters == {"text": "{{input:1}}"}
    outcome = learned.outcome
    assert (outcome.success, outcome.evaluated_by, outcome.judge) == (True, "evaluator", "program")


def test_the_agent_knows_of_the_past_what_its_prompt_says(memory):
    """Placeholders are filled with the slot of the goal at hand."""
    goal = GOAL.format("notes-7.txt", "plan.txt")
    block = memory.build_prompt(goal, memory.retrieve(goal))
    hints = read_hints(prompt_for(block.text, goal, Renaming("notes-7.txt", "plan.txt").reset(0)), goal)
    assert hints.steps[1] == HintStep("set_edit_text", "Name", "Edit", {"text": "plan.txt"})
    assert hints.avoid == ()


def click(name: str, kind: str = "MenuItem") -> HintStep:
    """A click as a prompt tells it."""
    return HintStep("click_input", name, kind)


def test_a_way_that_leads_back_to_where_it_began_is_not_followed():
    """Only the last opening of a menu counts, unless the loop filled in what is not filled in again."""
    name, menu, dialog, ok = click("Name", "Edit"), click("More"), click("Move…"), click("OK", "Button")
    assert without_loops([menu, click("Print…"), menu, dialog, ok]) == [menu, dialog, ok]
    assert without_loops([dialog, name, ok, dialog, name, ok]) == [dialog, name, ok]
    both = [dialog, name, ok, dialog, ok]
    assert without_loops(both) == both


def test_a_failed_run_warns_of_what_it_opened_in_vain():
    """What was left again is a dead end; the menu on the way there, and what was open at the end, are not."""
    seen = [("Mail", click("More")), ("Mail", click("Print…")), ("Print", click("Cancel", "Button"))]
    seen += [("Mail", click("More")), ("Mail", click("Move…")), ("Move", click("Inbox", "ListItem"))]
    assert dead_ends(seen) == [click("Print…")]


def test_a_tab_left_for_its_neighbour_is_a_dead_end():
    """Not one that led to a dialog with tabs of its own, and not the last one."""
    wallpaper, colours, row = click("Wallpaper", "TabItem"), click("Colours", "TabItem"), click("Theme", "ListItem")
    seen = [("Settings", wallpaper), ("Settings", colours), ("Settings", row), ("Theme", click("Fonts", "TabItem"))]
    assert dead_ends(seen) == [wallpaper]


def test_what_a_failed_run_was_about_when_it_ended_is_not_finished():
    """What it opened after its last dead end has not been found wrong."""
    seen = [("Mail", click("More")), ("Mail", click("Print…")), ("Print", click("Cancel", "Button"))]
    seen += [("Mail", click("Tools")), ("Mail", click("Rules…")), ("Rules", click("Inbox", "ListItem"))]
    assert not_finished(seen) == [click("Tools"), click("Rules…")]


def test_a_prompt_without_experiences_gives_no_hints():
    """Nothing in, nothing out; the words of the goal are no hint."""
    observation = Renaming("a", "b").reset(0)
    assert read_hints(prompt_for("", observation.goal, observation), observation.goal) is None


def test_memory_saves_the_steps_of_the_dead_end(memory, tmp_path):
    """The explorer alone looks into Help first; with the prompt it goes straight."""
    off, on = (
        run_session(Renaming("notes-7.txt", "plan.txt"), 0, source, tmp_path / "logs", make_agent=explorer_agent)
        for source in (None, memory)
    )
    assert (on.steps, on.success) == (3, True)
    assert off.steps > on.steps
    assert on.tokens > off.tokens / off.steps * on.steps
    assert (len(off.recalled), len(on.recalled)) == (0, 1)


def test_random_and_oracle_are_chosen_by_task(memory):
    """The wrong experience is of another task, the right one of this; without one there is none."""
    learned = Learned(memory, {"desktop/a": tuple(memory.store.ids()), "desktop/b": ("other",)})
    case = Case("similar", "desktop", "a", 0)
    assert (learned.right(case), learned.wrong(case)) == (next(iter(memory.store.ids())), "other")
    assert learned.right(replace(case, task="c")) is None
    assert CONDITIONS["off"](learned, case) is None
    (hit,) = CONDITIONS["oracle"](learned, case).retrieve("anything at all")
    assert hit.experience.id == learned.right(case)


def test_tests_teach_nothing(memory):
    """A test's source neither saves nor credits."""
    source = CONDITIONS["advise"](Learned(memory, {}), Case("similar", "desktop", "a", 0))
    before = memory.export_json()
    assert source.report(list(memory.store.ids()), success=False) == []
    assert source.ingest("anything").added == []
    assert memory.export_json() == before


@pytest.mark.parametrize("seeds", [1, 4])
def test_no_variant_is_both_learned_and_tested(seeds):
    """Held-back means held back, for as many seeds as are asked for; and what was never learned was not."""
    plan = make_plan("all", seeds)
    learned = {(one.family, one.seed) for cases in plan.lessons.values() for one in cases}
    families = {family for family, _ in learned}
    assert learned.isdisjoint((one.family, one.seed) for one in plan.tests)
    assert all(one.family in families for one in plan.of("similar"))
    assert all(one.family not in families for one in plan.of("never"))
    assert len(set(plan.tests)) == len(plan.tests)
    assert len(plan.of("similar")) == seeds * len({one.family for one in plan.of("similar")})


def test_environments_are_planned_alone_or_together():
    """Each environment's tests are those of the whole plan that are of its kind."""
    whole = make_plan("all", 1).tests
    for kind in ("desktop", "miniwob"):
        assert set(make_plan(kind, 1).tests) == {one for one in whole if one.kind == kind}
    assert len(make_plan("all", 1, quick=True).tests) < len(whole) / 2
    with pytest.raises(UsageError, match="environment"):
        make_plan("mars", 1)


def run(task: str, condition: str, steps: int, *, success: bool = True, group: str = "similar", seed: int = 0) -> Run:
    """One result."""
    shown = () if condition == "off" else ("x",)
    outcome = Outcome(
        steps, success, 10 * steps, 0.0, 0.1, "", shown, calls=steps, tidy=success, tokens_to_goal=10 * steps
    )
    return Run(Case(group, "desktop", task, seed), condition, outcome)


def actions(outcome: Outcome) -> float:
    """What is measured in these tests."""
    return outcome.steps


def test_the_reduction_is_of_totals_and_its_interval_over_tasks():
    """Two tasks of 10 and 30 steps, 5 and 15 with memory: half; the same in every draw, so the interval is a point."""
    pairs = [(run(task, "off", 2 * steps), run(task, "on", steps)) for task, steps in (("a", 5), ("b", 15))]
    assert reduction(pairs, actions) == Estimate(0.5, 0.5, 0.5)
    spread = reduction([*pairs, (run("c", "off", 10), run("c", "on", 20))], actions)
    assert spread.mean == pytest.approx(0.2)
    assert spread.low < 0 < spread.high == 0.5
    assert str(reduction([], actions).mean) == "nan"


def test_variants_of_one_task_are_drawn_together():
    """Ten variants of one task are one task: no draw can differ from the whole."""
    pairs = [(run("a", "off", 10, seed=seed), run("a", "on", seed + 1, seed=seed)) for seed in range(10)]
    found = reduction(pairs, actions)
    assert found.low == found.mean == found.high == pytest.approx(0.45)


@pytest.fixture
def report() -> StepReport:
    """Two tasks, one of which fails without memory."""
    runs = (
        *(
            run("a", condition, steps)
            for condition, steps in (("off", 10), ("advise", 4), ("random", 12), ("oracle", 4))
        ),
        run("b", "off", 60, success=False),
        run("b", "advise", 6),
        run("c", "off", 5, group="unrelated"),
        run("c", "advise", 5, group="unrelated"),
    )
    return StepReport(
        agent="rule-based explorer",
        runs=runs,
        families={"desktop/a": 2},
        rights={"desktop/a": ("x", "y"), "desktop/b": ("z",)},
        curve=(CurvePoint(0, 35.0, 0.5), CurvePoint(2, 5.0, 1.0)),
        practice=(PracticePoint(1, 20.0, 20.0, 0.5), PracticePoint(2, 5.0, 5.0, 1.0)),
        comparison=MemoryComparison("a", {"steps": 10}, {"steps": 4}),
        seconds=1.0,
        machine="test",
        date="2026-01-01",
    )


def test_pairs_are_told_by_group_and_condition(report):
    """Failures count with their steps, and apart where both runs succeed; retrieval is judged by what came first."""
    on, random, oracle, unrelated = report.paired()
    assert (on.pairs, on.off.steps, on.on.steps, on.off.success, on.on.success) == (2, 35.0, 5.0, 0.5, 1.0)
    assert (on.fewer_calls.mean, on.fewer_tokens.mean, on.solved.mean) == (*[pytest.approx(6 / 7)] * 2, 0.6)
    assert (random.fewer_steps.mean, oracle.fewer_steps.mean) == (pytest.approx(-0.2), 0.6)
    assert (unrelated.group, unrelated.fewer_steps.mean) == ("unrelated", 0.0)
    assert (on.at_equal_tokens, random.at_equal_tokens) == (1.0, 0.0)
    assert report.retrieved_right() == 0.5


def test_the_page_says_whose_figures_they_are(report):
    """A rule-based agent is not GPT, and the page says so; another agent's page does not."""
    text = report_text(report)
    assert "not figures of GPT" in text
    assert "| similar | desktop | advise | 2 | 35.0 → 5.0 | 85.7 %" in text
    assert "| similar | desktop/b | 0 | 60/60 ✗ | 6/6 |" in text
    assert "Step reduction: 60%" in text
    assert "not figures of GPT" not in report_text(replace(report, agent="mine:make"))


def test_markdown_json_and_plot_are_written(report, tmp_path):
    """All three, and the JSON holds no time but under `times`, so that two runs can be compared."""
    pytest.importorskip("matplotlib")
    page, data, plot = write_page(report, tmp_path / "new")
    found = json.loads(data.read_text(encoding="utf-8"))
    assert page.read_text(encoding="utf-8").startswith("# Model calls")
    assert plot.read_bytes().startswith(b"\x89PNG")
    times = found.pop("times")
    assert times["per_run"] == [0.1] * 8
    assert not re.search(r"seconds|2026", json.dumps(found))


def test_agents_are_named_by_module_and_function():
    """The rule-based one without a name; a name that leads nowhere is a usage error."""
    assert open_agent(None) == ("rule-based explorer", explorer_agent)
    spec = "benchmarks.steps.agents:explorer_agent"
    assert open_agent(spec) == (spec, explorer_agent)
    for wrong in ("nothing", "no.such.module:f", "json:no_such", "json:__doc__"):
        with pytest.raises(UsageError):
            open_agent(wrong)


def test_the_gpt_agent_works_at_a_workplace(tmp_path, monkeypatch):
    """It is told the controls on the screen, and its clicks and texts are carried out."""
    script = [("click_input", "Change…", {}), ("set_edit_text", "Name", {"text": "b"}), ("click_input", "OK", {})]

    def model(body: dict) -> dict:
        state = json.loads(body["messages"][-1]["content"][-1]["text"])
        ids = {one["name"]: one["id"] for one in state["controls"]}
        function, name, arguments = script.pop(0)
        return {
            "observation": "",
            "thought": "",
            "status": "CONTINUE" if script else "FINISH",
            "plan": [],
            "function": function,
            "control_id": ids[name],
            "arguments": [{"name": key, "value": value} for key, value in arguments.items()],
            "then": [],
            "result": "",
        }

    with OpenAIStub(chat=model) as stub:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
        name, make_agent = open_agent("gpt")
        outcome = run_session(Renaming("a", "b"), 0, None, tmp_path, make_agent=make_agent)
    assert name.startswith("GPT agent on ")
    assert (outcome.success, outcome.steps) == (True, 3)
    assert outcome.cost > 0


@pytest.mark.parametrize("front", ["Mail", "Files"])
def test_an_agent_brings_another_application_to_the_front_by_a_click(front):
    """Applications are offered among the controls, but for the one in front."""

    class Two(Renaming):
        asked: tuple[Command, ...] = ()

        def step(self, command: Command) -> Reply:
            self.asked = (*self.asked, command)
            return super().step(command)

        def _look(self) -> Observation:
            return replace(super()._look(), application=front, applications=("Mail", "Files"))

    async def work(workplace: Workplace) -> list[Result]:
        seen = (await workplace.execute_commands([SessionCommand("get_controls")]))[0].result
        (other,) = [one for one in seen if one["type"] == "Application"]
        target = Target(other["name"], other["type"], other["id"])
        return await workplace.execute_commands([SessionCommand("click_input", target=target)])

    environment = Two("a", "b")
    (result,) = asyncio.run(work(Workplace(environment, 0)))
    assert result.ok
    other = "Files" if front == "Mail" else "Mail"
    assert environment.asked == (Command("switch_application", None, {"text": other}),)


@pytest.mark.browser
def test_a_small_run_in_a_browser_saves_steps_and_repeats(tmp_path: Path):
    """One learned task and one unknown: fewer steps, no answer to the unknown, and the same figures twice."""
    pytest.importorskip("selenium")
    from benchmarks.steps.run import run_steps

    whole = make_plan("desktop", 1)
    tasks = ("signature", "check-updates")
    small = replace(
        whole,
        lessons={"own": tuple(one for one in whole.lessons["own"] if one.task in tasks)},
        tests=tuple(one for one in whole.tests if one.task in tasks and one.group in ("similar", "never")),
        practice=(),
    )
    first, again = (run_steps(small, jobs=1, folder=tmp_path / name, conditions=["advise"]) for name in ("one", "two"))
    figures = {one.group: one for one in first.paired() if one.condition == "advise"}
    assert figures["similar"].fewer_steps.mean > 0.4
    assert (figures["never"].fewer_steps.mean, figures["never"].answered) == (0.0, 0.0)
    data, repeated = first.as_data(), again.as_data()
    assert data.pop("times") != repeated.pop("times")
    assert data == repeated


def test_what_only_answers_leads_and_lets_choose_as_a_session_asks_it_to(tmp_path: Path):
    memory = ExperienceMemory.open(tmp_path)
    known = memory.remember("Mute the channel", [{"action": "click", "control": "Mute"}], True, "Chat", "program")
    for one in (ReadOnly(memory), OneExperience(memory, known.id)):
        guide = one.guide("Mute the channel", application="Chat")
        assert guide is not None
        assert guide.procedure.id == known.id
    assert len(OneExperience(memory, known.id).choices("Water the plants", application="Garden")) == 1
    assert not ReadOnly(memory, only=()).choices("Mute the channel", application="Chat")


def test_a_log_folder_is_named_as_the_bench_looks_for_it():
    """The name of a family of the web has a slash in it, the folder of its logs has none."""
    assert log_folder("web/django/gone", 2) == "web-django-gone-2"
