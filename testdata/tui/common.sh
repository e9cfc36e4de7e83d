# What the scripts of this directory share: a home of their own with a few
# sessions, the program and a stand-in for pi, and a terminal to type in.
#
#	. common.sh PIGREP SESSIONS
set -euo pipefail
pigrep=$1 sessions=$2

work=$(mktemp -d)
tm() { tmux -L "pigrep-$$" -f /dev/null "$@"; }
cleanup() {
	tm kill-server 2>/dev/null || true
	rm -rf "$work" 2>/dev/null || { sleep 1; rm -rf "$work"; } # a shell that ends may still write
}
trap cleanup EXIT

mkdir -p "$work/bin" "$work/home/project" "$work/sessions"
cp -R "$sessions/." "$(dirname "$0")/../odd/." "$work/sessions"
sed -i.bak "s|@PROJECT@|$work/home/project|" "$work/sessions/needle.jsonl"
rm -f "$work/sessions/needle.jsonl.bak"
touch -t 202601010000 "$work/sessions/needle.jsonl" # another pi is not suspected in it
cp "$pigrep" "$work/bin/pigrep"
printf '#!/bin/sh\necho ran-pi in "$(pwd)" with "$@"\n' >"$work/bin/pi"
chmod +x "$work/bin/pi"

export HOME=$work/home XDG_STATE_HOME=$work/state XDG_CACHE_HOME=$work/cache XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/data
export PIGREP_INDEX_DIR=$work/index PI_CODING_AGENT_SESSION_DIR=$work/sessions PATH=$work/bin:$PATH TERM=xterm-256color PS1='ready> '
export PAGER= PIGREP_PAGER=
unset NO_COLOR PIGREP_CONFIG LESS 2>/dev/null || true
cd "$work/home"

screen() { tm capture-pane -p; }
fail() {
	echo "$1" >&2
	echo "--- screen" >&2
	screen >&2
	exit 1
}
# until_shown TEXT...: wait for all of them on one screen.
until_shown() {
	for _ in $(seq 400); do
		local now missing=
		now=$(screen)
		for text in "$@"; do [[ $now == *"$text"* ]] || missing=$text; done
		[[ -n $missing ]] || return 0
		sleep 0.05
	done
	fail "waited in vain for: $missing"
}
until_gone() {
	for _ in $(seq 400); do
		[[ $(screen) == *"$1"* ]] || return 0
		sleep 0.05
	done
	fail "waited in vain for this to go: $1"
}
keys() { tm send-keys "$@"; }
type_() { tm send-keys -l "$1"; }
# run COMMAND: on a clear screen, as typed.
run() {
	keys C-l
	type_ "$1"
	keys Enter
}
# terminal WIDTH HEIGHT COMMAND: what to type in.
terminal() {
	tm new-session -d -x "$1" -y "$2" "$3"
	for _ in $(seq 400); do
		[[ -z $(screen | tr -d '[:space:]') ]] || return 0 # a prompt
		sleep 0.05
	done
	fail 'the shell shows no prompt'
}
# bash_terminal WIDTH HEIGHT: a bash that has read no startup file.
bash_terminal() {
	terminal "$1" "$2" "env PS1='ready> ' bash --norc --noprofile -i"
	until_shown 'ready>'
}
