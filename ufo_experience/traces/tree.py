"""Which control stands at a place of the screen, or under a mark: from the tree a log keeps beside a step.

Trees come as XML (OSWorld), as lines of a table (`tag<TAB>name<TAB>text<TAB>position<TAB>size`), as a list of elements
with a box, or as text with marks (`[12] button 'Save'`, `- button "Save" [ref=e12]`). The smallest named element that
holds a place is the control.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from ufo_experience.traces.calls import Call, named_control
from ufo_experience.traces.naming import Named, cells_in, name_of_next
from ufo_experience.traces.values import NAMES, Row, as_dict, as_list, is_number

_TAG = re.compile(r"<(?P<tag>[\w:.-]+)(?P<attributes>(?:\s+[\w:.-]+=(?:\"[^\"]*\"|'[^']*'))+)")
_ATTRIBUTE = re.compile(r"(?<![\w:.-])(?P<key>[\w:.-]+)=(?:\"(?P<one>[^\"]*)\"|'(?P<two>[^']*)')")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_MARK = re.compile(
    r"\[(?P<id>[\w-]+)\] (?P<role>[A-Za-z][\w ]{0,60}?) (?P<quote>['\"])(?P<name>.{1,500}?)(?P=quote)(?=,|\s*$)", re.M
)
_REF = re.compile(
    r"^[^\S\n]*- '?(?P<role>[a-z]+)(?: \"(?P<name>(?:[^\"\\]|\\.)*)\")?[^\n]*?\[ref=(?P<ref>\w+)\]", re.MULTILINE
)
_CORNERS = (("left", "top", "right", "bottom"), ("x_min", "y_min", "x_max", "y_max"))
_SIZED = ("x", "y", "width", "height")
_COLUMNS = {"tag": "role", "name": "name", "text": "text", "position": "position", "size": "size"}
_MOVES = re.compile("(?i)scroll|move")
MAX_TREE = 2_000_000  # characters
MAX_ELEMENTS = 5_000

Box = tuple[float, float, float, float]  # left, top, right, bottom
Element = tuple[Box, str, str]
NameAt = Callable[[float, float], Named | None]
Marks = dict[str, tuple[str, str]]  # name and role of elements by their marks


def named_at(row: Row) -> NameAt | None:
    """What names the control at a place, from the tree in `row` or in its observation; None when there is none."""
    holders = (row, *(as_dict(row.get(key)) for key in ("observation", "obs", "state")))
    trees = ([*elements_in(holder.get(key))] for holder in holders for key in NAMES["tree"])
    elements = next(filter(None, trees), None)
    if elements is None:
        return None

    def smallest(x: float, y: float) -> Named | None:
        inside = [one for one in elements if one[0][0] <= x <= one[0][2] and one[0][1] <= y <= one[0][3]]
        inside.sort(key=lambda one: (one[0][2] - one[0][0]) * (one[0][3] - one[0][1]))
        return next((Named(name, role, "tree") for _, name, role in inside), None)

    return smallest


def marks_in(row: Row) -> Marks:
    """The elements of a screen by the marks it gives them: in a text, or by their number in a list."""
    for holder in (row, row.row("state")):
        texts = (text[:MAX_TREE] for key in NAMES["marked"] if isinstance(text := holder.get(key), str))
        if found := next(filter(None, map(marks_of_text, texts)), None):
            return found
        if listed := holder.rows(*NAMES["elements"])[:MAX_ELEMENTS]:
            return {str(place): named_control(one, NAMES["element_name"]) for place, one in enumerate(listed)}
    return {}


def marks_of_text(text: str) -> Marks:
    """The elements a text marks: `[12] button 'Save'`, or `- button "Save" [ref=e12]`."""
    if "[ref=" in text:
        refs = ((found["ref"], found["name"] or "", found["role"]) for found in _REF.finditer(text))
        return {ref: (name.replace('\\"', '"'), role) for ref, name, role in refs if name}
    return {found["id"]: (found["name"], found["role"]) for found in _MARK.finditer(text)}


def elements_in(tree: Any) -> Iterator[Element]:
    """The named elements of a tree that have a box, at most MAX_ELEMENTS."""
    if isinstance(tree, str):
        nodes = (_nodes_of_xml if "<" in tree[:200] else _nodes_of_table)(tree[:MAX_TREE])
    else:
        nodes = _nodes_of_objects(as_list(tree))
    found = ((_box(node), *named_control(node, NAMES["element_name"])) for node in nodes)
    return islice(((box, name, role) for box, name, role in found if box and name), MAX_ELEMENTS)


def names_of_calls(calls: Sequence[Call], words: str, at: NameAt | None) -> list[Named | None]:
    """The name of each call's control: from the tree where it has one, else from the call's comment, else from words.

    Words name what is clicked, where that is one place, not where the pointer moves or scrolls; of a drag only cells.
    """
    drags = any("drag" in call.name.casefold() for call in calls)
    places = [place_of(call) for call in calls]
    aims: list[Any] = list(range(len(calls)))  # marks of elements and such
    if any(places):
        aims = [place if drags or not _MOVES.search(calls[at].name) else None for at, place in enumerate(places)]
    aimed = list(dict.fromkeys(aim for aim in aims if aim is not None))
    spoken = _of_drag(words, len(aimed)) if drags else [name_of_next(words, "thought")] if len(aimed) == 1 else []
    by_aim = dict(zip(aimed, spoken, strict=False))
    return [
        (at(*place) if at and place else None) or name_of_next(call.comment, "code") or by_aim.get(aim)
        for call, place, aim in zip(calls, places, aims, strict=True)
    ]


def _of_drag(words: str, count: int) -> list[Named | None]:
    """The cells of a drag: the last range a thought names, or the last cells."""
    cells = cells_in(words)
    if cells and ":" in cells[-1].name:
        return [cells[-1]] * count
    return [*cells[-count:]] if len(cells) >= count else [None] * count


def place_of(call: Call) -> tuple[float, float] | None:
    given = Row(call.arguments)
    pair: Any = [given.get("x"), given.get("y")] if given.get("x") is not None else given.first(*NAMES["place"])
    pair = [pair.get("x"), pair.get("y")] if isinstance(pair, dict) else pair
    if isinstance(pair, list) and len(pair) == 2 and all(map(is_number, pair)):
        return float(pair[0]), float(pair[1])
    return None


def _nodes_of_xml(text: str) -> Iterator[Row]:
    """Elements of an XML tree, read tag by tag: a torn or very large tree is no danger."""
    for match in _TAG.finditer(text):
        attributes = _ATTRIBUTE.finditer(match["attributes"])
        found = {one["key"].rpartition(":")[2]: one["one"] or one["two"] or "" for one in attributes}
        yield Row(found | {"role": match["tag"]})


def _nodes_of_table(text: str) -> Iterator[Row]:
    lines = [line.split("\t") for line in text.splitlines() if "\t" in line]
    head = [cell.strip().casefold().partition(" ")[0] for cell in lines[0]] if lines else []
    for cells in lines[1:]:
        cell = zip(head, cells, strict=False)
        yield Row({_COLUMNS[key]: text.strip().strip('"') for key, text in cell if key in _COLUMNS})


def _nodes_of_objects(nodes: list[Any]) -> Iterator[Row]:
    waiting = list(reversed(nodes))
    while waiting:
        if node := as_dict(waiting.pop()):
            yield node
            for key in ("children", "nodes", "windows", "tree"):
                waiting += reversed(node.rows(key))


def _numbers(value: Any) -> list[float]:
    """The numbers of a text such as `[0,0][9,9]`, or of a list."""
    if isinstance(value, str):
        return [float(one) for one in _NUMBER.findall(value[:200])]
    return value if isinstance(value, list) and all(map(is_number, value)) else []


def _box(node: Row) -> Box | None:
    """Where an element stands: its corner and size, or its corners, as texts, lists, or objects with either."""
    given = as_dict(node.first(*NAMES["box"])) or node
    if all(is_number(given.get(key)) for key in _SIZED):
        given = Row(position=[given["x"], given["y"]], size=[given["width"], given["height"]])
    corner, size = _numbers(given.first("screencoord", "position")), _numbers(given.get("size"))
    if len(corner) == len(size) == 2:
        return corner[0], corner[1], corner[0] + size[0], corner[1] + size[1]
    corners = next(([given[key] for key in keys] for keys in _CORNERS if given.keys() >= {*keys}), None)
    found = _numbers(corners or node.first(*NAMES["box"]))
    return (found[0], found[1], found[2], found[3]) if len(found) == 4 else None
