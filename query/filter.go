package query

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"pigrep/index"
	"pigrep/index/analysis"
	"pigrep/internal/session"
	"pigrep/internal/timespec"
	"pigrep/query/docset"
	"pigrep/query/entry"
	"pigrep/query/syntax"
	"pigrep/scope"
)

// A test is one filter. It looks at a keyword of the document, for models at that
// of the provider too, or at what is known of its session file, or at the time of
// its entry.
type test struct {
	field   index.Field
	keyword func(string) bool
	file    func(*session.Summary) bool

	since, until int64 // Unix milliseconds, both inside; used when timed
	timed        bool
	branch       string // when set, the test looks at that in place of the time
	label        string // folded; used when not empty
}

// newTest makes the test of a field in the query's text.
func newTest(f *syntax.Field, req *Request) (test, error) {
	value := f.Value
	switch f.Name {
	case "kind":
		var kinds []session.Kind
		for name := range strings.SplitSeq(value, ",") {
			k, err := scope.ParseKind(name)
			if err != nil {
				return test{}, err
			}
			kinds = append(kinds, k)
		}
		return kindTest(kinds), nil
	case "role":
		return keywordTest(index.FieldRole, strings.Split(value, ",")), nil
	case "tool":
		return keywordTest(index.FieldTool, strings.Split(value, ",")), nil
	case "is":
		switch value {
		case index.FlagError:
			return errorTest(), nil
		case "named":
			return test{file: func(s *session.Summary) bool { return s.Name != "" }}, nil
		}
		return test{}, fmt.Errorf("is: knows %s only", strings.Join(syntax.FieldNamed("is").Values, ", "))
	case "title":
		part := analysis.Fold(value)
		return test{file: func(s *session.Summary) bool { return part != "" && strings.Contains(analysis.Fold(s.Name), part) }}, nil
	case "label":
		return labelTest(value), nil
	case "model":
		return modelTest([]string{value}), nil
	case "cwd":
		if req.Expand != nil {
			value = req.Expand(value)
		}
		return cwdTest(value), nil
	case "project":
		return projectTest([]string{value}), nil
	case "session":
		return sessionTest([]string{value}), nil
	case "branch":
		branch, err := entry.ParseBranch(value)
		if err == nil && branch == "" {
			return test{file: func(*session.Summary) bool { return true }}, nil
		}
		return branchTest(branch), err
	case "after", "before":
		span, err := timespec.Parse(value, req.Now)
		if err != nil {
			return test{}, err
		}
		if f.Name == "after" {
			return timeTest(span.Start, time.Time{}), nil
		}
		return timeTest(time.Time{}, span.Start.Add(-time.Millisecond)), nil
	}
	return test{}, fmt.Errorf("there is no field %q", f.Name)
}

// tests makes the tests of the request's filters; all must hold.
func (req *Request) tests() ([]test, error) {
	var tests []test
	kinds := req.Kinds
	if len(kinds) == 0 {
		s := req.Scope
		if s == "" {
			s = scope.Default
		}
		if s != scope.All {
			kinds = s.KindsOf()
		}
	}
	if len(kinds) > 0 {
		tests = append(tests, kindTest(kinds))
	}
	if len(req.Roles) > 0 {
		tests = append(tests, keywordTest(index.FieldRole, req.Roles))
	}
	if len(req.Tools) > 0 {
		tests = append(tests, keywordTest(index.FieldTool, req.Tools))
	}
	if req.Error {
		tests = append(tests, errorTest())
	}
	if len(req.Models) > 0 {
		tests = append(tests, modelTest(req.Models))
	}
	if len(req.Sessions) > 0 {
		tests = append(tests, sessionTest(req.Sessions))
	}
	if len(req.Projects) > 0 {
		tests = append(tests, projectTest(req.Projects))
	}
	if req.CWD != "" {
		tests = append(tests, cwdTest(req.CWD))
	}
	if req.Branch != "" {
		tests = append(tests, branchTest(req.Branch))
	}
	for _, glob := range req.Excludes {
		re, err := globRegexp(glob)
		if err != nil {
			return nil, err
		}
		tests = append(tests, test{file: func(s *session.Summary) bool { return !re.MatchString(slashed(s.Path)) }})
	}
	if !req.Since.IsZero() || !req.Until.IsZero() {
		tests = append(tests, timeTest(req.Since, req.Until))
	}
	return tests, nil
}

