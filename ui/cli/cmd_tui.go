package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/engine/syntax"
	"pigrep/query/search"
	"pigrep/scope"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/resume"
	"pigrep/ui/cli/settings"
	"pigrep/ui/cli/system"
	"pigrep/ui/tui"
)

type tuiOptions struct {
	flags.Shared
	query     string
	sort      string
	allWords  bool
	print     bool
	noHistory bool

	how      resume.Manner // of resuming; exec is the opposite of print
	choosing bool          // a session to resume: without words, sessions are listed
}

func (o *tuiOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	flags.Add(f, "print", "", "", "print the command that resumes the chosen session instead of running it", &o.print)
	flags.AddWords(cmd, "sort", "ORDER", strings.Join(rank.SortNames, ", ")+" first", rank.SortNames, &o.sort)
	flags.Add(f, "all-words", "", "", "begin with only hits that have every word", &o.allWords)
	flags.Add(f, "no-history", "", "", "do not read or save the query history", &o.noHistory)
	o.Add(cmd, []flags.Group{flags.GroupFilter, flags.GroupWhere, flags.GroupOutput}, "json", "jsonl", "verbose")
	flags.Ignore(cmd, []flags.Group{flags.GroupOutput}, "json", "jsonl")
}

// errNoScreen is the error of a TUI that has no usable terminal.
func errNoScreen(why string) error {
	return &problem.Error{Code: problem.CodeUsage, Message: "the TUI needs a terminal, but " + why,
		Hint: "to search without the TUI: pigrep search QUERY"}
}

// canShow reports whether the TUI can run.
func canShow(a *app.App) bool {
	return a.Streams.InTTY && a.Streams.OutTTY && a.Getenv("TERM") != "dumb"
}

// beginning turns the flags into the options of the TUI.
func (o *tuiOptions) beginning(a *app.App) (tui.Options, error) {
	order, err := rank.ParseSort(o.sort)
	if err != nil {
		return tui.Options{}, problem.Usagef("", "--sort: %v", err)
	}
	out, err := o.Printer(a)
	if err != nil {
		return tui.Options{}, err
	}
	req, err := o.Request(a)
	if err != nil {
		return tui.Options{}, err
	}
	if o.Filters.On(filter.Here) {
		req.CWD = ""
	}
	ui := tui.Options{Query: seed(&o.Shared, o.query, req), Here: o.Filters.On(filter.Here), Print: o.print, Home: a.Home, WorkDir: a.WorkDir, Now: a.Now, Formats: exportFormats, Links: out.Layout.Links, Environ: o.environ(a)}
	ui.Request = search.Request{Sort: order, AllWords: o.allWords, PhraseBytes: search.FastPhraseBytes, Env: filter.Env{Expand: a.Absolute}, Spec: filter.Spec{Scope: wideEnough(req), Excludes: req.Excludes}}
	if o.choosing {
		ui.Note = "Enter prints the command that resumes it"
		if !o.print {
			ui.Note = "Enter resumes it"
		}
		if filters := ui.Query; o.query == "" && filters != "" {
			// In the query, they would find entries.
			fixed := req.Spec
			fixed.Scope = ui.Request.Scope
			ui.Query, ui.Request.Spec = "", fixed
			ui.Note += "; filtered by " + filters
		}
	}
	return ui, nil
}

func runTUI(ctx context.Context, a *app.App, o *tuiOptions, args []string) error {
	o.query = strings.Join(args, " ")
	ui, err := o.beginning(a)
	if err != nil {
		return err
	}
	switch {
	case a.Getenv("TERM") == "dumb":
		return errNoScreen("this one cannot position text (TERM=dumb)")
	case o.print: // a shell reads stdout, so the TUI opens the terminal itself
	case !a.Streams.InTTY:
		return errNoScreen("stdin is not one")
	case !a.Streams.OutTTY:
		return errNoScreen("stdout is not one")
	default:
		ui.In, _ = a.Streams.In.(*os.File)
		ui.Out, _ = a.Streams.Out.(*os.File)
	}
	p, err := location.Find(&o.Shared, a)
	if err != nil {
		return err
	}
	for _, r := range p.Roots {
		ui.Dirs = append(ui.Dirs, r.Path)
	}
	settings, err := settings.Read(a, func() *cobra.Command { return newRootCommand(a) })
	if err != nil {
		return err
	}
	ui.Config = settings.TUI()
	if !o.noHistory {
		ui.History = historyFile(a)
	}
	a.Log = nil // log lines would garble the screen
	d := newTUIBackend(ctx, o, p)
	defer d.index.Close()
	d.links = ui.Links
	ui.Backend = d.functions()
	done, err := tui.Run(ctx, ui)
	switch {
	case errors.Is(err, tui.ErrNoTerminal):
		return errNoScreen("there is none")
	case err != nil:
		return err
	case done.Interrupted:
		return problem.ErrLeft
	case done.Resume == nil && o.print:
		return problem.ErrNothingFound
	case done.Resume == nil:
		return nil
	}
	return o.resume(a, done.Resume)
}

// resume prints the command that resumes a session, or runs it in place of this process.
func (o *tuiOptions) resume(a *app.App, r *tui.Resume) error {
	for _, w := range r.Warnings {
		a.Warn("%s", w)
	}
	if o.print {
		_, err := fmt.Fprintln(a.Out, r.Command)
		return err
	}
	return replace(a, cmp.Or(r.Dir, a.WorkDir), r.Argv)
}

// environ returns the environment for detecting the terminal's colours, adjusted to
// --color.
func (o *tuiOptions) environ(a *app.App) []string {
	env := a.Environ()
	switch o.Color {
	case "never":
		env = append(env, "NO_COLOR=1")
	case "always":
		env = append(slices.DeleteFunc(env, func(s string) bool { return strings.HasPrefix(s, "NO_COLOR=") }), "CLICOLOR_FORCE=1")
	}
	return env
}

// historyFile returns the path of the query history, "" if there is no directory for it.
func historyFile(a *app.App) string {
	dir := a.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(dir) {
		dir = system.StateDir(a.Home, a.Getenv)
	}
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "pigrep", "history")
}

// wideEnough returns the scope of the request, or all if it lacks one of the requested
// kinds.
func wideEnough(req search.Request) scope.Scope {
	s := scopeOf(req.Spec)
	for _, k := range req.Kinds {
		if !s.Holds(k) {
			return scope.All
		}
	}
	return s
}

// seed returns the text of a query with the filters of flags, so that they can be seen
// and edited in the TUI.
func seed(o *flags.Shared, words string, req search.Request) string {
	text := strings.TrimSpace(words)
	for i := range filter.Table {
		row := &filter.Table[i]
		if row.Field != "" {
			text = syntax.AddField(text, row.Field, o.Filters.InQuery(row, &req.Spec)...)
		}
	}
	return strings.TrimSpace(text)
}
