package cli

import (
	"context"
	"embed"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
)

// scripts has the code for shells. The code of init binds a key: {key} is the key as the
// shell writes it, {name} as people write it. The text on the command line becomes the query; it stays
// if nothing is chosen. The chosen command is put on the command line and not run: it leaves
// the directory of the shell, which the user should see first and find in the history.
//
//go:embed scripts
var scripts embed.FS

// script returns the code in a file of scripts.
func script(name string) string {
	data, err := scripts.ReadFile("scripts/" + name)
	if err != nil {
		panic(err) // the files are ours
	}
	return string(data)
}

// keyBinding says how a shell writes a key with Ctrl or Alt.
type keyBinding struct{ shell, ctrl, alt string }

var keyBindings = []keyBinding{
	{"bash", `\C-`, `\e`},
	{"zsh", `^`, `^[`},
	{"fish", `\c`, `\e`},
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

type initOptions struct{ key string }

func (o *initOptions) addFlags(cmd *cobra.Command) {
	o.key = usualKey
	flags.AddWords(cmd, "key", "KEY", "the key, such as ctrl-r or alt-s (default "+usualKey+")", keyNames(), &o.key)
	flags.Ignore(cmd, []flags.Group{flags.GroupWhere, flags.GroupOutput})
}

// keyShells are the shells with a binding.
func keyShells() (names []string) {
	for _, b := range keyBindings {
		names = append(names, b.shell)
	}
	return names
}

// oneShell checks the arguments of a command for a shell.
func oneShell(cmd *cobra.Command, args []string) error {
	names := strings.Join(cmd.ValidArgs, ", ")
	if len(args) > 1 {
		return problem.Usagef("to search for these words: "+problem.SearchFor(append([]string{cmd.Name()}, args...)), "%s takes one argument, a shell: %s", cmd.Name(), names)
	}
	if len(args) == 0 {
		return problem.Usagef("example: pigrep "+cmd.Name()+" bash", "%s takes one argument, a shell: %s", cmd.Name(), names)
	}
	if !slices.Contains(cmd.ValidArgs, args[0]) {
		return problem.Usagef("", "unknown shell %q: use one of %s", args[0], names)
	}
	return nil
}

func runInit(_ context.Context, a *app.App, o *initOptions, args []string) error {
	key := keyName(o.key)
	if !slices.Contains(keyNames(), key) {
		return problem.Usagef("keys that work: alt- and any letter, ctrl- and one of "+strings.Join(strings.Split(ctrlLetters, ""), " "),
			"--key: shells cannot bind %q", key)
	}
	b := keyBindings[slices.IndexFunc(keyBindings, func(b keyBinding) bool { return b.shell == args[0] })]
	modifier, letter, _ := strings.Cut(key, "-")
	written := map[string]string{"ctrl": b.ctrl, "alt": b.alt}[modifier] + letter
	name := strings.ToUpper(key[:1]) + modifier[1:] + "-" + strings.ToUpper(letter)
	code := strings.NewReplacer("{key}", written, "{name}", name).Replace(script("init." + b.shell))
	if b.shell == "bash" && key == usualKey {
		code += macDiscard
	}
	_, err := a.Out.WriteString(code)
	return err
}
