"""The Batch API mode: half the price, and whatever dies between two steps, no text is paid for twice."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.openai_stub import OK, OpenAIStub, Recorded, Reply, error_reply, failing, out_of_quota, reset, vector_of
from tests.store_helpers import experience, leftovers
from ufo_experience.batch.book import FILE, JobBook
from ufo_experience.batch.job import BatchJobs, BatchProgress, wait_for
from ufo_experience.cli import app
from ufo_experience.embedding.cache import CachedEmbedder, EmbeddingCache
from ufo_experience.embedding.hashing import HashingEmbedder
from ufo_experience.embedding.openai import OpenAIEmbedder
from ufo_experience.errors import BudgetError, CorruptError, LockedError, ServiceError, UsageError
from ufo_experience.index.generation import Generations
from ufo_experience.openai_service.breaker import CircuitBreaker
from ufo_experience.openai_service.client import OpenAIService, OpenAISettings
from ufo_experience.openai_service.daily import DailySpending
from ufo_experience.openai_service.prices import Ledger
from ufo_experience.purging import purge
from ufo_experience.store.files import FileStore

SMALL = "text-embedding-3-small"
SPEC = f"openai:{SMALL}:32"
DIM = 32
KEY = "sk-test-not-a-key"
TEXTS = [f"task number {i}" for i in range(7)]


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIStub]:
    """A server in the place of OpenAI, also for whoever reads the environment."""
    with OpenAIStub(dim=DIM) as server:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where cache and jobs are kept."""
    return tmp_path / "cache"


def cached(stub: OpenAIStub, folder: Path, ledger: Ledger | None = None) -> CachedEmbedder:
    """An embedder of a new process: on the stub, never sleeping, the cache in the folder."""
    settings = OpenAISettings(api_key=KEY, base_url=stub.url)
    service = OpenAIService(settings, breaker=CircuitBreaker(), ledger=ledger, sleep=lambda seconds: None)
    return CachedEmbedder(OpenAIEmbedder(SMALL, DIM, service=service), EmbeddingCache(folder / "embeddings.sqlite"))


def jobs(stub: OpenAIStub, folder: Path, texts: list[str] = TEXTS, **options: object) -> BatchJobs:
    """The jobs as a new process sees them."""
    embedder = cached(stub, folder, options.pop("ledger", None))
    return BatchJobs(embedder, folder, lambda: iter([texts]), lock_timeout=0.05, **options)


def held(stub: OpenAIStub, folder: Path, texts: list[str] = TEXTS) -> int:
    """How many of the texts the cache holds, rightly."""
    embedder = cached(stub, folder)
    found = embedder.cache.get([embedder.key(text, "document") for text in texts], DIM)
    for text in texts:
        vector = found.get(embedder.key(text, "document"))
        assert vector is None or np.allclose(vector, vector_of(text, DIM), atol=1e-6)
    return len(found)


def batches_made(stub: OpenAIStub) -> int:
    """How many batches exist at the service."""
    return len(stub.batches.batches)


def kill(stub: OpenAIStub, step: str, *, heard: bool) -> None:
    """The next POST to `step` gets no reply, and the question what became of it neither: the process might be dead.

    The service did what it was asked (`heard`), or never heard of it.
    """
    honest, lost = stub.honest, []

    def answer(request: Recorded) -> Reply:
        if not lost and (request.method, request.path) == ("POST", step):
            lost.append(honest(request) if heard else request)
            return Reply(reset=True)
        if lost:
            stub.honest = honest
            return error_reply(401, "invalid_api_key", "no answer")
        return honest(request)

    stub.honest = answer


def run_until_done(stub: OpenAIStub, folder: Path, texts: list[str] = TEXTS) -> BatchProgress:
    """Go on as a scheduler would: run, let the service work, run."""
    for _ in range(6):
        now = jobs(stub, folder, texts).advance()
        if not now.jobs:
            return now
        stub.batches.finish()
    raise AssertionError("it does not come to an end")


# ---- the ordinary way ----


