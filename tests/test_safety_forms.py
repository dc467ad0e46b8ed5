"""Secrets of a run in whatever form they are written: short ones, and those that were transformed."""

from __future__ import annotations

import json
from random import Random

import pytest

from tests.secret_forms import FORMS, KINDS, PLACES, draw, run_with
from tests.test_safety import record
from ufo_experience.redact import redact_text

LOGIN = 'Enter the username "kay" and the password "{}" into the text fields and press {}.'


def _login(secret: str, password_field: str = "Password", last: str = "login") -> dict[str, object]:
    steps = [
        {"action": "type", "control": "Username", "control_type": "Edit", "text": "kay"},
        {"action": "type", "control": password_field, "control_type": "Edit", "text": secret},
        {"action": "click", "control": "Login", "control_type": "Button", "observation": f'Press "{last}".'},
    ]
    return {"task": LOGIN.format(secret, last), "application": "Intranet", "steps": steps}


@pytest.mark.parametrize("secret", ["x", "Ku8", "8Q", "log", "OCrM", "#1"])
@pytest.mark.parametrize("field", ["Password", "tt2", ""])
@pytest.mark.parametrize("last", ["login", '"Login"'])
def test_a_short_password_the_request_names_is_masked_and_nothing_else(secret, field, last):
    """Whatever the field is called: what the request calls the password is one, and the button keeps its name."""
    one = record(_login(secret, field, last))
    assert one.state.task == LOGIN.format("{{secret:1}}", last)
    assert [step.parameters for step in one.action.steps[1:]] == [{"text": "{{secret:1}}"}, {}]
    assert one.action.steps[2].target_control.name == "Login"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ('Type the password "K8" and click "Save"', 'Type the password "<secret>" and click "Save"'),
        ("user 'kay', password 'K8', then 'Login'", "user 'kay', password '<secret>', then 'Login'"),
        ("enter the password <text> into both text fields", "enter the password <text> into both text fields"),
        ('Click "Password", then "OK"', 'Click "Password", then "OK"'),
        ('<input type="password" name="pw">', '<input type="password" name="pw">'),
    ],
)
def test_of_a_sentence_only_the_quoted_password_goes(text, clean):
    assert redact_text(text) == clean


def _stays(secret: str, name: str, place: str) -> bool:
    form = FORMS[name](secret)
    drawn = {"id", "created_at", "sealed"}  # a digest, microseconds and a ciphertext may hold four digits by chance
    text = record(run_with(secret, form, place)).model_dump_json(exclude=drawn)
    return any(one in text for one in (form, json.dumps(form)[1:-1], json.dumps(form, ensure_ascii=False)[1:-1]))


@pytest.mark.parametrize("name", FORMS)
def test_a_typed_secret_is_taken_out_in_every_form(name):
    """Random secrets of two kinds, each at one place of the run; `-m slow` has all kinds."""
    random = Random(name)
    for kind in random.sample(KINDS, 2):
        secret, place = draw(kind, random), random.choice([*PLACES, "task"])
        assert not _stays(secret, name, place), (kind, secret, place)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_typed_secrets_are_taken_out_in_every_form(kind):
    random, kept = Random(kind), []
    for name in FORMS:
        for place in [*PLACES, "task"]:
            secret = draw(kind, random)
            kept += [(name, place, secret)] if _stays(secret, name, place) else []
    assert kept == []
