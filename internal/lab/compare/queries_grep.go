//go:build linux

package main

import (
	"regexp"
	"slices"
	"strings"
)

var grepMakers = []maker{
	{name: "grep word", command: "grep", forms: jsonForms, make: func(p *picker, ask func(...string)) {
		flags := []string{"", "-i", "-w", "-F", "-s", "-S", "-c", "-l", "-o", "-n", "--vimgrep", "-i -w", "-c -i", "-o -n", "-l -w"}
		for i, w := range some(p, p.rare, 30) {
			ask(append(strings.Fields(flags[i%len(flags)]), w)...)
		}
		for i, w := range some(p, p.medium, 30) {
			ask(append(strings.Fields(flags[i%len(flags)]+" -m 5"), w)...)
		}
		for i, w := range some(p, p.frequent, 12) {
			ask(append(strings.Fields([]string{"-c", "-l", "-m 1", "-m 2 -w"}[i%4]), w)...)
		}
	}},
	{name: "grep text", command: "grep", forms: jsonForms, make: func(p *picker, ask func(...string)) {
		for i, line := range p.lines(14) {
			ask(append(strings.Fields([]string{"-F", "-F -i", "-F -w", "-F -o"}[i%4]+" -m 20"), "--", line)...)
		}
		for _, run := range p.runs(2, 5) {
			ask("-m", "20", strings.Join(run, " "))
			ask("-m", "20", "-i", strings.Join(run, ".{1,3}"))
		}
	}},
	{name: "grep regexp", command: "grep", forms: jsonForms, make: func(p *picker, ask func(...string)) {
		w := p.words(30)
		for i := 0; i+3 <= 30; i += 3 {
			a, b, c := w[i], w[i+1], w[i+2]
			ask("-m", "5", a+"|"+b)
			ask("-m", "5", "("+a+"|"+b+").*"+c)
			ask("-m", "5", "^"+a)
			ask("-m", "5", b+"$")
			ask("-m", "5", `\b`+a[:2]+`\w+`+a[len(a)-1:]+`\b`)
			ask("-m", "5", "-o", "["+a[:2]+"]"+a[2:]+"s?")
			ask("-m", "5", "-i", "-w", b+"(ed|ing|s)?")
		}
		for i, re := range []string{
			`exit (code|status) \d+`, `[0-9]{4}-[0-9]{2}-[0-9]{2}`, `\bTODO\b`, `(?i)error: .{0,20}$`, `^\s*func \(\w+ \*?\w+\)`, `^$`, `.`, `\d{7,}`, `[^\x00-\x7f]{3}`,
			`\p{Han}+`, `\p{Cyrillic}+`, `[a-z]+_[a-z]+\(`, `https?://[^\s"]+`, `(a|b|c)(d|e|f)g`, `(foo)+bar?`, `x*`, `(?s)a.b`, `\.go:\d+:\d+`, `é`, `(?U)a.*b`, `[[:upper:]]{5,}`, `\$\{?\w+\}?`,
			`^(import|package) `, `\t\t\t`, `(?m)^end$`, `"[a-z]+":\s*\d+`, `\A#`, `[\p{Hiragana}\p{Katakana}]{2}`,
		} {
			ask("-m", "3", re)
			if i%3 == 0 {
				ask("-c", re)
			}
		}
	}},
	{name: "grep multiline", command: "grep", forms: jsonForms, make: func(p *picker, ask func(...string)) {
		for _, run := range p.runs(2, 4) {
			ask("-U", "-m", "5", run[0]+`\s+`+run[1])
		}
		for i, re := range []string{`\n\n\n`, `\{\n\s*\}`, `(?s)begin.{0,80}end`, `error.*\n.*error`, `^a.*\n^b`, `return\n\}`} {
			ask(append(strings.Fields([]string{"-U -m 2", "-U -o -m 2", "-U -m 1"}[i%3]), re)...)
			if i%3 == 2 {
				ask("-U", "-c", re)
			}
		}
	}},
	{name: "grep context", command: "grep", forms: jsonForms, make: func(p *picker, ask func(...string)) {
		flags := []string{"-C 1", "-C 3", "-A 2", "-B 2", "-A 1 -B 4", "-C 2 -n", "-C 1 -o", "-C 1 -i", "-C 1 -w --redact", "-U -C 1", "-C 1 --vimgrep"}
		for i, w := range some(p, slices.Concat(p.rare, p.medium), 2*len(flags)) {
			ask(append(strings.Fields(flags[i%len(flags)]+" -m 3"), w)...)
		}
	}},
	{name: "grep neighbours", command: "grep", forms: jsonForms, make: func(p *picker, ask func(...string)) {
		for i, re := range []string{`^#`, `^func`, `:$`, `^\S`, `\{$`, `^$`, `^\s*[-*]`, `\.$`} {
			ask(append(strings.Fields([]string{"-C 1", "-A 2", "-B 1", "-C 2 -n"}[i%4]+" -m 8"), re)...)
			ask(append(strings.Fields([]string{"-A 1", "-B 2", "-C 3", "-A 3 -B 1"}[i%4]+" -m 4 --kind reply,result"), re)...)
		}
	}},
	{name: "grep patterns", command: "grep", forms: jsonForms, make: func(p *picker, ask func(...string)) {
		for i, run := range p.runs(3, 9) {
			ask(append(strings.Fields([]string{"", "-c", "-w", "-F -o", "-l"}[i%5]+" -m 4"), "-e", run[0], "-e", run[1], "-e", run[2])...)
		}
		ask("-e", "ENOENT", "-e", "EACCES", "-c")
	}},
	{name: "grep filter", command: "grep", forms: jsonForms, make: func(p *picker, ask func(...string)) {
		list := filters(p)
		words := some(p, p.medium, 2*len(list))
		if len(words) == 0 {
			words = invented["word"]
		}
		for i, f := range list {
			ask(append(append([]string{"-m", "4"}, f...), words[(2*i)%len(words)])...)
			ask(append(append([]string{"-c"}, f...), words[(2*i+1)%len(words)][:3])...)
		}
	}},
	{name: "grep shape", command: "grep", forms: jsonForms, make: func(p *picker, ask func(...string)) {
		for _, shape := range []string{"camel", "snake", "path", "flag", "uuid", "han", "kana", "hangul", "cyrillic", "accented", "symbol", "code"} {
			for i, w := range p.shape(shape, 3) {
				ask(append(strings.Fields([]string{"-F", "-w", "-i"}[i%3]+" -m 6"), "--", regexp.QuoteMeta(w))...)
			}
		}
	}},
	{name: "grep flag", command: "grep", forms: []string{"--json", "", "--jsonl", "people"}, make: func(p *picker, ask func(...string)) {
		w := p.or(p.rare, "word", 12)
		for i, flags := range []string{"--no-index", "--no-index -i", "--redact", "--max-bytes 3000", "--max-bytes 1 -m 2", "--quiet", "--color always -n", "--color never", "-l --max-bytes 500", "-c --redact", "-s -o", "-m 0"} {
			ask(append(strings.Fields(flags), w[i%len(w)])...)
		}
		ask("--redact", "-m", "5", "(?i)(api[_-]?key|token|password|secret)")
		ask("--redact", "-m", "60", "(?i)(key|token|secret|passw|bearer|://|eyJ|sk-|gh[a-z]_|xox)")
		ask("--redact", "-U", "-m", "5", "BEGIN [A-Z ]*KEY")
	}},
	{name: "grep malformed", command: "grep", forms: []string{"--json", ""}, make: func(p *picker, ask func(...string)) {
		for _, args := range [][]string{
			{"-m", "1", ""}, {"-l", ""}, {"--", "("}, {"--", "["}, {"--", "a{2,1}"}, {"--", `\`}, {"--", "*"}, {"--", "(?<=a)b"}, {"--", `(a)\1`}, {"--", "a{1001}"}, {"-F", "-m", "1", "--", "("}, {"-m", "x", "a"}, {"-m", "-1", "a"},
			{"-A", "x", "a"}, {"-c", "-l", "error"}, {"-m", "1", "-e", "a", "--", "b"}, {"-c", "-e", ""}, {"--nonsense", "a"}, {"-U", "-m", "1", "--", `\n`}, {"--", `a\nb`}, {"--", "\xff"}, {"--", "nowhere-at-all-zzz"}, {"-w", "-m", "1", "--", `^`}, {"-i", "-s", "Error", "-m", "1"},
		} {
			ask(args...)
		}
	}},
}
