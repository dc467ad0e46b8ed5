"""YAML from strangers, read from the node graph: no tag can run anything, no alias can fill memory.

An anchor may be shared (YAML writers share equal lists), but what all aliases together stand for is counted first.
Scalars are taken as they are written: `no`, `1.10` and `12:30` are texts. Only below the key `typed` bare scalars get
types, and of those only true, false, null and plain numbers.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

from ufo_experience.errors import TraceError
from ufo_experience.schema import MAX_DEPTH
from ufo_experience.traces.json_lines import read_chunks

MAX_YAML = 16 << 20
MAX_NODES = 500_000
_SAFE_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in "str int float bool null seq map timestamp merge value".split()}
_NUMBER = re.compile(r"[-+]?(0|[1-9]\d{0,17})(\.\d{1,18})?([eE][-+]?\d{1,2})?")
_CONSTANTS = {"true": True, "false": False, "null": None, "~": None, "": None}


def load_yaml(path: Path, typed: str = "") -> dict[str, Any]:
    """Read one YAML mapping into plain dicts, lists and texts.

    Raises `TraceError` with file and line for: a tag of any language, a key that stands twice, aliases that stand for
    more than MAX_NODES nodes or for themselves, more than one document, more than MAX_DEPTH levels, anything that is
    no YAML.
    """
    return parse_yaml(b"".join(read_chunks(path, max_bytes=MAX_YAML)), path, typed)


def parse_yaml(data: bytes, path: Path, typed: str = "") -> dict[str, Any]:
    """Read the bytes of one YAML mapping, from the file at `path`. Raises as `load_yaml`."""
    try:
        node = yaml.compose(data.decode("utf-8"), Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        reason = getattr(error, "problem", None) or str(error)
        place = line + 1 if line is not None else None
        raise TraceError(f"not YAML we read: {reason}", file=str(path), line=place, code="E_YAML") from error
    except (RecursionError, UnicodeDecodeError) as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else "not UTF-8"
        raise TraceError(reason, file=str(path), code="E_YAML") from error
    if node is None:
        raise TraceError("empty", file=str(path), code="E_EMPTY")
    _Checker(path).size(node, 0)
    value = _plain(node, typed, inside=False)
    if not isinstance(value, dict):
        raise TraceError("not a mapping", file=str(path), code="E_YAML")
    return value


class _Checker:
    """Counts what a node stands for with its aliases, each node once, and refuses what must not be built."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sizes: dict[int, int] = {}
        self.open: set[int] = set()

    def size(self, node: Node, depth: int) -> int:
        if id(node) in self.open:
            raise self._refusal(node, "an alias stands for itself")
        if depth > MAX_DEPTH:
            raise self._refusal(node, f"nested deeper than {MAX_DEPTH}")
        if id(node) not in self.sizes:
            self._check(node)
            self.open.add(id(node))
            total = 1 + sum(self.size(child, depth + 1) for child in _children(node))
            self.open.discard(id(node))
            if total > MAX_NODES:
                raise self._refusal(node, f"aliases stand for more than {MAX_NODES} values")
            self.sizes[id(node)] = total
        return self.sizes[id(node)]

    def _check(self, node: Node) -> None:
        if node.tag not in _SAFE_TAGS:
            raise self._refusal(node, f"the tag {node.tag[:60]} is not allowed")
        if isinstance(node, MappingNode):
            keys = [key.value for key, _ in node.value if isinstance(key, ScalarNode)]
            if len(keys) < len(node.value):
                raise self._refusal(node, "a key is no plain text")
            if len(set(keys)) < len(keys):
                twice = next(key for key in keys if keys.count(key) > 1)
                raise self._refusal(node, f"the key {twice[:60]!r} stands twice")

    def _refusal(self, node: Node, reason: str) -> TraceError:
        return TraceError(reason, file=str(self.path), line=node.start_mark.line + 1, code="E_YAML")


def _children(node: Node) -> list[Node]:
    if isinstance(node, ScalarNode):
        return []
    return [part for pair in node.value for part in pair] if isinstance(node, MappingNode) else list(node.value)


def _plain(node: Node, typed: str, inside: bool) -> Any:
    if isinstance(node, ScalarNode):
        return _scalar(node, inside)
    if isinstance(node, MappingNode):
        pairs = [(key.value, value) for key, value in node.value if isinstance(key, ScalarNode)]
        return {key: _plain(value, typed, inside or key == typed) for key, value in pairs}
    return [_plain(item, typed, inside) for item in node.value]


def _scalar(node: ScalarNode, typed: bool) -> Any:
    if not typed or node.style is not None:
        return node.value
    if node.value in _CONSTANTS:
        return _CONSTANTS[node.value]
    if match := _NUMBER.fullmatch(node.value):
        return float(node.value) if match.group(2) or match.group(3) else int(node.value)
    return node.value
