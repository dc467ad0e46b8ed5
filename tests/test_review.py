"""The review page by its own test client: who is answered, what pages say, and what a change is bound to."""

from __future__ import annotations

import re
import threading
from html import unescape
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra `web` is not installed")
pytest.importorskip("jinja2", reason="the extra `web` is not installed")

from starlette.testclient import TestClient

from ufo_experience import ExperienceMemory
from ufo_experience.cli import app as command
from ufo_experience.errors import UsageError, quoted
from ufo_experience.review.app import build_app, environment
from ufo_experience.review.guard import COOKIE, FORM, MAX_BODY
from ufo_experience.settings import Settings
from ufo_experience.store.lessons import Lesson

pytestmark = pytest.mark.server

HOST, TOKEN = "127.0.0.1:8321", "t" * 43
ORIGIN = f"http://{HOST}"
STEPS = [
    {"action": "click", "control": "Insert", "control_type": "TabItem"},
    {"action": "click", "control": "Table", "control_type": "Button"},
]


@pytest.fixture
def memory(tmp_path: Path) -> ExperienceMemory:
    """A store with one run that waits for somebody, and one that is verified."""
    opened = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    opened.remember("Insert a table into the document", STEPS, application="Word")
    opened.remember("Turn on the night light", STEPS[:1], success=True, application="Settings", judge="user")
    return opened


def client_of(memory: ExperienceMemory, **options: Any) -> TestClient:
    """A browser that has opened the printed address."""
    page = build_app(memory, token=TOKEN, session=TOKEN, hosts=[HOST], **options)
    client = TestClient(page, base_url=ORIGIN, follow_redirects=False)
    client.cookies.set(COOKIE, TOKEN)
    return client


def post(client: TestClient, path: str, data: dict[str, Any], **headers: str) -> Any:
    return client.post(path, data=data, headers={"origin": ORIGIN, **headers})


def wait_for(job: str) -> None:
    """Until a job of the page has ended."""
    for thread in threading.enumerate():
        if thread.name == f"ufo-experience-{job}":
            thread.join(30)


def waiting(memory: ExperienceMemory) -> Any:
    return next(one for one in memory.list() if one.trust.value == "observed")


def undo(client: TestClient, done: Any) -> Any:
    """Take back the change that this answer says was made."""
    return post(client, "/undo", {"change": done.headers["location"].partition("did=")[2], "back": "/queue"})


def shown_of(client: TestClient, q: str) -> list[str]:
    """The tasks that the list shows for a search line, in their order."""
    return re.findall(r'class="task"[^>]*>([^<]+)<', unescape(client.get("/experiences", params={"q": q}).text))


def seen(client: TestClient, id: str) -> str:
    """What the page says the record is: the value its form sends."""
    return re.search(rf'value="({id}:[0-9a-f]{{64}})"', client.get(f"/experience/{id}").text)[1]


# ------------------------------------------------------------------ who is answered

