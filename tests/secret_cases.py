"""A labelled set for the removal of secrets: 20 kinds × 10 planted ones in running text, and texts that hold none.

The values are made from a fixed seed and never written out whole, so that no scanner takes this file for a leak.
The set was written before `redaction/patterns.py` was read; `docs/security.md` gives the figures of that first run.
"""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_UPPER, _LOWER, _DIGITS = string.ascii_uppercase, string.ascii_lowercase, string.digits
_ALNUM = _UPPER + _LOWER + _DIGITS
_B64 = _ALNUM + "+/"
_URLSAFE = _ALNUM + "-_"


@dataclass(frozen=True)
class Case:
    """A text with one secret in it."""

    kind: str
    text: str
    secret: str


def _pick(rng: random.Random, letters: str, count: int) -> str:
    return "".join(rng.choice(letters) for _ in range(count))


def _luhn(rng: random.Random, prefix: str, length: int) -> str:
    body = prefix + _pick(rng, _DIGITS, length - len(prefix) - 1)
    total = 0
    for place, digit in enumerate(reversed(body)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return body + str(-total % 10)


def _iban(rng: random.Random, country: str, length: int) -> str:
    body = _pick(rng, _DIGITS, length)
    number = int("".join(str(int(letter, 36)) for letter in body + country + "00"))
    plain = f"{country}{98 - number % 97:02d}{body}"
    return " ".join(plain[i : i + 4] for i in range(0, len(plain), 4)) if rng.random() < 0.5 else plain


def _password(rng: random.Random) -> str:
    return _pick(rng, _UPPER, 1) + _pick(rng, _LOWER, 5) + _pick(rng, "!#$%&*-", 1) + _pick(rng, _DIGITS, 3)


def _jwt(rng: random.Random) -> str:
    head = base64.urlsafe_b64encode(b'{"alg":"HS256","typ":"JWT"}').decode().rstrip("=")
    body = (
        base64.urlsafe_b64encode(f'{{"sub":"{rng.randrange(10**9)}","iat":1700000000}}'.encode()).decode().rstrip("=")
    )
    return f"{head}.{body}.{_pick(rng, _URLSAFE, 43)}"


def _pem(rng: random.Random) -> str:
    kind = rng.choice(["RSA ", "", "EC ", "OPENSSH "])
    body = "\n".join(_pick(rng, _B64, 64) for _ in range(4))
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n-----END {kind}PRIVATE KEY-----"


def _card(rng: random.Random) -> str:
    number = rng.choice([_luhn(rng, "4", 16), _luhn(rng, "52", 16), _luhn(rng, "37", 15)])
    if len(number) == 15 or rng.random() < 0.3:
        return number
    return rng.choice([" ", "-"]).join(number[i : i + 4] for i in range(0, 16, 4))


def _ssn(rng: random.Random) -> str:
    return f"{rng.randrange(1, 665):03d}-{rng.randrange(1, 99):02d}-{rng.randrange(1, 9999):04d}"


def _vendor(rng: random.Random) -> str:
    makers: list[Callable[[], str]] = [
        lambda: "hf_" + _pick(rng, _ALNUM, 34),
        lambda: "npm_" + _pick(rng, _ALNUM, 36),
        lambda: "SG." + _pick(rng, _URLSAFE, 22) + "." + _pick(rng, _URLSAFE, 43),
        lambda: _pick(rng, "123456789", 1) + _pick(rng, _DIGITS, 8) + ":AA" + _pick(rng, _URLSAFE, 33),
        lambda: "pypi-AgEIcHlwaS5vcmc" + _pick(rng, _URLSAFE, 60),
        lambda: "sk-ant-" + "api03-" + _pick(rng, _URLSAFE, 90),
        lambda: "dop_v1_" + _pick(rng, "0123456789abcdef", 64),
    ]
    return rng.choice(makers)()


_MAKERS: dict[str, Callable[[random.Random], str]] = {
    "openai key": lambda r: r.choice(["sk-proj-", "sk-", "sk-svcacct-"]) + _pick(r, _ALNUM, 48),
    "aws key id": lambda r: r.choice(["AKIA", "ASIA"]) + _pick(r, _UPPER + "234567", 16),
    "aws secret": lambda r: _pick(r, _B64, 40),
    "github token": lambda r: r.choice(["ghp_", "gho_", "ghs_"]) + _pick(r, _ALNUM, 36),
    "gitlab token": lambda r: "glpat-" + _pick(r, _URLSAFE, 20),
    "slack token": lambda r: f"xoxb-{_pick(r, _DIGITS, 11)}-{_pick(r, _DIGITS, 12)}-{_pick(r, _ALNUM, 24)}",
    "stripe key": lambda r: r.choice(["sk_live_", "rk_live_"]) + _pick(r, _ALNUM, 24),
    "google key": lambda r: "AIza" + _pick(r, _URLSAFE, 35),
    "jwt": _jwt,
    "private key": _pem,
    "card": _card,
    "iban": lambda r: _iban(r, *r.choice([("DE", 18), ("FR", 23), ("ES", 20)])),
    "ssn": _ssn,
    "password": _password,
    "url password": _password,
    "bearer": lambda r: _pick(r, _URLSAFE, 40),
    "connection string": _password,
    "one-time code": lambda r: _pick(r, _DIGITS, 6),
    "generic api key": lambda r: _pick(r, "0123456789abcdef", 32),
    "vendor token": _vendor,
}

_PLAIN = [
    "Paste {s} into the key field and save",
    "The settings dialog shows {s} in plain sight",
    "export TOKEN={s}",
    "I typed {s} and pressed Enter",
    "Einstellungen: {s} wurde eingetragen",
    'curl -H "X-Auth: {s}" https://host.example/v1',
    "({s})",
    "key={s}, region=eu",
    "{s}",
    "Use '{s}' when it asks.",
]
_CONTEXTS: dict[str, list[str]] = {
    "aws secret": [
        "aws_secret_access_key = {s}",
        "AWS_SECRET_ACCESS_KEY={s}",
        '"SecretAccessKey": "{s}"',
        "export AWS_SECRET_ACCESS_KEY='{s}'",
        "the secret access key is {s}",
        "Secret access key: {s}",
        "aws configure set aws_secret_access_key {s}",
        "secret_key: {s}",
        "awsSecretKey={s}",
        "type {s} into 'AWS Secret Access Key'",
    ],
    "card": [
        "Pay with card {s} and confirm",
        "The card number is {s}, valid until next year",
        "Enter {s} in the card field",
        "Kreditkarte {s} hinterlegen",
        "cc: {s}",
        "Charge {s} for the order",
        "carte {s}",
        "number={s}",
        "{s}",
        "Use my Visa {s} please",
    ],
    "iban": [
        "Transfer 50 EUR to {s}",
        "IBAN {s}",
        "Die IBAN lautet {s}.",
        "account {s} at my bank",
        "to: {s}",
        "Enter {s} as the recipient",
        "compte {s}",
        "iban={s}",
        "{s}",
        "Überweise an {s} bis Freitag",
    ],
    "ssn": [
        "My SSN is {s}",
        "social security number {s}",
        "SSN: {s}",
        "Fill {s} into the Social Security field",
        "ssn={s}",
        "Her social security no. is {s}.",
        "taxpayer {s} filed",
        "Enter {s} for SSN",
        "SSN {s} on the W-2 form",
        "Social Security #: {s}",
    ],
    "password": [
        "The password is {s}",
        "Set the password to {s}",
        "password: {s}",
        "Log in as jane with password {s}",
        "Passwort: {s}",
        "pwd={s}",
        "mot de passe : {s}",
        "my new passphrase is {s}",
        "Use the password '{s}' to unlock the file",
        "contraseña: {s}",
    ],
    "url password": [
        "Open https://jane:{s}@host.example/inbox",
        "git clone https://bot:{s}@git.example/team/repo.git",
        "ftp://upload:{s}@files.example",
        "postgresql://app:{s}@db.example:5432/prod",
        "mysql://root:{s}@localhost/shop",
        "mongodb+srv://admin:{s}@cluster0.example.net/test",
        "redis://default:{s}@cache.example:6379",
        "amqp://svc:{s}@queue.example//",
        "smtp://mail:{s}@mx.example:587",
        "proxy http://u:{s}@10.0.0.1:3128 set",
    ],
    "bearer": [
        "Authorization: Bearer {s}",
        "authorization: bearer {s}",
        "-H 'Authorization: Bearer {s}'",
        '"Authorization": "Bearer {s}"',
        "Add the header Authorization Bearer {s}",
        "Authorization=Bearer {s}",
        "use Bearer {s} for the call",
        "auth header is 'Bearer {s}'",
        "curl --oauth2-bearer {s} https://host.example",
        "Bearer {s}",
    ],
    "connection string": [
        "Server=db;Database=shop;User Id=sa;Password={s};",
        "Data Source=srv;Initial Catalog=c;User=sa;Pwd={s}",
        "host=db user=app password={s} dbname=prod",
        "jdbc:mysql://db/shop?user=root&password={s}",
        "Driver={{SQL Server}};Server=srv;UID=sa;PWD={s};",
        "DB_PASSWORD={s}",
        "PGPASSWORD={s} psql -h db",
        "spring.datasource.password={s}",
        "mysql -u root --password={s} shop",
        '"ConnectionString": "Server=a;Password={s};Encrypt=yes"',
    ],
    "one-time code": [
        "Your verification code is {s}",
        "{s} is your one-time code",
        "OTP: {s}",
        "Enter the code {s} from the authenticator app",
        "security code {s}",
        "Der Bestätigungscode lautet {s}",
        "Use {s} as your login code",
        "2FA code {s}",
        "Your one-time password is {s}.",
        "Type the SMS code {s}",
    ],
    "generic api key": [
        "api_key={s}",
        "API key: {s}",
        "x-api-key: {s}",
        '"apiKey": "{s}"',
        "the api key is {s}",
        "client_secret={s}",
        "access_token: {s}",
        "token = '{s}'",
        "set the secret to {s}",
        "AUTH_TOKEN={s}",
    ],
    "private key": ["{s}"] * 5 + ["The file holds\n{s}\nand nothing else"] * 5,
}


def planted(seed: int = 20251112) -> Iterator[Case]:
    """200 texts with a secret each: 20 kinds × 10."""
    rng = random.Random(seed)
    for kind, make in _MAKERS.items():
        for context in _CONTEXTS.get(kind, _PLAIN):
            secret = make(rng)
            yield Case(kind, context.replace("{s}", secret).replace("{{", "{").replace("}}", "}"), secret)


def innocent(seed: int = 7) -> Iterator[str]:
    """Texts of everyday UI work that look a little like secrets and are none: each must come out unchanged."""
    rng = random.Random(seed)
    hexa = "0123456789abcdef"
    made: list[Callable[[], str]] = [
        lambda: f"Pay invoice INV-{rng.randrange(10**6):06d} by Friday",
        lambda: f"Open order 4{_pick(rng, _DIGITS, 9)} and print it",
        lambda: f"Track parcel 1Z{_pick(rng, _ALNUM.upper(), 16)} with UPS",
        lambda: f"Set column A to {rng.randrange(10**8)}.{rng.randrange(100):02d}",
        lambda: (
            f"Rename it to report_{rng.randrange(2000, 2030)}{rng.randrange(1, 13):02d}{rng.randrange(1, 29):02d}.xlsx"
        ),
        lambda: f"Check out commit {_pick(rng, hexa, 40)}",
        lambda: f"Compare with revision {_pick(rng, hexa, 8)}",
        lambda: "The window id is " + "-".join(_pick(rng, hexa, n) for n in (8, 4, 4, 4, 12)),
        lambda: f"Call +49 {rng.randrange(30, 999)} {rng.randrange(10**6, 10**8)} tomorrow",
        lambda: f"Click the cell {rng.choice(_UPPER)}{rng.randrange(1, 999)}",
        lambda: f"Fill the range with =SUM({rng.choice(_UPPER)}1:{rng.choice(_UPPER)}{rng.randrange(9, 99)})",
        lambda: f"Book flight {_pick(rng, _UPPER, 2)}{rng.randrange(100, 9999)} on {rng.randrange(1, 28)} May",
        lambda: f"Update to version {rng.randrange(20)}.{rng.randrange(20)}.{rng.randrange(9999)}.{rng.randrange(99)}",
        lambda: f"Set the colour to #{_pick(rng, hexa, 6)}",
        lambda: f"Ping 192.168.{rng.randrange(255)}.{rng.randrange(255)}",
        lambda: f"Meeting ID: {_pick(rng, '123456789', 3)} {_pick(rng, _DIGITS, 3)} {_pick(rng, _DIGITS, 4)}",
        lambda: (
            f"Find ISBN 978-{rng.randrange(10)}-{_pick(rng, _DIGITS, 3)}-{_pick(rng, _DIGITS, 5)}-{rng.randrange(10)}"
        ),
        lambda: f"MAC address {':'.join(_pick(rng, hexa, 2) for _ in range(6))}",
        lambda: (
            f"Part no. {_pick(rng, _DIGITS, 3)}-{_pick(rng, _DIGITS, 2)}{rng.choice(_UPPER)}-{_pick(rng, _DIGITS, 4)}"
        ),
        lambda: f"The postal code is {rng.randrange(10000, 99999)}",
    ]
    fixed = [
        "Change the password in the settings",
        "Open the password manager",
        "Click 'Forgot password?'",
        "The password must have 12 characters",
        "Reset the token counter to zero",
        "Enter your verification code",
        "Turn on two-factor authentication",
        "Show the secret santa list",
        "Copy the API key from the dashboard",
        "Click Generate new token",
        "Sort by key, then by value",
        "Press the Windows key",
        "Set the pivot table's key column to Region",
        "Add the bearer of the document as a contact",
        "Write a card to Jane",
        "Set the code style to PEP8",
        "Open the source code of page 200100",
        "Set the zip code to 94107",
        "The country code is 0049",
        "Password field is empty",
        "password: required",
        "Type the word secret into the search box",
        "Kennwort vergessen?",
        "Select the option Token-based authentication",
        "Use the basic template",
        "Set basic authentication to off",
        "Open C:\\Users\\Public\\Documents\\Quarterly.docx",
        "Go to https://example.org/docs/getting-started",
        "Mail jane.doe@example.org about the offsite",
        "AutomationId: NavigationViewItemInvokedEventArgs",
        "class=MsoTableGridAccent1LightShading",
        "Select the font TimesNewRomanPSMT-BoldItalic",
        "click_input on ButtonSaveAsDialogPrimaryAction",
        "Set the PIN of the map to Berlin",
        "Enter 12345 as the quantity",
        "Set the width to 1200 and the height to 800",
        "Room code B-204, building 7",
        "The promo code is SUMMER",
        "Set error code 500 to red",
        "Chapter 3: Keys, tokens and passwords",
    ]
    for place in range(200):
        yield made[place % len(made)]()
    yield from fixed
