package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"pigrep/adapter"
	"pigrep/internal/files"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/ui/cli/amend"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
)

type setupOptions struct {
	flags.Shared      `ignores:"files output"`
	Yes, DryRun, Undo bool
}

// An offer is something that setup adds to a file.
type offer struct {
	to, what, path, note string

	// add returns what is added to the text of the file: nothing if it is there already. It is nil if the file has
	// nothing else.
	add  func(text string) ([]amend.Insertion, error)
	take func(text, added string) string // takes it out of a file that has changed since; may be nil
	text string                          // of a file that has nothing else
}

var (
	ownHook = regexp.MustCompile(`pigrep\S*\s+hook\b`)
	ownInit = regexp.MustCompile(`(?m)^[^#\n]*\bpigrep\S*\s+init\b`)
)

// offers returns what can be added on this machine, for the agents that are there and the shell.
func (o *setupOptions) offers(a *app.App) (list []offer) {
	server := started{Command: ownCommand(a), Args: []string{"mcp"}, Env: serverEnv(a)}
	hook := shellcmd.Quote(ownCommand(a)) + " hook"
	served := make(map[string]bool)
	for _, s := range a.Registry().Skills(packageName) {
		dir, name := filepath.Dir(s.Dir), session.ShortAgent(s.Name())
		_, err := os.Stat(dir)
		_, there := a.LookPath(name)
		if served[name] = true; err != nil && there != nil {
			continue
		}
		add := func(what, path, note string) *offer {
			list = append(list, offer{to: s.Label(), what: what, path: path, note: note})
			return &list[len(list)-1]
		}
		if s.Package { // its tools do the same
			if !o.Undo {
				fmt.Fprintf(a.Out, "%s has the package %s, which gives the model its own tools: it needs neither the MCP server nor the skill\n", s.Label(), packageName)
			}
		} else {
			for _, c := range clients {
				if c.Client == name && c.Own != "" {
					note, _, _ := strings.Cut(c.Note, ";")
					add(whatServer, clientPath(a, &c, dir), note).of(&c, server)
				}
			}
			add("the skill, which says when to search, and how", skillPath(&s), "").text = skillText
		}
		if h := s.Hooks; h.File != "" {
			f := add("hooks, which tell it what was done here last and how the same error was repaired", filepath.Join(dir, filepath.FromSlash(h.File)), h.Note)
			if own, _ := json.Marshal(ownCommand(a)); h.Text != "" {
				f.text = strings.Replace(h.Text, `"PROGRAM"`, string(own), 1)
			} else {
				f.hooks(hook, h.Failure)
			}
		}
	}
	for _, c := range clients {
		if _, err := os.Stat(filepath.Dir(clientPath(a, &c, ""))); c.Own != "" && !served[c.Client] && err == nil {
			list = append(list, offer{to: c.Client, what: whatServer, path: clientPath(a, &c, "")})
			list[len(list)-1].of(&c, server)
		}
	}
	return append(list, shellOffer(a)...)
}

const whatServer = "the MCP server, with tools that search sessions"

func skillPath(s *adapter.Skills) string { return filepath.Join(s.Dir, "pigrep", "SKILL.md") }

// of makes the offer about an MCP server.
func (f *offer) of(c *adapter.Servers, server started) {
	if c.Key == "" {
		f.add = func(text string) ([]amend.Insertion, error) { return addTOML(text, server) }
		return
	}
	server = server.of(c)
	f.add = func(text string) ([]amend.Insertion, error) {
		if had, err := amend.Value(text, c.Key, "pigrep"); had != "" || err != nil {
			return nil, err
		}
		return amend.Member(text, server, c.Key, "pigrep")
	}
	f.take = func(text, added string) string {
		return amend.Prune(amend.Remove(text, nil, c.Key, "pigrep"), added, c.Key)
	}
}

