package redact

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Forms that secrets have besides tokens and the values of names. Each function looks
// at a window after the word that announces the form.

// window returns the text up to n bytes after a position.
func (f *finder) window(at, n int) string { return first(f.s, at+n) }

// part adds a value unless it is a placeholder.
func (f *finder) part(start, end int, rule string) {
	if start < end && !isPlaceholder(first(f.s[start:end], maxJudge)) {
		f.add(start, end, rule)
	}
}

func (f *finder) wordPart(i int, rule string) {
	start, end := f.word(i)
	f.part(start, end, rule)
}

// word returns the end of the value at i: of a quoted one, or of the word.
func (f *finder) word(i int) (start, end int) {
	start = backslash.skip(f.s, i)
	slashes := start - i
	s := f.window(start, maxValue)
	if !quotes[char(s, start)] {
		return start, wordEnds.until(s, start)
	}
	for end = start + 1; end < len(s) && s[end] != s[start] && s[end] != '\n'; end++ {
	}
	return start + 1, end - min(slashes, max(0, end-start-1))
}

const loginByte = `[^ \t\n\v"'<>\x60:/(){}=]`

// stores are commands that read a secret to keep it.
const stores = `(?:secrets?<b>+(?:put|create|set|add|versions<b>+add)|store-secret|env<b>+add|secrets:set|secret:put)`

// parts are what patterns name.
var parts = sync.OnceValue(func() *strings.Replacer {
	oneOf := func(l list) string {
		quoted := regexp.QuoteMeta(strings.Join(l.words, " "))
		return "(?:" + strings.ReplaceAll(quoted, " ", "|") + ")"
	}
	return strings.NewReplacer(
		"<w>", `[^ \t\n\v"'<>\x60]`, // of a word
		"<a>", `[^ \t\n\v|;<>&]`, // of an argument
		"<s>", `[ \t\n\v]`,
		"<b>", `[ \t]`,
		"<name>", `[0-9A-Za-z][\w$\[\]<>?|.]*`,
		"<string>", `(?:"[^"\n]*"|'[^'\n]*'|\x60[^\x60\n]*\x60)[\\"'\x60]*`,
		"<q>", `["'\x60]`,
		"<to>", `["'\\]*(?:[ \t]*[:=]+>?|[ \t])[ \t]*["'\\]*`, // what joins a name to its value
		// An argument that is a value.
		"<v>", `(?:\\*"([^"\n]*?)\\*"|\\*'([^'\n]*?)\\*'|([^/*"' \t\n\v|;<>&-][^ \t\n\v|;<>&]*?)[\\"'\x60]*(?:[ \t\n\v|;<>&]|\z))`,
		"<l>", loginByte, "<login>", loginByte+`*[^ \t\n\v"'<>\x60:/(){}=\d]`+loginByte+`*`, // of a line of .pgpass
		"<readers>", oneOf(lists.Readers), "<stores>", strings.ReplaceAll(stores, "<b>", `[ \t]`), "<members>", oneOf(lists.JWKPrivate), "<fillers>", oneOf(lists.Fillers),
	)
})

// pattern is a regular expression that is compiled when it is used first.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(parts().Replace(text)) })
}

// form is a row of forms.txt, which says what its parts are.
type form struct {
	rule    string
	test    func(value string) bool
	window  int // how far the pattern is looked for
	words   []string
	pattern func() *regexp.Regexp
	lines   bool     // the pattern is for the text from the start of the line
	apart   bool     // it is for what is anywhere in the window
	needs   []string // one of these must be in the text, or no pattern is tried
	sample  string
}

var forms []form

// formTests are the tests that values of forms must pass besides not being placeholders.
var formTests = map[string]func(value string) bool{
	"any":    func(string) bool { return true },
	"sign":   func(v string) bool { return hasSign(v) && !isSentence(v) && !isPath(v) },
	"strong": func(v string) bool { return hasStrongSign(v) && !isWordy(v) && !isPath(v) },
	"key":    func(v string) bool { return len(v) >= 16 && !strings.HasPrefix(v, "0x") && isRandom(v) },
}

func readForms() {
	written := strings.NewReplacer("␣", " ", "⇥", "\t", "⏎", "\n", "␋", "\v")
	for _, p := range paragraphs(formTable) {
		said := strings.Fields(p.name)
		text, sample, _ := strings.Cut(p.more, "    = ")
		x := form{rule: said[0], test: formTests[said[1]], pattern: pattern(strings.TrimSpace(text)), lines: strings.HasPrefix(text, "    ^"), sample: sample, window: 2 * maxMember}
		for _, more := range said[2:] {
			if n, err := strconv.Atoi(more); err == nil {
				x.window = n
			} else {
				x.needs = strings.Split(written.Replace(more), "|")
			}
		}
		x.apart = !x.lines && !strings.HasPrefix(text, `    \A`)
		for word := range strings.SplitSeq(p.text, "  ") {
			x.words = append(x.words, written.Replace(word))
		}
		forms = append(forms, x)
	}
}

