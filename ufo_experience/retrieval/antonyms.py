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
top upper topmost uppermost upward | bottom bottommost lower lowermost downward
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
