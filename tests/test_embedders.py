"""Embedders: the offline one by its properties, the hosted one against a server that spoils replies, the cache."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.builders import TEXTS, a_record_of
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
from ufo_experience import Embedder, ExperienceMemory, embed, open_embedder
from ufo_experience.costs import Ledger
from ufo_experience.embed.base import as_embedder
from ufo_experience.embed.hashing import HashingEmbedder, features
from ufo_experience.embed.local import StaticEmbedder
from ufo_experience.embed.openai import MAX_REQUEST_TOKENS, OpenAIEmbedder
from ufo_experience.errors import BudgetError, ServiceError, UsageError
from ufo_experience.request import estimate_tokens
from ufo_experience.service import IN_A_ROW, Access, Service

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


@pytest.fixture(scope="session")
def socket_watch() -> SocketWatch:
    """Made when it is needed: what hears of audit events is there, and called at each, until the process ends."""
    return SocketWatch()


@pytest.fixture
def sockets(socket_watch: SocketWatch) -> Iterator[list[object]]:
    """The addresses connected to during a test."""
    socket_watch.seen.clear()
    socket_watch.active = True
    yield socket_watch.seen
    socket_watch.active = False


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub() as server:
        yield server


def hosted(stub: OpenAIStub, ledger: Ledger | None = None) -> OpenAIEmbedder:
    """An embedder on the stub that never really sleeps."""
    service = Service(Access(api_key="sk-test", base_url=stub.url), ledger=ledger, sleep=lambda seconds: None)
    return OpenAIEmbedder(SMALL, DIM, service=service)


def expected(texts: Sequence[str]) -> np.ndarray:
    """What the stub gives for these texts."""
    return np.stack([vector_of(text, DIM) for text in texts])


def cosine(embedder: Embedder, one: str, other: str) -> float:
    """Similarity of two texts."""
    a, b = embedder.embed([one, other])
    return float(a @ b)


# ---- hashing ----


def test_hashing_gives_the_same_numbers_everywhere() -> None:
    """Golden values, whatever the hash seed. A change needs an index that is made again."""
    vector = HashingEmbedder(1024).embed(["Send an email to John about the meeting"])[0]
    strongest = np.argsort(-np.abs(vector), kind="stable")[:6]
    assert strongest.tolist() == [354, 358, 369, 487, 547, 570]
    assert vector[strongest] == pytest.approx(
        [-0.313381, 0.313381, 0.313381, -0.313381, -0.313381, -0.313381], abs=1e-6
    )
    assert np.count_nonzero(vector) == 63


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
    assert HashingEmbedder().embed([]).shape == (0, 256)


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
    with pytest.raises(UsageError):
        open_embedder(spec, service=Service(Access(api_key="sk-test")))


def test_an_unknown_provider_names_the_known_ones() -> None:
    """With examples to copy."""
    with pytest.raises(UsageError, match=r"hashing.*openai:text-embedding-3-small.*local:"):
        open_embedder("bert:large")


@pytest.mark.parametrize(
    ("spec", "dim"),
    [
        ("hashing", 256),
        ("openai:text-embedding-3-small", 1536),
        ("openai:text-embedding-3-large", 3072),
        ("openai:text-embedding-3-large:256", 256),
        ("openai:nomic-embed-text:latest", None),
        ("azure:my-deployment:512", 512),
    ],
)
def test_a_spec_makes_an_embedder_of_that_name(spec: str, dim: int | None) -> None:
    """Without a request; a colon may belong to the model."""
    embedder = open_embedder(spec, service=Service(Access(api_key="sk-test")))
    assert embedder.name == spec
    if dim is not None:
        assert embedder.dim == dim
    assert embedder.spending.requests == 0


@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is not None, reason="the extra is installed")
def test_a_missing_extra_names_its_install_line() -> None:
    """The error is the instruction."""
    with pytest.raises(ServiceError, match=r"pip install .*\[local\]"):
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
    embedder = OpenAIEmbedder("some-model", service=Service(Access(base_url=stub.url)))
    assert embedder.dim is None
    embedder.embed(["a"])
    assert embedder.dim == stub.dim
    assert "dimensions" not in stub.requests[0].body


def test_azure_calls_the_deployment(stub: OpenAIStub) -> None:
    """The path holds the deployment, the key travels in Azure's header."""
    service = Service(Access(api_key="az-key", azure_endpoint=stub.origin))
    embedder = open_embedder("azure:my-deployment", service=service)
    assert embedder.embed(["hello"]).shape == (1, stub.dim)
    assert stub.requests[0].path.startswith("/openai/deployments/my-deployment/embeddings?api-version=")
    assert stub.requests[0].headers["api-key"] == "az-key"


