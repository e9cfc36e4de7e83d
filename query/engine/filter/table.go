package filter

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/internal/content"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/timespec"
	"pigrep/query/engine/entry"
	"pigrep/scope"
)

// A Row describes a filter: as a flag and as an argument of agents' tools, as a field of
// the query language, or as both.
type Row struct {
	Name   string // of the flag and the argument, in errors and suggestions; "" for fields only
	Value  string // what help calls a value of the flag; "" for a switch
	Usage  string // of the flag, for help
	Agents string // what agents are told of the argument; "" if they have none
	Rare   bool   // agents are not told of it, but may use it
	Reach  Reach  // which questions agents restrict with it
	Blank  bool   // an empty value means nothing: scripts pass what may be unset
	Topic  string // the help topic that explains the values; "" for none
	Hint   string // what to type instead of a value that cannot be read; "" if the error says it

	Field   string // its name in the query language; "" for flags only
	Meaning string // of the field's value, for help
	Example string // of the field, for help

	Values []string // all values; nil if any is allowed
	Also   string   // another word for the first value of the field; "" for none
	Many   bool     // a value may be several, joined with commas

	// What it sets: *[]session.Kind, *[]string, *string, *bool or *time.Time. It is nil
	// for what only the query language has.
	member func(s *Spec) any
	read   func(r *reading) error   // sets it, if it is not just the value
	field  func(r *reading) error   // the same for the field, if that means something else
	test   func(f *Filter, s *Spec) // adds what is then tested
	text   func(r *reading, a *analysis.Analyzer) (*TextTest, error)
}

// Reach says which questions a filter restricts.
type Reach uint8

// The reaches; each includes those before it.
const (
	OfSessions Reach = iota // all questions
	OfCalls                 // those about calls and tokens
	OfText                  // those about text
)

// A reading is one value of a filter while it is read into a Spec.
type reading struct {
	*Row
	value  string
	values []string // the value, or those that it joins with commas
	names  []string // the same and, as a name may have commas, the value as a whole
	env    Env

	spec *Spec
	more *Filter // what the query language tests beyond flags
}

// newReading prepares a value. A quoted one has no commas that separate values.
func (r *Row) newReading(value string, quoted bool, env Env) *reading {
	in := &reading{Row: r, value: value, values: []string{value}, names: []string{value}, env: env}
	if r.Many && !quoted {
		in.values, in.names = Values(value), Alternatives(value)
	}
	return in
}

// The names of filters that clients and errors mention.
const (
	Scope    = "scope"
	Kind     = "kind"
	Agent    = "agent"
	Host     = "host"
	Session  = "session"
	CWD      = "cwd"
	Here     = "here"
	Project  = "project"
	Model    = "model"
	Since    = "since"
	Until    = "until"
	Branch   = "branch"
	Exclude  = "exclude"
	Searches = "searches"
)

var timeForms = "forms that work: " + strings.Join(timespec.Examples, ", ")