func kindTest(kinds []session.Kind) test {
	return test{field: index.FieldKind, keyword: func(term string) bool {
		for _, k := range kinds {
			if term == string(k) {
				return true
			}
		}
		return false
	}}
}

func keywordTest(f index.Field, values []string) test {
	return test{field: f, keyword: func(term string) bool {
		for _, v := range values {
			if strings.EqualFold(term, v) {
				return true
			}
		}
		return false
	}}
}

func errorTest() test {
	return keywordTest(index.FieldFlag, []string{index.FlagError})
}

// modelTest takes parts of provider/model.
func modelTest(values []string) test {
	return test{field: index.FieldModel, keyword: func(name string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return containsFold(name, v) })
	}}
}

// modelName is what a modelTest looks at.
func modelName(provider, model string) string {
	if provider == "" || model == "" {
		return provider + model
	}
	return provider + "/" + model
}

func sessionTest(values []string) test {
	return test{file: func(s *session.Summary) bool {
		for _, v := range values {
			if hasPrefixFold(s.ID, v) || s.Path == v || strings.TrimSuffix(path.Base(slashed(s.Path)), ".jsonl") == strings.TrimSuffix(v, ".jsonl") {
				return true
			}
		}
		return false
	}}
}

func projectTest(values []string) test {
	return test{file: func(s *session.Summary) bool {
		cwd := strings.TrimRight(slashed(s.CWD), "/")
		for _, v := range values {
			v = strings.TrimRight(slashed(v), "/")
			if v != "" && (cwd == v || strings.EqualFold(path.Base(cwd), v) || strings.Contains(v, "/") && strings.HasSuffix(cwd, "/"+strings.TrimLeft(v, "/"))) {
				return true
			}
		}
		return false
	}}
}

func cwdTest(dir string) test {
	dir = strings.TrimRight(slashed(dir), "/")
	return test{file: func(s *session.Summary) bool {
		rest, ok := strings.CutPrefix(slashed(s.CWD), dir)
		return ok && s.CWD != "" && (rest == "" || rest[0] == '/')
	}}
}

func timeTest(since, until time.Time) test {
	t := test{timed: true, since: -1 << 63, until: 1<<63 - 1}
	if !since.IsZero() {
		t.since = since.UnixMilli()
	}
	if !until.IsZero() {
		t.until = until.UnixMilli()
	}
	return t
}

// contains reports whether the time, in Unix milliseconds, is inside.
func (t *test) contains(ms int64) bool { return t.since <= ms && ms <= t.until }

