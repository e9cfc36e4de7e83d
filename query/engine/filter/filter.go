// Package filter answers: may this session, document, entry or part be shown, whatever
// is searched for? Its central type is Filter, compiled from flags (Spec) or from a
// field of a query; it is immutable and safe for concurrent use.
//
// The index evaluates filters on sessions and on keywords, which are the fields of a
// document that are indexed whole, such as its kind or tool. The session record
// evaluates filters on the time, branch and label of an entry: later lines of a file
// change these, so documents do not have them. A TextTest is a field such as re: that
// only the text of a part decides.
//
// Table describes every filter once: as a flag, as an argument, as a field of a query.
//
// It may import docset, entry, literal and match, all below it. The parser of queries,
// above it, reads the names of fields from the table.
package filter

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"pigrep/index/analysis"
	"pigrep/index/segment"
	"pigrep/internal/near"
	"pigrep/internal/session"
	"pigrep/query/engine/docset"
	"pigrep/query/engine/entry"
	"pigrep/scope"
)

// A Spec has the filters of flags. All of its fields must hold; any value of a field is
// enough.
type Spec struct {
	Scope scope.Scope // "" is scope.Default; ignored if Kinds is set

	Kinds    []session.Kind
	Roles    []string // message roles
	Tools    []string // tool names
	Models   []string // part of the model's name, or of provider/model
	Sessions []string // session ids, their beginnings or ends, or session paths
	Agents   []string // as of session.ShortAgent
	Projects []string // a path, or the last element of one
	Excludes []string // globs on session paths
	CWD      string   // absolute: that directory or below; "" for any

	Since, Until time.Time // inclusive; zero for open
	Error        bool      // only parts of entries with an error
	Branch       string    // entry.BranchActive or entry.BranchAbandoned; "" for any
	NoSearches   bool      // without parts that are session.Part.Search
	OnlySearches bool      // only these
}

// A Filter is a conjunction of tests. The zero Filter passes everything.
type Filter struct {
	sessions []func(*session.Summary) bool
	keywords []keywordTest
	times    []span
	branches []string
	labels   []string // folded
}

// A keywordTest tests one keyword of a document. A test of models also accepts by the
// provider alone and by provider/model.
type keywordTest struct {
	field   segment.Field
	accepts func(string) bool
	absent  bool // passes documents without such a keyword
}

// A span is a range of times in Unix milliseconds, both ends included.
type span struct{ since, until int64 }

func (s span) contains(ms int64) bool { return s.since <= ms && ms <= s.until }

func (s *Spec) Compile() *Filter {
	f := &Filter{}
	s.compile(f)
	return f
}

// compile adds the tests of a Spec to a Filter.
func (s *Spec) compile(f *Filter) {
	kinds := s.Kinds
	if sc := cmp.Or(s.Scope, scope.Default); len(kinds) == 0 && sc != scope.All {
		kinds = sc.KindsOf()
	}
	if len(kinds) > 0 {
		f.keywords = append(f.keywords, keywordTest{field: segment.FieldKind, accepts: func(term string) bool {
			return slices.Contains(kinds, session.Kind(term))
		}})
	}
	for i := range Table {
		if row := &Table[i]; row.test != nil && row.Active(s) {
			row.test(f, s)
		}
	}
	if s.OnlySearches {
		f.addPresence(segment.FieldSearch, true)
	}
}

// Selects reports whether the Spec says what is wanted. Where to look and what to leave
// out does not, which clients say of themselves.
func (s *Spec) Selects() bool {
	return slices.ContainsFunc(Table, func(r Row) bool {
		return r.Active(s) && r.Name != Scope && r.Name != Exclude && r.Name != Searches
	})
}

// WithAllKinds returns the Spec with the scope of all kinds if it has neither a scope
// nor kinds.
func (s Spec) WithAllKinds() Spec {
	if s.Scope == "" && len(s.Kinds) == 0 {
		s.Scope = scope.All
	}
	return s
}