GOOD = {"host": HOST, "cookie": f"{COOKIE}={TOKEN}", "origin": ORIGIN, "content-type": FORM}
HOSTILE: dict[str, tuple[dict[str, str | None], int]] = {
    "no host": ({"host": None}, 400),
    "a foreign host": ({"host": "evil.example"}, 400),
    "a foreign host with our port": ({"host": "evil.example:8321"}, 400),
    "our address as a part of a name": ({"host": "127.0.0.1.evil.example:8321"}, 400),
    "localhost as a part of a name": ({"host": "localhost.evil:8321"}, 400),
    "the address without its port": ({"host": "127.0.0.1"}, 400),
    "another port": ({"host": "127.0.0.1:80"}, 400),
    "another spelling of the address": ({"host": "127.1:8321"}, 400),
    "the address as a number": ({"host": "2130706433:8321"}, 400),
    "the address in IPv6": ({"host": "[::ffff:127.0.0.1]:8321"}, 400),
    "IPv6 loopback": ({"host": "[::1]:8321"}, 400),
    "every address": ({"host": "0.0.0.0:8321"}, 400),
    "an empty host": ({"host": ""}, 400),
    "a host with a user": ({"host": f"user@{HOST}"}, 400),
    "a host with a path": ({"host": f"{HOST}/x"}, 400),
    "a host with a dot": ({"host": "127.0.0.1.:8321"}, 400),
    "no cookie": ({"cookie": None}, 403),
    "an empty cookie": ({"cookie": f"{COOKIE}="}, 403),
    "another token": ({"cookie": f"{COOKIE}={'x' * 43}"}, 403),
    "a part of the token": ({"cookie": f"{COOKIE}={TOKEN[:-1]}"}, 403),
    "more than the token": ({"cookie": f"{COOKIE}={TOKEN}x"}, 403),
    "a cookie of another name": ({"cookie": f"other={TOKEN}"}, 403),
    "a name in other case": ({"cookie": f"{COOKIE.upper()}={TOKEN}"}, 403),
    "a broken cookie": ({"cookie": "\x80=;;=\\"}, 403),
    "a token beyond ASCII": ({"cookie": f"{COOKIE}=tökén"}, 403),
    "no origin": ({"origin": None}, 403),
    "a foreign origin": ({"origin": "http://evil.example"}, 403),
    "origin null": ({"origin": "null"}, 403),
    "an origin of another port": ({"origin": "http://127.0.0.1:80"}, 403),
    "an origin by another scheme": ({"origin": f"https://{HOST}"}, 403),
    "an origin that begins like ours": ({"origin": f"{ORIGIN}.evil.example"}, 403),
    "an origin by another name of this machine": ({"origin": "http://localhost:8321"}, 403),
    "an empty origin": ({"origin": ""}, 403),
    "sent from another site": ({"sec-fetch-site": "cross-site"}, 403),
    "sent from the same site": ({"sec-fetch-site": "same-site"}, 403),
    "a foreign origin that claims to be the page": (
        {"origin": "http://evil.example", "sec-fetch-site": "same-origin"},
        403,
    ),
    "another site that hides its origin": ({"origin": "null", "sec-fetch-site": "cross-site"}, 403),
    "typed by the user": ({"sec-fetch-site": "none"}, 403),
    "an unknown place": ({"sec-fetch-site": "trust-me"}, 403),
    "JSON": ({"content-type": "application/json"}, 415),
    "plain text": ({"content-type": "text/plain"}, 415),
    "a multipart form": ({"content-type": "multipart/form-data; boundary=x"}, 415),
    "no content type": ({"content-type": None}, 415),
    "a length over the limit": ({"content-length": str(MAX_BODY + 1)}, 413),
    "a length below nothing": ({"content-length": "-1"}, 400),
    "a length that is none": ({"content-length": "many"}, 400),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_write_is_refused_before_it_is_read(memory, name):
    """Each of these differs from a good request in one thing."""
    change, status = HOSTILE[name]
    headers = {key: value for key, value in {**GOOD, **change}.items() if value is not None}
    record = waiting(memory)
    assert raw(memory, headers, f"do=approve&record={record.id}:x") == status
    assert memory.get(record.id).trust.value == "observed"


def raw(
    memory: ExperienceMemory, headers: dict[str, str], body: str, method: str = "POST", path: str = "/change"
) -> int:
    """The status for a request with exactly these headers, which no client library has tidied."""
    import asyncio

    sent: list[dict[str, Any]] = []
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "scheme": "http",
        "http_version": "1.1",
        "client": ("127.0.0.1", 1),
        "server": ("x", 1),
        "headers": [(key.encode(), value.encode("utf-8")) for key, value in headers.items()],
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body.encode(), "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(build_app(memory, token=TOKEN, session=TOKEN, hosts=[HOST])(scope, receive, send))
    return int(sent[0]["status"])


def test_two_hosts_are_none(memory):
    """A header given twice fits nothing, whichever is looked at."""
    client = client_of(memory)
    headers = [("host", HOST), ("host", "evil.example")]
    assert client.get("/", headers=headers).status_code == 400


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_other_methods_are_refused(memory, method):
    """There are pages and forms, nothing else."""
    assert raw(memory, GOOD, "", method) in (403, 405)


def test_a_body_that_grows_beyond_the_limit_is_refused_whatever_its_header_says(memory):
    """The length in a header is only what somebody says."""
    headers = {**GOOD, "content-length": "5"}
    assert raw(memory, headers, "do=approve&record=" + "x" * (MAX_BODY + 1)) == 413


def test_the_good_request_is_taken(memory):
    """The one that the hostile ones differ from."""
    record = waiting(memory)
    fingerprint = seen(client_of(memory), record.id).partition(":")[2]
    assert raw(memory, {**GOOD, "sec-fetch-site": "same-origin"}, f"do=approve&record={record.id}:{fingerprint}") == 303
    assert memory.get(record.id).trust.value == "approved"


def test_the_token_of_the_address_becomes_a_cookie_once_and_leaves_the_address(memory):
    """HttpOnly, SameSite=Strict; the clean address is what stays in the history."""
    app = build_app(memory, token="start", session=TOKEN, hosts=[HOST])
    client, second = (TestClient(app, base_url=ORIGIN, follow_redirects=False) for _ in range(2))
    assert client.get("/?token=wrong").status_code == 403
    assert client.get("/experiences?token=start").status_code == 403
    answer = client.get("/?token=start")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "start" not in cookie
    assert client.get("/").status_code == 200
    assert second.get("/?token=start").status_code == 403


@pytest.mark.parametrize("path", ["/", "/static/style.css", "/nothing", "/experience/zzz"])
def test_every_answer_lets_the_page_run_nothing_but_its_own_script(memory, path):
    """Refusals and missing pages included."""
    stranger = TestClient(build_app(memory, token=TOKEN, session=TOKEN, hosts=[HOST]), base_url=ORIGIN)
    for client in (client_of(memory), stranger):
        headers = client.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"


def test_another_address_is_refused_without_the_owners_word(memory):
    """`--host 0.0.0.0` alone serves nobody."""
    with pytest.raises(SystemExit) as left:
        command(["review", "--host", "0.0.0.0", "--no-open", "--db", memory.store.location])
    assert left.value.code == 77


# ------------------------------------------------------------------ what pages say


def test_no_template_switches_escaping_off():
    """No `safe`, no `autoescape false`; what is undefined is an error."""
    folder = Path(__file__).resolve().parents[1] / "ufo_experience" / "review" / "templates"
    texts = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.html"))
    assert not re.search(r"\|\s*safe\b|autoescape|Markup|<style|\sstyle=|\son\w+=", texts)
    assert environment().autoescape is True


@pytest.mark.parametrize(
    "path", ["/", "/procedures", "/queue", "/experiences", "/try", "/health", "/try?task=Turn+on+the+night+light"]
)
def test_every_page_opens(memory, path):
    """On a store with records."""
    assert client_of(memory).get(path).status_code == 200


def test_the_name_of_the_command_leads_to_the_queue(memory):
    """`/review` is what somebody types who knows the command."""
    assert client_of(memory).get("/review").headers["location"] == "/queue"


@pytest.mark.parametrize("path", ["/", "/procedures", "/queue", "/experiences", "/try", "/health"])
def test_an_empty_store_says_what_to_do_next(tmp_path, path):
    """No page is blank."""
    empty = ExperienceMemory.open(tmp_path / "empty", embedder="hashing")
    answer = client_of(empty).get(path)
    assert answer.status_code == 200
    assert path == "/health" or 'class="empty"' in answer.text


@pytest.mark.parametrize(("job", "told"), [("verify", "Damaged</dt><dd>0"), ("rebuild", "Done: 2 records are in line")])
def test_long_work_runs_beside_the_page_and_tells_its_result(memory, job, told):
    """The health page is asked again until it says what came of it."""
    client = client_of(memory)
    assert post(client, "/job", {"do": job}).headers["location"] == "/health"
    wait_for(job)
    assert told in client.get("/health").text


def test_a_page_shows_how_far_long_work_is(memory):
    """Steps done of all, as a bar that a screen reader reads."""
    client, reached, go_on = client_of(memory), threading.Event(), threading.Event()

    def slow(*, rebuild: bool = False, progress: Any = None) -> Any:
        progress("vectors", 1, 4)
        reached.set()
        assert go_on.wait(30)
        raise UsageError("the disk is full")

    memory.index = slow  # type: ignore[method-assign]
    post(client, "/job", {"do": "index"})
    assert reached.wait(30)
    assert 'max="4" value="1"' in client.get("/health").text
    go_on.set()
    wait_for("index")
    assert "index: the disk is full" in client.get("/health").text


def test_an_unknown_job_is_refused(memory):
    """With the name that was sent."""
    assert post(client_of(memory), "/job", {"do": "format"}).status_code == 400


def test_the_list_is_searched_by_the_products_own_retriever(memory):
    """The best match first, whatever its trust."""
    text = client_of(memory).get("/experiences?q=Insert+a+table+into+the+report").text
    assert unescape(text).index("Insert a table into the document") > 0


@pytest.mark.parametrize(
    "line", ["trust:observed", "app:Word", "is:unknown", "is:waiting table", 'app:"Word" since:7', "insert is:waiting"]
)
def test_the_list_is_narrowed_down_by_one_line(memory, line):
    """Keys with their value, beside words that are searched for."""
    text = client_of(memory).get("/experiences", params={"q": line}).text
    assert "Insert a table into" in text
    assert "night light" not in text


def test_the_queue_shows_what_is_decided_on(memory):
    """Steps and other wordings: nobody approves blind."""
    memory.remember("Close the window", STEPS, application="Word", wordings=["Get rid of the window"])
    text = unescape(client_of(memory).get("/queue").text)
    assert text.count("<q>Table</q>") == 2
    assert "Get rid of the window" in text


def test_a_record_says_whether_agents_are_shown_it(memory):
    """As retrieval answers, not as its trust sounds."""
    client = client_of(memory)
    told = {one.trust.value: client.get(f"/experience/{one.id}").text for one in memory.list()}
    assert "not shown: nobody has said that it worked" in told["observed"]
    assert "What an agent would be shown if it were approved" in told["observed"]
    assert "shown to agents that are asked this" in told["verified"]
    assert "What an agent is shown" in told["verified"]


def test_the_overview_begins_with_the_one_thing_to_do(memory):
    """What waits, before any count."""
    text = client_of(memory).get("/").text
    assert text.index("Decide on 1 record that no agent is shown yet") < text.index("figures")


def test_what_agents_are_shown_already_is_not_said_to_wait_unseen(memory):
    """A judged run with a step to be careful with is looked at, after those that nobody is shown."""
    send = [{"action": "click", "control": "Send", "control_type": "Button"}]
    memory.remember("Send the report", send, success=True, application="Outlook", judge="user")
    text = unescape(client_of(memory).get("/queue").text)
    assert "1 record that no agent is shown until you decide, then 1 that agents are shown" in text
    assert text.index("Insert a table into the document") < text.index("Send the report")


def test_the_queue_ends_when_everything_was_decided_on(memory):
    """What somebody set aside waits no more, until that is taken back."""
    client, id = client_of(memory), waiting(memory).id
    done = post(client, "/change", {"record": seen(client, id), "do": "quarantine", "back": "/queue"})
    assert "Nothing waits" in client.get(done.headers["location"]).text
    post(client, "/undo", {"change": done.headers["location"].partition("did=")[2]})
    assert "Insert a table into the document" in client.get("/queue").text


def test_the_queue_shows_the_steps_as_an_agent_will_read_them(memory):
    """Not in the words of the log; those are folded."""
    typed = {"action_type": "set_edit_text", "target_control": {"name": "Title", "type": "Edit"}}
    steps = [{**typed, "parameters": {"text": "Plan", "clear_current_text": True}}]
    memory.remember('Set the title to "Plan"', steps, application="Word")
    text = unescape(client_of(memory).get("/queue").text)
    assert '<li>type "Plan" in "Title" (Edit)</li>' in text
    assert text.index('type "Plan"') < text.index("Every detail") < text.index("set_edit_text")


def test_names_of_one_application_are_counted_together(memory):
    """Of process and product, by the one a person would say."""
    memory.remember("Insert a picture", STEPS, application="WINWORD.EXE")
    text = client_of(memory).get("/").text
    assert text.count(">Word</a>") == 1
    assert (
        "WINWORD" not in text + client_of(memory).get("/experiences").text + client_of(memory).get("/procedures").text
    )


def test_a_step_is_mended_by_hand(memory):
    """A wrong name of a control, in a new record."""
    client, record = client_of(memory), waiting(memory)
    form = {"seen": seen(client, record.id).partition(":")[2], "task": record.state.request, "step": ["1", "2"]}
    form |= {"control:1": "Insert", "control:2": "Tables", "sure": "yes"}
    post(client, f"/experience/{record.id}/edit", form)
    new = next(one for one in memory.list() if one.trust.value == "approved")
    assert [step.target_control.name for step in new.action.steps] == ["Insert", "Tables"]
    assert [step.target_control.type for step in new.action.steps] == ["TabItem", "Button"]


def test_a_task_is_tried_with_what_is_held_back_and_why(memory):
    """The record that waits is named, with its reason."""
    text = client_of(memory).get("/try?task=Insert+a+table+into+the+document").text
    assert "what fits is withheld: 1 unproven" in text
    assert "nobody has said that it worked" in text
    assert "ufo-experience approve" not in text
    assert [text.count(f'value="{name}"') for name in ("worked", "approve")] == [1, 1]


def test_what_approval_of_a_run_nobody_judged_does_is_said_beside_it(memory):
    """Agents are not told then that it worked; of a run that was judged there is nothing to say."""
    client, said = client_of(memory), "agents read “outcome unknown”"
    judged = next(one for one in memory.list() if one.outcome.success)
    for page in ("/queue", f"/experience/{waiting(memory).id}", "/try?task=Insert+a+table+into+the+document"):
        assert said in client.get(page).text, page
    assert said not in client.get(f"/experience/{judged.id}").text


def test_what_several_approvals_do_is_said_before_with_the_button_that_judges(memory):
    """Both where they are chosen and where the page asks whether one is sure."""
    client, one = client_of(memory), waiting(memory)
    assert "is read by agents as “outcome unknown”" in client.get("/experiences").text
    records = [
        seen(client, one.id),
        seen(client, memory.remember("Close it", [{"action": "click", "control": "X"}]).id),
    ]
    asked = post(client, "/change", {"do": "approve", "record": records}).text
    assert "2 runs nobody has said how it ended" in asked
    assert 'value="worked"' in asked
    post(client, "/change", {"do": "worked", "record": records, "sure": "yes"})
    assert memory.get(one.id).outcome.success is True


def test_a_task_that_is_empty_is_said_to_be(memory):
    assert "The task is empty" in client_of(memory).get("/try?task=").text


def test_what_could_not_be_answered_is_what_to_teach_next(memory):
    """From the audit log, values masked."""
    memory.build_prompt('Rotate the photograph "holiday.png"')
    text = client_of(memory).get("/").text
    assert "rotate the photograph" in text.lower()
    assert "holiday" not in text


def test_what_the_page_asks_is_no_question_of_an_agent(memory, monkeypatch):
    """Neither a task that is tried nor the block of a record; and the command leaves the log as the setting says."""
    said: list[str] = []

    def look(opened: ExperienceMemory, *_: Any, **__: Any) -> None:
        client = client_of(opened)
        known = next(one for one in opened.list() if one.outcome.success)
        for path in ("/try?task=Rotate+it", "/try?task=Turn+on+the+night+light", f"/experience/{known.id}"):
            assert client.get(path).status_code == 200
        said.append(client.get("/").text)

    monkeypatch.setenv("UFO_EXPERIENCE_EMBEDDER", "hashing")
    monkeypatch.setattr("ufo_experience.review.app.serve", look)
    with pytest.raises(SystemExit) as left:
        command(["review", "--no-open", "--db", memory.store.location])
    assert not left.value.code
    assert "The audit log holds no question of an agent yet." in said[0]
    look(ExperienceMemory.open(settings=Settings(db=memory.store.location, embedder="hashing", audit=False)))
    assert "The audit log is off (setting audit)." in said[1]
    memory.build_prompt("Rotate it")
    look(memory)
    assert "at most 1 a day" in said[2]


def test_what_scores_nothing_did_not_come_near(memory):
    memory.remember("Zip the folder of last year", STEPS[:1], success=True, application="Explorer", judge="user")
    text = unescape(client_of(memory).get("/try?task=Turn+on+the+lamp").text)
    assert "Turn on the night light" in text.partition("Came near, and is not shown")[2]
    assert "Zip the folder" not in text


def test_hidden_characters_are_shown_as_escapes(memory):
    """Bidi marks and control characters cannot disguise a record."""
    memory.remember("Save the\u202e file\x1b[31m", STEPS, application="Word")
    text = client_of(memory).get("/experiences").text
    assert "\u202e" not in text
    assert "\x1b" not in text


def test_the_overview_tells_what_waits_from_what_is_in_use(memory):
    """One number for one thing: what agents are shown already does not wait, on no page."""
    send = [{"action": "click", "control": "Send", "control_type": "Button"}]
    memory.remember("Send the report", send, success=True, application="Outlook", judge="user")
    client = client_of(memory)
    text = client.get("/").text
    assert "<strong>1</strong> to decide on" in text
    assert "<strong>1</strong> to look at" in text
    assert shown_of(client, "is:waiting") == ["Insert a table into the document"]


def test_a_search_shows_what_holds_the_words_first_and_says_which_is_only_near(memory):
    """Words of controls count as those of the task do."""
    memory.remember("Write to Jane", [{**STEPS[0], "control": "New Email"}], application="Outlook")
    memory.remember("Insert a table below the text", STEPS, success=True, application="Word", judge="user")
    assert shown_of(client_of(memory), "new email")[0] == "Write to Jane"
    page = unescape(client_of(memory).get("/experiences", params={"q": "insert table into"}).text)
    assert "1 record with these words" in page
    held, _, near = page.partition("Near, without all of the words")
    assert "Insert a table into the document" in held
    assert "Insert a table below the text" in near


def test_a_word_that_no_record_holds_is_answered_with_one_that_is_spelled_like_it(memory):
    page = client_of(memory).get("/experiences?q=documnet").text
    assert 'did you mean <a href="/experiences?q=document">' in page


@pytest.mark.parametrize("line", ["table is:failure", "table app:Settings"])
def test_a_filter_that_leaves_out_what_holds_the_words_is_named(memory, line):
    """The words are there; and the way to the records that hold them."""
    page = client_of(memory).get("/experiences", params={"q": line}).text
    assert 'No record with this word passes the filter; without it: <a href="/experiences?q=table">1 record</a>' in page


def test_a_filter_is_offered_only_beside_others_than_itself(memory):
    """A second `is:` would contradict the first."""
    page = unescape(client_of(memory).get("/experiences", params={"q": "is:success"}).text)
    assert "q=is%3Asuccess+trust%3Aapproved" in page
    assert "is%3Afailure" not in page


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("is:foo", "is:foo is no filter; there is is:success"),
        ("trust:bogus", "trust:bogus is no filter; there is trust:quarantined"),
        ("since:abc", "since:abc is no filter; there is since:7"),
        ("app:", "app: is no filter"),
        ("app:Wrod", "no record is of application 'Wrod'; did you mean Word?"),
        ("foo:bar", "<h2>foo: is no field. Fields: is, trust, sort, since, app</h2>"),
    ],
)
def test_a_filter_that_is_none_is_answered_with_those_there_are(memory, line, told):
    """It is not searched for as a word."""
    page = unescape(client_of(memory).get("/experiences", params={"q": line}).text)
    assert told in page
    assert 'class="records"' not in page