// Table is the only table of filters, in the order of help. Flags, arguments of agents'
// tools, the fields of the query language, suggestions and docs are made from it.
var Table = []Row{
	{
		Name: Scope, Value: "NAME", Usage: "which kinds of text: " + strings.Join(names(scope.Scopes), ", "),
		Agents: "default conversations", Reach: OfText, Values: names(scope.Scopes), Topic: "scopes",
		member: func(s *Spec) any { return &s.Scope },
		read: func(r *reading) (err error) {
			r.spec.Scope, err = scope.Parse(r.value)
			return err
		},
	},
	{
		Name: Kind, Value: "KIND", Usage: "only these kinds, instead of a scope (`pigrep help scopes`)",
		Agents: "prompt, reply, thinking, call, result, ...", Reach: OfText, Topic: "scopes",
		Field: "kind", Meaning: "a kind of part; several with commas", Example: "kind:call", Values: lists.Map(scope.Kinds, func(r scope.Row) string { return string(r.Kind) }), Many: true,
		member: func(s *Spec) any { return &s.Kinds },
		read:   readKinds,
	},
	{
		Name: "role", Value: "ROLE", Usage: "only messages of these roles: user, assistant, toolResult, ...",
		Agents: "user, assistant, toolResult, ...", Rare: true, Reach: OfText,
		Field: "role", Meaning: "who speaks; several with commas", Example: "role:user", Many: true,
		member: func(s *Spec) any { return &s.Roles },
		test:   func(f *Filter, s *Spec) { f.addKeyword(segment.FieldRole, s.Roles) },
	},
	{
		Name: "tool", Value: "NAME", Usage: "only calls and results of these tools",
		Agents: "calls and results of these tools", Reach: OfText,
		Field: "tool", Meaning: "the name of a tool; several with commas", Example: "tool:bash", Many: true,
		member: func(s *Spec) any { return &s.Tools },
		test:   func(f *Filter, s *Spec) { f.addKeyword(segment.FieldTool, s.Tools) },
	},
	{
		Name: Agent, Value: "NAME", Usage: "only sessions of these coding agents: their names in `pigrep status`",
		Agents: "coding agents, as answers name them", Rare: true,
		Field: "agent", Meaning: "the coding agent whose session it is; several with commas", Example: "agent:claude", Many: true,
		member: func(s *Spec) any { return &s.Agents },
		test:   func(f *Filter, s *Spec) { f.addAgents(s.Agents) },
	},
	{
		Name: Session, Value: "ID", Usage: "only these sessions: ids as shown, or paths",
		Agents: "ids or paths",
		Field:  "session", Meaning: "a session id as shown, or its beginning; several with commas", Example: "session:01a1f7de", Many: true,
		member: func(s *Spec) any { return &s.Sessions },
		read:   readSessions,
		field:  (*reading).set,
		test:   func(f *Filter, s *Spec) { f.addSessions(s.Sessions) },
	},
	{
		Field: Host, Meaning: "the machine whose session it is, as answers name it, or this; several with commas", Example: "host:laptop", Many: true,
		field: func(r *reading) error {
			r.more.sessions = append(r.more.sessions, func(s *session.Summary) bool {
				host := HostOf(s, r.env.Host)
				return slices.ContainsFunc(r.names, func(v string) bool { return strings.EqualFold(host, v) })
			})
			return nil
		},
	},
	{
		Name: CWD, Value: "DIR", Usage: "only sessions started in this directory or below it",
		Agents: "this directory or below",
		Field:  "cwd", Meaning: "a directory, or any below it", Example: "cwd:~/src/app",
		member: func(s *Spec) any { return &s.CWD },
		read:   readCWD,
		test:   func(f *Filter, s *Spec) { f.addCWD(s.CWD) },
	},
	{
		Name: Here, Usage: "only sessions started in this directory or below it; the same as --cwd .",
		read: func(r *reading) error {
			if r.value == yes {
				r.spec.CWD = r.env.expand(".")
			}
			return nil
		},
	},
	{
		Name: Project, Value: "NAME", Usage: "only sessions of these projects: paths, or their last elements",
		Agents: "directories, or their last elements",
		Field:  "project", Meaning: "a path, or its last element; several with commas", Example: "project:app", Many: true,
		member: func(s *Spec) any { return &s.Projects },
		test:   func(f *Filter, s *Spec) { f.addProjects(s.Projects) },
	},
	{
		Name: Model, Value: "NAME", Usage: "only text from these models: parts of names, or of provider/model",
		Agents: "parts of names", Rare: true, Reach: OfCalls,
		Field: "model", Meaning: "part of a model name or of provider/model; several with commas", Example: "model:opus", Many: true,
		member: func(s *Spec) any { return &s.Models },
		test:   func(f *Filter, s *Spec) { f.addModels(s.Models) },
	},
	{
		Name: Since, Value: "TIME", Usage: "only entries since this time: " + strings.Join(timespec.Examples, ", "),
		Agents: "2026-01-31, 36h, 2w, yesterday", Hint: timeForms,
		Field: "after", Meaning: "a time, inclusive", Example: "after:2026-01-01",
		member: func(s *Spec) any { return &s.Since },
		read: func(r *reading) error {
			span, err := r.time()
			r.spec.Since = span.Start
			return err
		},
		test: func(f *Filter, s *Spec) { f.addTime(s.Since, time.Time{}) },
	},
	{
		Name: Until, Value: "TIME", Usage: "only entries up to this time; a date includes the whole day",
		Agents: "as since", Hint: timeForms,
		Field: "before", Meaning: "a time, exclusive", Example: "before:2w",
		member: func(s *Spec) any { return &s.Until },
		read: func(r *reading) error {
			span, err := r.time()
			r.spec.Until = span.End.Add(1) // the span includes its end, the request does not
			return err
		},
		field: func(r *reading) error {
			span, err := r.time()
			r.spec.Until = span.Start.Add(-time.Millisecond)
			return err
		},
		test: func(f *Filter, s *Spec) { f.addTime(time.Time{}, s.Until) },
	},
	{
		Name: "error", Usage: "only failed tool results, replies and shell commands",
		Agents: "only what failed", Reach: OfText,
		Field:   "is",
		Meaning: "error: failed results, replies and shell commands; named: sessions with a name; image: the same as has:image",
		Example: "is:error", Values: []string{"error", "named", "image"}, Also: "failed",
		member: func(s *Spec) any { return &s.Error },
		field:  readIs,
		test:   func(f *Filter, s *Spec) { f.addKeyword(segment.FieldFlag, []string{segment.FlagError}) },
	},
	{
		Name: Branch, Value: "WHICH", Usage: "only entries on the active branch, or on abandoned ones (default any)",
		Agents: "default any", Rare: true, Reach: OfText,
		Field: "branch", Meaning: "active, abandoned or any", Example: "branch:abandoned",
		Values: []string{entry.BranchActive, entry.BranchAbandoned, "any"},
		member: func(s *Spec) any { return &s.Branch },
		read: func(r *reading) (err error) {
			r.spec.Branch, err = entry.ParseBranch(r.value)
			return err
		},
		test: func(f *Filter, s *Spec) { f.branches = append(f.branches, s.Branch) },
	},
	{
		Name: Exclude, Value: "GLOB", Usage: "skip sessions whose path matches", Blank: true,
		Agents: "globs of session paths", Rare: true,
		member: func(s *Spec) any { return &s.Excludes },
		test: func(f *Filter, s *Spec) {
			for _, glob := range s.Excludes {
				f.addExclude(glob)
			}
		},
	},
	{
		Name: Searches, Usage: "leave out calls of pigrep and their results, which repeat other sessions",
		member: func(s *Spec) any { return &s.NoSearches },
		test:   func(f *Filter, s *Spec) { f.addPresence(segment.FieldSearch, false) },
	},
	{
		Field: "has", Meaning: "image: entries with images", Example: "has:image", Values: []string{"image"},
		field: readIs,
	},
	{
		Field: "title", Meaning: "part of the session's title: its name, else what was asked first", Example: "title:auth",
		field: func(r *reading) error {
			part := analysis.Fold(r.value)
			r.more.sessions = append(r.more.sessions, func(s *session.Summary) bool {
				return part != "" && strings.Contains(analysis.Fold(s.Title()), part)
			})
			return nil
		},
	},
	{
		Field: "label", Meaning: "part of a label; finds the labelled entries", Example: "label:keep",
		field: func(r *reading) error {
			r.more.labels = append(r.more.labels, analysis.Fold(r.value))
			return nil
		},
	},
	{
		Field: "file", Meaning: "a path, or its last elements, in call arguments and the file lists of summaries", Example: "file:main.go",
		text: newFileTest,
	},
	{
		Field: "cmd", Meaning: "words in the command of a bash call or a shell entry", Example: `cmd:"rm -rf"`,
		text: newCommandTest,
	},
	{
		Field:   "re",
		Meaning: "a regular expression (RE2) on the text; quote white space; case counts if it has an upper-case letter",
		Example: "re:time(d)?out",
		text:    newExpressionTest,
	},
}

