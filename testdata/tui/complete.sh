#!/usr/bin/env bash
# Presses Tab in a real shell that has loaded what `pigrep completion` prints and
# nothing else.
#
#	complete.sh PIGREP SESSIONS {bash | zsh | fish}
#
# Needs tmux and the shell.
. "$(dirname "$0")/common.sh"
shell=$3
pigrep index --quiet >/dev/null
mkdir "$work/home/a b"

case $shell in
bash) start="env PS1='ready> ' bash --norc --noprofile -i" load='eval "$(pigrep completion bash)"' quoted='a\ b' ;;
zsh) start='zsh -f -i' load='autoload -U compinit; compinit -u; source <(pigrep completion zsh)' quoted='a\ b' ;;
fish) start='fish --no-config -i' load='pigrep completion fish | source' quoted="a\\ b" ;;
esac
terminal 140 30 "$start"
type_ "$load; echo load\"ed\""
keys Enter
until_shown loaded

# completes LINE SHOWN...: after LINE and Tab all of SHOWN are on the screen.
completes() {
	if [[ $shell = fish ]]; then
		keys Escape # from its list
		sleep 0.1   # else it is Alt with the next key
	fi
	keys C-u
	keys C-l
	type_ "$1"
	shift
	keys Tab
	keys Tab
	until_shown "$@"
}
completes 'pigrep sess' 'pigrep sessions'
completes 'pigrep show 01990000-0000-7000-8000-00000000f' 'pigrep show 01990000-0000-7000-8000-00000000feed'
completes 'pigrep show 01990000-0000-7000-8000-00000000' 'Find the needle'
completes 'pigrep --kind=pro' '--kind=prompt'
completes 'pigrep --kind pro' '--kind prompt'
completes 'pigrep --color ' auto always never
completes 'pigrep needle --sco' '--scope'
completes 'pigrep sessions --cwd proj' '--cwd project/'
completes 'pigrep sessions --cwd=proj' '--cwd=project/'
completes 'pigrep sessions --cwd a' "--cwd $quoted/"
completes 'pigrep init ' bash zsh fish
completes 'pigrep help que' 'help query'
if [[ $(screen) == *'not found'* ]]; then
	fail 'an error of the shell'
fi
echo "$shell driven"
