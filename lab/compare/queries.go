package main

import (
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
