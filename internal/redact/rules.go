package redact

import (
	_ "embed"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// The tables of secrets.
var (
	//go:embed rules.txt
	ruleTable string
	//go:embed lists.txt
	listTable string
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
	JWKPrivate, DataMembers, Fillers                                        list
}
