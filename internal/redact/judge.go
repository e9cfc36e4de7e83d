package redact

import "strings"

// Whether the value of a name is a secret depends on what the name promises, on how
// the value follows it, and on the value.

// value masks the value of a name if it is a secret.
func (f *finder) value(name string, start int, c class, p place) {
	v := f.read(name, start, p)
	p.quoted = v.quoted
	if v.end-v.start < 1 {
		return
	}
	switch {
	case p.link == linkAssign && start > 0 && p.value < len(f.s) && isQuote(f.s[start-1]) && f.s[p.value] == f.s[start-1] && !p.named:
		return // "PASSWORD=" + x
	case (strings.TrimLeft(name, "- ") == "PASS" && p.colon || name == "PWD" || name == "OLDPWD") && !hasSign(f.s[v.start:min(v.end, v.start+maxJudge)]):
		return
	}
	if c == phrase && !v.quoted {
		_, v.end = f.line(v.start)
	}
	if !v.quoted { // process.env.X || "y"
		i := skipBlank(f.s, v.end, len(f.s))
		for _, op := range [...]string{"||", "??", "or ", ":-"} {
			if rest := f.s[i:]; strings.HasPrefix(rest, op) {
				if i = skipBlank(f.s, i+len(op), len(f.s)); i < len(f.s) && isQuote(f.s[i]) {
					v = f.read(name, start, place{value: i})
				}
				break
			}
		}
	}
	value := f.s[v.start:min(v.end, v.start+maxJudge)]
	if f.judged += len(value); f.judged > f.enough() {
		f.add(v.start, v.end, "secret")
		f.done[kindName] = max(f.done[kindName], v.end)
		return
	}
	if !v.quoted && !strings.Contains(value, "://") {
		if n := len(strings.TrimRight(value, ".:!?*_")); p.link == linkProse && n < len(value) {
			v.end = v.start + n
			value = value[:n]
		}
	}
	rule := f.judge(name, value, start, c, p, &v)
	switch {
	case rule == "":
		return
	case start > 0 && (f.s[start-1] == '?' || f.s[start-1] == '&') && rule != "password":
		rule = "url-parameter"
	case strings.EqualFold(name, "AccountKey") || strings.EqualFold(name, "SharedAccessKey"):
		rule = "azure-key"
	}
	end := v.end
	if !v.quoted && c != password && len(value) >= 20 {
		end = f.continued(end)
	}
	if !v.quoted && end-v.start >= maxJudge { // the word continues
		if end = f.bareEnd(name, start, v.start, p, maxValue); end-v.start >= maxValue {
			end += wordEnd(f.s[end:])
		}
		f.done[kindName] = max(f.done[kindName], end)
	}
	f.add(v.start, end, rule)
	f.arrow(v, c)
}

// arrow masks the new value after an old one: password: "x" -> "y".
func (f *finder) arrow(v text, c class) {
	if !v.quoted {
		return
	}
	i := skipBlank(f.s, min(len(f.s), v.end+1), len(f.s))
	if strings.HasPrefix(f.s[i:], "->") || strings.HasPrefix(f.s[i:], "=>") {
		if i = skipBlank(f.s, i+2, len(f.s)); i < len(f.s) && isQuote(f.s[i]) && c >= token {
			start, end := f.word(i)
			f.part(start, end, "password")
		}
	}
}

