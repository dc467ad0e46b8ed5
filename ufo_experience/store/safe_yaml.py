"""YAML from strangers, read from the node graph: no tag can run anything, no alias can fill memory.

Scalars are taken as they are written: `no`, `1.10` and `12:30` are texts. Only below the key `typed` bare scalars get
types, and of those only true, false, null and the numbers of JSON.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

from ufo_experience.errors import DataError
from ufo_experience.schema import MAX_DEPTH
from ufo_experience.store.files import read_regular
from ufo_experience.store.strict_json import StrictJsonError, read

MAX_YAML = 16 << 20  # bytes
MAX_NODES = 500_000
_SAFE_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in "str int float bool null seq map timestamp merge value".split()}


def load_yaml(path: Path, typed: str = "") -> dict[str, Any]:
    """Read one YAML mapping into plain dicts, lists and texts.

    Raises `DataError` with file and line for: a tag of any language, a key that stands twice, aliases that stand for
    more than MAX_NODES values or for themselves, more than one document, more than MAX_DEPTH levels, anything that is
    no YAML.
    """
    with _our_errors(str(path)):
        node = yaml.compose(read_regular(path, MAX_YAML), Loader=yaml.SafeLoader)
        if node is None:
            raise DataError("empty", file=str(path), code="E_EMPTY")
        if not isinstance(node, MappingNode):
            raise _NodeError(node, "not a mapping")
        value: dict[str, Any] = _Plain(typed).of(node)
    return value


class _NodeError(Exception):
    """A node that must not be taken."""

    def __init__(self, node: Node, reason: str) -> None:
        super().__init__(reason)
        self.line = node.start_mark.line + 1


class _Plain:
    """Makes plain values of nodes: an alias becomes a value of its own, and all of them are counted."""

    def __init__(self, typed: str) -> None:
        self._typed, self._left = typed, MAX_NODES
        self._around: list[Node] = []

    def of(self, node: Node, inside: bool = False) -> Any:
        """The value of a node; `inside` is true below the key whose scalars get types. Raises `_NodeError`."""
        self._left -= 1
        if self._left < 0:
            raise _NodeError(node, f"aliases stand for more than {MAX_NODES} values")
        if node.tag not in _SAFE_TAGS:
            raise _NodeError(node, f"the tag {node.tag[:60]} is not allowed")
        if isinstance(node, ScalarNode):
            return _scalar(node.value) if inside and node.style is None else node.value
        if any(node is one for one in self._around):
            raise _NodeError(node, "an alias stands for itself")
        if len(self._around) > MAX_DEPTH:
            raise _NodeError(node, f"nested deeper than {MAX_DEPTH}")
        self._around.append(node)
        try:
            if isinstance(node, MappingNode):
                return self._mapping(node, inside)
            return [self.of(one, inside) for one in node.value]
        finally:
            self._around.pop()

    def _mapping(self, node: MappingNode, inside: bool) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in node.value:
            name = self.of(key)
            if not isinstance(name, str):
                raise _NodeError(key, "a key is no plain text")
            if name in found:
                raise _NodeError(key, f"the key {name[:60]!r} stands twice")
            found[name] = self.of(value, inside or name == self._typed)
        return found


def _scalar(text: str) -> Any:
    """What a bare scalar stands for, where it is unmistakable."""
    if text in ("", "~"):
        return None
    try:
        value = read(text)
    except StrictJsonError:
        return text
    return text if isinstance(value, (str, list, dict)) else value


@contextmanager
def _our_errors(file: str) -> Iterator[None]:
    try:
        yield
    except _NodeError as error:
        raise DataError(str(error), file=file, line=error.line, code="E_YAML") from error
    except yaml.YAMLError as error:
        mark, reason = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
        line = mark.line + 1 if mark else None
        raise DataError(f"not YAML we read: {reason}", file=file, line=line, code="E_YAML") from error
    except RecursionError as error:
        raise DataError("nested too deep", file=file, code="E_YAML") from error


def dump_yaml(value: Any, *, quoted: bool = False) -> str:
    """A value of JSON as YAML without aliases; where each text is `quoted`, nobody takes one for a number."""

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        ignore_aliases = staticmethod(lambda data: True)

    if quoted:
        tag = "tag:yaml.org,2002:str"
        Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar(tag, text, style='"'))
    return str(yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120))
