#!/usr/bin/env bash
# Asks an archive of a team in a real terminal, as a person would: searches, moves, reads, and
# reads what cannot be resumed here.
#
#	archive.sh PIGREP SESSIONS URL PREFIX
#
# URL is that of an OpenSearch. Needs tmux.
. "$(dirname "$0")/common.sh"
pigrep remote add team "$3" --prefix "$4" --as elsewhere >/dev/null
pigrep remote init team >/dev/null
pigrep push team >/dev/null
rm -rf "$work/sessions" "$work/index" # nothing is left to ask here
mkdir "$work/sessions"
bash_terminal 80 24
run 'clear; pigrep tui --from team; echo code-$?'
until_shown '> ' 'sessions'

# Hits, their session beside them, and the next one.
type_ 'haystack'
until_shown '> haystack' '3 hits' '▌ reply' '▶ reply' 'second straw'
keys Down
until_shown '▌ prompt' '▶ prompt'

# The conversation, and what is found in it.
keys Tab
until_shown '▶─'
keys /
type_ 'straw'
until_shown '/straw'
keys Enter
until_shown '1 of '
keys Escape
until_shown 'Tab back'
keys Escape
until_shown '── Find'

# Sessions without a header, an id, a time or an end are found and read, too.
keys C-u
type_ 'quokka'
until_shown '> quokka' '5 hits'
for _ in 1 2 3 4; do
	keys Tab
	until_shown '▶─' 'quokka'
	keys Escape
	until_shown 'Tab preview'
	keys Down
done

# What is elsewhere is not resumed here: it is read, and its command says where it is.
keys C-u
type_ 'haystack'
until_shown '> haystack' '3 hits' 'archive team · pushed now' 'Enter read'
keys Enter
until_gone '> haystack'
until_shown '▶─' 'second straw'
keys r
until_shown 'on another machine'
keys Escape
until_shown '> haystack' 'Enter read'
keys F3
until_gone 'Enter read'
until_shown 'second straw' 'END'
keys q
until_shown '> haystack' 'Enter read'
keys M-c
until_shown 'needle.jsonl is on elsewhere'
keys F4
until_shown 'F3 reads it here'
keys Escape
until_gone 'F3 reads it'
keys C-c
until_shown 'code-130'
echo driven
