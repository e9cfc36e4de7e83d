package cli

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/index"
	"pigrep/index/segment"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/internal/terminal"
	"pigrep/query/engine/filter"
	"pigrep/query/sessions"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/remotes"
	"pigrep/ui/cli/settings"
)

// Completion uses the index as it is: it must be fast, so it reads no session files and
// updates nothing. On any error there are no completions.

// complete returns the values of a flag or an argument that start with a prefix. A tab
// separates a value from its description.
type complete = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective)

const (
	maxCompletions = 50
	titleWidth     = 60 // of a title in a description
)

var completions = map[string]func(r *index.Reader, prefix string) []string{
	"role": func(r *index.Reader, prefix string) []string { return termsOf(r, segment.FieldRole, prefix) },
	"tool": func(r *index.Reader, prefix string) []string {
		return byCount(session.JoinTools(countsOf(r, segment.FieldTool, prefix)))
	},
	"model":   modelsOf,
	"project": projectsOf,
	"session": sessionsOf,
}

// addCompletions registers the completion of the shared flags of all commands.
func addCompletions(a *app.App, c *cobra.Command) {
	for _, c := range c.Commands() {
		addCompletions(a, c)
	}
	for _, row := range flags.Table {
		if row.Value == "" || c.Flags().Lookup(row.Name) == nil {
			continue
		}
		// It fails only for an undefined flag.
		_ = c.RegisterFlagCompletionFunc(row.Name, completeFlag(a, row))
	}
}

// describeFlags removes the name of the value from the usage of every flag, because
// shells show the usage as it is.
func describeFlags(c *cobra.Command) {
	for _, c := range c.Commands() {
		describeFlags(c)
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if value, usage := pflag.UnquoteUsage(f); strings.HasPrefix(f.Usage, "`") {
				f.Usage = strings.TrimPrefix(usage, value)
			}
		})
	}
}

func completeFlag(a *app.App, row flags.Row) complete {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if values := completions[row.Name]; values != nil {
			return fromIndex(a, cmd, prefix, values), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
		}
		words, many := row.Words, row.Many
		switch {
		case row.Value == "DIR":
			return nil, cobra.ShellCompDirectiveFilterDirs
		case row.Name == "from":
			names, _ := completeArchive(a)(cmd, args, prefix)
			words, many = append(names, remotes.Here), true
		case row.Name == flags.On:
			_ = settings.Apply(a, cmd, func() *cobra.Command { return newRootCommand(a) }) // an error has no hosts
			words, many = location.HostNames(a, settings.FlagValues(cmd.Flags().Lookup("hosts"))), true
		case row.Name == filter.Agent, row.Name == "keep":
			words, many = a.AgentNames(), true
		}
		if many {
			before := prefix[:strings.LastIndexByte(prefix, ',')+1]
			words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return slices.Contains(strings.Split(before, ","), w) })
			words = lists.Map(words, func(w string) string { return before + w })
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeSession completes the argument that names a session, also as a path.
func completeSession(a *app.App) complete {
	return func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list := fromIndex(a, cmd, prefix, sessionsOf)
		if prefix != "" && strings.HasPrefix(sessions.Last, prefix) {
			list = append(list, sessions.Last+"\tthe latest session; "+sessions.Last+"~1 is the one before it")
		}
		return list, cobra.ShellCompDirectiveDefault | cobra.ShellCompDirectiveKeepOrder
	}
}

// fromIndex lists values from the newest generation of the command's index.
func fromIndex(a *app.App, cmd *cobra.Command, prefix string, list func(*index.Reader, string) []string) []string {
	a.Quiet = true
	if err := settings.Apply(a, cmd, func() *cobra.Command { return newRootCommand(a) }); err != nil {
		return nil
	}
	o := &flags.Shared{}
	if f := cmd.Flags().Lookup("session-dir"); f != nil {
		o.SessionDir = settings.FlagValues(f)
	}
	if f := cmd.Flags().Lookup("index-dir"); f != nil {
		o.IndexDir = f.Value.String()
	}
	p, err := location.Find(o, a)
	if err != nil {
		return nil
	}
	r, err := index.Open(p.IndexDir)
	if err != nil {
		return nil
	}
	defer r.Close()
	// What sessions say is neither a flag nor a line of the answer to the shell.
	values := slices.DeleteFunc(list(r, prefix), func(v string) bool {
		word, _, _ := strings.Cut(v, "\t")
		return strings.HasPrefix(word, "-") || strings.ContainsFunc(word, terminal.Hidden)
	})
	return values[:min(len(values), maxCompletions)]
}

// termsOf lists the values of a field, most frequent first.
func termsOf(r *index.Reader, f segment.Field, prefix string) []string {
	return byCount(countsOf(r, f, prefix))
}

