"""The house rules, kept true: imports point backwards, rooms stay small, heavy packages stay out until needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "ufo_experience"
MAX_LINES = 300

# One ordered list of rooms; a module may import rooms before its own, and its own.
ROOMS = [
    ["errors"],
    ["schema", "ids", "templates", "config"],
    ["fileio"],
    ["risk"],
    ["text"],
    ["framing"],
    ["openai_service"],
    ["traces"],
    ["redaction"],
    ["embedding"],
    ["summarizer"],
    ["ufo_view"],
    ["views"],
    ["store"],
    ["index"],
    ["indexer", "index_plan"],
    ["scoring"],
    ["ranker"],
    ["retriever"],
    ["calibration"],
    ["few_shot"],
    ["prompt_builder"],
    ["live_index"],
    ["ingest"],
    ["audit"],
    ["memory"],
    ["upkeep", "purging", "task_experience", "demo"],
    ["session"],
    ["benchmark", "integrations", "examples"],
    ["cli"],
    ["__init__", "__main__"],
]
# The model offers one view of itself as a method, imported when it is called.
EXCEPTIONS = {("schema", "views")}
PLACE = {room: place for place, rooms in enumerate(ROOMS) for room in rooms}


def room_of(path: Path) -> str:
    """The first part of a module's path below the package."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def own_imports(path: Path) -> set[str]:
    """Rooms of our own package that a module imports, wherever in the file."""
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            if node.module == "ufo_experience":
                rooms |= {alias.name for alias in node.names if alias.name in PLACE}
            elif node.module and node.module.startswith("ufo_experience."):
                rooms.add(node.module.split(".")[1])
    return rooms


def test_imports_point_backwards_along_the_pipeline():
    """A room imports only rooms that come before it."""
    wrong = [
        f"{path.relative_to(PACKAGE)} imports {room}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if room_of(path) != "__init__"
        for room in sorted(own_imports(path))
        if room != room_of(path) and PLACE[room] > PLACE[room_of(path)] and (room_of(path), room) not in EXCEPTIONS
    ]
    assert wrong == []


def test_every_module_has_its_place_in_the_list_of_rooms():
    """A new room is put into the order on purpose."""
    assert sorted({room_of(path) for path in PACKAGE.rglob("*.py")} - PLACE.keys()) == []


def test_no_module_is_longer_than_a_room_should_be():
    """About 300 lines; a crowded room is redesigned."""
    sizes = {
        str(path.relative_to(PACKAGE)): len(path.read_text(encoding="utf-8").splitlines())
        for path in PACKAGE.rglob("*.py")
    }
    assert {name: size for name, size in sizes.items() if size > MAX_LINES} == {}


def test_importing_the_package_loads_nothing_heavy():
    """`import ufo_experience` and `--help` need neither openai nor faiss nor numpy."""
    code = (
        "import sys, ufo_experience, ufo_experience.cli\n"
        "print(sorted({'openai', 'faiss', 'numpy', 'pydantic', 'yaml', 'tenacity'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