// Fields are the rows of the query language's fields, in the order of help: what a part
// has, its session, its entry, its text. A field that is not named here comes last.
var Fields = inOrder(strings.Fields("kind role tool is has model agent host cwd project session title label branch after before file cmd re"))

// Closed reports whether a field takes only its Values; a list of values is checked when it is
// read.
func (r *Row) Closed() bool { return r.Values != nil && !r.Many }

func inOrder(fields []string) (rows []*Row) {
	for i := range Table {
		if Table[i].Field != "" {
			rows = append(rows, &Table[i])
		}
	}
	place := func(r *Row) int {
		if i := slices.Index(fields, r.Field); i >= 0 {
			return i
		}
		return len(fields)
	}
	slices.SortStableFunc(rows, func(a, b *Row) int { return place(a) - place(b) })
	return rows
}

// Lookup returns the filter of this name, nil if there is none.
func Lookup(name string) *Row { return lookup(name, func(r *Row) string { return r.Name }) }

// LookupField returns the filter with this field, nil if there is none. The fields of times may have
// the names of their flags.
func LookupField(field string) *Row {
	if field == Since || field == Until {
		return Lookup(field)
	}
	return lookup(field, func(r *Row) string { return r.Field })
}

func lookup(name string, of func(*Row) string) *Row {
	for i := range Table {
		if name != "" && of(&Table[i]) == name {
			return &Table[i]
		}
	}
	return nil
}