def test_an_application_nobody_recorded_is_answered_with_one_spelled_like_it(memory):
    page = unescape(client_of(memory).get("/try?task=Turn+on+the+night+light&application=Setings").text)
    assert "did you mean Settings?" in page


def test_what_is_withheld_is_shown_also_where_something_else_answers(memory):
    """A better answer that waits for a click is no secret."""
    memory.remember("Turn on the night light now", STEPS, application="Settings")
    text = client_of(memory).get("/try?task=Turn+on+the+night+light+now").text
    shown, _, withheld = text.partition("<h2>Withheld</h2>")
    assert "Turn on the night light</a>" in shown.partition("<h2>Shown")[2]
    assert "Turn on the night light now</a>" in withheld
    assert 'value="approve"' in withheld


def test_an_import_is_kept_in_quarantine_where_it_is(memory, tmp_path):
    """The "no" of the queue is named as what it does, and so is what was done."""
    (tmp_path / "export.json").write_text(memory.export_json(), encoding="utf-8")
    there = ExperienceMemory.open(tmp_path / "there", embedder="hashing")
    there.import_(tmp_path / "export.json")
    client, id = client_of(there), there.list()[0].id
    assert client.get("/queue").text.count(">Keep quarantined</button>") == 2
    done = post(client, "/change", {"record": seen(client, id), "do": "quarantine", "back": "/queue"})
    page = client.get(done.headers["location"]).text
    assert "Kept in quarantine: “" in page
    assert page.count(">Keep quarantined</button>") == 1
    assert ">Quarantine</button>" in client_of(memory).get("/queue").text


