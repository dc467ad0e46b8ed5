"""The OpenAI client layer, through the real `openai` client against a local server that plays every fault."""

from __future__ import annotations

import contextlib
import logging
import socket
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.openai_stub import (
    OK,
    FakeTime,
    Fault,
    OpenAIStub,
    content,
    content_filtered,
    cut_by_length,
    dripping,
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
from ufo_experience.errors import BudgetError, RefusedError, ServiceError, UsageError
from ufo_experience.service.client import QUERY, OpenAIService, OpenAISettings, Timeouts
from ufo_experience.service.daily_ledger import DailySpending
from ufo_experience.service.errors import OpenAICallError, seconds_to_wait
from ufo_experience.service.ledger import Ledger, Price
from ufo_experience.service.limits import CircuitBreaker, shared_breaker

KEY = "sk-very-secret-key"


@pytest.fixture
def stub() -> Iterator[OpenAIStub]:
    with OpenAIStub() as server:
        yield server


@pytest.fixture
def fake() -> FakeTime:
    return FakeTime()


def service_of(stub: OpenAIStub, fake: FakeTime, **options: object) -> OpenAIService:
    """A service on the stub that never really sleeps."""
    breaker = options.pop("breaker", None) or CircuitBreaker(clock=fake.clock)
    settings = OpenAISettings(api_key=KEY, base_url=stub.url)
    return OpenAIService(settings, breaker=breaker, clock=fake.clock, sleep=fake.sleep, **options)


def embed(service: OpenAIService, timeouts: Timeouts = QUERY) -> object:
    """One small request."""
    return service.call(lambda client: client.embeddings.create(model="m", input=["a"]), timeouts, what="the test")


def fault_of(service: OpenAIService, timeouts: Timeouts = QUERY) -> OpenAICallError:
    """The fault one small request ends in."""
    with pytest.raises(OpenAICallError) as caught:
        embed(service, timeouts)
    return caught.value


# ---- retries ----


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (rate_limited(), "E_RATE_LIMIT"),
        (failing(500), "E_SERVER"),
        (failing(503), "E_SERVER"),
        (failing(409), "E_SERVER"),
        (failing(408), "E_TIMEOUT"),
        (reset, "E_CONNECTION"),
    ],
)
def test_a_passing_fault_is_tried_four_times_and_then_named(
    stub: OpenAIStub, fake: FakeTime, fault: Fault, code: str
) -> None:
    """Four requests and three pauses, never more; the last fault is what the caller sees."""
    stub.play(*[fault] * 9)
    assert fault_of(service_of(stub, fake)).code == code
    assert len(stub.requests) == 4
    assert len(fake.slept) == 3


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (failing(400), "E_BAD_REQUEST"),
        (failing(401), "E_AUTH"),
        (failing(403), "E_AUTH"),
        (failing(404), "E_NO_MODEL"),
        (failing(422), "E_BAD_REQUEST"),
        (out_of_quota, "E_QUOTA"),
        (token_limit, "E_TOO_LONG"),
        (failing(413), "E_TOO_LONG"),
        (failing(429, "rate_limit_exceeded", "Request too large for this model"), "E_TOO_LONG"),
        (html_page, "E_NOT_JSON"),
        (truncated, "E_NOT_JSON"),
    ],
)
def test_a_lasting_fault_is_one_request(stub: OpenAIStub, fake: FakeTime, fault: Fault, code: str) -> None:
    """What will not pass by itself is not sent again."""
    stub.play(*[fault] * 9)
    assert fault_of(service_of(stub, fake)).code == code
    assert len(stub.requests) == 1


