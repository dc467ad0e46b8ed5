"""Rare turns of redaction: shapes at their limits, forms of a value, keys in lists, words around numbers."""

from __future__ import annotations

import base64
import html
import json
from itertools import pairwise
from urllib.parse import quote, quote_plus

import pytest
from ufo_experience.redact.checksums import (
    is_card,
    is_generated,
    is_iban,
    is_jwt,
    is_password,
    is_random,
    is_stand_in,
    luhn,
)
from ufo_experience.redact.keystrokes import is_chord, join_braces, join_steps, split_keys
from ufo_experience.redact.vault import Vault

from ufo_experience.actions import plain
from ufo_experience.redact import redact, redact_text
from ufo_experience.redact.names import is_secret_name
from ufo_experience.redact.secrets import find_secrets
from ufo_experience.redact.text import redact_json
from ufo_experience.schema import Control, Outcome, Step, Trajectory


def step(action: str, control: str = "", number: int = 1, **parameters: object) -> Step:
    """A step with these arguments."""
    target = Control(name=control, type=None)
    return Step(step_number=number, action_type=action, target_control=target, parameters=parameters)


def run(*steps: Step, request: str = "Do it") -> Trajectory:
    """A short run."""
    return Trajectory(request=request, steps=steps, outcome=Outcome(success=None), format="test", session="s#0")


def kept(*steps: Step, **fields: str) -> list[dict[str, object]]:
    """The arguments that are left."""
    done = redact(run(*steps, **fields))
    return [one.parameters for one in done.steps]


# ---- checksums and shapes ----

# Characters of an IBAN by country, from the ISO 13616 registry, grouped by length.
IBANS = {
    15: "NO", 16: "BE", 18: "DK FI FO GL NL", 19: "MK SI", 20: "AT BA EE KZ LT LU XK", 21: "CH HR LI LV",
    22: "BG BH CR DE GB GE IE ME RS VA", 23: "AE GI IL IQ", 24: "AD CZ ES MD PK RO SA SE SK TN VG", 25: "PT",
    26: "IS TR", 27: "FR GR IT MC MR SM", 28: "AL AZ BY CY DO GT HU LB PL", 29: "BR EG PS QA UA",
    30: "JO KW MU", 31: "MT SC", 32: "LC",
}  # fmt: skip


def an_iban(country: str, length: int) -> str:
    """A made-up number of a country with right check digits."""
    body = ("37400519" * 4)[: length - 4]
    digits = "".join(str(int(letter, 36)) for letter in f"{body}{country}00")
    return f"{country}{98 - int(digits) % 97:02d}{body}"


@pytest.mark.parametrize(("country", "length"), [(c, n) for n, all_ in IBANS.items() for c in all_.split()])
def test_an_iban_has_the_length_of_its_country(country, length):
    """One character more or less, though its check digits are right, is no IBAN of that country."""
    number = an_iban(country, length)
    assert is_iban(number)
    assert redact_text(f"konto {number} bitte") == "konto <secret> bitte"
    grouped = " ".join(number[place : place + 4] for place in range(0, length, 4))
    assert redact_text(f"to {grouped}.") == "to <secret>."
    for other in (length - 1, length + 1):
        wrong = an_iban(country, other)
        assert redact_text(f"x {wrong} y") == f"x {wrong} y"


def test_an_iban_ends_where_a_word_goes_on():
    """A letter or digit right behind it means that it was something else; so does a text that ends too early."""
    number = an_iban("DE", 22)
    assert redact_text(f"{number}9") == f"{number}9"
    assert redact_text(f"{number}x") == f"{number}x"
    assert redact_text(f"{number}9, and") == f"{number}9, and"
    assert redact_text(f"{number},x") == "<secret>,x"
    assert redact_text(f"{number} x") == "<secret> x"
    assert redact_text(number[:21]) == number[:21]
    assert redact_text(f"QZ{number[2:]}") == f"QZ{number[2:]}"


@pytest.mark.parametrize("digits", ["0", "18", "26", "34", "59", "67", "4111111111111111", "79927398713"])
def test_luhn_digits(digits):
    """The last digit follows from the others, and every other last digit is wrong."""
    assert luhn(digits)
    for last in set("0123456789") - {digits[-1]}:
        assert not luhn(digits[:-1] + last)


def test_a_card_has_one_kind_of_separator():
    """Or none."""
    assert is_card("4111111111111111")
    assert is_card("4111 1111 1111 1111")
    assert is_card("4111-1111-1111-1111")
    assert not is_card("4111 1111-1111 1111")
    assert not is_card("9111111111111111")


