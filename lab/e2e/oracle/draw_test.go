package oracle

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"pgregory.net/rapid"

	"pigrep/lab/stories"
)

// Queries draws queries over the words of a corpus. Those that are tight have no words with
// looser matches, and no words side by side, of which a hit may lack some: each part is a hit
// or is none.
func (c *Corpus) Queries(tight bool) *rapid.Generator[*Node] {
	return rapid.Custom(func(t *rapid.T) *Node {
		d := drawer{T: t, corpus: c, tight: tight, expressions: 3}
		if tight {
			d.expressions = 1 // laws repeat queries
		}
		q := d.node(3)
		if !q.asks(true) {
			q = &Node{Op: And, Items: []*Node{{Op: Field, Name: "branch", Text: "any"}, q}}
		}
		return q
	})
}

type drawer struct {
	*rapid.T
	corpus      *Corpus
	tight       bool
	expressions int // that it may still have: a query takes three
}

func (d *drawer) upTo(n int, what string) int { return rapid.IntRange(0, n-1).Draw(d.T, what) }

func oneOf[T any](d *drawer, what string, list ...T) T { return list[d.upTo(len(list), what)] }

func (d *drawer) node(depth int) *Node {
	if depth == 0 {
		return d.leaf()
	}
	switch d.upTo(10, "operator") {
	case 0, 1:
		return d.leaf()
	case 2, 3:
		return &Node{Op: Negation, Items: []*Node{d.node(depth - 1)}}
	case 4:
		return &Node{Op: Plus, Items: []*Node{d.node(depth - 1)}}
	}
	operators := []Op{And, Or, List}
	n := &Node{Op: operators[d.upTo(map[bool]int{true: 2, false: 3}[d.tight], "operator")]}
	for range 2 + d.upTo(2, "items") {
		item := d.node(depth - 1)
		if item.Op == n.Op { // a group within a group of its kind is no other query
			n.Items = append(n.Items, item.Items...)
		} else {
			n.Items = append(n.Items, item)
		}
	}
	return n
}

func (d *drawer) leaf() *Node {
	switch d.upTo(6, "leaf") {
	case 0, 1:
		if !d.tight {
			return d.word()
		}
	case 2:
		return d.phrase()
	case 3, 4:
		return d.field()
	}
	return d.phrase()
}

// piece draws some words of the corpus as they are there.
func (d *drawer) piece(most int) string {
	if len(d.corpus.Parts) == 0 {
		return "x"
	}
	p := d.corpus.Parts[d.upTo(len(d.corpus.Parts), "part")]
	words := strings.FieldsFunc(p.Text, unicode.IsSpace)
	if len(words) == 0 {
		return "x"
	}
	from := d.upTo(len(words), "from")
	return strings.Join(words[from:min(len(words), from+1+d.upTo(most, "words"))], oneOf(d, "space", " ", "  ", "\t"))
}

// word draws a word that is searched with looser matches, or a compound.
func (d *drawer) word() *Node {
	s := d.piece(1)
	if d.upTo(4, "anything") == 0 {
		s = oneOf(d, "word", vocabulary...)
	}
	s, _ = d.cased(s)
	if isCompound(s) && d.upTo(2, "compound") == 0 {
		return &Node{Op: Word, Text: s}
	}
	words := strings.FieldsFunc(s, func(r rune) bool { return sortOf(r) == other })
	words = slices.DeleteFunc(words, func(s string) bool { return squeeze(s) == "" || len(s) > 40 })
	if len(words) == 0 {
		return &Node{Op: Word, Text: "timeout"}
	}
	s = words[d.upTo(len(words), "which")]
	if slices.Contains([]string{"AND", "OR", "NOT"}, strings.ToUpper(s)) {
		s = strings.ToLower(s)
	}
	simple := !strings.ContainsFunc(s, func(r rune) bool { return r == '_' || sortOf(r) == unspaced })
	switch d.upTo(8, "looser") {
	case 0:
		if runes := []rune(s); simple && len(runes) > 2 { // shorter ones begin too many words
			return &Node{Op: Prefix, Text: string(runes[:3+d.upTo(len(runes)-2, "of")])}
		}
	case 1:
		if simple && len(s) > 2 {
			return &Node{Op: Fuzzy, Text: s}
		}
	}
	return &Node{Op: Word, Text: s}
}

// cased draws a text in lower or upper case or as it is, and in the last case whether its
// case may be odd.
func (d *drawer) cased(s string) (text string, odd bool) {
	switch way := d.upTo(4, "case"); way {
	case 0:
		return strings.ToLower(s), false
	case 1:
		return strings.ToUpper(s), false
	default:
		return s, way == 2
	}
}

