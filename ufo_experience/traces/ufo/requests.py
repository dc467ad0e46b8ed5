"""UFO's `request.log`: the only place where v3 keeps the controls in view and the plan. Read as a stream, no images.

v1.2.1 prints some entries over many lines; both forms are read. A v0.0.1 log has neither list, and gives nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ufo_experience.schema import Problem
from ufo_experience.traces.coerce import as_dict, as_int, as_lines, as_list, as_name
from ufo_experience.traces.json_lines import JsonLines
from ufo_experience.traces.surroundings import ListedControl
from ufo_experience.traces.visibility import VisibleControls

MAX_ENTRY = 8 << 20
# Images are dropped while reading; what is left of a request.log of this size still fits no session we keep.
MAX_REQUEST_LOG = 1 << 33
MAX_CONTROLS = 300
MAX_IN_VIEW = 12


@dataclass
class StepView:
    """What the agent saw and planned before a step: controls by label (name and type), and the plan so far.

    `listed` are the controls in the order of the log.
    """

    controls: dict[str, tuple[str, str]] = field(default_factory=dict)
    plan: tuple[str, ...] = ()
    listed: tuple[ListedControl, ...] = ()

    def type_of(self, label: str, name: str) -> str:
        """The type of a control the log line names only by its label; empty when the names differ."""
        known, kind = self.controls.get(label, ("", ""))
        return kind if known == name else ""

    def seen(self) -> VisibleControls:
        """Name and type of each control in view."""
        return frozenset(self.controls.values())

    def in_words(self) -> str:
        """The first controls in view as one line, for logs that keep no observation."""
        shown = [f"{name} ({kind})" if kind else name for name, kind in self.controls.values() if name]
        more = f" and {len(shown) - MAX_IN_VIEW} more" if len(shown) > MAX_IN_VIEW else ""
        return f"Controls in view: {', '.join(shown[:MAX_IN_VIEW])}{more}" if shown else ""


Views = dict[int, StepView]


def read_views(path: Path, problems: list[Problem]) -> list[Views]:
    """Read a `request.log` into one mapping of step → view per session."""
    lines = JsonLines(path, max_line=MAX_ENTRY, max_file=MAX_REQUEST_LOG, several_lines=True, images=False)
    sessions: list[Views] = []
    last = -1
    for step, view in _views(lines):
        if not sessions or step < last:
            sessions.append({})
        last = step
        sessions[-1][step] = view
    problems += lines.problems
    return sessions


def _views(lines: JsonLines) -> Iterator[tuple[int, StepView]]:
    for _, record in lines:
        step = as_int(record.get("step"))
        if step is not None:
            listed = _controls(record)
            controls = {one.label: (one.name, one.kind) for one in listed}
            yield step, StepView(controls, as_lines(record.get("plan")), listed)


def _controls(record: dict[str, Any]) -> tuple[ListedControl, ...]:
    """`control_info` since v1.2.1, `control_items` before; in a host entry these are windows."""
    merged = as_dict(record.get("control_info_recording")).get("merged_controls_info")
    listed = record.get("control_info") or record.get("control_items") or merged or record.get("os_info")
    items = [as_dict(item) for item in as_list(listed)[:MAX_CONTROLS]]
    return tuple(map(_shown, items))


def _shown(item: dict[str, Any]) -> ListedControl:
    dialog, checked = item.get("dialog"), item.get("checked")
    return ListedControl(
        label=as_name(item.get("id", item.get("label"))),
        name=as_name(item.get("name", item.get("control_text")))[:200],
        kind=as_name(item.get("type", item.get("control_type")))[:60],
        within=as_name(item.get("within")) or None,
        dialog=dialog if isinstance(dialog, bool) else None,
        checked=checked if isinstance(checked, bool) else None,
    )
