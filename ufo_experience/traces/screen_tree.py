"""Which control stands at a place of the screen: from the accessibility tree a log keeps beside a step.

Trees come as XML (OSWorld), as lines of a table (`tag<TAB>name<TAB>text<TAB>position<TAB>size`), or as a list of
elements with a box. The smallest named element that holds the place is the control.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ufo_experience.traces.actions import Call
from ufo_experience.traces.coerce import as_dict, as_list, as_name
from ufo_experience.traces.naming import Named, name_each

_TREES = ("accessibility_tree", "a11y_tree", "linearized_accessibility_tree", "ui_elements", "elements", "marks")
_TAG = re.compile(r"<(?P<tag>[\w:.-]+)(?P<attributes>(?:\s+[\w:.-]+=(?:\"[^\"]*\"|'[^']*'))+)")
_ATTRIBUTE = re.compile(r"(?<![\w:.-])(?P<key>[\w:.-]+)=(?:\"(?P<one>[^\"]*)\"|'(?P<two>[^']*)')")
_PAIR = re.compile(r"\(?\s*(-?\d+(?:\.\d+)?)\s*,\s*(-?\d+(?:\.\d+)?)\s*\)?")
_BOUNDS = re.compile(r"\[(\d+),(\d+)\]\[(\d+),(\d+)\]")
_NAMES: tuple[str, ...] = (
    "name", "text", "content_description", "content-desc", "contentDescription", "label", "hint_text", "tooltip",
    "title", "resource_name", "resource-id", "resource_id", "description",
)  # fmt: skip
_ROLES = ("role", "class_name", "className", "class", "tag", "type", "control_type")
_BOXES = ("bbox_pixels", "bbox", "bounds", "rect", "rectangle", "box", "boundsInScreen", "bounding_box")
MAX_TREE = 2_000_000
MAX_ELEMENTS = 5_000

Box = tuple[float, float, float, float]  # left, top, right, bottom
Element = tuple[Box, str, str]
NameAt = Callable[[float, float], Named | None]


def named_at(row: dict[str, Any]) -> NameAt | None:
    """What names the control at a place, from the tree in `row` or in its observation; None when there is none."""
    for holder in (row, as_dict(row.get("observation")), as_dict(row.get("obs")), as_dict(row.get("state"))):
        for key in _TREES:
            if found := list(elements_in(holder.get(key))):
                return lambda x, y, found=found: _smallest(found, x, y)  # type: ignore[misc]
    return None


def elements_in(tree: Any) -> Iterator[Element]:
    """The named elements of a tree that have a box, at most MAX_ELEMENTS."""
    if isinstance(tree, str):
        text = tree[:MAX_TREE]
        yield from list(_of_xml(text) if "<" in text[:200] else _of_table(text))[:MAX_ELEMENTS]
    elif isinstance(tree, list | dict):
        yield from list(_of_objects(as_list(tree)))[:MAX_ELEMENTS]


def names_of_calls(calls: Sequence[Call], words: str, at: NameAt | None) -> list[Named | None]:
    """The name of each call's control: from the tree where it has one, else from comments and words."""
    commented = name_each(len(calls), [call.comment for call in calls], "")
    places = [_place(call) for call in calls]
    aimed = list(dict.fromkeys(place for place, call in zip(places, calls, strict=True) if place and _aims(call)))
    spoken = dict(zip(aimed, name_each(len(aimed), [], words), strict=True))
    return [
        (at(*place) if at and place else None) or comment or (spoken.get(place) if place else None)
        for place, comment in zip(places, commented, strict=True)
    ]


def _aims(call: Call) -> bool:
    """False for scrolling and for moving the pointer: what a thought names is clicked."""
    name = call.name.casefold()
    return "scroll" not in name and "move" not in name


def _place(call: Call) -> tuple[float, float] | None:
    """The place on the screen a call acts on."""
    given = call.arguments
    pair: Any = [given.get("x"), given.get("y")]
    if pair[0] is None:
        pair = next((given[key] for key in ("coordinate", "coordinates", "position", "point") if given.get(key)), None)
    if isinstance(pair, dict):
        pair = [pair.get("x"), pair.get("y")]
    if isinstance(pair, list) and len(pair) == 2 and all(isinstance(one, int | float) for one in pair):
        return float(pair[0]), float(pair[1])
    return None


