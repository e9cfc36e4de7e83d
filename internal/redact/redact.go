// Package redact masks what looks like a secret: keys, tokens, passwords, private
// keys. rules.txt has the kinds of secrets and the shapes of tokens that are recognized by
// their own characters (tokens.go); names (names.go), commands (commands.go) and other
// forms (forms.go) announce the rest. A text is searched without colours, escapes and one
// layer of encoding (normal.go). All of it takes time that is linear in the text.
//
// A secret is replaced by [redacted:ID], with the id of the rule. The surrounding
// text is kept, and spans in the text can be moved along. A mask is never masked again.
// Masking protects against carelessness and is not a guarantee: a secret in a form that no
// rule knows is not masked.
package redact

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unsafe"
)

// Span is the position of a secret in a text, in bytes.
type Span struct {
	Start, End int
	Rule       string // the id of the rule that found it
}

// Mask returns the replacement for a secret that this rule found.
func Mask(rule string) string { return "[redacted:" + rule + "]" }

// Masked reports whether a text has a mask.
func Masked(text string) bool { return strings.Contains(text, "[redacted:") }

// How far around a piece of text Around looks for secrets that reach into it. It
// then looks further back, to the start of the word or private key at that point.
const (
	lookBack    = 1 << 10
	lookAhead   = 4 << 10
	longestWord = 64 << 10
)

// Around returns the secrets that are in text[from:to] or reach into it. In a long
// text it searches only the neighbourhood.
func Around(text []byte, from, to int) []Span {
	start, end := max(0, from-lookBack), min(len(text), to+lookAhead)
	before := text[max(0, start-longestWord):start]
	start -= len(before) - 1 - bytes.LastIndexAny(before, " \t\n")
	if i := bytes.LastIndex(before, []byte("PRIVATE KEY")); i >= 0 {
		if begin := bytes.LastIndex(before[:i], []byte("-----BEGIN")); begin >= 0 {
			start = min(start, max(0, from-lookBack)-len(before)+begin)
		}
	}
	spans := Find(string(text[start:end]))
	kept := spans[:0]
	for _, s := range spans {
		s.Start, s.End = s.Start+start, s.End+start
		if s.Start < to && s.End > from {
			kept = append(kept, s)
		}
	}
	return kept
}

// endings are possible continuations of secrets that are cut off.
var endings = []string{strings.Repeat("A1B2C3D4E5", 12), strings.Repeat("a1b2c3d4e5", 12), "a1b2c3d4.eyJhbGciOiJ.a1", "a1b2@host", `a1b2"`, "a1b2'"}

// Beginning is Text for the beginning of a text whose rest is unknown. It also masks
// the end if some continuation would make it a secret.
func Beginning(s string) string {
	body := strings.TrimRight(s, "… ")
	cut := Span{Start: len(body)}
	for _, ending := range endings {
		if spans := Find(body + ending); len(spans) > 0 {
			if last := spans[len(spans)-1]; last.End > len(body) && last.Start < cut.Start {
				cut = last
			}
		}
	}
	if cut.Start == len(body) {
		return Text(s)
	}
	return Text(body[:cut.Start]) + Mask(cut.Rule) + s[len(body):]
}

func Text(s string) string {
	masked, _ := Moved(s, Find(s), nil)
	return masked
}

// Bytes returns a text with its secrets masked: the same slice if there are none.
func Bytes(text []byte) []byte {
	s := unsafe.String(unsafe.SliceData(text), len(text))
	spans := Find(s)
	if len(spans) == 0 {
		return text
	}
	masked, _ := Apply(s, spans)
	return []byte(masked)
}

// Moved returns a text with the spans masked, and the marks moved along: [start, end) in
// bytes, in order and not overlapping. A mark that touches a secret covers its mask.
func Moved(s string, spans []Span, marks [][2]int) (string, [][2]int) {
	if len(spans) == 0 {
		return s, marks
	}
	masked, move := Apply(s, spans)
	var moved [][2]int
	for _, m := range marks {
		start, end := move(m[0], m[1])
		if n := len(moved); n > 0 && start < moved[n-1][1] {
			moved[n-1][1] = max(moved[n-1][1], end)
			continue
		}
		moved = append(moved, [2]int{start, end})
	}
	return masked, moved
}

// Apply masks the spans, which must be in order. It returns the new text, and a
// function that maps a span of the old text to the new one.
func Apply(s string, spans []Span) (masked string, move func(start, end int) (int, int)) {
	var b strings.Builder
	done := 0
	for _, x := range spans {
		b.WriteString(s[done:x.Start])
		b.WriteString(Mask(x.Rule))
		done = x.End
	}
	b.WriteString(s[done:])
	to := func(at int, isEnd bool) int {
		shift := 0
		for _, x := range spans {
			n := len(Mask(x.Rule))
			switch {
			case isEnd && at > x.Start && at <= x.End:
				return x.Start + shift + n
			case !isEnd && at >= x.Start && at < x.End:
				return x.Start + shift
			case at < x.End:
				return at + shift
			}
			shift += n - (x.End - x.Start)
		}
		return at + shift
	}
	return b.String(), func(start, end int) (int, int) { return to(start, false), to(end, true) }
}

