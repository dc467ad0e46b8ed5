"""The index job: what it would do before it does it, several requests at once, windows, and no downtime."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner
from ufo_experience.index.build import empty_snapshot, load_snapshot, sync
from ufo_experience.index.forecast import plan
from ufo_experience.index.generations import Generations
from ufo_experience.index.snapshot import apply, find_changes
from ufo_experience.service.client import BATCH, QUERY, OpenAIService, OpenAISettings, Timeouts
from ufo_experience.service.ledger import Ledger
from ufo_experience.service.limits import MINUTE, CircuitBreaker, Permit, RateLimiter, run_all
from ufo_experience.store.folder.store import FileStore

from tests.builders import a_record
from tests.disks import tree
from tests.openai_stub import (
    OK,
    FakeTime,
    OpenAIStub,
    edited,
    failing,
    out_of_quota,
    rate_limited,
    slow,
    token_limit,
    vector_of,
)
from ufo_experience import ExperienceMemory
from ufo_experience.cli import app
from ufo_experience.embed.cache import CachedEmbedder, EmbeddingCache
from ufo_experience.embed.hashing import HashingEmbedder
from ufo_experience.embed.openai import OpenAIEmbedder
from ufo_experience.errors import BudgetError, IndexMismatchError, ServiceError
from ufo_experience.request import estimate_tokens
from ufo_experience.schema import Trust
from ufo_experience.settings import Settings

SMALL = "text-embedding-3-small"
SPEC = f"openai:{SMALL}:32"
DIM = 32
TEXTS = [f"task number {i}" for i in range(1024)]  # four requests of 256


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIStub]:
    """A server in the place of OpenAI, also for whoever reads the environment."""
    with OpenAIStub(dim=DIM) as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test-not-a-key")
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        yield server


@pytest.fixture
def fake() -> FakeTime:
    return FakeTime()


@pytest.fixture
def store(tmp_path: Path) -> FileStore:
    """Six records, two of which have the same text."""
    opened = FileStore.open(tmp_path / "db")
    opened.add([a_record(number) for number in range(5)])
    opened.add([a_record(9, state={"task": "send an email to <recipient>", "request": "Email Zoë № 0"})])
    return opened


def hosted(stub: OpenAIStub, fake: FakeTime, *, ledger: Ledger | None = None, **access: object) -> OpenAIEmbedder:
    """An embedder on the stub that never really sleeps."""
    settings = OpenAISettings(api_key="sk-test", base_url=stub.url, **access)
    breaker = CircuitBreaker(clock=fake.clock)
    service = OpenAIService(settings, breaker=breaker, ledger=ledger, clock=fake.clock, sleep=fake.sleep)
    return OpenAIEmbedder(SMALL, DIM, service=service)


def cached(embedder: OpenAIEmbedder, folder: Path) -> CachedEmbedder:
    """The embedder with a cache in front."""
    return CachedEmbedder(embedder, EmbeddingCache(folder / "embeddings.sqlite"))


def generations_of(store: FileStore) -> Generations:
    """Where the index of a store is kept."""
    return Generations.open(store, lock_timeout=1)


def expected(texts: list[str]) -> np.ndarray:
    """What the stub gives for these texts."""
    return np.stack([vector_of(text, DIM) for text in texts])


# ---- what would be done ----


def test_a_plan_counts_texts_and_requests_and_sends_nothing(stub, fake, store, tmp_path):
    """The same text counts once."""
    embedder = cached(hosted(stub, fake), tmp_path / "cache")
    before = tree(tmp_path)
    found = plan(store, generations_of(store), embedder)
    assert (found.records, found.texts, found.cached, found.repeated, found.requests) == (6, 1, 0, 5, 1)
    assert stub.requests == []
    assert tree(tmp_path) == before


def test_a_plan_is_what_the_job_then_does(stub, fake, store, tmp_path):
    """Texts and requests of the plan are those of the run; afterwards nothing is left to do, even for a rebuild."""
    embedder = cached(hosted(stub, fake), tmp_path / "cache")
    planned = plan(store, generations_of(store), embedder)
    done = sync(store, generations_of(store), embedder)
    assert done.requests == planned.requests == len(stub.requests) == 1
    assert len(stub.requests[0].body["input"]) == planned.texts == 1
    assert (plan(store, generations_of(store), embedder).texts, len(stub.requests)) == (0, 1)
    again = plan(store, generations_of(store), embedder, rebuild=True)
    assert (again.texts, again.cached, again.requests) == (0, 6, 0)


def test_a_plan_does_not_ask_an_unknown_model_for_the_length_of_its_vectors(stub, fake, store):
    """The job asks for it, and the plan says so; once there is an index only a rebuild asks."""
    settings = OpenAISettings(api_key="sk-test", base_url=stub.url)

    def mystery():
        return cached(OpenAIEmbedder("mystery", settings=settings), Path(store.location) / "x")

    found = plan(store, generations_of(store), mystery())
    assert (found.texts, found.requests, stub.requests) == (1, 2, [])
    assert sync(store, generations_of(store), mystery()).requests == 2
    for rebuild, requests in ((False, 0), (True, 1)):
        again = plan(store, generations_of(store), mystery(), rebuild=rebuild)
        assert (again.texts, again.requests, len(stub.requests)) == (0, requests, 2)
    done = sync(store, generations_of(store), mystery(), rebuild=True)
    assert (done.embedded, done.requests) == (0, 1)


def test_a_plan_offline_has_no_requests(store):
    """No service is asked."""
    found = plan(store, generations_of(store), HashingEmbedder())
    assert (found.texts, found.requests) == (6, 0)


def test_a_plan_refuses_what_the_job_would_refuse(stub, fake, store):
    """The index is another embedder's; a rebuild is planned whole."""
    sync(store, generations_of(store), HashingEmbedder())
    embedder = hosted(stub, fake)
    with pytest.raises(IndexMismatchError, match="--rebuild"):
        plan(store, generations_of(store), embedder)
    assert plan(store, generations_of(store), embedder, rebuild=True).texts == 6
    assert stub.requests == []


