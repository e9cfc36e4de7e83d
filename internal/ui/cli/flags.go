package cli

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
	"pigrep/internal/ui/filters"
	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/entry"
	"pigrep/query/filter"
	"pigrep/scope"
)

// sharedOptions are the values of the shared flags.
type sharedOptions struct {
	filters filters.Filters
	here    bool // filters.CWD is the working directory
	// where
	sessionDir []string
	indexDir   string
	follow     bool
	maxLine    number
	noUpdate   bool
	// output
	redact         bool
	dates          bool
	maxBytes       number
	progress       bool
	json, jsonl    bool
	color          string
	hyperlink      string
	quiet, verbose bool
}

// flagGroup is a group of flags: commands take whole groups, and help lists them by group.
type flagGroup string

// The groups of flags, in the order of help texts.
const (
	groupCommand flagGroup = "Flags"
	groupFilter  flagGroup = "Filters"
	groupWhere   flagGroup = "Files"
	groupAnswer  flagGroup = "Answer"
	groupOutput  flagGroup = "Output"
)

var flagGroups = []flagGroup{groupCommand, groupFilter, groupWhere, groupAnswer, groupOutput}

// flagRow describes a shared flag.
type flagRow struct {
	name  string
	value string // name of the value in help; "" for a switch
	group flagGroup
	usage string
	bind  func(o *sharedOptions) any // *string, *[]string, *bool or *number
	words func() []string            // all values, for completion; nil if open
	many  bool                       // values may be joined with commas
}

