// Package flags has the flags that commands share, and what they mean: a request, a
// printer, and how flags are defined and grouped.
package flags

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pigrep/adapter"
	"pigrep/internal/redact"
	"pigrep/internal/terminal"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/problem"
	"pigrep/ui/printer"
)

type Shared struct {
	Filters filter.Written
	// of an agent that runs the command
	IncludeCurrent, IncludeSearches bool
	// where
	SessionDir []string
	IndexDir   string
	Follow     bool
	MaxLine    Number
	MaxSession Number
	NoUpdate   bool
	From       []string // archives, "this" for the sessions of this machine
	// hosts
	On     []string // the hosts to ask, "this" for the sessions of this machine, "all" for Hosts
	Hosts  []string // that "all" stands for
	Wait   time.Duration
	Reveal bool
	// archive
	Keep         []string
	KeepLimit    Number
	KeepCompress Number
	// output
	Redact         bool
	dates          bool
	maxBytes       Number
	progress       bool
	JSON, JSONL    bool
	Color          string
	Format         string
	Rows           string // the command that has the fields which the template may name
	hyperlink      string
	quiet, Verbose bool
}

// Group is a group of flags: commands take whole groups, and help lists them by group.
type Group string

// The groups of flags, in the order of help texts.
const (
	GroupCommand  Group = "Flags"
	GroupFilter   Group = "Filters"
	GroupWhere    Group = "Files"
	GroupMachines Group = "Other machines" // commands name those that they take; one topic explains them
	GroupAnswer   Group = "Answer"
	GroupOutput   Group = "Output"
)

var Groups = []Group{GroupCommand, GroupFilter, GroupWhere, GroupMachines, GroupAnswer, GroupOutput}

// Row describes a shared flag.
type Row struct {
	Name  string
	Value string // name of the value in help; "" for a switch
	Group Group
	usage string
	bind  func(o *Shared) any // *string, *[]string, *bool or a pflag.Value
	Words []string            // all values, for completion; nil if open
	Many  bool                // values may be joined with commas
	Of    string              // the command whose help lists it, "" for all, "-" for none: others take it as the settings file does
}

// On is the flag that asks other machines.
const On = "on"

// StandardWait is how long a question waits for a host or an archive.
const StandardWait = 5 * time.Second

// Table is the only table of shared flags. Commands, help, completion and docs
// use it. The filters come first.
var Table = append(filterRows(), []Row{
	{Name: "session-dir", Value: "DIR", Group: GroupWhere, usage: "read session files from DIR instead of agents' directories", bind: func(o *Shared) any { return &o.SessionDir }},
	{Name: "index-dir", Value: "DIR", Group: GroupWhere, usage: "keep the index in DIR, which must be missing, empty or an index", bind: func(o *Shared) any { return &o.IndexDir }},
	{Name: "follow", Group: GroupWhere, usage: "follow symbolic links that lead out of the session directories", bind: func(o *Shared) any { return &o.Follow }},
	{Name: "max-line", Value: "MB", Group: GroupWhere, usage: fmt.Sprintf("leave out lines longer than this, 0 for none (default %d)", StandardMaxLine), bind: func(o *Shared) any { return &o.MaxLine }},
	{Name: "max-session", Value: "GB", Group: GroupWhere, usage: fmt.Sprintf("read at most this much text of a compressed session, 0 for all (default %d)", StandardMaxSession), bind: func(o *Shared) any { return &o.MaxSession }},
	{Name: "no-update", Group: GroupWhere, usage: "use the index as it is, without updating it", bind: func(o *Shared) any { return &o.NoUpdate }},
	{Name: "keep", Value: "NAME", Group: GroupWhere, Of: "-", usage: "keep copies of the session files of these coding agents", bind: func(o *Shared) any { return &o.Keep }},
	{Name: "keep-limit", Value: "MB", Group: GroupWhere, Of: "keep", usage: fmt.Sprintf("let the copies take up at most this, 0 for no limit (default %d)", StandardKeepLimit), bind: func(o *Shared) any { return &o.KeepLimit }},
	{Name: "keep-compress", Value: "DAYS", Group: GroupWhere, Of: "keep", usage: fmt.Sprintf("compress copies of files that were not changed for so many days, 0 for never (default %d)", StandardKeepCompress), bind: func(o *Shared) any { return &o.KeepCompress }},

	{Name: "from", Value: "NAME", Group: GroupMachines, usage: "ask an archive: NAME, or NAME,this for this machine too", bind: func(o *Shared) any { return &o.From }},
	{Name: On, Value: "HOST", Group: GroupMachines, usage: "ask the pigrep of other machines over ssh: HOST, or HOST,HOST,this; all for those of the setting hosts", bind: func(o *Shared) any { return &o.On }},
	{Name: "hosts", Value: "HOST", Group: GroupWhere, Of: "-", usage: "the machines that --on all asks", bind: func(o *Shared) any { return &o.Hosts }},
	{Name: "wait", Value: "TIME", Group: GroupMachines, usage: "with --on or --from: leave out a host or an archive that says nothing for this time (default 5s)", bind: func(o *Shared) any { return &o.Wait }},
	{Name: "reveal", Group: GroupMachines, usage: "with --on: let hosts send keys, tokens and passwords as they are", bind: func(o *Shared) any { return &o.Reveal }},

	{Name: "redact", Group: GroupAnswer, usage: "mask anything that looks like a key, token or password", bind: func(o *Shared) any { return &o.Redact }},
	{Name: "dates", Group: GroupAnswer, usage: "print dates instead of ages", bind: func(o *Shared) any { return &o.dates }},
	{Name: "max-bytes", Value: "N", Group: GroupAnswer, usage: "print at most N bytes of JSON, 0 for all; items left out at the end are counted", bind: func(o *Shared) any { return &o.maxBytes }},
	{Name: "progress", Group: GroupAnswer, usage: "with JSON: print the progress of indexing on stderr, as JSON lines", bind: func(o *Shared) any { return &o.progress }},

	{Name: "json", Group: GroupOutput, usage: "print one JSON object (`pigrep help json`)", bind: func(o *Shared) any { return &o.JSON }},
	{Name: "jsonl", Group: GroupOutput, usage: "print one JSON object per line", bind: func(o *Shared) any { return &o.JSONL }},
	{Name: "color", Value: "WHEN", Group: GroupOutput, usage: "auto, always or never", bind: func(o *Shared) any { return &o.Color }, Words: whenNames},
	{Name: "hyperlink", Value: "WHEN", Group: GroupOutput, usage: "paths lead to their files, links to their pages: auto, always or never; never without colours", bind: func(o *Shared) any { return &o.hyperlink }, Words: whenNames},
	{Name: "quiet", Group: GroupOutput, usage: "print no progress and no warnings", bind: func(o *Shared) any { return &o.quiet }},
	{Name: "verbose", Group: GroupOutput, usage: "print steps and timings on stderr, and more counts below tables", bind: func(o *Shared) any { return &o.Verbose }},
}...)

