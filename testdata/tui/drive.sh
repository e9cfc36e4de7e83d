#!/usr/bin/env bash
# Drives `pigrep tui` in a real terminal, as a person would: types, moves,
# reads, filters and resumes. A stand-in for pi records how it was run.
#
#	drive.sh PIGREP SESSIONS
#
# PIGREP is the program, SESSIONS a directory of session files of which
# needle.jsonl has its working directory. Needs tmux. Ends with 1 at the first
# thing that is not as it should be, and shows the screen.
. "$(dirname "$0")/common.sh"
cat >"$work/bin/pi" <<'PI'
#!/bin/sh
{ pwd; for arg in "$@"; do printf '%s\n' "$arg"; done; } >"$PI_RECORD"
PI
export PI_RECORD=$work/record EDITOR=cat PAGER=cat
unset PI_CODING_AGENT_SESSION_DIR # --session-dir names it

# restored: the shell has the terminal again, and what is typed is echoed.
restored() {
	until_shown 'ready>'
	keys C-l
	type_ 'echo "si""ne"'
	keys Enter
	until_shown 'sine'
	[[ $(tm display -p '#{alternate_on}#{mouse_any_flag}#{cursor_flag}') == 001 ]] || fail "the terminal is not restored: $(tm display -p '#{alternate_on}#{mouse_any_flag}#{cursor_flag}')"
}

cd "$work/home/project" # where exports go
bash_terminal 80 24

# A first run: it builds the index, then shows what is there.
run "pigrep tui --session-dir $work/sessions"
until_shown 'type to search' 'up to date' 'sessions'

# Typing, with the preview beside it.
type_ 'pademelon'
until_shown '> pademelon' '1 hit' '▶ prompt'
keys C-u
type_ 'haystack'
until_shown '> haystack' '3 hits' '▌ reply' '▶ reply' 'second straw'

# Moving shows the next hit.
keys Down
until_shown '▌ prompt' '▶ prompt'
keys C-p
until_shown '▌ reply'

# Reading: find in the conversation.
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

# From hit to hit; the whole screen and back; the list alone and back, at every size.
keys Tab
until_shown '▶─'
keys g
until_shown ' 1/5'
keys n
until_shown 'hit 2 of 3'
keys N
until_shown 'hit 1 of 3'
for size in '40 20' '120 40' '200 60' '80 24'; do
	tm resize-window -x "${size% *}" -y "${size#* }"
	keys z
	until_gone '> haystack'
	until_shown '▶─' '▎'
	keys Escape
	until_shown '> haystack'
done
keys Tab
until_shown '── Find'
keys F8
until_gone '── Find'
until_shown 'F8/Alt-P show both'
keys F8
until_shown '── Find'

# An export says where it wrote, and overwrites nothing.
for name in find-the-needle-in-the-haystack find-the-needle-in-the-haystack; do
	keys M-w
	until_shown 'export 1 session as'
	type_ 'txt'
	keys Enter
	until_shown 'wrote '
done
[[ $(ls "$work/home/project"/*.txt | wc -l) == 2 ]] || fail "exported: $(ls "$work/home/project")"
rm -f "$work/home/project"/*.txt

# Filters edit the text of the query.
keys F2
until_shown 'filter:' 'project'
type_ 'kind:call'
until_shown 'kind:call'
keys Enter
until_shown '> haystack kind:call' '1 hit' '▌ call'
keys C-u
until_shown 'type to search'

# Nothing of a hostile session reaches the terminal raw.
type_ 'firebrick'
until_shown 'firebrick' 'hit'
[[ $(tm display -p '#{pane_title}') != evil ]] || fail 'a session has set the title of the window'
keys C-u

# Sizes.
type_ 'haystack'
until_shown '3 hits'
for size in '40 12' '200 60' '61 16' '20 5' '80 24'; do
	tm resize-window -x "${size% *}" -y "${size#* }"
done
until_shown '3 hits' '▶ reply'

# Suspending and coming back.
keys C-z
until_shown 'Stopped'
restored
run fg
until_shown '> haystack' '3 hits'

# New entries show up.
printf '%s\n' '{"type":"message","id":"aaaa0009","parentId":"aaaa0005","timestamp":"2026-01-01T00:00:09.000Z","message":{"role":"user","content":"one more haystack"}}' >>"$work/sessions/needle.jsonl"
until_shown '4 hits'
touch -t 202601010000 "$work/sessions/needle.jsonl"

# The editor and the pager have the terminal, and give it back.
keys C-o
until_shown '[Enter]'
keys Enter
until_shown '> haystack' '4 hits'

# Enter opens the conversation at the hit. Resuming asks once, and runs pi in the directory of the session.
keys C-u
type_ 'needle'
until_shown '> needle' '▌ '
keys Enter
until_gone '> needle'
until_shown '▶─' '▎'
keys Escape
until_shown '> needle' 'Alt-R resume'
keys M-r
until_shown 'press Alt-R again to start pi in'
keys M-r
restored
[[ $(cat "$PI_RECORD") == "$work/home/project"$'\n--session-dir\n'"$work/sessions"$'\n--session\n'"$work/sessions/needle.jsonl" ]] || fail "pi was run as: $(cat "$PI_RECORD")"

# Leaving without a choice; Ctrl-C; a signal; no terminal.
run "pigrep tui --session-dir $work/sessions; echo code-\$?"
until_shown 'type to search' 'up to date'
keys Escape
until_shown 'code-0'
run "clear; pigrep tui --session-dir $work/sessions; echo code-\$?"
until_shown 'type to search' 'up to date'
keys C-c
until_shown 'code-130'
restored
run "clear; pigrep tui --session-dir $work/sessions; echo code-\$?"
until_shown 'type to search' 'up to date'
kill -TERM "$(pgrep -f "^pigrep tui --session-dir $work/sessions")"
until_shown 'code-130'
restored

# --print writes the command and runs nothing.
rm -f "$PI_RECORD"
run "clear; chosen=\$(pigrep tui --print --session-dir $work/sessions needle); echo \"[\$chosen]\""
until_shown '> needle' '▌ '
keys Enter
until_shown "[cd $work/home/project && pi --session"
[[ ! -e $PI_RECORD ]] || fail '--print has run pi'
restored

# The history is kept, for its owner alone.
run "clear; pigrep tui --session-dir $work/sessions"
until_shown 'type to search' 'up to date'
keys C-r
until_shown 'earlier query:' 'needle'
type_ 'hay'
keys Enter
until_shown '> haystack'
keys C-c
restored
[[ $(ls -l "$XDG_STATE_HOME/pigrep/history") == -rw-------* ]] || fail "$(ls -l "$XDG_STATE_HOME/pigrep/history")"

echo driven
