"""Views of a record: what goes out has the seeds' shape, what comes back is the same record."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest

from ufo_experience import TaskExperience, build_experience_summary
from ufo_experience.errors import DataError
from ufo_experience.integrations.formats import to_plan_file, to_saved_session, to_ufo_example
from ufo_experience.schema import (
    Action,
    Control,
    Experience,
    Model,
    Outcome,
    Provenance,
    State,
    Step,
    Trust,
)

NOON = datetime(2025, 11, 12, 12, 0, tzinfo=timezone.utc)
SEED_KEYS = [
    "task_id",
    "task_description",
    "application",
    "steps",
    "total_steps",
    "duration_seconds",
    "success",
    "metadata",
]
STEP_KEYS = ["step_number", "observation", "action_type", "target_control", "parameters", "result"]


def an_experience(**changes: object) -> Experience:
    """A record with something in every field."""
    steps = (
        Step(
            step_number=1,
            observation="The main page lists mail",
            action_type="click_input",
            target_control=Control(name="New Email", type="Button"),
            agent="AppAgent",
            application="OUTLOOK.EXE",
            timestamp=NOON,
            cost=0.01,
        ),
        Step(
            step_number=2,
            action_type="set_edit_text",
            target_control=Control(name="To", type="Edit"),
            parameters={"text": "{{input:1}}"},
            timestamp=NOON + timedelta(seconds=4),
        ),
        Step(step_number=3, action_type="click_input", target_control=Control(name="Sned"), error="not found"),
    )
    record = Experience(
        id="0" * 31 + "1",
        state=State(
            task="send an email to <recipient>",
            request="Email Jane",
            application="OUTLOOK.EXE",
            env="windows",
            signals={"tone": "kind"},
            tags=("mail",),
        ),
        action=Action(strategy="compose", skill="mail", parameters={"draft": True}, steps=steps, tips=("Check To.",)),
        outcome=Outcome(success=True, score=0.9, latency_ms=5000, cost=0.02, tokens=1542, evaluated_by="evaluator"),
        salience=0.7,
        episode_id="ep-1",
        created_at=NOON,
        trust=Trust.VERIFIED,
        provenance=Provenance(source="logs/a", format="ufo-v2", session="s-1", notes=("a note",)),
        slots={"input:1": "email"},
        preconditions=("Outlook is open",),
        avoid_when=("offline",),
    )
    return record.model_copy(update=changes)


def test_task_experience_has_exactly_the_seeds_keys_and_values() -> None:
    """The dict is what the seed's `to_dict` gives, controls as plain names."""
    view = TaskExperience.of(an_experience()).to_dict()
    assert list(view) == SEED_KEYS
    assert [list(step) for step in view["steps"]] == [STEP_KEYS] * 3
    assert view["steps"][1] == {
        "step_number": 2,
        "observation": "",
        "action_type": "set_edit_text",
        "target_control": "To",
        "parameters": {"text": "{{input:1}}"},
        "result": "success",
    }
    assert (view["task_description"], view["application"]) == ("Email Jane", "OUTLOOK.EXE")
    assert (view["total_steps"], view["duration_seconds"], view["success"]) == (3, 5.0, True)


def test_task_experience_of_no_application_says_unknown() -> None:
    """The seed writes "Unknown" where a trace names no application."""
    assert TaskExperience.of(an_experience(state=State(task="t"))).application == "Unknown"


def test_a_record_without_steps_still_has_a_ufo_entry() -> None:
    """Advice becomes an entry without a function; UFO's readers find every key."""
    example = to_ufo_example(an_experience(action=Action(strategy="ask first")))["example"]
    assert (example["Function"], example["Args"], example["Thought"], example["Plan"]) == ("", {}, "", "<FINISH>")