// sharedFlags is the only table of shared flags. Commands, help, completion and docs
// use it.
var sharedFlags = []flagRow{
	{name: "scope", value: "NAME", group: groupFilter, usage: "which kinds of text: " + strings.Join(scopeNames(), ", "),
		bind: func(o *sharedOptions) any { return &o.filters.Scope }, words: scopeNames},
	{name: "kind", value: "KIND", group: groupFilter, usage: "only these kinds, instead of a scope (`pigrep help scopes`)",
		bind: func(o *sharedOptions) any { return &o.filters.Kinds }, words: kindNames, many: true},
	{name: "role", value: "ROLE", group: groupFilter, usage: "only messages of this role: user, assistant, toolResult, ...",
		bind: func(o *sharedOptions) any { return &o.filters.Roles }},
	{name: "tool", value: "NAME", group: groupFilter, usage: "only calls and results of this tool",
		bind: func(o *sharedOptions) any { return &o.filters.Tools }},
	{name: "session", value: "ID", group: groupFilter, usage: "only this session: an id, the start of an id, or a path",
		bind: func(o *sharedOptions) any { return &o.filters.Sessions }},
	{name: "cwd", value: "DIR", group: groupFilter, usage: "only sessions started in this directory or below it",
		bind: func(o *sharedOptions) any { return &o.filters.CWD }},
	{name: "here", group: groupFilter, usage: "only sessions started in this directory or below it; the same as --cwd .",
		bind: func(o *sharedOptions) any { return &o.here }},
	{name: "project", value: "NAME", group: groupFilter, usage: "only sessions of this project: a path, or its last element",
		bind: func(o *sharedOptions) any { return &o.filters.Projects }},
	{name: "model", value: "NAME", group: groupFilter, usage: "only text from this model: part of its name, or of provider/model",
		bind: func(o *sharedOptions) any { return &o.filters.Models }},
	{name: "since", value: "TIME", group: groupFilter, usage: "only entries since this time: " + strings.Join(timespec.Examples, ", "),
		bind: func(o *sharedOptions) any { return &o.filters.Since }},
	{name: "until", value: "TIME", group: groupFilter, usage: "only entries up to this time; a date includes the whole day",
		bind: func(o *sharedOptions) any { return &o.filters.Until }},
	{name: "error", group: groupFilter, usage: "only failed tool results, replies and shell commands",
		bind: func(o *sharedOptions) any { return &o.filters.Error }},
	{name: "branch", value: "WHICH", group: groupFilter, usage: "only entries on the active branch, or on abandoned ones (default any)",
		bind: func(o *sharedOptions) any { return &o.filters.Branch }, words: branchNames},
	{name: "exclude", value: "GLOB", group: groupFilter, usage: "skip sessions whose path matches",
		bind: func(o *sharedOptions) any { return &o.filters.Excludes }},

	{name: "session-dir", value: "DIR", group: groupWhere, usage: "read session files from DIR instead of pi's directories",
		bind: func(o *sharedOptions) any { return &o.sessionDir }},
	{name: "index-dir", value: "DIR", group: groupWhere, usage: "keep the index in DIR",
		bind: func(o *sharedOptions) any { return &o.indexDir }},
	{name: "follow", group: groupWhere, usage: "follow symbolic links that lead out of the session directories",
		bind: func(o *sharedOptions) any { return &o.follow }},
	{name: "max-line", value: "MB", group: groupWhere, usage: fmt.Sprintf("leave out lines longer than this, 0 for none (default %d)", standardMaxLine),
		bind: func(o *sharedOptions) any { return &o.maxLine }},
	{name: "no-update", group: groupWhere, usage: "use the index as it is, without updating it",
		bind: func(o *sharedOptions) any { return &o.noUpdate }},

	{name: "redact", group: groupAnswer, usage: "mask anything that looks like a key, token or password",
		bind: func(o *sharedOptions) any { return &o.redact }},
	{name: "dates", group: groupAnswer, usage: "print dates instead of ages",
		bind: func(o *sharedOptions) any { return &o.dates }},
	{name: "max-bytes", value: "N", group: groupAnswer, usage: "print at most N bytes of JSON, 0 for all; items left out at the end are counted",
		bind: func(o *sharedOptions) any { return &o.maxBytes }},
	{name: "progress", group: groupAnswer, usage: "with JSON: print the progress of indexing on stderr, as JSON lines",
		bind: func(o *sharedOptions) any { return &o.progress }},

	{name: "json", group: groupOutput, usage: "print one JSON object (`pigrep help json`)",
		bind: func(o *sharedOptions) any { return &o.json }},
	{name: "jsonl", group: groupOutput, usage: "print one JSON object per line",
		bind: func(o *sharedOptions) any { return &o.jsonl }},
	{name: "color", value: "WHEN", group: groupOutput, usage: "auto, always or never",
		bind: func(o *sharedOptions) any { return &o.color }, words: whenNames},
	{name: "hyperlink", value: "WHEN", group: groupOutput, usage: "paths lead to their files, links to their pages: auto, always or never; never without colours",
		bind: func(o *sharedOptions) any { return &o.hyperlink }, words: whenNames},
	{name: "quiet", group: groupOutput, usage: "print no progress and no warnings",
		bind: func(o *sharedOptions) any { return &o.quiet }},
	{name: "verbose", group: groupOutput, usage: "print steps and timings on stderr",
		bind: func(o *sharedOptions) any { return &o.verbose }},
}