def test_many_texts_are_several_requests_and_come_back_in_order(stub: OpenAIStub) -> None:
    texts = [f"t{i}" for i in range(3000)]
    assert np.allclose(hosted(stub).embed(texts), expected(texts), atol=1e-6)
    assert [len(request.body["input"]) for request in stub.requests] == [1500, 1500]


class Asked(Service):
    """A service that keeps what it is asked, and says the same of every text."""

    def __init__(self) -> None:
        super().__init__(Access(api_key="sk-test"))
        self.asked: list[list[str]] = []

    def embed(self, texts: Sequence[str], **_options: object) -> list[object]:
        self.asked.append([*texts])
        return [{"index": at, "embedding": [1.0, *[0.0] * (DIM - 1)]} for at in range(len(texts))]


@example([9000] * 70)
@given(st.lists(st.integers(1, 9000), max_size=80))
def test_requests_cover_all_texts_within_the_limits(sizes: list[int]) -> None:
    """No text is lost, doubled or moved, and no request passes the token limit."""
    texts, service = ["x" * min(size, 8_192) for size in sizes], Asked()
    assert len(OpenAIEmbedder(SMALL, DIM, service=service).embed(texts)) == len(texts)
    assert [text for request in service.asked for text in request] == texts
    assert all(sum(map(estimate_tokens, request)) <= MAX_REQUEST_TOKENS for request in service.asked)
    assert all(service.asked)


def test_a_long_text_is_cut_and_a_blank_one_gets_a_stand_in(stub: OpenAIStub) -> None:
    hosted(stub).embed(["é" * 10_000, " "])
    assert stub.requests[0].body["input"] == ["é" * 8_192, "(empty)"]


def test_a_token_limit_halves_the_request(stub: OpenAIStub) -> None:
    """Never the same request twice; the rows stay in order."""
    stub.max_tokens_per_request = 30
    texts = [f"text {i:04d}" for i in range(7)]
    assert np.allclose(hosted(stub).embed(texts), expected(texts), atol=1e-6)
    bodies = [tuple(request.body["input"]) for request in stub.requests]
    assert len(set(bodies)) == len(bodies)


def test_a_single_text_over_a_small_limit_is_halved(stub: OpenAIStub) -> None:
    """Some compatible models take 512 tokens; the text is cut until it fits."""
    stub.max_tokens_per_request = 512
    embedder = hosted(stub)
    assert embedder.embed(["word " * 300]).shape == (1, DIM)
    assert [len(request.body["input"][0]) for request in stub.requests] == [1500, 750, 375]


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


def slow_in_bulk(most: int) -> Fault:
    """A small machine: more than so many texts in one request take it too long."""
    return lambda reply: slow(30)(reply) if len(reply.data["data"]) > most else reply