def test_texts_go_out_as_a_file_and_their_vectors_come_back(stub, folder):
    """One batch; answers in another order; afterwards all vectors are in the cache and nothing stays behind."""
    now = jobs(stub, folder).advance()
    assert (len(now.jobs), now.submitted, now.collected) == (1, 7, 0)
    assert jobs(stub, folder).advance().lines == 7
    stub.batches.finish()
    done = jobs(stub, folder).advance()
    assert (done.jobs, done.collected, held(stub, folder)) == ((), 7, 7)
    assert stub.batches.files == {}
    assert list(leftovers(folder)) == []
    assert set(stub.batches.spent.values()) == {1}


def test_a_line_says_what_an_ordinary_request_would_say(stub, folder):
    """The id is the key of the cache; model, dimensions and form are the embedder's; our tag is in the metadata."""
    jobs(stub, folder, ["one", " "]).advance()
    (name, content), (batch,) = *stub.batches.files.values(), stub.batches.batches.values()
    first, second = map(json.loads, content.splitlines())
    assert first["custom_id"] == cached(stub, folder).key("one", "document").hex()
    assert first["body"] == {"model": SMALL, "input": "one", "encoding_format": "base64", "dimensions": DIM}
    assert second["body"]["input"] == "(empty)"
    assert name == f"{batch['metadata']['ufo_experience_job']}.jsonl"
    assert (batch["endpoint"], batch["completion_window"]) == ("/v1/embeddings", "24h")


def test_what_is_in_the_cache_is_not_sent(stub, folder):
    """Nothing missing, no request."""
    cached(stub, folder).embed(TEXTS)
    stub.requests.clear()
    assert jobs(stub, folder).advance() == BatchProgress()
    assert stub.requests == []


def test_many_texts_make_several_jobs(stub, folder):
    """At most so many lines a file; all under way at once."""
    now = jobs(stub, folder, max_lines=3).advance()
    assert (len(now.jobs), now.lines) == (3, 7)
    stub.batches.finish()
    assert jobs(stub, folder).advance().collected == 7


def test_nothing_new_is_submitted_while_a_job_runs(stub, folder):
    """What comes in meanwhile waits for the next job."""
    jobs(stub, folder).advance()
    more = [f"new {i}" for i in range(200)]
    assert jobs(stub, folder, TEXTS + more).advance().submitted == 0
    stub.batches.finish()
    assert jobs(stub, folder, TEXTS + more).advance().submitted == 200


def test_waiting_looks_with_growing_pauses(stub, folder):
    """The pauses are given to a sleep of the caller's."""
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            stub.batches.finish()

    told: list[BatchProgress] = []
    assert wait_for(jobs(stub, folder), told.append, sleep=sleep).collected == 7
    assert pauses == [10, 20, 40]
    assert len(told) == 3


# ---- killed between two steps ----


@pytest.mark.parametrize("heard", [False, True], ids=["before it was sent", "after it was done"])
@pytest.mark.parametrize("step", ["/v1/files", "/v1/batches"])
def test_a_process_that_dies_while_it_submits_pays_once(stub, folder, step, heard):
    """Whether the service had heard of it or not: the next process finds out, and goes on."""
    kill(stub, step, heard=heard)
    with pytest.raises(ServiceError):
        jobs(stub, folder).advance()
    assert len(JobBook(folder, lock_timeout=1).jobs()) == 1
    run_until_done(stub, folder)
    assert held(stub, folder) == 7
    assert (batches_made(stub), set(stub.batches.spent.values())) == (1, {1})


def test_a_lost_reply_to_the_submission_is_looked_up_at_once(stub, folder):
    """The connection breaks after the service began: no second batch, no error."""
    stub.play(OK, reset)
    assert len(jobs(stub, folder).advance().jobs) == 1
    assert batches_made(stub) == 1
    run_until_done(stub, folder)
    assert set(stub.batches.spent.values()) == {1}


