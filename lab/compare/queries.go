package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pigrep/internal/lists"
)

// query is one run of pigrep, without the flags for the session and index
// directories.
type query struct {
	corpus string
	words  []string // of the command
	args   []string // these, and what follows
	stdin  string
	people bool // text with colours
	builds bool // builds the index, and comes first
}

func buildQuery(corpus string) *query {
	words := []string{"index"}
	return &query{corpus: corpus, words: words, args: append(words, "--json"), builds: true}
}

// line returns the corpus, a colon, and the command as typed in a shell.
func (q *query) line() string {
	var env []string
	if q.people {
		env = []string{"FORCE_COLOR=1"}
	}
	return q.corpus + ": " + shellLine(q.stdin, env, "pigrep", q.args)
}

// shellLine returns a command as typed in a shell.
func shellLine(stdin string, env []string, program string, args []string) string {
	words := slices.Concat(env, []string{program})
	if stdin != "" {
		words = append([]string{"printf", "%s", quote(stdin), "|"}, words...)
	}
	for _, a := range args {
		words = append(words, quote(a))
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

// queries returns all queries for a corpus, without duplicates.
func queries(s *sample) []*query {
	all := []*query{buildQuery(s.corpus)}
	seen := map[string]bool{}
	list, own := makers()
	for _, m := range list {
		p := s.picker(m.name)
		p.command, p.own = m.command, own
		n := 0
		for _, line := range m.lines {
			m.each(p, line, func(stdin string, args []string) {
				q := m.query(s.corpus, n, stdin, args)
				n++
				if line := q.line(); !seen[line] {
					seen[line] = true
					all = append(all, q)
				}
			})
		}
	}
	return all
}

// query returns the n-th query of a maker.
func (m *maker) query(corpus string, n int, stdin string, args []string) *query {
	words := strings.Fields(m.command)
	q := &query{corpus: corpus, words: words, args: slices.Clone(words), stdin: stdin}
	form := m.forms[n%len(m.forms)]
	if q.people = form == "people"; !q.people {
		q.args = append(q.args, strings.Fields(form)...)
	}
	// The index is complete, so one query in five may look for changed files.
	if n%5 != 4 && !slices.Contains(withoutUpdate, m.command) {
		q.args = append(q.args, "--no-update")
	}
	q.args = append(q.args, args...)
	return q
}

// withoutUpdate lists the commands without --no-update.
var withoutUpdate = []string{"index", "doctor", "status"}

// fits reports whether the command has the filter flag.
func fits(command string, filter []string) bool {
	switch filter[0] {
	case "--scope", "--kind", "--role":
		return !strings.HasPrefix(command, "tools") && command != "usage"
	case "--tool", "--error":
		return command != "usage"
	}
	return true
}

// otherHan replaces frequent characters by their traditional or simplified form.
var otherHan = strings.NewReplacer(
	"连", "連", "連", "连", "据", "據", "據", "据", "库", "庫", "庫", "库", "错", "錯", "錯", "错", "误", "誤", "誤", "误", "测", "測", "測", "测", "试", "試", "試", "试",
	"设", "設", "設", "设", "读", "讀", "讀", "读", "写", "寫", "寫", "写", "进", "進", "進", "进", "线", "線", "線", "线", "网", "網", "網", "网", "数", "數", "數", "数",
	"务", "務", "務", "务", "个", "個", "個", "个", "时", "時", "時", "时", "这", "這", "這", "这", "请", "請", "請", "请", "检", "檢", "檢", "检", "关", "關", "關", "关",
)

var humps = regexp.MustCompile(`[A-Z]?[^A-Z_-]*`)

// respell returns an identifier in another spelling.
func respell(id string, way int) string {
	var parts []string
	for _, part := range humps.FindAllString(id, -1) {
		if part != "" {
			parts = append(parts, strings.ToLower(part))
		}
	}
	switch way % 5 {
	case 1:
		return strings.Join(parts, "_")
	case 2:
		return strings.Join(parts, "-")
	case 3:
		for i, w := range parts[1:] {
			parts[i+1] = strings.ToUpper(w[:1]) + w[1:]
		}
		return strings.Join(parts, "")
	case 4:
		return strings.Join(parts, "")
	}
	return id
}

// templates says what a line means.
//
//go:embed queries.txt
var templates string

// maker makes the queries of a section.
type maker struct {
	name, command string
	forms         []string
	lines         []string
}

// makers returns those of all sections, and those that are sources, by name.
func makers() (list []*maker, own map[string]*maker) {
	own = map[string]*maker{}
	sets := map[string]string{"as is": ""}
	var m *maker
	for line := range strings.Lines(templates) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case m == nil && line[0] == '@':
			name, forms, _ := strings.Cut(line, " = ")
			sets[name] = forms
		case line[0] == '[':
			name, command, _ := strings.Cut(line[1:], "]")
			m = &maker{name: name, command: strings.TrimSpace(command)}
			list = append(list, m)
		case line[0] == '(' && line[len(line)-1] == ')':
			m = &maker{name: line[1 : len(line)-1], forms: []string{""}}
			own[m.name] = m
		case m.forms == nil:
			if set, ok := sets[line]; ok {
				line = set
			}
			for form := range strings.SplitSeq(line, "|") {
				m.forms = append(m.forms, strings.TrimSpace(form))
			}
		default:
			m.lines = append(m.lines, line)
		}
	}
	return list, own
}

