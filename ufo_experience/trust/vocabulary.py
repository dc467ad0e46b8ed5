"""Words of interfaces that no payload can be made of: what menus, pages and dialogs are called everywhere.

A name is taken for interface when all of its words are here, in the task, or agreed on by other runs. So the list is a
list of what may pass, never of what is bad: a word that is missing costs a hint, and an attack that nobody has thought
of is not let in. It holds no word that gives rights, sends, pays, shares, installs, deletes or switches a guard off.
"""

from __future__ import annotations

from ufo_experience.text.terms import stem


def _listed(text: str) -> frozenset[str]:
    return frozenset(form for word in text.casefold().split() for form in (word, stem(word)))


# Words of grammar and of descriptions: "the list shows its first page".
PLAIN = _listed(
    """
    a an the this that these those of in on at to for from by with without into onto up down out over under
    above below
    between and or not is are was were be been being it its my your his her our their me you we i as if than
    then so no yes
    has have had do does did can will would shall may might must now here there where when which who what how
    why all any
    each every other another same first second third last next previous current new old more less most least only also
    again already still yet just very too both one two three four five six seven eight nine ten some many few several
    top bottom left right middle center centre upper lower start end begin beginning before after during while until
    lost failed fails failure error errors exception missing wrong found such exist exists disappeared vanished
    unable cannot
    couldn't didn't doesn't invalid unknown timed timeout time ran steps limit cut loop stuck incorrect denied refused
    rejected locked busy offline unavailable covered crashed closed interrupted cancelled aborted gave result expected
    instead changed matched saved ended nothing something still
    main small large big empty blank visible hidden shown active selected checked unchecked available open
    opened closed clicked typed entered filled chosen appears appeared shows showed contains contained
    lists listed see seen look looks found finds find need needs want wants user task step request agent application
    app apps screen element elements field fields box boxes icon icons area areas part side choose
    """
)

# What things of an interface are called, in English.
INTERFACE = _listed(
    """
    ok okay cancel close back forward next previous skip done finish save apply continue retry reload refresh undo
    redo more less show view search find filter sort group order by name date size type kind file edit insert
    home tools
    help window windows table tables format layout references mailings review data draw design transitions animations
    slide slides show animation master theme themes page pages document documents sheet sheets workbook worksheet
    presentation cell cells row rows column columns header headers footer footers chart charts picture pictures image
    images photo photos shape shapes text font fonts bold italic underline paragraph paragraphs style styles heading
    headings title titles subtitle color colour colors colours fill border borders line lines margin margins
    orientation
    portrait landscape zoom print preview options option preferences preference settings setting general
    advanced basic
    custom default defaults properties property details detail info information about version language languages
    keyboard mouse display sound sounds volume brightness notifications notification system personalization
    personalisation background wallpaper screensaver desktop taskbar dock menu menus bar bars toolbar panel pane
    sidebar
    tab tabs ribbon dialog dialogue popup list lists grid tree item items folder folders library libraries category
    categories label labels tag tags note notes comment comments message messages mail mails email emails inbox outbox
    draft drafts sent archive subject body recipient to cc attachment attachments attach calendar event events meeting
    meetings appointment reminder reminders contact contacts people task tasks chat chats channel channels team teams
    project projects issue issues board boards card cards dashboard report reports overview summary history log logs
    profile bookmarks bookmark favorites favourites favorite favourite star starred recent downloads pictures music
    videos video audio media player play pause stop volume clock alarm alarms timer stopwatch time timezone zone
    region
    weather maps map route directions location locations place places battery power storage disk drive memory network
    internet wireless wlan wifi ethernet bluetooth devices device printer printers scanner camera microphone speaker
    speakers number numbers currency percent total subtotal sum average count minimum maximum value values function
    functions formula formulas range ranges selection select all none entire content contents copy cut paste
    replace match case whole words word duplicate rename move create add new blank template templates compose write
    address bar url site sites web website websites page result results query keyword keywords from until
    start end month months week weeks day days year years today tomorrow yesterday hour hours minute minutes second
    seconds monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december width height length weight quantity price amount rating reviews product
    products
    basket cart wishlist catalog department status state priority type assignee due progress stage field fields form
    forms column mode view views light dark high low normal medium automatic manual horizontal vertical left right
    center top bottom align alignment wrap merge split freeze panes gridlines pivot spelling grammar thesaurus
    translate
    dictionary track changes compare read reader scroll expand collapse hide unhide pin unpin minimize
    maximize restore drag sign log in out user username login welcome explorer manager editor viewer
    gallery terminal console clipboard find outline navigation navigate breadcrumb tooltip slider switch toggle button
    excel word powerpoint outlook teams onenote onedrive sharepoint access office explorer edge notepad paint
    calculator
    chrome chromium firefox safari opera bing google gmail youtube vlc gimp libreoffice calc writer impress
    thunderbird
    vscode code studio slack zoom skype github gitlab reddit olk winword excel powerpnt settings desktop
    checkbox radio combo dropdown edit textbox input placeholder key keys shortcut return enter escape space delta
    """
)