func addTOML(text string, server started) ([]amend.Insertion, error) {
	var had struct {
		Servers map[string]any `toml:"mcp_servers"`
	}
	if err := toml.Unmarshal([]byte(text), &had); err != nil {
		return nil, fmt.Errorf("it cannot be parsed: %w", err)
	}
	if had.Servers["pigrep"] != nil {
		return nil, nil
	}
	lines, err := codexTOML(server)
	if err != nil {
		return nil, err
	}
	list := amend.Append(text, lines)
	if toml.Unmarshal([]byte(amend.Into(text, list)), &had) != nil {
		return nil, amend.ErrOther
	}
	return list, nil
}

// hooks makes the offer about hooks that run a command.
func (f *offer) hooks(command, failure string) {
	type one struct {
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"` // seconds
	}
	type group struct {
		Matcher string `json:"matcher,omitempty"`
		Hooks   []one  `json:"hooks"`
	}
	groups := map[string]group{sessionStart: {}, failure: {Matcher: "Bash"}}
	events := []string{sessionStart, failure}
	f.add = func(text string) (all []amend.Insertion, err error) {
		for _, event := range events {
			had, err := amend.Value(text, "hooks", event)
			if err != nil {
				return nil, err
			}
			if ownHook.MatchString(had) {
				continue
			}
			g := groups[event]
			g.Hooks = []one{{"command", command, 10}}
			list, err := amend.Element(text, g, "hooks", event)
			if err != nil {
				return nil, err
			}
			text, all = amend.Into(text, list), append(all, list...)
		}
		return all, nil
	}
	f.take = func(text, added string) string {
		for _, event := range events {
			text = amend.Prune(amend.Remove(text, ownHook.MatchString, "hooks", event), added, "hooks", event)
		}
		return text
	}
}

// shellOffer offers a key in the user's shell.
func shellOffer(a *app.App) []offer {
	shell := filepath.Base(a.Getenv("SHELL"))
	path := map[string]string{
		"bash": ".bashrc", "zsh": ".zshrc", "fish": filepath.Join(".config", "fish", "config.fish"),
	}[shell]
	if path == "" {
		return nil
	}
	dir := a.Home
	if shell == "zsh" {
		dir = cmp.Or(a.Getenv("ZDOTDIR"), dir)
	}
	own := shellcmd.Quote(ownCommand(a))
	line := fmt.Sprintf("command -v %[1]s >/dev/null && eval \"$(%[1]s init %[2]s)\"\n", own, shell)
	if shell == "fish" {
		line = fmt.Sprintf("command -q %[1]s; and %[1]s init fish | source\n", own)
	}
	return []offer{{to: shell, what: "a key, Ctrl-O, that searches sessions", path: filepath.Join(dir, path), add: func(text string) ([]amend.Insertion, error) {
		if ownInit.MatchString(text) {
			return nil, nil
		}
		return amend.Append(text, line), nil
	}}}
}

// A change is what setup did to a file, by which it is undone.
type change struct {
	Created bool              `json:"created,omitempty"` // the file was not there
	Dirs    []string          `json:"dirs,omitempty"`    // that were not there, the outermost first
	Before  *string           `json:"before,omitempty"`  // what a file that was replaced had
	Added   []amend.Insertion `json:"added"`
}

// A setupRun is one run of the command.
type setupRun struct {
	*setupOptions
	*app.App
	answers *bufio.Reader
	journal string // the file of done
	done    map[string]*change
	left    int // files that were left alone
	changed int
	asked   int
}

// ownStart is how much of a file says that setup wrote it, in bytes.
const ownStart = 18

var errEnough = errors.New("the user wants no more")

