"""Templates are checked when they are loaded, and filled without a template language."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from ufo_experience.errors import DataError
from ufo_experience.summarize.templates import load_templates

REQUIRED = {"a": frozenset({"name", "place"})}


def load(folder: Path, text: str | bytes, required: dict[str, frozenset[str]] = REQUIRED) -> dict:
    """The templates of a file."""
    path = folder / "t.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load_templates("t", required, path)


def test_slots_are_filled_in_one_pass(tmp_path):
    """A value that looks like a slot opens none; braces mean nothing."""
    template = load(tmp_path, "a: 'hi <<name>> in <<place>>, {0} {x.__class__}'")["a"]
    assert template.fill({"name": "<<place>>", "place": "{}"}) == "hi <<place>> in {}, {0} {x.__class__}"
    assert template.slots == REQUIRED["a"]
    with pytest.raises(KeyError):
        template.fill({"name": "x"})


@pytest.mark.parametrize(
    "text",
    ["", "- a", "'a'", "a: [", "b: 'x'", "a: 5", "a: '<<name>>'", "a: '<<name>> <<place>> <<name>>'",
     "a: '<<name>> <<place>> <<other>>'", b"a: '\xff'", "!!python/object/apply:os.getcwd []"],
)  # fmt: skip
def test_a_file_that_does_not_fit_is_refused_by_name(tmp_path, text):
    """Not a mapping, not text, a slot missing, repeated or unknown, no YAML, no UTF-8, an object."""
    with pytest.raises(DataError, match=r"t\.yaml") as caught:
        load(tmp_path, text)
    assert caught.value.code == "E_TEMPLATE"


def test_what_is_missing_is_said(tmp_path):
    """The field and the slots it needs, in order."""
    with pytest.raises(DataError, match="exactly once: name, place") as caught:
        load(tmp_path, "a: x")
    assert caught.value.field == "a"
    with pytest.raises(DataError, match="exactly once: none"):
        load(tmp_path, "a: <<name>>", {"a": frozenset()})
    with pytest.raises(DataError, match="not a readable template file"):
        load_templates("t", REQUIRED, tmp_path / "nothing.yaml")


@pytest.mark.parametrize(
    "text",
    ["# c\na: >-\n  one\n  - two\n\n# c\nb: >-\n  three # four: five  \n", "a: >-\n  one\n\n  two\n",
     "a: >-\n\n  one\n", "a: >-\n  one\n   two\n", "a: |-\n  one\n  two\n", "a: >-\n  one\na: >-\n  two\n",
     "a: one\n", "a: >-\n  one\n  ü\n", "a: >-\n  one\n  two   \n  three\n"],
)  # fmt: skip
def test_a_file_of_folded_words_is_read_as_yaml_reads_it(tmp_path, text):
    """Whether it is one or not: what is more than that is left to the reader of YAML."""
    (tmp_path / "t.yaml").write_text(text, encoding="utf-8")
    wanted = yaml.safe_load(text)
    found = load_templates("t", dict.fromkeys(wanted, frozenset()), tmp_path / "t.yaml")
    assert {key: template.text for key, template in found.items()} == wanted


def test_the_wording_of_the_package_is_found():
    """In a checkout beside the package, in a wheel inside it."""
    found = load_templates("summarize", {"system": frozenset()})
    assert all(template.text for template in found.values())
