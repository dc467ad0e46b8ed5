"""The executor in a real Chromium: learned once, carried out for somebody else, with a button of another name."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli_runner import invoke
from tests.procedure_world import click, fill, link, memory_of, tick
from ufo_experience import Act, ExperienceMemory
from ufo_experience.executor import PlaywrightDriver, SeleniumDriver, Target

pytestmark = pytest.mark.browser

TASK = 'Make the user {} a member of the group {} with the note "{}"'
STEPS = [link("Users", "Main"), link("Tom Kent"), tick("Translators"), fill("Note", "ok"), click("Save")]
FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-background-networking".split()
PAGE = """<html><body><nav aria-label="Main"><a href="#users">Users</a></nav><div id="app"></div><script>
const people = [['tkent', 'Tom Kent'], ['mlopez', 'Maria Lopez'], ['akim', 'An Kim']], groups = {};
function list() { app.innerHTML = '<table>' + people.map(([login, name]) => `<tr><td><a href="#u/${login}">${name}</a>
  </td><td>${login}</td><td><button>Delete</button></td></tr>`).join('') + '</table>'; }
function user(login) {
  app.innerHTML = `<h1>User ${login}</h1><label><input type="checkbox" id="t"> Translators</label>
    <label><input type="checkbox" id="e"> Editors</label><label>Note <input id="n"></label>
    <button id="s">Save</button><p role="status" id="out"></p>`;
  s.onclick = () => { groups[login] = `${t.checked}/${e.checked}/${n.value}`;
    out.textContent = `User ${login} updated`; };
}
function go() { location.hash == '#users' ? list()
  : location.hash.startsWith('#u/') ? user(location.hash.slice(3)) : 0; }
onhashchange = go; go();
</script></body></html>"""


EXAMPLE = Path(__file__).parents[1] / "docs" / "run"
ASKED = {  # the tasks of docs/run.md → what is on the screen at the end
    'Open a ticket "The door is stuck" with the priority normal': 'Ticket "The door is stuck" created',
    "Give the user mlopez the role agent": "mlopez has the role agent",
    "Give the user akim the role agent": "akim has the role agent",
}
MIXED = """<html><body><h2><a href="#one">Report one</a></h2><p>Ready</p>
<label>Size <select><option>S<option>L</select></label></body></html>"""

FORM = """<html><body><table>
<tr><th>Priority</th><td><select><option>low<option>high</select></td>
<th>Assigned To</th><td><input></td></tr>
<tr><td colspan=4><input type=submit value="Submit New Entry"></td></tr>
<tr><td><a href="#t">tkent</a></td><td>Tom Kent</td><td><form><button>retire</button></form></td></tr>
</table><a href="#f">File \u25be</a></body></html>"""


@pytest.fixture
def page(tmp_path: Path) -> str:
    (tmp_path / "page.html").write_text(PAGE, encoding="utf-8")
    return (tmp_path / "page.html").as_uri()


def is_done_for_another_person(tmp_path: Path, driver: Any) -> None:
    memory = memory_of(tmp_path / "db", (TASK.format("tkent", "Translators", "ok"), STEPS))
    done = memory.run(
        TASK.format("mlopez", "Editors", "fine"), driver, ask=lambda act: True, check="User mlopez updated"
    )
    assert (done.stopped, done.calls, done.calls_saved) == ("done", 0, 5)


@pytest.fixture
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options)
    yield browser
    browser.quit()


def test_selenium(tmp_path, page, browser):
    """By the accessibility tree of the browser, with real input events."""
    browser.get(page)
    is_done_for_another_person(tmp_path, SeleniumDriver(browser))
    assert browser.execute_script("return JSON.stringify(groups)") == '{"mlopez":"false/true/fine"}'


def test_the_example_of_the_docs_is_learned_from_recordings_and_run_for_others(tmp_path, browser):
    """A file of Chrome's Recorder panel and one of Playwright's codegen; three other values, no model."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    memory.ingest(EXAMPLE / "recorder.json", EXAMPLE / "codegen.py", application="Helpdesk", success=True)
    for task, seen in ASKED.items():
        browser.get((EXAMPLE / "helpdesk.html").as_uri())
        done = memory.run(task, SeleniumDriver(browser), ask=lambda act: True, check=seen, application="Helpdesk")
        assert (done.stopped, done.calls, done.checked) == ("done", 0, True), task


def test_controls_in_headings_are_seen_and_a_list_is_chosen_from_however_it_was_recorded(tmp_path, browser):
    """Reports are links in headings; recorders tell a list as changed, like a field."""
    (tmp_path / "mixed.html").write_text(MIXED, encoding="utf-8")
    browser.get((tmp_path / "mixed.html").as_uri())
    driver = SeleniumDriver(browser)
    assert {"Report one"} == {one["name"] for one in driver.controls() if one["type"] == "Hyperlink"}
    size = next(one for one in driver.controls() if one["name"] == "Size")
    driver.do(Act("type", Target("Size", "ComboBox", "", size["id"]), {"text": "L"}))
    assert next(one for one in driver.controls() if one["name"] == "Size")["value"] == "L"


def test_a_window_that_a_link_opens_is_gone_on_with_and_left_when_it_is_closed(tmp_path, browser):
    """Until it is closed; then the one before it is in view again."""
    (tmp_path / "other.html").write_text("<button onclick='window.close()'>Close it</button>", encoding="utf-8")
    (tmp_path / "first.html").write_text("<a target=_blank href=other.html rel=opener>Report</a>", encoding="utf-8")
    browser.get((tmp_path / "first.html").as_uri())
    driver = SeleniumDriver(browser)
    for name, seen_then in (("Report", "Close it"), ("Close it", "Report")):
        shown = next(one for one in driver.controls() if one["name"] == name)
        driver.do(Act("click", Target(name, shown["type"], "", shown["id"]), {}))
        until = time.monotonic() + 10
        while [one["name"] for one in driver.controls()] != [seen_then] and time.monotonic() < until:
            time.sleep(0.05)
        assert [one["name"] for one in driver.controls()] == [seen_then]


