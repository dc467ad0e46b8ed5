"""Reading UFO's logs: every synthetic session against its expected.json, and damaged logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ufo_experience
from tests.conftest import DATA, link_or_skip
from ufo_experience import read_traces
from ufo_experience.errors import DataError
from ufo_experience.schema import Step, Trajectory
from ufo_experience.traces import ReadReport

SYNTHETIC = DATA / "ufo_logs"
SESSIONS = sorted(path.parent for path in SYNTHETIC.glob("v*/*/expected.json"))


def name_of(folder: Path) -> str:
    """The fixture's name as its README writes it."""
    return f"{folder.parent.name}/{folder.name}"


def expected_of(folder: Path) -> dict[str, Any]:
    """What the fixture says a reader must find."""
    return json.loads((folder / "expected.json").read_text(encoding="utf-8"))


def check(folder: Path) -> None:
    """Compare what is read of a log with its expected.json; keys an `accept` names may have any of its values."""
    expected, report = expected_of(folder), ReadReport()
    found = list(read_traces(folder, report=report))
    parse, accept = expected["parse"], expected.get("accept", {})
    whole = [one for one in found if one.subtask is None]
    assert list(dict.fromkeys(one.request for one in whole)) == parse["requests"]
    runs = {"sessions": len({one.session for one in found}), "rounds": len(whole)}
    assert all(count in accept.get(name, [parse.get(name, count)]) for name, count in runs.items())
    told = [one.subtask for one in found if one.subtask]
    if told:  # none where each says its request again
        assert told == [one["text"] for one in parse.get("subtasks", []) if one["text"]] or "subtasks" not in parse
    bad = [one.line for one in report.problems if Path(one.file).name == "response.log" and one.code in BAD_LINES]
    assert bad in accept.get("bad_line_numbers", [parse.get("bad_line_numbers", [])])
    secrets = [item["value"] for item in expected["redactions"]]
    steps = [step for one in whole for step in one.steps if step.agent not in HOSTS]
    said = json.loads(hide(json.dumps(list(map(step_facts, steps)), ensure_ascii=False), secrets))
    wanted = [fact for step in parse.get("steps", []) if step["role"] == "app" for fact in expected_facts(step)]
    assert said == wanted or "steps" not in parse
    outcome = whole[-1].outcome if whole else None
    assert (outcome.success if outcome else None) is expected["success"]
    assert (outcome.judge if outcome else None) == ("model" if expected["evaluation"]["complete"] else None)


HOSTS = ("HostAgent", "ConstellationAgent")
BAD_LINES = ("E_JSON", "E_LONG_LINE", "E_NUL", "E_NOT_OBJECT", "E_ENCODING", "E_DEPTH")


def step_facts(step: Step) -> dict[str, Any]:
    """What expected.json says of an action, taken from our step."""
    return {
        "line": step.source.line if step.source else None,
        "app": step.application,
        "function": step.action_type,
        "args": step.parameters,
        "control": step.target_control.name,
        "ok": step.ok,
    }


def expected_facts(step: dict[str, Any]) -> list[dict[str, Any]]:
    """The same of a line of expected.json. Where v3 mixes the locator into the arguments, a step does not keep it."""
    facts = []
    for action in step["actions"]:
        args = dict(action["args"])
        if step.get("release", "").startswith("v3") or "id" in args:
            args = {key: value for key, value in args.items() if key not in ("id", "name")}
        place = {"line": step["line"], "app": step["app"], "function": action["function"], "args": args}
        facts.append(place | {"control": action["control"], "ok": action["ok"]})
    return facts


def hide(text: str, secrets: list[str]) -> str:
    """Put the fixture's marker in place of its secrets."""
    for secret in secrets:
        text = text.replace(secret, "<redacted>")
    return text


@pytest.mark.parametrize("folder", SESSIONS, ids=name_of)
def test_every_session_is_read_as_expected(folder: Path) -> None:
    """Counts, sub-tasks, evaluation, success and every single line agree with expected.json."""
    check(folder)