// filterRows returns the flags of the table of filters, without --no-searches.
func filterRows() (rows []Row) {
	for i := range filter.Table {
		f := &filter.Table[i]
		if f.Name == "" || f.Name == filter.Searches {
			continue
		}
		rows = append(rows, Row{Name: f.Name, Value: f.Value, Group: GroupFilter, usage: f.Usage, Words: f.Values, Many: f.Many,
			bind: func(o *Shared) any { return &filterValue{f, &o.Filters} }})
	}
	return rows
}

type filterValue struct {
	row     *filter.Row
	written *filter.Written
}

func (v *filterValue) Type() string {
	switch {
	case v.row.Value == "":
		return "bool"
	case v.row.IsList():
		return "stringArray"
	}
	return "string"
}

func (v *filterValue) String() string {
	if v.row == nil || *v.written == nil { // pflag asks a zero value for its default
		return ""
	}
	return strings.Join(v.GetSlice(), ",")
}

// Set adds a value to a list, and replaces other values.
func (v *filterValue) Set(value string) error {
	if v.row.Value == "" {
		on, err := strconv.ParseBool(value)
		if err != nil {
			return err
		}
		value = strconv.FormatBool(on)
	}
	if *v.written == nil {
		*v.written = make(filter.Written)
	}
	values := []string{value}
	if v.row.IsList() {
		values = append(v.GetSlice(), value)
	}
	(*v.written)[v.row.Name] = values
	return nil
}

// GetSlice returns the values that were given.
func (v *filterValue) GetSlice() []string { return (*v.written)[v.row.Name] }

// The defaults of flags, in their units.
const (
	Megabyte                 = 1e6
	Gigabyte                 = 1e9
	StandardMaxLine      int = adapter.DefaultMaxLine / Megabyte
	StandardMaxSession   int = adapter.DefaultMaxSession / Gigabyte
	StandardKeepLimit    int = 10_000
	StandardKeepCompress int = 7
)

var whenNames = []string{string(terminal.Auto), string(terminal.Always), string(terminal.Never)}

const Annotation = "pigrep_group"

// alsoNamed has other names of filters, which help does not list: those of the fields of times, with
// what they mean there, and --failed.
var alsoNamed = map[string]string{filter.Since: "after", filter.Until: "before", "error": "failed"}

