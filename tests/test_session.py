"""Sessions and rounds: who works, when it ends, what is judged, saved, recovered from and written down."""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest
from test_blackboard import PNG

from ufo_experience.errors import DataError, StorageError, UsageError
from ufo_experience.memory import ExperienceMemory
from ufo_experience.session.context import Context, ContextNames
from ufo_experience.session.dispatcher import LocalCommandDispatcher
from ufo_experience.session.from_file import FollowerSession, FromFileSession
from ufo_experience.session.interact import AbsentUser, ConsoleInteractor, ScriptedUser
from ufo_experience.session.linux import LinuxSession
from ufo_experience.session.log_writer import SessionLog, claim_folder, folder_name
from ufo_experience.session.parts import SessionConfig, SessionParts
from ufo_experience.session.protocols import (
    DATA_COLLECTION,
    AgentError,
    AgentStatus,
    Command,
    ConnectionLostError,
    Decision,
    Result,
    ResultStatus,
    Target,
)
from ufo_experience.session.recall import is_risky
from ufo_experience.session.recovery import Done, Failure, RecoveryPolicy, attempt, execute
from ufo_experience.session.round import NOT_ALLOWED
from ufo_experience.session.save_policy import SavePolicy, score_of
from ufo_experience.session.scripted import ScriptedAgent, ScriptedEvaluator
from ufo_experience.session.windows import OpenAIOperatorSession, Session

CONTINUE, FINISH, FAIL = AgentStatus.CONTINUE, AgentStatus.FINISH, AgentStatus.FAIL
YES = ScriptedEvaluator(lambda request, context: {"complete": "yes", "reason": "seen", "sub_scores": []})
FAST = RecoveryPolicy(agent_timeout=0.2, command_timeout=0.2)


class Desktop:
    """Tools that note what was done."""

    def __init__(self) -> None:
        self.done: list[str] = []

    def dispatcher(self, **more) -> LocalCommandDispatcher:
        tools = {"click_input": self.click, "set_edit_text": self.type, "select_application_window": self.select}
        return LocalCommandDispatcher({**tools, **more})

    def click(self, target: Target) -> str:
        if target.name == "Broken":
            raise LookupError("no such control")
        self.done.append(f"click {target.name}")
        return "clicked"

    def type(self, target: Target, text: str) -> str:
        self.done.append(f"type {text}")
        return f"typed {text}"

    def select(self) -> str:
        self.done.append("select")
        return "selected"


def click(name: str, **more) -> Command:
    return Command("click_input", target=Target(name, "Button", id="7"), **more)


def fill(name: str, text: str, **more) -> Command:
    return Command("set_edit_text", {"text": text}, target=Target(name, "Edit", id="9", **more))


def act(*commands: Command, status: AgentStatus = CONTINUE, **more) -> Decision:
    return Decision(status, commands, **more)


def assign(subtask: str, application: str = "olk.exe") -> Decision:
    return act(
        Command("select_application_window"), status=AgentStatus.ASSIGN, subtask=subtask, application=application
    )


def config(tmp_path: Path, **more) -> SessionConfig:
    return SessionConfig(log_root=tmp_path / "logs", recovery=FAST, **more)


def parts(tmp_path: Path, app=(), host=(), desktop: Desktop | None = None, **more) -> SessionParts:
    settings = more.pop("config", config(tmp_path))
    return SessionParts(
        app_agent=ScriptedAgent(app),
        host_agent=ScriptedAgent(host, "HostAgent"),
        dispatcher=more.pop("dispatcher", None) or (desktop or Desktop()).dispatcher(),
        config=settings,
        **more,
    )


def linux(tmp_path: Path, app, request: str = "Do it", **more) -> LinuxSession:
    return LinuxSession("task", more.pop("should_evaluate", True), 0, request, parts=parts(tmp_path, app, **more))


def run(session):
    return asyncio.run(session.run())


def log(session, name: str = "response.log") -> list[dict]:
    path = Path(session.log_path) / name
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


# ---- rounds and agents


def test_the_host_hands_over_to_the_app_agent_and_takes_back(tmp_path):
    """HostAgent assigns, AppAgent works in the application, HostAgent finishes: as lines, in that order."""
    desktop = Desktop()
    session = Session(
        "mail", True, 1, "Send it", parts=parts(tmp_path, [act(click("New"))], [assign("Write it")], desktop)
    )
    results = run(session)
    assert desktop.done == ["select", "click New"]
    assert [(line["agent_type"], line["status"]) for line in log(session)] == [
        ("HostAgent", "ASSIGN"),
        ("AppAgent", "CONTINUE"),
        ("AppAgent", "FINISH"),
        ("HostAgent", "FINISH"),
    ]
    assert (log(session)[1]["subtask"], log(session)[1]["app_root"]) == ("Write it", "olk.exe")
    assert results == [{"request": "Send it", "result": ""}]
    assert session.context.get(ContextNames.PREVIOUS_SUBTASKS) == [{"subtask": "Write it", "status": "FINISH"}]