BROKEN = sorted(path.parent for path in SYNTHETIC.glob("broken/*/expected.json"))
BROKEN_LOGS = [folder for folder in BROKEN if (folder / "response.log").exists()]


@pytest.mark.parametrize("folder", BROKEN_LOGS, ids=name_of)
def test_every_damaged_log_is_read_as_expected(folder: Path) -> None:
    """What is usable is kept, what is not is counted, as expected.json says."""
    check(folder)


SAMPLES = Path(ufo_experience.__file__).parent / "samples"


def line_of(step: int, **changes: Any) -> dict[str, Any]:
    """A v1.2.0 actor line that clicks "Save", with changes."""
    return {
        "Observation": "The document is open.",
        "ControlLabel": "7",
        "ControlText": "Save",
        "Function": "click_input",
        "Args": {"button": "left"},
        "Status": "CONTINUE",
        "Plan": ["(1) Click Save."],
        "Step": step,
        "RoundStep": step,
        "AgentStep": step,
        "Round": 0,
        "Subtask": "Save the document.",
        "SubtaskIndex": 0,
        "Action": "click_input(button='left')",
        "Request": "Save my work.",
        "Agent": "AppAgent",
        "AgentName": "AppAgent/WINWORD.EXE/Document1 - Word",
        "Application": "WINWORD.EXE",
        "Cost": 0.01,
        "Results": None,
        "error": {},
        "control_type": "Button",
    } | changes


def write_log(folder: Path, *lines: dict[str, Any], **files: list[dict[str, Any]]) -> Path:
    """Write a session folder: `response.log`, and further logs named without their suffix."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in {"response": list(lines), **files}.items():
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.log").write_text(text, encoding="utf-8", newline="\n")
    return folder


def verdict(word: str) -> dict[str, Any]:
    """A line of evaluation.log."""
    return {"reason": f"The evaluator says {word}.", "sub_scores": {}, "complete": word, "level": "session"}


def test_a_session_gives_its_subtasks_and_then_the_whole_request(data_folder: Path) -> None:
    """Two sub-tasks in two applications: three trajectories, the whole with the host's selections as steps."""
    first, second, whole = read_traces(SYNTHETIC / "v3" / "02_two_apps_host_steps")
    assert [first.applications, second.applications] == [("WINWORD.EXE",), ("ms-teams.exe",)]
    assert (whole.subtask, whole.applications) == (None, ("WINWORD.EXE", "ms-teams.exe"))
    assert [(step.agent, step.action_type) for step in whole.steps] == [
        ("HostAgent", "select_application_window"),
        ("AppAgent", "texts"),
        ("HostAgent", "select_application_window"),
        ("AppAgent", "set_edit_text"),
        ("AppAgent", "click_input"),
    ]
    assert [step.step_number for step in whole.steps] == [1, 2, 3, 4, 5]
    assert {t.outcome.success for t in (first, second, whole)} == {True}
    assert len({t.session for t in (first, second, whole)}) == 1


def test_a_step_keeps_control_arguments_and_place_and_loses_the_locator(data_folder: Path) -> None:
    """v3 mixes `id` and `name` into the arguments; a step keeps only the real ones."""
    step = next(read_traces(SYNTHETIC / "v3" / "01_single_app_success")).steps[0]
    assert (step.target_control.name, step.target_control.type) == ("Search document", "Edit")
    assert step.parameters == {"text": "UFO", "clear_current_text": True}
    assert (step.result, step.error, step.application) == ("Set text has been executed: UFO", None, "WINWORD.EXE")
    assert step.source is not None
    assert (step.source.file, step.source.line) == ("response.log", 2)


def test_each_action_of_an_action_list_is_a_step(data_folder: Path) -> None:
    """Nine actions in four lines; the failed one has its reason, the one after it is skipped."""
    steps = next(read_traces(SYNTHETIC / "v2.0.0" / "07_action_list")).steps
    assert [step.source.line for step in steps if step.source] == [2, 3, 3, 3, 4, 4, 4, 5, 5]
    assert [step.ok for step in steps] == [True] * 5 + [False, False, True, True]
    assert steps[5].error == "Control is not available."
    assert (steps[6].error, steps[6].result) == ("skipped: Early stop due to error in previous actions.", "skipped")


