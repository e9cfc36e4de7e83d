// Package flags has the flags that commands share, and what they mean: a request, a
// printer, and how flags are defined and grouped.
package flags

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/adapter"
	"pigrep/internal/redact"
	"pigrep/internal/terminal"
	"pigrep/internal/timespec"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/scope"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
	"pigrep/ui/filters"
	"pigrep/ui/printer"
)

// Shared are the values of the shared flags.
type Shared struct {
	Filters filters.Filters
	Here    bool // filters.CWD is the working directory
	// where
	SessionDir []string
	IndexDir   string
	Follow     bool
	MaxLine    Number
	NoUpdate   bool
	// output
	Redact         bool
	dates          bool
	maxBytes       Number
	progress       bool
	JSON, JSONL    bool
	Color          string
	hyperlink      string
	quiet, Verbose bool
}

// Group is a group of flags: commands take whole groups, and help lists them by group.
type Group string

// The groups of flags, in the order of help texts.
const (
	GroupCommand Group = "Flags"
	GroupFilter  Group = "Filters"
	GroupWhere   Group = "Files"
	GroupAnswer  Group = "Answer"
	GroupOutput  Group = "Output"
)

var Groups = []Group{GroupCommand, GroupFilter, GroupWhere, GroupAnswer, GroupOutput}

// Row describes a shared flag.
type Row struct {
	Name  string
	Value string // name of the value in help; "" for a switch
	Group Group
	usage string
	bind  func(o *Shared) any // *string, *[]string, *bool or *number
	Words func() []string     // all values, for completion; nil if open
	Many  bool                // values may be joined with commas
}

