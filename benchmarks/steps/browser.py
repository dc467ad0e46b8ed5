"""One headless Chromium: reads the visible controls of a page and acts on them with real input events.

A step costs three or four short messages to the browser: locate the control, press and release, settle and read.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from benchmarks.steps import child_processes
from benchmarks.steps.environment import Command, ControlView
from ufo_experience.errors import ServiceError, missing_extra

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

T = TypeVar("T")

BINARY_VARIABLE = "MINIWOB_CHROME_BINARY"
DRIVER_VARIABLE = "MINIWOB_CHROMEDRIVER"
_BINARIES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
)
_TYPED_BY_VALUE = ("date", "time", "month", "week", "datetime-local", "color", "range")
_KEYS: Mapping[str, tuple[str, int]] = {
    "{ENTER}": ("Enter", 13),
    "{TAB}": ("Tab", 9),
    "{ESC}": ("Escape", 27),
    "{DOWN}": ("ArrowDown", 40),
    "{UP}": ("ArrowUp", 38),
}


@dataclass(frozen=True)
class Page:
    """What one reading of a page gave; `extra` is the value of the probe expression."""

    title: str
    controls: tuple[ControlView, ...]
    status: tuple[str, ...]
    extra: Any


class Browser:
    """A headless Chromium with a fresh profile, closed by `close` or at the end of a `with` block.

    Args:
        size: width and height of the window in pixels.

    Raises:
        ServiceError: selenium is not installed.
        ServiceError: no Chromium was found, or it did not start.
    """

    def __init__(self, size: tuple[int, int] = (1100, 760)) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="ufo-experience-", ignore_cleanup_errors=True)
        self.driver = _start(self._profile.name, size)
        script = Path(__file__).with_name("page.js").read_text(encoding="utf-8")
        self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": script})
        self._kept: dict[str, Any] = {}
        self._actions: dict[str, Callable[[Command], str | None]] = {
            "click_input": self._click,
            "set_edit_text": self._set_text,
            "select_item": self._select,
            "keyboard_input": self._press,
            "wait": lambda _: None,
        }

    def open(self, url: str) -> None:
        """Load a page and wait for its `load` event."""
        self.driver.get(url)

    @property
    def url(self) -> str:
        """The address of the page that is open."""
        return str(self.driver.current_url)

    def run(self, script: str, *arguments: object) -> Any:
        """Run JavaScript in the page and return its value."""
        return self.driver.execute_script(script, *arguments)

    def read(self, probe: str = "null", skip: str = "") -> Page:
        """Wait until the page is at rest, then list its visible controls in one call.

        Args:
            probe: JavaScript expression whose value is wanted as well.
            skip: CSS selector of what does not belong to the application (task bars, score boards).
        """
        found = self.run("return uiPage.read(arguments[0], arguments[1])", skip, probe)
        controls = tuple(ControlView(**{**one, "options": tuple(one["options"])}) for one in found["controls"])
        return Page(found["title"], controls, tuple(found["status"]), found["extra"])

    def act(self, command: Command) -> str | None:
        """Carry out a command on the page that was last read. Returns what went wrong, or None."""
        action = self._actions.get(command.function)
        if action is None:
            return f"unknown function {command.function}"
        if command.control is not None and not command.control.enabled and command.function != "click_input":
            return f"{command.control.name} is disabled"
        return action(command)

    def devtools(self, command: str, **parameters: Any) -> Any:
        """One command of the DevTools protocol, and its answer."""
        return self.driver.execute_cdp_cmd(command, parameters)

    def click_at(self, x: float, y: float) -> None:
        """A click at a place of the window, in pixels."""
        for kind, clicks in (("mouseMoved", 0), ("mousePressed", 1), ("mouseReleased", 1)):
            self._mouse(kind, {"x": x, "y": y}, clicks)

    @contextmanager
    def script(self, source: str) -> Iterator[None]:
        """Run a script before those of each page that is opened meanwhile."""
        name = self.devtools("Page.addScriptToEvaluateOnNewDocument", source=source)["identifier"]
        try:
            yield
        finally:
            self.devtools("Page.removeScriptToEvaluateOnNewDocument", identifier=name)

    def keep(self, name: str, make: Callable[[], T]) -> T:
        """What is kept with this browser under a name, made when it is asked for first, closed with the browser."""
        if name not in self._kept:
            self._kept[name] = make()
        kept: T = self._kept[name]
        return kept

    def screenshot(self) -> bytes:
        """The window as PNG."""
        return bytes(self.driver.get_screenshot_as_png())

    def close(self) -> None:
        """End the browser and what is kept with it, and delete its profile."""
        process = self.driver.service.process
        try:
            for kept in self._kept.values():
                kept.close()
            self.driver.quit()
        finally:
            child_processes.kill_session(process.pid)
            process.wait()
            child_processes.forget(process.pid)
            self._profile.cleanup()

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _click(self, command: Command) -> str | None:
        point = self.run("return uiPage.locate(arguments[0])", _id(command))
        if point is None:
            return "the control is gone or covered"
        if command.control is not None and command.control.input != "checkbox":
            self._mouse("mouseMoved", point, 0)
        self._mouse("mousePressed", point, 1)
        self._mouse("mouseReleased", point, 1)
        return None

    def _mouse(self, kind: str, point: Mapping[str, float], clicks: int) -> None:
        button = "left" if clicks else "none"
        event = {"type": kind, "x": point["x"], "y": point["y"], "button": button, "clickCount": clicks}
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)

    def _set_text(self, command: Command) -> str | None:
        text = command.parameters.get("text", "")
        if command.control is not None and command.control.input in _TYPED_BY_VALUE:
            return (
                None if self.run("return uiPage.assign(arguments[0], arguments[1])", _id(command), text) else "refused"
            )
        if not self.run("return uiPage.focus(arguments[0])", _id(command)):
            return "the field cannot be focused"
        if text:
            self.driver.execute_cdp_cmd("Input.insertText", {"text": text})
        else:
            self._key("Delete", 46)
        return None

    def _select(self, command: Command) -> str | None:
        wanted = command.parameters.get("text", "")
        done = self.run("return uiPage.assign(arguments[0], arguments[1])", _id(command), wanted)
        return None if done else f"no option {wanted}"

    def _press(self, command: Command) -> str | None:
        keys = command.parameters.get("keys", "")
        if keys not in _KEYS:
            return f"unknown keys {keys}"
        self._key(*_KEYS[keys])
        return None

    def _key(self, key: str, code: int) -> None:
        for kind in ("rawKeyDown", "keyUp"):
            event = {"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}
            self.driver.execute_cdp_cmd("Input.dispatchKeyEvent", event)


def find_chromium() -> tuple[str, str]:
    """Paths of Chromium and of its driver: from the environment if set, else from PATH.

    Raises:
        ServiceError: one of the two was not found.
    """
    binary = os.environ.get(BINARY_VARIABLE) or next((path for one in _BINARIES if (path := shutil.which(one))), None)
    driver = os.environ.get(DRIVER_VARIABLE) or shutil.which("chromedriver")
    if not binary or not driver:
        missing, variable = ("Chromium", BINARY_VARIABLE) if not binary else ("chromedriver", DRIVER_VARIABLE)
        raise ServiceError(f"{missing} was not found; install it or set {variable}", code="E_NO_BROWSER")
    return binary, driver


def _start(profile: str, size: tuple[int, int]) -> Chrome:
    try:
        from selenium import webdriver
        from selenium.common.exceptions import WebDriverException
        from selenium.webdriver.chrome.service import Service
    except ImportError as error:
        raise missing_extra("selenium", "bench") from error
    binary, driver = find_chromium()
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*_FLAGS, f"--user-data-dir={profile}", f"--window-size={size[0]},{size[1]}"):
        options.add_argument(flag)
    service = _watched(Service)(executable_path=driver, popen_kw=child_processes.OWN_SESSION)
    child_processes.get_ready()
    try:
        return webdriver.Chrome(options=options, service=service)
    except (WebDriverException, OSError) as error:
        if service.process is not None:
            child_processes.kill_session(service.process.pid)
            child_processes.forget(service.process.pid)
        raise ServiceError(f"Chromium did not start: {error}", code="E_NO_BROWSER") from error


def _watched(service: type[T]) -> type[T]:
    """A driver's service that is watched from before it starts a browser."""

    class Watched(service):  # type: ignore[valid-type, misc]
        def start(self) -> None:
            super().start()
            child_processes.watch(self.process.pid)

    return Watched


def _id(command: Command) -> int:
    return command.control.id if command.control is not None else 0