def token(header: object) -> str:
    """A token with this header."""
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    return base64.urlsafe_b64encode(data).decode().rstrip("=") + ".eyJhIjoxfQ.c2ln"


@pytest.mark.parametrize("size", range(6))
def test_a_jwt_is_known_by_its_header(size):
    """Whatever the length of the header, and so its padding."""
    assert is_jwt(token({"alg": "HS256", "kid": "x" * size}))
    assert not is_jwt(token({"typ": "JWT", "kid": "x" * size}))


@pytest.mark.parametrize(
    "text", [token(["alg"]), token("alg"), token(b"\xff\xfe"), token(b"{"), "a.b.c", "é.b.c", "", token(b"[" * 200_000)]
)
def test_what_is_no_header_is_no_jwt(text):
    """No JSON, no UTF-8, no base64, a nest without end: not a fault."""
    assert not is_jwt(text)


def test_random_and_generated_tokens():
    """By length, digits and how often they change with letters."""
    assert is_random("ab345678")
    assert not is_random("ab34567")
    assert not is_random("abcdefgh")
    assert not is_random("a2345678")
    assert is_random("a1" + "2" * 18)
    assert not is_random("1" * 7)
    assert is_generated("a1b2c3d4e5f6g7h8")
    assert is_generated("a1b2c3d4e5f6g7h8i9")
    assert not is_generated("a1b2c3d4e5f6g7h")
    assert not is_generated("abcdefghijklmno1")
    assert not is_generated("abcdefghijklmn12")
    assert is_generated("abcdefghijk1lmn2")


@pytest.mark.parametrize("text", ["abc123", "abcd!ef", "123!45", "aBcdefgh", "hunter2.", "Tr0ub4dor"])
def test_what_reads_like_a_password(text):
    """Letters and digits, letters and symbols, digits and symbols, or capitals inside a long word."""
    assert is_password(text)


@pytest.mark.parametrize(
    "text", ["abc12", "abcdef", "123456", "aBcdefg", "Abcdefgh", "ABCDEFGH", "it's-ok", "null", "a.b/c_d"]
)
def test_what_reads_like_a_word(text):
    """Short, one kind of character, a capital first, all capitals, marks of ordinary prose."""
    assert not is_password(text)


@pytest.mark.parametrize(
    "text",
    ["null", "None.", "'changeme'", "$PASSWORD", "${PW}", "%PW%", "<password>", "****", "xxx", "os.environ",
     "get_password()", "your_key", "[redacted]", "{{pw}}"],
)  # fmt: skip
def test_what_stands_for_a_value_is_no_value(text):
    """Names of variables, templates, stars."""
    assert is_stand_in(text)


# ---- findings ----


def test_findings_do_not_overlap_and_cover_the_longest():
    """Where two rules meet, one finding reaches to the end of the later one."""
    text = f"password: {token({'alg': 'HS256'})} and 4111 1111 1111 1111"
    findings = find_secrets(text)
    assert findings[-1].end == len(text)
    assert all(one.end <= two.start for one, two in pairwise(findings))
    assert "HS256" not in redact_text(text)
    user = "https://sam:secretpw12@db.example:5432/x?password=hunter2hunter2"
    assert "secretpw12" not in redact_text(user)
    assert redact_text("la contraseña es Verano2024!4111 1111 1111 1111") == "la contraseña es <secret>"
    joined = "api_key=AKIAIOSFODNN7EXAMPLEAKIAIOSFODNN7EXAMPLE0"
    assert "AKIA" not in redact_text(joined)


@pytest.mark.parametrize("gap", [0, 1, 6])
def test_a_number_with_a_name_of_its_own_is_no_card(gap):
    """An invoice number may look like a card; the word must stand right before it."""
    text = f"invoice number{' ' * gap}4111111111111111"
    assert redact_text(text) == (text if gap else redact_text(text))
    assert "4111111111111111" not in redact_text("invoice paid with 4111111111111111")


def test_the_word_before_a_number_is_looked_for_near_it():
    """Forty characters, so that a long text is read once."""
    near = "tracking number" + "-" * 3 + "is" + " " * 20 + "4111111111111111"
    far = "tracking number" + "-" * 3 + "is" + " " * 21 + "4111111111111111"
    assert redact_text(near) == near
    assert redact_text(far).endswith("<secret>")


# ---- free text and JSON ----


