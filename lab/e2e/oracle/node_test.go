package oracle

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/scope"
)

// An Op is what a Node of a query does.
type Op int

// The operators.
const (
	Word   Op = iota // Text, in this spelling or a looser one
	Phrase           // Text exactly, apart from case, diacritics and white space
	Prefix           // words that begin with Text
	Fuzzy            // words an edit away from Text
	Field            // Name:Text
	List             // Items side by side
	And
	Or
	Negation // of its only item
	Plus     // its only item is required
)

// A Node is a node of a query.
type Node struct {
	Op    Op
	Name  string // of a field
	Text  string
	Items []*Node
}

// hasWord reports whether a word can make the node match. All others only restrict.
func (n *Node) hasWord() bool {
	switch n.Op {
	case Field:
		return false
	case Negation:
		return n.doubled() != nil && n.doubled().hasWord()
	}
	return len(n.Items) == 0 || slices.ContainsFunc(n.Items, (*Node).hasWord)
}

// doubled returns x of NOT NOT x, which is +x, and nil of others.
func (n *Node) doubled() *Node {
	if n.Op == Negation && n.Items[0].Op == Negation {
		return n.Items[0].Items[0]
	}
	return nil
}

// required reports whether a list needs the node.
func (n *Node) required() bool {
	return n.Op == Plus || n.Op == And || n.doubled() != nil || !n.hasWord()
}

// A want says what a part must have to be a hit.
type want int

const (
	every want = iota // all words
	whole             // the words that it needs, not only their parts
	parts             // the words that it needs, or their parts
)

// eval says whether a part is a hit.
func (n *Node) eval(p *Part, w want) Verdict {
	switch n.Op {
	case Field:
		return p.field(n.Name, n.Text)
	case Negation:
		if x := n.doubled(); x != nil {
			return x.eval(p, min(w, whole))
		}
		return n.Items[0].eval(p, whole).not()
	case Plus, And:
		v := Must
		for _, item := range n.Items {
			v = min(v, item.eval(p, min(w, whole)))
		}
		return v
	case Or:
		v := Not
		for _, item := range n.Items {
			v = max(v, item.eval(p, w))
		}
		return v
	case List:
		return n.list(p, w)
	}
	v := n.word(p)
	if v == Not && w == parts && n.Op == Word {
		return n.parts(p)
	}
	return v
}

// list says whether a part has all that a list requires, and one of its words.
func (n *Node) list(p *Part, w want) Verdict {
	needed, some := Must, Not
	for _, item := range n.Items {
		v := item.eval(p, w)
		if w == every || item.required() {
			needed = min(needed, v)
		}
		if item.hasWord() {
			some = max(some, v)
		}
	}
	if !n.hasWord() {
		some = Must
	}
	return min(needed, some)
}

// asks reports whether a query says what to find, not only what to leave out. A field that
// reads texts does so only if it is not negated.
func (n *Node) asks(positive bool) bool {
	switch {
	case n.Op == Negation:
		positive = !positive
	case n.Op == Field:
		return positive || !slices.Contains([]string{"re", "cmd", "file"}, n.Name)
	}
	return len(n.Items) == 0 && positive || slices.ContainsFunc(n.Items, func(item *Node) bool { return item.asks(positive) })
}

// word says whether a part has a word or phrase. One that has a word only as the name of an argument may be
// a hit: that is so if no other has it otherwise.
func (n *Node) word(p *Part) Verdict {
	v := n.wordIn(p.text)
	if n.Op == Phrase || v == Not {
		return v
	}
	return min(v, max(May, n.wordIn(p.nameless)))
}

func (n *Node) wordIn(t *text) Verdict {
	switch n.Op {
	case Phrase:
		v := t.phrase(n.Text)
		if v == Not && isPlain(n.Text) { // a quoted word may be looked up only
			v = min(May, t.word(n.Text))
		}
		return v
	case Prefix:
		return t.begins(n.Text)
	case Fuzzy:
		return t.near(n.Text, 1)
	}
	if isPlain(n.Text) {
		return t.word(n.Text)
	}
	v := t.phrase(n.Text)
	if v == Not && strings.Contains(squeeze(t.folded), squeeze(fold(n.Text))) {
		return May // another spelling
	}
	return v
}