def test_one_agent_works_alone_on_linux(tmp_path):
    """There is no host, lines say LinuxAgent, and the application named beforehand is in them."""
    made = parts(tmp_path, [act(click("Save"))])
    session = LinuxSession("edit", True, 0, "Save it", application_name="gedit", parts=replace(made, host_agent=None))
    run(session)
    assert session.host_agent is None
    assert {(line["agent_name"], line["app_root"]) for line in log(session)} == {("LinuxAgent", "gedit")}
    assert session.current_agent_class == "ScriptedAgent"


def test_further_requests_come_from_the_user_until_done(tmp_path):
    """Each request is a round of its own; both are what is evaluated."""
    user = ScriptedUser(["First", "Second"])
    session = Session("talk", True, 0, parts=parts(tmp_path, user=user))
    run(session)
    assert [one.request for one in session.rounds.values()] == ["First", "Second"]
    assert json.loads(session.request_to_evaluate()) == [{"request": "First"}, {"request": "Second"}]
    assert [line["round_num"] for line in log(session)] == [0, 1]


def test_no_request_is_no_round(tmp_path):
    """An empty first request ends the session before it begins."""
    session = Session("talk", True, 0, parts=parts(tmp_path, user=ScriptedUser([])))
    assert run(session) == []
    assert session.total_rounds == 0


def test_the_step_limit_ends_a_round_and_the_session(tmp_path):
    """An agent that never finishes stops after max_step steps."""
    session = linux(tmp_path, [act(click("Next"))] * 9, config=config(tmp_path, max_step=4))
    run(session)
    assert (session.step, len(log(session)), session.is_finished(), session.is_error()) == (4, 4, True, False)


def test_the_round_limit_ends_the_session(tmp_path):
    """No more than max_round requests are taken."""
    user = ScriptedUser(["a", "b", "c"])
    session = Session("talk", True, 0, parts=parts(tmp_path, user=user, config=config(tmp_path, max_round=2)))
    run(session)
    assert session.total_rounds == 2


def test_after_a_failed_action_the_rest_of_the_step_is_skipped(tmp_path):
    """Typing must not go where a failed click did not lead."""
    desktop = Desktop()
    session = linux(tmp_path, [act(click("Broken"), fill("Name", "x"))], desktop=desktop)
    run(session)
    statuses = [action["result"]["status"] for action in log(session)[0]["action"]]
    assert (statuses, desktop.done) == (["failure", "skipped"], [])


def test_a_sensitive_action_needs_consent(tmp_path):
    """CONFIRM asks the user; refused means skipped, allowed means done; nobody to ask means refused."""
    decision = act(click("Delete"), status=AgentStatus.CONFIRM)
    done = {}
    for name, user in {"no": ScriptedUser(), "yes": ScriptedUser(yes=True), "absent": AbsentUser()}.items():
        desktop = Desktop()
        session = linux(tmp_path, [decision], desktop=desktop, user=user)
        run(session)
        done[name] = (desktop.done, log(session)[0]["action"][0]["result"]["error"])
    assert done == {"no": ([], NOT_ALLOWED), "yes": (["click Delete"], None), "absent": ([], NOT_ALLOWED)}


def test_a_question_of_the_agent_is_answered_on_the_blackboard(tmp_path):
    """PENDING does nothing but ask; question and answer are there for the next turn."""
    ask = Decision(AgentStatus.PENDING, (click("Send"),), questions=("To whom?",))
    desktop = Desktop()
    session = linux(tmp_path, [ask], desktop=desktop, user=ScriptedUser(reply="Jane"))
    run(session)
    assert desktop.done == []
    assert session.blackboard.questions.list_content == [{"question": "To whom?", "answer": "Jane"}]


def test_a_missing_agent_is_named(tmp_path):
    """A Windows session without a host agent cannot be made."""
    with pytest.raises(UsageError, match="Session needs host_agent"):
        Session("t", True, 0, parts=replace(parts(tmp_path), host_agent=None))


def test_the_operator_works_in_place_of_the_app_agent(tmp_path):
    """normal_operator: host and operator; operator mode: the operator alone."""
    operator = ScriptedAgent([act(click("Install"))], "Operator")
    made = replace(parts(tmp_path, host=[assign("Install it")]), operator_agent=operator)
    both = Session("t", True, 0, "Install", mode="normal_operator", parts=made)
    run(both)
    alone = OpenAIOperatorSession("t", True, 0, "Install", parts=replace(made, operator_agent=ScriptedAgent([act()])))
    run(alone)
    assert len(operator.turns) == 2
    assert (alone.host_agent, log(alone)[0]["agent_name"]) == (None, "OpenAIOperatorAgent")


