"""The words that introduce a secret, in more than forty languages: a password, a code, a key, a phrase, what is locked.

Entries are separated by commas. A star stands for letters that may go on: `*kennwort*` is found in `Gastkennworts`.
Words of scripts without spaces are found anywhere. A space also stands for a hyphen, an underscore or nothing, a
question mark for any character.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ufo_experience.redact.hints import compiled

PASSWORD = """
*password*, *pasword*, *passwrd*, *passwd*, pass words, passwords?, pswd, pswrd, pwd, pwds, pw, p/w, pass,
passe, *passphrase*, *passcode*, pa$$word, pa$$phrase, passkey, creds, cred, *credential*, sudo, keepass,
log in data, login details, *passwort*, *kennwort*, *kennwörter*, *passwörter*, zugangsdaten, losung*,
mot* de passe, mdp, *contraseña*, *contrasena*, clave, *senha*, palavra passe, parole, parola*, parolă,
wachtwoord*, *lösenord*, lösen, *losenord*, *passord*, *adgangskode*, kodeord*, *salasana*, hasło, hasła,
hasłem, haslo, heslo, hesla, heslem, heslu, *jelszó*, *jelszava*, *jelszo*, paroli, parolele, parol, parolni, lozink*,
geslo, gesla, zaporka, parool*, slaptažodis, slaptažodži*, lykilorð*, contrasenya*, contrasinal, pasahitz*,
cyfrinair, wagwoord, nenosiri, *şifre*, sifre*, fjalëkalim*, kata sandi*, katasandi*, sandi, kata laluan*,
secret word, parola d'ordine, mot secret, geheimwort, 合い言葉,
mật khẩu, пароль*, пароля, пароле*, паролем, парола*, лозинк*, құпия сөз, нууц үг, κωδικό*, συνθηματικό, *סיסמה,
*סיסמא, *סיסמת, גישה, *كلمة المرور, *كلمة السر, *كلمة مرور, رمز عبور, گذرواژه, پاس ورڈ, पासवर्ड, পাসওয়ার্ড,
கடவுச்சொல், పాస్‌వర్డ్, പാസ്‌വേഡ്, ರಹಸ್ಯಪದ, პაროლ*, գաղտնաբառ*, รหัสผ่าน, ពាក្យសម្ងាត់, 密码, 密碼, 口令, パスワード,
暗証番号, 合言葉, 비밀번호, 비번, 암호
"""
# What also has other meanings: the value must look chosen beyond doubt.
ENTRY = """
login, log in, logon, log on, sign in, *anmeldung, connexion, identifiant*, unlock*, wifi key, network key,
wpa key, secret, geheimnis, typed, entered, logged in as, logged in with, replaced by, changed to, reset to,
set to, net use, saved creds, account, community string, snmp server community, sticky note, pre shared key,
psk, initial credential, start word, logga in, logg inn, log ind, inloggen,
inloggegevens, einloggen, anmelden, se connecter, connecte toi, iniciar sesión, entrar, accedi, accedere,
zaloguj się, wpisz, войти, вход
"""
# What is locked and opened by a number or a word, and what lets in.
LOCK = """
*padlock*, lock, bike lock, door lock, lock box, opens, unlocks, öffnet, entsperrt, s'ouvre, se abre, locker,
safe, vault, alarm*, keypad, key pad, suitcase, voicemail, front door, back door,
larm, larmet, двер*, dörren, drzwi, gate, garage, door, bank card,
debit card, credit card, cash machine, cash point, atm, sim, handy, beamer, combination, combo, kombination,
combinaison, combinación, combinazione, cijferslot, key safe, entry phone, intercom, bios, tablet, *tresor,
*schloss, *schloß, *tür, *alarmanlage, *koffer, cadenas, coffre, alarme, candado, alarma, caja fuerte,
cassaforte, lucchetto, allarme, kluis, fietsslot, hangslot, hänglås, kassaskåp, lås, sejf*, kłódk*, zamek,
domofon*, замок, замк*, сейф*, домофон*, 锁, 门禁, 금고, 현관
"""
OPENED = """
wi fi, wlan, hotspot, router, nas, zugang, unlocks, unlocked, opens, decrypts, lets you in, lets me in,
lets us in, lets them in, let you in, gets you in, get you in, *sperr*, *schlüssel*, meldet sich, se connecte,
entra, accedi, *inlog*, *anmelde*, *zugangs*, konto, konta, logs in, logs on, guest network, shared inbox,
shared box, panel, portal, locks you out, パス, 密钥, キー, key, phrase
"""
# A number or a code that lets in, whatever stands between; and words that say so of some codes only.
CODE = """
pin, pin1, pin2, puk1, pins, pincode, pin code, pin pad, *geheimzahl*, puk, puk2, tan, m tan, mtan, phototan,
pushtan, chiptan, smstan, sms tan, otp, totp, 2fa, cvv, cvv2, cvc, cvc2, cid, csc, *prüfziffer*,
*kartenprüfnummer*, cryptogramme*, kryptogram*, *pin kood*, *pin kod*, *pin kód*, *pin nummer*, *tunnuslu*,
*sicherheitscode*, *einmalcode*, *einmalpasswort*, *zugangscode*, *türcode*, *freigabecode*, *bestätigungscode*,
*anmeldecode*, one time password, one time code*, one time pin, single use code, verification code*,
confirmation code*, security code*, authentication code, authenticator code, sign in code, log in code,
login code, access code, door code, gate code, alarm code, entry code, unlock code, unlock pattern,
unlock number, lock pattern, sms code, recovery code*, backup code*, rescue code*, emergency code*,
scratch code*, pairing code, wiederherstellungscode*, ersatzcode*, freischaltcode, setup key, setup code,
2fa key, authenticator key, secret key, seed key, recovery key, *schlüssel notiert, three on the back,
three digits, four digits, five digits, six digits, drei ziffern, vier ziffern, sechs ziffern, trois chiffres,
quatre chiffres, six chiffres, tres cifras, cuatro cifras, tre cifre, quattro cifre, digicode,
code* de vérification, code* de sécurité, code* de confirmation, code* d'accès, code* de récupération,
code* de secours, código* de verificación, código* de seguridad, código* de acceso, código* de acesso,
código* de verificação, código* de segurança, código* de recuperación, código* de un solo uso,
codice di verifica, codice di sblocco, codice di sicurezza,
code de déverrouillage, código de desbloqueo, código de desbloqueio,
codice di accesso, codice di conferma, *inlogcode*, *verificatiecode*,
*beveiligingscode*, *pincode*, *toegangscode*, *engångskod*, *portkod*, *engangskode*, *kertakoodi*,
kod weryfikacyjny, kod autoryzacyjny, kod dostępu, kod sms, kod do domofonu, kod pin, ověřovací kód,
overovací kód, onay kodu, doğrulama kodu, пин, пин код*, пін, пін код*, код подтверждения, код доступа, код из смс,
код безопасности, κωδικός επαλήθευσης, κωδικός μιας χρήσης, رمز التحقق, *الرمز السري,
*الرقم السري, کد تایید, کد تأیید, सत्यापन कोड, ओटीपी,
যাচাইকরণ কোড, رمز التأكيد, קוד האימות, קוד אימות, mã xác nhận, mã xác minh, mã otp, kode verifikasi, kode otp,
รหัส otp, รหัสยืนยัน, 認証番号, 認証コード, 確認コード, 暗証番号, 验证码, 驗證碼, 校验码, 动态码, 인증번호,
恢复代码, 备用代码, リカバリーコード
"""
SOME_CODE = """
*code, *codes, code, codes, kod, koden, kodu, kodem, kode, koodi, koodin, kód, kódj*, kódom, код, código,
codice, codi, κωδικός, *رمز, *קוד, کد, कोड, কোড, コード, 代码, 코드, 코드번호, 보안코드, 取件码, 提取码, 授权码, 激活码,
digits, ziffern, chiffres, cifre
"""
# Beside one of those, or a key: what it is for, and no secret.
OTHER_CODE = """
quell, uni, byte, scan, primaire, étrangère, primaria, primär*,
area, postal, post, zip, country, primary, foreign, partition, cache, shortcut, hot, index, palabra, recipe,
error*, status, exit, return, http, product, order, color, colour, hex, dialling, dial, article, promo,
discount, bar, qr, source, dress, invoice, tax, cost, booking, room, flight, class, course, currency, swift,
sort, stock, item, batch, unit, model, reason, region, language, locale, ascii, sap, project, fehler*, artikel*,
farb*, vorwahl, projekt*, erreur, projet, barre, barras, pays, erro, produto, producto, país, fiscale, errore,
prodotto, błędu, pocztowy, kreskowy, ошибки, товара, 错误, 邮政, 郵便, 우편
"""
VOUCHER = """
voucher, gift card, gutschein*, licen?e, licen?e key, activation key, activation code, invite code,
invitation code, einladungscode, coupon, product key, join code, redeem, backup code*, recovery code*,
rescue code*, emergency code*, ersatzcode*, notfallcode*, zugangscode, freischaltcode, aktivierungscode
"""
# What is said of a secret, right behind it: how it is spelled, and that nobody is to know.
SPELLED = """
case sensitive, all lower case, all lowercase, all upper case, all in lower case, in lower case, lower case,
with the spaces, with spaces, no spaces, without spaces, one word, all one word, as one word, mit leerzeichen,
ohne leerzeichen, alles klein, kleingeschrieben, alles zusammen, in einem wort, capital, tout attaché,
tout en minuscules, todo junto, en minúsculas, tutto minuscolo, don't tell, do not tell, do not share,
don't share, keep it to yourself, keep it secret, between us, nicht weitersagen, bitte nicht weitersagen,
nicht weitergeben, für dich behalten, ne le dis à, no se lo digas, non dirlo, don't forget the capital
"""
UNLOCKS = """
unlocks, opens, decrypts, lets you in, lets me in, lets us in, gets you in, entsperrt, öffnet, entschlüsselt,
ouvre, déverrouille, abre, desbloquea, apre, sblocca, otwiera
"""
KEY = """
api key*, apikey, access key*, api token*, access token*, auth token*, auth key, secret token, secret key*,
deploy key*, deploy token*, service token*, service key*, token, bearer, private key*, encryption key,
decryption key, master key, signing key, session key, security key, aes key, hmac key, wep key, wpa key,
our key, the key, client secret, webhook secret, secret, schlüssel, clé, clave, credential, our token
"""
PHRASE = """
*passphrase*, pass phrase, pa$$phrase, seed phrase, seed words, recovery phrase, recovery words,
mnemonic phrase, mnemonic, seed, unlock phrase, secret phrase, backup phrase, wallet phrase, wallet words,
wallet seed, key phrase, keyphrase, code phrase, magic phrase, merksatz, phrase de passe,
phrase de récupération, frase semilla, frase de recuperación, wiederherstellungsphrase, twelve words, 12 words,
24 words
"""
LOOSE_PHRASE = """
the phrase, this phrase
"""
# What opens with a word that is told.
OPENED_WITH = """
unlocks with, unlock with, unlock it with, unlocked with, entsperrt mit, entsperren mit, entsperrst du mit,
déverrouille avec, se déverrouille avec, se desbloquea con, desbloquear con, si sblocca con, sblocca con,
desbloqueia com, ontgrendel met, lås upp med, lås op med
"""
ANSWER = """
secret question, security question, secret answer, security answer, maiden name, sicherheitsfrage,
question secrète, question de sécurité, pregunta de seguridad, domanda di sicurezza, memorable pet,
memorable place, memorable name, memorable word, memorable date, first pet, first school, first teacher,
first car, first street, childhood friend, favourite teacher
"""
DOCUMENT = """
ssn, social security, rv, sv nummer, ahv, *sozialversicherungs*, *versicherten*, steuer id, steuernummer,
national insurance, nhs, insurance number, social insurance, taxpayer, tax id, passport*, *reisepass*,
*ausweis*, identity card, id card, driving licen?e, driver's licen?e, licen?e holder, passeport, pasaporte,
passaporto, sort code, routing number, bsb, a/c, account number, account no, account nr, kontonummer,
bank account, dni, nif, codice fiscale, personnummer, pesel, bsn, document number, document no, national id
"""

_PIECE = 4  # characters of a noun by which a text is known to hold it, perhaps
_SPACELESS = re.compile("[\u0e00-\u0eff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_LISTS = {
    name: listed for name, listed in globals().items() if name.isupper() and isinstance(listed, str) and "," in listed
}


class Noun(NamedTuple):
    """A place where a noun stands, and the lists it is in."""

    start: int
    end: int
    lists: frozenset[str]


def find_nouns(text: str) -> Iterator[Noun]:
    """Every noun of a text.

    Only those are looked for of which a piece is there: that takes a tenth of the time.
    """
    lowered = text.lower()
    if len(lowered) != len(text):  # a letter whose small one is two: "İ"
        lowered = "".join(small if len(small := c.lower()) == 1 else c for c in text)
    for piece, listed in _pieces(text.isascii()).items():
        for entry, lists in listed if piece in lowered else ():
            pattern, within = _spelled(entry)
            for match in compiled(pattern).finditer(lowered):
                if within or not lowered[match.start() - 1 : match.start()].isalnum():
                    yield Noun(*match.span(), lists)


def entries(listed: str) -> list[str]:
    """The entries of a list, in small letters."""
    return [one for part in listed.replace("\n", ",").split(",") if (one := part.strip().lower())]


@cache
def _pieces(ascii_only: bool) -> dict[str, list[tuple[str, frozenset[str]]]]:
    """Pieces of nouns; for each the nouns that hold it, and the lists these are in."""
    lists: dict[str, list[str]] = {}
    for name, listed in _LISTS.items():
        for one in entries(listed):
            if not ascii_only or one.isascii():
                lists.setdefault(one, []).append(name)
    found: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for one, names in lists.items():
        longest = max(one.strip("*").replace("*", " ").replace("?", " ").split(), key=len)
        found.setdefault(longest[:_PIECE], []).append((one, frozenset(names)))
    return found


@cache
def _spelled(entry: str) -> tuple[str, bool]:
    """An entry as a pattern, and whether it may stand within a word.

    A star is letters, a space what may join words, `?` any character.
    """
    apart = entry.isascii() or _SPACELESS.search(entry) is None
    end = (r"[^\W\d_]{0,6}" if entry.endswith("*") else r"(?![^\W\d_])") if apart else ""
    body = re.escape(entry.strip("*")).replace(r"\ ", "[ _-]?").replace(r"\*", r"\w{0,2}").replace(r"\?", ".")
    return body + end, entry.startswith("*") or not apart