def test_a_batch_that_times_out_is_halved_and_the_others_are_sent_as_small(
    stub: OpenAIStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ufo_experience.embed.openai.BATCH", 0.8)
    stub.play(*[slow_in_bulk(100)] * 99)
    texts = [f"t{i}" for i in range(400)]
    assert np.allclose(hosted(stub).embed(texts), expected(texts), atol=1e-6)
    sizes = [len(request.body["input"]) for request in stub.requests]
    assert sizes[:3] == [400, 200, 100]
    assert max(sizes[3:]) <= 100


def test_a_service_that_hangs_ends_the_job_after_a_few_time_outs(
    stub: OpenAIStub, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = hosted(stub)
    embedder.embed(["its client is made"])
    stub.requests.clear()
    monkeypatch.setattr("ufo_experience.embed.openai.BATCH", 0.2)
    stub.play(*[slow(30)] * 99)
    with pytest.raises(ServiceError):
        embedder.embed([f"t{i}" for i in range(4000)])
    assert len(stub.requests) == IN_A_ROW


def test_a_package_adds_an_embedder_by_an_entry_point(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("lists", "tests.test_embedders:Lists", embed.PLUGINS)
    monkeypatch.setattr("importlib.metadata.entry_points", lambda group: [point] if group == embed.PLUGINS else [])
    assert open_embedder("lists:two").embed(["a"]).shape == (1, 3)
    with pytest.raises(UsageError, match="lists:…"):
        open_embedder("list")


class Lists:
    """The least an embedder has to be."""

    name = "lists"

    def __init__(self, values: object = None) -> None:
        self.values = values or None

    def embed(self, texts: list[str]) -> object:
        return [[float(len(text)), 1.0, 2.0] for text in texts] if self.values in (None, "two") else self.values


def test_a_whole_embedder_is_taken_as_it_is():
    embedder = HashingEmbedder()
    assert as_embedder(embedder) is embedder


def test_an_object_with_a_name_and_vectors_becomes_an_embedder():
    embedder = as_embedder(Lists())
    vectors = embedder.embed(["a", "bcd"])
    assert (embedder.name, embedder.dim, vectors.dtype) == ("lists", 3, np.float32)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0, 1.0])


def test_an_object_without_a_name_is_refused():
    with pytest.raises(UsageError, match="name"):
        as_embedder(object())


@pytest.mark.parametrize("values", [[[1.0]], [[0.0], [1.0]], [[float("nan")], [1.0]], "words"])
def test_what_are_no_unit_vectors_is_refused(values):
    with pytest.raises(ServiceError, match="lists gave"):
        as_embedder(Lists(values)).embed(["a", "b"])


def test_a_memory_opens_with_any_object_that_gives_vectors(tmp_path):
    memory = ExperienceMemory.open(tmp_path / "db", embedder=Lists())
    memory.store.add([a_record_of(text) for text in TEXTS])
    memory.index()
    found = memory.retrieve(TEXTS[0])
    assert (found.embedder, found[0].experience.state.request) == ("lists", TEXTS[0])


def test_a_static_model_of_a_folder_embeds_without_torch(tmp_path):
    """Made here, of three words; what it does not know has one vector."""
    model2vec = pytest.importorskip("model2vec")
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.models.WordLevel({"mail": 0, "chart": 1, "[UNK]": 2}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], np.float32)
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(str(tmp_path / "tiny"))
    embedder = open_embedder(f"model2vec:{tmp_path / 'tiny'}")
    mail, chart, unknown = embedder.embed(["mail mail", "chart", "zebra"])
    assert (embedder.dim, mail @ chart) == (2, pytest.approx(0.0))
    assert mail @ embedder.embed(["mail"])[0] == pytest.approx(1.0)
    assert np.linalg.norm(unknown) == pytest.approx(1.0)


class _AnyModel(StaticEmbedder):
    """A model whose package is always there; none is ever loaded."""

    package = "numpy"


def test_the_folder_of_a_model_is_kept_as_it_is_found_from_anywhere(tmp_path, monkeypatch):
    """Else every process in another folder would ask the model hub for that name. Gone, it is asked for by nobody."""
    monkeypatch.chdir(tmp_path)
    Path("tiny").mkdir()
    embedder = _AnyModel("tiny")
    assert (embedder.name, _AnyModel("maker/model").name) == (f"model2vec:{tmp_path / 'tiny'}", "model2vec:maker/model")
    Path("tiny").rmdir()
    with pytest.raises(ServiceError, match="no such folder"):
        embedder.embed(["mail"])


def test_a_model_that_is_gone_lets_words_answer(tmp_path):
    """Records that were learned with it, and those learned since."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    embedder = _AnyModel(str(folder))
    folder.rmdir()
    with ExperienceMemory.open(tmp_path / "db", embedder=embedder) as memory:
        memory.remember("Send the report", [{"action": "click", "control": "Send"}], True)
        found = memory.retrieve("Send the report")
    assert (len(found), "no such folder" in (found.degraded or "")) == (1, True)
