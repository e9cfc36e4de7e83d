package program

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// searchCase is one case of testdata/searches; its README.md says what the
// fields mean.
type searchCase struct {
	Name   string   `json:"name"`
	Query  []string `json:"query"`
	Flags  []string `json:"flags"`
	Want   []wanted `json:"want"`
	Only   bool     `json:"only"`
	None   bool     `json:"none"`
	Absent []string `json:"absent"`
	Total  *int     `json:"total"`
	Exit   *int     `json:"exit"`
}

type wanted struct {
	At       string   `json:"at"`
	Kind     string   `json:"kind"`
	Tier     string   `json:"tier"`
	Rank     int      `json:"rank"`
	Copies   *int     `json:"copies"`
	Fragment string   `json:"fragment"`
	Marked   string   `json:"marked"`
	Branch   string   `json:"branch"`
	Label    string   `json:"label"`
	Error    *bool    `json:"error"`
	Missing  []string `json:"missing"`
	Plain    *string  `json:"plain"`
}

func readCases(t testing.TB) map[string][]searchCase {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(moduleRoot, "testdata", "searches", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	all, names := map[string][]searchCase{}, map[string]string{}
	count := 0
	for _, path := range paths {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		dec := json.NewDecoder(f)
		dec.DisallowUnknownFields()
		var cases []searchCase
		if err := dec.Decode(&cases); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		topic := strings.TrimSuffix(filepath.Base(path), ".json")
		for _, c := range cases {
			if c.Name == "" || len(c.Query) == 0 || len(c.Want) == 0 && !c.None {
				t.Errorf("%s: a case needs a name, a query, and something wanted or none: %+v", path, c)
			}
			if names[topic+c.Name] != "" {
				t.Errorf("%s: the name %q stands twice", path, c.Name)
			}
			names[topic+c.Name] = path
		}
		all[topic] = cases
		count += len(cases)
	}
	if count < 80 {
		t.Fatalf("testdata/searches holds %d cases, which cannot be all", count)
	}
	return all
}

// place is where an entry stands. An id of "*" is any entry of the file.
type place struct {
	path, id string
	line     int
}

// places resolves "FILE:ID" or "FILE:Lnn", or several of them with "|" between.
func places(t testing.TB, files []string, at string) []place {
	t.Helper()
	var list []place
	for _, one := range strings.Split(at, "|") {
		file, id, ok := strings.Cut(one, ":")
		if !ok {
			t.Fatalf("%q: want FILE:ENTRY", one)
		}
		p := place{id: id}
		for _, path := range files {
			if name, _ := filepath.Rel(sessions(), path); strings.Contains(filepath.ToSlash(name), file) {
				if p.path != "" {
					t.Fatalf("%q: both %s and %s have %q in their path", one, p.path, path, file)
				}
				p.path = path
			}
		}
		if p.path == "" {
			t.Fatalf("%q: no file has %q in its path", one, file)
		}
		if _, err := fmt.Sscanf(id, "L%d", &p.line); err == nil {
			p.id = ""
		}
		list = append(list, p)
	}
	return list
}

func (p place) is(path, id string, line int) bool {
	return path == p.path && (p.id == "*" || p.id == "" && line == p.line || p.id != "" && id == p.id)
}

// The cases themselves are right: every wanted entry exists, and its line holds
// what is searched for.
func TestSearchCasesAgreeWithTheFiles(t *testing.T) {
	files := sessionFiles(t, sessions())
	read := map[string]*sessionFile{}
	for _, path := range files {
		read[path] = readSession(t, path)
	}
	for topic, cases := range readCases(t) {
		for _, c := range cases {
			t.Run(topic+"/"+c.Name, func(t *testing.T) {
				for _, at := range c.Absent {
					places(t, files, at)
				}
				for _, w := range c.Want {
					plain := strings.Fields(strings.ReplaceAll(strings.Join(c.Query, " "), `"`, " "))
					if w.Plain != nil {
						plain = []string{*w.Plain}
					}
					for _, p := range places(t, files, w.At) {
						checkPlain(t, read[p.path], p, w.At, plain)
					}
				}
			})
		}
	}
}

func checkPlain(t *testing.T, f *sessionFile, p place, at string, plain []string) {
	found := false
	for _, o := range f.entries {
		id, _ := o.value["id"].(string)
		if !p.is(f.path, id, o.line) {
			continue
		}
		found = true
		if p.id == "*" {
			return
		}
		var b strings.Builder
		leaves(o.value, func(s string) { b.WriteString(s); b.WriteByte('\n') })
		text := fold(b.String())
		for _, want := range plain {
			if !strings.Contains(text, fold(want)) && !strings.Contains(strings.ReplaceAll(text, `"`, " "), fold(want)) {
				t.Errorf("%s does not hold %q:\n%s", at, want, text)
			}
		}
		return
	}
	if !found {
		t.Errorf("%s: no such entry", at)
	}
}

// Every case of testdata/searches, with the built program.
func TestSearches(t *testing.T) {
	files := sessionFiles(t, sessions())
	home := t.TempDir()
	where := []string{"--session-dir", sessions(), "--index-dir", filepath.Join(home, "index")}
	if r := pigrep(t, home, append([]string{"index", "--quiet"}, where...)...); r.exit != 0 {
		t.Fatalf("pigrep index: exit code %d\n%s%s", r.exit, r.stdout, r.stderr)
	}
	for topic, cases := range readCases(t) {
		for _, c := range cases {
			t.Run(topic+"/"+c.Name, func(t *testing.T) {
				args := slices.Concat(where, c.Flags, []string{"--"}, c.Query)
				e, r := search(t, home, args...)
				checkCase(t, files, c, e, r)
				if t.Failed() {
					t.Logf("query %q, flags %q", c.Query, c.Flags)
					for i, h := range e.Hits {
						if i < 12 {
							t.Logf("hit %d: %s %s %s:%s line %d, missing %q, copies %d: %q", h.Rank, h.Tier, h.Kind, filepath.Base(h.SessionPath), h.EntryID, h.Line, h.Missing, len(h.Copies), h.Fragment.Text)
						}
					}
				}
			})
		}
	}
}

func checkCase(t *testing.T, files []string, c searchCase, e envelope, r result) {
	exit := 0
	if c.None && len(c.Want) == 0 && len(e.Hits) == 0 {
		exit = 1
	}
	if c.Exit != nil {
		exit = *c.Exit
	}
	if r.exit != exit {
		t.Errorf("exit code %d, want %d; stderr: %.500s", r.exit, exit, r.stderr)
	}
	for i, h := range e.Hits {
		if h.Rank != i+1 {
			t.Errorf("hit %d says rank %d", i+1, h.Rank)
		}
	}
	for _, w := range c.Want {
		ps := places(t, files, w.At)
		var problems []string
		ok := slices.ContainsFunc(e.Hits, func(h hit) bool {
			if !slices.ContainsFunc(ps, func(p place) bool { return p.is(h.SessionPath, h.EntryID, h.Line) }) {
				return false
			}
			problem := w.compare(h)
			if problem != "" {
				problems = append(problems, problem)
			}
			return problem == ""
		})
		switch {
		case ok:
		case problems == nil:
			t.Errorf("%s is not among the %d hits", w.At, len(e.Hits))
		default:
			t.Errorf("%s: %s", w.At, strings.Join(problems, "; or "))
		}
	}
	for _, h := range e.Hits {
		if len(h.Missing) > 0 || h.Tier == "fuzzy" && (c.Only || c.None) {
			continue
		}
		isWanted := slices.ContainsFunc(c.Want, func(w wanted) bool {
			return slices.ContainsFunc(places(t, files, w.At), func(p place) bool { return p.is(h.SessionPath, h.EntryID, h.Line) })
		})
		name := fmt.Sprintf("%s:%s line %d, %s, %s: %q", filepath.Base(h.SessionPath), h.EntryID, h.Line, h.Kind, h.Tier, h.Fragment.Text)
		if c.None && !isWanted {
			t.Errorf("a hit where none may be: %s", name)
		}
		if c.Only && !isWanted && h.Tier == "exact" {
			t.Errorf("a hit too many: %s", name)
		}
		for _, at := range c.Absent {
			for _, p := range places(t, files, at) {
				if p.is(h.SessionPath, h.EntryID, h.Line) {
					t.Errorf("a hit that must not be: %s", name)
				}
			}
		}
	}
	if c.Total != nil && e.Total != *c.Total {
		t.Errorf("total is %d, want %d", e.Total, *c.Total)
	}
}

// compare returns what is wrong with a hit that stands at the wanted entry.
func (w wanted) compare(h hit) string {
	var wrong []string
	differs := func(what string, got, want any) {
		wrong = append(wrong, fmt.Sprintf("%s is %v, want %v", what, got, want))
	}
	if !slices.Equal(h.Missing, w.Missing) {
		differs("missing", h.Missing, w.Missing)
	}
	if w.Kind != "" && h.Kind != w.Kind {
		differs("kind", h.Kind, w.Kind)
	}
	if w.Tier != "" && h.Tier != w.Tier {
		differs("tier", h.Tier, w.Tier)
	}
	if w.Rank > 0 && h.Rank > w.Rank {
		differs("rank", h.Rank, fmt.Sprint("at most ", w.Rank))
	}
	if w.Copies != nil && len(h.Copies) != *w.Copies {
		differs("the number of copies", len(h.Copies), *w.Copies)
	}
	if w.Branch != "" && h.Branch != w.Branch {
		differs("branch", h.Branch, w.Branch)
	}
	if w.Label != "" && h.Label != w.Label {
		differs("label", h.Label, w.Label)
	}
	if w.Error != nil && h.IsError != *w.Error {
		differs("isError", h.IsError, *w.Error)
	}
	if w.Fragment != "" && !strings.Contains(h.Fragment.Text, w.Fragment) {
		differs("fragment", h.Fragment.Text, "something with "+w.Fragment)
	}
	if w.Marked != "" && !slices.ContainsFunc(h.Fragment.Spans, func(s [2]int) bool {
		return s[0] >= 0 && s[0] <= s[1] && s[1] <= len(h.Fragment.Text) &&
			strings.Contains(strings.ToLower(h.Fragment.Text[s[0]:s[1]]), strings.ToLower(w.Marked))
	}) {
		differs("spans", h.Fragment.Spans, "one that covers "+w.Marked+" in "+h.Fragment.Text)
	}
	return strings.Join(wrong, ", ")
}