@pytest.mark.parametrize(
    ("name", "success", "judge"),
    [
        ("v1.0.0/03_finish_but_evaluated_no", False, "evaluator"),
        ("v1.2.0/08_evaluated_unsure", None, "evaluator"),
        ("v3/05_no_evaluation", None, "agent"),
        ("v0.0.1/03_finish_but_wrong", None, "agent"),
        ("v1.0.0/07_ends_with_error", None, "none"),
    ],
)
def test_success_is_the_evaluators_word_and_never_finish(
    data_folder: Path, name: str, success: bool | None, judge: str
) -> None:
    """FINISH is the agent's claim; without an evaluator's word success stays unknown."""
    whole = list(read_traces(SYNTHETIC / name))[-1]
    assert (whole.outcome.success, whole.outcome.evaluated_by) == (success, judge)


def test_a_reused_task_name_gives_two_sessions_each_with_its_own_judgement(data_folder: Path) -> None:
    """The first run was judged "no" with its reason, the second "yes"; their session keys differ."""
    whole = [t for t in read_traces(SYNTHETIC / "v1.0.0" / "08_reused_task_name") if t.subtask is None]
    assert [t.outcome.success for t in whole] == [False, True]
    assert whole[0].outcome.failure_reason == "The email body is empty."
    assert [t.session.partition("-")[0].partition("#")[2] for t in whole] == ["1", "2"]


def test_two_rounds_give_two_requests(data_folder: Path) -> None:
    """A second request in the same session is a whole request of its own."""
    found = list(read_traces(SYNTHETIC / "v0.0.1" / "05_screenshot_gap_two_rounds"))
    assert [t.request for t in found] == [
        "How many stars does the Imdiffusion repo have?",
        "Search for the word UFO on the same page.",
    ]


def test_with_too_few_judgements_only_the_last_session_is_judged(tmp_path: Path) -> None:
    """Three runs, one judgement: it belongs to the last; the others stay unknown."""
    runs = [line_of(0), line_of(1, Status="FINISH")] * 3
    found = read_traces(write_log(tmp_path / "t", *runs, evaluation=[verdict("yes")]))
    assert [t.outcome.success for t in found if t.subtask is None] == [None, None, True]


def test_judgements_that_fit_no_session_are_reported(tmp_path: Path) -> None:
    """Three judgements for one session: the last is used, the two others are named in the report."""
    report = ReadReport()
    folder = write_log(
        tmp_path / "t", line_of(0, Status="FINISH"), evaluation=[verdict(w) for w in ("no", "no", "yes")]
    )
    assert {t.outcome.success for t in read_traces(folder, report=report)} == {True}
    assert [problem.code for problem in report.problems] == ["E_EVALUATIONS"]


def test_a_judgement_skips_the_session_that_ended_in_an_error(tmp_path: Path) -> None:
    """UFO does not evaluate a session that ended in an error: two judgements belong to runs one and three."""
    good = [line_of(0), line_of(1, Status="FINISH")]
    bad = [line_of(0), line_of(1, Status="ERROR", error={"get_response": {"message": "Request timed out."}})]
    folder = write_log(tmp_path / "t", *good, *bad, *good, evaluation=[verdict("yes"), verdict("no")])
    whole = [t for t in read_traces(folder) if t.subtask is None]
    assert [t.outcome.success for t in whole] == [True, None, False]
    assert whole[1].outcome.failure_reason == "get_response: Request timed out."
    assert [t.complete for t in whole] == [True, False, True]


@pytest.mark.parametrize(
    ("subtasks", "told"),
    [(["open  THE file"], [None]), (["Open it."], ["Open it.", None]), (["Open the file"] * 2, ["Open the file"] * 2)],
)
def test_a_subtask_that_is_the_request_again_is_not_told_twice(tmp_path, subtasks, told):
    """Unless there are others in its round."""
    lines = [
        line_of(number, Request="Open the file", Subtask=text, SubtaskIndex=number, Status="FINISH")
        for number, text in enumerate(subtasks)
    ]
    found = list(read_traces(write_log(tmp_path / "t", *lines)))
    assert [one.subtask for one in found][: len(told)] == told
    assert found[-1].subtask is None


