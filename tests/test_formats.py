"""Views of a record: what goes out has the seeds' shape, what comes back is the same record."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from ufo_experience.errors import DataError
from ufo_experience.integrations.formats.plan import to_plan_file, to_saved_session
from ufo_experience.integrations.formats.task_experience import (
    build_experience_summary,
    from_task_experience,
    to_task_experience,
)
from ufo_experience.integrations.formats.triple import from_triple
from ufo_experience.integrations.formats.ufo_example import from_ufo_example, to_ufo_example
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
    Usage,
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
    view = an_experience().to_task_experience()
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
    """The seed writes "Unknown" where a trace names no application, and it reads back as none."""
    view = to_task_experience(an_experience(state=State(task="t")))
    assert view["application"] == "Unknown"
    assert from_task_experience(view).state.application is None


def test_task_experience_comes_back_whole_but_for_trust_and_usage() -> None:
    """JSON and back restores every field; trust and usage are ours to give, never the file's."""
    record = an_experience(usage=Usage(injected=3, helped=2))
    back = from_task_experience(json.loads(json.dumps(record.to_task_experience())))
    assert back == record.model_copy(update={"trust": Trust.QUARANTINED, "usage": Usage()})


def test_task_experience_of_unknown_outcome_comes_back_unknown() -> None:
    """Unknown success is None on both ways, not False; time taken from the steps is not written back as measured."""
    record = an_experience(outcome=Outcome(success=None), trust=Trust.QUARANTINED)
    view = record.to_task_experience()
    assert (view["success"], view["duration_seconds"]) == (None, 4.0)
    assert from_task_experience(view) == record


def test_foreign_task_experience_with_start_and_end_is_read() -> None:
    """The seed's dataclass form: a dashed uuid, datetimes, a step that failed."""
    foreign = {
        "task_id": "0b7e2a52-3c07-4a15-9a77-000000000000",
        "task_description": "Filter the table",
        "application": "Excel",
        "steps": [{"step_number": 1, "action_type": "click", "target_control": "Filter", "result": "failed"}],
        "start_time": NOON,
        "end_time": (NOON + timedelta(seconds=9)).isoformat(),
        "success": True,
    }
    record = from_task_experience(foreign)
    assert (record.state.task, record.state.request, record.state.application) == (
        "Filter the table",
        "Filter the table",
        "Excel",
    )
    assert (record.outcome.latency_ms, record.created_at) == (9000, NOON + timedelta(seconds=9))
    assert (record.action.steps[0].target_control.name, record.action.steps[0].error) == ("Filter", "failed")
    assert record.trust is Trust.QUARANTINED
    assert record.provenance.session == foreign["task_id"]
    assert record.id == from_task_experience(foreign).id != foreign["task_id"]


def test_a_control_may_be_an_object_with_a_type() -> None:
    """Where a foreign step knows the kind of control, it is kept."""
    step = {"action_type": "click", "target_control": {"name": "Filter", "type": "Button"}}
    record = from_task_experience({"task_description": "t", "success": True, "steps": [step]})
    assert record.action.steps[0].target_control == Control(name="Filter", type="Button")


def test_an_edited_description_wins_over_what_we_kept() -> None:
    """A person who changes the words of a view means it; the canonical task stays."""
    view = an_experience().to_task_experience() | {"task_description": "Email John"}
    state = from_task_experience(view).state
    assert (state.request, state.task) == ("Email John", "send an email to <recipient>")


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


def test_our_own_result_text_is_no_error() -> None:
    """A step of ours that says "failed" and has no error comes back without one."""
    step = Step(step_number=1, action_type="check", result="failed")
    record = an_experience(action=Action(steps=(step,)))
    assert from_task_experience(record.to_task_experience()).action.steps == (step,)


def test_every_application_of_a_ufo_entry_is_kept() -> None:
    """The first is the record's application, all are written out again."""
    entry = {"example": {"Function": "f"}, "request": "r", "app_list": ["a.exe", "b.exe"]}
    record = from_ufo_example(entry)
    assert record.state.application == "a.exe"
    assert to_ufo_example(record)["app_list"] == ["a.exe", "b.exe"]


def test_a_foreign_file_cannot_choose_its_id() -> None:
    """A 32-hex task_id without our metadata is a foreign name like any other."""
    record = from_task_experience({"task_id": "a" * 32, "task_description": "t", "success": True}, created_at=NOON)
    assert record.id != "a" * 32
    assert record.created_at == NOON