func (f *Filter) addKeyword(field segment.Field, values []string) {
	f.keywords = append(f.keywords, keywordTest{field: field, accepts: func(term string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(term, v) })
	}})
}

// addPresence lets through the documents that have a keyword, or those that have none.
func (f *Filter) addPresence(field segment.Field, present bool) {
	f.keywords = append(f.keywords, keywordTest{field: field, accepts: func(string) bool { return true }, absent: !present})
}

func (f *Filter) addModels(values []string) {
	f.keywords = append(f.keywords, keywordTest{field: segment.FieldModel, accepts: func(name string) bool { return IsModel(name, values) }})
}

// IsModel reports whether the name of a model contains one of the values, ignoring
// case.
func IsModel(name string, values []string) bool {
	return slices.ContainsFunc(values, func(v string) bool { return near.ContainsFold(name, v) })
}

// modelName returns provider/model, or the one that there is.
func modelName(provider, model string) string {
	if provider == "" || model == "" {
		return provider + model
	}
	return provider + "/" + model
}

func (f *Filter) addSessions(values []string) {
	f.sessions = append(f.sessions, func(s *session.Summary) bool {
		name := session.BaseName(s.Path)
		return slices.ContainsFunc(values, func(v string) bool {
			return near.IsID(session.Handle(s.ID, s.Path), v) || isApart(s, v) || s.Path == v || name == strings.TrimSuffix(v, session.Extension)
		})
	})
}

// isApart reports whether a name that tells a session from others with its id may be of s.
func isApart(s *session.Summary, name string) bool {
	id, from := session.CutApart(name)
	return from != "" && s.ID != "" && near.IsID(s.ID, id) && s.MayBe(from)
}

func (f *Filter) addAgents(values []string) {
	f.sessions = append(f.sessions, func(s *session.Summary) bool {
		return slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(session.ShortAgent(s.Agent), v) })
	})
}

func (f *Filter) addProjects(values []string) {
	var tests []func(s *session.Summary, cwd string) bool
	for _, v := range values {
		if v = strings.TrimRight(session.Slashed(v), "/"); v == "" {
			continue
		}
		end := "/" + strings.TrimLeft(v, "/")
		tests = append(tests, func(_ *session.Summary, cwd string) bool {
			return cwd == v || strings.EqualFold(path.Base(cwd), v) || strings.Contains(v, "/") && strings.HasSuffix(cwd, end)
		})
		if end == v {
			dir := NewDirectory(v)
			tests = append(tests, func(s *session.Summary, _ string) bool { return dir.Is(s.CWD) })
		}
	}
	f.sessions = append(f.sessions, func(s *session.Summary) bool {
		cwd := strings.TrimRight(session.Slashed(s.CWD), "/")
		return slices.ContainsFunc(tests, func(passes func(*session.Summary, string) bool) bool { return passes(s, cwd) })
	})
}

func (f *Filter) addCWD(dir string) {
	d := NewDirectory(dir)
	f.sessions = append(f.sessions, func(s *session.Summary) bool { return d.Has(s.CWD) })
}

// LiteralGlob returns a glob that matches only this path.
func LiteralGlob(path string) string {
	return strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]").Replace(path)
}

// addExclude leaves out the sessions whose path a glob matches. The glob matches one or
// more whole elements of the path, from the root if it begins with a slash, and
// everything below them. The path of a session leaves it out too, whatever brackets it has.
func (f *Filter) addExclude(glob string) {
	path := session.Slashed(glob)
	pattern := path
	if !strings.HasPrefix(pattern, "/") {
		pattern = "**/" + pattern
	}
	pattern = strings.TrimRight(pattern, "/")
	if !doublestar.ValidatePattern(pattern) { // take brackets without a partner literally
		pattern = strings.NewReplacer("[", `\[`, "]", `\]`, "{", `\{`, "}", `\}`).Replace(pattern)
	}
	below := pattern + "/**"
	f.sessions = append(f.sessions, func(s *session.Summary) bool {
		p := session.Slashed(s.Path)
		return p != path && !doublestar.MatchUnvalidated(pattern, p) && !doublestar.MatchUnvalidated(below, p)
	})
}

