"""The retrieval benchmark: reading sets, measures, and the product measured through its own store."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.retrieval.beir import from_experiences, read_beir, write_beir
from benchmarks.retrieval.bm25 import PlainBM25
from benchmarks.retrieval.metrics import estimate, hit, ndcg, recall, reciprocal_rank
from benchmarks.retrieval.page import report_text, write_page
from benchmarks.retrieval.run import as_data, run
from benchmarks.retrieval.simulated import KINDS
from tests.builders import TEXTS, a_record_of, memory_of
from tests.cli_runner import Cli
from ufo_experience.errors import DataError, UsageError

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
CORPUS = [{"_id": f"d{n}", "text": text, "metadata": {"application": "Outlook"}} for n, text in enumerate(TEXTS)]
QUERIES = [
    {"_id": "q0", "text": "Send an email to Tom about the travel plan"},
    {"_id": "q1", "text": "Turn Bluetooth on"},
    {"_id": "u0", "text": "Water the plants"},
]
QRELS = [("q0", "d0", 1), ("q1", "d1", 1)]


@pytest.fixture
def folder(tmp_path):
    """A small set: eight texts, two related queries and one unrelated."""
    write_beir(tmp_path / "set", CORPUS, QUERIES, QRELS)
    return tmp_path / "set"


# ---- measures ----


def test_measures_have_their_textbook_values():
    """Worked by hand: relevant at places 2 and 3 of 4."""
    ranked, grades = ["a", "b", "c", "d"], {"b": 1, "c": 1}
    assert hit(ranked, grades) == 0.0
    assert reciprocal_rank(ranked, grades) == 0.5
    assert (recall(ranked, grades, 2), recall(ranked, grades, 5)) == (0.5, 1.0)
    assert ndcg(ranked, grades) == pytest.approx((0.63093 + 0.5) / (1 + 0.63093), abs=1e-4)


def test_grades_weigh_in_the_gain():
    """The better answer belongs on top."""
    assert ndcg(["a", "b"], {"a": 1, "b": 2}) < ndcg(["b", "a"], {"a": 1, "b": 2}) == 1.0


def test_the_interval_is_repeatable_and_holds_the_mean():
    """The same queries give the same interval."""
    values = [0.0, 1.0, 1.0, 1.0, 0.5]
    one = estimate(values)
    assert one == estimate(values)
    assert one.low < one.mean < one.high


def test_bm25_prefers_rare_words():
    """The textbook baseline."""
    scores = PlainBM25(["open the file", "open the door", "open the zebra"]).scores("open the zebra")
    assert scores.argmax() == 2


# ---- sets ----


def test_a_set_is_read_as_it_was_written(folder):
    """Queries without qrels are unrelated."""
    task_set = read_beir(folder)
    assert (len(task_set.corpus), len(task_set.related), len(task_set.unrelated)) == (8, 2, 1)
    assert task_set.relevant == {"q0": {"d0": 1}, "q1": {"d1": 1}}


def test_qrels_may_lack_a_header_and_lie_in_their_own_folder(folder):
    """As BEIR's own downloads do; a grade of 0 is not relevant."""
    (folder / "qrels.tsv").unlink()
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("q0\td0\t1\nq1\td1\t0\n", encoding="utf-8")
    assert read_beir(folder).relevant == {"q0": {"d0": 1}}


@pytest.mark.parametrize(
    ("file", "text", "line", "field"),
    [
        ("corpus.jsonl", '{"_id": "a"}', 1, "text"),
        ("corpus.jsonl", '{"_id": "a", "text": "b"}\n{"_id": "a", "text": "c"}', 2, "_id"),
        ("queries.jsonl", "{", 1, None),
        ("qrels.tsv", "query-id\tcorpus-id\tscore\nq0 d0 1", 2, None),
    ],
)
def test_a_wrong_file_is_named_with_line_and_field(folder, file, text, line, field):
    """Never a traceback for bad input."""
    (folder / file).write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as caught:
        read_beir(folder)
    assert (Path(caught.value.file or "").name, caught.value.line, caught.value.field) == (file, line, field)


def test_qrels_of_an_unknown_entry_are_refused(folder):
    """A figure over what is not there would be too low in silence."""
    (folder / "qrels.tsv").write_text("q0\tnowhere\t1\n", encoding="utf-8")
    with pytest.raises(DataError, match="nowhere"):
        read_beir(folder)


