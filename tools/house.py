"""Counts how the package is laid out: `python -m tools.house [--root CHECKOUT] [--list]`.

Modules, lines, levels of rooms, modules with one importer, public names. `--list` names the modules with one importer,
the smallest first. It reads files as text, so that it counts an older checkout, too.
"""

from __future__ import annotations

import argparse
import ast
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path

NAME = "ufo_experience"


@dataclass
class Module:
    """A module: its syntax, its lines, and who imports it (by statement, or by a name in a table of modules)."""

    path: Path
    tree: ast.Module
    lines: int
    importers: set[str] = field(default_factory=set)

    def code_lines(self) -> int:
        """Lines that are no docstring, no comment and not blank."""
        prose = {
            line
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
        }
        text = self.path.read_text(encoding="utf-8").splitlines()
        rest = [line.strip() for number, line in enumerate(text, start=1) if number not in prose]
        return sum(1 for line in rest if line and not line.startswith("#"))


def read_modules(root: Path) -> dict[str, Module]:
    """The modules of a checkout by name, with their importers; `public`, which lists names, is no importer."""
    modules = {}
    for path in sorted((root / NAME).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        modules[name] = Module(path, ast.parse(text), len(text.splitlines()))
    for name, module in modules.items():
        for node in ast.walk(module.tree):
            for other in named(node, modules):
                modules[other].importers.add(name)
    for name, module in modules.items():
        module.importers -= {name, f"{NAME}.public"}
    return modules


def named(node: ast.AST, modules: dict[str, Module]) -> set[str]:
    """The modules a node names."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return {node.value} & modules.keys()
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & modules.keys()
    if not isinstance(node, ast.ImportFrom) or not node.module:
        return set()
    below = {f"{node.module}.{alias.name}" for alias in node.names}
    return (below if below <= modules.keys() else below | {node.module}) & modules.keys()


def public_names(root: Path) -> int:
    """How many names the package offers: those of `public.__all__`, or of an older door's table."""
    found: dict[str, int] = defaultdict(int)
    for file in ("public.py", "__init__.py"):
        path = root / NAME / file
        for node in ast.parse(path.read_text(encoding="utf-8")).body if path.exists() else ():
            if isinstance(node, ast.Assign) and isinstance(node.value, (ast.List, ast.Dict)):
                parts = node.value.elts if isinstance(node.value, ast.List) else node.value.keys
                found[getattr(node.targets[0], "id", "")] += len(parts)
    return found["_HOMES"] or found["__all__"]


def levels(root: Path) -> int:
    """How many levels of rooms the layout test lists."""
    tree = ast.parse((root / "tests" / "test_layout.py").read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") in ("LEVELS", "ROOMS"):
            return len(node.value.keys if isinstance(node.value, ast.Dict) else getattr(node.value, "elts", []))
    return 0


def main() -> None:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1])
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    modules = read_modules(arguments.root)
    single = {name: one for name, one in modules.items() if len(one.importers) == 1 and one.path.stem[:2] != "__"}
    sizes = {name: one.code_lines() for name, one in modules.items()}
    top = [path for path in (arguments.root / NAME).iterdir() if path.suffix == ".py"]
    rooms = [path for path in (arguments.root / NAME).iterdir() if (path / "__init__.py").exists()]
    largest = max(sizes, key=lambda name: sizes[name])
    print(f"modules {len(modules)}, at the top {len(top)}, rooms {len(rooms)}, levels {levels(arguments.root)}")
    print(f"lines {sum(one.lines for one in modules.values()):,}, of code {sum(sizes.values()):,}")
    print(f"largest: {largest}, {sizes[largest]} lines of code")
    print(f"with one importer {len(single)}, of these below 45 lines {sum(one.lines < 45 for one in single.values())}")
    print(f"public names {public_names(arguments.root)}")
    if arguments.list:
        for name, one in sorted(single.items(), key=lambda item: item[1].lines):
            print(f"{one.lines:5} {name} <- {next(iter(one.importers))}")


if __name__ == "__main__":
    main()