def test_reset_begins_anew(tmp_path):
    """No rounds, no results, step 0, and a log folder of its own."""
    session = linux(tmp_path, [act(click("A"))])
    run(session)
    before = session.log_path
    session.reset()
    assert (session.rounds, session.results, session.step, session.is_finished()) == ({}, [], 0, False)
    assert session.log_path != before
    assert Path(before, "response.log").exists()


def test_no_two_contexts_share_a_default():
    """What one session appends, another does not see."""
    one, other = Context(), Context()
    one.append(ContextNames.TRAJECTORY, "x")
    assert other.get(ContextNames.TRAJECTORY) == []
    with pytest.raises(UsageError, match="no command dispatcher"):
        _ = one.command_dispatcher


# ---- evaluation


def test_a_judgement_is_a_result_and_a_line(tmp_path):
    """With level, request and type as UFO writes them, and its cost added."""
    judge = ScriptedEvaluator(lambda request, context: {"complete": "yes", "reason": "r"}, cost=0.5)
    session = linux(tmp_path, [], evaluator=judge)
    results = run(session)
    wanted = {"complete": "yes", "reason": "r", "level": "session", "type": "evaluation_result"}
    assert wanted.items() <= results[-1].items()
    assert log(session, "evaluation.log") == judge.shown == [results[-1]]
    assert session.cost == pytest.approx(0.5)


def test_evaluation_is_tried_again_without_screenshots(tmp_path):
    """Whatever the first attempt raises; when the second fails too, the outcome stays unknown."""

    class Blind(ScriptedEvaluator):
        def evaluate(self, request, log_path, eva_all_screenshots, context):
            answer = super().evaluate(request, log_path, eva_all_screenshots, context)
            if eva_all_screenshots:
                raise ZeroDivisionError("too many images")
            return answer

    judge = Blind(lambda request, context: {"complete": "no"})
    session = linux(tmp_path, [], evaluator=judge)
    assert run(session)[-1]["complete"] == "no"
    assert judge.asked_for_screenshots == [True, False]

    broken = linux(tmp_path, [], evaluator=ScriptedEvaluator(lambda request, context: {"complete": 1 / 0}))
    assert run(broken) == [{"request": "Do it", "result": ""}]
    assert log(broken, "evaluation.log") == []


def test_an_error_is_not_evaluated(tmp_path):
    """As in UFO: a session that ended in an error has no judgement."""
    session = linux(tmp_path, [act(status=AgentStatus.ERROR, result="lost")], evaluator=YES)
    run(session)
    assert session.is_error()
    assert log(session, "evaluation.log") == []
    assert session.context.get(ContextNames.ERROR_MESSAGE) == "lost"


def test_should_evaluate_false_asks_nobody(tmp_path):
    """The caller's word counts."""
    session = linux(tmp_path, [], evaluator=YES, should_evaluate=False)
    run(session)
    assert log(session, "evaluation.log") == []


# ---- what follows a session


def test_the_end_state_is_captured(tmp_path):
    """Window, full screen and UI tree, where they are configured; images in any of three forms."""
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    tools = {
        "capture_window_screenshot": lambda: url,
        "capture_desktop_screenshot": lambda all_screens: base64.b64encode(PNG).decode(),
        "get_ui_tree": lambda: {"name": "Window"},
    }
    settings = config(tmp_path, save_ui_tree=True, save_full_screen=True)
    session = linux(tmp_path, [], dispatcher=LocalCommandDispatcher(tools), config=settings)
    session.application_window_info = {"name": "gedit"}
    run(session)
    folder = Path(session.log_path)
    assert (folder / "action_step_final.png").read_bytes() == PNG == (folder / "desktop_final.png").read_bytes()
    assert json.loads((folder / "ui_trees" / "ui_tree_final.json").read_text("utf-8")) == {"name": "Window"}


def test_a_snapshot_that_cannot_be_had_does_not_end_the_session(tmp_path, caplog):
    """No tool for it, or no image: a warning."""
    session = linux(tmp_path, [], dispatcher=LocalCommandDispatcher({"capture_window_screenshot": lambda: "text"}))
    session.application_window = object()
    run(session)
    assert "gave no image" in caplog.text
    assert not (Path(session.log_path) / "action_step_final.png").exists()


def test_the_cost_is_told_where_it_is_known(tmp_path):
    """In dollars, or that it is not available."""
    told = []
    for decisions in ([act(cost=0.25)], []):
        user = ScriptedUser()
        run(linux(tmp_path, decisions, user=user))
        told += user.shown
    assert told == ["Total request cost of the session: $0.25", "Cost is not available."]