def _smallest(elements: Iterable[Element], x: float, y: float) -> Named | None:
    inside = [one for one in elements if one[0][0] <= x <= one[0][2] and one[0][1] <= y <= one[0][3]]
    if not inside:
        return None
    _, name, role = min(inside, key=lambda one: (one[0][2] - one[0][0]) * (one[0][3] - one[0][1]))
    return name, role


def _of_xml(text: str) -> Iterator[Element]:
    """Elements of an XML tree, read tag by tag: a torn or very large tree is no danger."""
    for match in _TAG.finditer(text):
        found = {one["key"].rpartition(":")[2]: one["one"] or one["two"] or "" for one in _attributes(match)}
        corner, size = _PAIR.fullmatch(found.get("screencoord", "")), _PAIR.fullmatch(found.get("size", ""))
        if corner and size:
            left, top = float(corner[1]), float(corner[2])
            box: Box | None = (left, top, left + float(size[1]), top + float(size[2]))
        else:
            bounds = _BOUNDS.fullmatch(found.get("bounds", ""))
            box = _of_numbers([float(one) for one in bounds.groups()]) if bounds else None
        if box and (name := next((found[key] for key in _NAMES if found.get(key)), "")):
            yield box, name, match["tag"]


def _attributes(match: re.Match[str]) -> Iterator[re.Match[str]]:
    return _ATTRIBUTE.finditer(match["attributes"])


def _of_table(text: str) -> Iterator[Element]:
    lines = [line.split("\t") for line in text.splitlines() if "\t" in line]
    if not lines:
        return
    head = [cell.strip().casefold() for cell in lines[0]]
    columns = {
        key: next((place for place, cell in enumerate(head) if cell.startswith(key)), None)
        for key in ("tag", "name", "text", "position", "size")
    }
    for cells in lines[1:]:
        cell = {key: cells[place] for key, place in columns.items() if place is not None and place < len(cells)}
        corner, size = _PAIR.fullmatch(cell.get("position", "")), _PAIR.fullmatch(cell.get("size", ""))
        name = (cell.get("name") or cell.get("text") or "").strip().strip('"')
        if corner and size and name:
            left, top = float(corner[1]), float(corner[2])
            yield (left, top, left + float(size[1]), top + float(size[2])), name, cell.get("tag", "")


def _of_objects(nodes: list[Any]) -> Iterator[Element]:
    waiting = list(reversed(nodes))
    while waiting:
        node = waiting.pop()
        if not isinstance(node, dict):
            continue
        name = next((text for key in _NAMES if (text := as_name(node.get(key)))), "")
        box = _box(next((node[key] for key in _BOXES if node.get(key)), None))
        if name and box:
            yield box, name, role_of(node)
        for key in ("children", "nodes", "windows", "tree"):
            waiting += [child for child in as_list(node.get(key)) if isinstance(child, dict)][::-1]


def role_of(node: dict[str, Any]) -> str:
    """The role of an element; of a class name such as `android.widget.Button` the last part."""
    return next((text for key in _ROLES if (text := as_name(node.get(key)))), "").rpartition(".")[2]


def name_of(node: dict[str, Any]) -> str:
    """The first name an element has."""
    return next((text for key in _NAMES if (text := as_name(node.get(key)))), "")


def _box(value: Any) -> Box | None:
    if isinstance(value, dict):
        keys = [("left", "top", "right", "bottom"), ("x_min", "y_min", "x_max", "y_max")]
        for names in keys:
            if all(isinstance(value.get(key), int | float) for key in names):
                return _of_numbers([value[key] for key in names])
        sized = [float(one) for key in ("x", "y", "width", "height") if isinstance(one := value.get(key), int | float)]
        if len(sized) == 4:
            return _of_numbers([sized[0], sized[1], sized[0] + sized[2], sized[1] + sized[3]])
        return None
    if isinstance(value, str):
        match = _BOUNDS.fullmatch(value.strip())
        return _of_numbers([float(one) for one in match.groups()]) if match else None
    if isinstance(value, list) and len(value) == 4 and all(isinstance(one, int | float) for one in value):
        return _of_numbers(value)
    return None


def _of_numbers(numbers: Sequence[Any]) -> Box:
    left, top, right, bottom = (float(one) for one in numbers)
    return left, top, right, bottom
