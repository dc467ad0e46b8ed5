"""A form of two pages in memory: the application the example agent works in, and a judge who looks at the result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ufo_experience.session import Context, LocalCommandDispatcher, Target, Tool

APPLICATION = "Staff form"
PAGES = {"Contact": ("Name", "Email"), "Work": ("Department", "Start date")}
SAVE = "Save"

# What an agent is told of the tools: their names, and what each takes.
TOOLS = {
    "click_input": "click a TabItem or Button; no arguments",
    "set_edit_text": "replace the text of an Edit; argument: text",
}


class FormApp:
    """The page in view, what was typed, and what was saved (None before that)."""

    def __init__(self) -> None:
        self.page = next(iter(PAGES))
        self.values: dict[str, str] = {}
        self.saved: dict[str, str] | None = None

    def dispatcher(self) -> LocalCommandDispatcher:
        """Executes commands in this form."""
        tools: dict[str, Tool] = {"get_controls": self.controls, "click_input": self.click, "set_edit_text": self.type}
        return LocalCommandDispatcher(tools, namespace="FormExecutor")

    def controls(self) -> list[dict[str, Any]]:
        """What is in view. An id holds for this page only."""
        kinds = [*((page, "TabItem") for page in PAGES), *((name, "Edit") for name in PAGES[self.page])]
        return [
            {"id": str(number), "name": name, "type": kind, "value": self.values.get(name, "")}
            for number, (name, kind) in enumerate([*kinds, (SAVE, "Button")], start=1)
        ]

    def click(self, target: Target) -> str:
        """Turn to a page, or save. Raises LookupError for what cannot be clicked, ValueError for an empty form."""
        if target.name in PAGES:
            self.page = target.name
            return f"the page {target.name} is shown"
        if target.name != SAVE:
            raise LookupError(f"{target.name!r} cannot be clicked")
        if not self.values:
            raise ValueError("the form is empty")
        self.saved = dict(self.values)
        return "the form is saved"

    def type(self, target: Target, text: str) -> str:
        """Replace the text of a field in view. Raises LookupError when it is not there."""
        if target.name not in PAGES[self.page]:
            raise LookupError(f"no field {target.name!r} on the page {self.page}")
        self.values[target.name] = text
        return f"{target.name} is filled in"


class FormJudge:
    """An evaluator that looks into the form: yes if it was saved and every value in it stands in the request."""

    def __init__(self, app: FormApp) -> None:
        self._app = app

    def evaluate(
        self, request: str, log_path: str, eva_all_screenshots: bool, context: Context
    ) -> tuple[dict[str, Any], float]:
        """The judgement, at no cost."""
        saved = self._app.saved or {}
        right = [name for name, value in saved.items() if value and value.casefold() in request.casefold()]
        complete = bool(saved) and len(right) == len(saved)
        return {"complete": "yes" if complete else "no", "reason": f"saved: {', '.join(saved) or 'nothing'}"}, 0.0

    def print_response(self, result: Mapping[str, Any]) -> None:
        """Nobody watches."""
