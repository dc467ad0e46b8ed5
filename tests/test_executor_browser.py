"""The executor in a real Chromium: learned once, carried out for somebody else, with a button of another name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.procedure_world import click, fill, link, memory_of, tick
from ufo_experience.executor import PlaywrightDriver, SeleniumDriver

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


def test_selenium(tmp_path, page):
    """By the accessibility tree of the browser, with real input events."""
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    for flag in FLAGS:
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options)
    try:
        browser.get(page)
        is_done_for_another_person(tmp_path, SeleniumDriver(browser))
        assert browser.execute_script("return JSON.stringify(groups)") == '{"mlopez":"false/true/fine"}'
    finally:
        browser.quit()


def test_playwright(tmp_path, page):
    """The same through a page of Playwright, in the system's Chromium."""
    api = pytest.importorskip("playwright.sync_api")
    import shutil

    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS[1:])
        shown = browser.new_page()
        shown.goto(page)
        is_done_for_another_person(tmp_path, PlaywrightDriver(shown))
        assert shown.evaluate("JSON.stringify(groups)") == '{"mlopez":"false/true/fine"}'
        browser.close()
