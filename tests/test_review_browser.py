"""The review page in a real Chromium: the ways people go, hostile records, and what axe-core says of every page."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="the extra `test-browser` is not installed")
pytest.importorskip("selenium")
pytest.importorskip("axe_core_python")

import uvicorn
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from benchmarks.steps.browser import Browser
from ufo_experience import ExperienceMemory
from ufo_experience.review.app import build_app

pytestmark = pytest.mark.browser

TOKEN = "t" * 43
STEPS = [
    {"action": "click", "control": "Insert", "control_type": "TabItem"},
    {"action": "click", "control": "Table", "control_type": "Button"},
]
PAGES = ("/", "/procedures", "/queue", "/experiences", "/try?task=Insert+a+table", "/health")
SERIOUS = (
    "axe.run().then(found => JSON.stringify(found.violations"
    ".filter(one => ['serious', 'critical'].includes(one.impact))"
    ".map(one => [one.id, one.nodes.map(node => node.html)])))"
)
HOSTILE = [json.loads(line) for line in (Path(__file__).parent / "data/review/hostile.jsonl").read_text().splitlines()]
HOSTILE.append("A" * 20_000 + "<script>window.__canary=1</script>")


class Served:
    """A page served on a free port, and its store."""

    def __init__(self, memory: ExperienceMemory) -> None:
        self.memory = memory
        self._socket = socket.create_server(("127.0.0.1", 0))
        host = f"127.0.0.1:{self._socket.getsockname()[1]}"
        app = build_app(memory, token=TOKEN, session=TOKEN, hosts=[host])
        self.address = f"http://{host}"
        self._server = uvicorn.Server(uvicorn.Config(app, log_level="error", ws="none", lifespan="off"))
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser(size=(1100, 800)) as opened:
        yield opened


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """Three records that wait."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    for task in ("Insert a table into the document", "Turn on the night light", "Book a meeting room"):
        memory.remember(task, STEPS, application="Word")
    page = Served(memory)
    yield page
    page.close()


def go(browser: Browser, served: Served, path: str) -> None:
    browser.open(f"{served.address}/?token={TOKEN}")
    browser.open(f"{served.address}{path}")


def text(browser: Browser) -> str:
    return str(browser.run("return document.body.innerText"))


def press(browser: Browser, *keys: str) -> None:
    browser.driver.switch_to.active_element.send_keys(*keys)


def click(browser: Browser, name: str) -> None:
    """Click the first button or link of this name, as soon as the page has one."""
    found = "[...document.querySelectorAll('main button, main a')].find(e => e.innerText.trim() === arguments[0])"
    element = WebDriverWait(browser.driver, 20).until(lambda driver: driver.execute_script(f"return {found}", name))
    element.click()


def shows(browser, words: str) -> None:
    """Wait until the page says something."""
    said = "return document.body ? document.body.innerText : ''"  # in one call: the next page may come between two
    WebDriverWait(browser.driver, 20).until(lambda driver: words in driver.execute_script(said))


def trusts(served: Served) -> list[str]:
    return sorted(one.trust.value for one in served.memory.list())


def test_a_record_is_found_by_search_and_opened(browser, served):
    """Find: type, Enter, open."""
    go(browser, served, "/experiences")
    press(browser, "/")
    press(browser, "put a table in the document", Keys.ENTER)
    assert "Insert a table into the document" in text(browser)
    click(browser, "Insert a table into the document")
    assert "What an agent would be shown" in text(browser)


def test_the_queue_is_worked_off_by_keys_alone(browser, served):
    """j, a, q: one approved, and the next one, which is there at once, quarantined."""
    go(browser, served, "/queue")
    press(browser, "j")
    press(browser, "a")
    shows(browser, "Approved:")
    press(browser, "q")
    shows(browser, "Quarantined:")
    assert trusts(served) == ["approved", "observed", "quarantined"]


def test_a_run_is_judged_by_a_key(browser, served):
    """w: it worked, and the next one is at hand."""
    go(browser, served, "/queue")
    press(browser, "j")
    press(browser, "w")
    shows(browser, "Said to have worked:")
    press(browser, "f")
    shows(browser, "Said to have failed:")
    assert trusts(served) == ["observed", "verified", "verified"]


