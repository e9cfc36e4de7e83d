package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
)

// keyBindings is the code that binds a key, by shell. {key} is the key as the shell writes it,
// {name} as people do. The text on the command line becomes the query; it stays if nothing
// is chosen. The chosen command is put on the command line and not run: it leaves the
// directory of the shell, which the user should see first and find in the history.
var keyBindings = []struct{ shell, ctrl, alt, script string }{
	{"bash", `\C-`, `\e`, `# {name} searches past pi conversations and puts the command that resumes the
# chosen session on the command line.
__pigrep_tui() {
	local chosen
	chosen=$(command pigrep tui --print -- "$READLINE_LINE" </dev/tty) || return 0
	READLINE_LINE=$chosen
	READLINE_POINT=${#READLINE_LINE}
}
bind -m emacs-standard -x '"{key}": __pigrep_tui'
bind -m vi-command -x '"{key}": __pigrep_tui'
bind -m vi-insert -x '"{key}": __pigrep_tui'
`},
	{"zsh", `^`, `^[`, `# {name} searches past pi conversations and puts the command that resumes the
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
bindkey -M emacs '{key}' __pigrep_tui
bindkey -M viins '{key}' __pigrep_tui
bindkey -M vicmd '{key}' __pigrep_tui
`},
	{"fish", `\c`, `\e`, `# {name} searches past pi conversations and puts the command that resumes the
# chosen session on the command line.
function __pigrep_tui
	set -l chosen (command pigrep tui --print -- (commandline | string collect) </dev/tty | string collect)
	if test -n "$chosen"
		commandline --replace -- $chosen
	end
	commandline --function repaint
end
bind {key} __pigrep_tui
bind --mode insert {key} __pigrep_tui
`},
}

// usualKey is free in fish and in the vi modes of bash and zsh. Elsewhere it runs a line
// and fetches the next one from the history, which few use. Ctrl-G would be in the way: it
// aborts a search in readline, zsh and fzf. No key with Alt is usual, because terminals on
// macOS type a character for it.
const usualKey = "ctrl-o"

// macDiscard is for bash on macOS, where the terminal intercepts Ctrl-O. zsh and fish
// disable that themselves.
const macDiscard = `case $OSTYPE in darwin*) stty discard undef </dev/tty 2>/dev/null ;; esac
`

// Letters that make keys with Ctrl and Alt. The other letters with Ctrl never reach a
// binding: terminals take them for Enter, Tab, Backspace, signals and flow control, and
// readline for its own editing of lines.
const (
	ctrlLetters = "abdefgklnoprtxy"
	altLetters  = "abcdefghijklmnopqrstuvwxyz"
)

// keyNames lists the keys that can be bound.
func keyNames() []string {
	var names []string
	for _, l := range ctrlLetters {
		names = append(names, "ctrl-"+string(l))
	}
	for _, l := range altLetters {
		names = append(names, "alt-"+string(l))
	}
	return names
}

// keyName returns the name of a key that may be written as shells and editors do: C-g, ^G
// or M-s.
func keyName(key string) string {
	key = strings.ToLower(key)
	for _, form := range []struct{ prefix, name string }{{"c-", "ctrl-"}, {"^", "ctrl-"}, {"m-", "alt-"}} {
		if letter, ok := strings.CutPrefix(key, form.prefix); ok && len(letter) == 1 {
			return form.name + letter
		}
	}
	return key
}

func newInitCommand(a *app.App) *cobra.Command {
	var names []string
	for _, b := range keyBindings {
		names = append(names, b.shell)
	}
	key := usualKey
	cmd := &cobra.Command{
		Use:   "init {" + strings.Join(names, " | ") + "}",
		Short: "Print shell code that binds a key to a search",
		Long: `Print shell code that binds Ctrl-O, or the key of --key, to "pigrep tui": the
text on the command line becomes the query, and the command that resumes the
chosen session replaces it. Press Enter again to run it. Load the code in the
startup file of your shell, as shown below.`,
		Example: `eval "$(pigrep init bash)"
eval "$(pigrep init zsh)"
pigrep init fish | source
eval "$(pigrep init bash --key alt-m)"`,
		ValidArgs: names,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return problem.Usagef("example: pigrep init bash", "init takes one argument, a shell: %s", strings.Join(names, ", "))
			}
			i := slices.Index(names, args[0])
			if i < 0 {
				return problem.Usagef("", "unknown shell %q: use one of %s", args[0], strings.Join(names, ", "))
			}
			key = keyName(key)
			if !slices.Contains(keyNames(), key) {
				return problem.Usagef("keys that work: alt- and any letter, ctrl- and one of "+strings.Join(strings.Split(ctrlLetters, ""), " "),
					"--key: shells cannot bind %q", key)
			}
			b := keyBindings[i]
			modifier, letter, _ := strings.Cut(key, "-")
			written := map[string]string{"ctrl": b.ctrl, "alt": b.alt}[modifier] + letter
			name := strings.ToUpper(key[:1]) + modifier[1:] + "-" + strings.ToUpper(letter)
			script := strings.NewReplacer("{key}", written, "{name}", name).Replace(b.script)
			if b.shell == "bash" && key == usualKey {
				script += macDiscard
			}
			_, err := a.Out.WriteString(script)
			return err
		},
	}
	flags.AddWords(cmd, "key", "KEY", "the key, such as ctrl-r or alt-s (default "+usualKey+")", keyNames(), &key)
	flags.Ignore(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput})
	return cmd
}
