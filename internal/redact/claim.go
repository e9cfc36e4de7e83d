package redact

import (
	"strings"
)

// claim is a name that says that a value is a secret.
type claim struct {
	*finder
	name  string
	start int // of the name
	class class
	place valuePlace
	value value
	text  string // the beginning of the value
}

// value is where a value is in the text.
type value struct {
	start, end int
	quoted     bool
	block      bool // of several lines
}

func (c *claim) set(v value) {
	c.value, c.text = v, first(c.s[v.start:v.end], maxJudge)
}

func (c *claim) mask() {
	c.set(c.valueAt(c.place))
	before := char(c.s, c.start-1)
	switch {
	case c.text == "":
		return
	case c.place.link == linkAssign && quotes[before] && c.s[c.place.at] == before && !c.place.named:
		return // "PASSWORD=" + x
	case (c.name == "PWD" || c.name == "OLDPWD") && !hasSign(c.text), // a directory
		c.place.colon && strings.TrimLeft(c.name, "- ") == "PASS" && !isSpiked(c.text): // a test
		return
	}
	if v := c.value; !v.quoted {
		if c.class == phrase {
			_, v.end = c.line(v.start)
		}
		c.set(c.otherwise(v))
	}
	if c.budget -= len(c.text); c.budget < 0 {
		c.add(c.value.start, c.value.end, "secret")
		c.looked(max(c.done[c.kind], c.value.end))
		return
	}
	if !c.value.quoted && c.place.link == linkProse && !strings.Contains(c.text, "://") {
		if text := strings.TrimRight(c.text, ".:!?*_"); len(text) < len(c.text) {
			c.text, c.value.end = text, c.value.start+len(text)
		}
	}
	rule := c.rule()
	switch {
	case rule == "":
		return
	case rule != "password" && (before == '?' || before == '&'):
		rule = "url-parameter"
	case strings.EqualFold(c.name, "AccountKey") || strings.EqualFold(c.name, "SharedAccessKey"):
		rule = "azure-key"
	}
	c.add(c.value.start, c.end(), rule)
	c.arrow()
}

// otherwise returns the value in quotes that is there in case another has none:
// process.env.X || "y".
func (c *claim) otherwise(v value) value {
	i := blanks.skip(c.s, v.end)
	for _, op := range [...]string{"||", "??", "or ", ":-"} {
		if strings.HasPrefix(c.s[i:], op) {
			if i = blanks.skip(c.s, i+len(op)); quotes[char(c.s, i)] {
				return c.valueAt(valuePlace{at: i})
			}
			break
		}
	}
	return v
}

// end returns the end of the value, which may be longer than what was judged.
func (c *claim) end() int {
	start, end := c.value.start, c.value.end
	if c.value.quoted {
		return end
	}
	if c.class != password && len(c.text) >= 20 {
		end = c.continued(end)
	}
	if end-start >= maxJudge { // the word continues
		if end = c.bareEnd(start, c.place, maxValue); end-start >= maxValue {
			end = wordEnds.until(c.s, end)
		}
		c.looked(max(c.done[c.kind], end))
	}
	return end
}

// arrow masks the new value after an old one: password: "x" -> "y".
func (c *claim) arrow() {
	if !c.value.quoted || c.class < token {
		return
	}
	i := blanks.skip(c.s, c.value.end+1)
	if rest := c.s[min(i, len(c.s)):]; strings.HasPrefix(rest, "->") || strings.HasPrefix(rest, "=>") {
		if i = blanks.skip(c.s, i+2); quotes[char(c.s, i)] {
			c.wordPart(i, "password")
		}
	}
}

