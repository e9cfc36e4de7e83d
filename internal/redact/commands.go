package redact

import (
	"slices"
	"strings"
)

// Forms of the value of an option.
const (
	whole    = "whole"    // -p secret
	attached = "attached" // -psecret, and not the next word
	either   = "either"   // -p secret, -psecret
	prefix   = "prefix"   // pass:secret
)

// separators are what is before the secret in the other forms: -u user:secret.
var separators = map[string]string{"pair": ":", "percent": "%", "cookie": "=", "literal": "=", "comma": ","}

// program is a row of commands.txt: what a command takes.
type program struct {
	with    string      // the word without which its options take no secret
	options [][2]string // with the forms of their values
	before  *form       // a secret after words
}

// programs are the rows of commands.txt by the names of their programs.
var programs = make(map[string][]program)

func readCommands() {
	for row := range strings.Lines(commandTable) {
		words := strings.Fields(row)
		if words[0] == "#" {
			continue
		}
		p := programOf(words[1:])
		for name := range strings.SplitSeq(words[0], ",") {
			programs[name] = append(programs[name], p)
		}
	}
}

func programOf(words []string) (p program) {
	if n := len(words) - 1; n > 0 && words[n] == "SECRET" {
		words := strings.NewReplacer(" ", `<b>+(?:-<a>+<b>+)*`, ".", `\.`, "*", "<a>*").Replace(" " + strings.ToLower(strings.Join(words[:n], " ")))
		p.before = &form{rule: "login", test: formTests["any"], window: maxMember, pattern: pattern(`(?i:\A<a>+` + words + `)<b>+(?:-<a>+<b>+)*<v>`)}
		return p
	}
	for _, w := range words {
		if i := strings.LastIndexByte(w, '='); i > 0 {
			p.options = append(p.options, [2]string{w[:i], w[i+1:]})
		} else {
			p.with = w
		}
	}
	return p
}

func commandWords() []string {
	words := []string{"create secret "}
	for name := range programs {
		if name != "create" {
			words = append(words, name)
		}
	}
	slices.Sort(words)
	return words
}

var argEnds = setOf(" \t\n\v|;<>&")

type arg struct{ start, end int }

func (f *finder) text(a arg) string { return f.s[a.start:a.end] }

// command masks the secrets among the arguments of a command.
func (f *finder) command(at int) {
	if c := char(f.s, at-1); nameChars[c] || c == '@' {
		return
	}
	rows := programs[strings.TrimSuffix(f.s[at:argEnds.until(f.window(at, maxName), at)], ".exe")]
	if rows == nil {
		return
	}
	_, end := f.line(at)
	for next := blanks.skip(f.s, end+1); next > end+1 && char(f.s, next) == '-' && end-at < maxLine; next = blanks.skip(f.s, end+1) {
		end = breaks.until(f.window(next, maxLine), next) // options in the lines after it
	}
	args := f.args(at, end)
	if len(args) < 2 {
		return
	}
	for _, p := range rows {
		f.looked(args[0].end)
		switch {
		case p.before != nil:
			p.before.find(f, at)
		case p.with == "" || slices.ContainsFunc(args[1:min(len(args), 6)], func(a arg) bool { return f.text(a) == p.with }):
			f.options(args[1:], p)
		}
	}
}

func (f *finder) options(args []arg, p program) {
	for i := 0; i < len(args); i++ {
		flag, form := p.option(f.text(args[i]))
		if flag == "" {
			continue
		}
		v := arg{args[i].start + len(flag), args[i].end}
		if char(f.text(v), 0) == '=' {
			v.start++
		}
		if v.start == v.end {
			if form == attached || form == prefix || i+1 == len(args) || f.s[args[i+1].start] == '-' && form != whole {
				continue
			}
			i++
			v = args[i]
		}
		v.start = marks.skip(f.s[:v.end], v.start)
		v.end = marks.back(f.s, v.end, v.start)
		f.argument(v, form)
	}
}

// option returns the option that an argument is or begins with, and the form of its
// value.
func (p program) option(w string) (flag, form string) {
	for _, o := range p.options {
		rest, ok := strings.CutPrefix(w, o[0])
		if ok && (rest == "" || rest[0] == '=' || rest[0] == '"' || rest[0] == '\'' || o[1] == prefix || o[1] != whole && o[0][1] != '-') {
			return o[0], o[1]
		}
		if len(o[0]) == 2 && separators[o[1]] == ":" && len(w) < 6 && strings.HasSuffix(w, o[0][1:]) && strings.Trim(w[1:], letters) == "" {
			return w, o[1] // -su user:secret
		}
	}
	return "", ""
}

// argument masks the secret in the value of an option.
func (f *finder) argument(v arg, form string) {
	text := f.text(v)
	if sep := separators[form]; sep != "" {
		n := strings.Index(text, sep)
		switch {
		case n < 0 || form == "cookie" && len(text)-n <= 8 || form != "literal" && strings.Contains(text, "://"):
		case n == len(text)-1 && n >= 12 && isRandom(text[:n]): // curl -u key:
			f.part(v.start, v.start+n, "login")
		default:
			f.part(v.start+n+1, v.end, "login")
		}
	} else if form == "sign" && !hasSign(text) {
		return
	} else if len(text) >= 3 || form == prefix || form == whole && text != "" && !isDigit(text[0]) {
		f.part(v.start, v.end, "login")
	}
}

func (f *finder) args(at, end int) (args []arg) {
	s := f.s[:end]
	args = f.words[:0]
	for i := at; i < end && len(args) < 32; {
		i = spaces.skip(s, i)
		if oneOf(char(s, i), "|;<>&\x00") {
			break
		}
		start := i
		for i < end && !oneOf(s[i], " \t\n\v|;<>") && (s[i] != '&' || !oneOf(char(s, i+1), "& \x00")) {
			if s[i] == '"' || s[i] == '\'' {
				i += strings.IndexByte(s[i+1:], s[i]) + 1
			}
			i++
		}
		args = append(args, arg{start, i})
	}
	f.words = args
	return args
}