// Add adds shared flags to a command. The words are the groups that it takes, in lower case, single flags,
// and those that are left out, with a dash.
func (o *Shared) Add(cmd *cobra.Command, words string) {
	set := cmd.Flags()
	for _, row := range rowsNamed(words) {
		usage := row.usage
		if row.Many {
			usage += "; several with commas"
		}
		if row.Name == "wait" {
			o.Wait = StandardWait
		}
		Add(set, row.Name, "", row.Value, usage, row.bind(o))
		f := set.Lookup(row.Name)
		f.Annotations = map[string][]string{Annotation: {string(row.Group)}}
		f.Hidden = row.Of != "" && row.Of != cmd.Name()
		if also := alsoNamed[row.Name]; also != "" && set.Lookup(also) == nil {
			of := *filter.Lookup(row.Name)
			if of.Field == also {
				of.Name = also
			}
			Add(set, also, "", row.Value, usage, &filterValue{&of, &o.Filters})
			set.Lookup(also).Hidden = true
		}
	}
	if slices.Contains(strings.Fields(words), "no-searches") { // of commands that search text
		row := filter.Lookup(filter.Searches)
		Add(set, "no-searches", "", "", row.Usage, &filterValue{row, &o.Filters})
	}
	if slices.Contains(strings.Fields(words), "own") { // of commands that leave out what asks them
		Add(set, IncludeCurrent, "", "", "in the shell of a coding agent: its own session too, which is left out", &o.IncludeCurrent)
		Add(set, IncludeSearches, "", "", "in the shell of a coding agent: calls of pigrep too, which are left out", &o.IncludeSearches)
		for _, name := range []string{IncludeCurrent, IncludeSearches} {
			set.Lookup(name).Annotations = map[string][]string{Annotation: {string(GroupFilter)}}
		}
	}
	if slices.Contains(strings.Fields(words), Format) { // of commands that list rows
		Add(set, Format, "", "TEMPLATE", "print each row in this form, as '{id}\\t{title}'; {} lists the fields", &o.Format)
		set.Lookup(Format).Annotations = map[string][]string{Annotation: {string(GroupOutput)}}
	}
}

// rowsNamed returns the rows of the table that words name (see Add).
func rowsNamed(words string) (rows []Row) {
	list := strings.Fields(words)
	for _, row := range Table {
		inGroup := slices.Contains(list, strings.ToLower(string(row.Group)))
		if (inGroup || slices.Contains(list, row.Name)) && !slices.Contains(list, "-"+row.Name) {
			rows = append(rows, row)
		}
	}
	return rows
}

// IsQuiet reports whether a flag has an effect although help does not list it.
func IsQuiet(f *pflag.Flag) bool { return f.Hidden && f.Annotations[Annotation] != nil }

// Flags of some commands that are in a group although they are not in the table: for the form of each
// row of a list, and for what is left out in the shell of a coding agent.
const (
	Format          = "format"
	IncludeCurrent  = "include-current"
	IncludeSearches = "include-searches"
)

// template reads the flag.
func (o *Shared) template() (*printer.Template, error) {
	if o.JSON || o.JSONL {
		return nil, problem.Usagef("", "--format and --json cannot be combined")
	}
	t, err := printer.ParseTemplate(o.Format, printer.Fields(o.Rows))
	return t, FormatProblem(err)
}

// FormatProblem turns an error in a template into one about the flag.
func FormatProblem(err error) error {
	if e, ok := errors.AsType[*printer.TemplateError](err); ok {
		return problem.Usagef(e.Hint, "--format: %s", e.Message)
	}
	return err
}

// Ignore makes the command accept shared flags that have no effect on it, so that an alias with
// them works for every command. Help does not list them. --from is not among them: an answer about
// sessions outside the archive would look right.
func Ignore(cmd *cobra.Command, words string) {
	ignored := &Shared{}
	for _, row := range rowsNamed(words) {
		if cmd.Flags().Lookup(row.Name) == nil {
			Add(cmd.Flags(), row.Name, "", row.Value, row.usage, row.bind(ignored))
			cmd.Flags().Lookup(row.Name).Hidden = true
		}
	}
}

