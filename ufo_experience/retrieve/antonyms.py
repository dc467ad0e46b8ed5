"""The antonyms of user interfaces: one axis a line (continued on indented lines), its two ends parted by a bar.

"Do not show" is "hide", but "do not add" is not "remove": a negated word changes ends on the first three axes only.
"""

AXES = """
enable activate | disable deactivate
show display reveal unhide | hide conceal
allow permit grant give unblock whitelist | block deny forbid revoke remove prevent blacklist
add insert append attach create install include new put equip | remove delete erase clear drop detach uninstall
  exclude discard strip unset trash eliminate
open launch start begin run resume expand maximize | close quit exit stop end terminate kill pause collapse minimize
  halt shut
increase raise higher enlarge grow boost lengthen increment louder brighten brighter bigger larger widen up faster
  extend upscale | decrease reduce lower shrink lessen diminish shorten quieter dim darken darker smaller down slower
  trim downscale decrement
ascending ascendingly asc ascend | descending descendingly desc descend
oldest earliest | newest latest
lowest cheapest smallest shortest minimum least fewest lightest worst | highest priciest largest biggest longest
  maximum most heaviest best
left leftmost leftward | right rightmost rightward
first initial | last final
top upper topmost uppermost upward topside | bottom bottommost lower lowermost downward bottomside
above | below underneath
before preceding | after following
next forward ahead | previous back backward backwards prior rewind
upload | download
import load | export
send submit publish | receive unsend withdraw unpublish
accept approve confirm agree | decline reject refuse disapprove deny
merge join combine concatenate unite consolidate | split separate divide
lock protect secure | unlock unprotect
mute silence | unmute
undo revert | redo reapply
copy duplicate | cut
compress zip archive pack encode | decompress unzip extract unarchive unpack decode
encrypt | decrypt
connect pair link mount | disconnect unpair unlink unmount eject
like upvote love favorite favourite | dislike downvote unlike unfavorite
follow subscribe join | unfollow unsubscribe leave
read | unread
select check tick mark | deselect unselect uncheck untick unmark clear
public | private
portrait | landscape
horizontal horizontally row rows | vertical vertically column columns
uppercase capital capitalize | lowercase uncapitalize
indent | outdent unindent dedent
freeze | unfreeze thaw
group | ungroup
pin | unpin
wrap | unwrap
online | offline
lightmode | darkmode
manual manually | automatic automatically
buy purchase | sell
reserve book | cancel
borrow | lend return
promote upgrade advance | demote downgrade
push | pull pop
save keep store preserve retain | discard delete remove
wide wider | narrow narrower
checkin | checkout
let | stop forbid prevent
backup | restore
login | logout
present visible | absent invisible hidden
bold | unbold
entire all every whole | none
enter join | leave exit forget
deposit | withdraw
wake awake | sleep asleep hibernate
load | save
loud | quiet silent
complete finished | incomplete unfinished
incoming inbound | outgoing outbound
front foreground | behind background back rear
inside within | outside
day | night
minimal | full
local locally | remote remotely
assign | unassign
plus | minus
positive | negative
odd | even
tighten | loosen
earlier sooner | later
now immediately instantly | later postpone delay defer snooze
restore recover undelete | delete erase empty purge wipe trash
only | exclude except
readonly | edit editable
color colour | grayscale monochrome
twosided | onesided
another | same
acquire obtain | release
commit | rollback
expand | contract collapse
add | subtract
create build | destroy
resume | suspend
write | read
paste | cut
store | load
head | tail
advance | retreat
hire | fire reject
"""
NEGATED_AXES = 3

