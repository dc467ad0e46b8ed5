"""YAML from strangers, read from the node graph: no tag can run anything, no alias can fill memory.

Scalars are taken as they are written: `no`, `1.10` and `12:30` are texts. Only below the key `typed` bare scalars get
types, and of those only true, false, null and the numbers of JSON.
"""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode

from ufo_experience.errors import DataError
from ufo_experience.schema import MAX_DEPTH
from ufo_experience.store.files import read_regular
from ufo_experience.store.strict_json import read

MAX_YAML = 16 << 20  # bytes
MAX_NODES = 500_000
_SAFE_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in "str int float bool null seq map timestamp merge value".split()}


def load_yaml(path: Path, typed: str = "") -> dict[str, Any]:
    """Read one YAML mapping into plain dicts, lists and texts. Raises `DataError` with file and line for anything else:
    a tag of a language, a key that stands twice, aliases without end, a second document, more than MAX_DEPTH levels.
    """
    data = read_regular(path, MAX_YAML)
    try:
        node = yaml.compose(data, Loader=yaml.SafeLoader)
        if isinstance(node, MappingNode):
            return dict(_plain(node, typed, False, (), count(1)))
        reason, line = "not a mapping" if node else "empty", None
    except DataError as error:
        reason, line = error.reason, error.line
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        reason, line = f"not YAML we read: {getattr(error, 'problem', None) or error}", mark.line + 1 if mark else None
    except RecursionError:
        reason, line = "nested too deep", None
    raise DataError(reason, file=str(path), line=line, code="E_EMPTY" if reason == "empty" else "E_YAML")


def _plain(node: Node, typed: str, inside: bool, around: tuple[Node, ...], number: Iterator[int]) -> Any:
    """The value of a node, an alias by itself; `around` it are these nodes, `inside` is below the key of typed ones."""
    if next(number) > MAX_NODES:
        raise _refused(node, f"aliases stand for more than {MAX_NODES} values")
    if node.tag not in _SAFE_TAGS:
        raise _refused(node, f"the tag {node.tag[:60]} is not allowed")
    if isinstance(node, ScalarNode):
        return _scalar(node.value) if inside and node.style is None else node.value
    if any(node is one for one in around):
        raise _refused(node, "an alias stands for itself")
    if len(around) > MAX_DEPTH:
        raise _refused(node, f"nested deeper than {MAX_DEPTH}")
    around = (*around, node)
    if not isinstance(node, MappingNode):
        return [_plain(one, typed, inside, around, number) for one in node.value]
    found: dict[str, Any] = {}
    for key, value in node.value:
        name = _plain(key, typed, False, around, number)
        if not isinstance(name, str) or name in found:
            said = f"the key {name[:60]!r} stands twice" if isinstance(name, str) else "a key is no plain text"
            raise _refused(key, said)
        found[name] = _plain(value, typed, inside or name == typed, around, number)
    return found


def _refused(node: Node, reason: str) -> DataError:
    return DataError(reason, line=node.start_mark.line + 1)


def _scalar(text: str) -> Any:
    """What a bare scalar stands for, where it is unmistakable."""
    if text in ("", "~"):
        return None
    try:
        value = read(text)
    except DataError:
        return text
    return text if isinstance(value, (str, list, dict)) else value


def dump_yaml(value: Any) -> str:
    """A value of JSON as YAML without aliases."""

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        ignore_aliases = staticmethod(lambda data: True)

    return str(yaml.dump(value, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120))
