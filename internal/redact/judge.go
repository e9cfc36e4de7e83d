package redact

import (
	"slices"
	"strings"
)

// verdicts decides whether the value of a name is a secret. That depends on the class of the
// name, on the link between name and value, and on the value. The first row for the class and
// the link whose test the value passes names the rule. A value without such a row is not a
// secret. Sentences ("the password is x") have a form of their own, which is called sentence.
var verdicts = []verdict{
	{password, linkAssign, "password", (*claim).isPasswordAssigned, `DB_PASSWORD=«hunter2»`},
	{password, linkMember, "password", (*claim).isPasswordAssigned, `<password>«hunter2»</password>`},
	{password, linkList, "password", (*claim).isPasswordListed, `["--password", "«hunter2»"]`},
	{password, linkSpace, "password", (*claim).isPasswordAfterSpace, `requirepass «hunter2»`},
	{password, linkCell, "password", (*claim).isPasswordInCell, "name,password⏎bob,«hunter2»"},

	{pass, linkAssign, "password", (*claim).isPassAssigned, `pass: «hunter2»`},
	{pass, linkMember, "password", (*claim).isPassAssigned, `{"name": "pass", "value": "«hunter2»"}`},
	{pass, linkList, "password", (*claim).isPassOfFlag, `["--pass", "«hunter2»"]`},
	{pass, linkSpace, "password", (*claim).isPassOfFlag, `--pass «hunter2»`},
	{pass, linkCell, "password", (*claim).isPasswordInCell, "name,pass⏎bob,«hunter2»"},

	{token, linkAssign, "variable", (*claim).isOfVariable, `API_TOKEN=«abcdefgh12»`},
	{token, linkAssign, "secret", (*claim).isToken, `"token": "«<A24>»"`},
	{token, linkMember, "secret", (*claim).isToken, `{"name": "token", "value": "«<A24>»"}`},
	{token, linkCell, "secret", (*claim).isToken, "name,token⏎bob,«<A24>»"},
	{token, linkList, "secret", (*claim).isTokenListed, `["--token", "«<A24>»"]`},
	{token, linkSpace, "secret", (*claim).isTokenAfterSpace, `--token «<A24>»`},
	{token, linkProse, "secret", (*claim).isTokenTold, `the token is «<A24>»`},

	{key, linkAssign, "secret", (*claim).isKey, `"key": "«<A24>»"`},
	{key, linkMember, "secret", (*claim).isKey, `{"name": "key", "value": "«<A24>»"}`},
	{key, linkCell, "secret", (*claim).isKey, "name,key⏎bob,«<A24>»"},
	{key, linkList, "secret", (*claim).isKey, `["key", "«<A24>»"]`},

	{service, linkAssign, "secret", (*claim).isKeyOfService, `heroku = "«<A24>»"`},
	{service, linkMember, "secret", (*claim).isKeyOfService, `{"name": "heroku", "value": "«<A24>»"}`},
	{service, linkCell, "secret", (*claim).isKeyOfService, "name,heroku⏎bob,«<A24>»"},
	{service, linkList, "secret", (*claim).isKeyOfService, `["heroku", "«<A24>»"]`},

	{phrase, linkAssign, "secret", (*claim).isPhrase, `mnemonic="«a b c d e f g h i j k l»"`},
	{phrase, linkMember, "secret", (*claim).isPhrase, `<mnemonic>«a b c d e f g h i j k l»</mnemonic>`},
	{phrase, linkList, "secret", (*claim).isPhrase, `["mnemonic", "«a b c d e f g h i j k l»"]`},
	{phrase, linkSpace, "secret", (*claim).isWords, `mnemonic "«a b c d e f g h i j k l»"`},
	{phrase, linkCell, "secret", (*claim).isPhrase, "name,mnemonic⏎bob,«a b c d e f g h i j k l»"},
	{phrase, linkProse, "secret", (*claim).isWords, `the mnemonic is "«a b c d e f g h i j k l»"`},
}

// verdict is a row of the table.
type verdict struct {
	class  class
	link   link
	rule   string
	test   func(*claim) bool
	sample string // with its secret in «»; it is a test
}

// rule returns the rule by which the value is a secret, or "".
func (c *claim) rule() string {
	if c.isNone() {
		return ""
	}
	for i := range verdicts {
		if v := &verdicts[i]; v.class == c.class && v.link == c.place.link && v.test(c) {
			return v.rule
		}
	}
	if c.class == key && c.isHeader() && c.isToken() {
		return "secret" // -H 'key: x', whatever is between
	}
	return ""
}