def test_a_lost_reply_to_the_upload_leaves_no_second_copy(stub, folder):
    """The file is found by its name."""
    stub.play(failing(503))
    jobs(stub, folder).advance()
    assert len(stub.batches.files) == 1
    run_until_done(stub, folder)
    assert stub.batches.files == {}


def test_a_batch_is_found_among_many(stub, folder):
    """Page after page, by our tag."""
    for number in range(5):
        stub.batches.batches[f"batch_other{number}"] = {
            "id": f"batch_other{number}",
            "object": "batch",
            "endpoint": "/v1/embeddings",
            "input_file_id": f"file-other{number}",
            "completion_window": "24h",
            "status": "in_progress",
            "created_at": 0,
        }
    jobs(stub, folder).advance()
    book = JobBook(folder, lock_timeout=1)
    (job,) = book.jobs()
    mine = stub.batches.batches.pop(job.batch_id)
    stub.batches.batches = {job.batch_id: mine, **stub.batches.batches}  # the oldest of six
    book.save(type(job)(**{**vars(job), "batch_id": ""}))
    assert jobs(stub, folder).advance().jobs == (job.batch_id,)
    assert batches_made(stub) == 6


def test_a_job_that_never_reached_the_service_is_dropped_and_planned_anew(stub, folder):
    """Nothing was uploaded; what was booked for it is given back."""
    daily = DailySpending(folder / "spending.sqlite", 1.0)
    kill(stub, "/v1/files", heard=False)
    with pytest.raises(ServiceError):
        jobs(stub, folder, ledger=Ledger(daily=daily)).advance()
    booked = daily.spent()
    assert booked > 0
    assert jobs(stub, folder, ledger=Ledger(daily=daily)).advance().submitted == 7
    assert daily.spent() == pytest.approx(booked)
    assert len(JobBook(folder, lock_timeout=1).jobs()) == 1


def test_collecting_twice_is_harmless(stub, folder):
    """Killed after the vectors were kept and before the job was forgotten."""
    jobs(stub, folder).advance()
    before = (folder / FILE).read_bytes()
    stub.batches.finish()
    files = dict(stub.batches.files)
    jobs(stub, folder).advance()
    (folder / FILE).write_bytes(before)
    stub.batches.files.update(files)
    assert jobs(stub, folder).advance().jobs == ()
    assert (held(stub, folder), batches_made(stub)) == (7, 1)


def test_the_book_holds_neither_texts_nor_the_key(stub, folder):
    """It may lie beside the store in the open; files with texts are gone when the job is submitted."""
    jobs(stub, folder).advance()
    assert list(leftovers(folder)) == []
    kept = b"".join(path.read_bytes() for path in folder.iterdir())
    assert KEY.encode() not in kept
    assert b"task number" not in kept


def test_files_a_dead_process_left_are_swept_by_the_next_and_by_a_purge(stub, tmp_path):
    """They hold texts, or vectors."""
    store = FileStore.open(tmp_path / "db")
    store.add([experience(number) for number in range(3)])
    left = store.cache_folder / ".batch-in.tmp"
    left.write_text("task number 1", encoding="utf-8")
    jobs(stub, store.cache_folder).advance()
    assert not left.exists()
    left.write_text("task number 1", encoding="utf-8")
    purge(store, Generations.open(store, lock_timeout=1), "s0")
    assert not left.exists()


def test_a_model_that_only_the_service_knows_is_asked_for_its_length_first(stub, folder):
    """One ordinary request; then keys can be made, and the vectors arrive under them."""
    service = OpenAIService(OpenAISettings(base_url=stub.url), breaker=CircuitBreaker())
    embedder = CachedEmbedder(OpenAIEmbedder("mystery", service=service), EmbeddingCache(folder / "embeddings.sqlite"))
    run = BatchJobs(embedder, folder, lambda: iter([TEXTS]))
    run.advance()
    stub.batches.finish()
    assert run.advance().collected == 7
    assert np.array_equal(embedder.embed(TEXTS[:1]), embedder.embed(TEXTS)[:1])
    assert sum(request.path.endswith("/embeddings") for request in stub.requests) == 1


