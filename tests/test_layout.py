"""The house rules, kept true: imports point backwards, rooms stay small, heavy packages stay out until needed."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "ufo_experience"
MAX_CODE_LINES = 400  # without docstrings, comments and blank lines

# One ordered list of rooms; a module may import rooms before its own, and its own.
ROOMS = [
    "errors",
    "schema",
    "ids",
    "config",
    # foundations
    "text",
    "fileio",
    "openai_api",
    "formats",
    # the pipeline
    "traces",
    "redaction",
    "trust",
    "embedding",
    "summarizer",
    "store",
    "index",
    "retrieval",
    "prompt",
    "guide",
    # what wires it together
    "ingest",
    "wiring",
    "maintenance",
    "memory",
    # doors
    "session",
    "integrations",
    "examples",
    "review",
    "benchmark",
    "cli",
    "public",
    "__init__",
    "__main__",
]
# The model offers one view of itself as a method, imported when it is called; a reader asks redaction's one list which
# names mean a secret.
EXCEPTIONS = {("schema", "formats"), ("traces", "redaction")}
PLACE = {room: place for place, room in enumerate(ROOMS)}


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


def code_lines(path: Path) -> int:
    """Lines that hold code: no docstring, no comment, nothing blank."""
    text = path.read_text(encoding="utf-8")
    prose = {
        line
        for node in ast.walk(ast.parse(text))
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
    assert len(list(PACKAGE.glob("*.py"))) <= 12


def test_test_helpers_are_imported_in_one_way():
    """`from tests.builders import …`: a helper imported by two names would be two modules with two sets of classes."""
    root = PACKAGE.parent
    helpers = {path.stem for path in (root / "tests").glob("*.py")} | {path.stem for path in (root / "tools").iterdir()}
    bare = [
        f"{path.relative_to(root)}: {name}"
        for folder in ("tests", "tools")
        for path in sorted((root / folder).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in imported_names(node)
        if name.split(".")[0] in helpers
    ]
    assert bare == []


def imported_names(node: ast.AST) -> list[str]:
    """The modules an import statement names; none for any other node."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def test_importing_the_package_loads_nothing_heavy():
    """`import ufo_experience` and `--help` need neither openai nor faiss nor numpy."""
    code = (
        "import sys, ufo_experience, ufo_experience.cli\n"
        "print(sorted({'openai', 'faiss', 'numpy', 'pydantic', 'yaml', 'tenacity'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