def test_the_report_shows_text_of_the_log_as_text(tmp_path):
    """Steps, judgement and request are there; markup in them is not markup of the report."""
    session = linux(tmp_path, [act(click("Save"))], request="Save ![x](http://evil)", evaluator=YES)
    run(session)
    report = (Path(session.log_path) / "output.md").read_text("utf-8")
    assert "- **Total Steps**: 2" in report
    assert "**Complete**: yes. seen" in report
    assert "click\\_input" in report
    assert "![x](" not in report


def test_each_session_has_a_folder_of_its_own(tmp_path):
    """The same task twice gives two folders; a task is never a path or a device."""
    first, second = (claim_folder(tmp_path, "mail") for _ in range(2))
    assert (first.name, second.name) == ("mail", "mail-2")
    names = {task: folder_name(task) for task in ("../../etc", "a/b", "CON", "nul.txt", "", "...", "é x" * 80)}
    assert names["../../etc"] == "_.._etc"
    assert names["a/b"] == "a_b"
    assert names["CON"] == "_CON"
    assert names["nul.txt"] == "_nul.txt"
    assert names[""] == names["..."] == "_"
    assert len(names["é x" * 80]) <= 100


def test_a_log_root_that_cannot_be_written_is_a_storage_error(tmp_path):
    """A file in the way is named."""
    (tmp_path / "logs").write_text("in the way")
    with pytest.raises(StorageError, match="cannot be made"):
        SessionLog.create(tmp_path / "logs", "task")


# ---- saving


@pytest.mark.parametrize(
    ("mode", "complete", "saved"),
    [
        ("always", "yes", 1),
        ("always", "no", 1),
        ("auto", "yes", 1),
        ("auto", "no", 0),
        ("auto", "unsure", 0),
        ("always_not", "yes", 0),
    ],
)
def test_a_session_is_saved_by_policy(tmp_path, mode, complete, saved):
    """`always` saves a failure as a failure; `auto` only what passes the threshold."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    judge = ScriptedEvaluator(lambda request, context: {"complete": complete, "reason": "r"})
    settings = config(tmp_path, save=SavePolicy.of(mode))
    session = linux(tmp_path, [act(click("Save"))], evaluator=judge, memory=memory, config=settings)
    run(session)
    assert len(session.saved) == saved == len(memory.store.ids())
    for identifier in session.saved:
        assert memory.store.get(identifier).outcome.success is (complete == "yes")


def test_ask_saves_what_the_user_wants(tmp_path):
    """Asked once; the answer counts."""
    counts = {}
    for yes in (True, False):
        memory = ExperienceMemory.open(tmp_path / f"db-{yes}", embedder="hashing")
        settings = config(tmp_path, save=SavePolicy.of("ask"))
        user = ScriptedUser(yes=yes)
        run(linux(tmp_path, [act(click("A"))], evaluator=YES, memory=memory, config=settings, user=user))
        counts[yes] = (user.asked, len(memory.store.ids()))
    assert counts == {True: (["experience"], 1), False: (["experience"], 0)}


def test_an_unjudged_session_is_never_filed_as_a_success(tmp_path):
    """FINISH is the agent's claim: the outcome is unknown, and it is not injected."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    settings = config(tmp_path, save=SavePolicy.of("always"))
    session = linux(tmp_path, [act(click("Save"))], request="Save the report", memory=memory, config=settings)
    run(session)
    assert memory.store.get(session.saved[0]).outcome.success is None
    assert list(memory.retrieve("Save the report")) == []


def test_a_memory_that_refuses_leaves_session_and_log_whole(tmp_path, caplog):
    """Whatever the store says, results and log are there, and the refusal is logged."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    memory.settings = memory.settings.model_copy(update={"summarizer": "openai:no-key"})
    settings = config(tmp_path, save=SavePolicy.of("always"))
    session = linux(tmp_path, [act(click("A"))], evaluator=YES, memory=memory, config=settings)
    results = run(session)
    assert (session.saved, len(results), len(log(session))) == ((), 2, 2)


def test_scores_come_from_the_judgement():
    """A number if given, else the verdict, else the share of sub-scores, in both of UFO's shapes."""
    assert score_of(None) is None
    assert score_of({"complete": "yes"}) == 1.0
    assert score_of({"complete": "no", "score": 0.9}) == 0.9
    assert score_of({"complete": "unsure", "sub_scores": {"a": "yes", "b": "no"}}) == 0.5
    assert score_of({"sub_scores": [{"name": "a", "evaluation": "Yes"}]}) == 1.0
    assert score_of({"score": float("nan"), "complete": "unsure"}) is None
    assert score_of({"sub_scores": 7}) is None


def test_auto_never_passes_a_no_and_wants_more_than_the_threshold():
    """Equal is not above; a "no" with a high score stays a no."""
    policy = SavePolicy.of("auto", 0.7)
    assert policy.passes({"score": 0.71})
    assert not policy.passes({"score": 0.7})
    assert not policy.passes({"complete": "no", "score": 0.9})
    assert not policy.passes(None)


