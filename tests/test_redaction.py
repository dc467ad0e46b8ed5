"""Redaction: secrets leave, typed text becomes slots, everything else stays."""

from __future__ import annotations

import html
import json
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ufo_experience.redact.keystrokes import is_chord
from ufo_experience.redact.vault import slot_type

from tests.builders import a_run, a_step
from tests.cost import LINEAR, growth
from tests.redaction_cases import HARMLESS, SECRETS
from ufo_experience.redact import redact, redact_text
from ufo_experience.schema import Control, Outcome, Problem, Source, Step, Trajectory

SECRET = "hunter2-Secret!"


def typed(text: str, control: str = "Body", action: str = "set_edit_text", **fields: object) -> Step:
    return a_step(1, action, control, parameters={"text": text}, **fields)


def sent(action: str, control: str, keys: str) -> object:
    """What is left of `keys` typed into `control`."""
    return redact(a_run(a_step(1, action, control, parameters={"keys": keys}))).steps[0].parameters["keys"]


# ---- free text ----


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_in_a_text_is_removed(text, secret):
    """Every labelled secret goes."""
    assert secret not in redact_text(text)


@pytest.mark.parametrize("text", HARMLESS)
def test_a_harmless_text_stays_as_it_is(text):
    """Look-alikes of secrets are not touched."""
    assert redact_text(text) == text


def test_precision_and_recall_on_the_labelled_set_are_at_least_95_percent():
    """The set has at least 60 of each kind; a secret counts when it is gone, a harmless text when it is unchanged."""
    assert len(SECRETS) >= 60
    assert len(HARMLESS) >= 60
    found = sum(secret not in redact_text(text) for text, secret in SECRETS)
    alarms = sum(redact_text(text) != text for text in HARMLESS)
    assert found / len(SECRETS) >= 0.95
    assert found / (found + alarms) >= 0.95


def test_the_words_around_a_secret_stay():
    """Only the secret itself is replaced."""
    assert redact_text("log in with password hunter2-Secret! now") == "log in with password <secret> now"


@pytest.mark.parametrize(
    "tail",
    ["?q=x&t=1#top", "?page=2&sid=77", "?lang=en#a=b", "?reset=tulip", "?t=884213", "?ref=spring24", "?user=ann"],
)
def test_a_url_loses_its_query_and_fragment(tail):
    """All of it where any of it may be a search, a person, a session or a key; the sentence goes on."""
    assert redact_text(f"see https://a.example/p{tail}. Then") == "see https://a.example/p. Then"


@pytest.mark.parametrize(
    "tail", ["?page=2&lang=en", "?w=800&fmt=png", "#section-2.3", "?pageId=18422907#Reisekosten-4.2"]
)
def test_what_only_sets_a_page_stays_with_its_address(tail):
    assert redact_text(f"see https://a.example/p{tail}. Then") == f"see https://a.example/p{tail}. Then"


def test_images_are_dropped():
    """Data URLs, bare image data and long blocks of base64 leave a mark."""
    block = "Ab3/" * 60
    small = "DATA:image/png;BASE64,iVBO"  # however it is written, and however short
    texts = [f"x data:image/png;base64,{block}== y", f"x iVBORw0KGgo{block} y", f"x {block}= y", f"x {small} y"]
    assert [redact_text(text) for text in texts] == ["x <image> y"] * 4


def test_a_screenshot_keeps_only_its_base_name():
    """No path of the machine stays."""
    assert redact_text("C:\\Users\\bob\\logs\\action_step3_annotated.png") == "action_step3_annotated.png"
    assert redact_text("see D:/Bob Smith/desktop_final.png") == "see desktop_final.png"
    assert redact_text("../../../etc/action_step1.png") == "action_step1.png"


@pytest.mark.parametrize(
    "noise",
    [
        "a.",
        "a-",
        "a/",
        "\\",
        "1 ",
        "word ",
        "curl ",
        "secret_",
        "password ",
        "http://a?",
        "action_",
        "{a}",
        " ",
        "x" * 400 + "@",
    ],
)
def test_a_long_text_takes_no_long_time(noise):
    """No shape is searched for in more than linear time, whatever the text repeats."""

    def work(size: int) -> None:
        redact_text(f"password: {noise * (size // len(noise))} token")

    assert growth(work, 5_000) < LINEAR