// judge returns the rule by which the value of a name is a secret, or "".
func (f *finder) judge(name, value string, start int, c class, p place, v *text) string {
	if isPlaceholder(value) || strings.EqualFold(value, name) || strings.EqualFold(value, lastSegment(name)) {
		return ""
	}
	code := !v.quoted && isCode(f.s, v.start, v.end)
	if code {
		return ""
	}
	switch c {
	case pass:
		if !hasSign(value) || (p.link == linkList || p.link == linkSpace) && !strings.HasPrefix(name, "-") {
			return ""
		}
		return f.judgePassword(name, value, start, p, v)
	case password:
		return f.judgePassword(name, value, start, p, v)
	case phrase:
		if words := strings.Fields(value); len(words) >= 12 && len(words) <= 25 && !strings.ContainsAny(value, ".,;:()") {
			return "secret"
		}
		return ""
	case token:
		if isVariable(name) && p.link == linkAssign && !p.spaced && !p.colon && len(value) >= 8 && !isPath(value) {
			return "variable"
		}
		switch p.link {
		case linkSpace:
			if !strings.HasPrefix(name, "-") && !f.settles(start) && !(len(value) >= 16 && isRandom(value)) {
				return ""
			}
		case linkProse:
			if len(value) < 12 {
				return ""
			}
		case linkList:
			if len(value) < 16 && !strings.HasPrefix(name, "-") {
				return ""
			}
		}
		if v.block && strings.ContainsAny(value, " ") {
			return ""
		}
		if v.quoted && len(value) >= 8 && p.link != linkList && hasSign(value) && strings.HasSuffix(strings.ToLower(name), "secret") && len(name) > len("secret") && !strings.ContainsAny(value, " /:") {
			return "secret" // often words that a person chose
		}
		if (len(value) >= 12 || len(value) >= 8 && hasStrongSign(value)) && isRandom(value) && !isPath(value) || len(value) >= 6 && v.quoted && isSpiked(value) {
			return "secret"
		}
	case key:
		if f.s[max(0, start-1)] == '?' || f.s[max(0, start-1)] == '&' {
			if len(value) >= 24 && isRandom(value) {
				return "url-parameter"
			}
		}
		if p.link != linkProse && p.link != linkSpace && len(value) >= 20 && isRandom(value) && !isHash(value) && !isPath(value) {
			return "secret"
		}
	case service:
		if p.link != linkProse && p.link != linkSpace && len(value) >= 14 && isGenerated(value) {
			return "secret"
		}
	}
	return ""
}

// settles reports whether the word before a name sets it: set NAME value, ENV NAME
// value.
func (f *finder) settles(start int) bool {
	end := trimRight(f.s, start, " ")
	if end == start || end == 0 || !isAlnum(f.s[end-1]) && f.s[end-1] != ':' {
		return false
	}
	from := max(0, end-12)
	from += strings.LastIndexAny(f.s[from:end], " \t\n\v\"'`") + 1
	switch strings.ToLower(f.s[from:end]) {
	case "set", "put", "add", "env", "setenv", "setx", "arg", "config:set":
		return true
	}
	return false
}

// isVariable reports whether a name is that of a variable of the environment.
func isVariable(name string) bool {
	for i := range len(name) {
		if c := name[i]; !isUpper(c) && !isDigit(c) && c != '_' {
			return false
		}
	}
	return name != ""
}

func (f *finder) judgePassword(name, value string, start int, p place, v *text) string {
	if isPath(value) {
		return ""
	}
	const rule = "password"
	switch p.link {
	case linkProse:
		return "" // see sentence
	case linkList:
		if strings.HasPrefix(name, "-") || hasSign(value) && !isWordy(value) && f.s[max(0, start-1)] != '/' || f.setter(start) {
			return rule
		}
		return ""
	case linkCell:
		if hasSign(value) {
			return rule
		}
		return ""
	case linkSpace:
		flag := strings.HasPrefix(name, "-") && !strings.HasPrefix(value, "-")
		switch {
		case flag, v.quoted && isUpper(name[0]): // PASSWORD 'x' of SQL
			return rule
		case v.quoted && hasSign(value) && !strings.Contains(value, " "), len(value) >= 6 && isSpiked(value):
			return rule
		case f.settles(start) && (isVariable(name) && strings.Contains(name, "_") || hasSign(value)), directive(name), f.firstOnLine(start) && f.lastOnLine(v.end) && hasSign(value):
			return rule
		}
		return ""
	}
	if v.block {
		return rule
	}
	if isSentence(value) && !(isVariable(name) && !p.spaced && !p.colon) || strings.HasPrefix(value, "required|") {
		return ""
	}
	if v.quoted {
		return rule
	}
	if len(value) < 3 {
		return ""
	}
	if !p.colon && !p.spaced {
		return rule
	}
	// A value that does not end its line is usually part of a sentence or of code.
	rest := f.s[v.end:min(len(f.s), v.end+maxGap)]
	rest = rest[:len(rest)-len(strings.TrimLeft(rest, " \t,"))]
	if !f.lastOnLine(v.end + len(rest)) {
		if p.colon && f.firstOnLine(start) && f.wholeLine(v) {
			return rule
		}
		if hasSign(value) && len(value) >= 6 && (p.colon || f.firstOnLine(start)) {
			return rule
		}
		return ""
	}
	if p.spaced && !p.colon && !hasSign(value) && (!f.settings(start) || strings.Contains(value, "_")) {
		return ""
	}
	return rule
}