def test_unknown_save_modes_and_thresholds_are_refused():
    """With the known names in the message."""
    with pytest.raises(UsageError, match="always, ask, auto, always_not"):
        SavePolicy.of("sometimes")
    with pytest.raises(UsageError, match="threshold"):
        SavePolicy.of("auto", 1.5)


# ---- recovery


def test_an_agent_error_is_logged_and_asked_again(tmp_path):
    """Of any type; the line says ERROR, and the round goes on."""
    desktop = Desktop()
    session = linux(
        tmp_path, [AgentError("overloaded"), act(click("A")), KeyError("x"), act(click("B"))], desktop=desktop
    )
    run(session)
    assert desktop.done == ["click A", "click B"]
    assert [line["status"] for line in log(session)] == ["ERROR", "CONTINUE", "ERROR", "CONTINUE", "FINISH"]
    assert "overloaded" in log(session)[0]["last_error"]
    assert not session.is_error()


def test_agent_errors_in_a_row_end_the_round_in_error(tmp_path):
    """One more than agent_retries; the session is in error, with the reason."""
    session = linux(tmp_path, [AgentError("down")] * 5)
    run(session)
    assert (session.step, session.is_error()) == (2, True)
    assert "down" in session.context.get(ContextNames.ERROR_MESSAGE)


def test_an_agent_that_does_not_answer_is_not_waited_for(tmp_path):
    """It counts as an agent error."""

    class Asleep(ScriptedAgent):
        async def act(self, turn):
            await asyncio.sleep(60)

    settings = replace(config(tmp_path), recovery=RecoveryPolicy(agent_timeout=0.05))
    made = replace(parts(tmp_path, config=settings), app_agent=Asleep())
    session = LinuxSession("t", True, 0, "Do it", parts=made)
    run(session)
    assert session.is_error()
    assert "no answer within 0.05 s" in log(session)[0]["last_error"]


class Unreliable:
    """A dispatcher that plays faults before it answers."""

    def __init__(self, *faults: BaseException | None, back: bool = True) -> None:
        self.faults, self.back, self.calls, self.reconnects = list(faults), back, [], 0

    async def execute_commands(self, commands, timeout=None):
        self.calls += [command.call_id for command in commands]
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            raise fault
        return [Result(result="done", call_id=command.call_id) for command in commands]

    async def reconnect(self) -> bool:
        self.reconnects += 1
        return self.back


def executed(dispatcher: Unreliable, command: Command, **policy) -> Result:
    [(_, result)] = asyncio.run(execute(dispatcher, [command], RecoveryPolicy(**policy)))
    return result


def test_a_look_that_timed_out_is_repeated_and_an_action_is_not():
    """An action may have been done: the result says so instead."""
    look, action = Unreliable(TimeoutError()), Unreliable(asyncio.TimeoutError())
    assert executed(look, Command("get_ui_tree", tool_type=DATA_COLLECTION)).ok
    result = executed(action, click("Send"))
    assert (len(look.calls), len(action.calls), result.status) == (2, 1, ResultStatus.FAILURE)
    assert "may have been executed" in result.error
    assert executed(Unreliable(TimeoutError()), click("Send"), retry_actions=True).ok


def test_after_a_lost_connection_the_same_call_is_sent_again():
    """Under the same id, so that the other side can tell."""
    dispatcher = Unreliable(ConnectionResetError())
    assert executed(dispatcher, click("Send")).ok
    assert dispatcher.reconnects == 1
    assert dispatcher.calls[0] == dispatcher.calls[1]


def test_a_connection_that_stays_lost_aborts_the_session(tmp_path):
    """The step is in the log, the session in error, and nothing is evaluated."""
    dispatcher = Unreliable(ConnectionLostError("gone"), back=False)
    session = linux(tmp_path, [act(click("Send"))], dispatcher=dispatcher, evaluator=YES)
    run(session)
    assert session.is_error()
    assert [line["status"] for line in log(session)] == ["ERROR"]
    assert "gone" in log(session)[0]["last_error"]


def test_a_malformed_command_is_skipped():
    """Unknown parameters never reach the tool; an unknown tool is a failure."""
    desktop = Desktop()
    result = executed(desktop.dispatcher(), Command("set_edit_text", {"txt": "x"}))
    assert (result.status, desktop.done) == (ResultStatus.SKIPPED, [])
    [direct] = asyncio.run(desktop.dispatcher().execute_commands([Command("set_edit_text", {"txt": "x"})]))
    assert direct.status is ResultStatus.SKIPPED
    assert "wrong parameters" in direct.error
    assert executed(Unreliable(DataError("bad")), click("A")).status is ResultStatus.SKIPPED
    assert executed(desktop.dispatcher(), Command("fly")).error == "no tool 'fly'"