def test_a_decision_on_a_record_leads_on_to_the_next_that_waits(memory):
    memory.remember("Close the window", STEPS, application="Word")
    client, (one, other) = client_of(memory), [one for one in memory.list() if one.trust.value == "observed"]
    back = f"/experience/{one.id}"
    assert "Next waiting" not in client.get(back).text
    done = post(client, "/change", {"record": seen(client, one.id), "do": "approve", "back": back})
    page = client.get(done.headers["location"]).text
    assert f'<a href="/experience/{other.id}">Next waiting (1)</a>' in page
    assert '<a href="/experiences" aria-current="true">Records</a>' in page
    assert '<a href="/queue" aria-current="true">Review queue</a>' in client.get(f"/experience/{other.id}/edit").text


@pytest.mark.parametrize("path", ["/", "/queue", "/experiences", "/procedures"])
def test_an_empty_store_is_filled_by_the_command_that_is_shown(tmp_path, path):
    """It names the store of the page, as a shell takes it."""
    empty = ExperienceMemory.open(tmp_path / "my store", embedder="hashing")
    text = unescape(client_of(empty).get(path).text)
    assert "Nothing has been learned yet" in text
    assert f"ufo-experience ingest LOGS --db {quoted(empty.store.location)}<" in text


def test_an_error_is_the_headline_of_its_page(memory):
    """In words of the page, not of the command line."""
    client = client_of(memory)
    for path in ("/experience/deadbeef", "/experience/deadbeef/edit"):
        missing = client.get(path)
        assert missing.status_code == 404
        assert "<h1>No record deadbeef: never stored, or removed</h1>" in missing.text
        assert '<a href="/experiences">To the records</a>' in missing.text
    assert "<h1>No such change: &#39;sing&#39;</h1>" in post(client, "/change", {"do": "sing", "record": "a:b"}).text
    assert "<h1>This change cannot be taken back any more</h1>" in post(client, "/undo", {"change": "x"}).text


