"""Runs of one task are one procedure with its runs as evidence, wherever it is listed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.retrieval import sets
from tests.cli_runner import invoke
from ufo_experience import ExperienceMemory

CLICK = {"action": "click", "control": "Open", "control_type": "Button"}
PEOPLE = ["Jane Doe", "Max Weber", "Kim Lee", "Ada King", "Sam Hill"]


def remember(memory: ExperienceMemory, *controls: str, task: str = "Mail Jane Doe", **more: Any) -> str:
    """A run of clicks; returns its id."""
    steps = [{"action": "click", "control": name, "control_type": "Button"} for name in controls]
    return memory.remember(task, steps, **{"success": True, "application": "Mail", **more}).id


@pytest.fixture
def memory(tmp_path: Path) -> ExperienceMemory:
    return ExperienceMemory.open(tmp_path / "db", embedder="hashing")


def procedures(memory: ExperienceMemory) -> list[dict[str, Any]]:
    """What `list --json` answers."""
    done = invoke("list", "--json", "--db", memory.store.location)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["procedures"]


def test_runs_of_one_task_with_other_values_are_one_procedure(memory):
    """Worked four of five, and who says so."""
    for number, person in enumerate(PEOPLE):
        remember(memory, "New", "Send", task=f"Mail {person}", success=number != 2, judge="user", session=f"s{number}")
    (known,) = procedures(memory)
    assert (known["worked"], known["tried"], known["judges"]) == (4, 5, {"user": 5})
    assert len(known["runs"]) == 5
    assert known["last"] == known["runs"][0]["created_at"] == max(one["created_at"] for one in known["runs"])


def test_requests_that_differ_in_a_login_are_one_task_and_in_another_word_two(memory):
    """A word that requests to computers do not know is somebody's; "page" and "chart" are not."""
    for login in ("tkent", "mlopez"):
        remember(memory, "Users", "Lock", task=f"Lock the account of {login}", session=login)
    for thing in ("page", "chart"):
        remember(memory, "File", "Print", task=f"Print the {thing}", session=thing)
    for person in ("Tom Kent", "Ada Byron"):
        remember(memory, "Edit", "Save", task=f"{person} has a new phone number at home", session=person)
    assert sorted(len(known["runs"]) for known in procedures(memory)) == [1, 1, 2, 2]


@pytest.mark.parametrize("words", ["Search for {}", "Set the title to {}", "Create an order of {} for Anna Berg"])
@pytest.mark.parametrize(
    "texts", ["lamps chairs mugs", "blue lamps,red chairs,old mugs", "Weekly report,Sales plan,Notes"]
)
def test_what_a_run_typed_is_a_value_of_its_request_though_nothing_marks_it(memory, words, texts):
    """Three runs are one procedure, the next request is shown it once, and what to type is said in it."""
    *earlier, last = texts.split("," if "," in texts else None)
    for text in earlier:
        steps = [CLICK, typed(text), CLICK | {"control": "OK"}]
        memory.remember(words.format(text), steps, True, "Shop", session=text)
    (known,) = procedures(memory)
    assert known["worked"] == 2
    text = memory.build_prompt(words.format(last)).text
    assert text.count("Worked 2 of 2 times") == 1
    assert f'type "{last}" in "Text"' in text


def typed(text: str) -> dict[str, Any]:
    return {"action": "type", "control": "Text", "control_type": "Edit", "text": text}


def ingested(memory: ExperienceMemory, file: Path, runs: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """Many runs of two clicks at once: the session, the task and the second click of each; id → session."""
    rows = [
        {
            "task": task,
            "session": session,
            "steps": [CLICK, CLICK | {"control": last}],
            "success": True,
            "evaluated_by": "user",
        }
        for session, (task, last) in runs.items()
    ]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert len(memory.ingest(file).added) == len(runs)
    return {one.id: one.provenance.session.partition("#")[0] for one in memory.list()}


def test_requests_that_are_joined_are_of_one_procedure(memory, tmp_path):
    """An author wrote requests for records and twins to mislead; what was never one procedure is never one task."""
    whole = sets.author("c")
    texts = {one.id: one.text for one in (*whole.corpus, *whole.queries)}
    ids = ingested(memory, tmp_path / "runs.jsonl", {id: (text, "Send") for id, text in texts.items()})
    joined = [{ids[run["id"]] for run in known["runs"]} for known in procedures(memory)]
    asked = {query: texts for texts in joined for query in texts & whole.relevant.keys()}
    records = {one.id for one in whole.corpus}
    same = {query: texts & records for query, texts in asked.items() if texts & records}
    assert len(same) > 10
    assert all(known <= {*whole.relevant[query]} for query, known in same.items())


def test_a_hundred_runs_of_ten_tasks_are_ten_procedures(memory, tmp_path):
    tasks = [f"{verb} the {thing}" for verb in ("Open", "Print") for thing in ("page", "mail", "list", "chart", "map")]
    ingested(
        memory, tmp_path / "runs.jsonl", {f"{task} {number}": (task, task) for task in tasks for number in range(10)}
    )
    assert sorted(len(known["runs"]) for known in procedures(memory)) == [10] * 10


def test_the_same_words_in_another_application_are_another_procedure(memory):
    remember(memory, "New", "Send")
    remember(memory, "New", "Send", application="Chat")
    assert len(procedures(memory)) == 2


def test_a_removed_run_leaves_the_procedure_right(memory):
    ids = [remember(memory, "New", "Send", session=f"s{n}", success=n > 0) for n in range(3)]
    memory.remove(ids[0])
    (known,) = procedures(memory)
    assert (known["worked"], known["tried"], len(known["runs"])) == (2, 2, 2)
    for id in ids[1:]:
        memory.remove(id)
    assert procedures(memory) == []


def test_a_run_that_is_judged_anew_counts_as_it_is_judged(memory):
    id = remember(memory, "New", "Send", success=None)
    assert (procedures(memory)[0]["worked"], procedures(memory)[0]["judges"]) == (0, {"nobody": 1})
    memory.judge(id, success=True)
    assert (procedures(memory)[0]["worked"], procedures(memory)[0]["judges"]) == (1, {"user": 1})


def test_different_ways_of_one_task_stay_apart_and_say_where_they_part(memory):
    remember(memory, "New", "Write", "Send", session="a")
    remember(memory, "New", "Dictate", "Deliver", session="b")
    ways = procedures(memory)
    assert [len(one["runs"]) for one in ways] == [1, 1]
    assert [one["parts_at"] for one in ways] == [2, 2]


def test_a_run_with_fewer_steps_takes_the_place_of_a_longer_one(memory):
    """The longer run shows that no step is missing."""
    remember(memory, "New", "Help", "Format", "Write", "Send", session="first")
    best = remember(memory, "New", "Write", "Send", session="second")
    (known,) = procedures(memory)
    assert (known["best"], known["steps"], len(known["runs"])) == (best, 3, 2)


def test_a_shorter_run_that_failed_takes_nobodys_place(memory):
    best = remember(memory, "New", "Write", "Send", session="first")
    remember(memory, "New", "Send", session="second", success=False)
    (known,) = procedures(memory)
    assert (known["best"], known["worked"], known["tried"]) == (best, 1, 2)