// find masks the values of the form after a word at a position, or in the line around it.
func (x *form) find(f *finder, at int) {
	from, end := at, len(f.window(at, x.window))
	if x.lines || x.apart {
		from, _ = f.line(at)
		from = max(from, at-maxMember)
		f.looked(end)
		if x.lines {
			f.looked(breaks.until(f.s[:end], at))
		}
	}
	if len(x.needs) > 0 && !slices.ContainsFunc(x.needs, func(s string) bool { return strings.Contains(f.s[from:end], s) }) {
		return
	}
	for _, m := range x.pattern().FindAllStringSubmatchIndex(f.s[from:end], -1) {
		for g := 2; g < len(m); g += 2 {
			if start, end := from+m[g], from+m[g+1]; m[g] >= 0 && x.test(first(f.s[start:end], maxJudge)) {
				f.part(start, end, x.rule)
			}
		}
	}
}

// groups masks the groups of the matches of a pattern between two positions.
func (f *finder) groups(re *regexp.Regexp, from, to int, rule string) {
	for _, m := range re.FindAllStringSubmatchIndex(f.s[from:to], -1) {
		for g := 2; g < len(m); g += 2 {
			f.part(from+m[g], from+m[g+1], rule)
		}
	}
}

// Forms of which a function judges what a pattern finds.
var (
	// scheme is the scheme of an authorization with the space after it, or a comma as in WebSocket.
	scheme = pattern(`(?i)\A(?:bearer[ \t\v,:=]|(?:PVEAPIToken|apikey)[ \t\v:=]|[\w-]{2,24}[ \t\v])<b>*`)

	// cookieHeader is the header with its values: Cookie: x=y, cookie = "x=y".
	cookieHeader = pattern(`(?i)\Acookie(?:["'\x60 \t\\]*:["'\x60 \t:\\]*|["'\x60 \t\\]*=<b>*<q>)([^ ()\[\]{},;<>$=\n\v"']+=[^\n\v"']*)`)

	// jwkMember is a private member of a JSON Web Key.
	jwkMember = pattern(`(?:^|[ ,{"'\\\t\n\v])<members>[\\"' ]*:<s>*\\*<q>?([^"'\x60\\ \t\n\v]{8,})`)

	// told is what is before a password in a sentence, up to the verb and what follows it.
	told = pattern(`(?i)\A[a-z0-9]+(?:<b>+[a-z0-9]+){0,5}?<b>+(?:is|was|to)\b:?<b>*(?:<fillers>[ :]<b>*)*`)

	// lastString is the last string among the first arguments of a call, with what is before and after it.
	lastString = pattern(`\A[^(]*\(((?:<s>*(?:<name>|\\*<string>)<s>*,){0,3})<s>*(\\*<string>)<s>*((?:,<s>*(?:<name><s>*)?){0,3})[)}.]`)
)

var urlEnds = setOf(" \t\n\v\"'<>`\\")

// url masks the password of a URL, or a secret in place of the user name. at is its
// colon.
func (f *finder) url(at int) {
	s := f.s
	if c := char(s, at-1); !isAlnum(c) && c != '+' {
		return
	}
	start := at + len("://")
	colon, sign, end := userInfo(f.window(start, maxValue), start)
	f.looked(end)
	switch {
	case sign < 0 || oneOf(char(s, sign+1), "/?# \t\n\"'\x00"):
	case colon >= 0:
		user, pass := s[start:colon], s[colon+1:sign]
		f.part(colon+1, sign, "url-password")
		if len(user) >= 12 && isRandom(user) && (len(user) >= 20 || pass == "" || pass == "api" || strings.EqualFold(pass, "x") || strings.EqualFold(pass, "x-oauth-basic")) {
			f.part(start, colon, "url-parameter")
		}
	case sign-start >= 20 && isRandom(s[start:sign]):
		f.part(start, sign, "url-parameter")
	}
}