func (c *claim) valueAt(p valuePlace) value {
	s := c.s
	i := p.at
	if char(s, i) == '!' { // a type of YAML
		if n := strings.IndexAny(first(s[i:], 24), " \n"); n > 0 {
			i = blanks.skip(s, i+n)
		}
	}
	// Prefixes of strings.
	for n := 0; n < 2 && oneOf(char(s, i), "bBrRfFuULNE@$") && (quotes[char(s, i+1)] || n == 0 && quotes[char(s, i+2)] && alnums[s[i+1]]); n++ {
		i++
	}
	quote := backslash.skip(first(s, i+8), i)
	switch {
	case p.link == linkMember && (char(s, i-1) == '>' || strings.HasSuffix(s[:i], cdata)):
		return c.markup(i)
	case p.link == linkAssign && (char(s, i) == '|' || char(s, i) == '>'):
		if v := c.block(i); v.start > 0 {
			return v
		}
	case quotes[char(s, quote)]:
		return c.quotedValue(quote, quote-i, p)
	}
	return value{start: i, end: c.bareEnd(i, p, maxJudge)}
}

// markup returns the text of an element that begins here.
func (c *claim) markup(i int) value {
	s := c.window(i, maxValue)
	end := untilAny(s, i, "<")
	if end == len(s) {
		end = breaks.until(s, i)
	}
	if n := strings.Index(s[i:end], "]]>"); n >= 0 {
		end = i + n
	}
	return value{start: i, end: spaces.back(s, end, i), quoted: true}
}

// quotedValue returns the value that begins with a quote that is escaped by a number of
// backslashes.
func (c *claim) quotedValue(quote, slashes int, p valuePlace) value {
	mark, from := c.s[quote], quote+1
	if rest := c.s[quote:]; strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, `'''`) {
		from += 2
	} else if char(c.s, from) == mark && isAlnum(char(c.s, from+1)) { // ""x"" of CSV
		from++
	}
	s := c.window(from, maxValue)
	for i := from; i < len(s); i++ {
		if s[i] == mark { // escaped as the opening one is
			end := backslash.back(s, i, from)
			if n := i - end; n <= slashes || slashes == 0 && n%2 == 0 {
				return value{start: from, end: end, quoted: true}
			}
		} else if s[i] == '\n' && mark != '`' && i > from && p.link != linkMember {
			break // no string of most languages goes over a line
		}
	}
	return value{start: from, end: c.bareEnd(from, p, maxJudge)}
}

// valueEnds end a value without quotes.
var valueEnds = setOf(" \t\n\v\"'`,;)]}<>")

// bareEnd returns the end of a value without quotes, up to a length.
func (c *claim) bareEnd(i int, p valuePlace, longest int) int {
	stop := &valueEnds
	if c.assigned(p) {
		if stop = &wordEnds; quotes[char(c.s, i-1)] {
			stop = &breaks
		}
	}
	s := c.window(i, longest)
	for i < len(s) && !stop[s[i]] && (s[i] != '&' || !parameterName().MatchString(first(s[i+1:], 39))) {
		i++
	}
	return i
}

// parameterName matches where a parameter of a URL begins.
var parameterName = pattern(`\A[0-9A-Za-z_\-.$]+(?:=|\z)`)

// assigned reports whether the name begins its line, as in a .env file and the output of
// env. Such a value ends at the next white space.
func (c *claim) assigned(p valuePlace) bool {
	if p.link != linkAssign || p.spaced || p.colon || p.named || strings.ContainsAny(c.name, letters[:26]) {
		return false
	}
	before := c.s[max(0, c.start-24):c.start]
	switch strings.TrimLeft(before[breaks.after(before, len(before), 0):], " \t-+>") {
	case "", "export ", "declare -x ", "ENV ", "e ", "set ":
		return true
	}
	return false
}

// block returns the value of YAML that follows as indented lines.
func (c *claim) block(i int) (v value) {
	s := c.s
	i = skipAny(first(s, i+4), i+1, "-+"+digits)
	if !breaks[char(s, i)] {
		return v
	}
	from, _ := c.line(c.start)
	indent := blanks.skip(s, from) - from
	for at := i + 1; at < min(len(s), i+maxValue); {
		end := breaks.until(s, at)
		if text := blanks.skip(s[:end], at); text < end {
			if text-at <= indent {
				break
			}
			if v.start == 0 {
				v = value{start: text, quoted: true, block: true}
			}
			v.end = end
		}
		at = end + 1
	}
	return v
}