// Table is the only table of shared flags. Commands, help, completion and docs
// use it.
var Table = []Row{
	{Name: "scope", Value: "NAME", Group: GroupFilter, usage: "which kinds of text: " + strings.Join(scopeNames(), ", "),
		bind: func(o *Shared) any { return &o.Filters.Scope }, Words: scopeNames},
	{Name: "kind", Value: "KIND", Group: GroupFilter, usage: "only these kinds, instead of a scope (`pigrep help scopes`)",
		bind: func(o *Shared) any { return &o.Filters.Kinds }, Words: kindNames, Many: true},
	{Name: "role", Value: "ROLE", Group: GroupFilter, usage: "only messages of these roles: user, assistant, toolResult, ...",
		bind: func(o *Shared) any { return &o.Filters.Roles }, Many: true},
	{Name: "tool", Value: "NAME", Group: GroupFilter, usage: "only calls and results of these tools",
		bind: func(o *Shared) any { return &o.Filters.Tools }, Many: true},
	{Name: "session", Value: "ID", Group: GroupFilter, usage: "only these sessions: ids, starts of ids, or paths",
		bind: func(o *Shared) any { return &o.Filters.Sessions }, Many: true},
	{Name: "cwd", Value: "DIR", Group: GroupFilter, usage: "only sessions started in this directory or below it",
		bind: func(o *Shared) any { return &o.Filters.CWD }},
	{Name: "here", Group: GroupFilter, usage: "only sessions started in this directory or below it; the same as --cwd .",
		bind: func(o *Shared) any { return &o.Here }},
	{Name: "project", Value: "NAME", Group: GroupFilter, usage: "only sessions of these projects: paths, or their last elements",
		bind: func(o *Shared) any { return &o.Filters.Projects }, Many: true},
	{Name: "model", Value: "NAME", Group: GroupFilter, usage: "only text from these models: parts of names, or of provider/model",
		bind: func(o *Shared) any { return &o.Filters.Models }, Many: true},
	{Name: "since", Value: "TIME", Group: GroupFilter, usage: "only entries since this time: " + strings.Join(timespec.Examples, ", "),
		bind: func(o *Shared) any { return &o.Filters.Since }},
	{Name: "until", Value: "TIME", Group: GroupFilter, usage: "only entries up to this time; a date includes the whole day",
		bind: func(o *Shared) any { return &o.Filters.Until }},
	{Name: "error", Group: GroupFilter, usage: "only failed tool results, replies and shell commands",
		bind: func(o *Shared) any { return &o.Filters.Error }},
	{Name: "branch", Value: "WHICH", Group: GroupFilter, usage: "only entries on the active branch, or on abandoned ones (default any)",
		bind: func(o *Shared) any { return &o.Filters.Branch }, Words: branchNames},
	{Name: "exclude", Value: "GLOB", Group: GroupFilter, usage: "skip sessions whose path matches",
		bind: func(o *Shared) any { return &o.Filters.Excludes }},

	{Name: "session-dir", Value: "DIR", Group: GroupWhere, usage: "read session files from DIR instead of pi's directories",
		bind: func(o *Shared) any { return &o.SessionDir }},
	{Name: "index-dir", Value: "DIR", Group: GroupWhere, usage: "keep the index in DIR, which must be missing, empty or an index",
		bind: func(o *Shared) any { return &o.IndexDir }},
	{Name: "follow", Group: GroupWhere, usage: "follow symbolic links that lead out of the session directories",
		bind: func(o *Shared) any { return &o.Follow }},
	{Name: "max-line", Value: "MB", Group: GroupWhere, usage: fmt.Sprintf("leave out lines longer than this, 0 for none (default %d)", StandardMaxLine),
		bind: func(o *Shared) any { return &o.MaxLine }},
	{Name: "no-update", Group: GroupWhere, usage: "use the index as it is, without updating it",
		bind: func(o *Shared) any { return &o.NoUpdate }},

	{Name: "redact", Group: GroupAnswer, usage: "mask anything that looks like a key, token or password",
		bind: func(o *Shared) any { return &o.Redact }},
	{Name: "dates", Group: GroupAnswer, usage: "print dates instead of ages",
		bind: func(o *Shared) any { return &o.dates }},
	{Name: "max-bytes", Value: "N", Group: GroupAnswer, usage: "print at most N bytes of JSON, 0 for all; items left out at the end are counted",
		bind: func(o *Shared) any { return &o.maxBytes }},
	{Name: "progress", Group: GroupAnswer, usage: "with JSON: print the progress of indexing on stderr, as JSON lines",
		bind: func(o *Shared) any { return &o.progress }},

	{Name: "json", Group: GroupOutput, usage: "print one JSON object (`pigrep help json`)",
		bind: func(o *Shared) any { return &o.JSON }},
	{Name: "jsonl", Group: GroupOutput, usage: "print one JSON object per line",
		bind: func(o *Shared) any { return &o.JSONL }},
	{Name: "color", Value: "WHEN", Group: GroupOutput, usage: "auto, always or never",
		bind: func(o *Shared) any { return &o.Color }, Words: whenNames},
	{Name: "hyperlink", Value: "WHEN", Group: GroupOutput, usage: "paths lead to their files, links to their pages: auto, always or never; never without colours",
		bind: func(o *Shared) any { return &o.hyperlink }, Words: whenNames},
	{Name: "quiet", Group: GroupOutput, usage: "print no progress and no warnings",
		bind: func(o *Shared) any { return &o.quiet }},
	{Name: "verbose", Group: GroupOutput, usage: "print steps and timings on stderr",
		bind: func(o *Shared) any { return &o.Verbose }},
}

// The default of --max-line, in its unit.
const (
	Megabyte            = 1e6
	StandardMaxLine int = adapter.DefaultMaxLine / Megabyte
)

func scopeNames() []string {
	var names []string
	for _, s := range scope.Scopes {
		names = append(names, string(s))
	}
	return names
}

func kindNames() []string {
	var names []string
	for _, r := range scope.Kinds {
		names = append(names, string(r.Kind))
	}
	return names
}

