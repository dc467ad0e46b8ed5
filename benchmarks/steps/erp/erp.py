"""The enterprise application as an environment: codes, fields named on refusal, house rules, final documents.

A goal names nothing of the way. All of it can be found out: the directory lists the transactions in the words of the
trade, a refusal names a field, circulars tell the rules. What is filed cannot be taken back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from benchmarks.steps.desktop import Desktop
from benchmarks.steps.desktop.templates import Template, World, read_templates

State = dict[str, Any]

POOLS: dict[str, tuple[str, ...]] = {
    "item": ("Slim keyboard", "Pipette set", "Desk lamp", "Label roll", "Torque wrench"),
    "count": ("3", "12", "40", "7", "25"),
    "dept": ("Laboratory", "Workshop", "Reception", "Canteen", "Archive"),
    "vendor": ("Novak Ltd", "Brandt KG", "Otis Supplies", "Lumen AG", "Pike and Sons"),
    "customer": ("Kerr Foods", "Miro Design", "Hale Clinic", "Tandem Bikes", "Ostrava Mills"),
    "small": ("480", "75", "912", "260", "333"),
    "large": ("1450", "8200", "2999", "5600", "12750"),
    "person": ("Jane Miller", "Omar Haddad", "Lena Vogel", "Tom Becker", "Priya Nair"),
    "street": ("12 Mill Lane", "Ringstr. 4", "Dock Road 77", "8 Elm Court", "Postfach 901"),
    "bank": ("GB29 NWBK 6016", "DE89 3704 0044", "AT61 1904 3002", "CH93 0076 2011", "NL91 ABNA 0417"),
    "machine": ("Press 4", "Crane 2", "Oven 9", "Lathe 1", "Mixer 6"),
    "user": ("BRUNO", "CARLA", "DMITRI", "ELIF", "FARID"),
    "printer": ("LP17", "LP03", "LP42", "LP08", "LP29"),
    "report": ("Stock ageing", "Open items", "Cash forecast", "Headcount", "Scrap rate"),
    "days": ("2", "5", "10", "1", "3"),
}
COST_CENTRES: Mapping[str, str] = {
    "Laboratory": "CC-7300",
    "Workshop": "CC-7410",
    "Reception": "CC-7120",
    "Canteen": "CC-7550",
    "Archive": "CC-7080",
}
PERSONNEL_NUMBERS: Mapping[str, str] = {
    "Jane Miller": "1042",
    "Omar Haddad": "1187",
    "Lena Vogel": "2035",
    "Tom Becker": "2290",
    "Priya Nair": "3018",
}


# How somebody who knows the transactions by heart finds what belongs to a person or a department.
LOOK_UPS: Mapping[str, tuple[str, ...]] = {
    "{number}": ("Command=PA20", "Enter", "Matchcode={person}", "Find"),
    "{cc}": ("Directory", "Circulars", "Circular 14"),
}


def start_state(seed: str) -> State:
    """The state every task begins with; nothing in it depends on the seed."""
    return {"orbit": {"documents": {}, "period": "closed", "people": dict(PERSONNEL_NUMBERS)}}


def derived(values: Mapping[str, str], state: State) -> dict[str, str]:
    """What follows from the values of a task by the rules of the house: `cc` of `dept`, `number` of `person`."""
    found = {}
    if "dept" in values:
        found["cc"] = COST_CENTRES[values["dept"]]
    if "person" in values:
        found["number"] = PERSONNEL_NUMBERS[values["person"]]
    return found


class Erp(Desktop):
    """One task family of the enterprise application."""

    kind: ClassVar[str] = "erp"
    applications: ClassVar[tuple[str, ...]] = ("Orbit",)
    page: ClassVar[Path] = Path(__file__).parent / "pages" / "index.html"

    @classmethod
    def families(cls) -> Mapping[str, Template]:
        """The task families by name."""
        return _families()


@cache
def _families() -> Mapping[str, Template]:
    read = read_templates(Path(__file__).with_name("tasks.yaml"), World(POOLS, start_state, derived))
    return {name: replace(one, way=_with_look_ups(one.way)) for name, one in read.items()}


def _with_look_ups(way: tuple[str, ...]) -> tuple[str, ...]:
    """A way on which what nobody knows by heart is looked up first."""
    found = (one for mark, path in LOOK_UPS.items() if any(mark in word for word in way) for one in path)
    return (way[0], *found, *way[1:])
