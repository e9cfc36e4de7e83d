package redact

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// What is known of secrets is in tables that are read when a text is searched first, since
// most runs of the program mask nothing.
var (
	//go:embed rules.txt
	ruleTable string
	//go:embed lists.txt
	listTable string
	//go:embed commands.txt
	programTable string
)

// rule is a kind of secret.
type rule struct {
	id     string
	what   string   // what it masks, for people
	shapes []string // of tokens that are recognized by their own characters
}

// rules is the source of the names of rules, of the tokens they mask, and of the table in
// docs/redact.md.
var rules = sync.OnceValue(func() (all []rule) {
	for _, p := range paragraphs(ruleTable) {
		r := rule{id: p.name, what: p.text}
		for shape := range strings.SplitSeq(p.more, "  ") {
			if shape != "" {
				r.shapes = append(r.shapes, strings.TrimSpace(shape))
			}
		}
		all = append(all, r)
	}
	return all
})

// rank returns the place of a rule among all.
func rank(id string) int { return slices.IndexFunc(rules(), func(r rule) bool { return r.id == id }) }

// paragraph is a name and the text after its colon, and the indented lines after it.
type paragraph struct{ name, text, more string }

// paragraphs returns those of a table, in which a number sign begins a comment.
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

var lists = sync.OnceValue(func() map[string][]string {
	m := make(map[string][]string)
	for _, p := range paragraphs(listTable) {
		m[p.name] = strings.Fields(p.text + p.more)
	}
	return m
})

// wordSet is a list of lists.txt.
type wordSet struct {
	name string
	once sync.Once
	list []string
	set  map[string]bool
}

func (w *wordSet) read() *wordSet {
	w.once.Do(func() {
		w.list, w.set = lists()[w.name], make(map[string]bool)
		for _, x := range w.list {
			w.set[x] = true
		}
	})
	return w
}

func (w *wordSet) words() []string      { return w.read().list }
func (w *wordSet) has(word string) bool { return w.read().set[word] }

// What the lists are for is said there.
var (
	nameWords       = wordSet{name: "nameWords"}
	passwordEndings = wordSet{name: "passwordEndings"}
	tokenEndings    = wordSet{name: "tokenEndings"}
	keyWords        = wordSet{name: "keyWords"}
	suffixes        = wordSet{name: "suffixes"}
	notBefore       = wordSet{name: "notBefore"}
	services        = wordSet{name: "services"}
	servicePhrases  = wordSet{name: "servicePhrases"}
	serviceEndings  = wordSet{name: "serviceEndings"}
	serviceNot      = wordSet{name: "serviceNot"}
	settlers        = wordSet{name: "settlers"}
	directives      = wordSet{name: "directives"}
	prompts         = wordSet{name: "prompts"}
	setters         = wordSet{name: "setters"}
	namingWords     = wordSet{name: "namingWords"}
	valueWords      = wordSet{name: "valueWords"}
	readers         = wordSet{name: "readers"}
	parametric      = wordSet{name: "parametric"}
	fillers         = wordSet{name: "fillers"}
	callWords       = wordSet{name: "callWords"}
	sentenceWords   = wordSet{name: "sentenceWords"}
	placeholders    = wordSet{name: "placeholders"}
	references      = wordSet{name: "references"}
	jwkPrivate      = wordSet{name: "jwkPrivate"}
	dataMembers     = wordSet{name: "dataMembers"}
)