def test_nothing_is_invented_for_what_a_log_does_not_tell():
    """No thought is made up; what an agent of UFO 3 claims after a step is its comment, not what it saw before."""
    step = Step(step_number=1, action_type="click", target_control={"name": "New"}, observation="The window is open.")
    told = {"action": Action(steps=(step,)), "preconditions": ("Mail is open",)}
    v2, v3 = (
        to_ufo_example(an_experience(**told, provenance=Provenance(format=f"ufo-{release}")))["example"]
        for release in ("v2", "v3")
    )
    assert (v2["Observation"], v2["Thought"], v2["Comment"]) == ("The window is open.", "", "")
    assert (v3["Observation"], v3["Thought"], v3["Comment"]) == ("Mail is open", "", "The window is open.")


def test_the_metadata_of_a_task_experience_is_the_whole_record() -> None:
    """Through JSON and back."""
    record = an_experience(outcome=Outcome(success=None))
    view = json.loads(json.dumps(TaskExperience.of(record).to_dict()))
    assert (view["success"], view["duration_seconds"]) == (None, 4.0)
    assert Experience.model_validate(view["metadata"]) == record


def test_summary_is_the_seeds_text_over_ten_steps() -> None:
    """Task, App and the first ten steps, from a dict and from a record alike."""
    steps = [{"action_type": "click", "target_control": str(number)} for number in range(12)]
    view = {"task_description": "Sort", "application": "Excel", "steps": steps}
    expected = "Task: Sort App: Excel Steps: " + " -> ".join(f"click({number})" for number in range(10))
    assert build_experience_summary(view) == expected
    record = an_experience()
    assert build_experience_summary(record) == build_experience_summary(TaskExperience.of(record).to_dict())
    with pytest.raises(DataError):
        build_experience_summary({"steps": []})


@pytest.mark.parametrize(("success", "word"), [(True, "success"), (False, "failure"), (None, "unknown")])
def test_saved_session_has_the_documents_shape(success: bool | None, word: str) -> None:
    """Keys and the word of the outcome are those of UFO's session document."""
    saved = to_saved_session(an_experience(outcome=Outcome(success=success, score=0.95, cost=0.0234, tokens=1542)))
    trajectory = saved.pop("trajectory")
    assert saved == {
        "task": "send an email to <recipient>",
        "request": "Email Jane",
        "outcome": word,
        "evaluation_score": 0.95,
        "cost": 0.0234,
        "tokens": 1542,
    }
    assert trajectory[0] == {
        "round": 0,
        "agent": "AppAgent",
        "observation": "The main page lists mail",
        "action": "click_input",
        "parameters": {"label": "New Email"},
    }
    assert len(trajectory) == 3


def test_plan_file_holds_the_actions_that_worked() -> None:
    """A follower replays what worked; the failed click is no part of the plan."""
    assert to_plan_file(an_experience()) == {
        "request": "Email Jane",
        "actions": [
            {"agent": "AppAgent", "action": "click_input", "parameters": {"label": "New Email"}},
            {"agent": "AppAgent", "action": "set_edit_text", "parameters": {"label": "To", "text": "{{input:1}}"}},
        ],
    }


def test_ufo_example_structures_the_first_action_and_numbers_the_rest() -> None:
    """One structured action, the rest as "(1) …" lines of the plan."""
    entry = to_ufo_example(an_experience())
    assert list(entry) == ["example", "Tips", "request", "Sub-task", "app_list"]
    assert list(entry["example"]) == [
        "Observation",
        "Thought",
        "ControlLabel",
        "ControlText",
        "Function",
        "Args",
        "Status",
        "Plan",
        "Comment",
    ]
    assert entry["example"]["Function"] == "click_input"
    assert entry["example"]["Plan"] == '(1) set_edit_text on \'To\' with {"text": "{{input:1}}"}.'
    assert entry["example"]["Status"] == "CONTINUE"
    assert (entry["request"], entry["Sub-task"]) == ("Email Jane", "send an email to <recipient>")
    assert (entry["Tips"], entry["app_list"]) == ("Check To.", ["OUTLOOK.EXE"])


def test_a_json_schema_needs_no_record_to_be_read_before() -> None:
    """Models are built when they are first used; one that stands as a default in another is not, until then."""

    class Part(Model):
        size: int = 1

    class Whole(Model):
        part: Part = Part.model_construct()

    assert Whole.model_json_schema()["properties"]["part"]["default"] == {"size": 1}
