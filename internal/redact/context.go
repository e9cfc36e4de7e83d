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
	maxName   = 96
	maxGap    = 96
	maxMember = 256
	maxValue  = 4 << 10
	maxLines  = 16 << 10 // of a value or file of several lines
	maxJudge  = 160      // the beginning of a value by which it is judged
)

// valuePlace is where a value may be.
type valuePlace struct {
	at     int // -1 if there is none
	link   link
	named  bool // the name is quoted
	spaced bool // there is a space before the operator
	colon  bool // the operator is a colon
}

// name looks at the name with a word at this position.
func (f *finder) name(at int) {
	s := f.s
	if hasPrefixFold(s[at:], "pat") && (isLower(char(s, at+3)) || isUpper(s[at+2]) && isUpper(char(s, at+3))) {
		return // path, pattern
	}
	start, end := at, at
	for at-start < maxName && isNameByte(char(s, start-1)) {
		start--
	}
	for end-at < maxName && isNameByte(char(s, end)) && (s[end] != '.' || nameChars[char(s, end+1)]) && (s[end] != '-' || char(s, end+1) != '>') {
		end++
	}
	f.looked(end)
	if before := s[:start]; strings.HasSuffix(before, "//") || strings.HasSuffix(before, "[redacted:") {
		return // the user of a URL; a mask
	}
	c := claim{finder: f, name: strings.TrimRight(s[start:end], "-."), start: start}
	end = start + len(c.name)
	tail := noSecret
	if word := firstWord(s[min(len(s), end+1):min(len(s), end+12)]); word != "" && s[end] == ' ' {
		if tail = tails[strings.ToLower(lastSegment(c.name)+" "+word)]; tail != noSecret {
			end += 1 + len(word)
		}
	}
	if c.place = f.valueAfterName(start, end); c.place.at < 0 {
		if v := f.valueBefore(start); v.end > v.start {
			c.class, c.place = classify(c.name), valuePlace{at: -1, link: linkMember}
			c.set(v)
			f.add(v.start, v.end, c.rule())
		} else if c.endsCell(end) {
			c.class = c.phraseClass(end)
			c.column()
		}
		return
	}
	c.class = max(c.phraseClass(end), tail)
	if c.class != noSecret {
		if c.endsCell(end) {
			c.column()
		}
		c.mask()
	}
}

// phraseClass returns the class of the name, which may be of several words: API Key, Secret
// access key.
func (c *claim) phraseClass(end int) class {
	class := classify(c.name)
	if class < token {
		from := c.start // of the words on its line that are a space apart
		for n := 0; n < 3 && char(c.s, from-1) == ' ' && alnums[char(c.s, from-2)]; n++ {
			from = alnums.back(c.s, from-1, from-20)
		}
		if from < c.start {
			if class = max(class, classify(c.s[from:end])); class == key && lists.NotBefore.has(strings.ToLower(c.s[alnums.back(c.s, c.start-1, from):c.start-1])) {
				class = noSecret
			}
		}
	}
	return class
}

func isNameByte(c byte) bool { return nameChars[c] || c >= utf8.RuneSelf }

func lastSegment(name string) string {
	return name[strings.LastIndexAny(name, "_-.")+1:]
}

// tails are names of two words that end in one that is not in lastWords.
var tails = map[string]class{"key content": password, "secret id": token}

// valueBefore returns the value of a name that follows it: "value": "x",
// "name": "password".
func (f *finder) valueBefore(start int) (none value) {
	if !marks[char(f.s, start-1)] {
		return none
	}
	key, i := f.memberBefore(start)
	if !lists.NamingWords.has(key) {
		return none
	}
	// The closing quote of the value is the first sign after it.
	i = backslash.skip(f.s, trimRight(f.s, i, "\\\"'` \t\n\v,"))
	if !quotes[f.s[i]] {
		return none
	}
	from := max(0, i-maxGap*8)
	open := from + strings.LastIndexByte(f.s[from:i], f.s[i])
	if key, _ = f.memberBefore(open); open < from || !lists.ValueWords.has(key) {
		return none
	}
	return value{start: open + 1, end: i, quoted: true}
}

