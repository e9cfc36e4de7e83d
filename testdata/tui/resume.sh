#!/usr/bin/env bash
# Chooses a session to resume in a real terminal.
#
#	resume.sh PIGREP SESSIONS
#
# Needs tmux.
. "$(dirname "$0")/common.sh"
bash_terminal 80 24
pigrep index --quiet >/dev/null
chosen="cd $work/home/project && pi --session"

# Without words all sessions are offered; what is typed narrows them.
run 'clear; pigrep resume; echo code-$?'
until_shown '> ' 'firebrick' 'Find the needle' 'Enter prints the command'
type_ 'straw'
until_shown '> straw' '▌ '
keys Enter
until_shown "$chosen" 'code-0'

# So do filters, and words that several sessions match.
run 'clear; pigrep resume --since 2025-01-01; echo code-$?'
until_shown '> ' 'Find the needle' '; filtered by after:2025-01-01'
[[ $(screen) != *'▌ reply'* && $(screen) != *'▌ prompt'* && $(screen) != *'> after:'* ]] || fail 'entries instead of sessions'
keys C-c
until_shown 'code-130'
run 'clear; pigrep resume haystack pademelon; echo code-$?'
until_shown '> haystack pademelon' '▌ '
keys C-c
until_shown 'code-130'

# A shell that reads the output gets the command, and the terminal is used to choose.
run 'clear; eval "$(pigrep resume)"'
until_shown 'Find the needle'
type_ 'straw'
until_shown '> straw' '▌ '
keys Enter
until_shown "ran-pi in $work/home/project"

# --exec runs it, in the manner that was asked for.
run 'clear; pigrep resume --exec --fork'
until_shown 'Find the needle'
type_ 'straw'
until_shown '> straw' '▌ '
keys Enter
until_shown "ran-pi in $work/home/project" '--fork'
echo driven