func (f *Filter) addTime(since, until time.Time) {
	s := span{-1 << 63, 1<<63 - 1}
	if !since.IsZero() {
		s.since = since.UnixMilli()
	}
	if !until.IsZero() {
		s.until = until.UnixMilli()
	}
	f.times = append(f.times, s)
}

// Session reports whether a session passes. It does not test times, branches and
// labels: see Entry.
func (f *Filter) Session(s *session.Summary) bool {
	return !slices.ContainsFunc(f.sessions, func(pass func(*session.Summary) bool) bool { return !pass(s) })
}

// TestsSessions reports whether Session may be false.
func (f *Filter) TestsSessions() bool { return len(f.sessions) > 0 }

func (f *Filter) TestsKeywords() bool { return len(f.keywords) > 0 }

// TestsEntries reports whether Entry may be false.
func (f *Filter) TestsEntries() bool { return len(f.times)+len(f.branches)+len(f.labels) > 0 }

// Empty reports whether the filter passes everything.
func (f *Filter) Empty() bool { return !f.TestsSessions() && !f.TestsKeywords() && !f.TestsEntries() }

// Branch returns the branch that entries must be on, "" for any.
func (f *Filter) Branch() string {
	if len(f.branches) == 0 {
		return ""
	}
	return f.branches[0]
}

// Meta is what the session record says about an entry.
type Meta struct {
	Time   int64 // Unix milliseconds
	Active bool  // on the active branch
	Label  string
}

// Entry reports whether an entry passes the tests of times, branches and labels.
func (f *Filter) Entry(m Meta) bool {
	onOther := func(branch string) bool { return entry.BranchName(m.Active) != branch }
	if !f.Time(m.Time) || slices.ContainsFunc(f.branches, onOther) {
		return false
	}
	return !slices.ContainsFunc(f.labels, func(l string) bool { return m.Label == "" || !strings.Contains(analysis.Fold(m.Label), l) })
}

// Time reports whether a time in Unix milliseconds passes.
func (f *Filter) Time(ms int64) bool {
	for _, s := range f.times {
		if !s.contains(ms) {
			return false
		}
	}
	return true
}

// TestsTime reports whether Time may be false.
func (f *Filter) TestsTime() bool { return len(f.times) > 0 }

// A Verdict says which entries of a session pass, as far as its summary says.
type Verdict uint8

// The verdicts.
const (
	Unknown Verdict = iota // depends on the entry
	None                   // none passes
	All                    // all pass
)

func (f *Filter) EntryVerdict(s *session.Summary) Verdict {
	if len(f.labels) > 0 && len(s.LabelNames) == 0 {
		return None
	}
	times := All
	if len(f.times) > 0 && s.Oldest.IsZero() {
		times = Unknown
	} else if len(f.times) > 0 {
		first, last := s.Times()
		times = f.TimesVerdict(first.UnixMilli(), last.UnixMilli())
	}
	if times == All && len(f.branches)+len(f.labels) > 0 {
		return Unknown
	}
	return times
}

// TimesVerdict returns which times from the first to the last, in Unix milliseconds, pass
// Time.
func (f *Filter) TimesVerdict(first, last int64) Verdict {
	for _, t := range f.times {
		if last < t.since || first > t.until {
			return None
		}
	}
	if f.Time(first) && f.Time(last) {
		return All
	}
	return Unknown
}

// Part reports whether a part that was read again passes the tests of keywords, and its entry,
// written at a time, passes the tests of times. It does not test sessions, branches and labels.
func (f *Filter) Part(e *session.Entry, p *session.Part, at time.Time) bool {
	if !f.Time(at.UnixMilli()) {
		return false
	}
	for i := range f.keywords {
		t := &f.keywords[i]
		if value := keyword(t.field, e, p); (value != "" && t.accepts(value)) == t.absent {
			return false
		}
	}
	return true
}