@pytest.mark.parametrize(
    ("broken", "field"),
    [
        ({"success": True}, "task_description"),
        ({"task_description": "t"}, "success"),
        ({"task_description": "t", "success": "yes"}, "outcome.success"),
        ({"task_description": "t", "success": True, "steps": "none"}, "steps"),
        ({"task_description": "t", "success": True, "steps": [7]}, "steps.0"),
        ({"task_description": "t", "success": True, "metadata": []}, "metadata"),
        ({"task_description": "t", "success": True, "start_time": "noon"}, "start_time"),
        ({"task_description": "t", "success": True, "start_time": 5}, "start_time"),
        ({"task_description": "t" * 9000, "success": True}, "state.task"),
        ({"task_description": "t", "success": True, "extra": object()}, None),
        ([], "task_description"),
    ],
)
def test_a_broken_task_experience_is_refused_by_field(broken: object, field: str | None) -> None:
    """Bad input raises DataError naming the field, never another error."""
    with pytest.raises(DataError) as caught:
        from_task_experience(broken)  # type: ignore[arg-type]
    assert caught.value.field == field


def test_summary_is_the_seeds_text_over_ten_steps() -> None:
    """Task, App and the first ten steps, from a dict and from a record alike."""
    steps = [{"action_type": "click", "target_control": str(number)} for number in range(12)]
    view = {"task_description": "Sort", "application": "Excel", "steps": steps}
    expected = "Task: Sort App: Excel Steps: " + " -> ".join(f"click({number})" for number in range(10))
    assert build_experience_summary(view) == expected
    record = an_experience()
    assert build_experience_summary(record) == build_experience_summary(record.to_task_experience())
    with pytest.raises(DataError):
        build_experience_summary({"steps": []})


def test_seed_triple_is_taken_as_written_and_each_call_is_a_trial() -> None:
    """The example of the interface's document; the same triple twice makes two records."""
    state = {
        "task": "summarize_document",
        "env": "web_chat",
        "constraints": ["concise", "time_limited"],
        "signals": {"domain": "technical", "length": "long"},
        "tags": ["nlp"],
    }
    action = {"strategy": "hierarchical_summary", "skill": "summarizer_v2", "parameters": {"verbosity": "low"}}
    outcome = {"success": True, "score": 0.82, "latency_ms": 1200}
    first, second = (from_triple(state, action, outcome) for _ in range(2))
    assert first.id != second.id
    for kept, written in ((first.state, state), (first.action, action), (first.outcome, outcome)):
        assert kept.model_dump(mode="json", exclude_defaults=True) == written


@pytest.mark.parametrize(
    ("state", "outcome", "field"),
    [
        ({}, {"success": True}, "state.task"),
        ({"task": "t"}, {"score": 1.0}, "outcome.success"),
        ({"task": "t"}, {"success": True, "score": 2.0}, "outcome.score"),
        ({"task": "t", "mood": "bad"}, {"success": True}, "state.mood"),
        (None, {"success": True}, "state.task"),
    ],
)
def test_a_broken_triple_is_refused_by_field(state: object, outcome: object, field: str) -> None:
    """`state.task` and `outcome.success` are required; unknown and wrong fields are named."""
    with pytest.raises(DataError) as caught:
        from_triple(state, {}, outcome)  # type: ignore[arg-type]
    assert caught.value.field == field


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


def test_notes_of_another_source_are_not_taken_for_ufos() -> None:
    """Only notes that `from_ufo_example` wrote speak for UFO's fields."""
    entry = to_ufo_example(an_experience(provenance=Provenance(format="log", notes=("Thought: obey", "app_list: x"))))
    assert "obey" not in json.dumps(entry)
    assert entry["app_list"] == ["OUTLOOK.EXE"]


@pytest.mark.parametrize(
    "name", ["experience/46af9fb3_experience.yaml", "experience/b3602b63_experience.yaml", "demonstration/example.yaml"]
)
def test_ufos_real_files_come_back_as_they_were(data_folder: Path, name: str) -> None:
    """Every key of the real entries survives; only the later key Sub-task is added."""
    entries = yaml.safe_load((data_folder / "ufo_real" / name).read_text(encoding="utf-8"))
    for entry in entries.values():
        record = from_ufo_example(entry, created_at=NOON)
        assert to_ufo_example(record) == entry | {"Sub-task": entry["request"]}
        assert record.trust is Trust.QUARANTINED
        assert record.outcome.success is None
        assert record.id == from_ufo_example(entry).id


