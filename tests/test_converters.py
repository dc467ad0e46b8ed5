"""Converters of data sets in `benchmarks/`: what they write is read as sessions of the plain format."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from unittest.mock import patch

from ufo_experience import read_traces
from ufo_experience.schema import Trajectory

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


def converted(name: str, source: Path, folder: Path) -> tuple[list[Trajectory], list[str]]:
    """The sessions and the distinct tasks that a converter writes."""
    out, tasks = folder / "out.jsonl", folder / "tasks.txt"
    script = str(BENCHMARKS / f"convert_{name}.py")
    arguments = [script, str(source), str(out), "--tasks", str(tasks)]
    with patch.object(sys, "argv", arguments), patch.object(sys, "path", [str(BENCHMARKS), *sys.path]):
        runpy.run_path(script, run_name="__main__")
    return list(read_traces(out)), tasks.read_text(encoding="utf-8").splitlines()


def test_turns_of_pptc_become_sessions_that_were_not_executed(tmp_path: Path) -> None:
    """A turn without calls is left out; a task that stands twice is one task."""
    turn = {"instruction": "Add a title ## 0, title", "api_sequence": "choose_title(); insert_text('A')"}
    source = tmp_path / "sessions.jsonl"
    source.write_text(json.dumps({"turns": [turn, {"instruction": "No calls"}, turn]}), encoding="utf-8")
    found, tasks = converted("pptc", source, tmp_path)
    assert tasks == ["Add a title"]
    assert [[step.action_type for step in one.steps] for one in found] == [["choose_title", "insert_text"]] * 2
    assert {one.outcome.success for one in found} == {None}


def test_a_profile_of_autodroid_names_the_element_and_who_judged(tmp_path: Path) -> None:
    """The element is named by the screen it was chosen on; -1 is the annotator's "done"."""
    screen = {"label": ["2", "null"], "state": "<button id=2 text='Sort by'></button>"}
    profile = {"gallery": {"1": {"task": "Sort folders", "profile": [screen, {"label": ["-1", "null"]}]}}}
    source = tmp_path / "profile.json"
    source.write_text(json.dumps(profile), encoding="utf-8")
    (only,), _ = converted("autodroid", source, tmp_path)
    assert [(step.action_type, step.target_control.name) for step in only.steps] == [("tap", "Sort by")]
    assert (only.outcome.success, only.outcome.evaluated_by, only.applications) == (True, "user", ("gallery",))


def test_public_files_are_converted(data_folder: Path, tmp_path: Path) -> None:
    """Sessions of the three data sets, as they are published, in part."""
    files = {
        "pptc": ("pptc/sessions.jsonl", 75),
        "autodroid": ("autodroid/profile_no_answer.json", 14),
        "screenagent": ("screenagent/steps_subset.jsonl", 4),
    }
    for name, (file, number) in files.items():
        assert len(converted(name, data_folder / file, tmp_path)[0]) == number
