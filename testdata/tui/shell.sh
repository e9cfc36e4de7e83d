#!/usr/bin/env bash
# Presses Ctrl-G in a real shell that has loaded what `pigrep init` prints, and
# looks at what comes to stand on its command line.
#
#	shell.sh PIGREP SESSIONS {bash | zsh | fish}
#
# Needs tmux and the shell.
set -euo pipefail
pigrep=$1 sessions=$2 shell=$3

work=$(mktemp -d)
tm() { tmux -L "pigrep-$$" -f /dev/null "$@"; }
trap 'tm kill-server 2>/dev/null || true; rm -rf "$work"' EXIT

mkdir -p "$work/bin" "$work/home/project" "$work/sessions"
cp -R "$sessions/." "$work/sessions"
sed -i.bak "s|@PROJECT@|$work/home/project|" "$work/sessions/needle.jsonl"
rm -f "$work/sessions/needle.jsonl.bak"
cp "$pigrep" "$work/bin/pigrep"
printf '#!/bin/sh\necho ran-pi in "$(pwd)"\n' >"$work/bin/pi"
chmod +x "$work/bin/pi"
export HOME=$work/home XDG_STATE_HOME=$work/state XDG_CACHE_HOME=$work/cache XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/data
export PIGREP_INDEX_DIR=$work/index PI_CODING_AGENT_SESSION_DIR=$work/sessions PATH=$work/bin:$PATH TERM=xterm-256color PS1='ready> '
cd "$work/home"

screen() { tm capture-pane -p; }
until_shown() {
	for _ in $(seq 400); do
		[[ $(screen) != *"$1"* ]] || return 0
		sleep 0.05
	done
	echo "waited in vain for: $1" >&2
	screen >&2
	exit 1
}
until_gone() {
	for _ in $(seq 400); do
		[[ $(screen) == *"$1"* ]] || return 0
		sleep 0.05
	done
	echo "waited in vain for this to go: $1" >&2
	screen >&2
	exit 1
}

case $shell in
bash) start="env PS1='ready> ' bash --norc --noprofile -i" load='eval "$(pigrep init bash)"' ;;
zsh) start='zsh -f -i' load='eval "$(pigrep init zsh)"' ;;
fish) start='fish --no-config -i' load='pigrep init fish | source' ;;
esac
tm new-session -d -x 100 -y 30 "$start"
tm send-keys -l "$load; echo load\"ed\""
tm send-keys Enter
until_shown loaded
tm send-keys C-l

# What was typed is the query; what was chosen comes in its place.
tm send-keys -l 'needle'
tm send-keys C-g
until_shown '▌ '
tm send-keys Enter
until_shown "cd $work/home/project"
tm send-keys Enter
until_shown "ran-pi in $work/home/project"

# Without a choice the line stays.
tm send-keys C-l
tm send-keys -l 'echo un"touch"ed'
tm send-keys C-g
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