// memberBefore returns the name of the member whose value begins here, in lower case,
// and where it begins.
func (f *finder) memberBefore(at int) (name string, start int) {
	end := trimRight(f.s, at, "\\\"'` :=")
	if end >= at {
		return "", at
	}
	start = alnums.back(f.s, end, end-maxName)
	return strings.ToLower(f.s[start:end]), start
}

func trimRight(s string, end int, chars string) int {
	from := max(0, end-maxGap)
	return from + len(strings.TrimRight(s[from:max(from, end)], chars))
}

func (f *finder) valueAfterName(start, end int) valuePlace {
	s := f.window(end, maxGap)
	i, named := nameEnd(s, end)
	p := valuePlace{at: -1, named: named}
	switch {
	case strings.HasPrefix(s[i:], "</"): // <name>password</name>
		if n := strings.IndexByte(s[i:], '>'); n > 0 {
			return f.valueOfMember(i+n+1, p)
		}
		return p
	case char(s, i) == '>' && start > 0: // <password>x, <entry key="password">x
		if c := s[start-1]; tagged(s, start) && (c == '<' || c == ':' || quotes[c] || nameChars[c]) && f.closed(i+1) {
			p.link, p.at = linkMember, spaces.skip(s, i+1)
			switch rest := f.s[p.at:]; {
			case strings.HasPrefix(rest, cdata):
				p.at += len(cdata)
			case hasPrefixFold(rest, "<value>"):
				p.at += len("<value>")
			}
		}
		return p
	}
	i, p.spaced = operatorAfter(s, i)
	switch c := char(s, i); {
	case i == len(s):
	case p.spaced && strings.HasPrefix(s[i:], "--value"): // --name /x/password --value y
		p.link, p.spaced, p.at = linkMember, false, blanks.skip(s, min(len(s), i+len("--value=")))
	case oneOf(c, "=:?+!|-"):
		return f.valueOfOperator(s, i, p)
	case c == ',':
		return f.nextElement(start, i+1, p)
	case breaks[c]:
		return f.valueOfMember(i, p)
	case c == '(' && !p.spaced:
		p.at = f.valueOfArgument(s, i+1)
	case p.spaced && p.named && char(s, i+len(firstWord(s[i:]))) == '=': // another attribute
		return f.valueOfAttribute(i, p)
	case p.spaced && !p.named:
		return f.valueAfterSpace(s, start, i, p)
	}
	return p
}

const cdata = "<![CDATA["

func nameEnd(s string, end int) (i int, quoted bool) {
	i = end
	if n := backslash.skip(s, end); quotes[char(s, n)] {
		if i, quoted = n+1, true; char(s, i) == s[n] { // ""name"" of CSV
			i++
		}
	}
	next := char(s, i+1)
	switch c := char(s, i); {
	case c == ']', c == ')' && quoted && (next == ' ' || next == '='):
		i++
	case c == '[' && next == ']':
		i += 2
	}
	return i, quoted
}

// operatorAfter returns the position of the operator, or of another word, after the end
// of a name, and whether there is a space before it.
func operatorAfter(s string, i int) (at int, spaced bool) {
	if n := skipAny(s, i, "."); n > i+1 { // Password.....: x
		i = n
	}
	if at = blanks.skip(s, i); at == i {
		return at, false
	}
	n := skipAny(first(s, at+2), at, digits) // unseal key 1: x
	if char(s, at) == '[' {                  // AWS Secret Access Key [None]: x
		n = untilAny(s, at, "]") + 1
	}
	if char(s, n) == ':' {
		at = n
	}
	return at, true
}

func (f *finder) valueOfOperator(s string, i int, p valuePlace) valuePlace {
	op := i
	for i < min(len(s), op+4) && oneOf(s[i], "=:?+!|->~") && (s[i] != '-' || char(s, i+1) == '>') {
		i++
	}
	switch text := s[op:i]; {
	case text == "|" && p.spaced: // a table
		p.link, p.at = linkCell, blanks.skip(s, i)
		return p
	case text == "||", len(text) < 2 && text != "=" && text != ":":
		return p
	default:
		p.colon = text == ":"
		return f.valueOfAssignment(s, i, p)
	}
}

