"""Mutants of a module, as cosmic-ray makes them, less those that no run could tell from the original.

Left out are changes to annotations only (`str | None` → `str + None`): none is looked at while a program runs, except
by pydantic, and there it is a loss of a type, not of behaviour. So are `==` → `is` and the like: what they do depends
on the interpreter.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path


@dataclass(frozen=True, order=True)
class Mutant:
    """One change: the `occurrence`-th place in a module where an operator of cosmic-ray applies."""

    module: str
    line: int
    column: int
    operator: str
    occurrence: int

    @property
    def family(self) -> str:
        """What is changed, whatever it is changed to: the operator up to its first `_`."""
        return self.operator.split("_", 1)[0]

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.operator.removeprefix('core/')}#{self.occurrence}"


def mutants_of(package: Path, module: str) -> Iterator[Mutant]:
    """Every mutant of a module that is another program."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    source = (package / module).read_text(encoding="utf-8")
    nodes = list(ast_nodes(get_ast(source)))
    spans = _annotations(source)
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments() or name == "core/NoOp" or name.endswith(("_Is", "_IsNot")):
            continue
        places = [start for node in nodes for start, _ in operator().mutation_positions(node)]
        for occurrence, place in enumerate(places):
            if not any(start <= place < end for start, end in spans):
                yield Mutant(module, *place, name, occurrence)


def one_of_each(mutants: list[Mutant], rng: random.Random) -> list[Mutant]:
    """One mutant per place and family: eleven ways to break one `/` of a path say no more than one."""
    groups: dict[tuple[object, ...], list[Mutant]] = {}
    for mutant in mutants:
        own = mutant.occurrence if mutant.family == "core/NumberReplacer" else 0  # one up and one down are two
        groups.setdefault((mutant.module, mutant.line, mutant.column, mutant.family, own), []).append(mutant)
    return [rng.choice(group) for group in groups.values()]


def mutated(package: Path, mutant: Mutant) -> str:
    """The source of a mutated module."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    source = (package / mutant.module).read_text(encoding="utf-8")
    changed = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    if changed is None:
        raise LookupError(f"{mutant}: no such place")
    return str(changed)


def diff(package: Path, mutant: Mutant) -> str:
    """What a mutant changes, as a diff without context."""
    before = (package / mutant.module).read_text(encoding="utf-8").splitlines()
    lines = unified_diff(before, mutated(package, mutant).splitlines(), n=0, lineterm="")
    return "\n".join(line for line in lines if line[:3] not in ("---", "+++") and line[:2] != "@@")


def _annotations(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """From where to where the annotations of a module reach, as (line, column)."""
    found: list[ast.expr] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AnnAssign) or (isinstance(node, ast.arg) and node.annotation):
            found.append(node.annotation)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            found.append(node.returns)
    return [((one.lineno, one.col_offset), (one.end_lineno or 0, one.end_col_offset or 0)) for one in found]