// slashed writes a path of any system with slashes. A session may have been
// recorded on another system than this one.
func slashed(p string) string { return strings.ReplaceAll(p, `\`, "/") }

func containsFold(s, part string) bool {
	return part != "" && strings.Contains(strings.ToLower(s), strings.ToLower(part))
}

func hasPrefixFold(s, prefix string) bool {
	return prefix != "" && len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// globRegexp compiles a glob on paths: * and ? stay within an element, ** does
// not. A glob matches a path when it matches some whole elements of it in a row,
// from the root when it begins with a slash.
func globRegexp(glob string) (*regexp.Regexp, error) {
	g := slashed(glob)
	var b strings.Builder
	if strings.HasPrefix(g, "/") {
		b.WriteString("^")
	} else {
		b.WriteString("(?:^|/)")
	}
	for i := 0; i < len(g); i++ {
		switch c := g[i]; {
		case strings.HasPrefix(g[i:], "**"):
			b.WriteString(".*")
			i++
		case c == '*':
			b.WriteString("[^/]*")
		case c == '?':
			b.WriteString("[^/]")
		case c == '[':
			end := strings.IndexByte(g[i+1:], ']')
			if end < 1 {
				b.WriteString(`\[`)
				continue
			}
			set := g[i+1 : i+1+end]
			if set[0] == '!' {
				set = "^" + set[1:]
			}
			b.WriteString("[" + set + "]")
			i += end + 1
		default:
			b.WriteString(regexp.QuoteMeta(g[i : i+1]))
		}
	}
	b.WriteString("(?:/|$)")
	re, err := regexp.Compile(b.String())
	if err != nil {
		return nil, fmt.Errorf("glob %q: %w", glob, err)
	}
	return re, nil
}

// bits evaluates the test on a segment, but for the times of single entries.
func (t *test) bits(s *segment, fileOK func(file uint32) bool) (docset.Set, error) {
	if t.keyword == nil {
		b := docset.New(s.Len())
		for i, run := range s.files {
			if !fileOK(run.File) {
				continue
			}
			for doc := run.First; doc < s.files.End(i); doc++ {
				b.Add(doc)
			}
		}
		return b, nil
	}
	// Every document has a kind, and those of a scope are the most: take the
	// others out.
	if t.field == index.FieldKind {
		b, err := docset.ByKeyword(s.Segment, t.field, func(term string) bool { return !t.keyword(term) })
		for i := range b {
			b[i] = ^b[i]
		}
		return b, err
	}
	docs, err := t.docs(s.Segment)
	if err != nil {
		return nil, err
	}
	b := docset.New(s.Len())
	b.AddBitmap(docs)
	return b, nil
}

// docs returns the documents of a segment whose keyword the test takes.
func (t *test) docs(s *index.Segment) (*roaring.Bitmap, error) {
	all := roaring.New()
	terms, err := docset.Keywords(s, t.field)
	if err != nil {
		return nil, err
	}
	var rest []string
	for _, term := range terms {
		if !t.keyword(term) {
			rest = append(rest, term)
			continue
		}
		docs, err := s.Bitmap(t.field, []byte(term))
		if err != nil {
			return nil, err
		}
		all.Or(docs)
	}
	if t.field != index.FieldModel {
		return all, nil
	}
	// What a test of models takes of one name it takes of provider/model too.
	providers, err := docset.Keywords(s, index.FieldProvider)
	if err != nil {
		return nil, err
	}
	for _, provider := range providers {
		docs, err := s.Bitmap(index.FieldProvider, []byte(provider))
		if err != nil {
			return nil, err
		}
		if t.keyword(provider) {
			all.Or(docs)
			continue
		}
		for _, model := range rest {
			if t.keyword(modelName(provider, model)) {
				both, err := s.Bitmap(index.FieldModel, []byte(model))
				if err != nil {
					return nil, err
				}
				both.And(docs)
				all.Or(both)
			}
		}
	}
	return all, nil
}

// FilterEntries returns what tells the entries of a session that the filters of a request let
// through: those of its branch and time, with a part that passes all other
// filters. Without a scope and kinds all kinds count. It is nil when there are no
// filters.
func FilterEntries(rec *session.Record, req *Request) (func(*entry.Entry) bool, error) {
	if req.Scope == "" && len(req.Kinds) == 0 {
		plain := *req
		plain.Scope, req = scope.All, &plain
	}
	tests, err := req.tests()
	if err != nil {
		return nil, err
	}
	if len(tests) == 0 {
		return nil, nil
	}
	f, branch := grepFilter(tests), grepFilter(tests).branch()
	ofSession := f.file(&rec.Summary)
	ofParts := slices.ContainsFunc(f, func(t test) bool { return t.keyword != nil })
	return func(e *entry.Entry) bool {
		if !ofSession || branch != "" && e.Branch != branch {
			return false
		}
		if !ofParts { // entries without any part count
			return f.part(&e.Entry, &session.Part{}, e.Time)
		}
		return slices.ContainsFunc(e.Parts, func(p session.Part) bool { return f.part(&e.Entry, &p, e.Time) })
	}, nil
}

// branchTest tells entries by their branch. Like a time, that is no keyword of a
// document: later lines of the file change it.
func branchTest(branch string) test {
	t := timeTest(time.Time{}, time.Time{})
	t.branch = branch
	return t
}