// wholeLine extends a value of several words to the end of its line, if that is no
// sentence or code.
func (f *finder) wholeLine(v *text) bool {
	_, end := f.line(v.start)
	value := strings.TrimSpace(f.s[v.start:end])
	if len(value) < 4 || len(value) > maxGap || isSentence(value) || isPlaceholder(value) || strings.ContainsAny(value, "\"'(") || strings.ContainsAny(value[len(value)-1:], ",;{") {
		return false
	}
	v.end = v.start + len(value)
	return true
}

// directive reports whether a name takes its value after a space.
func directive(name string) bool {
	switch strings.ToLower(name) {
	case "requirepass", "masterauth", "bindpw", "rootpw", "masteruser", "storepass", "keypass", "password-file-content":
		return true
	}
	return false
}

// setter reports whether a name is the argument of a function that sets a value, or
// names a header.
func (f *finder) setter(start int) bool {
	before := strings.ToLower(strings.TrimRight(f.s[max(0, start-40):start], "\\\"'` "))
	before, ok := strings.CutSuffix(before, "(")
	if !ok {
		return false
	}
	for _, w := range [...]string{"define", "set", "setenv", "putenv", "put", "add", "header", "property", "config", "param", "option", "withenv", "field", "append"} {
		if strings.HasSuffix(before, w) {
			return true
		}
	}
	return false
}

func (f *finder) firstOnLine(start int) bool {
	i := start
	for i > 0 && strings.IndexByte(" \t-\"'#/.>*|+", f.s[i-1]) >= 0 {
		i--
	}
	if i == 0 || f.s[i-1] == '\n' || f.s[i-1] == softBreak {
		return true
	}
	// Enter passphrase: x
	from, _ := f.line(i)
	return start-from < 16 && prompts.has(strings.ToLower(strings.TrimSpace(f.s[from:start])))
}

// prompts are words before the name of a value that a program asks for or shows.
var prompts = wordSet{text: "enter new your confirm current old initial temporary default admin root generated"}

func (f *finder) lastOnLine(end int) bool {
	i := skipBlank(f.s, end, len(f.s))
	return i == len(f.s) || f.s[i] == '\n' || f.s[i] == softBreak
}

// settings reports whether a line is among settings (name = value): the line before
// or after it has that form too, or is the name of a section.
func (f *finder) settings(at int) bool {
	start, end := f.line(at)
	for _, line := range [2]string{lineEndingAt(f.s, start-1), lineBeginningAt(f.s, end+1)} {
		line = strings.TrimSpace(line)
		if len(line) > 2 && line[0] == '[' && line[len(line)-1] == ']' {
			return true
		}
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		if ok && name != "" && value != "" && !strings.ContainsAny(name, " ()\"'") && !strings.ContainsAny(value, " ()\"';,{") {
			return true
		}
	}
	return false
}

func lineEndingAt(s string, end int) string {
	if end < 1 {
		return ""
	}
	from := max(0, end-maxGap)
	return s[from+strings.LastIndexByte(s[from:end], '\n')+1 : end]
}

func lineBeginningAt(s string, start int) string {
	if start >= len(s) {
		return ""
	}
	s = s[start:min(len(s), start+maxGap)]
	if n := strings.IndexByte(s, '\n'); n >= 0 {
		s = s[:n]
	}
	return s
}
