"""`python -m benchmarks speed` measures what it says."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.speed import parse_sizes
from benchmarks.tasks import steps_of, task_of
from ufo_experience import UsageError


@pytest.mark.slow
def test_the_loop_is_measured_beside_the_packages_that_are_installed(capsys):
    """Ask, learn, found by another process and rebuild of ours; what a peer can do of that."""
    assert main(["speed", "--sizes", "20", "--repeats", "2", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    assert set(rows["ufo_experience"]["times"]) == {"ask", "learn", "found", "rebuild"}
    assert set(rows["FTS5"]["times"]) == {"ask", "learn"}
    assert all(0 < middle <= most for row in rows.values() for middle, most in row["times"].values())


def test_every_task_of_the_benchmark_is_another_one():
    """Varied tasks and steps, the same for the same number."""
    assert len({task_of(number) for number in range(2_000)}) == 2_000
    assert len({json.dumps(steps_of(number)) for number in range(500)}) == 500
    assert steps_of(7) == steps_of(7)


def test_sizes_are_written_as_people_write_them():
    """Thousands and millions have their letters; what is no size is refused."""
    assert parse_sizes("60,1k,2m") == [60, 1_000, 2_000_000]
    for text in ("", "k", "-1", "1g", "0"):
        with pytest.raises(UsageError, match="is no size"):
            parse_sizes(text)


def test_a_benchmark_that_does_not_exist_is_told_which_there_are(capsys):
    """A wrong name is wrong usage."""
    assert main(["latency"]) == 2
    assert "retrieval,steps,run,speed" in capsys.readouterr().err