def test_secret_names_hide_whole_texts_but_not_placeholders_or_nothing():
    """Below a name such as `password`; empty texts and placeholders stay; other names keep their text."""
    value = {"password": ["x y", "", "{{secret:1}}", 7, {"deep": "z"}], "note": "x y", "pin": None}
    assert redact_json(value) == {
        "password": ["<secret>", "", "{{secret:1}}", 7, {"deep": "z"}], "note": "x y", "pin": None,
    }  # fmt: skip


def test_text_between_placeholders_is_cleaned_and_placeholders_stay():
    """Also when a placeholder alone looks like what a rule finds."""
    text = "{{input:1}} password hunter2-Secret! {{secret:2}} password hunter2-Secret!"
    assert redact_text(text) == "{{input:1}} password <secret> {{secret:2}} password <secret>"


def test_a_long_block_of_base64_is_an_image_only_if_it_is_mixed():
    """Small and large letters and digits; a long run of one kind is text."""
    mixed = base64.b64encode(bytes(range(256)) * 3).decode()
    assert mixed not in redact_text(f"see {mixed} end")
    for plain_run in ("a" * 400, "A1" * 200, "a1" * 200, "aB" * 200):
        assert redact_text(f"see {plain_run} end").count(plain_run[:50]) > 0


# ---- the vault ----


@pytest.mark.parametrize("form", [
    lambda v: v, html.escape, lambda v: html.escape(v, quote=False),
    lambda v: html.escape(v).replace("&#x27;", "&#39;"),
    lambda v: quote(v, safe=""), quote, quote_plus, lambda v: json.dumps(v)[1:-1],
    lambda v: json.dumps(v, ensure_ascii=False)[1:-1], lambda v: repr(v)[1:-1], lambda v: "{" + "}{".join(v) + "}",
    lambda v: base64.b64encode(v.encode()).decode(),
])  # fmt: skip
def test_a_secret_is_found_in_every_form_a_log_writes(form):
    """Escaped for HTML, URLs, JSON and Python, in braces, in base64; inside other text."""
    value = 'Zoë\'s "<5>" \\ a/b & c'
    vault = Vault({}, [])
    name = vault.add_secret(value, "password")
    assert vault.without_secrets(f"x{form(value)}y") == f"x{name}y"


def test_a_copied_value_is_replaced_only_where_it_stands_alone():
    """A word that goes on before or after is another word; a value that ends in a sign may touch one."""
    for value in ("ab 7", "_b 7", "ab 7_", "7 ab", "Zoë 5é"):
        vault = Vault({}, [])
        name = vault.add_input(value, "text")
        assert vault.without_values(f"({value})") == f"({name})"
        for near in (f"x{value}", f"{value}x", f"_{value}", f"{value}_", f"3{value}", f"{value}3"):
            assert vault.without_values(near) == near
    for value, before, after in (("#7 ab", "x", ""), ("ab 7%", "", "x"), ("(ab)", "x", "y")):
        vault = Vault({}, [])
        name = vault.add_input(value, "text")
        assert vault.without_values(f"{before}{value}{after}") == f"{before}{name}{after}"


def test_a_short_secret_is_taken_out_where_it_stands_alone_only():
    """Three digits would tear everything apart; four and more are taken out anywhere."""
    vault = Vault({}, [])
    short, longer = vault.add_secret("123", "pin"), vault.add_secret("4567", "pin")
    assert vault.without_secrets("a 123 b 91234 x4567y") == f"a {short} b 91234 x{longer}y"
    assert (short, longer) == ("{{secret:1}}", "{{secret:2}}")
    assert vault.add_secret(" 123 ", "pin") == short
    assert vault.add_input("4567", "text") == longer


def test_numbers_go_on_after_those_in_use():
    """Redacting again gives no placeholder a second meaning."""
    vault = Vault({"input:4": "text"}, ["see {{secret:7}} and {{input:2}}"])
    assert vault.add_secret("hunter2", "password") == "{{secret:8}}"
    assert vault.add_input("hello you", "text") == "{{input:5}}"


# ---- keys ----


def test_a_password_typed_key_by_key_is_joined():
    """A space, a capital with shift, a backspace; the first step stays."""
    keys_ = ["h", "u", "{SPACE}", "{VK_SHIFT down}t", "x", "{BACKSPACE}", "{5}", "{space}"]
    steps = [step("press_key", "Password", n, key=key) for n, key in enumerate(keys_, 1)]
    joined = join_steps(steps)
    assert len(joined) == 1
    assert joined[0].step_number == 1
    assert list(joined[0].parameters.values()) == ["hu T5 "]