def test_email_addresses_are_no_secrets():
    """They belong to many tasks."""
    assert redact_text("mail bob@example.com") == "mail bob@example.com"


_FRAGMENTS = st.sampled_from(
    [*(text for text, _ in SECRETS), *HARMLESS, "{{secret:1}}", "<secret>", "https://a.b/?", "password=", "#", "4", " "]
)


@given(st.lists(st.one_of(_FRAGMENTS, st.text(max_size=12)), max_size=5).map("".join))
def test_redacting_a_text_twice_changes_nothing_more(text):
    """Idempotent, for any mix of secrets, placeholders and noise."""
    once = redact_text(text)
    assert redact_text(once) == once


# ---- passwords ----


_SECRET_CONTROLS = {
    "Password": "en",
    "txtUserPassword": "en",
    "new_password_2": "en",
    "PIN": "en",
    "pinCode": "en",
    "OTP": "en",
    "CVV": "en",
    "Security code": "en",
    "API key": "en",
    "Passwort": "de",
    "Mot de passe": "fr",
    "Contraseña": "es",
    "Mật khẩu": "vi",
    "Пароль": "ru",
    "密码": "zh",
    "パスワード": "ja",
    "비밀번호": "ko",
}


@pytest.mark.parametrize("control", _SECRET_CONTROLS)
def test_what_is_typed_into_a_secret_control_is_a_secret(control):
    """By the control's name, in many languages and spellings."""
    clean = redact(a_run(typed(SECRET, control)))
    assert clean.steps[0].parameters == {"text": "{{secret:1}}"}
    assert clean.slots == {"secret:1": "password"}


def test_a_control_can_be_secret_by_its_type():
    """Some logs carry the kind of field."""
    clean = redact(a_run(a_step(1, "fill", "Login", kind="PasswordBox", parameters={"value": SECRET})))
    assert clean.steps[0].parameters == {"value": "{{secret:1}}"}


def test_a_password_is_removed_from_every_text_of_the_run():
    """Plain, escaped for HTML, URLs and JSON, wherever it is echoed."""
    secret = """p'<w>&"/x 9"""
    escapes = [html.escape(secret), quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]]
    forms = " ".join([secret, *escapes])
    clean = redact(
        a_run(
            typed(secret, "Password", observation=forms, result=forms),
            a_step(2, "click_input", f"shows {secret}", parameters={forms: [{"a": forms}]}, error=forms, agent=secret),
            request=f"use {forms}",
            subtask=f"type {forms}",
            applications=(f"app {secret}",),
            plan=(forms,),
            tips=(forms,),
            outcome=Outcome(success=False, failure_reason=forms),
            source_files=(f"logs/{secret}.log",),
            problems=(Problem(file="f", code="c", message=forms),),
        )
    )
    text = clean.model_dump_json() + str(clean.model_dump())
    for form in [secret, *escapes]:
        assert form not in text
        assert json.dumps(form)[1:-1] not in text


def test_secret_arguments_go_whatever_the_action():
    """A key passed as an argument is found by the argument's name, also deep inside."""
    parameters = {
        "command": "ls",
        "api_key": "not-a-known-shape",
        "env": {"DB_PASSWORD": "plainword"},
        "max_tokens": 50,
    }
    clean = redact(a_run(a_step(1, "execute_command", parameters=parameters, result="api_key='not-a-known-shape'")))
    assert clean.steps[0].parameters == {
        "command": "ls",
        "api_key": "{{secret:1}}",
        "env": {"DB_PASSWORD": "{{secret:2}}"},
        "max_tokens": 50,
    }
    assert clean.steps[0].result == "api_key='{{secret:1}}'"


