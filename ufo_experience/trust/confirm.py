"""Before which steps a person is asked: those that give rights, send, pay, share, install, delete, run code or change
what guards the machine.

A step is judged by what it does: the verb, the kind of control, its name, and the place it stands in. A grave choice
("Manage roles") makes the button that carries it out ("Save") a step to ask before. A step whose control only its own
run knows is one too: nobody can say what it does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import dropwhile

from ufo_experience.actions import is_press, is_typing, plain
from ufo_experience.redact.hints import Hinted, Searched, begun, hints_of
from ufo_experience.redact.names import lets_in
from ufo_experience.redact.text import PLACEHOLDER
from ufo_experience.schema import Step
from ufo_experience.text.remembered import remembered
from ufo_experience.trust.risk import runs_commands

SEND, PAY, SHARE, INSTALL, DELETE, RUN, SECURITY, UNKNOWN = (
    "send", "pay", "share", "install", "delete", "run", "security", "unknown",
)  # fmt: skip

_JOB = r"(?:the |this )?(?:task|process|instance|server|service|machine|job|vm)"
_KEY = r".{0,16}(?:key|token|secret|cred)"
# Beginnings of words, by what they say a control does; one more signal beside verb, kind and place.
_NAMES: tuple[tuple[str, Hinted], ...] = tuple(
    (kind, begun(latin, others))
    for kind, latin, others in (
        (
            PAY,
            r"pay(?!roll|load|slip)|buy|purchas|place (?:your |an )?order|check ?out|transfer|donat|subscrib|withdraw"
            r"|refund|authori[sz]e"
            r"|bezahl|kauf|überweis|zahl(?:en|ung)|payer|paiement|ache?t|virement|valider le pai|pagar|pago"
            r"|compr(?:a|ar)\b"
            r"|transferir|pag(?:a|amento)|acquist|bonific|betal|kop(?:en|a)\b|köp|osta\b|maksa|zapła|kup\b|zaplat"
            r"|koupit|öde(?:me)?\b"
            r"|satın|оплат|купи|перевод|перевес|сплат",
            r"支付|付款|购买|購買|转账|轉帳|購入|支払|振込|결제|구매|송금|이체|دفع|شراء|تحويل|שלם|קנה|भुगतान|खरीद"
            r"|ชำระ|ซื้อ|โอน",
        ),
        (
            DELETE,
            r"delet|remov|unsubscrib|leave (?:group|team|chat|channel)|unblock (?!screen)|unlock (?!screen)"
            r"|block (?!screen)|lock (?!screen)|eras|wip(?:e|ing)|empty|uninstall|factory reset"
            r"|format (?:disk|drive|volume)|permanent"
            r"|discard|clear (?:data|all|history|browsing)|cancel (?:(?:my|the|this|your) )?(?:order|subscription"
            r"|membership"
            r"|standing|account|booking|reservation|appointment|meeting)|close (?:my |the )?account"
            r"|stornier|annulation|annuler (?:le|la|l'|ma|mon|cette)|cancelar (?:la|el|mi|a|o)\b|annulla (?:la|il|l')"
            r"|deactivat|terminate"
            rf"|stop {_JOB}|end {_JOB}|kill {_JOB}"
            r"|unshar|revok|lösch|entfern|leeren|deinstall|kündig|supprim|effac|vider|désinstall|résilier|elimin"
            r"|borra|vaciar|quitar"
            r"|desinstal|exclu|apagar|remover|rimuov|cancell|svuota|disinstall|verwijder|wissen|ta bort|radera"
            r"|slett|fjern|poista"
            r"|usuń|odinstal|smaza|odstran|odinst|töröl|eltávol|sil\b|kaldır|удал|очист|стер|видал|διαγραφ|șterge"
            r"|xóa|hapus",
            r"删除|刪除|清空|卸载|削除|消去|アンインストール|삭제|제거|حذف|إزالة|מחק|הסר|हटा|मिटा|ลบ|ถอนการติดตั้ง",
        ),
        (
            SECURITY,
            r"firewall|antivir|defender|malware|real-time|tamper|macro|enable (?:content|editing)|exclusion|encrypt"
            r"|two-step|two-factor"
            r"|multi-?factor|2fa|mfa|passw|passcode|remote|unattended|vpn|proxy|dns|certificat|permission|privileg"
            r"|administrat|admin\b"
            r"|roles?\b|grant|allow|give (?:control|access)|full control|delegat|forwarding|forward (?:all|mail)"
            r"|redirect|webhook"
            r"|approv|ban\b|kick\b|block\b(?! ?quote)|sperr|bloque|blokker|блокир"
            r"|collaborator|recovery|developer mode|load unpacked|unknown sources|automatic repl|link a device"
            r"|oauth|api key|policy"
            rf"|rotate {_KEY}|regenerate {_KEY}|member of|membership"
            r"|turn o(?:n|ff)|disabl|echtzeit|schutz|brandmauer|makro|passwort|kennwort|berechtig|erlaub|zulass"
            r"|fernzugriff|weiterleit"
            r"|deaktiv|ausschalt|pare-feu|mot de passe|autoris|désactiv|droits|cortafuegos|contraseñ|permit|permis"
            r"|desactiv|rol\b"
            r"|senha|firewall|consenti|disattiv|wachtwoord|toestaan|uitschak|lösenord|tillåt|hasło|zezw|wyłącz"
            r"|heslo|povol|vypn|jelszó"
            r"|şifre|izin|güvenlik|devre dışı|брандмауэр|парол|разреш|отключ|права|макрос|удалённ|дозвол|вимкн",
            r"防火墙|防火牆|杀毒|宏|マクロ|密码|密碼|权限|權限|允许|允許|禁用|关闭防|远程|遠端|パスワード|許可|無効"
            r"|リモート|방화벽|매크로|비밀번호|권한|허용"
            r"|원격|جدار الحماية|كلمة المرور|السماح|تعطيل|עט חומת|סיסמ|הרשא|पासवर्ड|अनुमति|รหัสผ่าน|อนุญาต",
        ),
        (
            SHARE,
            r"shar|invit|add people|add (?:a )?member|publi[cs]|anyone|everyone|general access|make available"
            r"|manage access|remove access|copy (?:\w{1,12} )?link|create (?:\w{1,12} )?link|get (?:\w{1,12} )?link"
            r"|link kopieren|copier le lien|copiar enlace"
            r"|teil(?:en)?\b|freigeb|einlad|partag|compart|condivid|delen\b|dela\b|uitnod|udostęp|sdílet|megoszt"
            r"|paylaş|davet|поделит"
            r"|доступ|пригла|общий",
            r"共享|分享|公开|公開|邀请|邀請|共有|招待|공유|초대|공개|مشارك|دعوة|שתף|הזמן|साझा|आमंत्र|แชร์|เชิญ",
        ),
        (
            INSTALL,
            r"install|updat(?:e|es) (?:now|all|and restart|plug|app|driver|firmware|system|software)"
            r"|add to (?:chrome|edge|firefox)|add extension|get (?:app|extension)|run anyway|instal"
            r"|aggiungi estens|asenna|zainst"
            r"|telepít|yükle|kur\b|установ|встанов",
            r"安装|安裝|インストール|설치|تثبيت|התקן|इंस्टॉल|ติดตั้ง",
        ),
        (
            SEND,
            r"send|submit|post\b|publish|reply all|tweet|merge|deploy|release|file (?:claim|return)|book (?:now|it)"
            r"|absend|senden|abschick"
            r"|veröffentlich|envoy|publier|soumettre|enviar|publicar|invia|inviare|pubblica|verz[eo]nd|verstu"
            r"|skicka|lähetä|wyślij|opubl"
            r"|odesl|küldés|gönder|yayınla|отправ|опублик|надісл|αποστολ|trimite|gửi|kirim",
            r"发送|發送|发布|發佈|提交|送信|投稿|公開する|보내|게시|제출|إرسال|نشر|שלח|פרסם|भेज|ส่ง|โพสต์",
        ),
    )
)
_HINTS = hints_of(names for _, names in _NAMES)
_CARRIES_OUT = begun(  # carries out what was chosen before
    r"ok|okay|yes(?:, [^\n]{1,30})?|save(?: changes)?|apply|done|confirm\b[^\n]{0,60}|continue|proceed|finish"
    r"|authori[sz]e"
    r"|accept|agree|create|add|update"
    r"|ja|speichern|sichern|übernehmen|fertig|bestätigen|ausführen|oui|enregistrer|appliquer|terminer"
    r"|valider|confirmer|sí|si|guardar"
    r"|aplicar|listo|aceptar|confirmar|salva|applica|conferma|sim|salvar|opslaan|toepassen|bevestigen|spara"
    r"|bekräfta|lagre|bekreft|tallenna"
    r"|zapisz|zastosuj|potwierdź|uložit|potvrdit|mentés|kaydet|uygula|onayla|tamam|да|сохранить|применить|готово"
    r"|подтвердить|зберегти"
    r"|确定|確定|保存|应用|套用|完成|确认|確認|適用|完了|はい|확인|저장|적용|완료|예|حفظ|تطبيق|تم|موافق|تأكيد|שמור"
    r"|החל|אישור",
    whole=True,
)
_ACTS = frozenset("button menuitem checkbox radio radiobutton toggle togglebutton switch splitbutton".split()) | {""}
_LEADS_ON = frozenset(
    "tab tabitem treeitem listitem link hyperlink row cell dataitem option text label header image".split()
)
_LINKS = frozenset("link hyperlink".split())
_TICKED = frozenset("checkbox radiobutton radio".split())
_SWITCHES = frozenset("switch toggle togglebutton".split())
_OPENS_OR_TICKS = _TICKED | {"menuitem"}
_FILLED = _TICKED | frozenset("edit combobox listitem spinner".split())
_TERMINAL = re.compile(r"(?i)terminal|console|shell|command ?(?:line|prompt)|powershell|\bbash\b|\bcmd\b")
_MESSAGE = re.compile(
    r"(?i)\b(?:message|chat|comment|reply|post|nachricht|kommentar|messag\w*|mensaje|mensagem|messaggio|bericht"
    r"|сообщен\w*)\b|消息|メッセージ|메시지"
)
_LOOK = (  # one command that changes nothing, without what a shell would put in or send on
    r"(?:cd|pushd|popd|pwd|ls|dir|ll|cat|type|head|tail|less|more|wc|du|df|ps|top|free|whoami|uname|uptime|which|where|stat"
    r"|file|grep|rg|cut|ping|nslookup|printenv|tasklist|netstat|ss|lsof|systeminfo"
    r"|git (?:status|log|diff|show|remote -v)|(?:docker|kubectl) (?:ps|images|get|logs|describe)|systemctl status"
    r"|(?:sudo )?nginx -t|(?:pip|npm|apt) (?:list|show|ls)|Get-\w{2,40}|(?:Select|Sort|Where|Measure)-Object|Select"
    r"|Format-(?:Table|List)|\w{1,20} --version)(?: [^\n;&|<>`$(){}]{0,200})?"
)
_LOOKS_ROUND = re.compile(rf"(?i){_LOOK}(?: ?(?:&&|;|\|) ?{_LOOK}){{0,5}}")
_ENTER = frozenset("enter return".split())
_DELETE_KEYS = frozenset("delete del entf suppr supr canc".split())
_WITH_CONTROL = frozenset("ctrl control strg cmd command".split())
_CONFIRMS = re.compile(  # "Confirm", "Order bevestigen": commits to what the run is about, whatever that is
    r"(?i)(?:.{1,24} )?(?:confirm|bestätigen|confirmer|confirmar|conferma|bevestigen|bekräfta|bekreft|potwierdź"
    r"|potvrdit"
    r"|onayla|подтвердить|确认|確認)(?: .{1,40})?"
)
_NAMES_A_PLACE = re.compile(  # of settings, without a deed
    r"(?i)(?:microsoft |windows )?(?:defender|firewall|macros?|vpn|proxy|dns|passwords?|passcode|permissions?|roles?"
    r"|certificates?|policy|recovery|remote|pare-feu|passwörter|berechtigungen|contraseñas|permisos)"
    r"(?: (?:client|settings?|firewall|manager|options?|\(\d+\)))?"
)


def confirm_of(step: Step, before: Sequence[Step] = ()) -> str | None:
    """Why a person is asked before `step`: send, pay, share, install, delete, run, security or unknown; None if not.

    `before` are the steps that led to it, in order.
    """
    kind = _does(step)
    if kind:
        return kind
    if _carries_out(step) or _pressed(step) & _ENTER:
        return _pending(before) or (SEND if _CONFIRMS.fullmatch(step.target_control.name.strip()) else None)
    return None


def _carries_out(step: Step) -> bool:
    name = step.target_control.name.strip()
    return _is_done_by(name) or (_CONFIRMS.fullmatch(name) is not None and not _fills_in(step))


def confirms(steps: Sequence[Step]) -> dict[int, str]:
    """The steps of a run to ask before: number of the step → why."""
    asked = [confirm_of(step, steps[:place]) for place, step in enumerate(steps)]
    for place in range(len(steps)):
        if asked[place] and _is_left_to(place, steps, asked):
            asked[place] = None
    return {step.step_number: why for step, why in zip(steps, asked, strict=True) if why}


def _is_left_to(place: int, steps: Sequence[Step], asked: Sequence[str | None]) -> bool:
    """True for a step whose effect only comes with a later one, before which a person is asked.

    So it is with a box that is ticked until a button saves it, and with what only opens a form: between it and the step
    that carries it out the form is filled in, or that step says itself what it does ("Checkout", "Place order"). A
    switch takes effect at once, and so does the first of two equal buttons, or one that is followed by a mere "Yes".
    """
    step, after = steps[place], steps[place + 1 :]
    if not after:
        return False
    if asked[place] == SECURITY and _NAMES_A_PLACE.fullmatch(step.target_control.name.strip()):
        return plain(step.target_control.type or "") not in _SWITCHES | _TICKED
    if asked[place] == UNKNOWN and plain(step.target_control.type or "") in _OPENS_OR_TICKS:
        return True
    if asked[place] != UNKNOWN and _is_carried_out(step, after):
        return True
    if plain(step.target_control.type or "") in _SWITCHES or asked[place] == RUN or _presses_delete(step):
        return False
    ends = next((number for number, one in enumerate(after) if not _fills_in(one)), None)
    if ends is None or asked[place + 1 + ends] in (None, RUN, UNKNOWN):
        return False
    return (ends > 0 or (asked[place] != SEND and _does(after[ends]) is not None)) and _way(after[ends]) != _way(step)


def _fills_in(step: Step) -> bool:
    """True for typing, choosing of a list, ticking: what is done in a form before it is sent off."""
    return is_typing(step.action_type) or plain(step.target_control.type or "") in _FILLED


def _way(step: Step) -> tuple[str, str]:
    return step.target_control.name.casefold(), plain(step.target_control.type or "")


def _is_carried_out(step: Step, after: Sequence[Step]) -> bool:
    """True for a box in a form, ticked and filled in until a button saves it: a person is asked before that one.

    A switch is none: it takes effect at once.
    """
    if plain(step.target_control.type or "") not in _TICKED:
        return False
    left = dropwhile(lambda one: is_typing(one.action_type) or plain(one.target_control.type or "") in _FILLED, after)
    button = next(left, None)
    return button is not None and (_carries_out(button) or _does(button) is not None)


def _does(step: Step) -> str | None:
    """The kind of consequence of a step itself."""
    if runs_commands(step.action_type) or _in_terminal(step):
        return None if _only_looks(step) else RUN
    if _presses_delete(step):
        return DELETE
    if is_typing(step.action_type) or is_press(step.action_type):
        return None
    role = plain(step.target_control.type or "")
    if PLACEHOLDER.fullmatch(step.target_control.name.strip()):
        return UNKNOWN if role in _ACTS else None
    kind = grave_kind(step.target_control.name) or _kind_of_deed(step.action_type)
    acts_too = {PAY, INSTALL} if role in _LINKS else {PAY}  # "Update now" is a link on many a page
    return None if role in _LEADS_ON and kind not in acts_too else kind


def _pending(before: Sequence[Step]) -> str | None:
    """What the steps since something was last carried out have chosen."""
    for step in reversed(before):
        name = step.target_control.name
        if is_typing(step.action_type) and _MESSAGE.search(name):
            return SEND
        if _is_done_by(name.strip()) or lets_in(name):
            return None
        kind = DELETE if _presses_delete(step) else grave_kind(f"{name} {_chosen(step)}")
        if kind:
            return kind
    return None


@remembered(8_192)
def grave_kind(text: str) -> str | None:
    """What a control of this name does, if that is something a person is asked before; else None."""
    searched = Searched(text, _HINTS)
    return next((kind for kind, names in _NAMES if any(searched.matches(names))), None)


@remembered(1_024)
def _kind_of_deed(action: str) -> str | None:
    """`grave_kind` of the words of an action: "SendMail"."""
    return grave_kind(" ".join(re.findall("[A-Z]?[a-z]+|[A-Z]+", action)))


@remembered(8_192)
def _is_done_by(name: str) -> bool:
    """True for the name of a button that carries out what was chosen."""
    return _CARRIES_OUT.is_in(name)


def _chosen(step: Step) -> str:
    """What was chosen of a list; what was typed says nothing of what a step does."""
    if is_typing(step.action_type):
        return ""
    return " ".join(str(value) for value in step.parameters.values() if isinstance(value, str) and len(value) <= 80)


def _in_terminal(step: Step) -> bool:
    place = f"{step.target_control.type or ''} {step.target_control.name}"
    return is_typing(step.action_type) and _TERMINAL.search(place) is not None


def _only_looks(step: Step) -> bool:
    """True for commands that change nothing: another folder, a list, the text of a file."""
    texts = [value for value in step.parameters.values() if isinstance(value, str)]
    return bool(texts) and all(_LOOKS_ROUND.fullmatch(text.removesuffix("{ENTER}").strip()) for text in texts)


def _pressed(step: Step) -> set[str]:
    """The names of the keys a step presses, in lower case."""
    if not is_press(step.action_type) and "key" not in plain(step.target_control.type or ""):
        return set()
    texts = [step.target_control.name, *(v for v in step.parameters.values() if isinstance(v, str))]
    return {word.casefold() for text in texts for word in re.findall(r"[A-Za-z]+", text)}


def _presses_delete(step: Step) -> bool:
    return bool(_pressed(step) & _DELETE_KEYS) and not _pressed(step) & _WITH_CONTROL