def test_fields_are_called_as_a_reader_calls_them_and_rows_by_their_data(tmp_path, browser):
    """By the text before them where nothing labels them; a form row is no row of data, and a button names none."""
    (tmp_path / "form.html").write_text(FORM, encoding="utf-8")
    browser.get((tmp_path / "form.html").as_uri())
    found = {one["name"]: one for one in SeleniumDriver(browser).controls()}
    assert {"Priority", "Assigned To", "File"} <= found.keys()
    places = {name: found[name]["within"] for name in ("Priority", "Assigned To", "Submit New Entry", "retire")}
    assert places == {"Priority": "", "Assigned To": "", "Submit New Entry": "", "retire": "tkent Tom Kent"}


CHECKED = """<html><body><nav aria-label="Main"><a href="here.html">Profile</a> <a href="#">Help</a></nav>
<div id="errors"></div><label>Name <input id="n"></label><p><button id="k">Keep</button></p><p id="out"></p><script>
let due; n.oninput = () => { clearTimeout(due); due = setTimeout(() => {
  errors.innerHTML = '<p>checked</p>'.repeat(9);
  k.outerHTML = '<button id="k" onclick="keep()">Keep</button>'; }, 500); };
function keep() { out.textContent = 'kept ' + n.value; }
</script></body></html>"""


def test_a_click_waits_for_a_form_that_checks_what_was_typed_and_a_link_to_here_is_not_clicked(tmp_path, browser):
    """Many forms ask their server half a second after the last key, and draw themselves anew under the click."""
    (tmp_path / "here.html").write_text(CHECKED, encoding="utf-8")
    browser.get((tmp_path / "here.html").as_uri())
    driver = SeleniumDriver(browser)
    for address, selected in (("here.html", True), ("here.html#", None)):  # many buttons are links to "#"
        browser.get((tmp_path / address).as_uri().replace("%23", "#"))
        assert [one.get("selected") for one in driver.controls() if one["type"] == "Hyperlink"] == [selected, None]
    browser.get((tmp_path / "here.html").as_uri())
    steps = [link("Profile", "Main"), fill("Name", "Ada"), click("Keep")]
    memory = memory_of(tmp_path / "db", ('Be called "Ada"', steps))
    done = memory.run('Be called "Maria"', driver, check="kept Maria")
    assert (done.stopped, [one.text for one in done.steps]) == (
        "done",
        ['type "Maria" in "Name" (Edit)', 'click "Keep" (Button)'],
    )


@contextmanager
def playwright_page() -> Iterator[Any]:
    """A page in the system's Chromium."""
    api = pytest.importorskip("playwright.sync_api")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS[1:])
        yield browser.new_context().new_page()
        browser.close()


def test_playwright(tmp_path, page):
    """The same through a page of Playwright, in the system's Chromium."""
    with playwright_page() as shown:
        shown.goto(page)
        is_done_for_another_person(tmp_path, PlaywrightDriver(shown))
        assert shown.evaluate("JSON.stringify(groups)") == '{"mlopez":"false/true/fine"}'


def test_a_window_of_somebody_else_in_the_same_browser_is_left_alone(tmp_path):
    """Playwright knows which page opened which: only those of this page are gone on with."""
    (tmp_path / "other.html").write_text("<button>Close it</button>", encoding="utf-8")
    (tmp_path / "first.html").write_text("<a target=_blank href=other.html>Report</a>", encoding="utf-8")
    with playwright_page() as page:
        page.goto((tmp_path / "first.html").as_uri())
        driver = PlaywrightDriver(page)
        page.context.new_page().goto((tmp_path / "other.html").as_uri())
        (shown,) = driver.controls()
        assert shown["name"] == "Report"
        driver.do(Act("click", Target("Report", shown["type"], "", shown["id"]), {}))
        page.wait_for_timeout(1_000)
        assert [one["name"] for one in driver.controls()] == ["Close it"]


def test_an_mcp_client_has_a_known_way_carried_out(tmp_path):
    """Learned from one recording, run with other values in a browser of the server's own."""
    client = pytest.importorskip("mcp.client")
    from ufo_experience.integrations.mcp_server import build_server

    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    memory.ingest(EXAMPLE / "recorder.json", EXAMPLE / "codegen.py", application="Helpdesk", success=True)

    async def run() -> Any:
        async with client.Client(build_server(memory, allow_run=True)) as asks:
            given = {"task": next(iter(ASKED)), "browser": (EXAMPLE / "helpdesk.html").as_uri()}
            return (await asks.call_tool("run", given)).structured_content

    done = asyncio.run(run())
    assert (done["reached"], done["stopped"], len(done["steps"]) > 2) == (True, "done", True)


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/", "http://nowhere.invalid/"])
def test_a_page_that_cannot_be_opened_is_said_to_be_so(tmp_path, address):
    """Not that a control of the way is not in view."""
    memory_of(tmp_path, (TASK.format("tkent", "Translators", "ok"), STEPS)).close()
    task = TASK.format("mlopez", "Translators", "fine")
    done = invoke("run", task, "--browser", address, "--db", tmp_path)
    assert (done.exit_code, f"{address} could not be opened: " in done.stderr) == (69, True)