def test_a_removed_record_is_said_to_be_with_the_command_that_brings_it_back(memory):
    client, id = client_of(memory), waiting(memory).id
    memory.remove(id)
    for path in (f"/experience/{id}", f"/experience/{id[:8]}"):
        text = unescape(client.get(path).text)
        assert f"<h1>Record {id[:8]} was removed</h1>" in text
        assert f"ufo-experience remove {id[:8]} --undo --db {quoted(memory.store.location)}<" in text
    assert "/procedures" in client.get("/records").text.partition("There are /")[2]


def test_a_program_is_told_where_it_changes_a_store(memory):
    answer = client_of(memory).post("/change", data={"do": "approve"})
    assert (answer.status_code, "the command ufo-experience" in answer.text) == (403, True)


def test_keys_that_are_pressed_are_no_command(memory):
    """What is typed before them may be one."""
    for keys in ("{ENTER}", "{TAB}{ENTER}", "rm -rf /{ENTER}"):
        step = {"action": "keyboard_input", "control": "Search", "control_type": "Edit", "keys": keys}
        memory.remember(f"Look up {keys!r}"[:7], [step], success=True, judge="user", session=keys)
    client = client_of(memory)
    marked = [one for one in memory.list() if ">command</span>" in client.get(f"/experience/{one.id}").text]
    assert [one.provenance.session for one in marked] == ["rm -rf /{ENTER}"]


