"""The benchmark that lets anybody play: a first play is learned, the next is told of it, the table pairs the two."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.play import Game, report_of
from ufo_experience import ExperienceMemory


def _played(arm: str, task: str, calls: int, reached: bool = True) -> dict[str, object]:
    return {"arm": arm, "task": task, "known": 0, "calls": calls, "acts": 9, "tokens": 100, "reached": reached} | {
        "wrong": ""
    }


def test_a_saving_counts_only_plays_of_a_task_that_both_arms_reached() -> None:
    plays = [_played("first", "a", 10), _played("first", "b", 10, reached=False), _played("similar", "a", 4)]
    line = report_of([*plays, _played("similar", "b", 1)]).splitlines()[-1]
    assert "| 60 % [60, 60] |" in line


@pytest.mark.browser
def test_a_first_play_is_learned_and_shown_to_the_next_player(tmp_path: Path) -> None:
    from benchmarks.steps.browser import Browser

    task = {"task": "web/fab/new-group"}
    plan, results = tmp_path / "plan.jsonl", tmp_path / "results.jsonl"
    plan.write_text(
        "\n".join(json.dumps(task | arm) for arm in ({"arm": "first", "seed": 2}, {"arm": "similar", "seed": 1}))
    )
    with Browser() as browser:
        game = Game(plan, results, browser, ExperienceMemory(tmp_path / "db"))
        assert "past-experience" not in game.answer("/", "")
        for name in ("Doctors", "Neighbours"):
            way = [{"do": "click", "name": one} for one in ("Contacts", "List Groups", "Add +")]
            game.answer("/act", json.dumps([*way, {"do": "type", "name": "Name *", "text": name}]))
            game.answer("/act", '[{"do": "click", "name": "Save"}]')
            told = game.answer("/done", "")
            if name == "Doctors":
                assert "past-experience" in told
                assert "Doctors" not in told
    first, similar = (json.loads(line) for line in results.read_text("utf-8").splitlines())
    assert (first["reached"], first["known"], similar["reached"], similar["known"]) == (True, 0, True, 1)
