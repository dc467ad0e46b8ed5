"""How long a guide takes for one step: median and 95th percentile of `Guide.next`, by the number of controls in view.

    python benchmarks/guide_step.py

The first step of a way is asked for again and again; the record tells what stood around its control.
"""

from __future__ import annotations

import statistics
import sys
import time
from datetime import datetime, timezone

from ufo_experience.procedure.acts import Act
from ufo_experience.procedure.binding import bind
from ufo_experience.procedure.guide import Guide
from ufo_experience.procedure.procedure import procedure_of
from ufo_experience.schema import Experience, validate
from ufo_experience.traces.in_view import ListedControl, around

KINDS = ("Button", "Edit", "ListItem", "TabItem")
ROUNDS = 2_000
TASK = 'Open the page and put "a new text" in'


def screen(size: int) -> list[dict[str, object]]:
    """So many controls, with all that can be told of them."""
    told = {"value": "", "enabled": True, "selected": False, "dialog": False, "within": "Main"}
    return [
        {"id": number, "name": f"Control {number}", "type": KINDS[number % len(KINDS)], **told}
        for number in range(size)
    ]


def guide(controls: list[dict[str, object]]) -> Guide:
    """A guide whose next step is in the middle of the screen."""
    view = [ListedControl(str(one["id"]), str(one["name"]), str(one["type"]), "Main", dialog=False) for one in controls]
    own = view[len(view) // 2 // 4 * 4]
    place = around(view, own.label, own.name)
    step = {
        "step_number": 1,
        "action_type": "click_input",
        "target_control": {"name": own.name, "type": own.kind, "within": "Main"},
        "around": place[1] if place else None,
    }
    record = {
        "id": "0" * 32,
        "state": {"task": TASK, "request": TASK},
        "action": {"steps": [step]},
        "outcome": {"success": True},
        "created_at": datetime.now(timezone.utc),
        "trust": "verified",
    }
    return Guide(bind(procedure_of(validate(Experience, record)), TASK))


def main() -> None:
    """Measure and print."""
    for size in (30, 100, 300):
        controls = screen(size)
        one = guide(controls)
        times = []
        for _ in range(ROUNDS):
            started = time.process_time()
            answer = one.next(controls)
            times.append(1_000 * (time.process_time() - started))
            assert isinstance(answer, Act)
        cuts = statistics.quantiles(times, n=20)
        sys.stdout.write(
            f"{size:4d} controls: median {statistics.median(times):.3f} ms, 95 % below {cuts[-1]:.3f} ms\n"
        )


if __name__ == "__main__":
    main()