def test_every_mark_says_what_it_means(memory):
    """Its title does, and on a card of the queue one line."""
    send = [{"action": "click", "control": "Send", "control_type": "Button"}]
    memory.remember("Send the report", send, success=True, application="Outlook", judge="user")
    text = client_of(memory).get("/queue").text
    assert "look at what is marked" not in text
    assert "Agents are shown it. Look at: ask first: agents are told to ask a person" in " ".join(text.split())
    assert '<span class="tag risk">' not in text


def test_every_page_names_the_same_judge(memory):
    """As procedures and the command line do."""
    (one,) = (one for one in memory.list() if one.trust.value == "verified")
    memory.judge(one.id, success=True, judge="model")
    assert "<dt>Judged by</dt><dd>model" in client_of(memory).get(f"/experience/{one.id}").text
    assert "<dt>Judged by</dt><dd>nobody" in client_of(memory).get(f"/experience/{waiting(memory).id}").text


def test_only_a_step_that_is_asked_before_is_said_to_be(memory):
    """An address is looked at; nobody asks before it."""
    steps = [{"action": "click", "control": "jane@example.com", "control_type": "Button"}]
    memory.remember("Pick the sender", steps, success=True, application="Outlook", judge="user")
    send = [{"action": "click", "control": "Send", "control_type": "Button"}]
    memory.remember("Mail the report", send, success=True, application="Outlook", judge="user")
    client = client_of(memory)
    address, asks = (
        client.get(f"/experience/{one.id}").text for one in sorted(memory.list(), key=lambda one: one.state.request)
        if one.state.application == "Outlook"
    )  # fmt: skip
    told = "agents are told to ask a person"
    assert f"<dt>Look at</dt><dd>ask first: {told}" in " ".join(address.split()).replace("<dd> ", "<dd>")
    assert "ask first</span>" in address
    assert told not in asks
    assert re.search(r'<span class="tag risk" title="no step is asked before for that; [^"]+">address</span>', asks)


def test_a_record_is_read_as_an_agent_reads_it_with_what_was_not_kept(memory):
    """The words of the log are folded; that what was typed is open is said."""
    typed = {"action_type": "set_edit_text", "target_control": {"name": "Console", "type": "Edit"}}
    memory.remember("Run the clean-up", [{**typed, "parameters": {"text": "rm -rf build"}}], application="Terminal")
    id = next(one.id for one in memory.list() if one.state.request.startswith("Run"))
    for page in ("/queue", f"/experience/{id}"):
        text = unescape(client_of(memory).get(page).text).partition("Run the clean-up</")[2]
        assert text.index('type … in "Console" (Edit)') < text.index("Every detail") < text.index("set_edit_text")
        assert re.search(r'type … in "Console" \(Edit\).*you decide', text)


# ------------------------------------------------------------------ what a change is bound to


def test_an_import_that_was_looked_at_and_taken_back_waits_again(memory, tmp_path):
    """Undo leaves nothing said; what somebody set aside before stays set aside."""
    (tmp_path / "export.json").write_text(memory.export_json(), encoding="utf-8")
    there = ExperienceMemory.open(tmp_path / "there", embedder="hashing")
    there.import_(tmp_path / "export.json")
    client = client_of(there)
    (id, other) = (one.id for one in there.list())
    for verb in ("approve", "quarantine"):
        undo(client, post(client, "/change", {"record": seen(client, id), "do": verb, "back": "/queue"}))
        assert there.get(id).trust.value == "quarantined"
        assert len(shown_of(client, "is:waiting")) == 2
    post(client, "/change", {"record": seen(client, other), "do": "quarantine"})
    undo(client, post(client, "/change", {"record": seen(client, other), "do": "approve"}))
    assert len(shown_of(client, "is:waiting")) == 1


@pytest.mark.parametrize(("verb", "success"), [("worked", True), ("failed", False)])
def test_a_person_says_how_a_run_ended_and_takes_it_back(memory, verb, success):
    """Then it is judged by a user; nothing is said of it after the undo."""
    client, record = client_of(memory), waiting(memory)
    assert f'value="{verb}"' in client.get("/queue").text
    done = post(client, "/change", {"do": verb, "record": seen(client, record.id), "back": "/queue"})
    judged = memory.get(record.id)
    assert (judged.outcome.success, judged.outcome.judge, judged.trust.value) == (success, "user", "verified")
    assert f'value="{verb}"' not in client.get(f"/experience/{record.id}").text
    undo(client, done)
    assert memory.get(record.id) == record


def test_an_undo_says_what_was_taken_back(memory):
    client, record = client_of(memory), waiting(memory)
    done = undo(client, post(client, "/change", {"do": "approve", "record": seen(client, record.id)}))
    text = client.get(done.headers["location"]).text
    assert "Taken back, approved: “Insert a table into the document”" in text
    assert "Undo</button>" not in text


def test_changes_can_be_taken_back_from_the_overview(memory):
    """Also when somebody went to another page meanwhile."""
    client, record = client_of(memory), waiting(memory)
    post(client, "/change", {"do": "approve", "record": seen(client, record.id)})
    change = re.search(r'name="change" value="([^"]+)"', client.get("/").text)[1]
    post(client, "/undo", {"change": change, "back": "/"})
    assert memory.get(record.id).trust.value == "observed"
    assert 'name="change"' not in client.get("/").text
    assert post(client, "/undo", {"change": change}).status_code == 404


