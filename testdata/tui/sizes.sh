#!/usr/bin/env bash
# What the list, its toggles and its menus show in a terminal of a given size.
#
#	sizes.sh PIGREP SESSIONS COLUMNS LINES
#
# Needs tmux.
. "$(dirname "$0")/common.sh"
mkdir "$work/home/empty"
bash_terminal "$3" "$4"

# What the last line of the list always has.
hints='Enter read · Alt-R resume'

# Flags alone open the interface. In an empty query ? is help, which fits and says how to go
# back; in a query it is text.
run "clear; cd empty; pigrep --session-dir $work/sessions; echo code-\$?"
until_shown '> type to search' ' sessions' "$hints"
keys '?'
until_shown 'Results' 'Ctrl-N' 'Esc back'
keys Escape
until_shown '> type to search'
type_ 'haystack?'
until_shown '> haystack?' "$hints" '▌ '

# The keys of readline edit the query.
keys C-a C-d C-d C-d C-e BSpace C-w
until_shown '> type to search'
keys C-y
until_shown '> stack'
keys C-u
type_ 'haystack zorblaxq'
until_shown 'occurs nowhere' "$hints"

# Toggles: all words, this directory, this session. An empty result says what drops the filter.
keys F5
until_shown 'F5/Alt-A all words' 'Nothing found' 'F5/Alt-A)'
keys F5 BSpace C-w
until_shown '> haystack' '3 hits'
keys F6
until_shown 'F6/Alt-H in ~/empty' 'Nothing found' 'F6/Alt-H)'
keys M-h
until_shown '3 hits' '▌ '
keys F7
until_shown 'F7/Alt-S in' '▌ '
keys F7
until_gone 'F7/Alt-S in'

# The filters have the hits of each value; several can be chosen.
keys F2 Enter
until_shown 'filter by kind' 'prompt  1 hit' 'reply  1 hit' 'call  1 hit'
keys Tab Tab
until_shown '✓ prompt' '✓ reply'
keys Enter
until_shown '> haystack kind:prompt,reply' '2 hits'

# A filter that excludes everything is named.
keys C-u
type_ 'haystack project:nope'
until_shown 'There are 3 hits without' 'project:nope.'

# Files without header, id, time or end, and with a name of 300 characters and control codes, are
# found and read like others.
keys C-u
type_ 'quokka kind:prompt'
until_shown '4 hits' '▌ '
for _ in 1 2 3 4; do
	keys Tab
	until_shown '▶─' 'prompt' '▎'
	keys Tab Down
	until_shown "$hints"
done

# An index that is removed is built again.
rm -rf "$PIGREP_INDEX_DIR"
for _ in $(seq 400); do
	[[ ! -e $PIGREP_INDEX_DIR/current ]] || break
	sleep 0.05
done
[[ -e $PIGREP_INDEX_DIR/current ]] || fail 'the index is not built again'
keys C-u
type_ 'haystack'
until_shown '3 hits'

# Nothing is wider than the terminal: what is cut would wrap.
[[ $(tm capture-pane -p -J | wc -l) == "$4" ]] || fail 'lines wrap'

# Ctrl-D in an empty query quits.
keys C-u
until_shown '> type to search'
keys C-d
until_shown 'code-0'
echo driven