var sourceLine = regexp.MustCompile(`^(?:(\d+) )?(each \{.*\}|[\w+ ]*): (.*)$`)

// each visits the arguments and the input of every query of a line.
func (m *maker) each(p *picker, line string, visit func(stdin string, args []string)) {
	parts := sourceLine.FindStringSubmatch(line)
	for i, v := range p.values(parts[1], parts[2]) {
		for _, text := range strings.Split(parts[3], " / ") {
			e := expansion{p: p, value: v, turn: i}
			input, rest, ok := strings.Cut(text, ";")
			if !ok || !strings.HasPrefix(input, "< ") {
				visit("", e.args(text))
				continue
			}
			visit(e.input(input[2:]), e.args(strings.TrimSpace(rest)))
		}
	}
}

// value is what a source gives to a template, by name. Most have one argument; a filter
// has several.
type value map[string][]string

func one(text string) value { return value{"0": {text}} }

// values returns the values of the sources of a line, count of them if it is a number.
func (p *picker) values(count, sources string) (list []value) {
	if each, ok := strings.CutPrefix(sources, "each {"); ok {
		for s := range strings.SplitSeq(strings.TrimSuffix(each, "}"), "¦") {
			if text, err := strconv.Unquote(s); err == nil {
				list = append(list, one(text))
			} else if strings.HasPrefix(s, "-") {
				list = append(list, value{"0": strings.Fields(s)})
			} else {
				list = append(list, one(s))
			}
		}
		return list
	}
	names := strings.Fields(sources)
	if len(names) == 0 {
		return []value{{}}
	}
	n, err := strconv.Atoi(count)
	if err != nil {
		n = 1 << 10
	}
	list = p.source(names[0], n)
	list = list[:min(n, len(list))]
	if len(names) == 1 || len(list) == 0 {
		return list
	}
	second := p.source(names[1], len(list))
	if len(second) == 0 {
		return nil
	}
	for i, v := range list { // the parts of the second follow the only part of the first
		for key, arg := range second[i%len(second)] {
			if at, err := strconv.Atoi(key); err == nil {
				v[strconv.Itoa(at+1)] = arg
			}
		}
	}
	return list
}

var manyWords = regexp.MustCompile(`^(run|words)([2-9])$`)

// source returns up to n values of a source.
func (p *picker) source(name string, n int) (list []value) {
	if m := manyWords.FindStringSubmatch(name); m != nil {
		length := int(m[2][0] - '0')
		runs := slices.Collect(slices.Chunk(p.words(length*n), length))
		if m[1] == "run" {
			runs = p.runs(length, n)
		}
		for _, run := range runs {
			v := value{"all": run}
			for i, w := range run {
				v[strconv.Itoa(i)] = []string{w}
			}
			list = append(list, v)
		}
		return list
	}
	switch name {
	case "filter", "field":
		for _, line := range p.own[name].lines {
			p.own[name].each(p, line, func(_ string, args []string) {
				if name == "field" {
					list = append(list, one(fieldText(strings.Join(args, " "))))
				} else if fits(p.command, args) {
					list = append(list, value{"0": args})
				}
			})
		}
	case "session":
		for _, s := range p.someSessions(n) {
			list = append(list, value{"0": {s.path}, "path": {s.path}, "id": {s.id}})
		}
	case "entry":
		for _, e := range p.someEntries(n) {
			list = append(list, value{"path": {e.session.path}, "session": {e.session.id}, "id": {e.id}})
		}
	default:
		return lists.Map(p.strings(name, n), one)
	}
	return list
}