def test_every_field_of_a_form_is_wide_enough_to_read_at_360_px(browser, served):
    """One field a line: the task and the names of controls take most of the page."""
    drive = browser.driver.execute_cdp_cmd
    drive("Emulation.setDeviceMetricsOverride", {"width": 360, "height": 800, "deviceScaleFactor": 1, "mobile": False})
    fields = (
        "return [...document.querySelectorAll('main input:not([type=checkbox]):not([type=hidden]), main textarea')]"
    )
    try:
        for path in ("/try", "/experiences", f"/experience/{served.memory.list()[0].id}/edit"):
            go(browser, served, path)
            widths = browser.run(f"{fields}.map(one => one.getBoundingClientRect().width)")
            assert widths
            assert min(widths) > 250, path
    finally:
        drive("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("path", ["/queue", "/try?task=Turn+on+the+night+light", "/experiences", "/procedures"])
def test_tasks_are_wide_enough_to_read_and_the_page_one_is_on_is_in_view(browser, served, path, width):
    """Buttons stand below or beside them; no task is a column of letters."""
    drive = browser.driver.execute_cdp_cmd
    drive(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    try:
        go(browser, served, path)
        here = browser.run("return document.querySelector('[aria-current]').getBoundingClientRect().right")
        widths = browser.run("return [...document.querySelectorAll('.what')].map(one => one.clientWidth)")
        lines = browser.run("return [...document.querySelectorAll('a.task')].map(one => one.clientHeight / 24)")
    finally:
        drive("Emulation.clearDeviceMetricsOverride", {})
    assert here <= width
    assert min(widths) > 200
    assert max(lines) <= 2


def test_a_task_is_tried_and_what_is_held_back_is_released(browser, served):
    """The button beside the reason approves."""
    go(browser, served, "/try?task=Turn+on+the+night+light")
    assert "nobody has said that it worked" in text(browser)
    click(browser, "Approve")
    shows(browser, "Approved:")
    assert "Turn on the night light" in text(browser).partition("Withheld")[0].rpartition("Shown")[2]


def test_an_edit_shows_its_difference_before_it_is_stored(browser, served):
    """e, another wording, the difference, yes."""
    go(browser, served, "/queue")
    press(browser, "j")
    press(browser, "e")
    find = "return document.querySelector('textarea[name=task]')"
    field = WebDriverWait(browser.driver, 20).until(lambda driver: driver.execute_script(find))
    field.clear()
    field.send_keys("Say it otherwise")
    click(browser, "Show the difference")
    click(browser, "Store the new record")
    shows(browser, "Edited:")
    assert "approved" in trusts(served)


def test_what_changed_meanwhile_is_said_and_not_overwritten(browser, served):
    """Somebody else was faster."""
    (one, *_) = served.memory.list()
    go(browser, served, f"/experience/{one.id}")
    served.memory.quarantine(one.id)
    click(browser, "Approve")
    WebDriverWait(browser.driver, 20).until(lambda driver: "Changed meanwhile" in driver.page_source)
    assert served.memory.get(one.id).trust.value == "quarantined"


def test_several_are_changed_at_once_after_their_count_was_shown(browser, served):
    """x and j choose, the button asks, yes does it."""
    go(browser, served, "/experiences")
    for _ in range(3):
        press(browser, "j")
        press(browser, "x")
    assert "3 chosen" in text(browser)
    click(browser, "Approve chosen")
    click(browser, "Yes, approve 3")
    shows(browser, "Approved: 3 records")
    assert trusts(served) == ["approved"] * 3


def test_everything_works_without_script(browser, served):
    """Forms and links are the page; the script is a convenience."""
    browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        (one, *_) = served.memory.list()
        go(browser, served, f"/experience/{one.id}")
        browser.driver.find_element("css selector", "button[value=approve]").click()
        WebDriverWait(browser.driver, 20).until(lambda driver: "Approved:" in driver.page_source)
        assert "approved" in trusts(served)
    finally:
        browser.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_pages_fit_and_axe_finds_nothing_serious(browser, served, scheme, width):
    """No sideways scrolling from 360 px on; labels, names, contrast and landmarks by axe-core."""
    axe = (Path(find_spec("axe_core_python").submodule_search_locations[0]) / "axe.min.js").read_text("utf-8")
    drive = browser.driver.execute_cdp_cmd
    drive("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})
    drive(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    )
    one = served.memory.list()[0].id
    found = {}
    try:
        for path in (*PAGES, f"/experience/{one}", f"/experience/{one}/edit"):
            go(browser, served, path)
            assert browser.run("return document.documentElement.scrollWidth") <= width, path
            drive("Runtime.evaluate", {"expression": axe})
            result = drive("Runtime.evaluate", {"expression": SERIOUS, "awaitPromise": True, "returnByValue": True})
            if problems := json.loads(result["result"]["value"]):
                found[path] = problems
    finally:
        drive("Emulation.clearDeviceMetricsOverride", {})
    assert found == {}


def test_no_hostile_record_runs_a_script_on_any_page(browser, tmp_path):
    """Sixty records; every page that shows them is opened, and the canary stays unset."""
    memory = ExperienceMemory.open(tmp_path / "db", embedder="hashing")
    for number, bad in enumerate(HOSTILE):
        step = {"action": "click", "control": bad[:400], "control_type": "Button", "observation": bad[:400]}
        memory.remember(f"Task {number} {bad}"[:15_000], [step], application=bad[:100], session=f"s{number}")
    page = Served(memory)
    try:
        assert len(HOSTILE) >= 60
        one_of_each = [f"/experience/{one.id}{end}" for one in memory.list() for end in ("", "/edit")]
        listed = (
            "/",
            "/queue",
            "/experiences",
            "/experiences?page=2",
            "/experiences?q=%3Cscript%3E",
            "/try?task=%3Cscript%3E",
        )
        for path in (*listed, *one_of_each):
            go(browser, page, path)
            assert browser.run("return window.__canary || null") is None, path
            assert (
                browser.run("return document.querySelectorAll('script:not([src]), iframe, object, embed').length") == 0
            )
            assert browser.run("return getComputedStyle(document.body).display") != "none", path
    finally:
        page.close()