// userInfo returns the colon and the @ of the user information of a URL, -1 if it has
// none, and where it or the host ends.
func userInfo(s string, i int) (colon, sign, end int) {
	colon, sign = -1, -1
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case urlEnds[c],
			(c == '/' || c == '?' || c == '#') && (colon < 0 || sign > 0),
			c == '/' && isPort(s[colon+1:i]),
			(c == '[' || c == ']') && colon < 0 && sign < 0:
			return colon, sign, i
		case c == ':' && colon < 0 && sign < 0:
			colon = i
		case c == '@':
			sign = i
		}
	}
	return colon, sign, i
}

func isPort(s string) bool { return len(s) > 0 && len(s) <= 5 && strings.Trim(s, digits) == "" }

// parameter masks the value of a parameter of a URL or form whose name the rules for
// names do not cover. at is the name's last word.
func (f *finder) parameter(at int) {
	s := f.s
	before := char(s, at-1)
	if !oneOf(before, alnum+"_-.$?& ,") {
		return
	}
	start := at + strings.IndexByte(s[at:], '=') + 1
	end := untilAny(f.window(start, maxValue), start, " \t\n\v\"'`<>&#,;)")
	v := first(s[start:end], maxJudge)
	inURL := before == '?' || before == '&' || before == '-' && strings.ContainsAny(s[max(0, at-40):at], "?&")
	long := len(v) >= 40 && isHex(v) // Signature=
	if len(v) >= 8 && !isPlaceholder(v) && (inURL && (isRandom(v) || long || len(v) >= 16 && hasSign(v)) || long && !strings.HasPrefix(s[at:], "code")) {
		f.add(start, end, "url-parameter")
	}
}

// authorization masks the credentials after the name of the header, or after "bearer".
func (f *finder) authorization(at int) {
	s := f.s
	if isAlnum(char(s, at-1)) {
		return
	}
	i, header := at, lower(s[at]) == 'a'
	if header {
		if i = f.headerValue(at + len("authorization")); i < 0 {
			return
		}
	}
	n := len(scheme().FindString(f.window(i, maxGap)[i:]))
	word := strings.TrimRight(s[i:i+n], " \t\v,:=")
	if !header && n == 0 {
		return
	}
	known := header && n > 0
	start := i + n
	window := f.window(start, maxValue)
	switch {
	case known && strings.HasPrefix(word, "AWS4"):
		return // the signature is found by its name
	case known && lists.Parametric.has(strings.ToLower(word)):
		ends := "\n\v`"
		if char(s, at-1) == '\'' {
			ends += "'"
		}
		list := strings.TrimRight(s[start:untilAny(window, start, ends)], " \t\"'\\")
		if strings.Contains(list, "=") {
			f.looked(start + len(list))
			f.part(start, start+len(list), "authorization")
		}
		return
	}
	f.looked(start)
	end := untilAny(window, start, " \t\n\v\"'`<>,;)]}\\")
	v := first(s[start:end], maxJudge)
	if len(v) < 6 || isPlaceholder(v) || isCode(s, start, end) {
		return
	}
	if len(v) >= 8 && (isRandom(v) || known && hasSign(v) && !isWordy(v)) || known && strings.EqualFold(word, "basic") && strings.Contains(decoded([]byte(strings.TrimRight(v, "="))), ":") || len(v) >= 24 && strings.ContainsAny(v, "+/=") && hasSign(v) {
		f.looked(end)
		f.add(start, end, "authorization")
	}
}

// headerValue returns where the value of a header begins whose name ends here, or -1.
func (f *finder) headerValue(at int) int {
	s := f.s
	i := skipAny(f.window(at, 24), at, "\"'` \t:=>,\\]")
	linked := strings.ContainsAny(s[at:i], ":=,>")
	named := strings.HasPrefix(s[i:], "value")
	p := f.valueOfMember(at, valuePlace{at: -1, link: linkMember}) // name: Authorization, value: X
	switch {
	case p.at >= 0 && (!linked || named || p.at > i):
		i, _ = f.word(p.at)
	case linked:
	case named && oneOf(char(s, i+len("value")), "\"':= \\"):
		i = skipAny(s, i+len("value"), "\"':= \\")
	default:
		return -1
	}
	return i
}

// cookie masks the values of a header, one of which must be long enough to mean something.
func (f *finder) cookie(at int) {
	m := cookieHeader().FindStringSubmatchIndex(f.window(at, maxValue)[at:])
	if m == nil {
		return
	}
	f.looked(at + m[1])
	text := strings.TrimRight(f.s[at+m[2]:at+m[3]], " \t\\")
	for pair := range strings.SplitSeq(text, ";") {
		name, v, _ := strings.Cut(pair, "=")
		if strings.EqualFold(strings.TrimSpace(name), "max-age") {
			continue
		}
		if v = strings.TrimSpace(v); len(v) >= 8 && !strings.ContainsAny(v, " ()") && !isPlaceholder(v) {
			f.add(at+m[2], at+m[2]+len(text), "cookie")
			return
		}
	}
}

