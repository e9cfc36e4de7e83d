//go:build linux

package main

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
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
	for _, m := range makers() {
		p := s.picker(m.name)
		p.command = m.command
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

// fieldValues returns values for each field of the query language.
func fieldValues(p *picker) map[string][]string {
	var ids []string
	for _, s := range p.someSessions(4) {
		ids = append(ids, s.id[:min(8, len(s.id))], s.id)
	}
	var commands []string
	for _, c := range p.or("command", 6) {
		words := strings.Fields(c)
		commands = append(commands, words[0], strings.Join(words[:min(3, len(words))], " "))
	}
	files := p.or("file", 4)
	cwds := p.or("cwd", 4)
	times := p.or("time", 2)
	return map[string][]string{
		"kind":    {"prompt", "reply", "thinking", "call", "result", "shell", "summary", "note", "title", "label", "error", "system", "details", "data", "meta", "other", "call,result", "prompt,reply,title"},
		"role":    {"user", "assistant", "toolResult", "bashExecution", "user,assistant", "nobody"},
		"tool":    append(p.or("tool", 5), "bash,read", "nothing"),
		"is":      {"error", "named", "strange"},
		"model":   append(p.or("model", 4), "claude", "anthropic/claude", "gpt"),
		"cwd":     append(cwds, path.Dir(cwds[0]), cut(cwds[0]), "~/src", "."),
		"project": append(base(cwds), cwds[0], "nowhere"),
		"session": append(ids, "0", "ffffffff"),
		"title":   p.or("title", 5),
		"label":   p.or("label", 5),
		"branch":  {"active", "abandoned", "any", "other"},
		"after":   {times[0][:10], times[1], "2026-01-01T12:00:00Z", "9000w", "never"},
		"before":  {times[0][:10], times[1], "2026-03-01T00:00:00Z", "9000w", "2026-13-45"},
		"file":    append(files, append(base(files), "nothing.xyz")...),
		"cmd":     append(commands, "rm", "zzz"),
		"re":      {`time(d)?out`, `exit (code|status) \d+`, `^[A-Z]\w+Error`, `\bfunc\b`, `[0-9a-f]{8}`, `(?i)TODO`, `x{`, `日.語`},
	}
}

// eachField visits every field and value, ordered by field.
func eachField(p *picker, visit func(field, value string)) {
	values := fieldValues(p)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		for _, v := range values[name] {
			if strings.ContainsAny(v, " \t\"()") {
				v = `"` + strings.ReplaceAll(v, `"`, `\"`) + `"`
			}
			visit(name, v)
		}
	}
}

// filters returns the filter flags with values from the corpus.
func filters(p *picker) [][]string {
	v := fieldValues(p)
	first := func(name string) string { return v[name][0] }
	list := [][]string{
		{"--scope", "prompts"}, {"--scope", "conversations"}, {"--scope", "all"},
		{"--kind", "call"}, {"--kind", "prompt,reply"}, {"--kind", "result", "--kind", "shell"},
		{"--role", "user"}, {"--role", "assistant", "--role", "toolResult"},
		{"--tool", first("tool")}, {"--tool", "bash", "--tool", "read"},
		{"--session", first("session")}, {"--session", v["session"][len(v["session"])-1]},
		{"--cwd", first("cwd")}, {"--cwd", path.Dir(first("cwd"))}, {"--cwd", cut(first("cwd"))}, {"--here"}, {"--project", first("project")}, {"--project", v["project"][1], "--project", first("project")},
		{"--model", first("model")}, {"--model", "claude", "--model", "gpt"},
		{"--since", first("after")}, {"--until", first("before")}, {"--since", v["after"][1]}, {"--until", v["before"][1]}, {"--since", v["after"][1], "--until", v["after"][1]}, {"--since", "2026-01-01", "--until", "2026-06-30"},
		{"--since", "2026-02-11T12:00:00Z"}, {"--since", "9000w"}, {"--until", "9000w"},
		{"--error"}, {"--branch", "active"}, {"--branch", "abandoned"}, {"--branch", "any"},
		{"--exclude", "**/*2026-0*"}, {"--exclude", "*/--home*/**", "--exclude", "*.txt"},
	}
	if s := p.someSessions(1); len(s) == 1 {
		list = append(list, []string{"--session", s[0].path}, []string{"--exclude", s[0].path})
	}
	return list
}

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

// cut drops the end of a name, so that it matches as a prefix at most.
func cut(name string) string {
	runes := []rune(name)
	return string(runes[:max(1, len(runes)-2)])
}

// otherHan replaces frequent characters by their traditional or simplified form.
var otherHan = strings.NewReplacer(
	"连", "連", "連", "连", "据", "據", "據", "据", "库", "庫", "庫", "库", "错", "錯", "錯", "错", "误", "誤", "誤", "误", "测", "測", "測", "测", "试", "試", "試", "试",
	"设", "設", "設", "设", "读", "讀", "讀", "读", "写", "寫", "寫", "写", "进", "進", "進", "进", "线", "線", "線", "线", "网", "網", "網", "网", "数", "數", "數", "数",
	"务", "務", "務", "务", "个", "個", "個", "个", "时", "時", "時", "时", "这", "這", "這", "这", "请", "請", "請", "请", "检", "檢", "檢", "检", "关", "關", "關", "关",
)

// respell returns an identifier in another spelling.
func respell(id string, way int) string {
	var parts []string
	word := ""
	for _, r := range id {
		if r == '_' || r == '-' || 'A' <= r && r <= 'Z' {
			parts = append(parts, word)
			word = ""
		}
		if r != '_' && r != '-' {
			word += strings.ToLower(string(r))
		}
	}
	parts = slices.DeleteFunc(append(parts, word), func(s string) bool { return s == "" })
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
