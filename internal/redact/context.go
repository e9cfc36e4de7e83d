package redact

import (
	"strings"
)

// A name says that its value is a secret. Between both is what the language of the
// text puts there: an assignment, the colon of YAML and JSON, the end of a tag, the
// comma of a call, the space after a flag, or another member (name: X, value: Y).

// link is how a value follows its name.
type link int

const (
	linkAssign link = iota // password=x, "password": "x"
	linkList               // "password", "x"
	linkSpace              // --password x, requirepass x
	linkMember             // name: password, value: x; <password>x</password>
	linkCell               // | password | x |
	linkProse              // the token is x
)

// Limits of what is looked at around a name.
const (
	maxName  = 96
	maxGap   = 96
	maxValue = 4 << 10
	maxJudge = 256 // the beginning of a value by which it is judged
)

// name looks at the name with a word at this position.
func (f *finder) name(at int) {
	if at < f.done[kindName] {
		return
	}
	s := f.s
	start, end := at, at
	for start > 0 && at-start < maxName && isNameChar(s[start-1]) {
		start--
	}
	for end < len(s) && end-at < maxName && (isNameChar(s[end]) || s[end] >= 0xc3 && end+1 < len(s)) {
		if s[end] == '.' && (end+1 == len(s) || !isNameChar(s[end+1])) {
			break
		}
		if s[end] == '-' && end+1 < len(s) && s[end+1] == '>' {
			break
		}
		end++
	}
	f.done[kindName] = end
	if before := s[max(0, start-len("[redacted:")):start]; strings.HasSuffix(before, "//") || before == "[redacted:" {
		return // the user of a URL; a mask
	}
	name := strings.TrimRight(s[start:end], "-")
	end = start + len(name)
	where := f.after(start, end)
	if where.value < 0 {
		return
	}
	c := classify(name)
	if c < token {
		// A name of several words: API Key, Secret access key.
		if from := wordsBefore(s, start, 3); from < start {
			if w := classify(s[from:end]); w > c {
				c = w
			}
		}
	}
	if c == noSecret && strings.EqualFold(lastSegment(name), "pass") && (where.named && where.link == linkAssign || where.link == linkSpace && strings.HasPrefix(name, "-")) {
		c = token // of its own it may be a verdict or a count
	}
	if c == noSecret && strings.EqualFold(lastSegment(name), "auth") && where.quoted {
		c = token
	}
	if c == noSecret {
		return
	}
	f.value(name, start, c, where)
}

func lastSegment(name string) string {
	return name[strings.LastIndexAny(name, "_-.")+1:]
}

func isNameChar(c byte) bool { return isAlnum(c) || c == '_' || c == '-' || c == '.' || c == '$' }

// wordsBefore returns where up to n words before a position begin that are on its
// line and a space apart.
func wordsBefore(s string, start, n int) int {
	for ; n > 0 && start > 1 && s[start-1] == ' ' && isAlnum(s[start-2]); n-- {
		i := start - 1
		for i > 0 && start-i < 20 && isAlnum(s[i-1]) {
			i--
		}
		start = i
	}
	return start
}

// place is where a value may be.
type place struct {
	value  int // -1 if there is none
	link   link
	named  bool // the name is quoted
	spaced bool // there is a space before the operator
	quoted bool // the value is quoted
	colon  bool // the operator is a colon
}