def test_a_form_field_is_judged_by_the_name_beside_it():
    """Forms are filled as lists of names and values."""
    fields = [{"name": "Password", "value": "swordfish"}, {"name": "City", "value": "Oslo"}]
    clean = redact(a_run(a_step(1, "fill_form", parameters={"fields": fields})))
    assert clean.steps[0].parameters["fields"] == [
        {"name": "Password", "value": "{{secret:1}}"},
        {"name": "City", "value": "{{input:1}}"},
    ]


def test_text_without_a_control_goes_into_the_control_used_before():
    """A click on the password field, then plain typing."""
    clean = redact(
        a_run(a_step(1, "click_input", "Password"), a_step(2, "type_keys", parameters={"keys": "abc123{ENTER}"}))
    )
    assert clean.steps[1].parameters == {"keys": "{{secret:1}}{ENTER}"}


def test_a_tab_leads_from_the_user_name_into_the_password():
    """In one string of keys, and as a step of its own."""
    assert sent("type_keys", "User name", "alice{TAB}wonderland{ENTER}") == "{{input:1}}{TAB}{{secret:1}}{ENTER}"
    steps = [typed("alice", "Email"), a_step(2, "press", parameters={"key": "Tab"}), typed("wonderland", "")]
    assert redact(a_run(*steps)).steps[2].parameters == {"text": "{{secret:1}}"}


def test_what_is_pasted_into_a_password_is_secret_where_it_was_copied():
    """The clipboard is a way round every control name."""
    steps = [
        a_step(1, "set_clipboard", parameters={"text": "wonderland"}),
        a_step(2, "click", "Password"),
        a_step(3, "hotkey", parameters={"keys": ["ctrl", "v"]}),
    ]
    clean = redact(a_run(*steps))
    assert clean.steps[0].parameters == {"text": "{{secret:1}}"}
    assert clean.steps[2].parameters == {"keys": ["ctrl", "v"]}


def test_values_a_reader_calls_sensitive_are_removed():
    """A log that flags its password controls is believed; the list itself does not survive."""
    clean = redact(a_run(typed("wonderland", "Edit", observation="wonderland"), sensitive=("wonderland{ENTER}", "a")))
    assert clean.steps[0].parameters == {"text": "{{secret:1}}"}
    assert (clean.steps[0].observation, clean.sensitive) == ("{{secret:1}}", ())


def test_a_short_secret_does_not_tear_other_words_apart():
    """A PIN of three digits goes where it stands alone."""
    clean = redact(a_run(typed("737", "CVV", observation="CVV 737 of order A7371")))
    assert clean.steps[0].observation == "CVV {{secret:1}} of order A7371"


# ---- key by key ----


def test_typing_key_by_key_is_joined_before_detection():
    """One step per key, braces and a slip of the finger; what stands between could spell the word."""
    keys = ["{P}", "a", "s", "x", "{BACKSPACE}", "s", "{SPACE}", "9"]
    steps = [
        a_step(
            n,
            "type_keys",
            "Password",
            parameters={"keys": key},
            observation=f"so far {n}",
            result=f"typed {key}",
            cost=0.5,
        )
        for n, key in enumerate(keys, 1)
    ]
    clean = redact(a_run(*steps, a_step(9, "click_input", "OK", observation="Pass 9 was typed")))
    assert [s.step_number for s in clean.steps] == [1, 9]
    assert clean.steps[0].parameters == {"keys": "{{secret:1}}"}
    assert (clean.steps[0].result, clean.steps[0].cost) == ("success", 4.0)
    assert clean.steps[1].observation == "{{secret:1}} was typed"


def test_braces_and_lists_of_single_keys_are_joined():
    """`{P}{a}{s}` and `["P", "a", "s"]` are the same text."""
    lists = a_step(2, "press_keys", "Password", parameters={"keys": ["P", "a", "s", "s", "9"]})
    clean = redact(a_run(a_step(1, "type_keys", "Password", parameters={"keys": "{P}{a}{s}{s}{9}"}), lists))
    assert [s.parameters["keys"] for s in clean.steps] == ["{{secret:1}}", ["{{secret:1}}"]]


