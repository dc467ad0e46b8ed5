"""Hierarchical key-values: `devices/windows/ready` is the value `ready` in the namespace `devices/windows`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ufo_experience.errors import DataError, UsageError
from ufo_experience.schema import MAX_DEPTH

_MISSING = object()


class _Namespace(dict[str, Any]):
    """A level of the tree. A plain dict in the tree is a value somebody stored, though paths reach into it as well."""


class KeyValues:
    """A tree of values under `/`-separated paths. A path is a value or a namespace, never both. Not thread-safe.

    Dicts and lists are copied on the way in and out; other objects are kept as they are.
    """

    def __init__(self) -> None:
        self._root = _Namespace()

    def set(self, path: str, value: Any) -> None:
        """Add the value at `path`, or replace the value there.

        Raises:
            UsageError: `path` is malformed, is a namespace, or leads through a value that is not a dict.
        """
        copied, (*parents, name) = _copied(value), _parts(path)
        node: dict[str, Any] = self._root
        for depth, part in enumerate(parents, start=1):
            node = node.setdefault(part, type(node)())
            if not isinstance(node, dict):
                raise UsageError(f"{'/'.join(parents[:depth])!r} holds a value, so there can be no {path!r} below it")
        if isinstance(node.get(name), _Namespace):
            raise UsageError(f"{path!r} is a namespace with keys of its own; delete it first to put a value there")
        node[name] = copied

    def get(self, path: str, default: Any = None) -> Any:
        """Give the value at `path`, a dict of all that is in it if it is a namespace, or `default`."""
        found = self._find(_parts(path))
        return default if found is _MISSING else _copied(found)

    def update(self, path: str, value: Any) -> None:
        """Replace the value at `path`.

        Raises:
            UsageError: there is none, or as `set`.
        """
        if self._find(_parts(path)) is _MISSING:
            raise UsageError(f"there is no key {path!r} to update; add it first")
        self.set(path, value)

    def delete(self, path: str) -> bool:
        """Remove the value or namespace at `path`, and namespaces left empty by that; False if there is none."""
        parts = _parts(path)
        if self._find(parts) is _MISSING:
            return False
        for end in range(len(parts), 0, -1):
            node = self._find(parts[: end - 1])
            del node[parts[end - 1]]
            if node or not isinstance(node, _Namespace):
                break
        return True

    def flat(self) -> dict[str, Any]:
        """Give every value under its full path; `from_flat` restores the tree from it exactly."""
        values: dict[str, Any] = {}
        _flatten(self._root, "", values)
        return values

    @classmethod
    def from_flat(cls, values: Mapping[str, Any]) -> KeyValues:
        """Build a tree from full paths.

        Raises:
            UsageError: as `set`.
        """
        tree = cls()
        for path, value in values.items():
            tree.set(path, value)
        return tree

    def is_empty(self) -> bool:
        """Tell whether there is no value."""
        return not self._root

    def _find(self, parts: list[str]) -> Any:
        node: Any = self._root
        for part in parts:
            if not isinstance(node, dict) or part not in node:
                return _MISSING
            node = node[part]
        return node


def _parts(path: str) -> list[str]:
    parts = path.split("/") if isinstance(path, str) else []
    if not all(parts) or not 0 < len(parts) <= MAX_DEPTH:
        raise UsageError(
            f"a key is 1 to {MAX_DEPTH} names joined by '/', none of them empty; this is not one: {path!r}"
        )
    return parts


def _copied(value: Any, depth: int = 0) -> Any:
    if depth > MAX_DEPTH:
        raise DataError(f"a value is nested deeper than {MAX_DEPTH} levels, or contains itself")
    if isinstance(value, dict):
        return {key: _copied(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied(item, depth + 1) for item in value]
    return value


def _flatten(node: _Namespace, prefix: str, values: dict[str, Any]) -> None:
    for name, value in node.items():
        if isinstance(value, _Namespace):
            _flatten(value, f"{prefix}{name}/", values)
        else:
            values[prefix + name] = _copied(value)