func isPlain(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return sortOf(r) == other && !unicode.IsMark(r) })
}

// parts says whether a part may have some parts of an identifier or compound, which makes it a
// hit that lacks the word.
func (n *Node) parts(p *Part) Verdict {
	for _, run := range parsed(n.Text).runs {
		if slices.ContainsFunc(run, func(word string) bool { return p.text.word(word) != Not }) {
			return May
		}
	}
	return Not
}

// Print writes a query. Of the ways to write a node, pick chooses one of n.
func (n *Node) Print(pick func(n int) int) string { return n.print(0, pick) }

// String writes the query in the first way.
func (n *Node) String() string { return n.Print(func(int) int { return 0 }) }

// GoString is String, for a failed check.
func (n *Node) GoString() string { return n.String() }

// binding says how tightly an operator binds.
func (n *Node) binding() int {
	switch n.Op {
	case List, Or, And:
		return map[Op]int{List: 0, Or: 1, And: 2}[n.Op]
	}
	return 3
}

// print writes a node where operators must bind at least as tightly as given.
func (n *Node) print(least int, pick func(int) int) string {
	if n.Op == And && least != 1 && pick(4) == 1 { // in a list, only AND is required
		n = required(n)
	}
	if n.binding() < least || pick(8) == 1 {
		return "(" + strings.Repeat(" ", pick(2)) + n.bare(pick) + ")"
	}
	return n.bare(pick)
}

// required writes a AND b as +a +b.
func required(n *Node) *Node {
	return &Node{Op: List, Items: lists.Map(n.Items, func(item *Node) *Node { return &Node{Op: Plus, Items: []*Node{item}} })}
}

func (n *Node) bare(pick func(int) int) string {
	switch n.Op {
	case Word:
		return n.Text
	case Phrase:
		return quote(n.Text)
	case Prefix:
		return n.Text + "*"
	case Fuzzy:
		return n.Text + []string{"~", "~1"}[pick(2)]
	case Field:
		return n.Name + ":" + n.value(pick)
	case Plus:
		return "+" + n.Items[0].operand(pick)
	case Negation:
		return n.Items[0].negated(pick)
	}
	between := map[Op]string{List: " ", And: " AND ", Or: " OR "}[n.Op]
	items := lists.Map(n.Items, func(item *Node) string { return item.print(n.binding()+1, pick) })
	return strings.Join(items, between)
}

// negated writes the negation of a node.
func (n *Node) negated(pick func(int) int) string {
	switch way := pick(3); {
	case way == 1:
		return "!" + n.operand(pick)
	case way == 2 && n.Op == Field:
		return "-" + n.bare(pick)
	}
	return "NOT " + n.print(3, pick)
}

// operand writes what follows a mark at once.
func (n *Node) operand(pick func(int) int) string {
	if s := n.print(3, pick); !strings.ContainsAny(s[:1], "+!=)") {
		return s
	}
	return "(" + n.print(0, pick) + ")"
}

func (n *Node) value(pick func(int) int) string {
	switch {
	case strings.Contains(n.Text, ",") || n.Name == "re" && !strings.Contains(n.Text, " "):
		return n.Text
	case n.Name == "re":
		return `"` + n.Text + `"`
	case strings.ContainsFunc(n.Text, unicode.IsSpace) || strings.ContainsAny(n.Text, `"(`) || pick(3) == 1:
		return quote(n.Text)
	}
	return n.Text
}

func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

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
	{name: "agent", values: []string{"pi", "PI", "nothing"}, list: true,
		of: one(func(p *Part) string { return session.ShortAgent(p.session.Agent) }), passes: strings.EqualFold},
	{name: "host", values: []string{"this", "THIS", "laptop"}, list: true,
		of: one(func(*Part) string { return "this" }), passes: strings.EqualFold},
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
func FieldNames() []string { return lists.Map(fields, func(f field) string { return f.name }) }

func one(of func(p *Part) string) func(p *Part) []string {
	return func(p *Part) []string { return []string{of(p)} }
}

func kinds() []string {
	return lists.Map(scope.Kinds, func(row scope.Row) string { return string(row.Kind) })
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