def test_two_single_key_shortcuts_are_not_text():
    """`j`, `k` in a mail program stay keys."""
    steps = [a_step(n, "press", parameters={"key": key}) for n, key in enumerate("jk", 1)]
    assert [s.parameters["key"] for s in redact(a_run(*steps)).steps] == ["j", "k"]


@pytest.mark.parametrize(
    "keys",
    ["{ENTER}", "{VK_CONTROL}a", "{VK_CONTROL}a{DELETE}", "^s", "%{F4}", "ctrl+s", "ctrl-shift-t", "{TAB 3}", "F5"],
)
def test_key_chords_are_kept(keys):
    """They are the procedure, not a value."""
    assert is_chord(keys)
    assert sent("keyboard_input", "Document", keys) == keys


@pytest.mark.parametrize("keys", ["hello", "50% off", "a+b", "1", "{hello}", "enter the room"])
def test_text_is_no_chord(keys):
    """Signs that could be modifiers do not hide text."""
    assert not is_chord(keys)


def test_only_the_text_between_keys_becomes_a_slot():
    """Keys pressed around it stay where they were."""
    assert sent("type_keys", "Cell", "{VK_CONTROL}ahello{TAB}world{ENTER}") == (
        "{VK_CONTROL}a{{input:1}}{TAB}{{input:2}}{ENTER}"
    )


# ---- typed text ----


def test_typed_text_becomes_a_slot_with_a_type():
    """The value goes, its kind stays."""
    clean = redact(a_run(typed("meeting notes"), typed("bob@example.com", "To"), typed("42", "Count")))
    assert [s.parameters["text"] for s in clean.steps] == ["{{input:1}}", "{{input:2}}", "{{input:3}}"]
    assert clean.slots == {"input:1": "text", "input:2": "email", "input:3": "number"}


def test_the_same_value_has_the_same_slot():
    """Typed twice, it is one parameter."""
    clean = redact(a_run(typed("Oslo", "From"), typed("Oslo", "To")))
    assert [s.parameters["text"] for s in clean.steps] == ["{{input:1}}", "{{input:1}}"]


@pytest.mark.parametrize("control", ["Search", "Type here to search", "menuFilter", "Suche", "搜索", "Tell me"])
def test_text_in_a_search_box_is_kept(control):
    """It names what the procedure looks for."""
    assert redact(a_run(typed("conditional formatting", control))).steps[0].parameters == {
        "text": "conditional formatting"
    }


def test_copies_of_a_typed_value_are_replaced_as_whole_words():
    """In observation, result, plan, tips and errors; a longer word that contains it stays."""
    clean = redact(a_run(typed("Oslo", observation="Oslo in Oslofjord", result="typed Oslo"), plan=("go to Oslo",)))
    assert clean.steps[0].observation == "{{input:1}} in Oslofjord"
    assert (clean.steps[0].result, clean.plan) == ("typed {{input:1}}", ("go to {{input:1}}",))


def test_a_control_named_like_a_typed_word_keeps_its_name():
    """A button "Save" stays a button; a name that is clearly a value does not."""
    clean = redact(a_run(typed("Save"), typed("Jane Doe"), a_step(3, "click", "Save"), a_step(4, "click", "Jane Doe")))
    assert [s.target_control.name for s in clean.steps[2:]] == ["Save", "{{input:2}}"]


def test_the_users_words_stay_and_the_slot_says_where_the_value_stands():
    """In the task (which slot), in the request only, or nowhere."""
    clean = redact(
        a_run(
            typed("hello there"),
            typed("bob@example.com", "To"),
            typed("Friday", "Subject"),
            typed("unsaid", "Cc"),
            request="Friday mail",
            subtask='Send "hello there" to bob@example.com',
        )
    )
    assert clean.subtask == 'Send "hello there" to bob@example.com'
    assert list(clean.slots.values()) == [
        "text from task slot 1",
        "email from task slot 2",
        "text from request",
        "text",
    ]


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ("a@b.example", "email"),
        ("https://a.example/x", "url"),
        ("2024-01-31", "date"),
        ("9:30 am", "time"),
        ("-1,250.50", "number"),
        ("+47 22 33 44 55", "phone"),
        ("=SUM(A1)", "formula"),
        ("C:\\a\\b", "path"),
        ("report.docx", "file"),
        ("hello", "text"),
    ],
)
def test_a_value_has_a_type(value, kind):
    """The kind of thing a placeholder stands for."""
    assert slot_type(value) == kind


