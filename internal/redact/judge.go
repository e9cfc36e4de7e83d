package redact

import (
	"slices"
	"strings"
)

// Whether the value of a name is a secret depends on what the name promises, on how
// the value follows it, and on the value.

// rule returns the rule by which the value is a secret, or "".
func (c *claim) rule() string {
	text, link := c.text, c.place.link
	if isPlaceholder(text) || strings.EqualFold(text, c.name) || strings.EqualFold(text, lastSegment(c.name)) || !c.value.quoted && isCode(c.s, c.value.start, c.value.end) {
		return ""
	}
	before := char(c.s, c.start-1)
	if char(c.s, c.value.start-1) == '`' && isVariable(c.name) && strings.Contains(text, " ") { // what a command prints
		return ""
	}
	linked := link != linkProse && link != linkSpace
	switch c.class {
	case pass:
		if hasSign(text) && (c.isFlag() || link != linkList && link != linkSpace) {
			return c.passwordRule()
		}
	case password:
		return c.passwordRule()
	case phrase:
		if words := len(strings.Fields(text)); words >= 12 && words <= 25 && !strings.ContainsAny(text, ".,;:()") {
			return "secret"
		}
		if linked && len(text) >= 24 && isRandom(text) && !isHash(text) && !isPath(text) {
			return "secret"
		}
	case token:
		return c.tokenRule()
	case key:
		switch {
		case c.isHeader():
			return c.tokenRule()
		case (before == '?' || before == '&') && len(text) >= 24 && isRandom(text):
			return "url-parameter"
		case linked && len(text) >= 20 && isRandom(text) && !isHash(text) && !isPath(text):
			return "secret"
		}
	case service:
		if linked && len(text) >= 14 && isGenerated(text) {
			return "secret"
		}
	}
	return ""
}

func (c *claim) isFlag() bool { return strings.HasPrefix(c.name, "-") }

// isHeader reports whether the name is that of a header in an option of a command.
func (c *claim) isHeader() bool {
	before := strings.TrimRight(c.s[max(0, c.start-12):c.start], "\"'= ")
	return strings.HasSuffix(before, " -H") || strings.HasSuffix(before, "--header")
}

// isSet reports whether the value is assigned as in a shell: NAME=value.
func (c *claim) isSet() bool { return !c.place.spaced && !c.place.colon }

// tokenRule is rule for a name that promises a token or a key.
func (c *claim) tokenRule() string {
	text, link := c.text, c.place.link
	n := len(text)
	if link == linkAssign && c.isSet() && isVariable(c.name) && n >= 8 && !isPath(text) {
		return "variable"
	}
	switch {
	case link == linkSpace && !c.isFlag() && !c.settles() && !(n >= 16 && isRandom(text)),
		link == linkProse && n < 12,
		link == linkList && (n < 12 || n < 16 && c.place.named) && !c.isFlag(),
		c.value.block && strings.Contains(text, " "):
		return ""
	case c.value.quoted && n >= 8 && link != linkList && hasSign(text) && len(c.name) > len("secret") && hasSuffixFold(c.name, "secret") && !strings.ContainsAny(text, " /:"):
		return "secret" // often words that a person chose
	case (n >= 12 || n >= 8 && hasStrongSign(text)) && isRandom(text) && !isPath(text), n >= 6 && c.value.quoted && isSpiked(text), n >= 14 && (isGenerated(text) || isMixed(text)) && ofService(c.name):
		return "secret"
	}
	return ""
}

// settles reports whether the word before the name sets it.
func (c *claim) settles() bool {
	end := trimRight(c.s, c.start, " ")
	if end == c.start {
		return false
	}
	from := max(0, end-12)
	from += strings.LastIndexAny(c.s[from:end], " \t\n\v\"'`") + 1
	return lists.Settlers.has(strings.ToLower(c.s[from:end]))
}

var variableChars = setOf(letters[26:] + digits + "_")

func isVariable(name string) bool { return name != "" && variableChars.skip(name, 0) == len(name) }