def test_an_address_where_nobody_listens_is_tried_twice_and_named(fake: FakeTime) -> None:
    """Known at once, and four tries with growing pauses would only keep a person waiting."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    settings = OpenAISettings(api_key=KEY, base_url=address)
    service = OpenAIService(settings, breaker=CircuitBreaker(clock=fake.clock), clock=fake.clock, sleep=fake.sleep)
    fault = fault_of(service)
    assert (fault.code, str(fault)) == ("E_CONNECTION", f"the test: connection refused: {address}")
    assert len(fake.slept) == 1


def test_a_call_goes_on_after_a_fault_has_passed(stub: OpenAIStub, fake: FakeTime) -> None:
    """The third request is answered."""
    stub.play(failing(500), reset, OK)
    assert embed(service_of(stub, fake)) is not None
    assert len(stub.requests) == 3


def test_a_slow_service_times_out_per_attempt(stub: OpenAIStub, fake: FakeTime) -> None:
    """The timeout given to a call reaches the HTTP client."""
    stub.play(slow(30), OK)
    embed(service_of(stub, fake), Timeouts(timeout=0.1, budget=30))
    assert len(stub.requests) == 2


@pytest.mark.parametrize("late", [False, True], ids=["from the first header", "only the body"])
def test_a_dripping_reply_ends_within_the_budget(stub: OpenAIStub, late: bool) -> None:
    """One byte now and then is never silence, so the whole attempt is bounded, too; its connection is closed."""
    service = OpenAIService(OpenAISettings(base_url=stub.url), breaker=CircuitBreaker(), sleep=lambda seconds: None)
    embed(service)  # the client loads much at first use
    stub.play(*[dripping(0.05, late=late)] * 9)
    fault = fault_of(service, Timeouts(timeout=0.1, budget=0.5))
    assert (fault.code, fault.outage) == ("E_TIMEOUT", True)
    assert 2 <= len(stub.requests) <= 5
    assert stub.hung_up.wait(2)


def test_after_a_dripping_reply_the_service_is_asked_anew(stub: OpenAIStub, fake: FakeTime) -> None:
    """The next attempt has a connection of its own, and is answered."""
    service = service_of(stub, fake)
    embed(service)
    stub.play(dripping(0.05))
    assert embed(service, Timeouts(timeout=0.25, budget=30)) is not None
    assert len(stub.requests) == 3


def test_retry_after_is_obeyed(stub: OpenAIStub, fake: FakeTime) -> None:
    """The pause is what the service asked for, in seconds or milliseconds."""
    stub.play(rate_limited(retry_after=7), failing(503, retry_after_ms="1500"), OK)
    embed(service_of(stub, fake))
    assert fake.slept == [7.0, 1.5]


def test_a_retry_after_beyond_the_budget_ends_the_call(stub: OpenAIStub, fake: FakeTime) -> None:
    """Nobody waits a minute for a query."""
    stub.play(rate_limited(retry_after=60), OK)
    assert fault_of(service_of(stub, fake)).retry_after == 60
    assert len(stub.requests) == 1
    assert fake.slept == []


def test_pauses_and_attempts_stay_within_the_budget(stub: OpenAIStub, fake: FakeTime) -> None:
    """The third pause would pass the budget of 20 s."""
    stub.play(*[rate_limited(retry_after=8)] * 9)
    fault_of(service_of(stub, fake), Timeouts(timeout=3, budget=20))
    assert fake.slept == [8.0, 8.0]


def test_pauses_are_random_and_bounded(stub: OpenAIStub, fake: FakeTime) -> None:
    """Full jitter: each pause lies between nothing and a doubling limit, and two runs differ."""
    stub.play(*[failing(500)] * 8)
    for _ in range(2):
        fault_of(service_of(stub, fake))
    assert all(pause <= limit for pause, limit in zip(fake.slept, [0.5, 1, 2] * 2, strict=True))
    assert fake.slept[:3] != fake.slept[3:]


@pytest.mark.parametrize(
    ("value", "seconds"), [("3", 3.0), ("0.5", 0.5), ("-1", None), ("nan", None), ("inf", None), ("soon", None)]
)
def test_retry_after_is_read_only_when_it_makes_sense(value: str, seconds: float | None) -> None:
    """Nonsense in a header is no pause at all."""
    assert seconds_to_wait({"retry-after": value}) == seconds


def test_retry_after_may_be_a_date() -> None:
    """HTTP allows a date; one in the past means now."""
    soon = datetime.now(timezone.utc) + timedelta(seconds=20)
    assert 15 < (seconds_to_wait({"retry-after": format_datetime(soon, usegmt=True)}) or 0) <= 20
    assert seconds_to_wait({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0


# ---- replies of a model ----


class Answer(BaseModel):
    """A structured output."""

    word: str


def ask(service: OpenAIService) -> object:
    """A structured chat request by the client's own parser."""
    question = [{"role": "user", "content": "?"}]
    return service.call(
        lambda client: client.chat.completions.parse(model="gpt-4o-mini", messages=question, response_format=Answer),
        QUERY,
        what="the summary",
    )


