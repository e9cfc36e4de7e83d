package redact

import (
	"strings"
	"unicode/utf8"
)

// A name says that its value is a secret. The text between the two depends on the
// language: an assignment, the colon of YAML and JSON, the end of a tag, the comma of a
// call, the space after a flag, or another member (name: X, value: Y).

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

// Limits of the text that is examined around a name.
const (
	maxName  = 96
	maxGap   = 96
	maxValue = 4 << 10
	maxJudge = 160 // the beginning of a value by which it is judged
)

// name looks at the name with a word at this position.
func (f *finder) name(at int) {
	if at < f.done[kindName] {
		return
	}
	s := f.s
	start, end := at, at
	for start > 0 && at-start < maxName && (isNameChar(s[start-1]) || s[start-1] >= utf8.RuneSelf) {
		start--
	}
	for end < len(s) && end-at < maxName && (isNameChar(s[end]) || s[end] >= utf8.RuneSelf) {
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
	name := strings.TrimRight(s[start:end], "-.")
	end = start + len(name)
	tail := noSecret
	if word, n := firstWord(s[min(len(s), end+1):min(len(s), end+12)]); n > 0 && s[end] == ' ' {
		if tail = tails[strings.ToLower(lastSegment(name)+" "+word)]; tail != noSecret {
			end += 1 + n
		}
	}
	where := f.after(start, end)
	if where.value < 0 {
		if v, ok := f.valueBefore(start); ok {
			f.judgeBefore(name, start, v)
		}
		return
	}
	c := max(classify(name), tail)
	if c < token {
		// A name of several words: API Key, Secret access key.
		if from := wordsBefore(s, start, 3); from < start {
			if w := classify(s[from:end]); w > c {
				c = w
			}
		}
	}
	if c == noSecret && strings.EqualFold(lastSegment(name), "auth") && where.quoted {
		c = token
	}
	if c == noSecret {
		return
	}
	f.value(name, start, c, where)
}

// valueBefore returns the value of a name that follows its value: "value": "x",
// "name": "password".
func (f *finder) valueBefore(start int) (text, bool) {
	s := f.s
	none := text{}
	i := trimRight(s, start, "\\\"'`")
	if i == start {
		return none, false
	}
	j := trimRight(s, i, "\\\"'` :=")
	if j == i {
		return none, false
	}
	k := j
	for k > 0 && isAlnum(s[k-1]) && j-k < 8 {
		k--
	}
	switch strings.ToLower(s[k:j]) {
	case "name", "key", "id", "variable", "property":
	default:
		return none, false
	}
	k = trimRight(s, k, "\\\"'` \t\n\v,")
	// The closing quote of the value is the first sign after it.
	for k < j && s[k] == '\\' {
		k++
	}
	if k >= j || !isQuote(s[k]) {
		return none, false
	}
	from := max(0, k-maxGap*8)
	open := strings.LastIndexByte(s[from:k], s[k])
	if open < 0 {
		return none, false
	}
	open += from
	i = trimRight(s, open, "\\\"'` :=")
	k2 := i
	for k2 > 0 && isAlnum(s[k2-1]) && i-k2 < 12 {
		k2--
	}
	if i == open || !valueWords.has(strings.ToLower(s[k2:i])) {
		return none, false
	}
	return text{open + 1, k, true, false}, true
}

func trimRight(s string, end int, chars string) int {
	return len(strings.TrimRight(s[max(0, end-maxGap):end], chars)) + max(0, end-maxGap)
}

// judgeBefore masks the value before a name if it is a secret.
func (f *finder) judgeBefore(name string, start int, v text) {
	value := f.s[v.start:min(v.end, v.start+maxJudge)]
	if value == "" {
		return
	}
	if rule := f.judge(name, value, start, classify(name), place{link: linkMember}, &v); rule != "" {
		f.add(v.start, v.end, rule)
	}
}

func lastSegment(name string) string {
	return name[strings.LastIndexAny(name, "_-.")+1:]
}

func isNameChar(c byte) bool { return isAlnum(c) || c == '_' || c == '-' || c == '.' || c == '$' }

// tails are names of two words that end in one that is not in lastWords.
var tails = map[string]class{"key content": password, "secret id": token}

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
			return f.member(i+n+1, p)
		}
		return p
	}
	if i < limit && s[i] == '>' && start > 0 { // <password>x, <entry key="password">x
		if before := s[start-1]; tagged(s, start) && (before == '<' || before == ':' || isQuote(before) || isNameChar(before)) && closed(s, i+1) {
			p.link = linkMember
			p.value = skipSpace(s, i+1, limit)
			if p.value+9 <= len(s) && strings.HasPrefix(s[p.value:], "<![CDATA[") {
				p.value += 9
			}
		}
		return p
	}
	if dots := len(s[i:limit]) - len(strings.TrimLeft(s[i:limit], ".")); dots > 1 { // Password.....: x
		i += dots
	}
	before := i
	i = skipBlank(s, i, limit)
	if i < limit && s[i] == '[' && i > before { // AWS Secret Access Key [None]: x
		if n := strings.IndexByte(s[i:limit], ']'); n > 0 && i+n+1 < limit && s[i+n+1] == ':' {
			i += n + 1
		}
	}
	if n := i; i > before { // unseal key 1: x
		for n < limit && isDigit(s[n]) && n < i+2 {
			n++
		}
		if n > i && n < limit && s[n] == ':' {
			i = n
		}
	}
	p.spaced = i > before
	if i == limit {
		return p
	}
	switch c := s[i]; {
	case p.spaced && strings.HasPrefix(s[i:limit], "--value"): // --name /x/password --value y
		p.link, p.spaced, p.value = linkMember, false, skipBlank(s, min(limit, i+len("--value=")), limit)
		return p
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
		if text == "?" || text == "!" || text == "+" || text == "|" || text == "||" || text == "-" || text == "" {
			if !strings.ContainsAny(text, "=:") {
				return p
			}
		}
		p.colon = text == ":"
		return f.right(i, limit, p)
	case c == ',' && (p.named || f.inList(start)):
		p.link = linkList
		if q := f.member(i+1, p); q.link == linkMember || !isMemberValue(s, start) {
			return q
		}
		if q := f.inside(i + 1); q.value >= 0 {
			return q
		}
		return f.member(i+1, p)
	case c == ',':
		if q := f.member(i+1, p); q.link == linkMember { // ParameterKey=Password,ParameterValue=x
			return q
		}
		return p
	case c == '}' && p.named: // {"key": …"password"}, then its value
		return p
	case c == '\n' || c == softBreak:
		return f.member(i, p)
	case c == '(' && !p.spaced && i+1 < limit:
		if j := skipBlank(s, i+1, limit); j < limit && (isQuote(s[j]) || s[j] == '\\') {
			p.value, p.link = j, linkAssign
			if _, k := f.word(j); k+1 < limit && s[k+1] == ',' { // UserPassword("x", "y")
				if k = skipBlank(s, k+2, limit); k < limit && isQuote(s[k]) {
					p.value = k
				}
			}
		}
		return p
	case p.spaced && p.named && (isTypeAttribute(s[i:limit])):
		return f.attribute(i, p)
	case p.spaced && !p.named:
		if _, n := typeName(s[i:limit]); n > 0 { // password string = "x"
			if j := skipBlank(s, i+n, limit); j > i+n && j < limit && s[j] == '=' && (j+1 == limit || s[j+1] != '=') {
				if j = skipBlank(s, j+1, limit); j < limit && isQuote(s[j]) {
					p.value = j
					return p
				}
			}
		}
		if strings.HasPrefix(s[i:limit], "for ") { // Password for me: x
			if n := strings.IndexAny(s[i:min(limit, i+48)], ":\n\v=\"'.,;("); n > 0 && s[i+n] == ':' {
				p.colon = true
				return f.right(i+n+1, limit, p)
			}
		}
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
			if n := strings.IndexByte(s[i:limit], '>'); n > 0 && closed(s, i+n+1) { // <password type="x">y
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
	if word, n := typeName(s[i:limit]); p.colon && word != "" && n < 24 {
		// Without a space before it, = may be the end of base64.
		if j := skipBlank(s, i+n, limit); j+1 < limit && s[j] == '=' && s[j+1] != '=' && (j > i+n || isQuote(s[j+1])) {
			i = skipBlank(s, j+1, limit)
		}
	}
	if i < limit && (s[i] == '\n' || s[i] == softBreak) {
		if j := skipSpace(s, i, limit); j < limit && (isQuote(s[j]) || p.colon && strings.HasPrefix(s[j:], "value:")) {
			if !isQuote(s[j]) {
				return f.member(j, p)
			}
			i = j
		}
	}
	if p.colon && i < limit && (s[i] == '{' || s[i] == '[') { // {"password": {"value": "x"}}
		if j := skipSpace(s, i+1, limit); s[i] == '[' {
			i = j
		} else if q := f.inside(i + 1); q.value >= 0 {
			return q
		}
	}
	p.value = i
	return p
}

// inside returns the place of the value in an object that begins here.
func (f *finder) inside(i int) place {
	s := f.s
	end := min(len(s), i+256)
	if n := strings.IndexAny(s[i:end], "{}"); n >= 0 {
		end = i + n
	}
	for i < end {
		if q := f.member(i, place{value: -1}); q.value >= 0 {
			return q
		}
		n := strings.IndexAny(s[i:end], ",\n\v")
		if n < 0 {
			break
		}
		i += n + 1
	}
	return place{value: -1}
}

// isMemberValue reports whether a quoted name is itself the value of a member, such as
// "Name": "password".
func isMemberValue(s string, start int) bool {
	from := start
	for from > 0 && start-from < maxName && (isNameChar(s[from-1]) || s[from-1] == '/') {
		from--
	}
	i := trimRight(s, trimRight(s, from, "\\\"'`"), " ")
	return i > 0 && i < start && (s[i-1] == ':' || s[i-1] == '=')
}

// valueWords name the member that holds the value of a name.
var valueWords = wordSet{text: "value val v default stringvalue string_value secretstring plaintext content data _value $value #text text _content valuestring s raw example current parametervalue param-value paramvalue"}

// member returns the place of a value that has its own name, such as value, or that is
// the next element of a list.
func (f *finder) member(i int, p place) place {
	s := f.s
	limit := min(len(s), i+maxGap)
	from := i
	for i < limit && strings.IndexByte(" \t\n\v,{-", s[i]) >= 0 {
		i++
	}
	j := i
	for j < limit && (s[j] == '\\' || isQuote(s[j]) || s[j] == '<') {
		j++
	}
	n := 0
	for j+n < limit && (isNameChar(s[j+n]) || s[j+n] == '#') {
		n++
	}
	word := s[j : j+n]
	if n > 0 && valueWords.has(strings.ToLower(word)) {
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
		if i < limit && (isQuote(s[i]) || s[i] == '\\') || !strings.ContainsAny(s[from:i], "\n\v") || i < limit && s[from] != '\n' {
			p.value = i
			// b"x" and the like are values too, and {"type": …} is none.
			return p
		}
	}
	return p
}

// attribute returns the place of the value of an HTML or XML element after other
// attributes.
func (f *finder) attribute(i int, p place) place {
	s := f.s
	limit := min(len(s), i+256)
	end := strings.IndexByte(s[i:limit], '>')
	if end < 0 {
		end = limit - i
	}
	for _, word := range [...]string{"value=", "content="} {
		if n := strings.Index(s[i:i+end], word); n == 0 || n > 0 && s[i+n-1] == ' ' {
			p.link, p.value = linkMember, i+n+len(word)
			return p
		}
	}
	if i+end < limit { // <setting name="password" type="x"><value>y
		return f.member(i+end+1, p)
	}
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

// inList reports whether an unquoted argument of a call, or an unquoted element of a
// list, begins at start.
func (f *finder) inList(start int) bool {
	return strings.HasPrefix(f.s[start:], "--")
}

// closed reports whether the element with the text that begins here is closed.
func closed(s string, i int) bool {
	n := strings.IndexByte(s[i:min(len(s), i+maxValue)], '<')
	return n >= 0 && (strings.HasPrefix(s[i+n:], "</") || strings.HasPrefix(s[i+n:], "<!["))
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
	return text{i, f.bareEnd(name, start, i, p, maxJudge), false, false}
}

// bareEnd returns the end of a value without quotes, up to a length.
func (f *finder) bareEnd(name string, start, i int, p place, longest int) int {
	s := f.s
	stop := " \t\n\v\"'`,;)]}<>"
	if f.assigned(name, start, p) {
		stop = " \t\n\v\"'`<>"
		if i > 0 && isQuote(s[i-1]) {
			stop = "\n\v"
		}
	}
	end := i
	limit := min(len(s), i+longest)
	for end < limit && strings.IndexByte(stop, s[end]) < 0 {
		if s[end] == '&' && isParameter(s[end+1:min(limit, end+40)]) {
			break
		}
		end++
	}
	return end
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