def test_a_planned_request_is_no_larger_than_a_minutes_tokens(stub, fake):
    """Two hundred texts of a hundred tokens at two hundred tokens a minute are a hundred requests."""
    embedder = hosted(stub, fake, requests_per_minute=10, tokens_per_minute=200)
    texts = ["x" * 300] * 200
    assert [piece.stop - piece.start for piece in embedder.batches(texts)] == [2] * 100


def test_the_command_says_what_it_would_do(stub, store):
    """`--dry-run`, for people and for programs: counts alone. Nothing is sent or written."""
    before = tree(Path(store.location))
    arguments = ["index", "--dry-run", "--embedder", SPEC, "--db", store.location]
    shown = CliRunner().invoke(app, arguments)
    assert "would embed 1 text of 6" in shown.stdout
    assert "(0 more are in the cache, 5 the same as others)\nnothing was sent" in shown.stdout
    counts = json.loads(CliRunner().invoke(app, [*arguments, "--json"]).stdout)
    texts = {"texts": 1, "cached": 0, "repeated": 5}
    assert counts == {"dry_run": True, "records": 6, **texts, "requests": 1, "embedder": SPEC}
    assert stub.requests == []
    assert tree(Path(store.location)) == before


# ---- several requests at once ----


def test_documents_go_out_several_at_once_and_come_back_in_order(stub, fake):
    """Four requests on the wire together; the rows are in the order of the texts all the same."""
    stub.play(*[slow(0.05)] * 4)
    embedder = hosted(stub, fake, concurrency=4)
    assert np.allclose(embedder.embed(TEXTS), expected(TEXTS), atol=1e-6)
    assert stub.most_at_once > 1
    assert embedder.spending.requests == 4
    assert embedder.spending.tokens == sum(map(len, TEXTS))


def test_a_query_goes_alone(stub, fake):
    """One text is one request without threads, and without a rate limit."""
    embedder = hosted(stub, fake, requests_per_minute=1)
    for _ in range(3):
        embedder.embed(["a question"], "query")
    assert fake.slept == []


def test_what_was_paid_for_is_kept_when_a_request_fails(stub, fake, tmp_path):
    """The first fault ends the job; replies on the wire by then are in the cache, and a second run sends the rest."""
    stub.play(slow(0.05), out_of_quota, slow(0.05), slow(0.05))
    with pytest.raises(ServiceError) as caught:
        cached(hosted(stub, fake, concurrency=3), tmp_path).embed(TEXTS)
    assert caught.value.code == "E_QUOTA"
    sent = len(stub.requests)
    kept = len(EmbeddingCache(tmp_path / "embeddings.sqlite"))
    assert kept > 0
    stub.recover()
    stub.requests.clear()
    again = cached(hosted(stub, fake, concurrency=3), tmp_path)
    assert np.allclose(again.embed(TEXTS), expected(TEXTS), atol=1e-6)
    assert again.cached == kept
    texts = sum(len(request.body["input"]) for request in stub.requests)
    assert texts == len(TEXTS) - kept
    assert sent <= 4


