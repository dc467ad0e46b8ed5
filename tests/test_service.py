"""The way to a model, through the real `openai` client against a local server that plays every fault."""

from __future__ import annotations

import contextlib
import gzip
import logging
import socket
import threading
import time
import traceback
from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from tests.openai_stub import (
    OK,
    Fault,
    OpenAIStub,
    Reply,
    content,
    content_filtered,
    cut_by_length,
    dripping,
    edited,
    failing,
    html_page,
    out_of_quota,
    rate_limited,
    redirect,
    refusal,
    reset,
    slow,
    token_limit,
    truncated,
)
from ufo_experience import service as rules
from ufo_experience.costs import Ledger
from ufo_experience.errors import BudgetError, RefusedError, ServiceError, UsageError
from ufo_experience.service import Access, Service

KEY = "sk-very-secret-key"
HELLO = [{"role": "user", "content": "hello"}]


class Answer(BaseModel):
    """What the tests ask for."""

    same: list[int]


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub(chat=lambda body: {"same": [2]}) as server:
        yield server


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def service(stub: OpenAIStub, slept: list[float]) -> Iterator[Service]:
    """A service on the stub that never really sleeps between attempts."""
    one = Service(Access(api_key=KEY, base_url=stub.url), sleep=slept.append)
    yield one
    one.close()


def fault_of(service: Service, **options: object) -> ServiceError:
    """The fault one small question ends in."""
    with pytest.raises(ServiceError) as caught:
        service.chat(HELLO, **options)
    return caught.value


# ---- answers ----


def test_a_question_is_answered_with_text(service):
    assert service.chat(HELLO) == '{"same": [2]}'


def test_an_answer_fits_the_schema_it_was_asked_for(service, stub):
    assert service.ask(HELLO, Answer, model="gpt-4.1-mini").same == [2]
    assert stub.requests[0].body["response_format"]["json_schema"]["strict"] is True


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (content("no JSON"), "E_BAD_CONTENT"),
        (content('{"other": 1}'), "E_BAD_CONTENT"),
        (refusal(), "E_REFUSAL"),
        (cut_by_length, "E_LENGTH"),
        (content_filtered, "E_CONTENT_FILTER"),
        (edited(lambda data: data.update(choices=None)), "E_BAD_CONTENT"),
        (edited(lambda data: data.update(choices=[])), "E_BAD_CONTENT"),
        (edited(lambda data: data.update(choices=[{"index": 0, "message": None}])), "E_BAD_CONTENT"),
    ],
)
def test_an_answer_that_cannot_be_used_is_typed_paid_for_and_not_asked_for_again(stub, service, fault, code):
    stub.play(fault)
    with pytest.raises(ServiceError) as caught:
        service.ask(HELLO, Answer, model="gpt-4.1-mini")
    assert (caught.value.code, len(stub.requests)) == (code, 1)
    assert service.ledger.spending.tokens == 1100


# ---- trying again ----


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (rate_limited(), "E_RATE_LIMIT"),
        (failing(500), "E_SERVER"),
        (failing(503), "E_SERVER"),
        (failing(408), "E_SERVER"),
        (reset, "E_CONNECTION"),
    ],
)
def test_a_fault_that_passes_is_tried_four_times_and_then_named(stub, service, slept, fault, code):
    stub.play(*[fault] * 9)
    assert fault_of(service).code == code
    assert (len(stub.requests), len(slept), service.ledger.requests) == (4, 3, 4)


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (failing(400), "E_BAD_REQUEST"),
        (failing(401), "E_AUTH"),
        (failing(403), "E_AUTH"),
        (failing(404), "E_NO_MODEL"),
        (out_of_quota, "E_QUOTA"),
        (token_limit, "E_TOO_LONG"),
        (failing(413), "E_TOO_LONG"),
        (failing(429, "rate_limit_exceeded", "Request too large for this model"), "E_TOO_LONG"),
        (html_page, "E_NOT_JSON"),
        (truncated, "E_NOT_JSON"),
        (redirect("http://127.0.0.1:9/v1"), "E_REDIRECT"),
    ],
)
def test_a_fault_that_stays_is_one_request(stub, service, fault, code):
    stub.play(*[fault] * 9)
    assert (fault_of(service).code, len(stub.requests)) == (code, 1)


