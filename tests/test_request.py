"""A request parsed once: values, words, the clause that asks."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ufo_experience.errors import DataError
from ufo_experience.request import Request, Value, application_key, estimate_tokens, find_whole, stem, words


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ('Email "see you" to Jane Doe', "email <text> to <name>"),
        ("Email 'hi' to bob@corp.example", "email <text> to <email>"),
        ("Open C:\\docs\\report.docx in Word", "open <file> in word"),
        ("Keep it in C:\\Users\\Jürgen Groß\\Rechnungen for now", "keep it in <file> for now"),
        ("Open D:\\Neue Ablage\\Quarter 3.docx, copy C:\\a to \\\\nas\\b c\\d", "open <file>, copy <file> to <file>"),
        ("Open 'Quarter 3.docx' and type 'see you'", "open <file> and type <text>"),
        ("Book a room on March 3, 2024 at 10:30 am.", "book a room on <date> at <time>"),
        ("Book a room on 3 March at 7pm", "book a room on <date> at <time>"),
        ("Find phones under $300 at https://shop.example/x.", "find phones under <amount> at <url>"),
        ("Pay 1.200,50 € by 03/04/2024", "pay <amount> by <date>"),
        ("在3月5日下午3点打开设置", "在<date><time>打开设置"),
        ("Set B1:E30 to 50%", "set <name> to <number>"),
        ("Link the issue WEB-214 to INV-2024-7", "link the issue <number> to <number>"),
        ("Text +82 10 789 1234 that I am late", "text <number> that i am late"),
        ("Change the number to (030) 555-12 34 by 03/04/2024", "change the number to <number> by <date>"),
        ("Turn on Bluetooth", "turn on bluetooth"),
        ("Could you please turn on Bluetooth?", "turn on bluetooth"),
        ("Invite Ann, Bob and Carl", "invite <name>"),
        ("Bill Jan Kowalski and Tom Friday", "bill <name>"),
        ("Note that on Friday Tom Kent calls", "note that on <date> <name> calls"),
        ("Send Tom's Friday report", "send <name>'s <date> report"),
        ("Book Friday May 12 by Sunday", "book <date> by <date>"),
        ("Print January-June 2023", "print <date>-<date>"),
        ("summarize_document", "summarize_document"),
    ],
)
def test_values_become_marks(text, masked):
    """What differs from run to run is masked, each value as one; products belong to the procedure."""
    assert Request.parse(text).masked == masked


def test_a_time_a_date_and_an_amount_are_one_value_each():
    """Half a time is no value."""
    found = Request.parse("Alarm for 7:30 am on 2024-05-06, costs 12.50 EUR").values
    assert [(value.kind, value.text) for value in found] == [
        ("time", "7:30 am"),
        ("date", "2024-05-06"),
        ("amount", "12.50 EUR"),
    ]


def test_values_stand_where_they_say():
    """Without quotes as a text, with them as a place; neighbouring words are one name."""
    request = Request.parse('Email "hi" to Jane Doe')
    assert request.values == (Value("text", "hi", 6, 10), Value("name", "Jane Doe", 14, 22))
    assert request.template == "Email [text] to [name]"


def test_the_application_and_words_in_capitals_are_no_names():
    """Capitals everywhere tell nothing, and the name of the application is known."""
    assert Request.parse("Open the Ledger settings", "Ledger").values == ()
    assert Request.parse("Turn On The Night Light").values == ()


def test_what_may_be_sent_holds_no_marked_value():
    """Quoted text, numbers and addresses are plain words."""
    assert Request.parse("Type 'secret' on slide 4 for bob@corp.example").safe == (
        "type text on slide number for email address"
    )


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Turn on Bluetooth", "Turn on Bluetooth"),
        ("I want to switch on the Bluetooth. Can you help me?", "switch on the Bluetooth"),
        (
            "My leader asked me to download the sync log and save it as log.txt. Could you help me with this task?",
            "download the sync log",
        ),
        (
            "The cells are so big that I can not click. Please zoom out a little bit. Save the file as 'a.csv'.",
            "zoom out a little bit",
        ),
        ('Fill the numbers as "No. #" in the column. Finish the work.', 'Fill the numbers as "No. #" in the column'),
        ("To close the books of May, please follow these steps:\n1. Open the ledger", "close the books of May"),
        ("In this task, we want to sort the list:\n1. Click the funnel\n2. Click the button Run", "sort the list:"),
        ("Reply to Jonas saying we need another week.", "Reply to Jonas saying we need another week"),
        ("My quarter is over, I want to close the books.", "close the books"),
    ],
)
def test_the_clause_that_asks(text, asks):
    """Politeness, what led to the request and where the result is kept are its frame."""
    request = Request.parse(text)
    assert request.asks == asks
    assert list(request.words[slice(*request.asked)]) == list(Request.parse(asks).words)


def test_a_request_is_kept_and_read_without_parsing():
    """What the index keeps makes the same request."""
    request = Request.parse("在3月5日 send 'x' to Ann at two places", "Outlook")
    assert Request.from_json(json.loads(json.dumps(request.to_json()))) == request
    with pytest.raises(DataError, match="parsed request"):
        Request.from_json({"text": "x"})


@given(st.text(max_size=200))
def test_any_text_is_parsed(text):
    """Values stand in order within the text, and each word has its kind."""
    request = Request.parse(text)
    ends = [place for value in request.values for place in (value.start, value.end)]
    assert ends == sorted(ends)
    assert all(0 <= end <= len(text) for end in ends)
    assert len(request.words) == len(request.kinds)
    assert 0 <= request.asked[0] <= request.asked[1] <= len(request.words)
    assert isinstance(request.masked + request.safe + request.template, str)


@pytest.mark.parametrize("piece", ["\"'", "[", "a.b", "/a", "C:\\ ", "a@", "1,1.", "help me to ", "\\\\a\\", "“«"])
def test_hostile_text_is_parsed_fast(piece):
    """No expression runs away: eight thousand characters take a fraction of a second."""
    began = time.process_time()
    _ = Request.parse(piece * (8_000 // len(piece)) + "z").masked
    assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    ("one", "other"),
    [("emails", "email"), ("sorting", "sort"), ("copied", "copy"), ("attachments", "attachment"), ("boxes", "box")],
)
def test_forms_of_a_word_share_a_stem(one, other):
    """Plural, -ing, -ed."""
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("meet", "meat"), ("page", "pace"), ("date", "data"), ("form", "from")])
def test_different_words_stay_apart(one, other):
    """When in doubt the stemmer keeps words apart."""
    assert stem(one) != stem(other)


def test_scripts_without_blanks_give_pairs():
    """Chinese and Japanese are searched by pairs of characters."""
    assert words("打开设置 now") == ["打开", "开设", "设置", "now"]


def test_a_value_is_found_as_a_whole_word():
    """Not inside a longer word; Chinese has no blanks around it."""
    assert find_whole("Ann", "Anna and Ann") == 9
    assert find_whole("Ann", "Anna") == find_whole("", "Ann") == -1
    assert find_whole("设置", "打开设置页") == 2


def test_process_names_are_application_names():
    """Logs say OUTLOOK.EXE, people say Outlook; nothing fuzzy beyond that."""
    assert application_key("OUTLOOK.EXE") == application_key("Microsoft Outlook") == application_key("olk.exe")
    assert application_key("SystemSettings.exe") == application_key("Settings")
    assert application_key("Outlook") != application_key("Outlook Express")


def test_tokens_are_estimated_high():
    """A third of the bytes, digits dearer."""
    assert 4 <= estimate_tokens("Send an email") <= 7
    assert estimate_tokens("2024") > estimate_tokens("abcd")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Maria Lopez has left for good, remove the account", ["Maria Lopez"]),
        ("We are done. Renée Müller will be away", ["Renée Müller"]),
        ("Open Inbox and tidy it up", ["Inbox"]),
        ("The Annex page is broken", ["Annex"]),
    ],
)
def test_a_name_that_begins_a_sentence_is_told_from_a_verb_by_what_follows_it(text, names):
    assert [value.text for value in Request.parse(text).values] == names


@pytest.mark.parametrize("text", ["Open Excel for Jane Doe", "send it to Tom in SAP Logon", "close the window"])
@pytest.mark.parametrize("before", [None, "Excel"])
@pytest.mark.parametrize("application", [None, "Microsoft Excel", "SAP", "Jane"])
def test_a_request_within_another_application_is_what_parsing_it_there_gives(
    text: str, before: str | None, application: str | None
) -> None:
    assert Request.parse(text, before).within(application) == Request.parse(text, application)
