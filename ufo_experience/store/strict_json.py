"""The one JSON reader. What JSON readers disagree about or choke on is refused: a key given twice, NaN, huge numbers,
deep nesting, bytes that are not UTF-8. Logs are read with `mended`, which repairs what has one sensible reading.
"""

import json
import math
from typing import Any

from ufo_experience.errors import DataError
from ufo_experience.schema import MAX_DEPTH

MAX_DIGITS = 308  # of a number; longer ones cost quadratic time, and no double holds them
MAX_LEVELS = MAX_DEPTH + 8  # the schema allows MAX_DEPTH inside a field; the fields themselves lie this deep

Mended = dict[str, str]


def parse(data: bytes | str, *, file: str | None = None, line: int | None = None) -> Any:
    """Read strict JSON. Raises `DataError`: no JSON at all (`E_CORRUPT`), or what is refused (`E_SCHEMA`)."""
    try:
        return read(data)
    except DataError as error:
        code = "E_CORRUPT" if error.code in ("E_ENCODING", "E_JSON") else "E_SCHEMA"
        raise DataError(error.reason, file=file, line=line or error.line, code=code) from error


def read(data: bytes | str, *, levels: int = MAX_LEVELS, mended: Mended | None = None) -> Any:
    """Read JSON in UTF-8, with or without a byte order mark, of at most `levels` nested objects and arrays.

    With `mended`, a dictionary, three oddities are repaired and noted there (code → message): a key given twice (the
    last value counts), numbers that are not finite (None), halves of surrogate pairs (replaced). Raises `DataError`:
    `E_ENCODING`, `E_JSON` (with the line), `E_DEPTH`, or `E_VALUE` for a value that is refused.
    """
    try:
        text = data.decode("utf-8-sig") if isinstance(data, bytes) else data.removeprefix("\ufeff")
        value = (_STRICT if mended is None else _decoder(mended)).decode(text)
    except UnicodeDecodeError as error:
        raise DataError(f"not UTF-8 at byte {error.start}", code="E_ENCODING") from error
    except json.JSONDecodeError as error:
        at_end = text[: error.pos].strip() and not text[error.pos :].strip()
        why = "it ends in the middle" if at_end or error.msg.startswith("Unterminated") else error.msg
        raise DataError(f"not JSON: {why}", line=error.lineno, code="E_JSON") from error
    except RecursionError as error:
        raise DataError(f"nested deeper than {levels}", code="E_DEPTH") from error
    if text.count("[") + text.count("{") > levels and _is_deeper(value, levels):
        raise DataError(f"nested deeper than {levels}", code="E_DEPTH")
    if mended is None or "\\ud" not in text.lower():
        return value
    text = json.dumps(value, ensure_ascii=False)
    clean = text.encode("utf-8", "replace")
    if clean.decode() != text:
        mended["E_SURROGATE"] = "half of a surrogate pair was replaced"
    return json.loads(clean)


def _decoder(mended: Mended | None) -> json.JSONDecoder:
    def odd(code: str, message: str) -> None:
        if mended is None:
            raise DataError(message, code="E_VALUE")
        mended[code] = message

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            odd("E_DUPLICATE_KEY", "a key stands twice; the last value counts")
        return found

    def integer(digits: str) -> int:
        if len(digits) > MAX_DIGITS:
            raise DataError(f"a number of {len(digits)} digits", code="E_VALUE")
        return int(digits)

    def real(digits: str) -> float | None:
        value = float(digits)
        if len(digits) <= MAX_DIGITS and math.isfinite(value):
            return value
        odd("E_NOT_FINITE", f"{digits[:20]} is not a number JSON can hold; read as missing")
        return None

    return json.JSONDecoder(object_pairs_hook=pairs, parse_int=integer, parse_float=real, parse_constant=real)


_STRICT = _decoder(None)


def _is_deeper(value: Any, levels: int) -> bool:
    """True when containers are nested more than `levels` deep; walks level by level, so that depth costs no stack."""
    level = [value]
    for _ in range(levels):
        inside = [one for parent in level for one in (parent.values() if isinstance(parent, dict) else parent)]
        level = [one for one in inside if isinstance(one, (dict, list))]
    return bool(level)