def test_a_book_that_cannot_be_read_stops_everything(stub, folder):
    """It may name batches that are paid for."""
    folder.mkdir()
    (folder / FILE).write_text("{", encoding="utf-8")
    with pytest.raises(CorruptError, match="ufo_experience_job"):
        jobs(stub, folder).advance()
    assert stub.requests == []


def test_two_processes_do_not_work_on_the_same_jobs(stub, folder):
    """The second is told to try again later."""
    with JobBook(folder, lock_timeout=1).alone(), pytest.raises(LockedError):
        jobs(stub, folder).advance()


# ---- what comes back ----


def test_expired_lines_go_into_the_next_job(stub, folder):
    """Only they; what was answered is kept."""
    stub.batches.expire = {TEXTS[1], TEXTS[4]}
    jobs(stub, folder).advance()
    stub.batches.finish("expired")
    now = jobs(stub, folder).advance()
    assert (now.collected, now.submitted, len(now.jobs)) == (5, 2, 1)
    stub.batches.expire = set()
    run_until_done(stub, folder)
    assert held(stub, folder) == 7
    assert set(stub.batches.spent.values()) == {1}


def test_a_few_failed_lines_are_left_to_ordinary_requests(stub, folder):
    """Which say what is wrong, or do it."""
    stub.batches.spoil = {TEXTS[2]}
    done = run_until_done(stub, folder)
    assert (done.jobs, held(stub, folder), batches_made(stub)) == ((), 6, 1)


def test_a_batch_without_one_answer_is_an_error(stub, folder):
    """It would not be otherwise the next time; the reason is the service's."""
    texts = [f"t{i}" for i in range(150)]
    stub.batches.spoil = set(texts)
    jobs(stub, folder, texts).advance()
    stub.batches.finish()
    with pytest.raises(ServiceError, match="is invalid") as caught:
        jobs(stub, folder, texts).advance()
    assert caught.value.code == "E_BATCH"


@pytest.mark.parametrize(
    "wrong",
    [
        lambda line: line["response"]["body"]["data"].clear(),
        lambda line: line["response"]["body"]["data"][0].update(embedding=[float("nan")] * DIM),
        lambda line: line["response"]["body"]["data"][0].update(embedding=[1.0]),
        lambda line: line["response"]["body"]["data"][0].update(index=1),
        lambda line: line.update(custom_id="not a key"),
        lambda line: line.update(custom_id="ab" * 32),
        lambda line: line.update(response="text"),
    ],
    ids=["no vector", "NaN", "too short", "wrong index", "no key", "foreign key", "no object"],
)
def test_a_wrong_answer_is_not_kept(stub, folder, wrong):
    """Each line is checked as an ordinary reply is; the others are used."""
    spoilt = cached(stub, folder).key(TEXTS[3], "document").hex()
    stub.batches.edit = lambda line: wrong(line) if line["custom_id"] == spoilt else None
    assert run_until_done(stub, folder).collected == 6
    assert held(stub, folder) == 6


def test_a_failed_batch_says_why_and_is_forgotten(stub, folder):
    """The next run submits anew."""
    jobs(stub, folder).advance()
    stub.batches.fail("token_limit_exceeded", "Enqueued token limit reached")
    with pytest.raises(ServiceError, match="Enqueued token limit reached"):
        jobs(stub, folder).advance()
    assert jobs(stub, folder).advance().submitted == 7


def test_what_was_removed_meanwhile_is_not_brought_back(stub, folder):
    """A purged text has no vector in the cache, even if its batch was under way."""
    jobs(stub, folder).advance()
    stub.batches.finish()
    assert jobs(stub, folder, TEXTS[1:]).advance().collected == 6
    assert held(stub, folder) == 6


# ---- money ----


