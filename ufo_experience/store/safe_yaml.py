"""YAML from strangers, read from the node graph: no tag can run anything, no alias can fill memory.

An anchor may be shared (YAML writers share equal lists), but what all aliases together stand for is counted first.
Scalars are taken as they are written: `no`, `1.10` and `12:30` are texts. Only below the key `typed` bare scalars get
types, and of those only true, false, null and plain numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

from ufo_experience.errors import DataError
from ufo_experience.schema import MAX_DEPTH
from ufo_experience.store.files import open_regular

MAX_YAML = 16 << 20  # bytes
MAX_NODES = 500_000
_SAFE_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in "str int float bool null seq map timestamp merge value".split()}
_NUMBER = re.compile(r"[-+]?(0|[1-9]\d{0,17})(\.\d{1,18})?([eE][-+]?\d{1,2})?")
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}


def load_yaml(path: Path, typed: str = "") -> dict[str, Any]:
    """Read one YAML mapping into plain dicts, lists and texts.

    Raises `DataError` with file and line for: a tag of any language, a key that stands twice, aliases that stand for
    more than MAX_NODES nodes or for themselves, more than one document, more than MAX_DEPTH levels, anything that is
    no YAML.
    """

    def refuse(reason: str, line: int | None = None) -> DataError:
        return DataError(reason, file=str(path), line=line, code="E_YAML")

    try:
        with open_regular(path, MAX_YAML) as stream:
            node = yaml.compose(stream.read(MAX_YAML), Loader=yaml.SafeLoader)
        if node is None:
            raise DataError("empty", file=str(path), code="E_EMPTY")
        _size(node, {}, 0)
    except _NodeError as fault:
        raise refuse(fault.reason, fault.line) from fault
    except yaml.YAMLError as error:
        mark, reason = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
        raise refuse(f"not YAML we read: {reason}", mark.line + 1 if mark else None) from error
    except RecursionError as error:
        raise refuse("nested too deep") from error
    value = _plain(node, typed, inside=False)
    if not isinstance(value, dict):
        raise refuse("not a mapping")
    return value


class _NodeError(Exception):
    """A node that must not be built."""

    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(reason)
        self.reason, self.line = reason, node.start_mark.line + 1


def _size(node: Node, sizes: dict[int, int], depth: int) -> int:
    """How many nodes a node stands for with its aliases, each counted once. Raises `_NodeError`."""
    if sizes.get(id(node)) == 0:  # being counted
        raise _NodeError(node, "an alias stands for itself")
    if depth > MAX_DEPTH:
        raise _NodeError(node, f"nested deeper than {MAX_DEPTH}")
    if id(node) not in sizes:
        sizes[id(node)] = 0
        total = 1 + sum(_size(child, sizes, depth + 1) for child in _children(node))
        if total > MAX_NODES:
            raise _NodeError(node, f"aliases stand for more than {MAX_NODES} values")
        sizes[id(node)] = total
    return sizes[id(node)]


def _children(node: Node) -> list[Node]:
    if node.tag not in _SAFE_TAGS:
        raise _NodeError(node, f"the tag {node.tag[:60]} is not allowed")
    if isinstance(node, ScalarNode):
        return []
    if not isinstance(node, MappingNode):
        return list(node.value)
    if not all(isinstance(key, ScalarNode) for key, _ in node.value):
        raise _NodeError(node, "a key is no plain text")
    if twice := [key for key, count in Counter(key.value for key, _ in node.value).items() if count > 1]:
        raise _NodeError(node, f"the key {twice[0][:60]!r} stands twice")
    return [part for pair in node.value for part in pair]


def _plain(node: Node, typed: str, inside: bool) -> Any:
    if isinstance(node, ScalarNode):
        return _scalar(node.value) if inside and node.style is None else node.value
    if isinstance(node, MappingNode):
        return {key.value: _plain(value, typed, inside or key.value == typed) for key, value in node.value}
    return [_plain(item, typed, inside) for item in node.value]


def _scalar(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if match := _NUMBER.fullmatch(text):
        return float(text) if match.group(2) or match.group(3) else int(text)
    return text
