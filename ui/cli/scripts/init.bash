# {name} searches past conversations and puts the command that resumes the
# chosen session on the command line.
__pigrep_tui() {
	local chosen
	chosen=$(command pigrep tui --print -- "$READLINE_LINE" </dev/tty) || return 0
	READLINE_LINE=$chosen
	READLINE_POINT=${#READLINE_LINE}
}
if [[ $- == *i* ]] && command -v pigrep >/dev/null; then
	bind -m emacs-standard -x '"{key}": __pigrep_tui'
	bind -m vi-command -x '"{key}": __pigrep_tui'
	bind -m vi-insert -x '"{key}": __pigrep_tui'
fi
