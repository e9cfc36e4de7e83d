#!/usr/bin/env bash
# Presses the key of `pigrep init` in a real shell that has loaded what it prints,
# and looks at what comes to stand on its command line.
#
#	shell.sh PIGREP SESSIONS {bash | zsh | fish}
#
# Needs tmux and the shell.
. "$(dirname "$0")/common.sh"
shell=$3

case $shell in
bash) start="env PS1='ready> ' bash --norc --noprofile -i" load='eval "$(pigrep init bash)"; eval "$(pigrep init bash --key alt-m)"' ;;
zsh) start='zsh -f -i' load='eval "$(pigrep init zsh)"; eval "$(pigrep init zsh --key alt-m)"' ;;
fish) start='fish --no-config -i' load='pigrep init fish | source; pigrep init fish --key alt-m | source' ;;
esac
terminal 100 30 "$start"
tm send-keys -l "$load; echo load\"ed\""
tm send-keys Enter
until_shown loaded
tm send-keys C-l

# What was typed is the query; what was chosen comes in its place.
tm send-keys -l 'needle'
tm send-keys C-o
until_shown '▌ '
tm send-keys Enter
until_shown "cd $work/home/project"
tm send-keys Enter
until_shown "ran-pi in $work/home/project"

# Without a choice the line stays.
tm send-keys C-l
tm send-keys -l 'echo un"touch"ed'
tm send-keys M-m
until_shown 'F1 help'
tm send-keys C-c
until_gone 'F1 help'
until_shown 'echo un"touch"ed'
tm send-keys Enter
until_shown 'untouched'
if [[ $(screen) == *interrupted* ]]; then
	echo "Ctrl-C is how one leaves, and nothing to tell:" >&2
	screen >&2
	exit 1
fi
echo "$shell driven"