func countsOf(r *index.Reader, f segment.Field, prefix string) map[string]int {
	counts := make(map[string]int)
	for _, s := range r.Segments() {
		s.Terms(f, []byte(prefix), func(term []byte, count int) bool {
			counts[string(term)] += count
			return true
		})
	}
	return counts
}

func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
}

// partsOf lists values of sessions that have slashes: in short, or as a whole if the prefix has one.
func partsOf(r *index.Reader, prefix string, values func(*session.Summary) []string, short func(string) string) []string {
	counts := make(map[string]int)
	for i := range r.Summaries() {
		for _, value := range values(&r.Summaries()[i]) {
			if !strings.Contains(prefix, "/") {
				value = short(value)
			}
			if strings.HasPrefix(value, prefix) {
				counts[value]++
			}
		}
	}
	delete(counts, ".")
	delete(counts, "/")
	return byCount(counts)
}

// modelsOf lists models by name, or as provider/model.
func modelsOf(r *index.Reader, prefix string) []string {
	return partsOf(r, prefix, func(s *session.Summary) []string { return s.Models }, func(m string) string { return m[strings.IndexByte(m, '/')+1:] })
}

// projectsOf lists projects by the last element of their directory, or by the whole path.
func projectsOf(r *index.Reader, prefix string) []string {
	return partsOf(r, prefix, func(s *session.Summary) []string { return []string{strings.ReplaceAll(s.CWD, `\`, "/")} }, path.Base)
}

// sessionsOf lists session ids with titles, latest first.
func sessionsOf(r *index.Reader, prefix string) []string {
	var found []*session.Summary
	for i := range r.Summaries() {
		s := &r.Summaries()[i]
		if name := session.Handle(s.ID, s.Path); strings.HasPrefix(name, prefix) && session.IsTypable(name) {
			found = append(found, s)
		}
	}
	slices.SortFunc(found, func(a, b *session.Summary) int {
		return cmp.Or(b.LastMessage.Compare(a.LastMessage), strings.Compare(a.ID, b.ID))
	})
	return lists.Map(found, func(s *session.Summary) string {
		return session.Handle(s.ID, s.Path) + "\t" + terminal.Clip(human.Title(s.Title()), titleWidth)
	})
}

var shells = []string{"bash", "zsh", "fish", "powershell"}

type completionOptions struct {
	flags.Shared `ignores:"files output"`
}

func runCompletion(_ context.Context, a *app.App, _ *completionOptions, args []string) error {
	root := newRootCommand(a)
	switch args[0] {
	case "zsh":
		return root.GenZshCompletion(a.Out)
	case "fish":
		return root.GenFishCompletion(a.Out, true)
	case "powershell":
		return root.GenPowerShellCompletionWithDesc(a.Out)
	}
	// The script of cobra for bash calls two functions of the package bash-completion; ours, which
	// work in bash 3.2 of macOS too, replace them.
	var code bytes.Buffer
	if err := root.GenBashCompletionV2(&code, true); err != nil {
		return err
	}
	_, err := bashHelpers.WriteString(a.Out, code.String())
	if err == nil {
		_, err = io.WriteString(a.Out, "\n"+script("completion.bash"))
	}
	return err
}

var bashHelpers = strings.NewReplacer(
	`declare -F _init_completion >/dev/null 2>&1`, `false`,
	`_get_comp_words_by_ref "$@" cur prev words cword`, `__pigrep_words`,
	`_filedir`, `__pigrep_files`,
)

// scripts has the code for shells. The code of init binds a key: {key} is the key as the
// shell writes it, {name} as people write it. The text on the command line becomes the query; it stays
// if nothing is chosen. The chosen command is put on the command line and not run: it leaves
// the directory of the shell, which the user should see first and find in the history.
//
//go:embed scripts
var scripts embed.FS

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

type initOptions struct {
	flags.Shared `ignores:"files output"`
	Key          string
}

func (o *initOptions) AddFlags(cmd *cobra.Command) {
	o.Key = usualKey
	flags.Words(cmd, "key", keyNames())
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
	key := keyName(o.Key)
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
	if _, err := a.LookPath("pigrep"); err != nil {
		own, _ := a.Executable() // without a name there is only less to say
		line := `export PATH="$PATH":` + shellcmd.Quote(filepath.Dir(own))
		if b.shell == "fish" {
			line = "fish_add_path " + shellcmd.Quote(filepath.Dir(own))
		}
		a.Advise("put this before the line that runs init: "+line, "pigrep is not on your PATH: without that, no key is bound")
	}
	_, err := a.Out.WriteString(code)
	return err
}