def test_actions_that_type_nothing_keep_their_parameters():
    """Buttons, distances and the like are the procedure."""
    parameters = {"button": "left", "wheel_dist": -3, "name": "File", "double": False}
    assert redact(a_run(a_step(1, "click_input", "File", parameters=parameters))).steps[0].parameters == parameters


def test_a_placeholder_in_a_log_is_not_taken_for_one_of_ours():
    """Numbers start after those that are there already."""
    clean = redact(a_run(typed("hello", observation="{{input:7}}")))
    assert clean.steps[0].parameters == {"text": "{{input:8}}"}


# ---- the whole ----

_VALUES = st.sampled_from(
    [
        "Oslo",
        SECRET,
        "a",
        "{P}{a}{s}",
        "x{ENTER}y",
        "{VK_CONTROL}v",
        "bob@example.com",
        "https://a.b/?c=d",
        "sk-x",
        "{{input:1}}",
    ]
    + [text for text, _ in SECRETS[::6]]
)
_STEPS = st.builds(
    lambda action, control, key, value, seen, failed: a_step(
        1, action, control, parameters={key: value}, observation=seen, error="no" if failed else None
    ),
    st.sampled_from(["type_keys", "set_edit_text", "press", "click_input", "set_clipboard", "execute"]),
    st.sampled_from(["Password", "User name", "Search", "Body", ""]),
    st.sampled_from(["text", "keys", "api_key", "name"]),
    st.one_of(_VALUES, st.text(max_size=3), st.lists(_VALUES, max_size=3)),
    st.one_of(_VALUES, st.text(max_size=8)),
    st.booleans(),
)


@given(st.lists(_STEPS, max_size=6), _VALUES)
def test_redacting_a_trajectory_twice_changes_nothing_more(steps, request):
    """Idempotent and deterministic, whatever the run looks like."""
    once = redact(a_run(*steps, request=request))
    assert redact(once) == once
    assert redact(a_run(*steps, request=request)) == once


def test_a_control_named_after_a_value_of_the_task_is_a_slot():
    """In the next task the message has another name; a control named by one plain word keeps its name."""
    steps = (
        a_step(1, "click_input", "Team lunch, from Ada"),
        a_step(2, "click_input", "Archive"),
        a_step(3, "click_input", "Move"),
    )
    clean = redact(a_run(*steps, request='Move the message "Team lunch" to Archive'))
    assert [one.target_control.name for one in clean.steps] == ["{{input:1}}, from Ada", "Archive", "Move"]
    assert clean.slots == {"input:1": "text from task slot 1"}


def test_the_source_of_a_step_stays():
    """Every step can still be traced to its line."""
    place = Source(file="response.log", line=3)
    assert redact(a_run(typed("x", source=place))).steps[0].source == place


@pytest.mark.parametrize(
    "case", ["password_v1", "password_v2", "password_v2_echo", "password_v3", "api_key_in_arguments_v3"]
)
def test_no_secret_of_a_ufo_log_survives(data_folder: Path, case):
    """The values listed in expected.json are nowhere in the redacted trajectories."""
    traces = pytest.importorskip("ufo_experience.traces")
    folder = data_folder / "ufo_logs" / "broken" / case
    secrets = [item["value"] for item in json.loads((folder / "expected.json").read_bytes())["redactions"]]
    trajectories = list(traces.read_traces(folder, format="ufo"))
    assert trajectories
    for trajectory in trajectories:
        for known in (trajectory, trajectory.model_copy(update={"sensitive": ()})):
            text = redact(known).model_dump_json()
            assert "{{secret:1}}" in text
            assert not [secret for secret in secrets if secret in text]