def test_a_stopped_job_sends_no_retries(stub, fake):
    """A fault that lasts ends also those who would have tried again."""
    stub.play(out_of_quota, *[failing(503)] * 12)
    with pytest.raises(ServiceError):
        hosted(stub, fake, concurrency=1).embed(TEXTS)
    assert len(stub.requests) == 1


def test_the_first_error_wakes_those_who_wait():
    """Who pauses for a minute does not hold up the end of the job, and who has not begun never does."""
    stop, ended = threading.Event(), []

    def fail() -> None:
        raise ServiceError("the first")

    jobs = [lambda: ended.append(stop.wait(5)), fail, *[lambda: ended.append("begun late")] * 3]
    with pytest.raises(ServiceError, match="the first"):
        run_all(jobs, 2, stop)
    assert ended == [True]


def test_an_interrupted_job_keeps_what_arrives(stub, fake, tmp_path):
    """Ctrl-C in the caller: requests on the wire are finished and kept, others never begin."""

    class InterruptedOnce(EmbeddingCache):
        """Ctrl-C comes right after the first reply was kept."""

        def put(self, rows) -> None:
            super().put(rows)
            if not fake.slept:
                fake.sleep(0)
                raise KeyboardInterrupt

    embedder = CachedEmbedder(hosted(stub, fake, concurrency=2), InterruptedOnce(tmp_path / "embeddings.sqlite"))
    with pytest.raises(KeyboardInterrupt):
        embedder.embed(TEXTS)
    assert embedder.warning is None
    sent = sum(len(request.body["input"]) for request in stub.requests)
    assert len(EmbeddingCache(tmp_path / "embeddings.sqlite")) == sent


def test_one_rate_limit_pauses_the_whole_job(stub, fake):
    """Five 429s at once neither open the breaker nor end the job: all wait, once, as long as was asked."""
    stub.play(*[rate_limited(retry_after=7)] * 5)
    embedder = hosted(stub, fake, concurrency=5)
    texts = [f"t{i}" for i in range(5 * 256)]
    assert np.allclose(embedder.embed(texts), expected(texts), atol=1e-6)
    assert len(stub.requests) == 10
    assert fake.now >= 7
    assert not embedder.service.breaker.is_open


def test_a_pause_asked_of_one_is_a_pause_for_all(stub, fake):
    """Who did not get the 429 waits, too, before it sends its next request; a query does not."""
    stub.play(rate_limited(retry_after=7))
    service = hosted(stub, fake).service

    def send(client: object) -> object:
        return client.embeddings.create(model=SMALL, input=["a"])

    with pytest.raises(ServiceError):
        service.call(send, Timeouts(timeout=3, budget=5), what="one", permit=Permit())
    service.call(send, QUERY, what="a query")
    assert fake.now == 0
    service.call(send, BATCH, what="another", permit=Permit())
    assert fake.now == pytest.approx(7)


def test_waiting_for_its_turn_uses_up_no_patience(stub, fake):
    """A call that waited longer than its budget for the rate limiter is still tried again."""
    stub.play(failing(503), OK)
    service = hosted(stub, fake).service
    service.rate_limiter.pause_all(50)
    assert service.call(
        lambda client: client.embeddings.create(model=SMALL, input=["a"]),
        Timeouts(timeout=3, budget=10),
        what="x",
        permit=Permit(),
    )
    assert len(stub.requests) == 2


def test_a_logical_call_is_four_requests_at_most_also_in_a_job(stub, fake):
    """Rate limits that do not end are a typed error."""
    stub.play(*[rate_limited(retry_after=1)] * 50)
    with pytest.raises(ServiceError) as caught:
        hosted(stub, fake, concurrency=1).embed(["one"])
    assert (caught.value.code, len(stub.requests)) == ("E_RATE_LIMIT", 4)