def test_of_a_failed_session_only_the_subtask_to_blame_is_failed(tmp_path: Path) -> None:
    """Two sub-tasks, judged "no": the finished one is unknown, the one that ended failed is a failure."""
    done = line_of(0, Subtask="Open the file.", SubtaskIndex=0, Status="FINISH")
    failed = line_of(1, Subtask="Save it.", SubtaskIndex=1, Status="FINISH", Results="An error occurred: no disk")
    folder = write_log(tmp_path / "t", done, failed, evaluation=[verdict("no")])
    assert [(t.subtask, t.outcome.success) for t in read_traces(folder)] == [
        ("Open the file.", None),
        ("Save it.", False),
        (None, False),
    ]


def test_the_session_key_does_not_depend_on_where_the_folder_stands(tmp_path: Path) -> None:
    """The same folder name and first record give the same key, with LF or CRLF."""
    one = write_log(tmp_path / "a" / "run", line_of(0, Status="FINISH"))
    two = write_log(tmp_path / "b" / "run", line_of(0, Status="FINISH"))
    text = (two / "response.log").read_bytes()
    (two / "response.log").write_bytes(text.replace(b"\n", b"\r\n"))
    assert next(read_traces(one)).session == next(read_traces(two)).session


def test_a_torn_last_line_makes_the_run_incomplete_and_is_reported(data_folder: Path) -> None:
    """The steps before it are kept, `complete` is False, the report names file, line and reason."""
    report = ReadReport()
    found = list(read_traces(SYNTHETIC / "broken" / "torn_last_line", report=report))
    assert [t.complete for t in found] == [False, False]
    (problem,) = report.problems
    assert (Path(problem.file).name, problem.line, problem.code) == ("response.log", 5, "E_JSON")
    assert problem in found[-1].problems


def test_a_huge_line_is_cut_and_marked(tmp_path: Path) -> None:
    """Five megabytes in one result: kept to the limit of the schema, and `truncated` says so."""
    lines = (SYNTHETIC / "v1.0.0" / "01_single_app_success" / "response.log").read_text(encoding="utf-8").splitlines()
    huge = json.loads(lines[2]) | {"Results": "a word, " * 700_000}
    lines[2] = json.dumps(huge)
    (tmp_path / "response.log").write_text("\n".join(lines), encoding="utf-8")
    whole = list(read_traces(tmp_path))[-1]
    assert whole.truncated
    assert max(len(step.result) for step in whole.steps) <= 8192


@pytest.mark.parametrize("name", ["password_v1", "password_v2", "password_v2_echo", "password_v3"])
def test_a_value_typed_into_a_password_control_is_known_to_be_sensitive(data_folder: Path, name: str) -> None:
    """Redaction is told the value; the model never writes it out in `sensitive`."""
    for trajectory in read_traces(SYNTHETIC / "broken" / name):
        assert trajectory.sensitive == ("hunter2-Secret!",)
        assert "sensitive" not in trajectory.model_dump()


def test_an_api_key_among_the_arguments_is_known_to_be_sensitive(data_folder: Path) -> None:
    """An argument named api_key is a secret, whatever its control."""
    (whole,) = read_traces(SYNTHETIC / "broken" / "api_key_in_arguments_v3")
    assert whole.sensitive == ("example-mcp-key-0000-not-real",)


@pytest.mark.parametrize(
    "name", ["empty_file", "missing_response_log", "experience_alias_bomb", "experience_unsafe_tag"]
)
def test_a_source_without_anything_usable_is_an_error_that_names_it(data_folder: Path, name: str) -> None:
    """Without a report it raises; with one it is listed as failed and nothing else happens."""
    with pytest.raises(DataError, match=name):
        list(read_traces(SYNTHETIC / "broken" / name))
    report = ReadReport()
    assert list(read_traces(SYNTHETIC / "broken" / name, report=report)) == []
    assert [name in source for source, _ in report.failed] == [True]


