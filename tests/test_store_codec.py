"""The bytes of a stored file: canonical, hashed, strictly read."""

from __future__ import annotations

import math
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import a_record
from tests.cost import LINEAR, growth
from ufo_experience.errors import CorruptError, DataError, FormatVersionError, SchemaError
from ufo_experience.store.strict_json import MAX_LEVELS, parse
from ufo_experience.schema import MAX_RECORD_BYTES, Trust
from ufo_experience.store.codec import canonical, decode, encode
from ufo_experience.store.records import clean_record, decode_record, encode_record, experience_of

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4))


def wrap(body: bytes, schema: int = 1) -> bytes:
    """A file with a right hash around any bytes."""
    return b'{"schema":%d,"sha256":"%s","payload":%s}\n' % (schema, sha256(body).hexdigest().encode(), body)


@given(st.dictionaries(TEXT, VALUES, max_size=5))
def test_what_was_encoded_is_decoded(payload):
    """Any JSON object comes back equal, and encodes to the same bytes again."""
    data = encode(payload)
    assert decode(data) == payload
    assert encode(decode(data)) == data


def test_canonical_form_does_not_depend_on_key_order():
    """Keys are sorted, nothing is spaced, text stays UTF-8."""
    assert canonical({"b": 1, "a": "é"}) == canonical({"a": "é", "b": 1}) == '{"a":"é","b":1}'.encode()


@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, "\ud800", {"a": object()}])
def test_what_is_not_json_is_refused(value):
    """NaN, sets, half surrogates and objects have no canonical form."""
    with pytest.raises(SchemaError):
        canonical({"x": value})


def test_every_flipped_bit_of_a_record_is_detected():
    """No single-bit change of a record file is read as a record."""
    one = a_record(1)
    data = encode_record(one)
    for position in range(len(data)):
        for bit in range(8):
            changed = bytearray(data)
            changed[position] ^= 1 << bit
            with pytest.raises(DataError):
                decode_record(bytes(changed), one.id, "r.json")


def test_a_record_that_was_redacted_before_has_the_same_bytes():
    """Whether a store redacts it or another process did, with the trust it gets in the end."""
    secret = a_record(1, state={"task": "Log in with password: Hunter2-Xy9!k"})
    trusted = secret.model_copy(update={"trust": Trust.APPROVED})
    assert b"Hunter2" not in encode_record(clean_record(secret))
    assert encode_record(clean_record(secret).with_trust(Trust.APPROVED)) == encode_record(trusted)


def test_every_truncation_of_a_record_is_detected():
    """A record cut anywhere, or with something behind it, is corrupt."""
    data = encode_record(a_record(1))
    for length in range(len(data)):
        with pytest.raises(CorruptError):
            decode(data[:length], file="r.json")
    for tail in (b"\n", b" ", b"\0", data):
        with pytest.raises(CorruptError):
            decode(data + tail, file="r.json")


@pytest.mark.parametrize("data", [b"", b"\n", b"\0" * 512])
def test_an_empty_file_is_called_empty(data):
    """0 bytes, blanks and zero bytes are corrupt and say so."""
    with pytest.raises(CorruptError, match=r"r\.json: empty"):
        decode(data, file="r.json")


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (wrap(b"{}", schema=2), FormatVersionError),
        (b'{"schema": 7, "anything": []}', FormatVersionError),
        (wrap(b"{}", schema=0), SchemaError),
        (b'{"schema": 0, "anything": []}', SchemaError),
        (b'{"sha256":"","payload":{}}', SchemaError),
        (b'{"schema":true,"payload":{}}', CorruptError),
        (b'{"schema": 1, "sha256": "x", "payload": {}}', CorruptError),
    ],
)
def test_other_schemas_are_told_apart(data, error):
    """Newer is refused as newer; unknown or missing is a schema error; a reformatted file is corrupt."""
    with pytest.raises(error):
        decode(data, file="r.json")


def test_a_file_of_exactly_the_limit_is_read_and_one_byte_more_is_not():
    """The limit counts the whole file."""
    room = MAX_RECORD_BYTES - len(encode({"a": ""}))
    assert decode(encode({"a": "x" * room})) == {"a": "x" * room}
    with pytest.raises(SchemaError, match="larger than"):
        decode(wrap(b'{"a":"' + b"x" * (room + 1) + b'"}'))


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1,"a":2}',
        b'{"a":NaN}',
        b'{"a":-Infinity}',
        b'{"a":1e999}',
        b'{"a":' + b"9" * 5000 + b"}",
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":"' + b'\\"' * 100_000 + b"[" * 100 + b'"}',
    ],
    ids=["key twice", "NaN", "-Infinity", "too large", "5000 digits", "deep", "quotes"],
)
def test_bombs_with_a_right_hash_are_refused(body):
    """What JSON readers disagree about or choke on; harmless quotes are read."""
    if body.startswith(b'{"a":"'):
        assert decode(wrap(body))["a"].endswith("[")
    else:
        with pytest.raises(SchemaError, match=r"r\.json"):
            decode(wrap(body), file="r.json")


def test_an_unended_text_is_scanned_once():
    """Escaped quotes without an end take linear time."""

    def work(size: int) -> None:
        with pytest.raises(CorruptError):
            parse("[" * (MAX_LEVELS // 2) + '"' + '\\"' * size + "{" * 100)

    assert growth(work, 10_000) < LINEAR


def test_what_could_not_be_read_back_is_not_written():
    """Too large and too deep are refused at encoding."""
    with pytest.raises(SchemaError, match="larger than"):
        encode({"a": "x" * MAX_RECORD_BYTES})
    deep: object = 1
    for _ in range(MAX_LEVELS):
        deep = [deep]
    with pytest.raises(SchemaError, match="nested deeper"):
        encode({"a": deep})
    with pytest.raises(SchemaError, match="digits"):
        encode({"a": 10**400})


def test_a_key_with_a_meaning_elsewhere_is_plain_data():
    """`lc`, `__class__` and `$ref` are ordinary keys."""
    signals = {"lc": 1, "__class__": "os.system", "$ref": "#/x"}
    one = a_record(1, state={"task": "t", "signals": signals})
    assert experience_of(decode_record(encode_record(one), one.id, "f"), None, "f").state.signals == signals