def test_an_undo_does_not_overwrite_what_was_said_since(memory):
    client, record = client_of(memory), waiting(memory)
    done = post(client, "/change", {"do": "approve", "record": seen(client, record.id)})
    memory.judge(record.id, success=False)
    assert undo(client, done).status_code == 409
    assert memory.get(record.id).trust.value == "approved"


def test_an_edit_that_is_taken_back_leaves_no_copy_and_can_be_made_again(memory):
    client, record = client_of(memory), waiting(memory)
    for _ in range(2):
        mark = seen(client, record.id).partition(":")[2]
        form = {"seen": mark, "task": "Insert a table", "step": ["1", "2"], "sure": "yes"}
        done = post(client, f"/experience/{record.id}/edit", form)
        assert len(memory) == 3
        back = undo(client, done)
        assert back.headers["location"].startswith(f"/experience/{record.id}?")
        assert len(memory) == 2
        assert memory.get(record.id) == record
    assert "<strong>1</strong> to decide on" in client.get("/").text


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"step": []}, "a record without a step teaches nothing"),
        ({"task": "Insert a table into the document"}, "nothing was changed"),
        ({"task": " "}, "the task is empty"),
        ({"control:2": " "}, "step 2 has no control any more"),
    ],
)
def test_an_edit_that_cannot_be_keeps_the_form_and_says_why(memory, change, told):
    client, record = client_of(memory), waiting(memory)
    form = {"seen": "x", "task": "Insert a list", "tips": "Put the cursor first.", "step": ["1", "2"]}
    if "nothing" in told:
        form["tips"] = ""
    answer = post(client, f"/experience/{record.id}/edit", {**form, **change})
    text = unescape(answer.text)
    assert answer.status_code == 400
    assert told in text
    assert f"required>{change.get('task', form['task'])}</textarea>" in text
    assert text.count('name="step"') == 2
    assert text.count(" checked") == len({**form, **change}["step"])


def test_the_way_back_from_a_difference_leads_to_what_was_typed(memory):
    client, record = client_of(memory), waiting(memory)
    form = {"seen": "x", "task": "Insert a list", "step": ["1"], "control:1": "Lists", "sure": "no"}
    text = post(client, f"/experience/{record.id}/edit", form).text
    assert "required>Insert a list</textarea>" in text
    assert 'name="control:1" value="Lists"' in text
    assert text.count(" checked") == 1


@pytest.mark.parametrize(("trust", "offered"), [("approve", "quarantine"), ("quarantine", "approve")])
def test_what_is_so_already_is_not_offered(memory, trust, offered):
    client, record = client_of(memory), waiting(memory)
    post(client, "/change", {"do": trust, "record": seen(client, record.id)})
    text = client.get(f"/experience/{record.id}").text
    assert f'name="do" value="{offered}"' in text
    assert f'name="do" value="{trust}"' not in text


def test_a_record_is_approved_and_the_approval_taken_back(memory):
    """The undo of a change brings back the trust it had."""
    client, record = client_of(memory), waiting(memory)
    done = post(client, "/change", {"do": "approve", "record": seen(client, record.id), "back": "/queue"})
    assert memory.get(record.id).trust.value == "approved"
    shown = client.get(done.headers["location"]).text
    post(client, "/undo", {"change": re.search(r'name="change" value="([^"]+)"', shown)[1]})
    assert memory.get(record.id).trust.value == "observed"


def test_a_record_that_changed_meanwhile_is_not_overwritten(memory):
    """What was seen is not what is there: 409, and nothing happens."""
    client, record = client_of(memory), waiting(memory)
    old = seen(client, record.id)
    memory.quarantine(record.id)
    answer = post(client, "/change", {"do": "approve", "record": old})
    assert answer.status_code == 409
    assert memory.get(record.id).trust.value == "quarantined"


def test_several_records_are_asked_back_with_their_count(memory):
    """Nothing happens before the yes; then all of them."""
    client = client_of(memory)
    records = [seen(client, one.id) for one in memory.list()]
    asked = post(client, "/change", {"do": "quarantine", "record": records})
    assert "quarantine 2 records" in asked.text.lower()
    assert {one.trust.value for one in memory.list()} == {"observed", "verified"}
    post(client, "/change", {"do": "quarantine", "record": records, "sure": "yes"})
    assert {one.trust.value for one in memory.list()} == {"quarantined"}


def test_a_removed_record_comes_back_by_undo(memory):
    """With its trust."""
    client, record = client_of(memory), waiting(memory)
    done = post(client, "/change", {"do": "remove", "record": seen(client, record.id), "sure": "yes"})
    assert record.id not in {one.id for one in memory.list()}
    shown = client.get(done.headers["location"]).text
    post(client, "/undo", {"change": re.search(r'name="change" value="([^"]+)"', shown)[1]})
    assert memory.get(record.id).trust.value == "observed"


