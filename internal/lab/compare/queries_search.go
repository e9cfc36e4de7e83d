//go:build linux

package main

import (
	"slices"
	"strings"
)

var searchMakers = []maker{
	{name: "word", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		for _, w := range p.words(42) {
			ask(w)
		}
	}},
	{name: "words", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		for _, n := range []int{2, 3, 5, 9} {
			for _, run := range p.runs(n, 8) {
				ask(strings.Join(run, " "))
			}
		}
		for range 8 { // words of different texts
			ask(p.words(3)...)
		}
	}},
	{name: "sentence", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		for _, line := range p.lines(14) {
			ask("--", line)
		}
		ask("how did we fix the connection error")
		ask("why does the test fail on windows?")
	}},
	{name: "typo", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		for _, w := range p.words(12) {
			ask(p.typo(w))
		}
		for _, run := range p.runs(3, 5) {
			run[1] = p.typo(run[1])
			ask(run...)
		}
	}},
	{name: "prefix", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		ask("c*")
		ask("a* b*")
		for i, w := range p.words(12) {
			ask(w[:min(len(w), 2+i%4)] + "*")
		}
		for _, run := range p.runs(2, 3) {
			ask(run[0], run[1][:2]+"*")
		}
	}},
	{name: "fuzzy", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		for i, w := range p.words(12) {
			ask(p.typo(w) + []string{"~", "~2", "~1"}[i%3])
		}
		ask("x~3")
	}},
	{name: "phrase", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		for i, run := range p.runs(2, 7) {
			if i%2 == 1 {
				slices.Reverse(run)
			}
			ask(`"` + strings.Join(run, " ") + `"`)
		}
		for _, run := range p.runs(4, 4) {
			ask(`"`+strings.Join(run[:3], " ")+`"`, run[3])
		}
		for _, line := range p.lines(5) {
			ask("--", `"`+strings.NewReplacer(`"`, ``, `\`, ``).Replace(line)+`"`)
		}
	}},
	{name: "identifier", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		for _, shape := range []string{"camel", "pascal", "snake", "kebab"} {
			for i, id := range p.shape(shape, 5) {
				ask(respell(id, i))
			}
		}
	}},
	{name: "shape", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		for _, shape := range []string{"path", "dotted", "flag", "code", "number", "version", "url", "hex", "symbol"} {
			for _, w := range p.shape(shape, 4) {
				ask("--", w)
			}
		}
	}},
	{name: "script", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		for _, shape := range []string{"han", "kana", "hangul", "cyrillic", "accented"} {
			for _, w := range p.shape(shape, 4) {
				runes := []rune(w)
				ask(w)
				ask(string(runes[:min(2, len(runes))]))
				ask(string(runes[len(runes)-1:]), "error")
			}
		}
		for _, w := range append(p.shape("han", 12), "连接", "连接超时") {
			ask(otherHan.Replace(w))
		}
		ask("CAFÉ")
		ask(`"連 接"`)
	}},
	{name: "id", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		for i, u := range p.shape("uuid", 4) {
			ask(u[:[]int{36, 8, 13, 24}[i%4]])
		}
		for _, s := range p.someSessions(4) {
			ask(s.id)
			ask(s.id[:min(8, len(s.id))])
		}
		for i, e := range p.someEntries(6) {
			ask(e.id[:min(len(e.id), 8-i%3)])
		}
	}},
	{name: "boolean", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		for _, w := range p.runs(3, 3) {
			ask("+"+w[0], w[1], w[2])
			ask(w[0], "!"+w[1])
			ask(w[0], "NOT", w[1])
			ask(w[0], "AND", w[1])
			ask(w[0], "OR", w[1], w[2])
			ask("("+w[0], "OR", w[1]+")", "AND", "NOT", w[2])
			ask("+"+w[0], "+"+w[1], "!"+w[2])
		}
		for _, w := range p.runs(4, 2) {
			ask("(" + w[0] + " AND " + w[1] + ") OR (" + w[2] + " AND " + w[3] + ")")
			ask("NOT (" + w[0] + " OR " + w[1] + ") " + w[2])
			ask(`+"`+w[0]+" "+w[1]+`"`, w[2]+"*", "!"+w[3])
			ask(w[0], "&&", w[1], "||", w[2])
		}
	}},
	{name: "field", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		eachField(p, func(field, value string) { ask(field + ":" + value) })
	}},
	{name: "field and word", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		words := p.words(200)
		i := 0
		eachField(p, func(field, value string) {
			if i++; i%2 == 0 {
				ask(words[i%len(words)], field+":"+value)
			}
			if i%7 == 0 {
				ask("--", words[(i+1)%len(words)], "-"+field+":"+value)
			}
		})
	}},
	{name: "fields", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		words := p.words(8)
		ask("kind:call tool:bash " + words[0])
		ask("kind:result is:error")
		ask("has:image")
		ask("is:image kind:prompt")
		ask("(kind:prompt OR kind:title) " + words[1])
		ask("role:user after:2026-01-01 before:2026-12-31 " + words[2])
		ask("re:" + words[3] + " " + words[4])
		ask(`re:"\berror\b.*line" kind:result`)
		ask("-is:error tool:bash cmd:git")
		ask("-has:image tool:read")
		ask("branch:active !" + words[5] + " " + words[2])
		ask("KIND:call " + words[6])
		ask("kinds:call " + words[7])
	}},
	{name: "filter", command: "search", forms: searchForms, make: func(p *picker, ask func(...string)) {
		list := filters(p)
		words, frequent := p.words(3*len(list)), p.or(p.frequent, "word", len(list))
		for i, f := range list {
			ask(append(slices.Clone(f), frequent[i%len(frequent)])...)
			if i%3 == 0 {
				ask(append(slices.Clone(f), words[(3*i+1)%len(words)], words[(3*i)%len(words)])...)
			}
		}
		ask("--kind", "call", "--tool", "bash", "--since", "2026-01-01", "--branch", "active", words[2])
	}},
	{name: "search flag", command: "search", forms: []string{"--json", "--json", "--jsonl", "", "--json", "people"}, make: func(p *picker, ask func(...string)) {
		w := p.words(30)
		for i, flags := range []string{
			"-n 1", "-n 3", "-n 100", "-n 0", "--per-session 1", "--per-session 20", "--flat -n 5", "--flat -n 50", "--flat --sort newest",
			"--flat --sort oldest -n 7", "--sort newest -n 2", "--sort relevance", "-C 1", "-C 3 --flat", "-A 2", "-B 2", "-A 1 -B 3 --full-text",
			"--redact", "--redact --flat -C 2", "--max-bytes 2000", "--max-bytes 20000 --flat", "--max-bytes 1", "--explain --flat", "--explain -n 2",
			"--color always", "--color never", "--quiet", "--scope all --explain --flat -n 40", "--sort newest --explain", "-n 5 --per-session 2 -C 1 --redact",
		} {
			ask(append(strings.Fields(flags), w[i%len(w)], w[(i+7)%len(w)])...)
		}
		for _, w := range []string{"key", "token", "bearer", "export", "AKIA*", "kind:prompt", "https", "postgres"} {
			ask("--redact", "--flat", "-n", "60", w)
		}
		ask("--redact", "password token secret")
		ask("--flat", "--redact", "Authorization Bearer")
	}},
	{name: "malformed", command: "search", forms: []string{"--json", "", "people"}, make: func(p *picker, ask func(...string)) {
		w := p.words(2)
		for _, text := range []string{
			"", " ", "(", ")", "(a", "a)", `"`, `"a`, `"" a`, "AND", "OR", "NOT", "a AND", "OR b", "()", "!", "+", "*", "~", "~2", "a~9", "**", "a**b", "?",
			"kind:", "kind:nothing", "re:(", "re:", `re:"`, "after:", "tool:,", ":", "::", "a:b:c", "https://x", `\`, `"\"`, "\t", "a\x01b", "\xff\xfe", "…", "!!a", "+!a", "-", "--", "((((a))))",
		} {
			ask("--", text)
		}
		ask("--", strings.Repeat(w[0]+" ", 70))
		ask("--", strings.Repeat("(", 300)+w[0])
		ask("--", strings.Repeat("x", 3000))
	}},
	{name: "wrong flag", command: "search", forms: []string{"--json", "", "--jsonl"}, make: func(p *picker, ask func(...string)) {
		for _, flags := range []string{
			"--nonsense x", "-n x y", "-n -1 y", "--sort best y", "--kind nothing y", "--role nobody y", "--scope most y", "--branch old y", "--since whenever y",
			"--until 2026-99-99 y", "--per-session -3 y", "--color sometimes y", "-C -2 y", "--session zzzzzzzz y", "--cwd /nowhere/at/all y", "--tool nothing y",
			"--project nothing y", "--model nothing y", "--exclude [ y", "--json --jsonl y", "-rf", "--since 2026-06-01 --until 2026-01-01 y", "--limit", "--max-bytes -1 y",
		} {
			ask(strings.Fields(flags)...)
		}
	}},
	{name: "short form", command: "", forms: []string{"--json", "", "people"}, make: func(p *picker, ask func(...string)) {
		for _, run := range p.runs(2, 6) {
			ask(run...)
		}
	}},
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