def test_a_batch_costs_half_and_its_real_usage_is_booked(stub, folder):
    """First the ceiling is taken from the day, at collection it becomes what was used."""
    tokens = sum(len(text) for text in TEXTS)
    half = tokens * 0.01 / 1e6
    daily = DailySpending(folder / "spending.sqlite", 1.0)
    jobs(stub, folder, ledger=Ledger(daily=daily)).advance()
    assert daily.spent() == pytest.approx(half, abs=1e-9)
    stub.batches.edit = lambda line: line["response"]["body"].update(usage={"prompt_tokens": 1})
    stub.batches.finish()
    done = jobs(stub, folder, ledger=Ledger(daily=daily)).advance()
    assert done.cost == pytest.approx(7 * 0.01 / 1e6)
    assert daily.spent() == pytest.approx(7 * 0.01 / 1e6, abs=1e-9)


@pytest.mark.parametrize("cap", ["run", "day"])
def test_a_cap_stops_before_anything_is_uploaded(stub, folder, cap):
    """Nothing is sent, nothing is written down."""
    ledger = Ledger(1e-9) if cap == "run" else Ledger(daily=DailySpending(folder / "spending.sqlite", 1e-9))
    with pytest.raises(BudgetError):
        jobs(stub, folder, ledger=ledger).advance()
    assert stub.requests == []
    assert JobBook(folder, lock_timeout=1).jobs() == []


def test_only_openai_has_batches(stub, folder):
    """Other embedders are told so before anything is done."""
    azure = OpenAISettings(api_key="x", azure_endpoint=stub.origin)
    deployed = OpenAIEmbedder("d", DIM, settings=azure, provider="azure")
    for embedder in (HashingEmbedder(), CachedEmbedder(deployed, EmbeddingCache(folder / "x"))):
        with pytest.raises(UsageError, match="--batch"):
            BatchJobs(embedder, folder, lambda: iter([]))


# ---- the command ----


def test_the_command_submits_then_collects_then_indexes_without_a_request(stub, tmp_path):
    """75 means: run the same command again later. Collected, the index is made from the cache alone."""
    store = FileStore.open(tmp_path / "db")
    store.add([experience(number) for number in range(3)])
    arguments = ["index", "--batch", "--embedder", SPEC, "--db", store.location, "--json"]
    first = CliRunner().invoke(app, arguments)
    assert first.exit_code == 75
    assert json.loads(first.stdout)["submitted"] == 3
    assert CliRunner().invoke(app, arguments).exit_code == 75
    stub.batches.finish()
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0
    report = json.loads(done.stdout)
    assert (report["records"], report["cached"], report["requests"]) == (3, 3, 0)
    assert not any(request.path.endswith("/embeddings") for request in stub.requests)


def test_the_command_rebuilds_for_another_model_by_batch_while_the_old_index_answers(stub, tmp_path):
    """The old generation stays until the new vectors are in."""
    store = FileStore.open(tmp_path / "db")
    store.add([experience(number) for number in range(3)])
    run = CliRunner().invoke
    run(app, ["index", "--embedder", "hashing", "--db", store.location])
    arguments = ["index", "--rebuild", "--batch", "--embedder", SPEC, "--db", store.location]
    waiting = run(app, arguments)
    assert waiting.exit_code == 75
    assert "run the same command again" in waiting.stdout
    answer = run(app, ["retrieve", "Email Zoë № 1", "--db", store.location, "--json"])
    assert json.loads(answer.stdout)["embedder"] == "hashing"
    stub.batches.finish()
    assert run(app, arguments).exit_code == 0
    answer = run(app, ["retrieve", "Email Zoë № 1", "--db", store.location, "--json"])
    assert json.loads(answer.stdout)["embedder"] == SPEC


def test_waiting_without_a_batch_makes_no_sense(tmp_path):
    """A usage error."""
    FileStore.open(tmp_path / "db")
    assert CliRunner().invoke(app, ["index", "--wait", "--db", str(tmp_path / "db")]).exit_code == 2


def test_a_quota_fault_while_looking_is_typed(stub, folder):
    """And the job stays as it was."""
    jobs(stub, folder).advance()
    stub.play(out_of_quota)
    with pytest.raises(ServiceError):
        jobs(stub, folder).advance()
    run_until_done(stub, folder)
    assert held(stub, folder) == 7
