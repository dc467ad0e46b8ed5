"""Sessions and rounds: who works, when it ends, what is judged, and what follows."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.session_parts import (
    YES,
    Desktop,
    ScriptedAgent,
    ScriptedEvaluator,
    ScriptedUser,
    act,
    assign,
    click,
    config,
    fill,
    linux,
    log,
    parts,
    run,
)
from tests.test_blackboard import PNG
from ufo_experience.errors import StorageError, UsageError
from ufo_experience.session import (
    AgentStatus,
    Context,
    ContextNames,
    Decision,
    Interactor,
    LinuxSession,
    LocalCommandDispatcher,
    OpenAIOperatorSession,
    Session,
)

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


def test_a_subtask_that_failed_goes_back_to_the_host(tmp_path):
    """FAIL of the app agent is not the end: the host hears of it and may finish, or fail, itself."""
    host = [assign("Write it"), Decision(AgentStatus.FAIL, result="no mail program")]
    made = parts(tmp_path, [Decision(AgentStatus.FAIL)], host, evaluator=YES)
    session = Session("mail", True, 1, "Send it", parts=made)
    results = run(session)
    assert results[0]["result"] == "no mail program"
    assert session.context.get(ContextNames.PREVIOUS_SUBTASKS) == [{"subtask": "Write it", "status": "FAIL"}]
    assert (session.current_round.state, session.is_error(), len(results)) == (AgentStatus.FAIL, False, 2)


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
    for name, user in {"no": ScriptedUser(), "yes": ScriptedUser(yes=True), "absent": Interactor()}.items():
        desktop = Desktop()
        session = linux(tmp_path, [decision], desktop=desktop, user=user)
        run(session)
        done[name] = (desktop.done, log(session)[0]["action"][0]["result"]["error"])
    refused = ([], "the user did not allow it")
    assert done == {"no": refused, "yes": (["click Delete"], None), "absent": refused}


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
    one.get(ContextNames.TRAJECTORY).append("x")
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
    devices = [(name, f"_{name}") for name in ("NUL.txt", "con .log", "COM¹")]
    for task, name in (("a", "a"), ("a", "a-2"), ("../x/y", "_x_y"), ("  ", "_"), *devices):
        session = LinuxSession(task, False, 0, "Do it", parts=parts(tmp_path, [act()]))
        assert Path(session.log_path) == tmp_path / "logs" / name


def test_a_log_root_that_cannot_be_written_is_a_storage_error(tmp_path):
    """A file in the way is named."""
    (tmp_path / "logs").write_text("in the way")
    with pytest.raises(StorageError, match="logs"):
        linux(tmp_path, [act()])