def test_attempt_tells_how_work_ended():
    """A value, a timeout, an error of any type: nothing passes."""

    async def give():
        return 7

    async def fail():
        raise ZeroDivisionError

    async def both():
        return await attempt(give()), await attempt(fail()), await attempt(asyncio.sleep(9), 0.01)

    done, failed, late = asyncio.run(both())
    assert done == Done(7)
    assert isinstance(failed, Failure)
    assert (failed.kind, failed.message) == ("agent", "ZeroDivisionError")
    assert isinstance(late, Failure)
    assert late.kind == "timeout"


def test_a_command_that_cannot_be_written_down_is_not_executed(tmp_path):
    """Parameters that contain themselves are an agent error; such a result of a tool becomes text."""
    loop: list = []
    loop.append(loop)
    desktop = Desktop()
    tools = desktop.dispatcher(look=lambda: loop)
    bad, look = act(Command("set_edit_text", {"text": loop})), act(Command("look"))
    session = linux(tmp_path, [bad, look], dispatcher=tools)
    run(session)
    assert desktop.done == []
    assert "no JSON form" in log(session)[0]["last_error"]
    assert log(session)[1]["action"][0]["result"]["result"] == "[[...]]"


def test_half_a_character_does_not_stop_the_log(tmp_path):
    """A lone surrogate in typed text is written escaped, and read back."""
    session = linux(tmp_path, [act(fill("Name", "a\ud83d"))])
    run(session)
    assert log(session)[0]["action"][0]["arguments"]["text"] == "a\ud83d"


APP_KEYS = (
    "agent_type agent_name app_root application_process_name session_step round_step round_num status request llm_cost "
    "action action_type subtask action_representation result clean_screenshot_path annotated_screenshot_path "
    "concat_screenshot_path selected_control_screenshot_path desktop_screenshot_path action_success function_call "
    "save_screenshot control_log"
)
HOST_KEYS = (
    "status round_step agent_step round_num subtask_index action function_call action_representation arguments "
    "action_type request agent_type agent_name application cost results result last_error execution_times total_time "
    "control_log"
)


def test_lines_have_the_keys_of_ufo_v3_in_their_order(tmp_path):
    """For host and app agent; the locator stands among the arguments, as UFO mixes them."""
    session = Session("t", True, 0, "x", parts=parts(tmp_path, [act(fill("To", "Jane"))], [assign("Write")]))
    run(session)
    host, app, *_ = log(session)
    assert (list(host), list(app)) == (HOST_KEYS.split(), APP_KEYS.split())
    assert app["action"][0]["arguments"] == {"id": "9", "name": "To", "text": "Jane"}
    assert app["function_call"] == ["set_edit_text(id='9', name='To', text='Jane')"]
    assert app["action_success"][0]["result"]["status"] == "success"
    assert (host["subtask_index"], app["session_step"], app["round_step"]) == (-1, 1, 1)


def test_what_the_agent_said_follows_after_ufos_keys(tmp_path):
    """Observation, thought, plan and comment are kept; controls in view and the plan are in request.log too."""
    said = {"observation": "a form", "thought": "fill it", "plan": ("one",), "comment": "easy"}
    view = (Target("To", "Edit", "9"),)
    session = linux(tmp_path, [act(click("A"), controls=view, prompt="Look: data:image/png;base64,iVBO", **said)])
    run(session)
    line, asked = log(session)[0], log(session, "request.log")[0]
    assert list(line)[-4:] == list(said)
    assert asked["control_info"] == [{"id": "9", "name": "To", "type": "Edit"}]
    assert (asked["plan"], asked["prompt"]) == (["one"], "Look: <image>")


# ---- secrets


@pytest.mark.parametrize("command", [fill("Password", "hunter22"), fill("Field", "hunter22", is_password=True)])
def test_a_typed_password_reaches_no_log(tmp_path, command):
    """Not where it was typed, not in results, and not in the request that was written before it was typed."""
    session = linux(
        tmp_path, [act(click("Log in")), act(command)], request="Log in, the word is hunter22", evaluator=YES
    )
    run(session)
    text = "".join(file.read_text("utf-8") for file in Path(session.log_path).iterdir())
    assert "hunter22" not in text
    assert "{{secret:1}}" in log(session)[0]["request"]
    assert log(session)[1]["action"][0]["arguments"]["text"] == "{{secret:1}}"


def test_a_short_secret_is_hidden_where_it_is_typed_only(tmp_path):
    """A PIN of three digits occurs in other texts; those stay as they are."""
    session = linux(tmp_path, [act(fill("PIN code", "123"))], request="Pay invoice 123")
    run(session)
    assert log(session)[0]["action"][0]["arguments"]["text"] == "<secret>"
    assert log(session)[0]["request"] == "Pay invoice 123"