// pem masks a private key in armour, to its end or that of the text. at is in its
// first line.
func (f *finder) pem(at int) {
	s := f.s
	from := max(0, at-64)
	dashes := from + max(0, strings.LastIndex(s[from:at], "----"))
	head := strings.Index(first(s[at:], 40), "----")
	if begin := skipAny(s, dashes, "- "); begin == dashes || head < 0 || !hasPrefixFold(s[begin:], "begin") || strings.ContainsAny(s[dashes:at], "\n\v") {
		return
	}
	body, end := skipAny(s, at+head, "-"), len(s)
	if n := max(strings.Index(s[body:], "-END "), strings.Index(s[body:], "-end ")); n >= 0 {
		end = body + n + len("-END ")
		end += max(0, strings.Index(first(s[end:], 64), "--"))
		end = skipAny(s, end, "-")
	}
	f.looked(end)
	f.add(backOver(s, dashes, "-"), end, "private-key")
}

// jwk masks the private members of a JSON Web Key. at is its member kty.
func (f *finder) jwk(at int) {
	start := max(0, at-maxValue)
	start = max(f.done[f.kind], start+strings.LastIndexByte(f.s[start:at], '{'))
	end := untilAny(f.window(at, maxValue), at, "}")
	f.looked(end)
	f.groups(jwkMember(), start, end, "private-key")
}

// sentence masks a password in a sentence: the password is X. at is its word for password.
func (f *finder) sentence(at int) {
	if isAlnum(char(f.s, at-1)) {
		return
	}
	f.looked(at + 4)
	m := told().FindStringIndex(f.window(at, maxGap)[at:])
	if m == nil {
		return
	}
	quoted := quotes[char(f.s, at+m[1])]
	start, end := f.word(at + m[1])
	value := f.s[start:end]
	if !quoted {
		value, _, _ = strings.Cut(value, ",")
		value, _, _ = strings.Cut(value, ";")
		value = strings.TrimRight(value, ".!?):*")
	}
	if len(value) >= 4 && len(value) < maxGap && hasSign(value) && !isPlaceholder(value) && !isPath(value) && !(quoted && strings.Contains(value, " ")) {
		f.add(start, start+len(value), "told-password")
	}
}

// call masks the last quoted argument of a call if it looks like a password or token.
func (f *finder) call(at int) {
	s := f.window(at, maxMember)[at:]
	m := lastString().FindStringSubmatchIndex(s)
	if m == nil {
		return
	}
	start, end := f.word(at + m[4])
	value := first(f.s[start:end], maxJudge)
	if len(value) < 6 || isPlaceholder(value) {
		return
	}
	several := m[2] < m[3] || m[6] < m[7]
	afterName := several && len(value) < 64 && hasSign(value) && !isSentence(value) && !strings.ContainsAny(value, "/.@:(") && oneOf(lower(s[0]), "labgp")
	if afterName || !strings.Contains(value, "://") && !strings.Contains(value, " ") && !isPath(value) && (isSpiked(value) || hasStrongSign(value) && !strings.ContainsAny(value, "/.@") || len(value) >= 12 && isRandom(value)) {
		f.add(start, end, "login")
	}
}

// kubernetes masks the data of a Secret.
func (f *finder) kubernetes(at int) {
	start := max(0, at-maxLines)
	start = max(f.done[f.kind], start+strings.LastIndex(f.s[start:at], "\n---"))
	s := f.window(at, maxLines)
	if n := strings.Index(s[at:], "\n---"); n >= 0 {
		s = s[:at+n]
	}
	f.looked(len(s))
	indent := -1 // of data:
	for i := start; i < len(s); {
		end := breaks.until(s, i)
		text := blanks.skip(s[:end], i)
		line := strings.TrimRight(s[text:end], " ")
		colon := strings.IndexByte(line, ':')
		switch {
		case lists.DataMembers.has(strings.Trim(strings.TrimRight(line, " {"), "\"'")):
			indent = text - i
		case indent >= 0 && text-i <= indent && line != "":
			indent = -1
		case indent >= 0 && colon > 0:
			from, to := f.word(blanks.skip(s[:end], text+colon+1))
			if to-from >= 4 && to <= end && s[from] != '|' && s[from] != '{' {
				f.part(from, to, "secret")
			}
		}
		i = end + 1
	}
}