// isCompound reports whether a word has punctuation that is searched, and no syntax.
func isCompound(s string) bool {
	return s != "" && len(s) < 60 && !strings.ContainsFunc(s, unicode.IsSpace) && !strings.ContainsAny(s, `"()\:*~+!=&|,;?`+"\x1b") && !strings.ContainsAny(s[:1], "-'.<[{/") && !strings.ContainsAny(s[len(s)-1:], "'.>]}") &&
		strings.ContainsFunc(s, func(r rune) bool { return sortOf(r) == other }) && squeeze(s) != ""
}

// phrase draws a phrase in odd case.
func (d *drawer) phrase() *Node {
	s := d.piece(3)
	if d.upTo(4, "anything") == 0 {
		s = oneOf(d, "phrase", vocabulary...)
	}
	s, odd := d.cased(s)
	if odd {
		mask := d.upTo(1<<16, "capitals")
		i := 0
		s = strings.Map(func(r rune) rune {
			if i++; mask>>(i%16)&1 == 1 {
				return unicode.ToUpper(r)
			}
			return unicode.ToLower(r)
		}, s)
	}
	if squeeze(s) == "" || len(s) > 200 {
		s = "x9"
	}
	return &Node{Op: Phrase, Text: s}
}

func (d *drawer) field() *Node {
	rows := fields
	if d.expressions == 0 {
		rows = rows[:len(rows)-1]
	}
	f := rows[d.upTo(len(rows), "field")]
	if f.name == "re" {
		d.expressions--
	}
	values := slices.Clone(f.values)
	if len(d.corpus.Parts) > 0 {
		for _, s := range f.of(d.corpus.Parts[d.upTo(len(d.corpus.Parts), "part")]) {
			if s = strings.TrimSpace(s); len(s) < 80 && !strings.ContainsAny(s, ",\"\\\n()") && squeeze(s) != "" {
				values = append(values, s)
			}
		}
	}
	value := oneOf(d, "value", values...)
	switch f.name {
	case "session":
		value = value[:min(len(value), oneOf(d, "length", 6, 80))]
	case "label":
		value = oneOf(d, "case", value, strings.ToUpper(value))
	}
	if f.list && d.upTo(3, "several") == 0 && !strings.ContainsAny(value, " ,") {
		value += "," + oneOf(d, "value", f.values...)
	}
	return &Node{Op: Field, Name: f.name, Text: value}
}

// vocabulary has words that folding, cutting and looser matches may get wrong.
var vocabulary = []string{
	"timeout", "kernel", "Quartz", "ECONNREFUSED", "café", "CAFÉ", "Straße", "naïve", "GitHub", "github", "GitHub Actions", "Github actions",
	"getUserName", "get_user_name", "getUserNameById", "user", "HTMLParser", "html_parser", "x9", "v1.2.3", "foo__bar", "_private", "__init__",
	"src/auth/login.ts", "login.ts", "src\\auth", "main.go:12", "--no-cache", "-race", "C++", "a->b", "don't", "exit code 137", "Exit  Code", "rm -rf", "a.b.c",
	"中文支持", "文支", "データ", "用getUser", "\x1b[31merror", "error: no", "[error]", "ﬁle", "file", "ＡＢＣ", "ΣΊΣΥΦΟΣ", "σίσυφος", "İstanbul", "🚀", "rename", "renaming", "conn", "connection",
	"the", "of", "127.0.0.1", "user@host", "#42", "$HOME", "100%", "\\\"quoted\\\"", "1e6", "iPhone15Pro", "aB", "ABc",
}

// Sessions draws session files. Each entry has its own time, apart from those that forks copy.
func Sessions() *rapid.Generator[Files] {
	return rapid.Custom(func(t *rapid.T) Files {
		w := writer{T: t}
		for i := range rapid.IntRange(1, 5).Draw(t, "sessions") {
			w.session(i)
		}
		return w.written
	})
}

type writer struct {
	*rapid.T
	written Files
	entries int
}

func (w *writer) session(i int) {
	s := stories.Story{
		Name: fmt.Sprintf("s%d", i), ID: fmt.Sprintf("01a1f%c-%d", "78"[i%2], i),
		CWD: rapid.SampledFrom([]string{"/home/ann/src/app", "/home/ann/src/app/web", "/home/bob/App", "/srv/data", ""}).Draw(w.T, "cwd"),
	}
	if i > 0 && rapid.Bool().Draw(w.T, "is a fork") {
		of := w.written[rapid.IntRange(0, i-1).Draw(w.T, "of")].Entries
		s.Entries = append(s.Entries, of[:rapid.IntRange(0, len(of)).Draw(w.T, "copied")]...)
	}
	for range rapid.IntRange(1, 8).Draw(w.T, "entries") {
		w.entries++
		turn := w.turn(s.Entries)
		turn.ID, turn.Minute = fmt.Sprintf("entry%03d", w.entries), 97*w.entries
		if len(s.Entries) > 1 && rapid.IntRange(0, 5).Draw(w.T, "branches") == 0 {
			turn.Parent = w.anEntry(s.Entries)
		}
		s.Entries = append(s.Entries, turn)
	}
	w.written = append(w.written, s)
}