// after returns the place of the value that follows a name.
func (f *finder) after(start, end int) place {
	s := f.s
	p := place{value: -1}
	i := end
	limit := min(len(s), end+maxGap)
	// The end of a quoted or bracketed name.
	for i < limit && s[i] == '\\' {
		i++
	}
	if i < limit && isQuote(s[i]) {
		p.named = true
		i++
	} else if i > end {
		i = end
	}
	if i < limit && (s[i] == ']' || s[i] == ')' && p.named && i+1 < limit && (s[i+1] == ' ' || s[i+1] == '=')) {
		i++
	} else if i+1 < limit && s[i] == '[' && s[i+1] == ']' {
		i += 2
	}
	if strings.HasPrefix(s[i:], "</") { // <name>password</name>
		if n := strings.IndexByte(s[i:limit], '>'); n > 0 {
			return f.member(i+n+1, limit, p)
		}
		return p
	}
	if i < limit && s[i] == '>' && start > 0 { // <password>x, <entry key="password">x
		if before := s[start-1]; tagged(s, start) && (before == '<' || before == ':' || isQuote(before) || isNameChar(before)) && strings.HasPrefix(s[i+1+max(0, strings.IndexByte(s[i+1:min(len(s), i+maxValue)], '<')):], "<") {
			p.link = linkMember
			p.value = skipSpace(s, i+1, limit)
			if p.value+9 <= len(s) && strings.HasPrefix(s[p.value:], "<![CDATA[") {
				p.value += 9
			}
		}
		return p
	}
	before := i
	i = skipBlank(s, i, limit)
	p.spaced = i > before
	if i == limit {
		return p
	}
	switch c := s[i]; {
	case c == '=' || c == ':' || c == '?' || c == '+' || c == '!' || c == '|' || c == '-':
		op := i
		for i < limit && i < op+4 && strings.IndexByte("=:?+!|->~", s[i]) >= 0 && (s[i] != '-' || i+1 < limit && s[i+1] == '>') {
			i++
		}
		text := s[op:i]
		if text == "|" && p.spaced { // a table
			p.link = linkCell
			p.value = skipBlank(s, i, limit)
			return p
		}
		if text == "?" || text == "!" || text == "+" || text == "|" || text == "||" || text == "-" || text == "?:" && false || text == "" {
			if !strings.ContainsAny(text, "=:") {
				return p
			}
		}
		p.colon = text == ":"
		return f.right(i, limit, p)
	case c == ',' && (p.named || f.inList(start)):
		p.link = linkList
		return f.member(i+1, limit, p)
	case c == '}' && p.named: // {"key": …"password"}, then its value
		return p
	case c == '\n' || c == softBreak:
		return f.member(i, limit, p)
	case c == '(' && !p.spaced && i+1 < limit:
		if j := skipBlank(s, i+1, limit); j < limit && (isQuote(s[j]) || s[j] == '\\') {
			p.value, p.link = j, linkAssign
		}
		return p
	case p.spaced && p.named && c == 'v': // name="password" value="x"
		return f.member(i, limit, p)
	case p.spaced && p.named && (isTypeAttribute(s[i:limit])):
		return f.attribute(i, limit, p)
	case p.spaced && !p.named:
		p.link = linkSpace
		if word, n := firstWord(s[i:limit]); n > 0 && (word == "is" || word == "was" || word == "set" || word == "to") {
			p.link = linkProse
			i = skipBlank(s, i+n, limit)
			if word, n := firstWord(s[i:limit]); word == "to" || word == "now" {
				i = skipBlank(s, i+n, limit)
			}
			if i < limit && s[i] == ':' {
				i = skipBlank(s, i+1, limit)
			}
		} else if tagged(s, start) {
			if n := strings.IndexByte(s[i:limit], '>'); n > 0 { // <password type="x">y
				p.link, p.value = linkMember, i+n+1
			}
			return p
		}
		p.value = i
		return p
	}
	return p
}