// Strings masks the strings in a value that a pointer points to: in fields that other
// packages can set, in elements, keys of maps and behind pointers. It is for the rows of
// answers, so that no field is forgotten: a path may have a token in it. The tag `redact:"-"`
// excludes a field that was already masked as part of a longer text, and whose marked
// ranges must stay valid. A string that ends in an ellipsis may have been cut there.
func Strings(v any) { fields(reflect.ValueOf(v)) }

var rawMessage = reflect.TypeFor[json.RawMessage]()

// cutText is Text for a short text in which an ellipsis may stand for the rest of a secret.
func cutText(s string) string {
	const short = 512
	s = Text(s)
	if len(s) > short && strings.HasSuffix(s, "…") {
		return Beginning(s)
	}
	done := 0
	for n := strings.Index(s, "…"); n >= 0 && len(s) <= short; n = strings.Index(s[done:], "…") {
		head := Beginning(s[:done+n+len("…")])
		s, done = head+s[done+n+len("…"):], len(head)
	}
	return s
}

func fields(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); v.CanSet() {
			if masked := cutText(s); masked != s {
				v.SetString(masked)
			}
		}
	case reflect.Pointer:
		fields(v.Elem())
	case reflect.Interface:
		switch e := v.Elem(); {
		case e.Kind() == reflect.Pointer:
			fields(e)
		case e.IsValid() && v.CanSet():
			v.Set(masked(e))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.Tag.Get("redact") != "-" && (f.IsExported() || f.Anonymous) {
				fields(v.Field(i))
			}
		}
	case reflect.Slice:
		switch {
		case v.Type() == rawMessage:
			if v.CanSet() {
				v.SetBytes(JSON(v.Bytes()))
			}
			return
		case v.Type().Elem().Kind() <= reflect.Complex128: // numbers
			return
		case v.CanSet() && v.Len() > 0: // others may have the list
			own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			reflect.Copy(own, v)
			v.Set(own)
		}
		for i := range v.Len() {
			fields(v.Index(i))
		}
	case reflect.Map:
		if v.CanSet() && v.Len() > 0 {
			own := reflect.MakeMapWithSize(v.Type(), v.Len())
			for each := v.MapRange(); each.Next(); {
				own.SetMapIndex(masked(each.Key()), masked(each.Value()))
			}
			v.Set(own)
		}
	}
}

// masked returns a copy of a value with its strings masked.
func masked(v reflect.Value) reflect.Value {
	own := reflect.New(v.Type()).Elem()
	own.Set(v)
	fields(own)
	return own
}

// The tables of secrets.
var (
	//go:embed rules.txt
	ruleTable string
	//go:embed lists.txt
	listTable string
	//go:embed forms.txt
	formTable string
	//go:embed commands.txt
	commandTable string
)

// load reads the tables. Every search calls it first. The program does not load them when
// it starts, since most runs mask nothing.
var load = sync.OnceFunc(func() {
	for _, p := range paragraphs(listTable) {
		words := strings.Fields(p.text + p.more)
		if class, ok := classNames[p.name]; ok {
			for _, w := range words {
				lastWords[w] = class
			}
			continue
		}
		l := reflect.ValueOf(&lists).Elem().FieldByName(p.name).Addr().Interface().(*list)
		l.words, l.set = words, make(map[string]bool)
		for _, w := range words {
			l.set[w] = true
		}
	}
	for _, p := range paragraphs(ruleTable) {
		r := rule{id: p.name, what: p.text}
		for shape := range strings.SplitSeq(p.more, "  ") {
			if shape != "" {
				r.shapes = append(r.shapes, strings.TrimSpace(shape))
			}
		}
		rules = append(rules, r)
	}
	readForms()
	readCommands()
	makeTriggers()
})

// rule is a kind of secret.
type rule struct {
	id     string
	what   string   // what it masks, for people
	shapes []string // of tokens that are recognized by their own characters
}

// rules is the source of the names of rules, of the tokens they mask, and of the table in
// docs/redact.md.
var rules []rule

// rank returns the position of a rule in the table.
func rank(id string) int { return slices.IndexFunc(rules, func(r rule) bool { return r.id == id }) }

// paragraph is a name, the text after its colon, and the indented lines that follow.
type paragraph struct{ name, text, more string }

// paragraphs returns the paragraphs of a table. A line that begins with # is a comment.
func paragraphs(table string) (all []paragraph) {
	for line := range strings.Lines(table) {
		switch line = strings.TrimRight(line, "\n"); {
		case line == "" || line[0] == '#':
		case line[0] == ' ':
			all[len(all)-1].more += line
		default:
			name, text, _ := strings.Cut(line, ": ")
			all = append(all, paragraph{name: name, text: text})
		}
	}
	return all
}

// A list holds one named list of words from lists.txt.
type list struct {
	words []string
	set   map[string]bool
}

func (l *list) has(word string) bool { return l.set[word] }

// lists are those of lists.txt, which says what each is for, by their names.
var lists struct {
	NameWords, PasswordEndings, TokenEndings, KeyWords, Suffixes, NotBefore list
	Services, ServicePhrases, ServiceEndings, ServiceNot                    list
	Settlers, Directives, Prompts, Setters, NamingWords, ValueWords         list
	Readers, Parametric, CallWords, SentenceWords, Placeholders, References list
	JWKPrivate, DataMembers, Fillers, SessionWords                          list
}