def test_a_structured_answer_is_parsed(fake: FakeTime) -> None:
    """The stub's callable sees the request and makes the content."""
    with OpenAIStub(chat=lambda body: {"word": body["model"]}) as stub:
        reply = ask(service_of(stub, fake))
        assert reply.choices[0].message.parsed == Answer(word="gpt-4o-mini")
        assert stub.requests[0].body["response_format"]["json_schema"]["strict"] is True


@pytest.mark.parametrize(
    ("fault", "code", "tokens"),
    [
        (cut_by_length, "E_LENGTH", (1000, 100)),
        (content_filtered, "E_CONTENT_FILTER", None),
        (content("not json"), "E_BAD_CONTENT", None),
    ],
)
def test_an_unusable_answer_is_typed_and_not_asked_for_again(
    stub: OpenAIStub, fake: FakeTime, fault: Fault, code: str, tokens: tuple[int, int] | None
) -> None:
    """What the model did wrong is no fault of the service: one request, and the usage is kept where there is one."""
    stub.play(fault)
    service = service_of(stub, fake)
    with pytest.raises(OpenAICallError, match="the summary") as caught:
        ask(service)
    assert (caught.value.code, caught.value.tokens) == (code, tokens)
    assert not caught.value.outage
    assert len(stub.requests) == 1


def test_a_refusal_is_an_answer(stub: OpenAIStub, fake: FakeTime) -> None:
    """The client gives a refusal as a field; it passes through."""
    stub.play(refusal("no"))
    assert ask(service_of(stub, fake)).choices[0].message.refusal == "no"


def test_the_responses_api_is_served_too(fake: FakeTime) -> None:
    """The stub also answers `client.responses`."""
    with OpenAIStub(chat=lambda body: "hello") as stub:
        service = service_of(stub, fake)
        reply = service.call(lambda client: client.responses.create(model="m", input="hi"), QUERY, what="x")
        assert reply.output_text == "hello"


# ---- breaker ----


def test_five_failures_open_the_breaker_and_it_answers_at_once(stub: OpenAIStub, fake: FakeTime) -> None:
    """The fifth failing attempt opens it, in the middle of a call; then nothing is sent."""
    stub.play(*[failing(500)] * 20)
    service = service_of(stub, fake)
    fault_of(service)
    with pytest.raises(ServiceError) as opened:
        embed(service)
    assert opened.value.code == "E_CIRCUIT_OPEN"
    assert len(stub.requests) == 5
    with pytest.raises(ServiceError):
        embed(service)
    assert len(stub.requests) == 5


def test_after_its_rest_one_probe_closes_the_breaker(stub: OpenAIStub, fake: FakeTime) -> None:
    """30 seconds later a single success is enough."""
    stub.play(*[failing(500)] * 5)
    service = service_of(stub, fake)
    for _ in range(2):
        with pytest.raises(ServiceError):
            embed(service)
    fake.now += 30
    embed(service)
    assert not service.breaker.is_open
    assert len(stub.requests) == 6


def test_a_failing_probe_opens_the_breaker_again() -> None:
    """One failure is enough then, and while the probe runs everybody else is refused."""
    fake = FakeTime()
    breaker = CircuitBreaker(clock=fake.clock)
    for _ in range(5):
        breaker.leave(breaker.enter(), healthy=False, why="connection refused")
    fake.now += 30
    probe = breaker.enter()
    with pytest.raises(ServiceError, match="the last time with: connection refused"):
        breaker.enter()
    breaker.leave(probe, healthy=False)
    fake.now += 29.9
    assert breaker.is_open
    fake.now += 0.1
    assert not breaker.is_open


def test_failures_far_apart_do_not_open_the_breaker() -> None:
    """Only those of the last 60 seconds count."""
    fake = FakeTime()
    breaker = CircuitBreaker(clock=fake.clock)
    for _ in range(20):
        breaker.leave(breaker.enter(), healthy=False)
        fake.now += 16
    assert not breaker.is_open


