package oracle

import (
	"slices"
	"strings"
	"unicode"

	"pgregory.net/rapid"
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
	switch d.upTo(4, "case") {
	case 0:
		s = strings.ToLower(s)
	case 1:
		s = strings.ToUpper(s)
	}
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
	switch d.upTo(4, "case") {
	case 0:
		s = strings.ToLower(s)
	case 1:
		s = strings.ToUpper(s)
	case 2:
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