def test_a_store_is_a_set_of_its_repeated_tasks(tmp_path):
    """Relevant is another session's record of the same canonical task."""
    runs = [a_record_of(f'Email "{word}" to Jane', session=session) for word, session in (("a", "s1"), ("b", "s2"))]
    runs.append(a_record_of('Email "c" to Jane', session="s1"))
    task_set = from_experiences("own", [*runs, a_record_of(TEXTS[1])])
    assert {query: sorted(found) for query, found in task_set.relevant.items()} == {
        runs[0].id: [runs[1].id],
        runs[1].id: sorted([runs[0].id, runs[2].id]),
        runs[2].id: [runs[1].id],
    }


def test_a_store_without_repeated_tasks_cannot_be_measured():
    """Nobody knows what the right answers are."""
    with pytest.raises(UsageError):
        from_experiences("own", [a_record_of(text) for text in TEXTS])


# ---- runs ----


def test_the_product_is_measured_beside_its_baselines(folder):
    """Rows for BM25, the embedder alone and the product; abstention from the unrelated query."""
    report = run(read_beir(folder))
    assert [row.method for row in report.rows] == ["BM25", "embedder alone", "product"]
    data = as_data(report)
    assert (data["ndcg@10"], data["hit@1"], data["mrr"]) == (1.0, 1.0, 1.0)
    assert data["abstention"] == {"precision": 1.0, "recall": 1.0}
    served = report.product.served
    assert served is not None
    assert (served.right, served.answered) == (1.0, 0.0)
    json.dumps(data)


def test_leave_one_out_never_lets_an_entry_answer_itself(tmp_path):
    """Without queries.jsonl the corpus entries with qrels are the queries."""
    corpus = [{"_id": f"d{n}", "text": f"Email Jane about topic {n}"} for n in range(3)] + CORPUS[1:3]
    corpus = [row | {"_id": f"e{n}"} for n, row in enumerate(corpus)]
    qrels = [(f"e{a}", f"e{b}", 1) for a in range(3) for b in range(3) if a != b]
    write_beir(tmp_path / "set", corpus, [], qrels)
    (tmp_path / "set" / "queries.jsonl").unlink()
    report = run(read_beir(tmp_path / "set", leave_one_out=True))
    assert report.related == 3
    assert report.product.figures["recall@5"].mean == 1.0
    assert report.product.figures["hit@1"].mean == 1.0


def test_a_page_with_a_plot_is_written(folder, tmp_path):
    """Markdown and PNG, for people."""
    pytest.importorskip("matplotlib")
    page, plot = write_page(run(read_beir(folder)), tmp_path / "out")
    assert "product, hashing" in page.read_text("utf-8")
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_the_table_names_every_method(folder):
    """One row each, with intervals."""
    text = report_text(run(read_beir(folder)))
    assert "| BM25 |" in text
    assert "| product, hashing |" in text
    assert "100.0 %" in text


def test_the_command_prints_one_object(folder):
    """`bench retrieval --data DIR --json`."""
    data = Cli(folder).json("bench", "retrieval", "--data", folder)
    assert (data["corpus"], data["related"], data["unrelated"]) == (8, 2, 1)
    assert {row["method"] for row in data["rows"]} == {"BM25", "embedder alone", "product"}


def test_a_store_of_ones_own_is_measured_leave_one_out(tmp_path):
    """`bench retrieval --db STORE --leave-one-out`; without it, or without data, a usage error."""
    runs = [a_record_of(f'{text} "{n}"', session=f"{text}{n}") for text in TEXTS[:3] for n in range(2)]
    memory_of(tmp_path / "db", *runs)
    cli = Cli(tmp_path)
    data = cli.json("bench", "retrieval", "--db", "db", "--leave-one-out")
    assert (data["related"], data["hit@1"]) == (6, 1.0)
    cli("bench", "retrieval", "--db", "db", code=2)
    cli("bench", "retrieval", code=2)


# ---- converters ----


def test_webarena_becomes_a_set(tmp_path):
    """From the public JSON array; templates with one member are searched but not asked for."""
    tasks = [
        {"task_id": n, "sites": ["map"], "intent": f"Find {n}", "intent_template_id": template}
        for n, template in enumerate([7, 7, 8])
    ]
    source = tmp_path / "test.raw.json"
    source.write_text(json.dumps(tasks), encoding="utf-8")
    subprocess.run([sys.executable, BENCHMARKS / "convert_webarena.py", source, tmp_path / "out"], check=True)
    task_set = read_beir(tmp_path / "out", leave_one_out=True)
    assert (len(task_set.corpus), sorted(task_set.relevant)) == (3, ["webarena-0", "webarena-1"])


