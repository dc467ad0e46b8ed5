"""When a session is saved, and when memory is asked: before a request, a sub-task, a risky or repeated step."""

from __future__ import annotations

import pytest

from tests.session_parts import (
    FINISH,
    YES,
    Desktop,
    ScriptedEvaluator,
    ScriptedUser,
    act,
    assign,
    click,
    config,
    linux,
    log,
    parts,
    run,
)
from ufo_experience import ExperienceMemory
from ufo_experience.errors import StorageError, UsageError
from ufo_experience.session import Decision, SavePolicy, Session

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
    settings = config(tmp_path, save=SavePolicy(mode))
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
        settings = config(tmp_path, save=SavePolicy("ask"))
        user = ScriptedUser(yes=yes)
        run(linux(tmp_path, [act(click("A"))], evaluator=YES, memory=memory, config=settings, user=user))
        counts[yes] = (user.asked, len(memory.store.ids()))
    assert counts == {True: (["experience"], 1), False: (["experience"], 0)}


def test_an_unjudged_session_is_never_filed_as_a_success(tmp_path):
    """FINISH is the agent's claim: the outcome is unknown, and it is not injected."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    settings = config(tmp_path, save=SavePolicy("always"))
    session = linux(tmp_path, [act(click("Save"))], request="Save the report", memory=memory, config=settings)
    run(session)
    assert memory.store.get(session.saved[0]).outcome.success is None
    assert list(memory.retrieve("Save the report")) == []


def test_a_memory_that_refuses_leaves_session_and_log_whole(tmp_path, caplog):
    """Whatever the store says, results and log are there, and the refusal is logged."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    memory.settings = memory.settings.model_copy(update={"summarizer": "openai:no-key"})
    settings = config(tmp_path, save=SavePolicy("always"))
    session = linux(tmp_path, [act(click("A"))], evaluator=YES, memory=memory, config=settings)
    results = run(session)
    assert (session.saved, len(results), len(log(session))) == ((), 2, 2)


@pytest.mark.parametrize(
    ("judgement", "score"),
    [
        ({"complete": "yes"}, 1.0),
        ({"complete": "no"}, None),
        ({"complete": "unsure", "score": 0.9}, 0.9),
        ({"complete": "unsure", "sub_scores": {"a": "yes", "b": "no"}}, 0.5),
        ({"sub_scores": [{"name": "a", "evaluation": "Yes"}]}, 1.0),
        ({"score": float("nan"), "complete": "unsure"}, None),
        ({"sub_scores": 7}, None),
        (None, None),
    ],
)
def test_scores_come_from_the_judgement(judgement, score):
    """A number if given, else the verdict, else the share of sub-scores, in both of UFO's shapes; none never passes."""
    passed = [step for step in range(100) if SavePolicy("auto", step / 100).passes(judgement)]
    assert passed == ([] if score is None else list(range(round(score * 100))))


def test_auto_never_passes_a_no_and_wants_more_than_the_threshold():
    """Equal is not above; a "no" with a high score stays a no."""
    policy = SavePolicy("auto", 0.7)
    assert policy.passes({"score": 0.71})
    assert not policy.passes({"score": 0.7})
    assert not policy.passes({"complete": "no", "score": 0.9})
    assert not policy.passes(None)


def test_unknown_save_modes_and_thresholds_are_refused():
    """With the known names in the message."""
    with pytest.raises(UsageError, match="always, ask, auto, always_not"):
        SavePolicy("sometimes")
    with pytest.raises(UsageError, match="threshold"):
        SavePolicy("auto", 1.5)


# ---- memory before a round and a step


def test_the_application_of_the_last_round_does_not_narrow_the_next_request(tmp_path):
    """The host has yet to choose one; the sub-task is asked for inside the application it chose."""
    asked = []

    class Listening(ExperienceMemory):
        def retrieve(self, task, *, application=None, **more):
            asked.append((task, application))
            return super().retrieve(task, application=application, **more)

    user = ScriptedUser(["First", "Second"])
    host = [assign("One", "olk.exe"), Decision(FINISH), assign("Two", "excel.exe")]
    memory = Listening.open(tmp_path / "db", embedder="hashing")
    run(Session("t", True, 0, parts=parts(tmp_path, host=host, user=user, memory=memory)))
    assert asked == [("First", None), ("One", "olk.exe"), ("Second", None), ("Two", "excel.exe")]


def test_a_subtask_is_helped_inside_its_application(tmp_path):
    """The app agent sees how the sub-task was done there before; in another application there is nothing to see."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    settings = config(tmp_path, save=SavePolicy("always"))

    def mail(request: str, application: str) -> tuple[str, str]:
        host = [assign("Compose an email", application)]
        made = parts(tmp_path, [act(click("New mail"))], host, evaluator=YES, memory=memory, config=settings)
        run(Session("t", True, 0, request, parts=made))
        return made.host_agent.turns[0].experiences, made.app_agent.turns[0].experiences

    assert mail("Invite everybody to lunch", "olk.exe") == ("", "")
    elsewhere = mail("Book a room upstairs", "notepad.exe")
    host, app = mail("Thank the speaker afterwards", "olk.exe")
    assert elsewhere == ("", "")
    assert host == ""
    assert '1. click "New mail" (Button)' in app


def test_a_memory_that_cannot_answer_does_not_stop_the_session(tmp_path, caplog):
    """The work is done, and it is logged why memory was silent."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")

    class Down(ExperienceMemory):
        def retrieve(self, task, **more):
            raise StorageError("the disk is gone")

    desktop = Desktop()
    down = Down(memory.store, settings=memory.settings)
    session = linux(tmp_path, [act(click("A"))], desktop=desktop, memory=down)
    run(session)
    assert desktop.done == ["click A"]
    assert "the disk is gone" in caplog.text


def test_blame_goes_to_what_was_shown_when_a_run_fails(tmp_path):
    """An evaluator's no counts as hurt; no judgement credits nobody."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    settings = config(tmp_path, save=SavePolicy("always"))
    first = linux(tmp_path, [act(click("A"))], request="Print it", evaluator=YES, memory=memory, config=settings)
    run(first)
    no = ScriptedEvaluator(lambda request, context: {"complete": "no"})
    for evaluator in (no, None):
        run(linux(tmp_path, [act(click("A"))], request="Print it", evaluator=evaluator, memory=memory))
    usage = memory.store.get(first.saved[0]).usage
    assert (usage.injected, usage.helped, usage.hurt) == (1, 0, 1)