def test_the_breaker_ends_a_job_on_a_service_that_is_down(stub, fake, tmp_path):
    """Five failures in all, by whichever thread, and nothing more is sent."""
    stub.play(*[failing(503)] * 100)
    with pytest.raises(ServiceError):
        cached(hosted(stub, fake, concurrency=4), tmp_path).embed(TEXTS)
    assert len(stub.requests) <= 5 + 3  # three may be on the wire when it opens


def test_the_cap_holds_with_several_requests_at_once(stub, fake, tmp_path):
    """Money is set aside before each request, as much as its tokens are estimated to cost, whoever comes first.

    What is billed beyond the estimate can pass the cap by as much, once for each request in flight; no more is sent.
    """
    estimated = sum(map(estimate_tokens, TEXTS[:256])) * 0.02 / 1e6
    billed = max(sum(len(text.encode()) for text in TEXTS[at : at + 256]) for at in range(0, 1024, 256)) * 0.02 / 1e6
    cap, at_once = 2.5 * estimated, 4
    ledger = Ledger(max_cost=cap)
    with pytest.raises(BudgetError):
        cached(hosted(stub, fake, concurrency=at_once, ledger=ledger), tmp_path).embed(TEXTS)
    assert len(stub.requests) <= 2
    assert 0 < ledger.cost <= cap + at_once * (billed - estimated)


def test_a_token_limit_is_halved_in_a_job_too(stub, fake, tmp_path):
    """Each half is kept when it is done."""
    stub.play(token_limit, OK, out_of_quota)
    with pytest.raises(ServiceError):
        cached(hosted(stub, fake, concurrency=1), tmp_path).embed(TEXTS[:256])
    assert len(EmbeddingCache(tmp_path / "embeddings.sqlite")) == 128


# ---- rate limits ----


def test_a_minute_holds_only_so_many_requests(fake):
    """The third of two a minute waits until the first is a minute old."""
    limiter = RateLimiter(requests=2, clock=fake.clock, sleep=fake.sleep)
    waited = []
    for _ in range(4):
        waited.append(limiter.wait(Permit()))
        fake.now += 10
    assert waited == pytest.approx([0, 0, 40, 0])


def test_a_minute_holds_only_so_many_tokens_as_really_used(fake):
    """An estimate counts until the reply says what was used; a call larger than the limit goes alone."""
    limiter = RateLimiter(tokens=100, clock=fake.clock, sleep=fake.sleep)
    first = Permit(90)
    assert limiter.wait(first) == 0
    first.tokens = 20
    assert limiter.wait(Permit(80)) == 0
    assert limiter.wait(Permit(500)) == pytest.approx(MINUTE)


def test_the_usage_a_reply_names_takes_the_place_of_the_estimate(stub, fake):
    """Calls of 90 estimated tokens fit 100 a minute, for they were 1 token each; without a usage the next waits."""
    embedder = hosted(stub, fake, tokens_per_minute=100)
    stub.play(*[edited(lambda data: data["usage"].update(prompt_tokens=1))] * 2, edited(lambda data: data.pop("usage")))
    for letter in "abc":
        embedder.embed([letter * 270])
    assert fake.now == 0
    embedder.embed(["d" * 270])
    assert fake.now == pytest.approx(MINUTE)


def test_waiting_ends_when_the_job_is_stopped(fake):
    """Nobody sleeps through the end of his job."""
    permit = Permit()

    def sleep(seconds: float) -> None:
        fake.sleep(seconds)
        if fake.now > 1:
            permit.stop.set()

    limiter = RateLimiter(clock=fake.clock, sleep=sleep)
    limiter.pause_all(100)
    with pytest.raises(ServiceError) as caught:
        limiter.wait(permit)
    assert caught.value.code == "E_STOPPED"
    assert fake.now < 2


# ---- windows ----


@pytest.mark.parametrize("aged", [False, True], ids=["just written", "written long ago"])
def test_records_are_read_in_windows_and_nothing_is_missed(tmp_path, aged):
    """Many small steps end where one big step ends, also where a shard's time says that it was looked at."""
    store = FileStore.open(tmp_path / "db")
    store.add([a_record(number) for number in range(60)])
    store.set_status(store.ids()[3], trust=Trust.APPROVED)
    for shard in [*(tmp_path / "db" / "records").iterdir(), *(tmp_path / "db" / "status").iterdir()] if aged else []:
        os.utime(shard, (1e9, 1e9))
    whole = apply(empty_snapshot(16), find_changes(store, empty_snapshot(16)), HashingEmbedder(16))
    snapshot, sizes, complete = empty_snapshot(16), [], False
    while not complete:
        changes = find_changes(store, snapshot, limit=7)
        snapshot, complete = apply(snapshot, changes, HashingEmbedder(16)), changes.complete
        sizes.append(len(changes.added))
    assert sum(sizes) == 60
    assert max(sizes) < 20
    assert snapshot.catalog.compact().rows.tobytes() == whole.catalog.compact().rows.tobytes()
    assert snapshot.revision == whole.revision == store.revision()