func (f *finder) nextElement(start, i int, p valuePlace) valuePlace {
	switch next := char(f.s, i); {
	case p.named || strings.HasPrefix(f.s[start:], "--"):
		p.link = linkList
	case !p.spaced && !marks[next] && !spaces[next] && oneOf(byteBefore(f.s, start), ",; \t\n\v"): // name,value of CSV
		if end := untilAny(f.window(i, maxJudge), i, ",;\n\v\"'({"); oneOf(byteBefore(f.s, end+1), ",;\n\v") {
			p.link, p.at = linkList, i
		}
		return p
	}
	q := f.valueOfMember(i, p)
	if q.link == linkList && isMemberValue(f.s, start) {
		if in := f.valueInObject(i); in.at >= 0 {
			return in
		}
	}
	return q
}

// valueOfArgument returns the position of the argument that is a value in a call whose
// arguments begin here: the second of two strings.
func (f *finder) valueOfArgument(s string, i int) int {
	i = blanks.skip(s, i)
	if !marks[char(s, i)] {
		return -1
	}
	if _, end := f.word(i); char(s, end+1) == ',' { // UserPassword("x", "y")
		if next := blanks.skip(s, end+2); quotes[char(s, next)] {
			return next
		}
	}
	return i
}

// valueAfterSpace returns the place of the value that is only a space, or words, after
// its name.
func (f *finder) valueAfterSpace(s string, start, i int, p valuePlace) valuePlace {
	if n := afterType(s, i, false); n > i && quotes[char(s, n)] { // password string = "x"
		p.at = n
		return p
	}
	if strings.HasPrefix(s[i:], "for ") { // Password for me: x
		if n := untilAny(first(s, i+48), i, ":\n\v=\"'.,;("); char(s, n) == ':' {
			p.colon = true
			return f.valueOfAssignment(s, n+1, p)
		}
	}
	p.link = linkSpace
	switch word := firstWord(s[i:]); {
	case word == "is" || word == "was" || word == "set" || word == "to":
		p.link = linkProse
		i = blanks.skip(s, i+len(word))
		if word := firstWord(s[i:]); word == "to" || word == "now" {
			i = blanks.skip(s, i+len(word))
		}
		if char(s, i) == ':' {
			i = blanks.skip(s, i+1)
		}
	case tagged(s, start):
		if n := strings.IndexByte(s[i:], '>'); n > 0 && f.closed(i+n+1) { // <password type="x">y
			p.link, p.at = linkMember, i+n+1
		}
		return p
	}
	p.at = i
	return p
}

// afterType returns where the value begins after a type and an equals sign, as in
// string = "x", or i if they are not there. With glued, the equals sign may follow the type
// without a space, but only before a quote: elsewhere it may be the padding of base64.
func afterType(s string, i int, glued bool) int {
	n := typeLength(s[i:])
	j := blanks.skip(s, i+n)
	if n == 0 || n >= 24 && glued || char(s, j) != '=' || char(s, j+1) == '=' || j == i+n && !(glued && quotes[char(s, j+1)]) {
		return i
	}
	return blanks.skip(s, j+1)
}

func (f *finder) valueOfAssignment(s string, i int, p valuePlace) valuePlace {
	i = blanks.skip(s, i)
	if p.colon { // password: string = "x"
		i = afterType(s, i, true)
	}
	if breaks[char(s, i)] { // the value in the next line
		switch j := spaces.skip(s, i); {
		case quotes[char(s, backslash.skip(s, j))]:
			i = j
		case p.colon && strings.HasPrefix(s[j:], "value:"):
			return f.valueOfMember(j, p)
		case p.colon && !p.named && j < len(s) && spaces[byteBefore(f.s, wordEnds.until(f.s, j)+1)]: // alone there
			p.link, p.at = linkSpace, j
			return p
		}
	}
	switch c := char(s, i); {
	case p.colon && c == '[':
		i = spaces.skip(s, i+1)
	case p.colon && c == '{': // {"password": {"value": "x"}}
		if q := f.valueInObject(i + 1); q.at >= 0 {
			return q
		}
	}
	p.at = i
	return p
}