func keyword(f segment.Field, e *session.Entry, p *session.Part) string {
	switch f {
	case segment.FieldKind:
		return string(p.Kind)
	case segment.FieldRole:
		return e.Role
	case segment.FieldTool:
		return p.Tool
	case segment.FieldModel:
		return modelName(e.Provider, e.Model)
	case segment.FieldImage:
		return segment.ImageTerm(e.Images)
	case segment.FieldSearch:
		if p.Search {
			return segment.Yes
		}
	case segment.FieldFlag:
		if e.IsError {
			return segment.FlagError
		}
	}
	return ""
}

// EntryTest returns a test of the entries of a session: it passes those on the Spec's
// branch and within its times that have a part which passes all other filters. All kinds
// pass if the Spec has neither a scope nor kinds. EntryTest returns nil if there are no
// filters.
func EntryTest(rec *session.Record, s Spec) func(*entry.Entry) bool {
	s = s.WithAllKinds()
	f := s.Compile()
	if f.Empty() {
		return nil
	}
	passes, branch := f.Session(&rec.Summary), f.Branch()
	return func(e *entry.Entry) bool {
		if !passes || branch != "" && e.Branch != branch {
			return false
		}
		if !f.TestsKeywords() { // entries without any part count
			return f.Part(&e.Entry, &session.Part{}, e.Time)
		}
		return slices.ContainsFunc(e.Parts, func(p session.Part) bool { return f.Part(&e.Entry, &p, e.Time) })
	}
}

// Docs returns the documents of a segment that pass the tests of sessions and
// keywords, nil for all. pass reports whether the session of a file, given by its
// number, passes; it is called only if TestsSessions. owned has the documents that are about
// the session of another file: see index.Names.
func (f *Filter) Docs(seg *segment.Segment, owned map[uint32]uint32, pass func(file uint32) bool) docset.Set {
	docs := f.Keywords(seg)
	if !f.TestsSessions() {
		return docs
	}
	of := docset.OfFiles(seg, pass)
	for doc, file := range owned {
		of.Set(doc, pass(file))
	}
	return docset.Both(of, docs)
}

// Keywords returns the documents of a segment that pass the tests of keywords, nil
// for all.
func (f *Filter) Keywords(seg *segment.Segment) (docs docset.Set) {
	for i := range f.keywords {
		docs = docset.Both(docs, f.keywords[i].docs(seg))
	}
	return docs
}

func (t *keywordTest) docs(seg *segment.Segment) docset.Set {
	// Every document has a kind, and most have one that passes: mark the others and
	// invert.
	if t.field == segment.FieldKind || t.absent {
		docs := docset.ByKeyword(seg, t.field, func(term string) bool { return t.accepts(term) == t.absent })
		for i := range docs {
			docs[i] = ^docs[i]
		}
		return docs
	}
	docs := docset.ByKeyword(seg, t.field, t.accepts)
	if t.field != segment.FieldModel {
		return docs
	}
	for _, provider := range docset.Keywords(seg, segment.FieldProvider) {
		of := docset.New(seg.Len())
		of.Mark(seg, segment.FieldProvider, provider)
		if !t.accepts(provider) {
			of.And(docset.ByKeyword(seg, segment.FieldModel, func(model string) bool { return t.accepts(modelName(provider, model)) }))
		}
		docs.Or(of)
	}
	return docs
}

// TestsOnlyTime reports whether Entry asks for nothing but times, which every entry has.
func (f *Filter) TestsOnlyTime() bool { return len(f.branches)+len(f.labels) == 0 }

// WithSessions lets through of the sessions those that pass too; nil lets all through.
func (f *Filter) WithSessions(pass func(*session.Summary) bool) *Filter {
	if pass == nil {
		return f
	}
	narrow := *f
	narrow.sessions = append(slices.Clone(f.sessions), pass)
	return &narrow
}
