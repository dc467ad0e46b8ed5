"""The environments in a real headless Chromium."""

from __future__ import annotations

from statistics import median
from time import perf_counter

import pytest

from benchmarks.steps.browser import BINARY_VARIABLE, DRIVER_VARIABLE, find_chromium
from benchmarks.steps.demonstration import Hints, HintStep
from benchmarks.steps.desktop import Desktop, solve
from benchmarks.steps.desktop.templates import templates
from benchmarks.steps.environment import Command, ControlView, Observation
from benchmarks.steps.episode import run_episode
from benchmarks.steps.explorer import Explorer
from benchmarks.steps.miniwob import TASKS, MiniWob
from ufo_experience.errors import UsageError

pytestmark = pytest.mark.browser
pytest.importorskip("selenium")


@pytest.fixture
def page(browser, tmp_path):
    """Opens a page of that HTML and reads it."""

    def opened(body: str) -> tuple[ControlView, ...]:
        file = tmp_path / "page.html"
        file.write_text(f"<!DOCTYPE html><title>t</title><body>{body}</body>", encoding="utf-8")
        browser.open(file.as_uri())
        return browser.read().controls

    return opened


def find(observation: Observation | tuple[ControlView, ...], name: str) -> ControlView:
    """The control of that name."""
    controls = observation.controls if isinstance(observation, Observation) else observation
    return next(one for one in controls if one.name == name)


@pytest.mark.parametrize(
    ("html", "name", "kind"),
    [
        ("<button>Go <b>on</b></button>", "Go on", "Button"),
        ('<button aria-label="Close">x</button>', "Close", "Button"),
        ('<label for="a">Port</label><input id="a">', "Port", "Edit"),
        ("<label>Host <input></label>", "Host", "Edit"),
        ("<p><label>User</label><input></p>", "User", "Edit"),
        ('<input placeholder="Search">', "Search", "Edit"),
        ('<label><input type="checkbox"> Mute</label>', "Mute", "CheckBox"),
        ('<label>Size<select aria-label="Size"><option>S</select></label>', "Size", "ComboBox"),
        ('<div role="tab" onclick="1">View</div>', "View", "TabItem"),
        ('<div role="option" onclick="1">a.txt</div>', "a.txt", "ListItem"),
        ('<span id="w">Wipe</span><script>w.addEventListener("click", () => 1)</script>', "Wipe", "Text"),
        ('<span style="cursor: pointer" class="openSearch">&nbsp;</span>', "open Search", "Text"),
    ],
)
def test_a_control_is_read_with_its_accessible_name_and_type(page, html, name, kind):
    """Labels, ARIA, text, placeholders and, at last, identifiers name a control; anything that reacts is one."""
    assert [(one.name, one.type) for one in page(html)] == [(name, kind)]


def test_what_cannot_be_seen_is_not_listed(page):
    """Hidden controls, and those behind a modal dialog, do not exist for the agent."""
    shown = page(
        '<button hidden>A</button><button style="visibility:hidden">B</button><button>C</button>'
        '<div role="dialog" aria-modal="true"><button disabled>D</button></div>'
    )
    assert [(one.name, one.enabled, one.dialog) for one in shown] == [("D", False, True)]


def test_text_replaces_what_a_field_held_and_pages_hear_of_it(browser, page):
    """Typing selects the old value first and raises input events."""
    field = find(page('<input aria-label="Name" value="old" oninput="document.title = this.value">'), "Name")
    assert browser.act(Command("set_edit_text", field, {"text": "new ü"})) is None
    assert browser.read().title == "new ü"
    assert browser.act(Command("set_edit_text", browser.read().controls[0], {"text": ""})) is None
    assert browser.read().controls[0].value == ""


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (Command("fly"), "unknown function fly"),
        (Command("keyboard_input", None, {"keys": "{F99}"}), "unknown keys {F99}"),
        (Command("click_input", ControlView(99, "ghost", "Button")), "the control is gone or covered"),
        (Command("select_item", ControlView(1, "Size", "ComboBox"), {"text": "XL"}), "no option XL"),
        (Command("set_edit_text", ControlView(1, "Size", "Edit", enabled=False), {"text": "a"}), "Size is disabled"),
    ],
)
def test_what_cannot_be_done_is_an_error_in_the_answer(browser, page, command, error):
    """The agent is told; nothing is raised."""
    page('<select aria-label="Size"><option>S</select>')
    assert browser.act(command) == error


def test_reading_waits_for_what_is_about_to_happen(browser, page):
    """A result that appears after a short timer is seen without waiting by hand."""
    button = find(
        page(
            "<button onclick=\"setTimeout(() => document.body.innerHTML = '<button>Late</button>', 300)\">Go</button>"
        ),
        "Go",
    )
    browser.act(Command("click_input", button))
    assert [one.name for one in browser.read().controls] == ["Late"]


def test_variables_of_the_environment_name_the_browser(monkeypatch):
    """Both paths are taken from the environment as they are."""
    monkeypatch.setenv(BINARY_VARIABLE, "/opt/chrome")
    monkeypatch.setenv(DRIVER_VARIABLE, "/opt/driver")
    assert find_chromium() == ("/opt/chrome", "/opt/driver")