// right returns the place of the value on the right side of an assignment.
func (f *finder) right(i, limit int, p place) place {
	s := f.s
	i = skipBlank(s, i, limit)
	// password: string = "x", and the value in the next line.
	if word, n := typeName(s[i:limit]); p.colon && word != "" {
		if j := skipBlank(s, i+n, limit); j < limit && s[j] == '=' && (j+1 == limit || s[j+1] != '=') {
			i = skipBlank(s, j+1, limit)
		}
	}
	if i < limit && (s[i] == '\n' || s[i] == softBreak) {
		if j := skipSpace(s, i, limit); j < limit && (isQuote(s[j]) || p.colon && strings.HasPrefix(s[j:], "value:")) {
			if !isQuote(s[j]) {
				return f.member(j, limit, p)
			}
			i = j
		}
	}
	if p.colon && i < limit && (s[i] == '{' || s[i] == '[') { // {"password": {"value": "x"}}
		if j := skipSpace(s, i+1, limit); s[i] == '[' {
			i = j
		} else if q := f.member(i+1, limit, p); q.value >= 0 && q.link == linkMember {
			return q
		}
	}
	p.value = i
	return p
}

// valueWords name the member that holds the value of a name.
var valueWords = wordSet("value val v default stringvalue string_value secretstring plaintext content data _value $value #text text _content valuestring s raw example current")

// member returns the place of a value that has a name of its own, such as value, or
// that is the next one of a list.
func (f *finder) member(i, limit int, p place) place {
	s := f.s
	limit = min(len(s), i+maxGap)
	from := i
	for i < limit && strings.IndexByte(" \t\n\v,{-", s[i]) >= 0 {
		i++
	}
	j := i
	for j < limit && (s[j] == '\\' || isQuote(s[j]) || s[j] == '<') {
		j++
	}
	word, n := firstWord(s[j:limit])
	if n > 0 && valueWords[strings.ToLower(word)] {
		k := j + n
		for k < limit && (s[k] == '\\' || isQuote(s[k])) {
			k++
		}
		k = skipBlank(s, k, limit)
		if k < limit && (s[k] == ':' || s[k] == '=' || s[k] == '>') {
			k++
			if k < limit && s[k] == '>' {
				k++
			}
			p.link = linkMember
			p.value = skipBlank(s, k, limit)
			return p
		}
	}
	if p.link == linkList && strings.IndexByte(s[from:i], '{') < 0 {
		if i < limit && (isQuote(s[i]) || s[i] == '\\') || strings.IndexAny(s[from:i], "\n\v") < 0 || i < limit && s[from] != '\n' {
			p.value = i
			// b"x" and the like are values too, and {"type": …} is none.
			return p
		}
	}
	return p
}

// attribute returns the place of the value of an HTML or XML element after other
// attributes.
func (f *finder) attribute(i, limit int, p place) place {
	s := f.s
	limit = min(len(s), i+256)
	end := strings.IndexByte(s[i:limit], '>')
	if end < 0 {
		return p
	}
	n := strings.Index(s[i:i+end], "value=")
	if n < 1 || s[i+n-1] != ' ' {
		return p
	}
	p.link, p.value = linkMember, i+n+len("value=")
	return p
}

// isTypeAttribute reports whether an attribute of an element begins here.
func isTypeAttribute(s string) bool {
	word, n := firstWord(s)
	return n > 0 && word != "" && n < len(s) && s[n] == '='
}

// tagged reports whether a name is in a tag: <password, <entry key="password".
func tagged(s string, start int) bool {
	from := max(0, start-64)
	i := strings.LastIndexAny(s[from:start], "<>\n")
	return i >= 0 && s[from+i] == '<'
}

// inList reports whether what begins here is an argument of a call or an element of a
// list that is not quoted.
func (f *finder) inList(start int) bool {
	return strings.HasPrefix(f.s[start:], "--")
}

// firstWord returns the word at the start of s.
func firstWord(s string) (string, int) {
	n := 0
	for n < len(s) && (isAlnum(s[n]) || s[n] == '_' || s[n] == '$' && n == 0 || s[n] == '#' && n == 0) {
		n++
	}
	return s[:n], n
}

// typeName returns the type at the start of s: string, Optional[str].
func typeName(s string) (string, int) {
	word, n := firstWord(s)
	if n == 0 {
		return "", 0
	}
	for n < len(s) && n < 40 && (isAlnum(s[n]) || strings.IndexByte("[]<>?|.", s[n]) >= 0) {
		n++
	}
	return word, n
}