def test_ordinary_text_is_written_as_it_was_typed(tmp_path):
    """The log is the record; slots are made when it is learned from."""
    session = linux(tmp_path, [act(fill("Subject", "Ünïcode “x” 你好"))])
    run(session)
    assert log(session)[0]["action"][0]["arguments"]["text"] == "Ünïcode “x” 你好"


# ---- memory before a round and a step


def test_the_application_of_the_last_round_does_not_narrow_the_next_request(tmp_path):
    """The host has yet to choose one; the sub-task is asked for inside the application it chose."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    user = ScriptedUser(["First", "Second"])
    host = [assign("One", "olk.exe"), Decision(FINISH), assign("Two", "excel.exe")]
    session = Session("t", True, 0, parts=parts(tmp_path, host=host, user=user, memory=memory))
    run(session)
    asked = [(event["moment"], event["application"]) for event in log(session, "memory.audit")]
    assert asked == [("task", None), ("subtask", "olk.exe"), ("task", None), ("subtask", "excel.exe")]


def failed_before(tmp_path: Path, button: str, request: str) -> ExperienceMemory:
    """A memory with a failed run of `request` that pressed `button`."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    judge = ScriptedEvaluator(lambda request, context: {"complete": "no", "reason": "the draft was lost"})
    settings = config(tmp_path, save=SavePolicy.of("always"), recall=False)
    run(linux(tmp_path, [act(click(button))], request=request, evaluator=judge, memory=memory, config=settings))
    return memory


class Forgetful(ExperienceMemory):
    """A memory that has nothing to say before a task, to see what it says before a step."""

    def retrieve(self, task, *, top_k=None, **more):
        found = super().retrieve(task, top_k=top_k, **more)
        return found if top_k == 10 else replace(found, hits=(), negatives=())


def test_before_a_risky_step_the_agent_is_shown_past_failures_of_it(tmp_path):
    """It is asked again with the failed run before anything is executed, and may decide otherwise."""
    failed_before(tmp_path, "Delete all", "Tidy up the mailbox")
    memory = Forgetful.open(tmp_path / "db", embedder="hashing")

    class Careful(ScriptedAgent):
        async def act(self, turn):
            self.turns.append(turn)
            if turn.proposed is not None:
                return act(click("Archive"))
            return act(click("Delete all")) if turn.step == 0 else Decision(FINISH)

    desktop, agent = Desktop(), Careful()
    made = replace(parts(tmp_path, desktop=desktop, memory=memory), app_agent=agent)
    session = LinuxSession("t", True, 0, "Tidy up the mailbox", parts=made)
    run(session)
    assert desktop.done == ["click Archive"]
    assert "tried_and_failed" in agent.turns[1].warning
    assert "the draft was lost" in agent.turns[1].warning
    assert [event["moment"] for event in log(session, "memory.audit")] == ["task", "risk"]
    assert log(session, "request.log")[0]["experience_examples"] == list(session.injected) != []


def test_before_a_failed_action_is_repeated_memory_is_asked(tmp_path):
    """Once it has failed, and only if there is something that was not shown yet."""
    failed_before(tmp_path, "Broken", "Open the drawer")
    memory = Forgetful.open(tmp_path / "db", embedder="hashing")
    session = linux(tmp_path, [act(click("Broken"))] * 3, request="Open the drawer", memory=memory)
    run(session)
    events = log(session, "memory.audit")
    assert [(event["moment"], len(event["injected"])) for event in events] == [
        ("task", 0),
        ("failure", 1),
        ("failure", 0),
    ]


def test_a_memory_that_cannot_answer_does_not_stop_the_session(tmp_path):
    """The work is done, and the audit says why memory was silent."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")

    class Down(ExperienceMemory):
        def retrieve(self, task, **more):
            raise StorageError("the disk is gone")

    desktop = Desktop()
    down = Down(memory.store, memory.settings)
    session = linux(tmp_path, [act(click("A"))], desktop=desktop, memory=down)
    run(session)
    assert desktop.done == ["click A"]
    assert "the disk is gone" in log(session, "memory.audit")[0]["error"]


def test_blame_goes_to_what_was_shown_when_a_run_fails(tmp_path):
    """An evaluator's no counts as hurt; no judgement credits nobody."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    settings = config(tmp_path, save=SavePolicy.of("always"))
    first = linux(tmp_path, [act(click("A"))], request="Print it", evaluator=YES, memory=memory, config=settings)
    run(first)
    no = ScriptedEvaluator(lambda request, context: {"complete": "no"})
    for evaluator in (no, None):
        run(linux(tmp_path, [act(click("A"))], request="Print it", evaluator=evaluator, memory=memory))
    usage = memory.store.get(first.saved[0]).usage
    assert (usage.injected, usage.helped, usage.hurt) == (1, 0, 1)