def test_a_call_goes_on_after_a_fault_has_passed(stub, service):
    stub.play(failing(503), reset, OK)
    assert service.chat(HELLO) == '{"same": [2]}'


def test_an_address_where_nobody_listens_is_named_without_a_wait_for_time_outs():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    error = fault_of(Service(Access(base_url=url), sleep=lambda _: None), timeout=600)
    assert (error.code, "refused" in str(error), url in str(error)) == ("E_CONNECTION", True, True)


def test_a_job_waits_as_long_as_the_service_asks(stub, service, slept):
    stub.play(rate_limited(retry_after=7))
    service.chat(HELLO, job=True)
    assert slept == [7.0]


def test_a_question_does_not_wait_longer_than_it_may_take(stub, service, slept):
    stub.play(rate_limited(retry_after=7))
    assert fault_of(service, timeout=2).code == "E_RATE_LIMIT"
    assert slept == []


# ---- a service that hangs ----


def test_a_question_ends_in_time_when_the_service_hangs(stub, service):
    service.chat(HELLO)  # the client is made: on a busy machine that alone takes a while
    stub.play(slow(30))
    begun = time.monotonic()
    assert fault_of(service, timeout=0.5).code == "E_TIMEOUT"
    assert time.monotonic() - begun < 5
    assert len(stub.requests) == 2


@pytest.mark.parametrize("late", [False, True], ids=["from the start", "in the body"])
def test_a_reply_that_comes_byte_by_byte_ends_in_time_too(stub, service, late):
    stub.play(dripping(0.05, late=late))
    assert fault_of(service, timeout=0.3).code == "E_TIMEOUT"
    assert service.chat(HELLO)


def test_time_outs_in_a_row_end_all_further_questions_at_once(stub, service):
    stub.play(*[slow(30)] * 9)
    for _ in range(rules.IN_A_ROW):
        assert fault_of(service, timeout=0.1).code == "E_TIMEOUT"
    error = fault_of(service, timeout=30)
    assert error.code == "E_CIRCUIT_OPEN"
    assert (
        len(stub.requests) <= rules.IN_A_ROW
    )  # on a busy machine a request may not have arrived when its time is over
    # which of the two time-outs was the last depends on how busy the machine is
    assert any(said in str(error) for said in ("no complete reply", "Request timed out"))


def test_after_its_rest_a_service_is_tried_again(stub, service, monkeypatch):
    stub.play(*[failing(500)] * 4)
    fault_of(service)
    assert fault_of(service).code == "E_CIRCUIT_OPEN"
    real = time.monotonic
    monkeypatch.setattr(rules.time, "monotonic", lambda: real() + rules.REST + 1)
    assert service.chat(HELLO)
    assert service.chat(HELLO)


def test_of_a_service_that_is_still_down_only_one_question_finds_out(stub, service, monkeypatch):
    stub.play(*[failing(500)] * 4, *[failing(401)] * 9)
    fault_of(service)
    real = time.monotonic
    monkeypatch.setattr(rules.time, "monotonic", lambda: real() + rules.REST + 1)
    stub.recover()
    stub.play(*[failing(500)] * 9)
    assert fault_of(service).code == "E_CIRCUIT_OPEN"  # its first attempt failed, and the second was refused
    assert len(stub.requests) == 5


def test_who_asks_the_same_address_shares_what_is_known_of_it(stub, service):
    stub.play(*[failing(500)] * 4)
    fault_of(service)
    other = Service(Access(api_key="another", base_url=stub.url))
    assert fault_of(other).code == "E_CIRCUIT_OPEN"


