"""The syntax of our modules, parsed once, for tests of how the code is written."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "ufo_experience"


@cache
def nodes(path: Path) -> list[ast.AST]:
    """All nodes of a module, in no particular order."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