def test_a_step_of_a_window_is_not_taken_for_the_whole(tmp_path):
    """Its revision is the old one: whoever holds it must look again."""
    store = FileStore.open(tmp_path / "db")
    store.add([a_record(number) for number in range(20)])
    changes = find_changes(store, empty_snapshot(16), limit=1)
    assert not changes.complete
    assert changes.revision == ""


# ---- another embedder, no downtime ----


def test_the_old_index_answers_until_the_new_one_is_complete(stub, tmp_path):
    """A rebuild for another embedder that fails in the middle changes nothing for those who ask."""
    db = str(tmp_path / "db")
    memory = ExperienceMemory.open(settings=Settings(db=db, embedder="hashing", threshold=0.2, min_trust="observed"))
    memory.store.add([a_record(number) for number in range(3)])
    memory.index()
    before = memory.retrieve("Email Zoë № 1")
    stub.play(*[failing(401, "invalid_api_key")] * 10)
    switching = ExperienceMemory.open(settings=Settings(db=db, embedder=SPEC))
    with pytest.raises(ServiceError):
        switching.index(rebuild=True)
    during = ExperienceMemory.open(settings=Settings(db=db, threshold=0.2, min_trust="observed")).retrieve(
        "Email Zoë № 1"
    )
    assert (during.embedder, during.degraded) == ("hashing", None)
    assert [(hit.experience.id, hit.score) for hit in during] == [(hit.experience.id, hit.score) for hit in before]
    stub.recover()
    switching.index(rebuild=True)
    after = ExperienceMemory.open(settings=Settings(db=db)).retrieve("Email Zoë № 1")
    assert (after.embedder, after.degraded) == (SPEC, None)


def test_a_reader_in_the_middle_of_a_rebuild_sees_the_old_generation(stub, store):
    """While the new embedder is asked, the published index is whole and the old one's."""
    generations = generations_of(store)
    sync(store, generations, HashingEmbedder())
    seen = []

    class Watching(HashingEmbedder):
        def embed(self, texts, kind="document"):
            snapshot = load_snapshot(store, generations_of(store))
            seen.append((snapshot.manifest.embedder, len(snapshot.index)))
            return super().embed(texts, kind)

    sync(store, generations, Watching(64), rebuild=True)
    assert seen == [("hashing", 6)]
    assert load_snapshot(store, generations).manifest.embedder == "hashing:64"


class Counting(FileStore):
    """Counts the records that are decoded."""

    decoded = 0

    def scan(self, ids=None):
        for one in super().scan(ids):
            self.decoded += 1
            yield one


def test_a_rebuild_decodes_only_records_whose_bytes_changed_and_gives_what_one_from_nothing_gives(tmp_path):
    """Unchanged rows come from the generation before, if that is whole; a change of status is a change. Where nothing
    changed and every byte holds, that generation stands.
    """
    store = Counting.open(tmp_path / "db")
    store.add([a_record(number) for number in range(5)])
    generations = generations_of(store)

    def rebuild() -> int:
        store.decoded = 0
        sync(store, generations, HashingEmbedder(), rebuild=True)
        return store.decoded

    assert [rebuild(), rebuild()] == [5, 0]
    assert generations.number() == 1
    first, second = store.ids()[:2]
    store.set_status(first, trust=Trust.APPROVED)
    store.remove([second])
    store.add([a_record(7)])
    assert rebuild() == 2
    patched = read_generation(generations)
    vectors = generations.folder / str(generations.number()) / "vectors_vectors.npy"
    vectors.write_bytes(vectors.read_bytes()[:-1] + b"\x01")
    assert rebuild() == 5
    assert read_generation(generations) == patched


def read_generation(generations: Generations) -> dict[str, bytes]:
    """The files of the current generation but its manifest."""
    folder = generations.folder / str(generations.number())
    return {name: data for name, data in tree(folder).items() if name != "MANIFEST.json"}