// Add defines a flag. The value of the variable is the default.
func Add(flags *pflag.FlagSet, name, short, value, usage string, variable any) {
	if value != "" {
		// pflag uses a word in back quotes as the name of the value.
		usage = "`" + value + "`" + strings.ReplaceAll(usage, "`", "'")
	}
	switch v := variable.(type) {
	case *bool:
		flags.BoolVarP(v, name, short, *v, usage)
	case pflag.Value:
		flags.VarP(v, name, short, usage)
		if v.Type() == "bool" {
			flags.Lookup(name).NoOptDefVal = "true"
		}
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

// AddHidden is Add for a switch that help does not list.
func AddHidden(flags *pflag.FlagSet, name, short, usage string, variable any) {
	Add(flags, name, short, "", usage, variable)
	flags.Lookup(name).Hidden = true
}

// Define defines the flags of a command. text lists its own flags as help shows them: the names,
// the name of the value, two spaces, and the meaning, with its further lines indented to the same
// column. The value of --per-session is the field PerSession of the options, a pointer to a struct.
// The shared flags stand in tags of the field Shared: takes, and ignores for flags without effect.
func Define(cmd *cobra.Command, text string, options any) {
	const meaning = "\n                          "
	values := reflect.ValueOf(options).Elem()
	for line := range strings.Lines(strings.ReplaceAll(text, meaning, " ")) {
		names, usage, _ := strings.Cut(strings.TrimSpace(line), "  ")
		short, long, _ := strings.Cut(names, "--")
		name, value, _ := strings.Cut(long, " ")
		field := values.FieldByNameFunc(func(field string) bool { return strings.EqualFold(field, strings.ReplaceAll(name, "-", "")) })
		Add(cmd.Flags(), name, strings.Trim(short, "-, "), value, strings.TrimSpace(usage), field.Addr().Interface())
	}
	field, _ := values.Type().FieldByName("Shared")
	shared := values.FieldByIndex(field.Index).Addr().Interface().(*Shared)
	shared.Rows = cmd.Name()
	shared.Add(cmd, field.Tag.Get("takes"))
	Ignore(cmd, field.Tag.Get("ignores"))
}

// Words names the values of a flag, where its usage has {words}, and completes them.
func Words(cmd *cobra.Command, name string, words []string) {
	if f := cmd.Flags().Lookup(name); f != nil {
		f.Usage = strings.Replace(f.Usage, "{words}", strings.Join(words, ", "), 1)
		// It fails only for an undefined flag.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
	}
}

// Around are the flags -B, -A and -C: how much is shown before and after a
// result. -B and -A override -C.
type Around struct{ BeforeContext, AfterContext, Context Number }

// Numbers returns how much is shown before and after a result.
func (c *Around) Numbers() (before, after int) {
	return c.BeforeContext.Or(c.Context.N), c.AfterContext.Or(c.Context.N)
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

func (o *Shared) Request(a *app.App) (search.Request, error) {
	r := search.Request{Redact: o.Redact, Env: filter.Env{Now: a.Now(), Expand: a.Absolute}}
	var err error
	r.Spec, err = o.Filters.Spec(r.Env)
	return r, filterProblem(err)
}

// filterProblem turns an error of filters into one about flags.
func filterProblem(err error) error {
	e, ok := errors.AsType[*filter.Error](err)
	if !ok {
		return err
	}
	hint := e.Hint
	if e.Topic != "" {
		hint = "`pigrep help " + e.Topic + "` explains them"
	}
	return &problem.Error{Code: problem.CodeUsage, Message: e.Message(func(name string) string { return "--" + name }), Hint: hint}
}

// Mask masks the answer that a pointer points to, if the user asked for it.
func (o *Shared) Mask(answer any) {
	if o.Redact {
		redact.Strings(answer)
	}
}

func (o *Shared) Printer(a *app.App) (*printer.Printer, error) {
	when, err := terminal.ParseWhen(cmp.Or(o.Color, string(terminal.Auto)))
	if err != nil {
		return nil, problem.Usagef("", "--color: %v", err)
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
	a.Styles, a.Links = colour, links != nil
	var template *printer.Template
	if o.Format != "" {
		if template, err = o.template(); err != nil {
			return nil, err
		}
		format = printer.FormatTemplate
	}
	layout := printer.Layout{Width: a.Streams.Width, Colour: colour, Now: a.Now(), Home: a.Home, Links: links, Dates: o.dates}
	return &printer.Printer{Out: a.Out, Format: format, Layout: layout, Template: template, MaxBytes: o.maxBytes.N}, nil
}

// linksTo returns the writer of hyperlinks for output with or without colours; nil for none.
func (o *Shared) linksTo(a *app.App, colour bool) (*terminal.Links, error) {
	when, err := terminal.ParseWhen(cmp.Or(o.hyperlink, string(terminal.Auto)))
	if err != nil {
		return nil, problem.Usagef("", "--hyperlink: unknown setting %q: use auto, always or never", o.hyperlink)
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
func (o *Shared) Without(name string) string {
	switch {
	case name == filter.CWD && o.Filters.On(filter.Here):
		return "without --here"
	case name == filter.Exclude && len(o.Filters[filter.Exclude]) == 0:
		return "with --include-current"
	case name == filter.Searches && !o.Filters.On(filter.Searches):
		return "with --include-searches"
	case name == filter.Searches:
		return "without --no-searches"
	}
	return search.Without(name)
}