// runSetup adds what agents and the shell need, each part if the user wants it.
func runSetup(_ context.Context, a *app.App, o *setupOptions, _ []string) error {
	if a.Home == "" || a.DataDir == "" {
		return &problem.Error{Code: problem.CodeUsage, Message: "this user has no home directory", Hint: "set $HOME"}
	}
	r := &setupRun{setupOptions: o, App: a, answers: bufio.NewReader(a.Streams.In), journal: filepath.Join(a.DataDir, "pigrep", "setup.json"), done: make(map[string]*change)}
	_, text, err := readUser(r.journal)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &r.done)
	}
	if err != nil {
		return &problem.Error{Code: problem.CodeIO, Message: "cannot read what setup did before: " + r.journal, Err: err}
	}
	offers := o.offers(a)
	one := r.add
	if o.Undo {
		offers = r.undone(offers)
		one = r.undo
	}
	if len(offers) == 0 {
		fmt.Fprintln(a.Out, human.When(o.Undo, "nothing to undo")+human.When(!o.Undo, "no agent was found on this machine: start one, then run this again"))
	}
	for i := range offers {
		if err := one(&offers[i]); errors.Is(err, errEnough) {
			break
		} else if p, ok := errors.AsType[*problem.Error](err); ok {
			return p
		} else if err != nil {
			r.left++
			fmt.Fprintf(a.Out, "  left alone: %v\n", err)
		}
	}
	if r.changed > 0 && !o.Undo && !o.DryRun {
		fmt.Fprintln(a.Out, "agents use it from their next session on; pigrep setup --undo takes it out again")
	}
	if r.left > 0 {
		return &problem.Error{Code: problem.CodeIO, Message: human.Plural(r.left, "file was", "files were") + " left alone", Hint: "see above"}
	}
	return nil
}

// undone returns the offers of the files that were changed, and of those that are offered no more.
func (r *setupRun) undone(offers []offer) (list []offer) {
	for _, path := range slices.Sorted(maps.Keys(r.done)) {
		f := offer{to: "pigrep", what: "setup", path: path}
		if i := slices.IndexFunc(offers, func(f offer) bool { return f.path == path }); i >= 0 {
			f = offers[i]
		}
		list = append(list, f)
	}
	return list
}

// add adds what an offer is about.
func (r *setupRun) add(f *offer) error {
	fmt.Fprintf(r.Out, "%s: %s, in %s\n", f.to, f.what, human.Path(f.path, r.Home))
	_, now, list, err := f.plan()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		fmt.Fprintln(r.Out, "  it is there already")
		return nil
	}
	if f.add == nil && now != "" {
		fmt.Fprintln(r.Out, "  an earlier one is replaced")
	}
	r.show("+", list)
	if f.note != "" {
		fmt.Fprintf(r.Out, "  %s\n", f.note)
	}
	if yes, err := r.wants("add this?"); !yes {
		return err
	}
	out, now, list, err := f.plan() // it may have changed meanwhile
	if err != nil || len(list) == 0 {
		return err
	}
	c, text := &change{Created: out.Kind == files.Missing}, f.text
	if had := r.done[f.path]; had != nil && !c.Created {
		if c = had; f.add == nil {
			c.Added = nil
		} else if _, there := amend.Revert(now, c.Added); !there { // somebody has taken it out
			c.Added = nil
		}
	}
	if c.Added = append(c.Added, list...); f.add != nil {
		text = amend.Into(now, list)
	} else if !c.Created && c.Before == nil {
		c.Before = &now
	}
	for dir := filepath.Dir(out.Path); c.Created; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		c.Dirs = slices.Insert(c.Dirs, 0, dir)
	}
	r.done[f.path] = c
	if err := r.save(); err != nil {
		return err
	}
	if err := writeUser(out, 0o600, text); err != nil { // agents write secrets into some of these files later
		return err
	}
	r.changed++
	return nil
}

// plan returns where an offer leads, the text there and what is added to it, which is nothing if it is there.
func (f *offer) plan() (out *files.Output, now string, list []amend.Insertion, err error) {
	if out, now, err = readUser(f.path); err != nil {
		return nil, "", nil, err
	}
	switch {
	case f.add != nil:
		list, err = f.add(now)
	case out.Kind == files.File && !strings.HasPrefix(now, f.text[:ownStart]):
		err = amend.ErrOther
	case now != f.text:
		list = []amend.Insertion{{Text: f.text}}
	}
	return out, now, list, err
}