def test_an_edit_shows_its_difference_and_makes_a_new_record(memory):
    """The old one stays, quarantined; the new one is approved and names it."""
    client, record = client_of(memory), waiting(memory)
    mark = seen(client, record.id).partition(":")[2]
    form = {"seen": mark, "task": "Insert a table", "tips": "Put the cursor first.", "step": ["1"]}
    shown = post(client, f"/experience/{record.id}/edit", form)
    assert 'class="gone"' in shown.text
    assert len(memory) == 2
    post(client, f"/experience/{record.id}/edit", {**form, "sure": "yes"})
    new = next(one for one in memory.list() if one.trust.value == "approved")
    assert new.state.request == "Insert a table"
    assert [step.target_control.name for step in new.action.steps] == ["Insert"]
    assert f"supersedes {record.id}" in new.provenance.notes
    changed = client.get(f"/experience/{new.id}").text
    assert 'class="gone"' in changed
    assert f'href="/experience/{record.id}"' in changed
    assert memory.get(record.id).trust.value == "quarantined"
    assert memory.get(record.id).state.request == "Insert a table into the document"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"control:3": "Reserve"}, "the mark [ask first] of step 3 is gone"),
        ({"slot:input:1": "the room number"}, "step 2 takes its value from the task no more: [you decide: "),
        ({"control:3": "Delete the booking", "slot:input:1": "text from task slot 1", "tips": "Look twice."}, ""),
    ],
)
def test_an_edit_says_what_agents_are_no_longer_told(memory, change, told):
    """Before it is stored, and in the record that it made. A mark is of the label: another label, another mark."""
    steps = [
        {"action": "click", "control": "New booking", "control_type": "Button"},
        {"action": "type", "control": "Room", "control_type": "Edit", "parameters": {"text": "C3"}},
        {"action": "click", "control": "Book", "control_type": "Button"},
    ]
    record = memory.remember('Book the room "C3"', steps, True, application="Rooms")
    client = client_of(memory)
    mark = seen(client, record.id).partition(":")[2]
    form = {"seen": mark, "task": record.state.request, "step": ["1", "2", "3"], **change}
    shown = unescape(post(client, f"/experience/{record.id}/edit", form).text)
    done = post(client, f"/experience/{record.id}/edit", {**form, "sure": "yes"})
    new = memory.get(done.headers["location"].split("/")[2].partition("?")[0])
    assert [note for note in new.provenance.notes if note.startswith("edited: ")] == re.findall(r"edited: [^<]+", shown)
    assert told in shown
    assert bool(told) is ("edited: " in shown)
    assert ("[ask first]" in memory.build_prompt('Book the room "D4"').text) is ("Reserve" not in change.values())


def test_an_address_or_parameter_that_is_none_is_answered_with_those_there_are(memory):
    """The page takes one search line; what stands beside it is not passed over in silence."""
    client = client_of(memory)
    assert "There are /, /queue" in client.get("/records").text
    assert (
        "app: no parameter of this page; it takes q, page (as in ?q=app:Word"
        in client.get("/experiences?app=Word").text
    )
    assert "q: no parameter of this page; it takes task, application" in client.get("/try?q=Save").text
    assert "no parameter" not in client.get("/experiences?q=table&page=1").text


def test_a_read_only_page_takes_no_change(memory):
    """There is no address to write to, and no button."""
    client, record = client_of(memory, read_only=True), waiting(memory)
    assert "Approve" not in client.get(f"/experience/{record.id}").text
    edit = f"/experience/{record.id}/edit"
    for path in ("/change", "/lesson", "/undo", "/job", edit):
        answer = post(client, path, {"do": "approve", "record": f"{record.id}:x"})
        assert (answer.status_code, "<h1>Read only</h1>" in answer.text) == (403, True), path
    assert "<h1>Read only</h1>" in client.get(edit).text
    assert "<textarea" not in client.get(edit).text
    assert "data-id" not in client.get("/queue").text + client.get("/experiences").text
    assert memory.get(record.id).trust.value == "observed"


def test_the_way_back_stays_on_the_page(memory):
    """A `back` that leads elsewhere is not followed."""
    client, record = client_of(memory), waiting(memory)
    answer = post(client, "/change", {"do": "approve", "record": seen(client, record.id), "back": "//evil.example/x"})
    assert answer.headers["location"].startswith("/experiences?did=")


def test_changes_are_noted_in_the_audit_log(memory):
    """Who, what, which."""
    client, record = client_of(memory), waiting(memory)
    post(client, "/change", {"do": "approve", "record": seen(client, record.id)})
    log = (memory.store.cache_folder / "audit.jsonl").read_text(encoding="utf-8")
    assert '"actor": "review"' in log
    assert record.id in log


# ------------------------------------------------------------------ procedures and lessons


def test_runs_of_one_task_are_one_entry_with_its_runs_and_judges(memory):
    for number, light in enumerate(("desk", "floor", "night")):
        memory.remember(f"Turn on the lamp {light!r}", STEPS, success=number > 0, judge="person", session=f"s{number}")
    text = " ".join(unescape(client_of(memory).get("/procedures").text).split())
    assert "worked 2 of 3" in text
    assert "judged by user (3)" in text
    assert text.count("Turn on the lamp") == 1
    assert all(f'href="/experience/{one.id}"' in text for one in memory.list())


def test_of_a_run_that_nobody_judged_no_judge_is_named(memory):
    text = unescape(client_of(memory).get("/procedures").text)
    waits = text.partition("Insert a table")[2].partition("</details>")[0]
    assert "nobody knows whether it worked" in waits
    assert "judged by" not in waits


def test_a_removed_run_is_gone_from_its_procedure(memory):
    client = client_of(memory)
    assert "Turn on the night light" in client.get("/procedures").text
    memory.remove(next(one.id for one in memory.list() if one.trust.value == "verified"))
    assert "Turn on the night light" not in client.get("/procedures").text


def test_a_lesson_is_shown_with_what_it_rests_on_and_can_be_put_aside(memory):
    run = waiting(memory)
    said = Lesson(id="lesson-1", application="Word", text="Look <first>", ids=(run.id,), created_at=run.created_at)
    memory.parts.lessons.take("Word", [said])
    client = client_of(memory)
    text = client.get("/procedures").text
    assert "Look &lt;first&gt;" in text
    assert run.id[:8] in text
    assert post(client, "/lesson", {"lesson": "lesson-1", "do": "quarantine"}).status_code == 303
    assert ": not shown" in client.get("/procedures").text
    assert post(client, "/lesson", {"lesson": "lesson-1", "do": "approve"}).status_code == 303
    assert ": not shown" not in client.get("/procedures").text
    assert post(client, "/lesson", {"lesson": "lesson-2", "do": "approve"}).status_code == 404