// isNone reports whether the value cannot be a secret, whatever its name promises.
func (c *claim) isNone() bool {
	switch text := c.text; {
	case text == "~", isPlaceholder(text), strings.EqualFold(text, c.name), strings.EqualFold(text, lastSegment(c.name)):
		return true
	case char(c.s, c.value.start-1) == '`' && isVariable(c.name) && strings.Contains(text, " "): // what a command prints
		return true
	}
	return !c.value.quoted && isCode(c.s, c.value.start, c.value.end)
}

func (c *claim) isPassAssigned() bool { return hasSign(c.text) && c.isPasswordAssigned() }

func (c *claim) isPassOfFlag() bool {
	return hasSign(c.text) && c.isFlag() && (c.place.link == linkList || c.isPasswordAfterSpace())
}

// isPhrase reports whether the value is a list of words, or the seed that these stand for.
func (c *claim) isPhrase() bool {
	return c.isWords() || len(c.text) >= 24 && isRandom(c.text) && !isHash(c.text) && !isPath(c.text)
}

func (c *claim) isWords() bool {
	words := len(strings.Fields(c.text))
	return words >= 12 && words <= 25 && !strings.ContainsAny(c.text, ".,;:()")
}

// isKey reports whether the value is generated and not a hash or an id.
func (c *claim) isKey() bool {
	text, before := c.text, char(c.s, c.start-1)
	switch {
	case c.isHeader():
		return c.isToken()
	case (before == '?' || before == '&') && len(text) >= 24 && isRandom(text):
		return true
	}
	return len(text) >= 20 && isRandom(text) && !isHash(text) && !isPath(text)
}

func (c *claim) isKeyOfService() bool { return len(c.text) >= 14 && isGenerated(c.text) }

func (c *claim) isFlag() bool { return strings.HasPrefix(c.name, "-") }

// isHeader reports whether the name is that of a header in an option of a command.
func (c *claim) isHeader() bool {
	before := strings.TrimRight(c.s[max(0, c.start-12):c.start], "\"'= ")
	return strings.HasSuffix(before, " -H") || strings.HasSuffix(before, "--header")
}

// isSet reports whether the value is assigned as in a shell: NAME=value.
func (c *claim) isSet() bool { return !c.place.spaced && !c.place.colon }

// isOfVariable reports whether the value is assigned to a variable of the shell.
func (c *claim) isOfVariable() bool {
	return c.isSet() && isVariable(c.name) && len(c.text) >= 8 && !isPath(c.text)
}

// isToken reports whether the value looks generated, or as a person would write a secret.
func (c *claim) isToken() bool {
	text := c.text
	n := len(text)
	switch {
	case c.value.block && strings.Contains(text, " "):
		return false
	case c.value.quoted && n >= 8 && hasSign(text) && c.isNamedSecret() && !strings.ContainsAny(text, "/:") && !isSentence(text):
		return true // often words that a person chose
	case n >= 6 && c.value.quoted && isSpiked(text):
		return true
	case (n >= 12 || n >= 8 && hasStrongSign(text)) && isRandom(text):
		return !isPath(text)
	}
	return n >= 14 && (isGenerated(text) || isMixed(text)) && ofService(c.name)
}

// isNamedSecret reports whether the name has another word before its last one, which is secret.
func (c *claim) isNamedSecret() bool {
	return c.place.link != linkList && len(c.name) > len("secret") && hasSuffixFold(c.name, "secret")
}

func (c *claim) isTokenListed() bool {
	n := len(c.text)
	return (c.isFlag() || n >= 16 || n >= 12 && !c.place.named) && c.isToken()
}

func (c *claim) isTokenAfterSpace() bool {
	return (c.isFlag() || c.settles() || len(c.text) >= 16 && isRandom(c.text)) && c.isToken()
}

func (c *claim) isTokenTold() bool { return len(c.text) >= 12 && c.isToken() }

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

func (c *claim) isPasswordListed() bool {
	switch {
	case isPath(c.text):
		return false
	case c.isFlag(), c.setter():
		return true
	}
	return hasSign(c.text) && !isWordy(c.text) && char(c.s, c.start-1) != '/'
}

func (c *claim) isPasswordInCell() bool {
	return hasSign(c.text) && !strings.Contains(c.text, " ") && !isPath(c.text)
}

func (c *claim) isPasswordAfterSpace() bool {
	text := c.text
	switch {
	case isPath(text):
		return false
	case c.isFlag() && text[0] != '-', c.value.quoted && isUpper(c.name[0]): // PASSWORD 'x' of SQL
		return true
	case c.value.quoted && char(c.s, c.start-1) == ':' && oneOf(char(c.s, c.start-2), " {(\n\x00"): // :password "x" of Lisp
		return !isSentence(text)
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
	switch {
	case isPath(text):
		return false
	case c.value.block:
		return true
	}
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