def test_a_refused_request_is_no_fault_of_the_service(stub, service):
    stub.play(*[failing(400)] * 8)
    for _ in range(8):
        assert fault_of(service).code == "E_BAD_REQUEST"


def test_a_job_that_may_wait_outlasts_an_outage(stub, service, monkeypatch):
    monkeypatch.setattr(rules, "REST", 0.05)
    stub.play(*[failing(503)] * 3, html_page, failing(503), OK)
    with service.waiting(3600):
        assert service.chat(HELLO, job=True) == '{"same": [2]}'
    assert len(stub.requests) == 6


def test_a_question_does_not_wait_even_while_a_job_may(stub, service):
    stub.play(*[failing(503)] * 9)
    with service.waiting(3600):
        assert fault_of(service).code == "E_SERVER"
    assert len(stub.requests) == 4


# ---- hostile replies ----


def raw(body: bytes, **headers: str) -> Fault:
    """A success whose body is these bytes."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda reply: Reply(raw=body, headers={"Content-Type": "application/json", **named})


def test_a_reply_is_read_up_to_a_limit_only(stub, service, monkeypatch):
    monkeypatch.setattr(rules, "MAX_REPLY", 10_000)
    stub.play(raw(b'{"data": "' + b"x" * 50_000 + b'"}'))
    assert fault_of(service).code == "E_BAD_REPLY"


def test_a_compressed_reply_is_not_unpacked(stub, service):
    stub.play(raw(gzip.compress(b"{" + b" " * 1_000_000 + b"}"), Content_Encoding="gzip"))
    assert fault_of(service).code == "E_NOT_JSON"
    assert stub.requests[0].headers["accept-encoding"] == "identity"


def test_a_reply_that_is_nested_without_end_is_an_error_of_the_service(stub, service):
    stub.play(raw(b'{"a":' * 60_000 + b"1" + b"}" * 60_000))
    assert fault_of(service).code in ("E_BAD_CONTENT", "E_BAD_REPLY", "E_NOT_JSON")


# ---- costs ----


def test_a_cap_refuses_before_anything_is_sent(stub):
    service = Service(Access(api_key=KEY, base_url=stub.url), ledger=Ledger(max_cost=1e-9))
    with pytest.raises(BudgetError):
        service.chat(HELLO)
    assert stub.requests == []


def test_a_cap_with_a_model_of_unknown_price_refuses(stub):
    service = Service(Access(api_key=KEY, base_url=stub.url), ledger=Ledger(max_cost=1.0))
    with pytest.raises(BudgetError) as caught:
        service.chat(HELLO, model="my-own")
    assert (caught.value.code, stub.requests) == ("E_NO_PRICE", [])


def test_a_model_of_unknown_price_is_counted_in_tokens(stub, service):
    service.chat(HELLO, model="my-own")
    ledger = service.ledger
    assert (ledger.cost, ledger.spending.tokens) == (0.0, 1100)


@pytest.mark.parametrize("model", ["gpt-4.1-mini", "gpt-4.1-mini-2025-04-14"])
def test_what_was_used_is_what_it_costs_also_under_a_dated_name(service, model):
    service.chat(HELLO, model=model)
    assert service.ledger.cost == pytest.approx((1000 * 0.40 + 100 * 1.60) / 1e6)


def test_of_many_threads_none_passes_the_cap(stub):
    ledger = Ledger(max_cost=0.0035)
    service = Service(Access(api_key=KEY, base_url=stub.url), ledger=ledger)

    def ask() -> None:
        with contextlib.suppress(BudgetError):
            service.chat(HELLO, max_tokens=1000)

    threads = [threading.Thread(target=ask) for _ in range(12)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert 0 < ledger.cost <= 0.0035


# ---- where, and with which key ----


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.com/v1",
        "http://10.0.0.5:8000/v1",
        "https://user:hunter2@example.com/v1",
        "https://example.com/v1?key=hunter2",
        "ftp://example.com",
        "https://169.254.169.254/latest",
        "https://[::ffff:169.254.169.254]/v1",
        "https://exa mple.com",
        "https://example.com:99999/v1",
        "nonsense",
    ],
)
def test_an_unsafe_address_is_refused_without_repeating_its_secrets(url):
    with pytest.raises(RefusedError) as caught:
        Access(api_key=KEY, base_url=url)
    assert "hunter2" not in str(caught.value)
    assert "OPENAI_BASE_URL" in str(caught.value)


@pytest.mark.parametrize("url", ["https://example.com/v1", "http://localhost:11434/v1", "http://[::1]:8000/v1"])
def test_https_and_this_machine_are_allowed(url):
    assert Access(api_key=KEY, base_url=url).endpoint == url


@pytest.mark.parametrize("url", ["http://10.0.0.5:8000/v1", "http://llm.internal/v1", "http://vllm:8000/v1"])
def test_http_inside_a_private_network_needs_the_owners_word(url):
    with pytest.raises(RefusedError, match="--allow-http-service"):
        Access(base_url=url)
    assert Access(base_url=url, allow_http=True).endpoint == url


@pytest.mark.parametrize("url", ["http://8.8.8.8/v1", "http://api.example.com/v1"])
def test_http_to_the_outside_is_refused_whatever_the_owner_says(url):
    with pytest.raises(RefusedError):
        Access(base_url=url, allow_http=True)


def test_the_environment_is_read_and_arguments_win():
    env = {"OPENAI_API_KEY": "sk-env\n", "OPENAI_BASE_URL": " https://a.example/v1 "}
    access = Access.from_env(environ=env, base_url="https://b.example/v1")
    assert (access.api_key, access.endpoint) == ("sk-env", "https://b.example/v1")
    assert Access.from_env(environ=env).endpoint == "https://a.example/v1"


def test_azure_is_meant_when_only_it_is_configured():
    env = {"AZURE_OPENAI_API_KEY": "k", "AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.com"}
    assert Access.from_env(environ=env).azure_endpoint == "https://mine.openai.azure.com"
    assert Access.from_env(environ={**env, "OPENAI_API_KEY": "sk"}).azure_endpoint is None
    with pytest.raises(UsageError, match="AZURE_OPENAI_ENDPOINT"):
        Access.from_env("azure", environ={})


def test_azure_is_asked_by_its_deployment_and_with_its_version(stub):
    access = Access(api_key=KEY, azure_endpoint=stub.origin)
    Service(access).chat(HELLO, model="my-deployment")
    (request,) = stub.requests
    assert "/openai/deployments/my-deployment/chat/completions?api-version=" in request.path
    assert request.headers["api-key"] == KEY


def test_without_a_key_nothing_is_sent():
    error = fault_of(Service(Access(base_url="https://a.example/v1")))
    assert (error.code, "--summarizer extractive" in str(error)) == ("E_NO_KEY", True)


def test_a_service_on_this_machine_needs_no_key(stub):
    assert Service(Access(base_url=stub.url)).chat(HELLO)


def test_a_key_with_a_space_inside_is_refused_unseen():
    with pytest.raises(UsageError) as caught:
        Access(api_key="sk-hun ter2")
    assert "ter2" not in str(caught.value)


def test_the_key_is_in_no_repr_log_or_error(stub, service, caplog):
    caplog.set_level(logging.DEBUG)
    stub.play(failing(401, "invalid_api_key", f"Incorrect API key provided: {KEY}"))
    error = fault_of(service)
    told = "".join(traceback.format_exception(error)) + repr(service.access) + repr(error)
    assert KEY not in told
    assert KEY not in "".join(record.getMessage() for record in caplog.records if record.name.startswith("ufo_"))