def test_a_control_that_was_there_before_its_name_was_typed_keeps_it():
    """ "New folder" of the menu is no value; what was typed is one wherever it comes up later."""
    steps = [
        Step(step_number=1, action_type="click", target_control=Control(name="New folder")),
        Step(step_number=2, action_type="type", target_control=Control(name="Name"), parameters={"text": "New folder"}),
        Step(step_number=3, action_type="type", target_control=Control(name="To"), parameters={"text": "Ann Lee"}),
        Step(step_number=4, action_type="click", target_control=Control(name="Ann Lee")),
    ]
    values = {"request": "Tidy up", "outcome": Outcome(success=True), "format": "generic", "steps": steps}
    names = [step.target_control.name for step in redact(Trajectory.model_validate(values)).steps]
    assert names == ["New folder", "Name", "To", "{{input:2}}"]


@pytest.mark.parametrize(("typed", "said"), [("Bob", "I type Bob here"), ("张伟", "我在收件人输入张伟然后发送")])
def test_short_names_are_taken_out_of_what_is_said(typed, said):
    """A name of two or three letters; in scripts without spaces also inside a sentence."""
    step = Step(step_number=1, action_type="type", parameters={"text": typed}, observation=said)
    values = {"request": "Write", "outcome": Outcome(success=True), "format": "generic", "steps": [step]}
    clean = redact(Trajectory.model_validate(values))
    assert typed not in clean.steps[0].observation
    assert "{{input:1}}" in clean.steps[0].observation


PAD = ["5", "8 TUV", "4", "⌫", "3 DEF", "1"]


@pytest.mark.parametrize(
    ("request_", "kept"), [("Unlock the tablet with the PIN", "{{secret:1}}"), ("Add up the bill", "5")]
)
def test_keys_of_a_pad_are_a_code_where_something_is_unlocked(request_, kept):
    """Together the names of the keys spell it; on a calculator they do not."""
    steps = [a_step(n, "click", name, "Button") for n, name in enumerate(PAD, 1)]
    run = redact(a_run(*steps, a_step(7, "click", "OK", observation="5831 was typed"), request=request_))
    first = run.steps[0]
    assert first.parameters.get("text", first.target_control.name) == kept
    assert ("5831" in run.model_dump_json()) is (kept == "5")


@pytest.mark.parametrize(("request_", "is_code"), [("Confirm the login with the code", True), ("Rate it", False)])
def test_digits_typed_into_numbered_boxes_are_a_code_where_one_is_asked_for(request_, is_code):
    """Also where a message shows it in groups; ratings are typed one by one as well."""
    steps = [a_step(n, "type", f"Digit {n} of 6", "Edit", parameters={"text": c}) for n, c in enumerate("630917", 1)]
    run = redact(a_run(*steps, a_step(7, "click", "Code 630.917 confirmed", "Text"), request=request_))
    assert run.steps[0].parameters["text"] == ("{{secret:1}}" if is_code else "{{input:1}}")
    assert ("630.917" in run.model_dump_json()) is not is_code
    assert len(run.steps) == (2 if is_code else 7)


@pytest.mark.parametrize(
    ("control", "secret", "form"),
    [
        ("Hasło", "Jarzębina_nad_Wisłą", "Jarzebina_nad_Wisla.kdbx"),
        ("Kennwort", "Straßenfest", "Strassenfest.kdbx"),
        ("Adgangskode", "Rødgrød7", "rodgrod7.kdbx"),
        ("WPA pre-shared key", "Marzipan/Quay/20", "key M a r z i p a n / Q u a y / 2 0"),
    ],
)
def test_a_typed_secret_is_known_without_its_marks_and_spelled_apart(control, secret, form):
    """A file is named after it in plain letters; its signs are spelled with its letters."""
    left = redact(a_run(typed(secret, control), a_step(2, "click", form))).steps[1].target_control.name
    assert "{{secret:1}}" in left
    assert not any(part in left for part in form.removesuffix(".kdbx").removeprefix("key ").split("/"))
