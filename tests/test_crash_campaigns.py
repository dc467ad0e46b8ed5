"""Nothing acknowledged is lost: killed processes, every call, failing calls, power failures."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tools.crash import cache_power, calls, kills, power
from tools.crash.operations import OPERATIONS, Bench

FEW = 4  # calls of each operation that the default suite disturbs


def few(total: int) -> list[int]:
    """A handful of numbers up to `total`, evenly spread."""
    return sorted({1 + number * (total - 1) // (FEW - 1) for number in range(FEW)})


@pytest.mark.parametrize("count", [6, pytest.param(300, marks=pytest.mark.slow)])
def test_a_process_killed_at_any_moment_loses_nothing_it_acknowledged(count, tmp_path):
    """SIGKILL during adding, ingesting, removing, indexing, importing, purging: the next process finds it all."""
    tally = kills.campaign(count, seed=5, place=tmp_path)
    assert tally.acknowledged > 0  # how many depends on the machine
    assert tally.first_fault == ""


def test_the_judge_notices_a_lost_record(tmp_path):
    """The campaign can fail: a record taken away behind its back, a file cut, an index of other records."""
    judge = kills._prepare(tmp_path / "db", 3)
    assert judge.check(tmp_path / "db").lost == []
    victim = next((tmp_path / "db" / "records").glob("*/*.json"))
    data = victim.read_bytes()
    victim.write_bytes(data[:-1])
    assert judge.check(tmp_path / "db").unreadable
    victim.unlink()
    judge.there[victim.stem] = ["observed", 0]
    assert judge.check(tmp_path / "db").lost == [victim.stem]


@pytest.mark.slow
def test_ufo_s_way_of_saving_loses_records_when_killed(tmp_path):
    """The baseline of the campaign: rewriting in place, index beside it."""
    tally = kills.baseline(100, seed=5, place=tmp_path)
    assert tally.lost + tally.mismatched > 0


EVERY_SECOND = [
    pytest.param(name, marks=pytest.mark.slow) if number % 2 else name for number, name in enumerate(OPERATIONS)
]


@pytest.fixture(scope="module", params=EVERY_SECOND)
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Each operation with a store to try it on."""
    return Bench(request.param, tmp_path_factory.mktemp(request.param) / "bench")


def test_an_operation_that_dies_leaves_each_record_old_or_new(bench):
    """Ended after a call: records are as before or as after, the index catches up, the next writer tidies up."""
    assert calls.die(bench, few(calls.count(bench).calls)) == []


def test_an_operation_of_which_a_call_fails_reports_it_or_is_complete(bench):
    """Only typed errors leave; success is reported for the new state alone, and never after a failed fsync."""
    numbers = few(calls.count(bench).calls)[1:3]
    assert calls.fail(bench, numbers, (errno.EIO,))[1] == []


@pytest.mark.slow
def test_every_call_of_every_operation(bench):
    """As the two before, at every call; the command tries every error."""
    assert calls.die_everywhere(bench)[1] == []
    assert calls.fail(bench, range(1, calls.count(bench).calls + 1), (errno.EIO, errno.ENOSPC))[1] == []


@pytest.mark.parametrize("count", [2, pytest.param(100, marks=pytest.mark.slow)])
def test_a_power_failure_keeps_what_was_acknowledged(bench, count, tmp_path):
    """What was not synced is dropped or torn, each effect for itself."""
    assert power.lose_power(bench, count, 3, tmp_path) == []


@pytest.mark.parametrize("count", [60, pytest.param(2000, marks=pytest.mark.slow)])
def test_a_power_failure_leaves_a_cache_that_is_right_or_silent(count, tmp_path):
    """Its log is cut, has holes or is gone: never another vector, and it takes in new ones."""
    tally = cache_power.campaign(count, 3, place=tmp_path)
    assert tally.faults == []
    assert 0 < tally.kept < tally.asked


def test_the_power_model_finds_ufo_s_way_wanting(tmp_path):
    """The model can fail: saving in place loses what was acknowledged before."""
    lost, _, mismatched = power.lose_power_baseline(40, 3, tmp_path)
    assert lost > 5
    assert mismatched >= lost


def test_without_its_syncs_the_store_would_lose_records(tmp_path):
    """The model can fail for us too: the same calls with the syncs forgotten."""

    class Forgetful(power.RecordingDisk):
        def fsync(self, handle: int) -> None:
            pass

        def fsync_dir(self, path: Path) -> None:
            pass

    bench = Bench("add", tmp_path / "bench")
    folder = bench.copy()
    disk = Forgetful(folder)
    bench.perform(folder, disk)
    disk.acknowledge()
    seen = power.states(disk, 40, power.random.Random(1))
    made = ((medium.write(tmp_path / f"s{number}"), told) for number, (medium, told) in enumerate(seen))
    assert any(bench.fault(folder, acknowledged=told, tidied=False) for folder, told in made)


@pytest.mark.slow
def test_the_command_runs_a_campaign_and_prints_its_figures():
    """`python -m tools.crash --json` prints one object; exit code 0 means that every promise held."""
    root = Path(__file__).resolve().parents[1]
    command = [sys.executable, "-m", "tools.crash", "--kills", "5", "--seed", "2", "--json"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kills"]["ours"]["kills"] == 5