func (f *finder) valueInObject(i int) valuePlace {
	s := f.window(i, maxMember)
	for s = s[:untilAny(s, i, "{}")]; i < len(s); i = untilAny(s, i, ",\n\v") + 1 {
		if q := f.valueOfMember(i, valuePlace{at: -1}); q.at >= 0 {
			return q
		}
	}
	return valuePlace{at: -1}
}

// isMemberValue reports whether a quoted name is itself the value of a member, such as
// "Name": "password".
func isMemberValue(s string, start int) bool {
	from := start
	for start-from < maxName && (nameChars[char(s, from-1)] || char(s, from-1) == '/') {
		from--
	}
	i := trimRight(s, trimRight(s, from, "\\\"'`"), " ")
	return i < start && oneOf(char(s, i-1), ":=")
}

var (
	beforeMember = setOf(" \t\n\v,{-")
	memberMarks  = set{'\\': true, '"': true, '\'': true, '`': true, '<': true}
)

// valueOfMember returns the place of a value that has its own name, such as value, or
// that is the next element of a list.
func (f *finder) valueOfMember(i int, p valuePlace) valuePlace {
	s := f.window(i, maxGap)
	from := i
	i = beforeMember.skip(s, i)
	start := memberMarks.skip(s, i)
	end := start
	for nameChars[char(s, end)] || char(s, end) == '#' {
		end++
	}
	if end > start && lists.ValueWords.has(strings.ToLower(s[start:end])) {
		if char(s, start-1) == '<' && char(s, end) == ' ' { // <value type="x">
			end = untilAny(s, end, ">")
		}
		if n := blanks.skip(s, marks.skip(s, end)); oneOf(char(s, n), ":=>") {
			if n++; char(s, n) == '>' {
				n++
			}
			p.link, p.at = linkMember, blanks.skip(s, n)
			return p
		}
	}
	// b"x" and the like are values too, and {"type": …} is none.
	if gap := s[from:i]; p.link == linkList && !strings.Contains(gap, "{") {
		if marks[char(s, i)] || !strings.ContainsAny(gap, "\n\v") || i < len(s) && gap[0] != '\n' {
			p.at = i
		}
	}
	return p
}

// valueOfAttribute returns the place of the value of an HTML or XML element after other
// attributes.
func (f *finder) valueOfAttribute(i int, p valuePlace) valuePlace {
	s := f.window(i, maxMember)
	end := untilAny(s, i, ">")
	for _, word := range [...]string{"value=", "content="} {
		if n := strings.Index(s[i:end], word); n == 0 || n > 0 && s[i+n-1] == ' ' {
			p.link, p.at = linkMember, i+n+len(word)
			return p
		}
	}
	if end < len(s) { // <setting name="password" type="x"><value>y
		return f.valueOfMember(end+1, p)
	}
	return p
}

// tagged reports whether a name is in a tag: <password, <entry key="password".
func tagged(s string, start int) bool {
	from := max(0, start-64)
	i := strings.LastIndexAny(s[from:start], "<>\n")
	return i >= 0 && s[from+i] == '<'
}

// closed reports whether the element with the text that begins here is closed.
func (f *finder) closed(i int) bool {
	s := f.window(i, maxValue)
	end := untilAny(s, i, "<")
	rest := f.s[end:]
	return strings.HasPrefix(rest, "</") || strings.HasPrefix(rest, "<![") || hasPrefixFold(rest, "<value>")
}

func firstWord(s string) string {
	n := 0
	for alnums[char(s, n)] || char(s, n) == '_' || n == 0 && oneOf(char(s, n), "$#") {
		n++
	}
	return s[:n]
}

// typeLength returns the length of the type at the start of s: string, Optional[str].
func typeLength(s string) int {
	n := skipAny(s, 0, "&*")
	if n += len(firstWord(s[n:])); strings.HasPrefix(s, "&'static ") {
		n = len("&'static ") + len(firstWord(s[len("&'static "):]))
	}
	for n > 0 && n < 40 && (alnums[char(s, n)] || oneOf(char(s, n), "[]<>?|.")) {
		n++
	}
	return n
}