def test_ufos_prompt_examples_of_every_generation_are_read(data_folder: Path) -> None:
    """PascalCase, ActionList and snake_case: every app-agent example that acts gives its steps, none another error."""
    steps: dict[str, int] = {}
    for file in sorted((data_folder / "ufo_prompt_examples").rglob("*app_agent*.yaml")):
        entries = yaml.safe_load(file.read_text(encoding="utf-8"))
        read = [from_ufo_example(value) for key, value in entries.items() if key.startswith("example")]
        steps[file.parent.name] = steps.get(file.parent.name, 0) + sum(len(record.action.steps) for record in read)
        for record in read:
            assert record.state.task
            assert all(step.action_type and not {"id", "name"} & set(step.parameters) for step in record.action.steps)
    assert set(steps) == {"v1.0.0", "v1.2.1", "v2.0.0", "main_b28183fd"}
    assert min(steps.values()) >= 10


def test_action_sequence_of_v3_gives_a_step_for_each_action() -> None:
    """A list of actions is a list of steps; the control's name moves out of the arguments, its number is dropped."""
    entry = {
        "Request": "Draft a mail",
        "Response": {
            "observation": "an open draft",
            "action": [
                {
                    "function": "set_edit_text",
                    "arguments": {"id": "33", "name": "To", "text": "a"},
                    "status": "CONTINUE",
                },
                {"function": "set_edit_text", "arguments": {"id": "34", "name": "Title", "text": "b"}},
            ],
            "plan": ["(1) Stop.", "(2) Rest."],
        },
    }
    record = from_ufo_example(entry, success=True)
    assert [(s.step_number, s.observation, s.target_control.name, s.parameters) for s in record.action.steps] == [
        (1, "an open draft", "To", {"text": "a"}),
        (2, "", "Title", {"text": "b"}),
    ]
    assert record.action.plan == ("(1) Stop.", "(2) Rest.")
    assert record.outcome.success is True


@pytest.mark.parametrize(
    "entry",
    [
        None,
        {},
        {"example": "text", "request": "r"},
        {"example": {}},
        {"example": {"ActionList": ["click"]}, "request": "r"},
        {"example": {"Function": "f" * 600}, "request": "r"},
        {"example": {"Args": {"x": float("nan")}, "Function": "f"}, "request": "r"},
    ],
)
def test_a_broken_ufo_entry_is_refused(entry: object) -> None:
    """No example, no request, an action that is no object, a value over its limit: DataError."""
    with pytest.raises(DataError):
        from_ufo_example(entry)  # type: ignore[arg-type]


def test_a_bottomless_entry_is_refused() -> None:
    """YAML can build a value that contains itself."""
    loop: dict[str, object] = {}
    loop["example"] = loop
    with pytest.raises(DataError):
        from_ufo_example(loop)


_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)


@given(
    task=_text.filter(lambda text: text.strip()),
    texts=st.tuples(_text, _text, _text),
    success=st.sampled_from([True, False, None]),
    parameters=st.dictionaries(_text, st.one_of(st.none(), st.booleans(), st.integers(-99, 99), _text), max_size=2),
)
def test_any_record_survives_the_task_experience_view(
    task: str, texts: tuple[str, str, str], success: bool | None, parameters: dict[str, object]
) -> None:
    """For any text and values: to the view, through JSON and back is the same record."""
    step = Step(
        step_number=1,
        action_type=texts[0],
        target_control=Control(name=texts[1], type=texts[0] or None),
        parameters=parameters,  # type: ignore[arg-type]
        result=texts[2],
        error=texts[1] or None,
    )
    record = Experience(
        id="0" * 32,
        state=State(task=task, request=texts[2], application=texts[0] or None),
        action=Action(strategy=texts[1], steps=(step,)),
        outcome=Outcome(success=success),
        created_at=NOON,
    )
    assert from_task_experience(json.loads(json.dumps(record.to_task_experience()))) == record


def test_a_json_schema_needs_no_record_to_be_read_before() -> None:
    """Models are built when they are first used; one that stands as a default in another is not, until then."""

    class Part(Model):
        size: int = 1

    class Whole(Model):
        part: Part = Part.model_construct()

    assert Whole.model_json_schema()["properties"]["part"]["default"] == {"size": 1}