func branchNames() []string {
	return []string{entry.BranchActive, entry.BranchAbandoned, "any"}
}

func whenNames() []string {
	return []string{string(terminal.Auto), string(terminal.Always), string(terminal.Never)}
}

// Annotation is the annotation with the group of a flag.
const Annotation = "pigrep_group"

// Add adds the shared flags of the groups to the command, except those listed in
// without.
func (o *Shared) Add(cmd *cobra.Command, groups []Group, without ...string) {
	for _, row := range Table {
		if !slices.Contains(groups, row.Group) || slices.Contains(without, row.Name) {
			continue
		}
		usage := row.usage
		if row.Many {
			usage += "; several with commas"
		}
		Add(cmd.Flags(), row.Name, "", row.Value, usage, row.bind(o))
		cmd.Flags().Lookup(row.Name).Annotations = map[string][]string{Annotation: {string(row.Group)}}
	}
}

// AddNoSearches adds the filter of commands that search text.
func (o *Shared) AddNoSearches(flags *pflag.FlagSet) {
	Add(flags, "no-searches", "", "", "leave out calls of pigrep and their results, which repeat other sessions", &o.Filters.NoSearches)
}

// Ignore makes the command accept shared flags that have no effect on it, so that
// an alias with them works for every command. Help does not list them.
func Ignore(cmd *cobra.Command, groups []Group, without ...string) {
	ignored := &Shared{}
	for _, row := range Table {
		if slices.Contains(groups, row.Group) && !slices.Contains(without, row.Name) && cmd.Flags().Lookup(row.Name) == nil {
			Add(cmd.Flags(), row.Name, "", row.Value, row.usage, row.bind(ignored))
			cmd.Flags().Lookup(row.Name).Hidden = true
		}
	}
}

// SessionFilters select sessions. Commands for a single session do not have them.
var SessionFilters = []string{"session", "cwd", "here", "project", "exclude"}

// Add defines a flag. The value of the variable is the default.
func Add(flags *pflag.FlagSet, name, short, value, usage string, variable any) {
	if value != "" {
		// pflag uses a word in back quotes as the name of the value.
		usage = "`" + value + "`" + strings.ReplaceAll(usage, "`", "'")
	}
	switch v := variable.(type) {
	case *bool:
		flags.BoolVarP(v, name, short, *v, usage)
	case *Number:
		flags.VarP(v, name, short, usage)
	case *string:
		flags.StringVarP(v, name, short, *v, usage)
	case *time.Duration:
		flags.DurationVarP(v, name, short, *v, usage)
	case *[]string:
		flags.VarP((*listValue)(v), name, short, usage)
	default:
		panic(fmt.Sprintf("flag --%s: no flags of %T", name, v))
	}
}

// listValue is a flag that can be repeated. Unlike pflag's StringArray it does not
// format its default as CSV, which would take a tenth of the memory at start.
type listValue []string

func (l *listValue) String() string              { return strings.Join(*l, ",") }
func (l *listValue) Type() string                { return "stringArray" }
func (l *listValue) Set(s string) error          { return l.Append(s) }
func (l *listValue) Append(s string) error       { *l = append(*l, s); return nil }
func (l *listValue) Replace(list []string) error { *l = list; return nil }
func (l *listValue) GetSlice() []string          { return *l }

// Number is a flag with a number >= 0 that knows whether it was given.
type Number struct {
	N     int
	Given bool
}

var ErrNegative = errors.New("the number is negative")

func (v *Number) Type() string { return "int" }

func (v *Number) String() string {
	if !v.Given {
		return ""
	}
	return strconv.Itoa(v.N)
}

func (v *Number) Set(s string) error {
	n, err := strconv.Atoi(s)
	switch {
	case err != nil:
		return err
	case n < 0:
		return ErrNegative
	}
	v.N, v.Given = n, true
	return nil
}

