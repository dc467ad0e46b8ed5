"""A known way in a session: actions foreseen and carried out one by one, and proven ways replayed without a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.reading import parse_block
from tests.guide_world import BACKUP, NEW_TASK, click, experience
from tests.session_parts import YES, ScriptedEvaluator, ScriptedUser, config, log, run
from ufo_experience import ExperienceMemory
from ufo_experience.errors import StorageError, UsageError
from ufo_experience.session import (
    AgentStatus,
    Command,
    Decision,
    Interactor,
    LinuxSession,
    LocalCommandDispatcher,
    SavePolicy,
    SessionConfig,
    SessionParts,
    Target,
    Turn,
)


class BackupApp:
    """Two tabs and a dialog; `strange` is a dialog that comes up by itself once, when the tab is chosen."""

    def __init__(self, *, save: str = "Save", strange: bool = False) -> None:
        self.tab, self.open, self.saved = "General", False, None
        self.values = {"Frequency": "never", "Time": ""}
        self.save, self.strange, self.hint = save, strange, False
        self.done: list[str] = []

    def dispatcher(self) -> LocalCommandDispatcher:
        tools = {"get_controls": self.controls, "click_input": self.click}
        return LocalCommandDispatcher({**tools, "select_item": self.fill, "set_edit_text": self.fill})

    def controls(self) -> list[dict[str, Any]]:
        shown: list[dict[str, Any]] = [
            {"name": name, "type": "TabItem", "selected": name == self.tab} for name in ("General", "Backup")
        ]
        shown += [{"name": "Schedule…", "type": "Button"}] if self.tab == "Backup" else []
        if self.open:
            kinds = {"Frequency": "ComboBox", "Time": "Edit"}
            shown += [
                {"name": name, "type": kinds[name], "value": value, "dialog": True}
                for name, value in self.values.items()
            ]
            shown += [{"name": self.save, "type": "Button", "dialog": True}]
        if self.hint:
            shown += [{"name": "Not now", "type": "Button", "dialog": True}]
        return [{"id": str(number), **one} for number, one in enumerate(shown, start=1)]

    def click(self, target: Target) -> str:
        self.done.append(f"click {target.name}")
        if target.name in ("General", "Backup"):
            self.tab, self.hint, self.strange = target.name, self.strange, False
        elif target.name == "Schedule…":
            self.open = True
        elif target.name == "Not now":
            self.hint = False
        elif target.name == self.save:
            self.saved, self.open = dict(self.values), False
        else:
            raise LookupError(f"no control {target.name!r}")
        return "done"

    def fill(self, target: Target, text: str) -> str:
        self.done.append(f"{target.name}={text}")
        self.values[target.name] = text
        return "done"


IN_OTHER_WORDS = 'Have copies of all files made "weekly", the first at 07:15'
ANSWERS = {"Frequency": "weekly", "Time": "07:15"}
WEEKLY = [
    "click Backup",
    "click Schedule…",
    "Frequency=weekly",
    "Time=07:15",
    "click Save",
]


TOOLS = {"click": "click_input", "choose": "select_item", "type": "set_edit_text"}


class Reader:
    """An agent that answers with all it is told comes next, by name; without that it does what is in view."""

    name = "LinuxAgent"

    def __init__(self, app: BackupApp, *, foresees: bool = True) -> None:
        self.app, self.foresees = app, foresees
        self.turns: list[Turn] = []

    async def act(self, turn: Turn) -> Decision:
        self.turns.append(turn)
        if self.app.saved is not None:
            return Decision(AgentStatus.FINISH)
        told = [one for record in parse_block(turn.ahead) for one in record["next_actions"]]
        if told and self.foresees:
            return Decision(AgentStatus.FINISH, tuple(map(self.command, told)), cost=0.01, tokens=7)
        return Decision(AgentStatus.CONTINUE, (self.look_around(),), cost=0.01, tokens=7)

    def command(self, told: dict[str, Any]) -> Command:
        return Command(TOOLS[told["action"]], told.get("parameters", {}), target=Target(told["control"]))

    def look_around(self) -> Command:
        shown = {one["name"]: one for one in self.app.controls()}
        order = ["Not now", "Frequency", "Time", "Save", "Store", "Schedule…", "Backup"]
        for name in (one for one in order if one in shown):
            target = Target(name, shown[name]["type"], shown[name]["id"])
            if name not in ANSWERS:
                return Command("click_input", target=target)
            if self.app.values[name] != ANSWERS[name]:
                return Command("set_edit_text", {"text": ANSWERS[name]}, target=target)
        raise AssertionError("nothing to do")


def memory_of(tmp_path: Path, *steps: dict[str, Any], helped: int = 0, **more: Any) -> ExperienceMemory:
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    memory.take_in([experience(*(steps or BACKUP), **more)])
    for number in range(helped):
        memory.report(["0" * 32], success=True, session=f"earlier {number}")
    return memory


def session_of(tmp_path: Path, memory: ExperienceMemory | None, app: BackupApp, agent: Reader, **more: Any):
    evaluator, request = more.pop("evaluator", YES), more.pop("request", NEW_TASK)
    user = more.pop("user", Interactor())
    settings = config(tmp_path, **more)
    parts = SessionParts(
        app_agent=agent, dispatcher=app.dispatcher(), evaluator=evaluator, memory=memory, config=settings, user=user
    )
    return LinuxSession("task", True, 0, request, application_name="Settings", parts=parts)


# ---- ahead


def test_an_agent_that_is_told_what_comes_next_is_asked_once(tmp_path):
    """Five actions, one answer; every action is a line of the log with what was in view before it."""
    app = BackupApp()
    agent = Reader(app)
    session = session_of(tmp_path, memory_of(tmp_path), app, agent, recall="ahead")
    run(session)
    assert (len(agent.turns), app.done, app.saved) == (1, WEEKLY, ANSWERS)
    assert [len(line["control_info"]) for line in log(session, "request.log")] == [2, 3, 6, 6, 6]
    assert [line["llm_cost"] for line in log(session)] == [0.01, 0, 0, 0, 0]


def test_advise_is_the_default_and_foresees_nothing(tmp_path):
    """One action a turn, as before."""
    app = BackupApp()
    agent = Reader(app)
    run(session_of(tmp_path, memory_of(tmp_path), app, agent))
    assert (len(agent.turns), {turn.ahead for turn in agent.turns}, app.saved) == (6, {""}, ANSWERS)


def test_a_dialog_in_between_hands_back_and_the_way_goes_on_after_it(tmp_path):
    """The agent is told why, closes the dialog, and is told the rest, and that the way is found again."""
    app = BackupApp(strange=True)
    agent = Reader(app)
    run(session_of(tmp_path, memory_of(tmp_path), app, agent, recall="ahead"))
    assert app.done == ["click Backup", "click Not now", *WEEKLY[1:]]
    assert ["dialog" in turn.handed_back for turn in agent.turns] == [False, True, False]
    assert [turn.ahead != "" for turn in agent.turns] == [True, False, True]


def test_actions_that_were_not_carried_out_are_said(tmp_path):
    """The agent sees what its answer came to: done, done, … not carried out."""
    app = BackupApp(save="Store")
    agent = Reader(app)
    run(session_of(tmp_path, memory_of(tmp_path), app, agent, recall="ahead"))
    last = [(command.target.name, result.ok) for command, result in agent.turns[1].last]
    assert last == [("Backup", True), ("Schedule…", True), ("Frequency", True), ("Time", True), ("Save", False)]
    assert app.saved == ANSWERS


def test_an_agent_may_answer_with_several_actions_without_a_memory(tmp_path):
    """Or a comparison with one would not be fair: targets by name are found on the screen."""
    app = BackupApp()
    names = [
        ("click_input", "Backup", {}),
        ("click_input", "Schedule…", {}),
        ("set_edit_text", "Time", {"text": "07:15"}),
    ]
    commands = tuple(Command(tool, text, target=Target(name)) for tool, name, text in names)

    class Once(Reader):
        async def act(self, turn: Turn) -> Decision:
            self.turns.append(turn)
            return Decision(AgentStatus.FINISH, commands)

    agent = Once(app)
    run(session_of(tmp_path, None, app, agent, recall="ahead"))
    assert (len(agent.turns), app.done) == (1, ["click Backup", "click Schedule…", "Time=07:15"])


def test_the_same_action_may_come_twice_in_one_answer(tmp_path):
    """Each is carried out, and the round ends after the last."""
    app = BackupApp()
    there, back = (Command("click_input", target=Target(name)) for name in ("Backup", "General"))

    class Restless(Reader):
        async def act(self, turn: Turn) -> Decision:
            self.turns.append(turn)
            return Decision(AgentStatus.FINISH, (there, back, there, back))

    agent = Restless(app)
    run(session_of(tmp_path, None, app, agent, recall="ahead"))
    assert (len(agent.turns), app.done) == (1, ["click Backup", "click General"] * 2)


@pytest.mark.parametrize("told", [True, False])
def test_what_is_hard_to_take_back_is_done_unseen_only_where_it_was_marked_and_is_answered_with(tmp_path, told):
    """ "Submit" was foreseen by the guide, marked as such; by the agent alone, it is asked again with it in view."""
    app = BackupApp(save="Submit")

    class Foresees(Reader):
        async def act(self, turn: Turn) -> Decision:
            self.turns.append(turn)
            names = ["Submit"] if turn.handed_back else ["Backup", "Schedule…", "Submit"]
            commands = tuple(Command("click_input", target=Target(name)) for name in names)
            return Decision(AgentStatus.FINISH, commands)

    agent = Reader(app) if told else Foresees(app)
    memory = memory_of(tmp_path, *BACKUP[:-1], click("Submit")) if told else None
    run(session_of(tmp_path, memory, app, agent, recall="ahead"))
    assert (len(agent.turns), app.done[-1]) == (1 if told else 2, "click Submit")
    assert told or "hard to take back" in agent.turns[1].handed_back


# ---- replay


def test_a_proven_way_is_replayed_without_asking_the_agent(tmp_path):
    """The evaluator confirms; the record is credited, and the run can be learned from."""
    app = BackupApp()
    agent = Reader(app)
    memory = memory_of(tmp_path, helped=2)
    session = session_of(tmp_path, memory, app, agent, recall="replay", save=SavePolicy("always"))
    run(session)
    assert (agent.turns, app.done, session.cost) == ([], WEEKLY, 0)
    assert memory.get("0" * 32).usage.helped == 3
    assert [one.target_control.name for one in memory.get(session.saved[0]).action.steps] == [
        "Backup",
        "Schedule…",
        "Frequency",
        "Time",
        "Save",
    ]


def test_without_an_evaluator_the_agent_confirms_the_end(tmp_path):
    """One call of the model."""
    app = BackupApp()
    agent = Reader(app)
    run(session_of(tmp_path, memory_of(tmp_path, helped=2), app, agent, recall="replay", evaluator=None))
    assert (len(agent.turns), app.done) == (1, WEEKLY)
    assert "end" in agent.turns[0].handed_back


@pytest.mark.parametrize("before", [[True], [True, True, False, True]])
def test_a_way_that_is_not_proven_is_not_replayed(tmp_path, before):
    """It is looked ahead on: the agent is asked."""
    app = BackupApp()
    agent = Reader(app)
    memory = memory_of(tmp_path)
    for number, helped in enumerate(before):
        memory.report(["0" * 32], success=helped, session=f"earlier {number}")
    run(session_of(tmp_path, memory, app, agent, recall="replay"))
    assert (len(agent.turns), app.done) == (1, WEEKLY)


def test_a_replay_hands_back_at_the_first_doubt_and_goes_on_when_the_agent_agrees(tmp_path):
    """A strange dialog: the agent closes it and takes the next step of the way; then the way is sure again."""
    app = BackupApp(strange=True)
    agent = Reader(app, foresees=False)
    run(session_of(tmp_path, memory_of(tmp_path, helped=2), app, agent, recall="replay"))
    assert (len(agent.turns), app.done) == (2, ["click Backup", "click Not now", *WEEKLY[1:]])


def test_a_replay_never_passes_what_needs_consent(tmp_path):
    """The agent is asked before it, however often the way has helped."""
    app = BackupApp(save="Submit")
    agent = Reader(app)
    memory = memory_of(tmp_path, *BACKUP[:-1], click("Submit"), helped=9)
    run(session_of(tmp_path, memory, app, agent, recall="replay"))
    assert (len(agent.turns), app.done) == (1, [*WEEKLY[:-1], "click Submit"])
    assert "hard to take back" in agent.turns[0].handed_back


def test_a_wrong_way_carries_out_nothing_after_the_first_check_that_fails(tmp_path):
    """A way of another task: what fits by name is done, and no more until the agent itself goes along."""
    wrong = (click("Backup", "TabItem"), click("Reports"), click("Schedule…"), click("General", "TabItem"))
    app = BackupApp()
    agent = Reader(app, foresees=False)
    run(session_of(tmp_path, memory_of(tmp_path, *wrong, helped=2), app, agent, recall="replay"))
    assert (app.saved, app.done) == (ANSWERS, WEEKLY)


def test_the_way_of_an_earlier_request_is_not_taken_when_memory_cannot_answer_the_next(tmp_path):
    """The store is gone after the first: the second request is the agent's alone."""

    class Failing(ExperienceMemory):
        gone = False

        def retrieve(self, task: str, **more: Any) -> Any:
            if self.gone:
                raise StorageError("the disk is gone")
            self.gone = True
            return super().retrieve(task, **more)

    known = memory_of(tmp_path, helped=2)
    memory = Failing(known.store, settings=known.settings)
    app = BackupApp()
    agent = Reader(app)
    session = session_of(tmp_path, memory, app, agent, recall="replay", user=ScriptedUser(["Once more"]))
    run(session)
    assert session.total_rounds == 2
    assert [turn.request for turn in agent.turns] == ["Once more"]
    assert app.done == WEEKLY