// passwordRule is rule for a name that promises a password.
func (c *claim) passwordRule() string {
	var is bool
	switch link := c.place.link; {
	case isPath(c.text), link == linkProse: // see sentence
	case link == linkList:
		is = c.isFlag() || c.setter() || hasSign(c.text) && !isWordy(c.text) && char(c.s, c.start-1) != '/'
	case link == linkCell:
		is = hasSign(c.text) && !strings.Contains(c.text, " ")
	case link == linkSpace:
		is = c.isPasswordAfterSpace()
	default:
		is = c.value.block || c.isPasswordAssigned()
	}
	if is {
		return "password"
	}
	return ""
}

func (c *claim) isPasswordAfterSpace() bool {
	text := c.text
	switch {
	case c.isFlag() && text[0] != '-', c.value.quoted && isUpper(c.name[0]): // PASSWORD 'x' of SQL
		return true
	case lists.Directives.has(strings.ToLower(c.name)):
		return true
	case len(text) >= 6 && isSpiked(text):
		return true
	case c.settles() && isVariable(c.name) && strings.Contains(c.name, "_"):
		return true
	case !hasSign(text):
		return false
	}
	return c.value.quoted && !strings.Contains(text, " ") || c.settles() || c.firstOnLine() && c.lastOnLine(c.value.end)
}

func (c *claim) isPasswordAssigned() bool {
	text := c.text
	if isSentence(text) && !(isVariable(c.name) && c.isSet()) || strings.HasPrefix(text, "required|") {
		return false
	}
	if c.value.quoted || len(text) < 3 || c.isSet() {
		return c.value.quoted || len(text) >= 3
	}
	// A value that does not end its line is usually part of a sentence or of code.
	if !c.lastOnLine(skipAny(c.window(c.value.end, maxGap), c.value.end, " \t,")) {
		return c.place.colon && c.firstOnLine() && c.wholeLine() || hasSign(text) && len(text) >= 6 && (c.place.colon || c.firstOnLine())
	}
	return c.place.colon || hasSign(text) || !strings.Contains(text, "_") && (isVariable(c.name) && c.firstOnLine() || c.settings())
}

// wholeLine extends a value of several words to the end of its line, if that is no
// sentence or code.
func (c *claim) wholeLine() bool {
	_, end := c.line(c.value.start)
	text := strings.TrimSpace(c.s[c.value.start:end])
	if len(text) < 4 || len(text) > maxGap || isSentence(text) || isPlaceholder(text) || strings.ContainsAny(text, "\"'(") || oneOf(text[len(text)-1], ",;{") {
		return false
	}
	c.value.end = c.value.start + len(text)
	return true
}

// setter reports whether the name is the argument of such a function.
func (c *claim) setter() bool {
	before, called := strings.CutSuffix(strings.TrimRight(c.s[max(0, c.start-40):c.start], "\\\"'` "), "(")
	return called && slices.ContainsFunc(lists.Setters.words, func(w string) bool { return hasSuffixFold(before, w) })
}

func (c *claim) firstOnLine() bool {
	i := len(strings.TrimRight(c.s[:c.start], " \t-\"'#/.>*|+"))
	if i == 0 || breaks[c.s[i-1]] {
		return true
	}
	// Enter passphrase: x
	from, _ := c.line(i)
	return c.start-from < 16 && lists.Prompts.has(strings.ToLower(strings.TrimSpace(c.s[from:c.start])))
}

func (c *claim) lastOnLine(end int) bool {
	i := blanks.skip(c.s, end)
	return i == len(c.s) || breaks[c.s[i]]
}

// settings reports whether the line is among settings (name = value): the line before
// or after it has that form too, or is the name of a section.
func (c *claim) settings() bool {
	start, end := c.line(c.start)
	before := first(c.s, max(0, start-1))
	before = before[max(0, len(before)-maxGap):]
	after := c.window(end+1, maxGap)
	after, _, _ = strings.Cut(after[min(len(after), end+1):], "\n")
	return setting().MatchString(before[strings.LastIndexByte(before, '\n')+1:]) || setting().MatchString(after)
}

// setting is the name of a section, or a name with its value.
var setting = pattern(`\A\s*(?:\[.+\]|[^\s()"'=]+\s*=\s*[^ ()"';,{]+?)\s*\z`)
