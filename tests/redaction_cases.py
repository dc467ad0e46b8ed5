"""A labelled set for redaction: texts with a secret, and texts that look as if they had one.

Keys are put together here so that no scanner takes this file for a leak; none was ever valid.
"""

from __future__ import annotations

import base64
import json

MIXED = "a8Kd02mZxQ71LpVb93TnYc64HsWr5GfEjU0iOo2PqX7dRt1NvBkMlS"
UPPER = "Q7ZK3MXP2RTN5VBW"
HEX = "9f8e7d6c5b4a39281706f5e4d3c2b1a0"


def _b64url(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


JWT = ".".join([_b64url({"alg": "HS256", "typ": "JWT"}), _b64url({"sub": "1234567890"}), MIXED[:43]])
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA7b" + MIXED + "\n-----END RSA PRIVATE KEY-----"
PGP = "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF" + MIXED + "\n-----END PGP PRIVATE KEY BLOCK-----"

# (text, secret): the secret must be gone, the words around it must stay.
SECRETS: list[tuple[str, str]] = [
    *[
        (f"{before}{key}{after}", key)
        for before, key, after in [
            ("the key is ", "sk-" + MIXED[:48], ""),
            ("OPENAI: ", "sk-proj-" + MIXED[:40] + "_" + MIXED[10:20], " ok"),
            ("use ", "sk-ant-api03-" + MIXED + "-AA", ""),
            ("", "AKIA" + UPPER, " in eu-west-1"),
            ("temporary ", "ASIA" + UPPER, "."),
            ("push with ", "ghp_" + MIXED[:36], ""),
            ("", "gho_" + MIXED[4:40], " expired"),
            ("fine-grained ", "github_pat_" + MIXED[:22] + "_" + MIXED[:50], ""),
            ("GitLab ", "glpat-" + MIXED[:20], ""),
            ("bot ", "xoxb-" + "123456789012-" + MIXED[:24], ""),
            ("user ", "xoxp-" + "98765432109-" + MIXED[:24], ""),
            ("maps ", "AIza" + MIXED[:35], ""),
            ("", "ya29." + MIXED[:40], " from oauth"),
            ("", "GOCSPX-" + MIXED[:28], ""),
            ("charge with ", "sk_live_" + MIXED[:24], ""),
            ("restricted ", "rk_test_" + MIXED[:24], ""),
            ("hook ", "whsec_" + MIXED[:32], ""),
            ("app ", "abC8Q~" + MIXED[:33], ""),
            ("model hub ", "hf_" + MIXED[:34], ""),
            ("", "npm_" + MIXED[:36], " published"),
            ("mail ", "SG." + MIXED[:22] + "." + MIXED[:43], ""),
            ("droplet ", "dop_v1_" + HEX + HEX, ""),
            ("lake ", "dapi" + HEX, ""),
            ("vault ", "hvs." + MIXED[:30], ""),
            ("chat bot ", "123456789:AA" + MIXED[:33], ""),
            ("cookie holds ", JWT, " still"),
            ("key file:\n", PEM, "\nend"),
            ("keyring ", PGP, ""),
        ]
    ],
    ("curl -H 'Authorization: Bearer " + MIXED[:32] + "' https://api.example.com", MIXED[:32]),
    ("Authorization: Basic dXNlcjpodW50ZXIyMTIz", "dXNlcjpodW50ZXIyMTIz"),
    ("postgresql://app:s3cr3tpw@db.example.com:5432/main", "s3cr3tpw"),
    ("redis://:hunter2hunter2@cache:6379", "hunter2hunter2"),
    ("https://bob:letMeIn99@example.com/repo.git", "letMeIn99"),
    ("mongodb+srv://root:Pa55w0rd@cluster0.example.net", "Pa55w0rd"),
    ("Server=db;Database=x;User Id=sa;Password=Str0ng!Pass;Encrypt=true", "Str0ng!Pass"),
    ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=" + (MIXED + MIXED)[:86] + "==;", (MIXED + MIXED)[:86]),
    ("aws_secret_access_key = " + MIXED[:40], MIXED[:40]),
    ("export DB_PASSWORD=correcthorse", "correcthorse"),
    ('{"password": "hunter2!x", "user": "bob"}', "hunter2!x"),
    ("set_edit_text(password='open sesame 7')", "open sesame 7"),
    ("client_secret: " + MIXED[:32], MIXED[:32]),
    ("api-key=" + HEX, HEX),
    ("X-Api-Key: " + HEX, HEX),
    ("accessToken: '" + MIXED[:30] + "'", MIXED[:30]),
    ("mysql --password=Tr0ub4dor -u root", "Tr0ub4dor"),
    ("sshpass -p hunter22 ssh host", "hunter22"),
    ("curl -u alice:wonderl4nd https://example.com", "wonderl4nd"),
    ("Set password field to Tr0ub4dor&3", "Tr0ub4dor&3"),
    ("log in with password hunter2-Secret!", "hunter2-Secret!"),
    ('the password is "swordfish"', "swordfish"),
    ("mein Passwort ist Geheim#2024", "Geheim#2024"),
    ("la contraseña es Verano2024!", "Verano2024!"),
    ("密码是 abc12345!", "abc12345!"),
    ("your OTP is 482913", "482913"),
    ("verification code: 091823", "091823"),
    ("enter PIN 4821 at the door", "4821"),
    ("CVV 737", "737"),
    ("card 4111 1111 1111 1111 exp 12/29", "4111 1111 1111 1111"),
    ("pay with 5555555555554444 now", "5555555555554444"),
    ("amex 378282246310005", "378282246310005"),
    ("diners 30569309025904", "30569309025904"),
    ("discover 6011-1111-1111-1117", "6011-1111-1111-1117"),
    ("JCB 3530111333300000", "3530111333300000"),
    ("transfer to DE89 3704 0044 0532 0130 00 today", "DE89 3704 0044 0532 0130 00"),
    ("IBAN GB82WEST12345698765432", "GB82WEST12345698765432"),
    ("FR14 2004 1010 0505 0001 3M02 606", "FR14 2004 1010 0505 0001 3M02 606"),
    ("her number 536-90-4399 is on file", "536-90-4399"),
    ("SSN: 536904399", "536904399"),
    ("hooks.slack.com/services/T0001/B0001/" + MIXED[:24], "T0001/B0001/" + MIXED[:24]),
]

# Texts that must come out as they went in.
HARMLESS: list[str] = [
    "Open invoice 4111111111111111 in the archive",  # passes Luhn, but says what it is
    "Order number 5555555555554444 has shipped",
    "Tracking 1Z999AA10123456784",
    "Pay invoice INV-2024-000123 of 1,250.00 EUR",
    "call +1 (415) 555-2671 or 030 1234567",
    "phone 415-555-2671",
    "dial 0049 30 901820",
    "ISBN 978-3-16-148410-0",
    "ISBN 9783161484100",
    "the GUID is 550e8400-e29b-41d4-a716-446655440000",
    "{7B2C4A6E-1F3D-4B5A-9C8E-0D1E2F3A4B5C}",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixes it",
    "sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "git checkout 4b825dc and rebase",
    "digits 1234567890123456 are no card",  # fails Luhn
    "4111 1111 1111 1112 fails its check digit",
    "3.14159265358979323846 is pi",
    "timestamp 1700000000000 in milliseconds",
    "run at 20240131120000123",
    "0000 0000 0000 0000",
    "EAN 4006381333931",
    "the port is 127.0.0.1:8080",
    "mac 00:1A:2B:3C:4D:5E",
    "IPv6 2001:0db8:85a3:0000:0000:8a2e:0370:7334",
    "version 10.0.19045.3803",
    "color #a1b2c3d4 on row 1024",
    "Change the password in Settings",
    "the password is incorrect",
    "Password: required",
    "password is required.",
    "Click the Password field",
    "Reset password for John Smith",
    "password = None",
    "password=$DB_PASSWORD",
    "password=<your password>",
    "password: ********",
    'password = os.environ["PW"]',
    "password={{secret:1}}",
    "Enter your PIN to continue",
    "Pin 'Reports' to the taskbar",
    "PIN code is required",
    "zip code 12345",
    "error code 80070005",
    "status code: 404",
    "area code 212",
    "verification code was sent to your phone",
    "max_tokens=4096",
    "token count: 1500",
    "token: expired",
    "the bearer of this letter",
    "basic functionality test",
    "Basic understanding-of-things is enough",
    "secret: false",
    "The Secret Garden by Burnett",
    "api_key = None",
    "add the api key later",
    "sk-learn-contrib is a package",
    "use sk-SK locale and risk-assessment-for-the-quarter",
    "AKIAK is a town",
    "eyJust.a.sentence with dots",
    "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK\n-----END PUBLIC KEY-----",
    "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
    "DE89 3704 0044 0532 0130 01 is mistyped",
    "AB12 CDEF 3456 is a part number",
    "FIRST SECOND THIRD 1234 5678",
    "part no. 123-45-6789",
    "case 000-12-3456",
    "extension 987-65-4321",
    "dates 2024-01-31 and 31/01/2024",
    "=SUM(A1:B20)*0.19",
    "C:\\Users\\bob\\Documents\\report 2024.docx",
    "mail alice@example.com about the offsite",
    "https://example.com/docs/install",
    "see http://localhost:8080/index.html",
    "git@github.com:owner/repo.git",
    "ftp://example.com/pub",
    "ratio 16:9, score 3-2",
    "room 4-101, seat 12A",
    "flight LH 400, booking ABC123",
    "Type 'hello world' into the box",
]
