package oracle

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"pigrep/internal/session"
	"pigrep/scope"
)

// A field is a field of queries. A part passes it if something that the part has passes one of
// the values, or as eval says.
type field struct {
	name   string
	values []string                        // to draw from, beside those of parts
	of     func(p *Part) []string          // what a part has
	passes func(has, value string) bool    // nil if eval decides
	list   bool                            // takes several values, with commas between them
	eval   func(p *Part, v string) Verdict // of the only value
}

// fields are those of queries; re, which is limited, is the last.
var fields = []field{
	{name: "kind", values: kinds(), list: true, of: one(func(p *Part) string { return string(p.Kind) }), passes: equal},
	{name: "role", values: []string{"user", "assistant", "toolResult", "bashExecution", "USER"}, list: true,
		of: one(func(p *Part) string { return p.role }), passes: strings.EqualFold},
	{name: "tool", values: []string{"bash", "edit", "Read", "nothing"}, list: true,
		of: one(func(p *Part) string { return p.tool }), passes: strings.EqualFold},
	{name: "is", values: []string{"error", "named", "image"}, of: states, passes: equal},
	{name: "has", values: []string{"image"}, of: images, passes: equal},
	{name: "model", values: []string{"opus", "acme/opus-9", "ACME", "sonnet", "nothing"}, list: true,
		of: one(func(p *Part) string { return p.model }), passes: contains},
	{name: "cwd", values: []string{"/home/ann", "/home/ann/src/app", "/home", "/nowhere"}, of: cwd,
		passes: func(has, v string) bool { return has == v || strings.HasPrefix(has, v+"/") }},
	{name: "project", values: []string{"app", "App", "src/app", "data", "/srv/data", "nothing"}, list: true, of: cwd,
		passes: func(has, v string) bool {
			return strings.EqualFold(path.Base(has), v) || has == v || strings.Contains(v, "/") && strings.HasSuffix(has, "/"+v)
		}},
	{name: "session", values: []string{"01a1f7de", "01a1", "01A1F7DE-2", "ffff"}, list: true,
		of: one(func(p *Part) string { return p.session.ID }),
		passes: func(has, v string) bool {
			return strings.HasPrefix(fold(has), fold(v)) || len(v) >= 8 && strings.HasSuffix(fold(has), fold(v))
		}},
	{name: "title", values: []string{"timeout", "GITHUB", "café", "kernel", "nothing"},
		of: one(func(p *Part) string { return p.session.Title() }), passes: contains},
	{name: "label", values: []string{"keep", "KEEP", "later", "nothing"},
		of: one(func(p *Part) string { return p.label }), passes: contains},
	{name: "branch", values: []string{"active", "abandoned", "any"}, of: one(func(p *Part) string { return p.branch }),
		passes: func(has, v string) bool { return has == v || v == "any" }},
	{name: "after", values: days, of: stamp, eval: func(p *Part, v string) Verdict { return verdict(p.time >= moment(v)) }},
	{name: "before", values: days, of: stamp, eval: func(p *Part, v string) Verdict { return verdict(p.time < moment(v)) }},
	{name: "file", values: []string{"login.ts", "auth/login.ts", "main.go", "app/main.go", "/home/ann/src/app/main.go", "ogin.ts"},
		of: func(p *Part) []string { return p.paths }, eval: (*Part).file},
	{name: "cmd", values: []string{"rm -rf", "RM", "timeout", "go test", "-race", "est", "nothing"},
		of: func(p *Part) []string { return append(strings.Fields(strings.Join(p.commands, " ")), p.commands...) }, eval: (*Part).command},
	{name: "re", values: []string{
		"time(d)?out", `exit (code|status) \d+`, "Git[hH]ub", "git[h]ub", "^error", "[a-z]+_[a-z]+", "支", "x$", "zzz", `\bno\b`, "(café|kernel)", "[A-Z]{4}",
	}, of: func(*Part) []string { return nil }, eval: func(p *Part, v string) Verdict { return verdict(expression(v).MatchString(p.Text)) }},
}

var days = []string{"2026-05-02", "2026-05-01T18:00:00Z", "2026-05-04", "2020-01-01"}

// FieldNames are the names of all fields.
func FieldNames() (names []string) {
	for _, f := range fields {
		names = append(names, f.name)
	}
	return names
}

func one(of func(p *Part) string) func(p *Part) []string {
	return func(p *Part) []string { return []string{of(p)} }
}

func kinds() (names []string) {
	for _, row := range scope.Kinds {
		names = append(names, string(row.Kind))
	}
	return names
}

func equal(has, v string) bool    { return has == v }
func contains(has, v string) bool { return strings.Contains(fold(has), fold(v)) }
func cwd(p *Part) []string        { return []string{p.session.CWD} }
func stamp(p *Part) []string      { return []string{time.UnixMilli(p.time).UTC().Format(time.RFC3339)} }

// states are what is: asks for.
func states(p *Part) (list []string) {
	if p.failed {
		list = append(list, "error")
	}
	if p.session.Name != "" {
		list = append(list, "named")
	}
	return append(list, images(p)...)
}

func images(p *Part) (list []string) {
	if p.images {
		list = append(list, "image")
	}
	return list
}

// field says whether a part passes a field.
func (p *Part) field(name, value string) Verdict {
	f := &fields[slices.Index(FieldNames(), name)]
	if f.eval != nil {
		return f.eval(p, value)
	}
	values := []string{value}
	if f.list {
		values = strings.Split(value, ",")
	}
	return verdict(slices.ContainsFunc(f.of(p), func(has string) bool {
		return slices.ContainsFunc(values, func(v string) bool { return f.passes(has, v) })
	}))
}

// moment is the time that after: and before: name, in milliseconds.
func moment(value string) int64 {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, value); err == nil {
			return t.UnixMilli()
		}
	}
	panic("no time " + value)
}

// expression compiles re:. Case counts if it has an upper-case letter.
var expression = memo(func(value string) *regexp.Regexp {
	flags := "(?m)"
	if !strings.ContainsFunc(value, unicode.IsUpper) {
		flags = "(?mi)"
	}
	return regexp.MustCompile(flags + value)
})

func (p *Part) command(value string) (v Verdict) {
	for _, command := range p.commands {
		v = max(v, newText(command).phrase(value))
	}
	return v
}

// file says whether a part names a path, or one that ends with it. Commands may name it in a
// way that only a shell understands.
func (p *Part) file(value string) Verdict {
	if p.Kind != session.KindCall && p.Kind != session.KindSummary {
		return Not
	}
	value = path.Clean(value)
	ends := func(name string) bool {
		if path.IsAbs(value) {
			return strings.EqualFold(name, value)
		}
		return strings.HasSuffix("/"+strings.ToLower(strings.TrimPrefix(name, "/")), "/"+strings.ToLower(value))
	}
	for _, name := range p.paths {
		if name = path.Clean(name); ends(name) || !path.IsAbs(name) && ends(path.Join(p.session.CWD, name)) {
			return Must
		}
	}
	if strings.Contains(p.text.folded, fold(path.Base(value))) {
		return May
	}
	return Not
}