# Whole names of what leads on or closes a dialog, in the languages interfaces are commonest in.
WHOLE_NAMES = frozenset(
    name.casefold()
    for name in """
    OK|Yes|No|Reset|Clear|Password|Passwort|Kennwort|Mot de passe|Contraseña|Senha|Wachtwoord|Lösenord|
    Hasło|Пароль|密码|パスワード|Save|Send|Submit|Post|Reply|Reply all|Apply|Done|Finish|Next|Continue|
    Close|Cancel|Print|Publish|Confirm|Join|Open|New|New mail|New message|New email|Sign in|Log in|Sign out|
    Log out|Go|Search|Update|Download|Export|Import|Upload|Ja|Nein|Speichern|Senden|Übernehmen|Fertig|
    Weiter|Schließen|Abbrechen|Öffnen|Neu|Datei|Bearbeiten|Ansicht|Einfügen|Einstellungen|Suchen|Suche|
    Zurück|Drucken|Hinzufügen|Start|Extras|Hilfe|Anmelden|Neue E-Mail|Betreff|An|Optionen|Sichern|Daten|
    Filtern|Sortieren|Format|Posteingang|Oui|Non|Enregistrer|Envoyer|Appliquer|Terminer|Terminé|Suivant|
    Continuer|Fermer|Annuler|Ouvrir|Nouveau|Nouveau message|Fichier|Édition|Affichage|Insertion|Paramètres|
    Rechercher|Recherche|Retour|Imprimer|Ajouter|Accueil|Outils|Aide|Se connecter|Objet|À|Valider|Données|
    Trier|Filtrer|Sí|Guardar|Enviar|Aplicar|Finalizar|Listo|Siguiente|Continuar|Cerrar|Cancelar|Aceptar|
    Abrir|Nuevo|Nuevo mensaje|Redactar|Archivo|Editar|Ver|Insertar|Configuración|Ajustes|Buscar|Atrás|
    Imprimir|Añadir|Inicio|Herramientas|Ayuda|Iniciar sesión|Asunto|Para|Datos|Ordenar|Filtrar|Sì|Salva|
    Invia|Applica|Fine|Avanti|Continua|Chiudi|Annulla|Apri|Nuovo|File|Modifica|Visualizza|Inserisci|
    Impostazioni|Cerca|Indietro|Stampa|Aggiungi|Home|Strumenti|Guida|Accedi|Oggetto|A|Sim|Não|Salvar|
    Concluir|Concluído|Avançar|Próximo|Fechar|Novo|Nova mensagem|Arquivo|Exibir|Inserir|Configurações|
    Pesquisar|Voltar|Adicionar|Início|Ferramentas|Ajuda|Entrar|Assunto|Opslaan|Verzenden|Toepassen|Gereed|
    Volgende|Doorgaan|Sluiten|Annuleren|Openen|Nieuw|Bestand|Bewerken|Beeld|Invoegen|Instellingen|Zoeken|
    Terug|Afdrukken|Toevoegen|Spara|Skicka|Klar|Nästa|Fortsätt|Stäng|Avbryt|Öppna|Ny|Arkiv|Redigera|Visa|
    Infoga|Inställningar|Sök|Tillbaka|Lagre|Lukk|Fil|Rediger|Vis|Innstillinger|Søk|Tallenna|Lähetä|Valmis|
    Seuraava|Sulje|Peruuta|Zapisz|Wyślij|Zastosuj|Gotowe|Dalej|Zamknij|Anuluj|Otwórz|Nowy|Plik|Edycja|Widok|
    Ustawienia|Szukaj|Wstecz|Uložit|Odeslat|Hotovo|Další|Zavřít|Zrušit|Otevřít|Soubor|Úpravy|Nastavení|
    Hledat|Mentés|Küldés|Kész|Tovább|Bezárás|Mégse|Fájl|Beállítások|Keresés|Kaydet|Gönder|Uygula|Bitti|
    İleri|Kapat|İptal|Tamam|Dosya|Düzenle|Görünüm|Ayarlar|Ara|Geri|Да|Нет|Сохранить|Отправить|Применить|
    Готово|Далее|Продолжить|Закрыть|Отмена|Открыть|Создать|Файл|Правка|Вид|Вставка|Настройки|Параметры|
    Поиск|Найти|Назад|Печать|Добавить|Главная|Сервис|Справка|Войти|Тема|Кому|Написать|Зберегти|Надіслати|
    Скасувати|Налаштування|Αποθήκευση|Αποστολή|Άκυρο|Κλείσιμο|Επόμενο|Ρυθμίσεις|Αναζήτηση|保存|发送|發送|
    应用|套用|完成|下一步|下一頁|继续|繼續|关闭|關閉|取消|确定|確定|打开|開啟|新建|新增|文件|檔案|编辑|編輯|
    查看|检视|檢視|插入|设置|設定|搜索|搜尋|返回|打印|列印|添加|主题|收件人|登录|登入|写信|输入框|送信|適用|
    完了|次へ|続行|閉じる|キャンセル|開く|新規|新規作成|ファイル|編集|表示|挿入|検索|戻る|印刷|追加|ホーム|
    ヘルプ|サインイン|ログイン|件名|宛先|はい|いいえ|新しい予定|저장|보내기|적용|완료|다음|계속|닫기|취소|
    확인|열기|새로 만들기|파일|편집|보기|삽입|설정|검색|뒤로|인쇄|추가|로그인|제목|حفظ|إرسال|تطبيق|تم|
    التالي|متابعة|إغلاق|إلغاء|فتح|جديد|ملف|تحرير|عرض|إدراج|الإعدادات|بحث|رجوع|طباعة|إضافة|موافق|رسالة جديدة|
    الموضوع|إلى|שמור|שלח|החל|סיום|הבא|סגור|ביטול|פתח|חדש|קובץ|עריכה|הגדרות|חיפוש|सहेजें|भेजें|रद्द करें|
    बंद करें|खोलें|सेटिंग|खोजें|บันทึก|ส่ง|ยกเลิก|ปิด|เปิด|ตั้งค่า|ค้นหา|ถัดไป|Lưu|Gửi|Hủy|Đóng|Mở|Cài đặt|
    Tìm kiếm|Tiếp theo|Simpan|Kirim|Batal|Tutup|Buka|Pengaturan|Cari|Berikutnya|Trimite|Salvează|Anulează|
    Închide|Setări|Caută|Înainte
    """.replace("\n", "").split("|")
    for name in (name.strip(),)
    if name
)