def test_osworld_becomes_a_set(tmp_path):
    """From the public folders: joined on domain and id, adapted Windows tasks on the id, equal texts left out."""
    wordings = {
        "old": {"chrome/a": "Do x", "chrome/b": "Same", "Windows/excel/c": "Do z"},
        "new": {"chrome/a": "Please do x", "chrome/b": "Same", "calc/c": "Please do z", "os/a": "Other"},
    }
    for version, tasks in wordings.items():
        for name, instruction in tasks.items():
            path = tmp_path / version / f"{name}.json"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"id": path.stem, "instruction": instruction}), encoding="utf-8")
    arguments = [BENCHMARKS / "convert_osworld.py", tmp_path / "old", tmp_path / "new", tmp_path / "out"]
    subprocess.run([sys.executable, *arguments], check=True)
    task_set = read_beir(tmp_path / "out")
    assert len(task_set.corpus) == 4
    assert task_set.relevant == {
        "old-chrome-a": {"verified-chrome-a": 1},
        "old-Windows/excel-c": {"verified-calc-c": 1},
    }


def test_the_set_of_an_author_is_measured_by_kind_and_what_scores_stand_for(tmp_path):
    """Its steps, kinds and wrong entries are read; a judge of known accuracy stands behind the product."""
    author = Path(__file__).parent / "data" / "retrieval" / "author_c"
    command = [sys.executable, BENCHMARKS / "convert_rewordings.py", author, tmp_path / "set", "--records", "10"]
    subprocess.run(command, check=True)
    task_set = read_beir(tmp_path / "set")
    task_set = replace(
        task_set, queries=[one for one in task_set.queries if one.id in task_set.relevant or one.id[-1] == "1"]
    )
    assert (len(task_set.corpus), bool(task_set.corpus[0].steps)) == (10, True)
    plain, judged = (run(task_set, judge=judge) for judge in (None, "1"))
    kinds = {one.kind: one for one in judged.product.kinds}
    assert kinds["stranger"].answered == 0.0
    assert judged.product.served.right >= plain.product.served.right
    assert 0 < judged.product.judged <= len(task_set.queries)
    assert sum(one.count for one in plain.product.reliability.bins) <= len(task_set.queries)
    assert "expected calibration error" in report_text(plain)


def test_views_of_the_text_and_odd_embedders_take_one_command_each(folder):
    """Four views; words alone, the embedder itself and every oddity of it."""
    report = run(read_beir(folder), ["simulated:all:hashing"], views=True)
    methods = [row.method for row in report.rows]
    assert methods.count("product") == len(KINDS) + 2
    assert methods[1:5] == ["raw text", "abstracted text", "both text", "steps text"]


@pytest.mark.slow
def test_the_reach_on_webarena_and_osworld(data_folder, tmp_path):
    """The figures docs/retrieval.md reports without a model, within a small margin."""
    osworld = [data_folder / "osworld" / name for name in ("tasks_2024.jsonl", "tasks_verified.jsonl")]
    web = tmp_path / "web"
    subprocess.run(
        [sys.executable, BENCHMARKS / "convert_webarena.py", data_folder / "webarena" / "tasks.jsonl", web], check=True
    )
    reworded = [BENCHMARKS / "convert_osworld.py", *osworld, tmp_path / "os", "--distractors", web]
    subprocess.run([sys.executable, *reworded], check=True)
    templates = run(read_beir(web, leave_one_out=True)).product.figures
    rewordings = run(read_beir(tmp_path / "os")).product.figures
    assert templates["ndcg@10"].mean >= 0.974
    assert templates["hit@1"].mean >= 0.977
    assert rewordings["ndcg@10"].mean >= 0.983
    assert rewordings["hit@1"].mean >= 0.972


def test_no_odd_embedder_makes_the_product_worse_than_its_words(tmp_path):
    """Narrow, shifted, low-dimensional, blind or constant: never more than .005 nDCG below."""
    folder = tmp_path / "set"
    corpus = [{"_id": f"c{n}", "text": text} for n, text in enumerate(TEXTS)]
    queries = [{"_id": f"q{n}", "text": f"please {text.lower()} now"} for n, text in enumerate(TEXTS)]
    write_beir(folder, corpus, queries, [(f"q{n}", f"c{n}", 1) for n in range(len(TEXTS))])
    kinds = [f"simulated:{kind}:hashing" for kind in KINDS]
    report = run(read_beir(folder), ["hashing", *kinds])
    words, *odd = [row.figures["ndcg@10"].mean for row in report.rows if row.method == "product"]
    assert len(odd) == len(KINDS)
    assert min(odd) >= words - 0.005