def test_a_way_that_misled_is_not_offered_again(tmp_path):
    """The session failed: in `ahead` and `replay` the way is gone until it helped in `advise`."""
    memory = memory_of(tmp_path, helped=2)
    no = ScriptedEvaluator(lambda request, context: {"complete": "no", "reason": "seen"})
    app = BackupApp()
    run(session_of(tmp_path, memory, app, Reader(app), recall="replay", evaluator=no))
    assert memory.guide(NEW_TASK) is None
    memory.report(["0" * 32], success=True)
    assert memory.guide(NEW_TASK) is not None


def test_an_unknown_way_of_recalling_is_refused():
    """With the names there are."""
    with pytest.raises(UsageError, match="advise, ahead, replay"):
        SessionConfig(recall="allways")


class Chooser(Reader):
    """Takes the way that was learned for what it is to do, else does what is in view."""

    asked = "schedule a backup"

    async def act(self, turn: Turn) -> Decision:
        ways = [one for one in parse_block(turn.ahead) if any("Several ways" in note for note in one.get("notes", ()))]
        fitting = [one["next_actions"] for one in ways if self.asked in one["task"].lower()]
        if not fitting or self.app.saved is not None:
            return await super().act(replace(turn, ahead="") if ways else turn)
        self.turns.append(turn)
        return Decision(AgentStatus.FINISH, tuple(map(self.command, fitting[0])))


@pytest.mark.parametrize(("asked", "calls", "credited"), [("schedule a backup", 1, 1), ("never learned", 2, 1)])
def test_of_ways_that_may_be_meant_the_one_the_agent_answers_with_is_followed(tmp_path, asked, calls, credited):
    """Each is told with what it was learned for; an agent that goes the same way by itself is led on."""
    memory, app = memory_of(tmp_path), BackupApp()
    agent = Chooser(app)
    agent.asked = asked
    session = session_of(tmp_path, memory, app, agent, request=IN_OTHER_WORDS, recall="ahead")
    run(session)
    assert app.done == WEEKLY
    assert len(agent.turns) == calls
    assert memory.get("0" * 32).usage.helped == credited
    assert len(session.followed) == credited