// IsList reports whether the flag can be repeated.
func (r *Row) IsList() bool {
	return r.member != nil && reflect.TypeOf(r.member(new(Spec))).Elem().Kind() == reflect.Slice
}

// memberOf returns the member of a Spec that the filter sets; the zero Value if there is none.
func (r *Row) memberOf(s *Spec) reflect.Value {
	if r.member == nil {
		return reflect.Value{}
	}
	return reflect.ValueOf(r.member(s)).Elem()
}

func (r *Row) Active(s *Spec) bool {
	v := r.memberOf(s)
	return v.IsValid() && !v.IsZero()
}

func (r *Row) Clear(s *Spec) { r.memberOf(s).SetZero() }

// set sets the member to the value, or adds the names to it.
func (r *reading) set() error {
	switch to := r.member(r.spec).(type) {
	case *[]string:
		*to = append(*to, r.names...)
	case *string:
		*to = r.value
	case *bool:
		*to = r.value == yes
	}
	return nil
}

// yes is the value of a switch.
const yes = "true"

func readKinds(r *reading) error {
	for _, name := range r.values {
		k, err := scope.ParseKind(name)
		if err != nil {
			return err
		}
		if !slices.Contains(r.spec.Kinds, k) {
			r.spec.Kinds = append(r.spec.Kinds, k)
		}
	}
	return nil
}

// readSessions makes paths absolute; ids stay as they are.
func readSessions(r *reading) error {
	for _, s := range r.names {
		if s = content.Logical(s); session.IsPath(s) {
			s = r.env.expand(s)
		}
		r.spec.Sessions = append(r.spec.Sessions, s)
	}
	return nil
}

func readCWD(r *reading) error {
	r.spec.CWD = r.env.expand(r.value)
	return nil
}

func readIs(r *reading) error {
	switch {
	case !slices.Contains(r.Values, r.value) && r.value != r.Also:
		return fmt.Errorf("%s: knows %s only", r.Field, strings.Join(r.Values, ", "))
	case r.value == "error", r.value == r.Also:
		r.spec.Error = true
	case r.value == "named":
		r.more.sessions = append(r.more.sessions, func(s *session.Summary) bool { return s.Name != "" })
	default:
		r.more.addPresence(segment.FieldImage, true)
	}
	return nil
}

// HostOf returns the machine that has a session, as host: calls it. own is the name of the one that
// answers.
func HostOf(s *session.Summary, own string) string {
	if host, _, ok := session.SplitHost(s.Path); ok {
		return host
	}
	return cmp.Or(own, ThisHost)
}

// ThisHost is what host: calls this machine.
const ThisHost = "this"

func (r *reading) time() (timespec.Span, error) { return timespec.Parse(r.value, r.env.Now) }

func names[T ~string](list []T) []string {
	return lists.Map(list, func(s T) string { return string(s) })
}