def test_a_tree_of_everything_is_read_in_order_and_loses_nothing(data_folder: Path) -> None:
    """All folders in one call: every folder is read, failed or skipped, twice in the same order."""
    report = ReadReport()
    found = list(read_traces(SYNTHETIC, report=report))
    sources = [Path(t.source_files[0]).parent for t in found]
    seen = {*sources, *(Path(source) for source, _ in report.failed), *(Path(s).parent for s, _ in report.failed)}
    assert {*SESSIONS, *BROKEN} <= seen
    assert sources == sorted(sources)
    assert len(report.failed) == 4
    assert {Path(source).name for source, _ in report.skipped} == {"expected.json", "task_names.json"}
    assert [t.session for t in read_traces(SYNTHETIC, report=ReadReport())] == [t.session for t in found]


def test_control_types_and_the_plan_come_from_request_log_when_the_line_has_none(data_folder: Path) -> None:
    """v1.0.0 lines have no control types, v3 lines no plan: both stand in request.log."""
    old = list(read_traces(SYNTHETIC / "v1.0.0" / "01_single_app_success"))[-1]
    assert "Button" in {step.target_control.type for step in old.steps}
    new = list(read_traces(SYNTHETIC / "v3" / "01_single_app_success"))[-1]
    assert new.plan


def test_printed_entries_and_images_of_request_log_are_read_over(tmp_path: Path) -> None:
    """v1.2.1 prints host entries over many lines; a screenshot larger than any line may be leaves no trace."""
    folder = write_log(tmp_path / "t", line_of(0, Plan=None, control_type=None), line_of(1, Plan=None))
    image = "data:image/png;base64," + "iVBORw0KGgoA" * 800_000
    host = json.dumps({"step": 0, "image_list": [image], "plan": ["(1) Ask."], "control_info": []}, indent=4)
    control = {"label": "7", "control_text": "Save", "control_type": "MenuItem"}
    app = json.dumps({"step": 0, "prompt": [image], "control_items": [control]})
    (folder / "request.log").write_text(f"{host}\n{app}\n", encoding="utf-8")
    whole = list(read_traces(folder))[-1]
    assert whole.steps[0].target_control.type == "MenuItem"
    assert "iVBOR" not in whole.model_dump_json()
    assert not whole.problems


def test_numbers_json_cannot_hold_are_read_as_missing_and_reported(data_folder: Path) -> None:
    """NaN and Infinity as a cost: the sum leaves them out, both lines are named."""
    report = ReadReport()
    whole = list(read_traces(SYNTHETIC / "broken" / "nan_cost", report=report))[-1]
    assert whole.outcome.cost == pytest.approx(sum(step.cost or 0 for step in whole.steps), abs=0.1)
    assert [(problem.line, problem.code) for problem in report.problems] == [(2, "E_NOT_FINITE"), (3, "E_NOT_FINITE")]


def test_a_line_nested_deeper_than_the_schema_allows_is_a_bad_line(tmp_path: Path) -> None:
    """A hundred levels parse, but are more than a record may have."""
    deep: Any = "x"
    for _ in range(100):
        deep = [deep]
    report = ReadReport()
    found = list(read_traces(write_log(tmp_path / "t", line_of(0), line_of(1, Args={"a": deep})), report=report))
    assert [len(t.steps) for t in found] == [1, 1]
    assert [(problem.line, problem.code) for problem in report.problems] == [(2, "E_DEPTH")]


def test_a_v3_step_that_failed_before_acting_ends_the_run_with_its_reason(tmp_path: Path) -> None:
    """Status null and no action: no step, but the run's failure reason says what happened."""
    line = {"agent_type": "AppAgent", "agent_name": "AppAgent/WINWORD.EXE/Doc", "app_root": "WINWORD.EXE"}
    line |= {"session_step": 1, "round_step": 1, "round_num": 0, "request": "Save it.", "subtask": "", "action": []}
    (whole,) = read_traces(write_log(tmp_path / "t", line | {"status": None}))
    assert (whole.steps, whole.outcome.failure_reason) == ((), "the step failed before its action was done")


