# {name} searches past conversations and puts the command that resumes the
# chosen session on the command line.
__pigrep_tui() {
	local chosen
	if chosen=$(command pigrep tui --print -- "$BUFFER" </dev/tty); then
		BUFFER=$chosen
		CURSOR=${#BUFFER}
	fi
	zle reset-prompt
}
if command -v pigrep >/dev/null; then
	zle -N __pigrep_tui
	bindkey -M emacs '{key}' __pigrep_tui
	bindkey -M viins '{key}' __pigrep_tui
	bindkey -M vicmd '{key}' __pigrep_tui
fi
