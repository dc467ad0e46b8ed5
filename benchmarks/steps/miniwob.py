"""MiniWoB++ tasks as environments: the HTML of the PyPI package `miniwob`, opened from disk in our own browser.

The pages end an episode by themselves. Their time limit is lifted, since we count steps, and only a full reward counts
as success.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.steps.browser import Browser, Page
from benchmarks.steps.environment import Command, Observation, Reply
from ufo_experience.errors import UsageError, missing_extra

APPLICATION = "MiniWoB"

# Tasks a rule-based agent can solve in principle from the goal's words and the controls' names.
SINGLE_STEP = ("click-test-2", "click-button", "click-dialog", "click-dialog-2")
MULTI_STEP = (
    "choose-list",
    "click-checkboxes",
    "click-collapsible-2",
    "click-option",
    "click-tab-2",
    "email-inbox",
    "email-inbox-delete",
    "email-inbox-forward",
    "email-inbox-important",
    "email-inbox-reply",
    "enter-date",
    "enter-password",
    "enter-text",
    "login-user",
    "navigate-tree",
    "social-media",
    "use-autocomplete",
)
TASKS = (*SINGLE_STEP, *MULTI_STEP)
# They ask for counting, comparing or reading what is no control: for agents with a language model.
HARD = ("book-flight", "book-flight-nodelay", "phone-book", "search-engine")

_NOT_THE_APPLICATION = "#reward-display,#query,#sync-task-cover,#click-canvas"
_PROBE = "[core.getUtterance(), WOB_DONE_GLOBAL, WOB_RAW_REWARD_GLOBAL]"
_START = "core.EPISODE_MAX_TIME = 36e5; Math.seedrandom(String(arguments[0])); core.startEpisodeReal();"


class MiniWob:
    """One MiniWoB++ task.

    Args:
        task: one of `TASKS`, or any other task of the package.
        browser: shared with other environments; not closed by this one.

    Raises:
        ServiceError: the package `miniwob` is not installed.
        UsageError: it has no such task.
    """

    def __init__(self, task: str, browser: Browser) -> None:
        page = task_folder() / f"{task}.html"
        if not page.is_file():
            raise UsageError(f"MiniWoB++ has no task {task!r}")
        self.name = f"miniwob/{task}"
        self._url = page.as_uri()
        self._browser = browser
        self._ended, self._reward = False, 0.0

    def reset(self, seed: int) -> Observation:
        """Load the task's page afresh and start the episode of that seed."""
        self._browser.open(self._url)
        self._browser.run(_START, seed)
        return self._observe()

    def step(self, command: Command) -> Reply:
        """Carry out one command; after the end of the episode nothing is carried out any more."""
        error = "the task has ended" if self._ended else self._browser.act(command)
        return Reply(self._observe(), "failure" if error else "success", error)

    @property
    def done(self) -> bool:
        """True when the page has ended the episode."""
        return self._ended

    @property
    def over(self) -> bool:
        """True when the page has ended the episode: nothing can be done any more, and the page shows it."""
        return self._ended

    @property
    def unasked(self) -> frozenset[str]:
        """Unknown: the pages judge by themselves."""
        return frozenset()

    @property
    def score(self) -> float:
        """1.0 for the page's full reward, else 0.0."""
        return 1.0 if self._ended and self._reward >= 1.0 else 0.0

    def close(self) -> None:
        """Nothing to give up."""

    def _observe(self) -> Observation:
        page: Page = self._browser.read(_PROBE, _NOT_THE_APPLICATION)
        goal, self._ended, self._reward = page.extra
        return Observation(_goal_text(goal), APPLICATION, page.title, page.controls, status=page.status)


def task_folder() -> Path:
    """The folder of task pages inside the installed package, found without importing it.

    Raises:
        ServiceError: the package is not installed.
    """
    spec = find_spec("miniwob")
    if spec is None or spec.origin is None:
        raise missing_extra("miniwob", "bench")
    return Path(spec.origin).parent / "html" / "miniwob"


def _goal_text(goal: Any) -> str:
    return str(goal["utterance"]) if isinstance(goal, dict) else str(goal)
