"""Calibration: thresholds from labels, kept in the index until replaced."""

from __future__ import annotations

import json

import pytest

from tests.builders import TEXTS, a_record_of, memory_of
from tests.cli_runner import Cli
from ufo_experience import ExperienceMemory
from ufo_experience.errors import DataError, UsageError
from ufo_experience.retrieve.calibration import find_cut

OTHERS = ["Water the plants", "Book a flight to Paris", "Resize the logo", "Play some jazz"]


@pytest.fixture
def memory(tmp_path):
    """Eight records of eight tasks."""
    return memory_of(tmp_path / "db", *(a_record_of(text) for text in TEXTS))


@pytest.fixture
def labels(tmp_path):
    """Rewordings that are relevant, and requests that are not."""
    rows = [{"query": text.replace("the", "my"), "id": a_record_of(text).id, "relevant": True} for text in TEXTS]
    rows += [{"query": query, "text": text, "relevant": False} for query in OTHERS for text in TEXTS[:3]]
    return write(tmp_path, rows)


def write(folder, rows):
    """A file of labels."""
    path = folder / "labels.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def cut(scores, relevant, precision=0.9, **options):
    """`find_cut` of plain lists."""
    return find_cut(list(zip(scores, relevant, strict=True)), precision, **options)


def test_the_threshold_lies_half_way_below_the_last_that_passes():
    """The most recall at the stated precision."""
    found = cut([0.9, 0.8, 0.4, 0.3], [True, True, False, False])
    assert found == (pytest.approx(0.6), 1.0, 1.0)


def test_precision_is_bought_with_recall():
    """A stranger between two relevant pairs costs the lower one."""
    scores, relevant = [0.9, 0.7, 0.5], [True, False, True]
    assert cut(scores, relevant)[2] == 0.5
    assert cut(scores, relevant, precision=0.6)[2] == 1.0


def test_without_a_precise_threshold_there_is_none():
    """A stranger on top of everything."""
    assert cut([0.9, 0.5], [False, True]) is None


def test_pairs_of_equal_score_pass_together():
    """A threshold cannot part them."""
    assert cut([0.5, 0.5], [True, False], precision=0.9) is None


def test_labels_set_the_threshold_of_every_later_process(memory, labels):
    """Once it is told to; a sync carries it over."""
    before = memory.retrieve(TEXTS[0]).threshold
    memory.calibrate(labels)
    assert memory.retrieve(TEXTS[0]).threshold == before
    found = memory.calibrate(labels, apply=True)
    assert found.precision >= 0.95
    assert found.recall == 1.0
    assert (found.pairs, found.embedder) == (20, "hashing")
    later = ExperienceMemory.open(memory.store.location, create=False)
    assert later.retrieve(TEXTS[0]).threshold == found.threshold
    later.store.add([a_record_of("Mute the microphone")])
    later.index()
    assert later.retrieve(TEXTS[0]).threshold == found.threshold


def test_the_command_changes_nothing_unless_it_is_told_to(memory, labels, tmp_path):
    """It says what it found; `--apply` keeps it."""
    cli = Cli(tmp_path)

    def threshold() -> float:
        return cli.json("retrieve", TEXTS[0], "--db", "db")["threshold"]

    before = threshold()
    found = cli.json("calibrate", "--labels", labels, "--db", "db")["threshold"]
    assert (threshold(), found != before) == (before, True)
    cli("calibrate", "--labels", labels, "--db", "db", "--apply")
    assert threshold() == found


def test_a_rebuild_for_another_embedder_drops_the_calibration(memory, labels):
    """A threshold belongs to the embedder it was measured for."""
    found = memory.calibrate(labels, apply=True)
    other = ExperienceMemory.open(memory.store.location, embedder="hashing:2048")
    other.index(rebuild=True)
    assert other.retrieve(TEXTS[0]).threshold != found.threshold


def test_opposites_never_pass_whatever_the_threshold(memory, tmp_path):
    """A contradiction is withheld by its own rule and must not push the threshold up."""
    rows = [{"query": text, "id": a_record_of(text).id, "relevant": True} for text in TEXTS]
    rows += [{"query": "Turn off Bluetooth in the settings", "id": a_record_of(TEXTS[1]).id, "relevant": False}]
    assert memory.calibrate(write(tmp_path, rows), precision=1.0).recall == 1.0


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("{", None),
        ("[]", None),
        ('{"id": "x", "relevant": true}', "query"),
        ('{"query": "a", "text": "b", "relevant": 1}', "relevant"),
        ('{"query": "a", "relevant": true}', "text"),
        ('{"query": "a", "text": 3, "relevant": true}', "text"),
    ],
)
def test_a_wrong_label_names_file_line_and_field(memory, tmp_path, line, field):
    """No guessing at what was meant."""
    path = tmp_path / "labels.jsonl"
    right = json.dumps({"query": "a", "text": TEXTS[0], "relevant": True})
    path.write_text(f"{right}\n\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError) as caught:
        memory.calibrate(path)
    assert (caught.value.file, caught.value.line, caught.value.field) == (str(path), 3, field)


@pytest.mark.parametrize("precision", [0.0, 1.5, float("nan")])
def test_a_precision_that_makes_no_sense_is_a_usage_error(memory, labels, precision):
    """It is a share."""
    with pytest.raises(UsageError):
        memory.calibrate(labels, precision=precision)
