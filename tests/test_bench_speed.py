"""`bench speed` and `bench engines` measure what they say, on data that are what they say."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ufo_experience.benchmark.speed import machine
from ufo_experience.benchmark.speed.engines import Numpy, engines
from ufo_experience.benchmark.speed.loop import WORK, LoopReport, Timing, run_loop
from ufo_experience.benchmark.speed.many import many_text, run_many
from ufo_experience.benchmark.speed.page import loop_text, report_text, write_page
from ufo_experience.benchmark.speed.run import Row, make_data, parse_sizes, run
from ufo_experience.cli import app
from ufo_experience.errors import UsageError


@pytest.fixture(scope="module")
def rows() -> dict[tuple[str, int], Row]:
    """One small run, by engine and size."""
    report = run([60, 200], [16], engines, queries=5)
    return {(row.engine, row.size): row for row in report.rows}


def test_every_engine_is_measured_at_every_size(rows):
    """Three engines, two sizes; every time is a time."""
    assert {name for name, _ in rows} == {"ufo-experience", "numpy", "FAISS flat"}
    assert {size for _, size in rows} == {60, 200}
    for row in rows.values():
        assert 0 < row.p50 <= row.p95
        assert row.filtered_p50 > 0
        assert row.open_ms > 0


def test_small_sizes_are_exact(rows):
    """All three find all of the ten nearest, filtered and not."""
    assert {(row.recall, row.filtered_recall) for row in rows.values()} == {(1.0, 1.0)}


def test_an_engine_that_forgets_the_filter_shows_in_the_recall():
    """Recall is measured, not assumed."""

    class Forgetful(Numpy):
        def search(self, query, application):
            return super().search(query, None)

    (row,) = run([200], [16], lambda dim: [Forgetful()], queries=5).rows
    assert row.recall == 1.0
    assert row.filtered_recall < 0.9


def test_data_are_the_same_for_the_same_arguments():
    """Unit rows, one in twenty of each application."""
    one, other = make_data(100, 8, 3), make_data(100, 8, 3)
    assert np.array_equal(one.vectors, other.vectors)
    assert np.allclose(np.linalg.norm(one.vectors, axis=1), 1, atol=1e-5)
    assert one.applications.count("app3") == 5
    assert len(set(one.ids)) == 100


def test_sizes_are_written_as_people_write_them():
    """1k, 10K, 1m."""
    assert parse_sizes("500, 1k,10K,1m") == [500, 1000, 10_000, 1_000_000]


@pytest.mark.parametrize("text", ["", "0", "k", "-5", "1.5k", "1kk", "ten"])
def test_what_is_no_size_is_refused(text):
    """A usage error that shows the word."""
    with pytest.raises(UsageError, match="no size"):
        parse_sizes(text)


def test_the_page_names_every_engine_and_the_growth(tmp_path):
    """A Markdown table and a plot."""
    pytest.importorskip("matplotlib")
    report = run([60, 120], [8], engines, queries=3)
    page, plot = write_page(report, tmp_path / "out")
    assert report_text(report) in page.read_text(encoding="utf-8")
    assert "to the power of" in report_text(report)
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_the_command_answers_in_json(tmp_path: Path):
    """Real vectors come from a file; sizes beyond it are left out."""
    np.save(tmp_path / "v.npy", np.random.default_rng(0).normal(size=(250, 12)))
    arguments = ["bench", "engines", "--sizes", "100,1k", "--vectors", str(tmp_path / "v.npy"), "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["rows"]
    assert {(row["size"], row["dim"]) for row in rows} == {(100, 12)}
    assert len(rows) == 3


@pytest.mark.slow
def test_the_loop_is_measured_from_question_to_question(tmp_path: Path):
    """Every kind of work at the size asked for, and whether the machine was quiet."""
    report = run_loop([30], repeats=4)
    times = report.times[30]
    assert times.keys() == WORK.keys()
    assert all(one.p50 > 0 for one in times.values())
    assert times["found"].p50 >= times["learn"].p50
    assert report.is_publishable == (not report.disturbed)
    assert all(title in loop_text(report) for title in WORK.values())


def test_a_run_on_a_busy_machine_is_not_publishable():
    """The page says so before any figure."""
    disturbed = LoopReport("m", "d", "hashing", {10: {name: Timing(1.0, 2.0, 4) for name in WORK}}, ["load average 9"])
    text = loop_text(disturbed)
    assert not disturbed.is_publishable
    assert text.index("Not publishable") < text.index("| p50")


def test_a_load_of_others_makes_a_machine_busy(monkeypatch):
    """What this run itself adds to the load does not count."""
    monkeypatch.setattr(machine, "spin_jitter", lambda: 1.0)
    cores = os.cpu_count() or 1
    monkeypatch.setattr(os, "getloadavg", lambda: (cores * 1.0, 0.0, 0.0), raising=False)
    assert machine.why_busy() != []
    assert machine.why_busy(running=cores) == []


def test_learning_many_runs_is_counted_by_sessions_and_records():
    """Two records come of a session, of different tasks and of the same one."""
    report = run_many(2, jobs=[1], same=[2], repeats=1)
    assert [(row.what, row.sessions, row.records) for row in report.rows] == [
        ("different tasks", 2, 4),
        ("the same task", 2, 4),
    ]
    assert "sessions/s" in many_text(report)