// undo takes out what was added to a file.
func (r *setupRun) undo(f *offer) error {
	c := r.done[f.path]
	fmt.Fprintf(r.Out, "%s: %s, in %s\n", f.to, f.what, human.Path(f.path, r.Home))
	out, now, err := readUser(f.path)
	if err != nil {
		return err
	}
	text, ok := amend.Revert(now, c.Added)
	ok = ok && (f.text == "" || text == "")
	switch {
	case ok && c.Before != nil:
		text = *c.Before
	case !ok && f.take != nil:
		text = f.take(now, strings.Join(lists.Map(c.Added, func(x amend.Insertion) string { return x.Text }), ""))
	case !ok && out.Kind != files.Missing:
		return errors.New("it has changed since: take out by hand what setup added")
	}
	remove := c.Created && strings.TrimSpace(text) == ""
	if text == now && !remove || out.Kind == files.Missing {
		fmt.Fprintln(r.Out, "  it is not there any more")
	} else {
		r.show("-", c.Added)
		if yes, err := r.wants("take this out?"); !yes {
			return err
		}
		if remove {
			err = os.Remove(out.Path)
		} else {
			err = writeUser(out, 0o600, text)
		}
		if err != nil {
			return err
		}
	}
	if r.DryRun {
		return nil
	}
	for _, dir := range slices.Backward(c.Dirs) {
		_ = os.Remove(dir) // fails if others have used it since
	}
	delete(r.done, f.path)
	return r.save()
}

// save writes down what was done.
func (r *setupRun) save() error {
	out, _, err := readUser(r.journal)
	if err != nil {
		return err
	}
	if len(r.done) == 0 {
		err := os.Remove(out.Path) // what a link leads to: the link is the user's
		for dir := filepath.Dir(r.journal); dir != r.Home && os.Remove(dir) == nil; {
			dir = filepath.Dir(dir) // until others use it
		}
		return err
	}
	data, err := json.Marshal(r.done)
	return cmp.Or(err, writeUser(out, 0o600, string(data)))
}

// mostShown is how many lines of a new file are shown in full before the user is asked.
const mostShown = 28

// show prints lines that are added or taken out.
func (r *setupRun) show(sign string, list []amend.Insertion) {
	for _, x := range list {
		if strings.TrimSpace(x.Text) == "," {
			continue
		}
		lines := strings.Split(strings.ReplaceAll(strings.Trim(x.Text, ",\r\n"), "\r", ""), "\n")
		shown := lines
		if len(lines) > mostShown && !r.DryRun && x.At == 0 {
			shown = lines[:6]
		}
		for _, line := range shown {
			fmt.Fprintf(r.Out, "  %s %s\n", sign, line)
		}
		if n := len(lines) - len(shown); n > 0 {
			fmt.Fprintf(r.Out, "  %s … and %d more lines, which --dry-run shows\n", sign, n)
		}
	}
}

// readUser returns where a path leads, and the text of the file there, which may be written.
func readUser(path string) (*files.Output, string, error) {
	out, err := files.FindOutput(path)
	if err != nil || out.Kind == files.Missing {
		return out, "", err
	}
	if out.Kind != files.File {
		return nil, "", fmt.Errorf("%s is not a regular file", path)
	}
	out.Overwrite = true
	data, err := os.ReadFile(out.Path)
	return out, string(data), err
}

// writeUser writes a file. One that is there keeps its mode.
func writeUser(out *files.Output, mode fs.FileMode, text string) error {
	if info, err := os.Stat(out.Path); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.MkdirAll(filepath.Dir(out.Path), 0o755); err != nil {
		return err
	}
	return out.Replace(mode, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// wants asks the user.
func (r *setupRun) wants(question string) (bool, error) {
	if r.DryRun || r.Yes {
		return !r.DryRun, nil
	}
	if err := r.Out.Flush(); err != nil {
		return false, err
	}
	if r.asked++; r.asked == 1 {
		fmt.Fprintln(r.Streams.Err, "  y: yes, n: no, a: yes to all that follow, q: end")
	}
	fmt.Fprintf(r.Streams.Err, "  %s [y/N/a/q] ", question)
	line, err := r.answers.ReadString('\n')
	if !r.Streams.InTTY {
		fmt.Fprintln(r.Streams.Err, strings.TrimSpace(line))
	}
	if err != nil && line == "" {
		return false, problem.Usagef("--yes answers every question, --dry-run asks none", "no answer on stdin: nothing more was changed")
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "a", "all":
		r.Yes = true
		return true, nil
	case "q", "quit":
		return false, errEnough
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
