package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// bindings are the key bindings by shell. The text on the command line becomes the
// query; it stays if nothing is chosen.
var bindings = []struct{ shell, script string }{
	{"bash", `# Ctrl-G searches past pi conversations and puts the command that resumes the
# chosen session on the command line.
__pigrep_tui() {
	local chosen
	chosen=$(command pigrep tui --print -- "$READLINE_LINE" </dev/tty) || return 0
	READLINE_LINE=$chosen
	READLINE_POINT=${#READLINE_LINE}
}
bind -m emacs-standard -x '"\C-g": __pigrep_tui'
bind -m vi-command -x '"\C-g": __pigrep_tui'
bind -m vi-insert -x '"\C-g": __pigrep_tui'
`},
	{"zsh", `# Ctrl-G searches past pi conversations and puts the command that resumes the
# chosen session on the command line.
__pigrep_tui() {
	local chosen
	if chosen=$(command pigrep tui --print -- "$BUFFER" </dev/tty); then
		BUFFER=$chosen
		CURSOR=${#BUFFER}
	fi
	zle reset-prompt
}
zle -N __pigrep_tui
bindkey -M emacs '^G' __pigrep_tui
bindkey -M viins '^G' __pigrep_tui
bindkey -M vicmd '^G' __pigrep_tui
`},
	{"fish", `# Ctrl-G searches past pi conversations and puts the command that resumes the
# chosen session on the command line.
function __pigrep_tui
	set -l chosen (command pigrep tui --print -- (commandline | string collect) </dev/tty | string collect)
	if test -n "$chosen"
		commandline --replace -- $chosen
	end
	commandline --function repaint
end
bind \cg __pigrep_tui
bind --mode insert \cg __pigrep_tui
`},
}

func newInitCommand(a *App) *cobra.Command {
	var names []string
	for _, b := range bindings {
		names = append(names, b.shell)
	}
	cmd := &cobra.Command{
		Use:   "init {" + strings.Join(names, " | ") + "}",
		Short: "Print shell code that binds Ctrl-G to a search",
		Long: `Print shell code that binds Ctrl-G to "pigrep tui": the text on the command line
becomes the query, and the command that resumes the chosen session replaces it,
ready to edit or run. Load it in the startup file of your shell, as shown below.`,
		Example: `eval "$(pigrep init bash)"
eval "$(pigrep init zsh)"
pigrep init fish | source`,
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("example: pigrep init bash", "init takes one argument, a shell: %s", strings.Join(names, ", "))
			}
			i := slices.Index(names, args[0])
			if i < 0 {
				return usagef("", "unknown shell %q: use one of %s", args[0], strings.Join(names, ", "))
			}
			_, err := a.out.WriteString(bindings[i].script)
			return err
		},
	}
	ignoreShared(cmd, []flagGroup{groupWhere, groupOutput})
	return cmd
}