// fieldText quotes the value of a field where it has to be.
func fieldText(text string) string {
	name, v, _ := strings.Cut(text, ":")
	if strings.ContainsAny(v, " \t\"()") {
		v = `"` + strings.ReplaceAll(v, `"`, `\"`) + `"`
	}
	return name + ":" + v
}

// strings returns up to n values of a source of single texts.
func (p *picker) strings(name string, n int) (list []string) {
	switch name {
	case "word":
		return p.words(n)
	case "line":
		return p.lines(n)
	}
	for kind := range strings.SplitSeq(name, "+") {
		if invented[kind] == nil {
			panic("queries.txt has no source " + name)
		}
		list = append(list, p.or(kind, n)...)
	}
	return list
}

// expansion replaces ${…} in templates by parts of one value.
type expansion struct {
	p     *picker
	value value
	turn  int
}

// tokens are the parts of a template between spaces, other than those in braces and quotes.
var tokens = regexp.MustCompile(`(?:\$\{[^}]*\}|'[^']*'|[^ '])+`)

// wholeToken is a token that may stand for several arguments.
var wholeToken = regexp.MustCompile(`^\$\{([^}]*)\}$`)

// args expands a template into arguments. Quotes join what spaces separate.
func (e *expansion) args(template string) (list []string) {
	for _, token := range tokens.FindAllString(template, -1) {
		if whole := wholeToken.FindStringSubmatch(token); whole != nil {
			if alternatives, ok := strings.CutPrefix(whole[1], "turn "); ok {
				list = append(list, e.args(e.choice(alternatives))...)
				continue
			}
			if arguments := e.value[whole[1]]; arguments != nil {
				list = append(list, arguments...)
				continue
			}
		}
		list = append(list, e.text(strings.TrimSuffix(strings.TrimPrefix(token, "'"), "'")))
	}
	return list
}

// text expands a template into one text.
func (e *expansion) text(template string) string { return os.Expand(template, e.call) }

// choice returns one of the alternatives, by turns.
func (e *expansion) choice(alternatives string) string {
	list := strings.Split(alternatives, "¦")
	return list[e.turn%len(list)]
}

// beginning names the first characters of a part, like id8.
var beginning = regexp.MustCompile(`^([a-z]+)([0-9]+)$`)

// call expands the inside of ${…}: the name of a part, or a function, a part and a number.
func (e *expansion) call(inside string) string {
	name, rest, ok := strings.Cut(inside, " ")
	if m := beginning.FindStringSubmatch(inside); m != nil {
		name, rest, ok = "head", m[1]+" "+m[2], true
	}
	if !ok {
		return strings.Join(e.value[inside], " ")
	}
	if name == "turn" {
		return e.text(e.choice(rest))
	}
	part, number, _ := strings.Cut(rest, " ")
	text := part
	if v, ok := e.value[part]; ok {
		text = strings.Join(v, " ")
	}
	n, _ := strconv.Atoi(e.choice(number))
	runes := []rune(text)
	switch name {
	case "head":
		return string(runes[:min(n, len(runes))])
	case "tail":
		return string(runes[max(0, len(runes)-n):])
	case "times":
		return strings.Repeat(text+strings.Repeat(" ", min(1, len(text)-1)), n)
	case "first":
		return strings.Fields(text)[0]
	case "base":
		return path.Base(text)
	case "dirname":
		return path.Dir(text)
	case "cut": // so that it matches as a prefix at most
		return string(runes[:max(1, len(runes)-2)])
	case "typo":
		return e.p.typo(text)
	case "respell":
		return respell(text, e.turn)
	case "otherHan":
		return otherHan.Replace(text)
	case "quoted":
		return regexp.QuoteMeta(text)
	case "unquoted":
		return strings.NewReplacer(`"`, ``, `\`, ``).Replace(text)
	}
	panic("queries.txt: ${" + inside + "}")
}

// input returns what a query reads from standard input: the messages of a client that
// calls one tool, or hits.
func (e *expansion) input(template string) string {
	kind, rest, _ := strings.Cut(template, " ")
	switch kind {
	case "call":
		tool, args, _ := strings.Cut(rest, " ")
		return `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"compare","version":"1"}}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
			fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, e.text(tool), e.text(args)) + "\n"
	case "hit":
		hit := e.args(rest)
		line, _ := json.Marshal(map[string]any{"type": "hit", "sessionPath": hit[0], "entryId": hit[1]})
		return string(line) + "\n"
	}
	return "{\"type\":\"hit\"\n"
}