// The default of --max-line, in its unit.
const (
	megabyte            = 1e6
	standardMaxLine int = adapter.DefaultMaxLine / megabyte
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

// groupAnnotation is the annotation with the group of a flag.
const groupAnnotation = "pigrep_group"

// addShared adds the shared flags of the groups to the command, except those listed in
// without.
func (o *sharedOptions) addShared(cmd *cobra.Command, groups []flagGroup, without ...string) {
	for _, row := range sharedFlags {
		if !slices.Contains(groups, row.group) || slices.Contains(without, row.name) {
			continue
		}
		addFlag(cmd.Flags(), row.name, "", row.value, row.usage, row.bind(o))
		cmd.Flags().Lookup(row.name).Annotations = map[string][]string{groupAnnotation: {string(row.group)}}
	}
}

// addNoSearches adds the filter of commands that search text.
func (o *sharedOptions) addNoSearches(flags *pflag.FlagSet) {
	addFlag(flags, "no-searches", "", "", "leave out calls of pigrep and their results, which repeat other sessions", &o.filters.NoSearches)
}

// ignoreShared makes the command accept shared flags that have no effect on it, so that
// an alias with them works for every command. Help does not list them.
func ignoreShared(cmd *cobra.Command, groups []flagGroup, without ...string) {
	ignored := &sharedOptions{}
	for _, row := range sharedFlags {
		if slices.Contains(groups, row.group) && !slices.Contains(without, row.name) && cmd.Flags().Lookup(row.name) == nil {
			addFlag(cmd.Flags(), row.name, "", row.value, row.usage, row.bind(ignored))
			cmd.Flags().Lookup(row.name).Hidden = true
		}
	}
}

// sessionFilters select sessions. Commands for a single session do not have them.
var sessionFilters = []string{"session", "cwd", "here", "project", "exclude"}

// addFlag defines a flag. The value of the variable is the default.
func addFlag(flags *pflag.FlagSet, name, short, value, usage string, variable any) {
	if value != "" {
		// pflag uses a word in back quotes as the name of the value.
		usage = "`" + value + "`" + strings.ReplaceAll(usage, "`", "'")
	}
	switch v := variable.(type) {
	case *bool:
		flags.BoolVarP(v, name, short, *v, usage)
	case *number:
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

// number is a flag with a number >= 0 that knows whether it was given.
type number struct {
	n     int
	given bool
}

var errNegative = errors.New("the number is negative")

func (v *number) Type() string { return "int" }

func (v *number) String() string {
	if !v.given {
		return ""
	}
	return strconv.Itoa(v.n)
}

func (v *number) Set(s string) error {
	n, err := strconv.Atoi(s)
	switch {
	case err != nil:
		return err
	case n < 0:
		return errNegative
	}
	v.n, v.given = n, true
	return nil
}

// or returns the number, or standard when it was not given.
func (v *number) or(standard int) int {
	if v.given {
		return v.n
	}
	return standard
}

// limit returns the number as a limit of a request. On the command line 0 means no
// limit; in a request it means the default.
func (v *number) limit() int {
	if v.given && v.n == 0 {
		return query.All
	}
	return v.n
}

// request turns the filters into a request.
func (o *sharedOptions) request(a *App) (query.Request, error) {
	now := a.Now()
	r := query.Request{Redact: o.redact, Env: filter.Env{Now: now}}
	written := o.filters
	if o.here {
		if written.CWD != "" {
			return r, usagef("--here is the same as --cwd .", "--here and --cwd cannot be combined")
		}
		written.CWD = a.WorkDir
	}
	var err error
	r.Spec, err = written.Spec(now, a.absolute)
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
	return &problem{code: codeUsage, message: e.Message(func(n filters.Name) string { return "--" + string(n) }), hint: hint}
}

// mask masks the answer that a pointer points to, if the user asked for it.
func (o *sharedOptions) mask(answer any) {
	if o.redact {
		redact.Strings(answer)
	}
}

// printer returns the printer for the flags and the terminal.
func (o *sharedOptions) printer(a *App) (*printer.Printer, error) {
	when := terminal.Auto
	if o.color != "" {
		var err error
		if when, err = terminal.ParseWhen(o.color); err != nil {
			return nil, usagef("", "--color: %v", err)
		}
	}
	format, colour := printer.FormatPlain, when.Colour(a.Streams.OutTTY, a.Getenv)
	switch {
	case o.json && o.jsonl:
		return nil, usagef("--json prints one object, --jsonl one per line", "--json and --jsonl cannot be combined")
	case o.json:
		format = printer.FormatJSON
	case o.jsonl:
		format = printer.FormatJSONL
	case a.Streams.OutTTY || colour:
		format = printer.FormatText
	}
	if o.maxBytes.n > 0 && !o.json && !o.jsonl {
		return nil, usagef("add --json or --jsonl", "--max-bytes applies to JSON output only")
	}
	links, err := o.linksTo(a, colour)
	if err != nil {
		return nil, err
	}
	look := printer.Look{Width: a.Streams.Width, Colour: colour, Now: a.Now(), Home: a.Home, Links: links, Dates: o.dates}
	return &printer.Printer{Out: a.out, Format: format, Look: look, MaxBytes: o.maxBytes.n}, nil
}

// linksTo returns the writer of hyperlinks for output with or without colours; nil for none.
func (o *sharedOptions) linksTo(a *App, colour bool) (*terminal.Links, error) {
	when := terminal.Auto
	if o.hyperlink != "" {
		var err error
		if when, err = terminal.ParseWhen(o.hyperlink); err != nil {
			return nil, usagef("", "--hyperlink: unknown setting %q: use auto, always or never", o.hyperlink)
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