@pytest.mark.parametrize("task", templates())
def test_each_task_of_the_desktop_can_be_done_and_leaves_no_trace_beside(browser, task):
    """The known way reaches the goal with its last step, and changes nothing else."""
    desktop = Desktop(task, browser)
    for seed in (0, 3):
        scores = [(reply.error, desktop.score) for _, _, reply in solve(desktop, seed)]
        assert scores[-1] == (None, 1.0)
        assert all(score == (None, 0.0) for score in scores[:-1])
        assert not desktop.unasked


def test_the_evaluator_sees_what_was_changed_beside_the_goal(browser):
    """A task reached with collateral damage is reached, but not tidy."""
    desktop = Desktop("check-updates", browser, front="Mail")
    seen = desktop.reset(0)
    desktop.step(Command("click_input", find(seen, "Refresh")))
    seen = desktop.step(Command("switch_application", None, {"text": "Settings"})).observation
    desktop.step(Command("click_input", find(seen, "Check for updates")))
    assert desktop.done
    assert desktop.unasked


def test_the_same_seed_sets_up_the_same_screen(browser):
    """Goal, front application and controls repeat after anything else was done."""
    desktop = Desktop("flag", browser)
    first = desktop.reset(5)
    Desktop("sort", browser).reset(1)
    assert desktop.reset(5) == first


def test_about_one_screen_in_five_is_changed_and_always_the_same_ones(browser):
    """Over twenty seeds 5 to 30 % of the labels of a screen are gone."""

    def shot(front: str, changed: int | None) -> list[str]:
        return [one.name for one in Desktop("check-updates", browser, front=front, changed=changed).reset(0).controls]

    plain = shot("Sheet", None)
    changed = [shot("Sheet", seed) for seed in range(20)]
    assert changed == [shot("Sheet", seed) for seed in range(20)]
    gone = [name for names in changed for name in plain if name not in names]
    assert 0.05 <= len(gone) / (len(changed) * len(plain)) <= 0.3


def test_unknown_tasks_and_applications_are_refused(browser):
    """A wrong name is a usage error, not a blank page."""
    for wrong in (lambda: Desktop("fly", browser), lambda: Desktop("sort", browser, front="Games")):
        with pytest.raises(UsageError):
            wrong()


def test_an_unknown_application_is_an_error_in_the_answer(browser):
    """The application in front stays there."""
    desktop = Desktop("sort", browser, front="Mail")
    desktop.reset(0)
    reply = desktop.step(Command("switch_application", None, {"text": "Games"}))
    assert (reply.error, reply.observation.application) == ("no application Games", "Mail")


@pytest.mark.parametrize("task", ["night-light", "move-message", "export"])
def test_remembered_steps_of_another_variant_save_most_of_the_exploring(browser, task):
    """With another variant's steps the explorer needs at most half the steps, and succeeds."""
    desktop = Desktop(task, browser)
    steps = [
        HintStep(
            one.function,
            one.control.name if one.control else "",
            one.control.type if one.control else "",
            one.parameters,
        )
        for _, one, _ in solve(desktop, 2)
    ]
    hints = Hints(
        (HintStep("switch_application", parameters={"text": desktop.template.application}), *steps),
        desktop.reset(2).goal,
    )
    off, on = run_episode(desktop, Explorer(), 0), run_episode(desktop, Explorer(), 0, hints)
    assert on.success
    assert 2 * on.steps <= off.steps


def test_a_step_on_the_desktop_is_fast(browser):
    """The median step stays far below a tenth of a second, so that the benchmark stays short."""
    desktop, times = Desktop("send", browser, front="Mail"), []
    for seed in range(4):
        start = perf_counter()
        for _ in solve(desktop, seed):
            times.append(perf_counter() - start)
            start = perf_counter()
    assert median(times) < 0.15


@pytest.mark.parametrize("task", ["click-test-2", "login-user", "use-autocomplete", "email-inbox-reply", "click-tab-2"])
def test_the_explorer_solves_miniwob_tasks(browser, task):
    """Pages of another making, animated widgets among them, are read and acted on."""
    pytest.importorskip("miniwob")
    episode = run_episode(MiniWob(task, browser), Explorer(), seed=0, max_steps=20)
    assert episode.success, [(one.command, one.reply.error) for one in episode.taken]


def test_a_wrong_click_ends_a_miniwob_episode_without_a_score(browser):
    """The page's verdict counts, and nothing is carried out afterwards."""
    pytest.importorskip("miniwob")
    task = MiniWob("click-test-2", browser)
    wrong = find(task.reset(1), "TWO")
    task.step(Command("click_input", wrong))
    assert (task.done, task.score) == (True, 0.0)
    assert task.step(Command("click_input", wrong)).error == "the task has ended"


def test_every_miniwob_task_opens_with_a_goal_and_controls(browser):
    """No task of the list is missing from the package, and its seed gives the same goal again."""
    pytest.importorskip("miniwob")
    for name in TASKS:
        task = MiniWob(name, browser)
        first = task.reset(7)
        assert first.goal
        assert first.controls
        assert task.reset(7).goal == first.goal