def test_a_refused_request_is_not_a_failure_of_the_service(stub: OpenAIStub, fake: FakeTime) -> None:
    """Ten bad requests leave the breaker closed."""
    stub.play(*[failing(400)] * 10)
    service = service_of(stub, fake)
    for _ in range(10):
        fault_of(service)
    assert not service.breaker.is_open


def test_of_many_threads_one_becomes_the_probe() -> None:
    """After the rest exactly one caller is let through."""
    fake = FakeTime()
    breaker = CircuitBreaker(clock=fake.clock)
    for _ in range(5):
        breaker.leave(breaker.enter(), healthy=False)
    fake.now += 31
    let_through: list[bool] = []

    def knock() -> None:
        with contextlib.suppress(ServiceError):
            let_through.append(breaker.enter())

    threads = [threading.Thread(target=knock) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert let_through == [True]


def test_services_of_one_address_share_a_breaker() -> None:
    """Embedding and summarizing fail together, so they rest together."""
    settings = OpenAISettings(api_key=KEY, base_url="https://one.example/v1")
    assert OpenAIService(settings).breaker is shared_breaker("https://one.example/v1")
    assert OpenAIService(settings).breaker is not shared_breaker("https://two.example/v1")


# ---- costs ----


def test_a_cap_refuses_before_anything_is_sent() -> None:
    """Reserved money counts as spent until the reservation is committed."""
    ledger = Ledger(max_cost=1.0, prices={"m": Price(1.0)})
    with ledger.reserve("m", 600_000) as reservation:
        with pytest.raises(BudgetError):
            ledger.reserve("m", 500_000)
        assert reservation.commit(100_000) == pytest.approx(0.1)
    with ledger.reserve("m", 900_000):
        pass
    assert ledger.cost == pytest.approx(0.1)


def test_a_cap_with_an_unknown_price_refuses() -> None:
    """A cap nobody can check is no cap; without one the tokens are counted and the model is named."""
    with pytest.raises(BudgetError, match="mystery"):
        Ledger(max_cost=1.0).reserve("mystery", 1)
    free = Ledger()
    with free.reserve("mystery", 1) as reservation:
        reservation.commit(5, 2)
    assert (free.input_tokens, free.output_tokens, free.cost, free.unpriced) == (5, 2, 0.0, {"mystery"})


# ---- the cap of a day ----


def test_a_daily_cap_is_shared_by_processes_and_survives_them(tmp_path: Path) -> None:
    """What one ledger has spent, the next one has not; what was not used is given back."""
    path, prices = tmp_path / "spending.sqlite", {"m": Price(1.0)}
    with Ledger(prices=prices, daily=DailySpending(path, 1.0)).reserve("m", 900_000) as reservation:
        with pytest.raises(BudgetError, match="UTC"):
            Ledger(prices=prices, daily=DailySpending(path, 1.0)).reserve("m", 200_000)
        reservation.commit(600_000)
    later = Ledger(prices=prices, daily=DailySpending(path, 1.0))
    assert DailySpending(path, 1.0).spent() == pytest.approx(0.6)
    with later.reserve("m", 400_000):
        pass
    with pytest.raises(BudgetError):
        later.reserve("m", 400_001)


def test_a_new_day_has_its_own_money(tmp_path: Path) -> None:
    """The day is UTC; late corrections go to the day the money was taken on."""
    day = ["2026-01-01"]
    books = DailySpending(tmp_path / "spending.sqlite", 1.0, today=lambda: day[0])
    assert books.take(1.0) == "2026-01-01"
    with pytest.raises(BudgetError):
        books.take(0.01)
    day[0] = "2026-01-02"
    books.take(0.75)
    books.correct("2026-01-01", -0.5)
    assert (books.spent("2026-01-01"), books.spent()) == (0.5, 0.75)


def test_a_process_that_dies_has_spent_too_much_never_too_little(tmp_path: Path) -> None:
    """What it had set aside stays counted."""
    path = tmp_path / "spending.sqlite"
    code = (
        "import os, sys; from pathlib import Path\n"
        "from ufo_experience.service.daily_ledger import DailySpending\n"
        "DailySpending(Path(sys.argv[1]), 1.0).take(0.25)\n"
        "os._exit(9)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert DailySpending(path, 1.0).spent() == 0.25


def test_of_many_threads_none_passes_the_daily_cap(tmp_path: Path) -> None:
    """Forty takes of a cent: twenty fit the cap."""
    taken: list[str] = []

    def spend() -> None:
        books = DailySpending(tmp_path / "spending.sqlite", 0.20)
        for _ in range(10):
            with contextlib.suppress(BudgetError):
                taken.append(books.take(0.01))

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == 20
    assert DailySpending(tmp_path / "spending.sqlite", 0.20).spent() == pytest.approx(0.20)


def test_a_cap_nobody_can_check_refuses(tmp_path: Path) -> None:
    """A file that is no database, or a folder that cannot be made."""
    (tmp_path / "spending.sqlite").write_bytes(b"no database at all" * 100)
    for path in (tmp_path / "spending.sqlite", tmp_path / "spending.sqlite" / "x"):
        with pytest.raises(BudgetError, match="cannot be used"):
            DailySpending(path, 1.0).take(0.01)


def test_a_paid_reply_is_not_lost_for_a_daily_count_that_cannot_be_corrected(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The money stays counted, and the log says so."""
    path = tmp_path / "spending.sqlite"
    ledger = Ledger(prices={"m": Price(1.0)}, daily=DailySpending(path, 1.0))
    with ledger.reserve("m", 500_000) as reservation:
        reservation.commit(100_000)
        path.unlink()
        path.mkdir()
    assert "stay counted" in caplog.text


def test_a_dated_model_has_the_price_of_its_family() -> None:
    """`gpt-4o-mini-2024-07-18` is `gpt-4o-mini`, not `gpt-4o`."""
    ledger = Ledger()
    assert ledger.price("gpt-4o-mini-2024-07-18") == ledger.price("gpt-4o-mini") != ledger.price("gpt-4o")


def test_every_request_is_counted(stub: OpenAIStub, fake: FakeTime) -> None:
    """A retry is a request too."""
    stub.play(failing(500), OK)
    service = service_of(stub, fake)
    embed(service)
    assert service.ledger.requests == 2


# ---- settings and safety ----


def test_an_address_that_is_refused_names_itself_and_its_variable() -> None:
    """`OPENAI_BASE_URL=localhost:8000/v1` lacks its scheme, which is easy to overlook."""
    with pytest.raises(RefusedError, match=r"'localhost:8000/v1' refused \(OPENAI_BASE_URL\)"):
        OpenAISettings(base_url="localhost:8000/v1")


@pytest.mark.parametrize(
    "url",
    [
        "http://api.example.com/v1",
        "http://192.168.1.5/v1",
        "http://localhost.example.com/v1",
        "file:///etc/passwd",
        "ftp://example.com",
        "https://user:pw@example.com/v1",
        "https://169.254.169.254/latest",
        "https://[fe80::1]/v1",
        "https://[::ffff:169.254.169.254]/v1",
        "https://0.0.0.0/v1",
        "https://example.com/v1?x=1",
        "https://good.example\\@evil.example/v1",
        "https://example.com/\nv1",
        "https:///v1",
        "https://example.com:port/v1",
        "",
    ],
)
def test_an_unsafe_address_is_refused_without_repeating_its_secrets(url: str) -> None:
    """https or this machine, nothing else; for Azure endpoints too."""
    for field_name in ("base_url", "azure_endpoint"):
        if not url and field_name == "azure_endpoint":
            continue
        with pytest.raises(RefusedError) as caught:
            OpenAISettings(api_key=KEY, **{field_name: url})
        assert "pw" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["https://api.openai.com/v1", "http://localhost:11434/v1", "http://127.0.0.2:1/v1", "http://[::1]:1/v1"]
)
def test_https_and_this_machine_are_allowed(url: str) -> None:
    """Local servers need no https."""
    assert OpenAISettings(base_url=url).endpoint == url


def test_a_redirect_is_not_followed(stub: OpenAIStub, fake: FakeTime) -> None:
    """The key never travels to where a reply points."""
    with OpenAIStub() as other:
        stub.play(redirect(f"{other.url}/embeddings"))
        assert fault_of(service_of(stub, fake)).code == "E_REDIRECT"
        assert other.requests == []


def test_the_environment_is_read_and_arguments_win() -> None:
    """The newline a key file left is stripped; blank variables are absent."""
    env = {"OPENAI_API_KEY": "sk-env\n", "OPENAI_BASE_URL": "https://env.example/v1", "OPENAI_ORG_ID": " "}
    settings = OpenAISettings.from_env(environ=env, base_url="https://given.example/v1")
    assert (settings.api_key, settings.base_url, settings.organization) == ("sk-env", "https://given.example/v1", None)
    assert settings.has_key()
    assert not OpenAISettings.from_env("openai", environ={"OPENAI_API_KEY": " \n"}).has_key()


def test_azure_is_meant_when_only_it_is_configured() -> None:
    """An OpenAI key beside it wins unless Azure is asked for."""
    env = {"AZURE_OPENAI_API_KEY": "az", "AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"}
    assert OpenAISettings.from_env(environ=env).azure_endpoint == "https://x.openai.azure.com"
    both = {**env, "OPENAI_API_KEY": "sk-1"}
    assert OpenAISettings.from_env(environ=both).azure_endpoint is None
    assert OpenAISettings.from_env("azure", environ=both).api_key == "az"
    with pytest.raises(UsageError, match="AZURE_OPENAI_ENDPOINT"):
        OpenAISettings.from_env("azure", environ={})


def test_without_a_key_nothing_is_sent(fake: FakeTime) -> None:
    """The error names the variable; a service on this machine needs no key."""
    far = OpenAIService(OpenAISettings(base_url="https://api.openai.com/v1"), sleep=fake.sleep)
    with pytest.raises(ServiceError, match="OPENAI_API_KEY") as caught:
        embed(far)
    assert caught.value.code == "E_NO_KEY"
    with OpenAIStub() as stub:
        embed(OpenAIService(OpenAISettings(base_url=stub.url)))
        assert stub.requests[0].headers["authorization"] == "Bearer none"


def test_the_key_is_in_no_repr_log_or_error(stub: OpenAIStub, fake: FakeTime, caplog: pytest.LogCaptureFixture) -> None:
    """Not even when the service repeats it in an error: the traceback does not hold it either."""
    caplog.set_level(logging.DEBUG)
    stub.play(failing(401, "invalid_api_key", f"Incorrect API key provided: {KEY}"))
    service = service_of(stub, fake)
    fault = fault_of(service)
    assert stub.requests[0].headers["authorization"] == f"Bearer {KEY}"
    shown = "".join(traceback.format_exception(fault)) + repr(fault) + repr(service.settings) + caplog.text
    assert "Incorrect API key provided: ***" in shown
    assert KEY not in shown


def test_a_key_with_a_space_inside_is_refused_unseen() -> None:
    """It would break the header; the message does not show it."""
    with pytest.raises(UsageError) as caught:
        OpenAISettings(api_key="sk-a b")
    assert "sk-a" not in str(caught.value)


def test_a_foreign_error_is_chained(stub: OpenAIStub, fake: FakeTime) -> None:
    """The original stays reachable for whoever debugs."""
    stub.play(failing(400))
    assert type(fault_of(service_of(stub, fake)).__cause__).__name__ == "BadRequestError"


@pytest.mark.parametrize(
    "url", ["http://10.0.0.7:8000/v1", "http://192.168.1.4:11434", "http://vllm:8000", "http://gpu.lan/v1"]
)
def test_http_inside_a_private_network_needs_the_owners_word(url):
    """vLLM and Ollama are reached so; without the word the refusal says which word."""
    assert OpenAISettings(base_url=url, allow_http=True).endpoint == url
    with pytest.raises(RefusedError, match="allow-http-service"):
        OpenAISettings(base_url=url)


@pytest.mark.parametrize("url", ["http://api.openai.com/v1", "http://8.8.8.8/v1", "http://169.254.169.254/v1"])
def test_http_to_the_outside_is_refused_whatever_the_owner_says(url):
    """A key never travels in clear over the internet."""
    with pytest.raises(RefusedError):
        OpenAISettings(base_url=url, allow_http=True)