func skipBlank(s string, i, limit int) int {
	for i < limit && (s[i] == ' ' || s[i] == '\t') {
		i++
	}
	return i
}

func skipSpace(s string, i, limit int) int {
	for i < limit && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == softBreak) {
		i++
	}
	return i
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// text is a value in the text.
type text struct {
	start, end int
	quoted     bool
	block      bool // of several lines
}

// read returns the value at a place.
func (f *finder) read(name string, start int, p place) text {
	s := f.s
	i := p.value
	if i >= len(s) {
		return text{i, i, false, false}
	}
	// Prefixes of strings, and types of YAML.
	if s[i] == '!' {
		if n := strings.IndexAny(s[i:min(len(s), i+24)], " \n"); n > 0 {
			i = skipBlank(s, i+n, len(s))
		}
	}
	for n := 0; n < 2 && i+1 < len(s) && strings.IndexByte("bBrRfFuUL@$", s[i]) >= 0 && (isQuote(s[i+1]) || n == 0 && i+2 < len(s) && isQuote(s[i+2]) && isAlnum(s[i+1])); n++ {
		i++
	}
	if p.link == linkMember && s[i-1] == '>' || p.link == linkMember && i > 9 && s[i-9:i] == "<![CDATA[" {
		end := min(len(s), i+maxValue)
		if n := strings.IndexByte(s[i:end], '<'); n >= 0 {
			end = i + n
		} else if n := strings.IndexAny(s[i:end], "\n\v"); n >= 0 {
			end = i + n
		}
		if n := strings.Index(s[i:end], "]]>"); n >= 0 {
			end = i + n
		}
		for end > i && strings.IndexByte(" \t\n\v", s[end-1]) >= 0 {
			end--
		}
		return text{i, end, true, false}
	}
	if p.link == linkAssign && i < len(s) && (s[i] == '|' || s[i] == '>') { // a block of YAML
		if b, ok := f.block(start, i); ok {
			return b
		}
	}
	j := i
	for j < len(s) && s[j] == '\\' && j-i < 8 {
		j++
	}
	if j < len(s) && isQuote(s[j]) {
		quote, slashes := s[j], j-i
		from := j + 1
		if strings.HasPrefix(s[j:], `"""`) || strings.HasPrefix(s[j:], `'''`) {
			from += 2
		}
		limit := min(len(s), from+maxValue)
		for k := from; k < limit; k++ {
			if s[k] == quote {
				// The quote is escaped as the opening one is.
				n := 0
				for k-n > from && s[k-n-1] == '\\' {
					n++
				}
				if n == slashes || n < slashes || slashes == 0 && n%2 == 0 {
					return text{from, k - n, true, false}
				}
			} else if s[k] == '\n' && quote != '`' && k > from && p.link != linkMember {
				// No string of most languages goes over a line.
				return f.bare(name, start, from, p)
			}
		}
		return f.bare(name, start, from, p)
	}
	return f.bare(name, start, i, p)
}

// bare returns the value without quotes at a position.
func (f *finder) bare(name string, start, i int, p place) text {
	s := f.s
	stop := " \t\n\v\"'`,;)]}<>"
	if f.assigned(name, start, p) {
		stop = " \t\n\v\"'`<>"
		if i > 0 && isQuote(s[i-1]) {
			stop = "\n\v"
		}
	}
	end := i
	limit := min(len(s), i+maxValue)
	for end < limit && strings.IndexByte(stop, s[end]) < 0 {
		if s[end] == '&' && isParameter(s[end+1:min(limit, end+40)]) {
			break
		}
		end++
	}
	return text{i, end, false, false}
}

// isParameter reports whether a parameter of a URL begins here.
func isParameter(s string) bool {
	n := 0
	for n < len(s) && isNameChar(s[n]) {
		n++
	}
	return n > 0 && n < len(s) && s[n] == '=' || n == len(s) && n > 0
}

