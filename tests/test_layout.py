"""The house rules, kept true: imports point backwards, rooms stay small, heavy packages stay out until needed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

from tests.syntax import PACKAGE, statements

IMPORTED = re.compile(r"^\s*(?:from|import) +(\w+)", re.MULTILINE)  # the first part of what a statement imports
MAX_CODE_LINES = 400  # without docstrings, comments and blank lines

# Levels of rooms, from what everything builds on to what people call. A module may import its own level and those above
# it in this list; no two rooms import each other.
LEVELS = {
    "model": ["errors", "schema", "ids", "telemetry", "actions"],
    "foundations": ["request", "controls", "costs", "service", "formats"],
    "what may be kept and shown": ["redact", "trust"],
    "a log becomes a record": ["store", "traces", "embed", "summarize", "settings"],
    "records are found": ["index", "retrieve"],
    "records are shown and followed": ["procedure", "prompt", "executor"],
    "what puts the stages together": ["ingest", "memory"],
    "doors": ["session", "integrations", "review", "cli"],
    "names": ["__init__", "__main__"],
}
# Rows are grouped by task, and which words are values of a task retrieval knows.
EXCEPTIONS = {("index", "retrieve")}
LEVEL = {room: number for number, rooms in enumerate(LEVELS.values()) for room in rooms}


def room_of(path: Path) -> str:
    """The first part of a module's path below the package; the shapes of others' records stand at the bottom."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return "formats" if parts[:2] == ("integrations", "formats") else parts[0]


def own_imports(path: Path) -> set[str]:
    """Rooms of our own package that a module imports, wherever in the file."""
    rooms = set()
    for node in statements(path):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "ufo_experience":
                rooms |= {alias.name for alias in node.names if alias.name in LEVEL}
            elif node.module and node.module.startswith("ufo_experience."):
                parts = node.module.split(".")[1:]
                rooms.add("formats" if parts[:2] == ["integrations", "formats"] else parts[0])
    return rooms


@cache
def imported_rooms() -> dict[str, set[str]]:
    """Each room and the other rooms its modules import, the named exceptions aside."""
    rooms: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        room = room_of(path)
        others = {other for other in own_imports(path) if other != room and (room, other) not in EXCEPTIONS}
        rooms.setdefault(room, set()).update(others)
    rooms["__init__"] = set()  # the door: every room may import its version, and it offers them all
    return rooms


def test_imports_point_backwards_along_the_pipeline():
    """A room imports only rooms of its own level and of the levels before it."""
    wrong = [
        f"{room} imports {other}"
        for room, others in imported_rooms().items()
        for other in others
        if LEVEL[other] > LEVEL[room] and other != "__init__"
    ]
    assert wrong == []


def test_no_room_imports_one_that_imports_it():
    """Not by way of others, either."""
    assert list(TopologicalSorter(imported_rooms()).static_order())


def test_every_module_has_its_level():
    """A new room is put into a level on purpose."""
    assert sorted({room_of(path) for path in PACKAGE.rglob("*.py")} - LEVEL.keys()) == []


def code_lines(path: Path) -> int:
    """Lines that hold code: no docstring, no comment, nothing blank; 0 for a module that is short with all of them."""
    text = path.read_text(encoding="utf-8")
    if text.count("\n") <= MAX_CODE_LINES:  # short enough with its docstrings
        return 0
    prose = {
        line
        for node in statements(path)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = enumerate(text.splitlines(), start=1)
    return sum(1 for number, line in lines if number not in prose and line.strip() and not line.strip().startswith("#"))


def test_no_module_is_longer_than_one_idea_should_be():
    """400 lines of code are many; a crowded room is redesigned."""
    sizes = {str(path.relative_to(PACKAGE)): code_lines(path) for path in PACKAGE.rglob("*.py")}
    assert {name: size for name, size in sizes.items() if size > MAX_CODE_LINES} == {}


def test_the_top_of_the_package_can_be_read_at_a_glance():
    """The pipeline is its folders; loose modules are few."""
    assert len(list(PACKAGE.glob("*.py"))) <= 15


def test_test_helpers_are_imported_in_one_way():
    """`from tests.builders import …`: a helper imported by two names would be two modules with two sets of classes."""
    root = PACKAGE.parent
    helpers = {path.stem for path in (root / "tests").glob("*.py")} | {path.stem for path in (root / "tools").iterdir()}
    bare = [
        f"{path.relative_to(root)}: {name}"
        for folder in ("tests", "tools")
        for path in sorted((root / folder).rglob("*.py"))
        for name in IMPORTED.findall(path.read_text(encoding="utf-8"))
        if name in helpers
    ]
    assert bare == []


def test_importing_the_package_loads_nothing_heavy():
    """`import ufo_experience` and `--help` need neither openai, nor what it stands on, nor faiss nor a web server."""
    code = (
        "import sys, ufo_experience, ufo_experience.cli, ufo_experience.service\n"
        "print(sorted({'openai', 'httpx', 'tenacity', 'faiss', 'starlette', 'mcp', 'psycopg'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