// Or returns the number, or standard when it was not given.
func (v *Number) Or(standard int) int {
	if v.Given {
		return v.N
	}
	return standard
}

// Limit returns the number as a limit of a request. On the command line 0 means no
// limit; in a request it means the default.
func (v *Number) Limit() int {
	if v.Given && v.N == 0 {
		return search.All
	}
	return v.N
}

// Request turns the filters into a request.
func (o *Shared) Request(a *app.App) (search.Request, error) {
	now := a.Now()
	r := search.Request{Redact: o.Redact, Env: filter.Env{Now: now}}
	written := o.Filters
	if o.Here {
		if written.CWD != "" {
			return r, problem.Usagef("--here is the same as --cwd .", "--here and --cwd cannot be combined")
		}
		written.CWD = a.WorkDir
	}
	var err error
	r.Spec, err = written.Spec(now, a.Absolute)
	return r, filterProblem(err)
}

// filterProblem turns an error of filters into one about flags.
func filterProblem(err error) error {
	e, ok := errors.AsType[*filters.Error](err)
	if !ok {
		return err
	}
	hint := e.Hint
	if e.Topic != "" {
		hint = "`pigrep help " + e.Topic + "` explains them"
	}
	return &problem.Error{Code: problem.CodeUsage, Message: e.Message(func(n filters.Name) string { return "--" + string(n) }), Hint: hint}
}

// Mask masks the answer that a pointer points to, if the user asked for it.
func (o *Shared) Mask(answer any) {
	if o.Redact {
		redact.Strings(answer)
	}
}

// Printer returns the printer for the flags and the terminal.
func (o *Shared) Printer(a *app.App) (*printer.Printer, error) {
	when := terminal.Auto
	if o.Color != "" {
		var err error
		if when, err = terminal.ParseWhen(o.Color); err != nil {
			return nil, problem.Usagef("", "--color: %v", err)
		}
	}
	format, colour := printer.FormatPlain, when.Colour(a.Streams.OutTTY, a.Getenv)
	switch {
	case o.JSON && o.JSONL:
		return nil, problem.Usagef("--json prints one object, --jsonl one per line", "--json and --jsonl cannot be combined")
	case o.JSON:
		format = printer.FormatJSON
	case o.JSONL:
		format = printer.FormatJSONL
	case a.Streams.OutTTY || colour:
		format = printer.FormatText
	}
	if o.maxBytes.N > 0 && !o.JSON && !o.JSONL {
		return nil, problem.Usagef("add --json or --jsonl", "--max-bytes applies to JSON output only")
	}
	links, err := o.linksTo(a, colour)
	if err != nil {
		return nil, err
	}
	look := printer.Look{Width: a.Streams.Width, Colour: colour, Now: a.Now(), Home: a.Home, Links: links, Dates: o.dates}
	return &printer.Printer{Out: a.Out, Format: format, Look: look, MaxBytes: o.maxBytes.N}, nil
}

// linksTo returns the writer of hyperlinks for output with or without colours; nil for none.
func (o *Shared) linksTo(a *app.App, colour bool) (*terminal.Links, error) {
	when := terminal.Auto
	if o.hyperlink != "" {
		var err error
		if when, err = terminal.ParseWhen(o.hyperlink); err != nil {
			return nil, problem.Usagef("", "--hyperlink: unknown setting %q: use auto, always or never", o.hyperlink)
		}
	}
	if !when.Links(a.Streams.OutTTY, colour, a.Getenv) {
		return nil, nil
	}
	links := &terminal.Links{}
	if a.Hostname != nil {
		links.Host, _ = a.Hostname() // without one, the link is to this machine
	}
	return links, nil
}

// Without names a filter that could be dropped, as it is written on the command line.
func (o *Shared) Without(filter string) string {
	switch {
	case filter == "cwd" && o.Here:
		return "without --here"
	case filter == search.FilterSearches:
		return "without --no-searches"
	}
	return search.Without(filter)
}
