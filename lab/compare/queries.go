package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/shell"

	"pigrep/internal/lists"
	"pigrep/lab/must"
)

// query is one run of pigrep, without the flags for the session and index
// directories.
type query struct {
	corpus string
	words  []string // of the command
	args   []string
	stdin  string
	people bool // text with colours
}

// line returns the corpus, a colon, and the command as typed in a shell.
func (q *query) line() string {
	var env []string
	if q.people {
		env = []string{"FORCE_COLOR=1"}
	}
	return q.corpus + ": " + shellLine(q.stdin, env, "pigrep", slices.Concat(q.words, q.args))
}

// shellLine returns a command as typed in a shell.
func shellLine(stdin string, env []string, program string, args []string) string {
	words := slices.Concat(env, []string{program}, lists.Map(args, quote))
	if stdin != "" {
		words = append([]string{"printf", "%s", quote(stdin), "|"}, words...)
	}
	return strings.Join(words, " ")
}

var plainArg = regexp.MustCompile(`^[\pL\pN@%+=:,./_-]+$`)

// quote returns the argument quoted for a shell.
func quote(arg string) string {
	if plainArg.MatchString(arg) {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}

// templates says what its lines mean.
//
//go:embed queries.txt
var templates string

// queries returns all queries for a corpus, without duplicates.
func queries(corpus string, v values) (all []*query) {
	seen := map[string]bool{}
	var command, forms []string
	defined := map[string]string{}
	asked := 0
	for line := range strings.Lines(templates) {
		line = strings.TrimSuffix(line, "\n")
		name, rest, _ := strings.Cut(line, "] ")
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '=':
			name, text, _ := strings.Cut(line[1:], " ")
			defined["«"+name+"»"] = text
		case line[0] == '[':
			command, forms = strings.Fields(strings.Trim(name, "[]")), strings.Split(rest, "|")
		default:
			for name, text := range defined {
				line = strings.ReplaceAll(line, name, "«"+text+"»")
			}
			count, template := 1, line
			if n, rest, ok := strings.Cut(line, " × "); ok {
				count, template = must.Get(strconv.Atoi(n)), rest
			}
			for _, template := range slices.Repeat(alternatives(template), count) {
				q := &query{corpus: corpus, words: command}
				form := strings.TrimSpace(forms[asked%len(forms)])
				if q.people = form == "people"; !q.people {
					q.args = strings.Fields(form)
				}
				q.expand(template, v)
				asked++
				if line := q.line(); !seen[line] {
					seen[line] = true
					all = append(all, q)
				}
			}
		}
	}
	return all
}

var choice = regexp.MustCompile(`«[^«»]*»`)

// alternatives returns a line with each of the texts in «a¦b¦c».
func alternatives(line string) (list []string) {
	at := choice.FindStringIndex(line)
	if at == nil {
		return []string{line}
	}
	inside := strings.TrimSuffix(strings.TrimPrefix(line[at[0]:at[1]], "«"), "»")
	for text := range strings.SplitSeq(inside, "¦") {
		list = append(list, alternatives(line[:at[0]]+text+line[at[1]:])...)
	}
	return list
}

// greeting is what a client of the server says before it calls a tool.
const greeting = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"compare","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// expand adds the arguments and the input of a template, as a shell expands words.
func (q *query) expand(template string, v values) {
	drawn := map[string]string{}
	draw := func(name string) string {
		if strings.ToUpper(name) == name { // the shell's own, like IFS
			return ""
		}
		if _, ok := drawn[name]; !ok {
			drawn[name] = v.next(strings.TrimRight(name, "0123456789"))
		}
		return drawn[name]
	}
	template, input, ok := strings.Cut(template, "< ")
	args, err := shell.Fields(template, draw)
	must.Do(err, template)
	if q.args = append(q.args, args...); !ok {
		return
	}
	input, err = shell.Expand(input, draw)
	must.Do(err, input)
	if q.words[0] == "mcp" {
		tool, args, _ := strings.Cut(input, " ")
		input = greeting + fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, args)
	}
	q.stdin = input + "\n"
}

// values are words and names of a corpus by kind, from which templates take one after
// the other.
type values map[string]*kind

type kind struct {
	list []string
	at   int
}

func (v values) next(kind string) string {
	of := v[kind]
	if of == nil {
		must.Fail("no kind of value is named %s", kind)
	}
	of.at++
	return of.list[(of.at-1)%len(of.list)]
}

//go:embed words.txt
var wordKinds string

// values asks the program for those of its corpus. Kinds that the corpus lacks have the
// examples of words.txt.
func (p *program) values() values {
	found := map[string][]string{}
	add := func(kind, text string) {
		if text != "" && len(text) <= 200 && !strings.ContainsAny(text, "\x00\n") {
			found[kind] = append(found[kind], text)
		}
	}
	for _, r := range p.rows("sessions", "--forks", "-n", "0") {
		add("session", r.SessionPath)
		add("id", r.SessionID)
		add("cwd", r.CWD)
		add("title", r.Name)
		add("time", r.Modified)
	}
	counts := map[string]int{}
	var texts []string
	for _, r := range p.rows("grep", "-m", "6", `\w{3}`) {
		text := strings.TrimSpace(r.Data.Lines.Text)
		add("line", string([]rune(text)[:min(60, len([]rune(text)))]))
		texts = append(texts, text)
		for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
			counts[word]++
		}
		if r.Data.EntryID != "" {
			add("entry", r.Data.SessionID+":"+r.Data.EntryID)
		}
	}
	for _, r := range p.rows("grep", "--kind", "label", ".") {
		add("label", strings.Fields(r.Data.Lines.Text + " x")[0])
	}
	for _, r := range p.rows("tools calls", "-n", "300") {
		add("tool", r.Tool)
		add("model", r.Model)
		if r.Command {
			add("command", r.Arguments)
		}
	}
	for _, r := range p.rows("tools files", "-n", "100") {
		add("file", r.Path)
	}
	for word, n := range counts {
		if len(word) > 2 && len(word) < 25 {
			found["word"] = append(found["word"], word)
			if n > 9 {
				found["frequent"] = append(found["frequent"], word)
			} else {
				found["rare"] = append(found["rare"], word)
			}
		}
	}
	v := values{}
	for line := range strings.Lines(wordKinds) {
		row := strings.Split(strings.TrimSuffix(line, "\n"), " | ")
		if len(row) < 3 {
			continue
		}
		list := found[row[0]]
		if row[1] != "" {
			find := regexp.MustCompile(row[1])
			for _, text := range texts {
				list = append(list, find.FindAllString(text, 4)...)
			}
		}
		slices.Sort(list)
		v[row[0]] = &kind{list: append(slices.Compact(list), row[2:]...)}
	}
	return v
}

// row is a row of any answer, with the members that values are made of.
type row struct {
	SessionPath, SessionID, CWD, Name, Modified string
	Tool, Model, Arguments, Path                string
	Command                                     bool
	Data                                        struct {
		SessionID, EntryID string
		Lines              struct{ Text string }
	}
}

// rows returns the rows of an answer.
func (p *program) rows(command string, args ...string) (list []row) {
	a := p.run(&query{words: strings.Fields(command), args: append(args, "--jsonl")})
	for line := range strings.Lines(a.Stdout) {
		var r row
		if json.Unmarshal([]byte(line), &r) == nil {
			list = append(list, r)
		}
	}
	return list
}