func (w *writer) anEntry(of []stories.Turn) string {
	if len(of) == 0 {
		return "nothing"
	}
	return rapid.SampledFrom(of).Draw(w.T, "entry").ID
}

func (w *writer) text() string {
	words := rapid.SliceOfN(rapid.SampledFrom(vocabulary), 1, 6).Draw(w.T, "text")
	return strings.Join(words, rapid.SampledFrom([]string{" ", " ", "\n", "  ", ", ", "", "_", ".", "\u00a0"}).Draw(w.T, "between"))
}

// turn draws an entry of any type.
func (w *writer) turn(before []stories.Turn) stories.Turn {
	text := w.text()
	fields := func(of string, more ...any) stories.Turn {
		turn := stories.Turn{Fields: map[string]any{"type": of}}
		for i := 0; i < len(more); i += 2 {
			turn.Fields[more[i].(string)] = more[i+1]
		}
		return turn
	}
	flag := func(what string) bool { return rapid.Bool().Draw(w.T, what) }
	switch rapid.IntRange(0, 17).Draw(w.T, "type") {
	case 0:
		return stories.Said(map[string]any{"type": "thinking", "thinking": text})
	case 1:
		return stories.Called("bash", map[string]any{"command": rapid.SampledFrom([]string{"go test -race ./...", "rm -rf /tmp/x", "cat main.go | grep timeout", text}).Draw(w.T, "command")})
	case 2:
		name := rapid.SampledFrom([]string{"main.go", "./src/auth/login.ts", "/srv/data/main.go", "../App/Login.ts"}).Draw(w.T, "path")
		return stories.Called("edit", map[string]any{"path": name, "newText": text})
	case 3, 4:
		return stories.Result(rapid.SampledFrom([]string{"bash", "edit", "read"}).Draw(w.T, "tool"), text, flag("failed"))
	case 5:
		return stories.Turn{Message: map[string]any{"role": "bashExecution", "command": "go test", "output": text, "exitCode": rapid.IntRange(0, 1).Draw(w.T, "code")}}
	case 6:
		return fields("compaction", "summary", text, "firstKeptEntryId", w.anEntry(before), "details", map[string]any{"readFiles": []string{"src/auth/login.ts"}, "modifiedFiles": []string{"main.go"}})
	case 7:
		return fields("custom_message", "customType", "note", "content", text)
	case 8:
		return fields("session_info", "name", text)
	case 9:
		return fields("label", "targetId", w.anEntry(before), "label", rapid.SampledFrom([]string{"keep", "Later", "kéep it", ""}).Draw(w.T, "label"))
	case 10:
		return fields("custom", "customType", "state", "data", map[string]any{"value": text})
	case 11:
		return fields("model_change", "provider", "acme", "modelId", "sonnet-4")
	case 12:
		return stories.Turn{Message: map[string]any{"role": "user", "content": []any{
			map[string]any{"type": "text", "text": text}, map[string]any{"type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo="},
		}}}
	case 13:
		turn := stories.Reply(text)
		if flag("failed") {
			turn.Message["errorMessage"] = w.text()
		}
		turn.Message["model"] = "sonnet-4"
		return turn
	case 14, 15:
		return stories.Reply(text)
	}
	return stories.Prompt(text)
}

// Files are session files.
type Files []stories.Story

// Write writes the files into a directory, up to what share of each says, and returns their
// paths.
func (f Files) Write(dir string, share func() float64) (paths []string, err error) {
	for i := range f {
		path, text := filepath.Join(dir, f[i].Name+".jsonl"), f[i].Text()
		old, _ := os.ReadFile(path)
		n := max(len(old), int(float64(len(text))*share()))
		if err := os.WriteFile(path, []byte(text[:n]), 0o644); err != nil {
			return nil, err
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// GoString writes the files as they are, for a failed check.
func (f Files) GoString() string {
	var b strings.Builder
	for i := range f {
		fmt.Fprintf(&b, "\n%s.jsonl:\n%s", f[i].Name, f[i].Text())
	}
	return b.String()
}
