#!/usr/bin/env bash
# Long output in a real terminal: goes through the user's pager, readable and in
# colour, and is never lost.
#
#	pager.sh PIGREP SESSIONS
#
# Needs tmux and less.
. "$(dirname "$0")/common.sh"
bash_terminal 80 12
pigrep index --quiet >/dev/null
id=01990000-0000-7000-8000-00000000feed
show="pigrep show $id"

# shown SETTING...: with it, the conversation is in less and reads as written.
shown() {
	run "clear; $* $show; echo code-\$?"
	until_shown 'Find the needle'
	[[ $(screen) != *ESC* && $(screen) != *code-0* ]] || fail "$*: not as a pager shows it"
	[[ $(tm capture-pane -pe) == *$'\e['* ]] || fail "$*: without colours"
	keys q
	until_shown 'code-0'
}
shown PAGER=less
shown PAGER= LESS=-i
shown PAGER=less LESS=-P%f
shown "PAGER='less -S'"
shown "PIGREP_PAGER='LESS=-R less'"

# What fits on the screen stays there; the pager does not wait for a key.
run "clear; PAGER=less $show:aaaa0005 --around 0; echo code-\$?"
until_shown 'There it is.' 'code-0'

# A pager that is not installed costs nothing but a line.
run "clear; PAGER='no-such-pager -p' $show:aaaa0005 --around 0; echo code-\$?"
until_shown 'There it is.' 'no pager: no-such-pager' 'code-0'

# A pager that ends early has shown enough.
run "clear; PAGER=true $show; echo code-\$?"
until_shown 'code-0'
[[ $(screen) != *pigrep:* ]] || fail 'an error of a pager that ended early'

# Ctrl-C belongs to the pager, and the terminal is as before.
for _ in 1 2; do
	run "clear; PAGER=less $show; echo code-\$?"
	until_shown 'Find the needle'
	keys C-c
	keys C-c
	# An interrupted less drops the keys that it has not read yet: G is pressed until it is read.
	for _ in {1..50}; do
		keys G
		sleep 0.1
		[[ $(screen) != *'(END)'* ]] || break
	done
	until_shown '(END)'
	keys q
	until_shown 'code-0'
	run 'echo ec"hoed"'
	until_shown 'echoed'
	[[ $(screen) != *interrupted* ]] || fail 'the pager was interrupted, not pigrep'
done
echo driven