FOREIGN = """
enable: aktivieren aktiviere einschalten anschalten activer active activez allumer allume activar activa
  encender enciende attivare attiva accendere accendi ativar ative ligar ligue inschakelen aanzetten włącz
  włączyć включить включи включите 打开 开启 启用 オン 有効 켜기 켜줘
disable: deaktivieren deaktiviere ausschalten abschalten désactiver désactive désactivez éteindre éteins
  desactivar desactiva apagar apaga disattivare disattiva spegnere spegni desativar desative desligar desligue
  uitschakelen uitzetten wyłącz wyłączyć выключить выключи выключите отключить отключи
  关闭 关掉 停用 禁用 オフ 無効 끄기 꺼줘
open: öffnen öffne ouvrir ouvre ouvrez abrir abre apri aprire abra openen otwórz otworzyć открыть открой
  откройте 打开 開く 開いて 열기
close: schließen schließe fermer ferme fermez cerrar cierra chiudere chiudi fechar feche sluiten zamknij zamknąć
  закрыть закрой закройте 关闭 閉じる 閉じて 닫기
show: anzeigen zeige einblenden afficher affiche mostrar muestra mostrare mostra mostre tonen weergeven pokaż
  pokazać показать покажи 显示 表示
hide: ausblenden verbergen verstecken verstecke masquer masque cacher cache ocultar oculta nascondere nascondi
  oculte verbergen ukryj ukryć скрыть скрой 隐藏 非表示 隠す
add: hinzufügen anlegen anlege lege erstellen erstelle ajouter ajoute ajoutez créer crée créez añadir añade
  agregar agrega crear crea aggiungere aggiungi creare adicionar adicione criar crie toevoegen maken aanmaken
  dodaj dodać utwórz utworzyć добавить добавь создать создай создайте 添加 新建 创建 追加 作成 추가
remove: löschen lösche entfernen entferne supprimer supprime supprimez enlever enlève retirer effacer eliminar
  elimina borrar borra quitar quita eliminare cancella cancellare rimuovere rimuovi remover remova excluir
  exclua apagar apague verwijderen verwijder usuń usunąć удалить удали удалите 删除 移除 清除 削除 삭제
lock: sperren sperre verrouiller verrouille bloquear bloquea bloccare blocca bloqueie vergrendelen zablokuj
  заблокировать 锁定 ロック 잠금
unlock: entsperren entsperre déverrouiller déverrouille desbloquear desbloquea sbloccare sblocca desbloqueie
  ontgrendelen odblokuj разблокировать 解锁 ロック解除
increase: erhöhen erhöhe vergrößern lauter augmenter augmente aumentar aumenta aumentare aumente verhogen
  zwiększ увеличить увеличь 增加 提高 上げる
decrease: verringern verringere verkleinern leiser diminuer diminue réduire disminuir disminuye reducir
  diminuire riduci diminuir diminua verlagen zmniejsz уменьшить уменьши 降低 减少 下げる
accept: annehmen akzeptieren accepter accepte aceptar acepta accettare accetta aceitar aceite accepteren
  zaakceptuj принять прими 接受 承認
decline: ablehnen lehne refuser refuse rejeter rechazar rechaza rifiutare rifiuta recusar recuse weigeren
  afwijzen odrzuć отклонить отклони 拒绝 拒否
upload: hochladen téléverser subir sube caricare carica uploaden prześlij загрузить 上传
download: herunterladen télécharger descargar descarga scaricare scarica baixar baixe downloaden pobierz скачать
  скачай 下载
mute: stummschalten silenciar silencia wyciszyć wycisz dempen 静音 ミュート
first: erste ersten premier première primero primera primo prima primeiro primeira eerste pierwszy первый 第一 最初
last: letzte letzten dernier dernière último última ultimo ultima laatste ostatni последний 最后 最後
ascending: aufsteigend croissant ascendente crescente oplopend rosnąco возрастанию 升序 昇順
descending: absteigend décroissant descendente decrescente aflopend malejąco убыванию 降序 降順
newest: neueste neuesten neuster récent neuer nieuwste najnowszy новый 最新
oldest: älteste ältesten ancien oudste najstarszy старый 最旧
"""