def test_what_is_no_run_of_keys_is_not_joined():
    """Two presses, another control, another action, a key that is no character."""
    pressed = [step("press_key", "A", 1, key="a"), step("press_key", "A", 2, key="b")]
    assert join_steps(pressed) == tuple(pressed)
    other = [step("press_key", name, n, key="a") for n, name in enumerate("ABCD", 1)]
    assert join_steps(other) == tuple(other)
    enter = [step("press_key", "A", n, key="{ENTER}") for n in range(1, 5)]
    assert join_steps(enter) == tuple(enter)


def test_keys_and_text_are_cut_apart():
    """A modifier takes the next character; unknown names in braces are text; nothing is lost."""
    value = "ab{ENTER}c{VK_CONTROL}vd{x}{TAB 2}e{SHIFT up}f"
    pieces = list(split_keys(value))
    assert "".join(piece for piece, _ in pieces) == value
    assert pieces == [
        ("ab", True), ("{ENTER}", False), ("c", True), ("{VK_CONTROL}v", False), ("d{x}", True), ("{TAB 2}", False),
        ("e", True), ("{SHIFT up}", False), ("f", True),
    ]  # fmt: skip
    assert list(split_keys("{ENTER}{TAB}")) == [("{ENTER}", False), ("{TAB}", False)]
    assert list(split_keys("")) == []
    assert join_braces("{P}{a}{SPACE}{s}{ENTER}") == "Pa s{ENTER}"


def test_chords_are_told_from_text():
    """With modifiers, symbols or names; a name alone only where keys are meant."""
    assert all(is_chord(text) for text in ("ctrl+s", "{ENTER}", "^s", "alt-f4", "enter", "ctrl shift t", "%{F4}"))
    assert not any(is_chord(text) for text in ("", "hello", "s+ctrl", "ctrl+hello", "a^"))
    assert not is_chord("enter", bare=False)


def test_a_list_of_keys_is_a_chord_and_a_list_of_letters_is_text():
    """`["ctrl", "s"]` stays, `["h","i","p"]` is typed text; numbers among them make it no chord."""
    assert kept(step("hotkey", "Doc", keys=["ctrl", "s"])) == [{"keys": ["ctrl", "s"]}]
    assert kept(step("type_keys", "Doc", keys=["h", "i", "!", "p"])) == [{"keys": ["{{input:1}}"]}]
    assert kept(step("type_keys", "Doc", keys=["ctrl", "s", 5]))[0]["keys"] != ["ctrl", "s", 5]
    assert kept(step("hotkey", "Doc", keys=[])) == [{"keys": []}]


def test_what_is_not_typed_keeps_its_braces():
    """Only typed text is read as keys."""
    assert kept(step("click_input", "Doc", label="{P}{a}{s}", button="left")) == [
        {"label": "{P}{a}{s}", "button": "left"}
    ]


def test_blank_and_placeholder_texts_stay_in_every_field():
    """There is nothing to hide in them."""
    for text in ("", "  ", "{{input:1}}", "{{secret:1}} {{input:2}}"):
        assert kept(step("set_edit_text", "Password", text=text)) == [{"text": text}]
        assert kept(step("set_edit_text", "Body", text=text)) == [{"text": text}]


# ---- fields ----


def test_what_is_copied_is_secret_only_if_it_is_pasted_into_a_secret_field():
    """Pasting alone, or a secret field alone, says nothing about what was copied."""
    copy = step("copy", "Cell", 1, text="Tuesday lunch 12")
    into_password = [copy, step("paste", "Password", 2)]
    into_note = [copy, step("paste", "Note", 2), step("set_edit_text", "Password", 3, text="hunter2-x")]
    assert kept(*into_password)[0] == {"text": "{{secret:1}}"}
    assert kept(*into_note)[0] != {"text": "{{secret:1}}"}


def test_the_name_of_an_action_is_its_last_part():
    """Without case and punctuation."""
    assert plain("pyautogui.typeWrite") == "typewrite"
    assert plain("a.b.Type_Keys") == "typekeys"
    assert plain("click") == "click"


@pytest.mark.parametrize(
    "name",
    ["api_key", "apiKey", "OPENAI_API_KEY", "accesstoken", "client_secret", "Authorization", "pwd", "Kennwort 2"],
)
def test_names_of_secrets_are_known_however_they_are_written(name):
    """Readers of logs and redaction ask the same list."""
    assert is_secret_name(name)


@pytest.mark.parametrize("name", ["max_tokens", "tokenizer", "keyboard", "Compass", "spinner", "key"])
def test_names_that_only_look_like_those_of_secrets_are_none(name):
    """A word inside another is no secret."""
    assert not is_secret_name(name)
