"""`python -m benchmarks retrieval`: measures, sets, and the table it prints."""

from __future__ import annotations

import json

import pytest

from benchmarks.__main__ import main
from benchmarks.retrieval import sets
from benchmarks.retrieval.beir import Entry, from_experiences, read_beir, write_beir
from benchmarks.retrieval.bm25 import PlainBM25
from benchmarks.retrieval.metrics import hit, ndcg, recall, reciprocal_rank
from tests.builders import a_record_of
from ufo_experience.errors import DataError, UsageError

CORPUS = [
    {"_id": "1", "text": "Turn on Bluetooth", "metadata": {"application": "Settings"}},
    {"_id": "2", "text": "Export the presentation as a PDF", "metadata": {"wordings": ["Make a PDF of the slides"]}},
]
QUERIES = [
    {"_id": "a", "text": "Switch the Bluetooth on", "metadata": {"kind": "verb", "wrong": ["2"]}},
    {"_id": "b", "text": "Water the plants", "metadata": {}},
]


@pytest.fixture
def folder(tmp_path):
    """A set in BEIR layout."""
    write_beir(tmp_path, CORPUS, QUERIES, [("a", "1", 1)])
    return tmp_path


def test_measures_have_their_textbook_values():
    ranked, grades = ["x", "b", "a"], {"a": 1, "b": 1}
    assert (hit(ranked, grades), reciprocal_rank(ranked, grades), recall(ranked, grades, 2)) == (0.0, 0.5, 0.5)
    assert ndcg(ranked, grades) == pytest.approx((1 / 1.58496 + 0.5) / (1 + 1 / 1.58496), abs=1e-4)


def test_bm25_prefers_rare_words():
    scores = PlainBM25(["the red house", "the blue house", "the house"]).scores("the blue house")
    assert scores.argmax() == 1


def test_a_set_is_read_as_it_was_written(folder):
    tasks = read_beir(folder)
    assert [one.id for one in tasks.related] == ["a"]
    assert (tasks.corpus[1].wordings, tasks.queries[0].wrong) == (("Make a PDF of the slides",), ("2",))


def test_a_wrong_line_is_named_with_file_line_and_field(folder):
    (folder / "corpus.jsonl").write_text('{"_id": "1", "text": ""}\n', encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_beir(folder)
    assert (caught.value.line, caught.value.field) == (1, "text")


def test_a_store_is_a_set_of_its_repeated_tasks():
    records = [a_record_of("Turn on Bluetooth", session=name) for name in ("one", "two")]
    assert len(from_experiences("db", [*records, a_record_of("Mute it")]).queries) == 2
    with pytest.raises(UsageError):
        from_experiences("db", [a_record_of("Mute it")])


def test_halves_store_one_half_and_ask_both():
    pairs = [(Entry(str(n), f"Open sheet {n}", "Calc", str(n)), f"Show me sheet {n}") for n in range(10)]
    tasks = sets.halves(pairs, "calc", 0)
    assert (len(tasks.corpus), len(tasks.related), len(tasks.unrelated)) == (5, 5, 5)
    assert not {f"q-{one.id}" for one in tasks.corpus} & {one.id for one in tasks.unrelated}


def test_the_command_prints_a_row_a_set(folder, capsys):
    assert main(["retrieval", "--data", str(folder)]) == 0
    header, _, row = capsys.readouterr().out.strip().splitlines()
    assert "strangers %" in header
    assert row.split(" | ")[1:] == [
        "1 / 1 / 1",
        "1.000",
        "1.000",
        "–",
        "100.0",
        "100.0",
        "0.0",
        "0.0",
        row.split(" | ")[-1],
    ]


def test_an_unknown_set_is_named(capsys):
    assert main(["retrieval", "--set", "author_x"]) != 0
    assert "author_a to author_k" in capsys.readouterr().err


def test_somebody_else_may_be_the_judge_by_way_of_two_files(folder, tmp_path, capsys):
    questions, answers = tmp_path / "questions.jsonl", tmp_path / "answers.jsonl"
    assert main(["retrieval", "--data", str(folder), "--judge-questions", str(questions)]) == 0
    asked = [json.loads(line) for line in questions.read_text("utf-8").splitlines()]
    said = []
    for one in asked:
        question = json.loads(one["messages"][1]["content"])
        known = [int(number) for number, task in question["known"].items() if task == "Turn on Bluetooth"]
        said.append({"id": one["id"], "same": known if "Bluetooth" in question["task"] else []})
    assert len(said) == 2
    answers.write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
    capsys.readouterr()
    assert main(["retrieval", "--data", str(folder), "--judge-answers", str(answers)]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split(" | ")[5:9] == ["100.0", "100.0", "0.0", "0.0"]
    wrong = {"id": said[0]["id"], "text": '{"same": [1, 2, 3, 4]}'}
    answers.write_text("\n".join(map(json.dumps, [wrong, said[1]])), encoding="utf-8")
    assert main(["retrieval", "--data", str(folder), "--judge-answers", str(answers)]) == 0
    assert "the judge failed in 1 of" in capsys.readouterr().err