def test_what_is_risky_shows_in_words_and_flags():
    """Tool and control names, the agent's own word, or its wish for consent; never a step without commands."""
    assert is_risky(act(click("Send now")))
    assert is_risky(act(click("Next"), risky=True))
    assert is_risky(act(click("Next"), status=AgentStatus.CONFIRM))
    assert not is_risky(act(click("Sender")))
    assert not is_risky(Decision(CONTINUE, risky=True))


# ---- plans


def plan(tmp_path: Path, **fields) -> Path:
    actions = [
        {"agent": "HostAgent", "action": "select_application_window", "parameters": {}},
        {"agent": "AppAgent", "action": "click_input", "parameters": {"label": "New"}},
        {"agent": "AppAgent", "action": "set_edit_text", "parameters": {"label": "To", "text": "{{input:1}}"}},
    ]
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"request": "Mail {{input:1}}", "actions": actions, **fields}), encoding="utf-8")
    return path


def replay_tools(desktop: Desktop) -> LocalCommandDispatcher:
    return LocalCommandDispatcher(
        {
            "select_application_window": desktop.select,
            "click_input": lambda target, label: desktop.click(target),
            "set_edit_text": lambda target, label, text: desktop.type(target, text),
        }
    )


def test_a_follower_replays_its_plan_exactly(tmp_path):
    """Host and app actions in order, placeholders filled, no agent and no user asked; again after a reset."""
    desktop = Desktop()
    made = parts(tmp_path, dispatcher=replay_tools(desktop))
    session = FollowerSession("f", plan(tmp_path), True, 0, parts=made, values={"input:1": "Jane"})
    for _ in range(2):
        run(session)
        session.reset()
    assert desktop.done == ["select", "click New", "type Jane"] * 2
    assert session.plan.request == "Mail Jane"
    assert made.app_agent.turns == made.host_agent.turns == []


def test_a_plan_with_an_open_placeholder_is_not_begun(tmp_path):
    """The action is named, nothing was executed."""
    with pytest.raises(DataError, match=r"actions\[2\].*\{\{input:1\}\} is not filled"):
        FollowerSession("f", plan(tmp_path), True, 0, parts=parts(tmp_path))


def test_a_replay_stops_at_the_first_action_that_fails(tmp_path):
    """It does not click on blindly: the session is in error."""
    broken = [{"action": "click_input", "parameters": {"label": name}} for name in ("Broken", "Delete")]
    desktop = Desktop()
    made = parts(tmp_path, dispatcher=replay_tools(desktop))
    session = FollowerSession("f", plan(tmp_path, actions=broken), True, 0, parts=made)
    run(session)
    assert (desktop.done, session.is_error()) == ([], True)
    assert "no such control" in session.context.get(ContextNames.ERROR_MESSAGE)


def test_a_batch_session_takes_its_request_from_the_file(tmp_path):
    """`request`, or `task`; one round; the user is not asked."""
    path = tmp_path / "task.json"
    path.write_text('{"task": "Make a spreadsheet"}', encoding="utf-8")
    user = ScriptedUser(["more"])
    session = FromFileSession("b", path, True, 0, parts=parts(tmp_path, user=user))
    run(session)
    assert [one.request for one in session.rounds.values()] == ["Make a spreadsheet"]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{}", "request"),
        ('{"request": "x", "actions": 3}', "actions"),
        ('{"request": "x", "actions": [3]}', r"actions\[0\]"),
        ('{"request": "x", "actions": [{}]}', r"actions\[0\].action"),
        ('{"request": "x", "actions": [{"action": "a", "parameters": 3}]}', r"actions\[0\].parameters"),
        ("[]", "object"),
        ("{", "JSON"),
    ],
)
def test_a_bad_plan_is_named_with_its_field(tmp_path, text, field):
    """File and field are in the message."""
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=rf"bad\.json.*{field}"):
        FollowerSession("f", path, True, 0, parts=parts(tmp_path))


# ---- the user at a terminal


def test_the_console_asks_and_ends_on_n_or_end_of_input():
    """An empty first answer is asked again; N, nothing and end of input end the session."""
    answers = iter(["", " Open Word ", "Save it", "N", "y", "maybe"])
    shown: list[str] = []
    user = ConsoleInteractor(lambda prompt: next(answers), shown.append)
    assert user.first_request() == "Open Word"
    assert user.new_request() == ("Save it", False)
    assert user.new_request() == ("N", True)
    assert user.experience_asker()
    assert not user.confirm("Delete?")
    user.show("done")
    assert shown == ["done"]

    def end(prompt: str) -> str:
        raise EOFError

    gone = ConsoleInteractor(end)
    assert gone.first_request() == ""
    assert gone.new_request() == ("", True)