// assigned reports whether a name begins a line as variables in env and .env do: their
// values go to the next space.
func (f *finder) assigned(name string, start int, p place) bool {
	if p.link != linkAssign || p.spaced || p.colon || p.named {
		return false
	}
	for i := range len(name) {
		if isLower(name[i]) {
			return false
		}
	}
	before := f.s[max(0, start-24):start]
	before = before[strings.LastIndexAny(before, "\n\v")+1:]
	before = strings.TrimLeft(before, " \t-+>")
	return before == "" || before == "export " || before == "declare -x " || before == "ENV " || before == "e " || before == "set "
}

// block returns the value of YAML that follows as indented lines.
func (f *finder) block(start, i int) (text, bool) {
	s := f.s
	end := i + 1
	for end < len(s) && end < i+4 && strings.IndexByte("-+0123456789", s[end]) >= 0 {
		end++
	}
	if end == len(s) || s[end] != '\n' && s[end] != softBreak {
		return text{}, false
	}
	from, _ := f.line(start)
	indent := skipBlank(s, from, len(s)) - from
	first := -1
	last := end
	for at := end + 1; at < len(s) && at < end+maxValue; {
		n := strings.IndexAny(s[at:], "\n\v")
		if n < 0 {
			n = len(s) - at
		}
		text := skipBlank(s, at, at+n)
		if text < at+n {
			if text-at <= indent {
				break
			}
			if first < 0 {
				first = text
			}
			last = at + n
		}
		at += n + 1
	}
	if first < 0 {
		return text{}, false
	}
	return text{first, last, true, true}, true
}

// value masks the value of a name if it is a secret.
func (f *finder) value(name string, start int, c class, p place) {
	v := f.read(name, start, p)
	p.quoted = v.quoted
	if v.end-v.start < 1 {
		return
	}
	value := f.s[v.start:min(v.end, v.start+maxJudge)]
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
	if !v.quoted && end-v.start >= maxValue { // the word continues
		end += wordEnd(f.s[end:])
	}
	f.add(v.start, end, rule)
}

// judge returns the rule by which the value of a name is a secret, or "".
func (f *finder) judge(name, value string, start int, c class, p place, v *text) string {
	if isPlaceholder(value) {
		return ""
	}
	code := !v.quoted && isCode(f.s, v.start, v.end)
	if code {
		return ""
	}
	switch c {
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
		}
		if v.block && strings.ContainsAny(value, " ") {
			return ""
		}
		if (len(value) >= 12 || len(value) >= 8 && hasStrongSign(value)) && isRandom(value) && !isPath(value) || len(value) >= 6 && v.quoted && isSpiked(value) {
			return "secret"
		}
	case key:
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
	before := f.s[max(0, start-24):start]
	words := strings.Fields(before)
	if len(words) == 0 || !strings.HasSuffix(before, " ") {
		return false
	}
	switch strings.ToLower(words[len(words)-1]) {
	case "set", "put", "add", "env", "setenv", "setx", "arg", "set_config", "config:set", "--body", "-a":
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
		return "" // see told
	case linkList:
		if strings.HasPrefix(name, "-") || hasSign(value) || f.setter(start) {
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
		case flag, f.settles(start), v.quoted && isUpper(name[0]): // PASSWORD 'x' of SQL
			return rule
		case directive(name) || f.firstOnLine(start) && f.lastOnLine(v.end) && hasSign(value):
			return rule
		}
		return ""
	}
	if v.block {
		return rule
	}
	if isSentence(value) || strings.HasPrefix(value, "required|") {
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
	// Of the rest only what ends its line is no part of a sentence or of code.
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
	if p.spaced && !p.colon && !hasSign(value) && !f.settings(start) {
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
	return i == 0 || f.s[i-1] == '\n' || f.s[i-1] == softBreak
}

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