def test_logs_that_are_links_are_not_followed(tmp_path: Path) -> None:
    """An evaluation.log that is a link to another file is reported and not believed."""
    folder = write_log(tmp_path / "t", line_of(0, Status="FINISH"))
    other = write_log(tmp_path / "other", evaluation=[verdict("yes")]) / "evaluation.log"
    link_or_skip(folder / "evaluation.log", other)
    report = ReadReport()
    assert {t.outcome.success for t in read_traces(folder, report=report)} == {None}
    assert [problem.code for problem in report.problems] == ["E_LINK"]


def test_records_of_no_known_release_are_reported_with_their_keys(tmp_path: Path) -> None:
    """A foreign object between UFO's lines is a problem that names its keys."""
    report = ReadReport()
    folder = write_log(tmp_path / "t", line_of(0), {"level": "info", "message": "hi"}, line_of(1, Status="FINISH"))
    list(read_traces(folder, report=report))
    assert [(p.line, p.code, "level, message" in p.message) for p in report.problems] == [(2, "E_UNKNOWN_LINE", True)]


def test_utf16_logs_are_read(tmp_path: Path) -> None:
    """A log that a Windows shell re-encoded keeps its text."""
    folder = write_log(tmp_path / "t", line_of(0, Status="FINISH", Request="Öffne das Menü."))
    text = (folder / "response.log").read_text(encoding="utf-8")
    (folder / "response.log").write_bytes(text.encode("utf-16"))
    assert next(read_traces(folder)).request == "Öffne das Menü."


@given(cut=st.integers(0, 3_000), flips=st.lists(st.tuples(st.integers(0, 3_000), st.integers(0, 255)), max_size=4))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_damage_escapes_as_anything_but_a_trace_error(
    tmp_path: Path, cut: int, flips: list[tuple[int, int]]
) -> None:
    """Whatever bytes a log holds: trajectories come out, or a DataError; and never more steps than were written."""
    folder = write_log(tmp_path / "t", line_of(0), line_of(1), line_of(2, Status="FINISH"), evaluation=[verdict("yes")])
    data = bytearray((folder / "response.log").read_bytes())
    for place, value in flips:
        if place < len(data):
            data[place] = value
    (folder / "response.log").write_bytes(bytes(data[: max(1, len(data) - cut)]))
    try:
        found = list(read_traces(folder))
    except DataError:
        return
    assert all(len(t.steps) <= 3 for t in found)
    assert all(Trajectory.model_validate_json(t.model_dump_json()) for t in found)


def test_the_bundled_samples_are_six_judged_sessions() -> None:
    """What `demo` reads: six applications, five judged yes, one no, each of 4 to 8 app steps, files under 20 KB."""
    whole = [t for t in read_traces(SAMPLES) if t.subtask is None]
    assert sorted(bool(t.outcome.success) for t in whole) == [False] + [True] * 5
    assert len({t.applications for t in whole}) == 6
    assert all(4 <= len([s for s in t.steps if s.agent == "AppAgent"]) <= 9 for t in whole)
    assert not [t for t in whole if t.problems or not t.complete]
    assert max(file.stat().st_size for file in SAMPLES.rglob("*.log")) < 20_000


ODD_VALUES = [None, True, -1, 10**40, 1e300, "", "{", [], [[None]], {"a": [1]}, "x" * 9_000, "\ud800"]


@pytest.mark.parametrize("value", ODD_VALUES, ids=lambda value: repr(value)[:12])
def test_a_wrong_type_in_any_field_loses_no_other_line(tmp_path: Path, value: Any) -> None:
    """Each field of a line in turn holds a value of another type; the line before it stays what it was."""
    good = line_of(0)
    for key in good:
        odd = line_of(1, Status="FINISH") | {key: value}
        try:
            found = list(read_traces(write_log(tmp_path / "t", good, odd)))
        except DataError as error:
            pytest.fail(f"{key}: {error}")
        assert found[0].steps[0].target_control.name == "Save", key
        assert [Trajectory.model_validate_json(t.model_dump_json()) for t in found], key
