package redact

import (
	"slices"
	"strings"
)

// isPath reports whether a value is a path, such as the value of PWD or the name
// of a password file.
func isPath(v string) bool {
	rest := strings.TrimLeft(v, "~.")
	if strings.HasPrefix(rest, "/") && len(v)-len(rest) <= 2 && !strings.ContainsAny(v, "!@#$%^&*") {
		// Base64 may begin with a slash; it has no words between its slashes.
		return !isRandom(strings.ReplaceAll(v, "/", "")) || strings.Count(v, "/") > 3 || strings.Contains(v, ".")
	}
	return len(v) > 2 && v[1] == ':' && (v[2] == '\\' || v[2] == '/') || strings.HasPrefix(v, "file:")
}

func isSentence(v string) bool {
	words := strings.Fields(v)
	return len(words) > 1 && slices.ContainsFunc(words, func(w string) bool {
		return lists.SentenceWords.has(strings.ToLower(strings.Trim(w, ".,:;!?()")))
	})
}

// hasSign reports whether a word has letters and also a digit or a symbol, which
// words of a sentence do not have.
func hasSign(v string) bool {
	v = strings.TrimRight(v, ".!?)")
	return strings.ContainsAny(v, "0123456789!@#$%^&*+=") && strings.ContainsFunc(v, func(r rune) bool { return r|0x20 >= 'a' && r|0x20 <= 'z' })
}

// hasStrongSign reports whether a word has letters and a digit among or before them,
// or a symbol that names lack.
func hasStrongSign(v string) bool {
	return hasSign(v) && (strings.ContainsAny(v, "!@#$%^&*+") || hasSign(strings.TrimRight(v, digits)))
}

// isSpiked reports whether a word was made hard to guess by hand: letters, digits,
// and symbols or both cases.
func isSpiked(v string) bool {
	t := count(v)
	return !strings.ContainsAny(v, " /\\") && t.digit > 0 && t.upper+t.lower > 0 && (strings.ContainsAny(v, "!@#$%^&*+") || t.upper > 0 && t.lower > 0 && t.other == 0 && !isCamel(v))
}

// isCamel reports whether a word is a name such as apiKey2.
func isCamel(v string) bool {
	v = strings.TrimRight(v, digits)
	return strings.Trim(v, letters) == ""
}

// tally counts the kinds of characters of a word.
type tally struct {
	upper, lower, digit, other int
	changes                    int // from one kind to another
}

func count(v string) (t tally) {
	var last *int
	for i := range len(v) {
		n := &t.other
		switch c := v[i]; {
		case isUpper(c):
			n = &t.upper
		case isLower(c):
			n = &t.lower
		case isDigit(c):
			n = &t.digit
		}
		if *n++; n != last && (last != nil || n != &t.other) {
			t.changes++
		}
		last = n
	}
	return t
}

// isPlaceholder reports whether a value only represents a secret: a variable, a
// type, an expression, stars.
func isPlaceholder(v string) bool {
	head := v[:min(len(v), 64)]
	lower := strings.ToLower(strings.TrimRight(head, ".,;:!?"))
	last := lower[strings.LastIndexByte(lower, '.')+1:] // args.password
	switch {
	case lower == "" || lists.Placeholders.has(lower) || (lists.Placeholders.has(last) || last != lower && lists.Placeholders.has(strings.TrimRight(last, digits))) && isName(lower), isExpression(v):
		return true
	case strings.Trim(lower, "*x.-_…•#?") == "" && len(v) < 64, len(v) >= 6 && strings.Trim(v, v[:1]) == "": // ********, xxxx, 000000
		return true
	case strings.HasPrefix(lower, "your") && !hasSign(v) || strings.HasPrefix(lower, "my-") && !hasSign(v) || strings.HasPrefix(lower, "example"):
		return true
	case strings.Contains(lower, "redacted") || strings.Contains(lower, "placeholder") || strings.Contains(lower, "your_") || strings.Contains(lower, "your-"):
		return true
	}
	return slices.ContainsFunc(lists.References.words, func(r string) bool { return strings.HasPrefix(lower, r) })
}

// isExpression reports whether a value is a variable of a shell or template, or
// another expression.
func isExpression(v string) bool {
	switch c := v[0]; {
	case c == '{' && len(v) > 20 && v[len(v)-1] == '}' && isRandom(v[1:len(v)-1]): // of Maven
		return false
	case c == '<' || c == '{' || c == '[' || c == '&' || c == '@' && isName(v[1:]) || strings.HasPrefix(v, "//"):
		return true
	case c == '$':
		return len(v) == 1 || nameChars[v[1]] && isName(strings.TrimRight(v[1:], "[")) || strings.IndexByte("{(*@", v[1]) >= 0
	case c == '%':
		return strings.Count(v, "%") > 1 || len(v) <= 3
	}
	if !strings.ContainsAny(v, "${[%(…") {
		return false
	}
	if n := strings.IndexByte(v, '('); n >= 0 && (strings.Contains(v, "()") || n == len(v)-1 || isName(v[:n])) {
		return true
	}
	return strings.Contains(v, "${") || strings.Contains(v, "{{") || Masked(v) || strings.Contains(v, "%s") && len(v) < 24 || strings.Contains(v, "…") && len(v) < 12
}

var nameSigns = setOf(alnum + "_.->:")

// isName reports whether a value is a name or an expression of names and dots.
func isName(v string) bool { return v != "" && nameSigns.skip(v, 0) == len(v) }

// isCode reports whether a value without quotes is an expression of a program.
func isCode(s string, start, end int) bool {
	v := s[start:end]
	if end < len(s) && (s[end] == '(' || s[end] == '[' || s[end] == '{' || s[end] == '<' && end > start && isAlnum(s[end-1])) {
		return true
	}
	if n := strings.IndexAny(v, "([{"); n > 0 && isName(v[:n]) && (v[n] != '{' || n == len(v)-1 || strings.IndexByte(v[n:], ':') > 0) {
		return true
	}
	if v != "" && (v[0] == '(' || v[0] == '*' && isName(v[1:])) { // *pem.Block
		return true
	}
	if strings.Trim(v, alnum+"_") == "" && hasHump(v) && classify(v) > key { // testRSA2048PrivateKey
		return true
	}
	if v == "" || isDigit(v[0]) || strings.ContainsAny(v, "0123456789!@#$%^*+=/~") {
		return false
	}
	if dot := strings.IndexByte(v, '.'); dot > 0 && dot < len(v)-1 && isName(v) && v[len(v)-1] != '-' || strings.Contains(v, "->") || strings.Contains(v, "::") || strings.Contains(v, "?.") {
		return true
	}
	// user_password, newToken, of lower case: the name of another variable
	if isName(v) && isLower(v[0]) && len(lastSegment(v)) < len(v) || isName(v) && !isUpper(v[0]) && hasHump(v) {
		return classify(v) != noSecret
	}
	return false
}

// hasHump reports whether a name is in camel case.
func hasHump(v string) bool {
	for i := 1; i < len(v); i++ {
		if isUpper(v[i]) && isLower(v[i-1]) {
			return true
		}
	}
	return false
}

// isRandom reports whether a value looks generated: letters and digits mixed, and
// not a path, a version, or a name made of words.
func isRandom(v string) bool {
	t := count(v)
	switch {
	case t.upper+t.lower == 0 || strings.ContainsAny(v, " \n"):
		return false
	case t.digit == 0: // base64 without a digit is rare
		return len(v) >= 20 && isMixed(v)
	case isHex(v):
		return len(v) >= 16
	}
	return t.changes*6 >= len(v) && !isWordy(v)
}

// isMixed reports whether upper and lower case alternate as in no name.
func isMixed(v string) bool {
	t := count(v)
	return t.upper > 0 && t.lower > 0 && t.changes*5 >= len(v)*2 && !isWordy(v)
}

// isDense reports whether a value is hexadecimal, or has as many digits and changes between
// kinds of characters as only generated values have.
func isDense(v string) bool {
	t := count(v)
	return isHex(v[2:]) || t.changes*2 >= len(v) || t.changes*3 >= len(v) && t.digit >= 4
}

// isWordy reports whether a value consists of words, numbers and versions with
// separators between: my-service-v2, build.2024.1.
func isWordy(v string) bool {
	words, others := 0, 0
	for _, w := range strings.FieldsFunc(v, func(r rune) bool { return strings.ContainsRune("-_./:@+=,~", r) }) {
		t := count(w)
		switch n := len(w); {
		case t.digit == n && n <= 4, t.lower == n && n <= 14, t.upper == n && n <= 10,
			t.lower+t.digit == n && t.digit <= 3 && t.lower > 0 && t.lower <= 12 && len(strings.TrimRight(w, digits)) == t.lower, // v2
			t.digit == 0 && t.upper == 1 && isUpper(w[0]) && t.lower > 2,
			t.digit == 0 && t.lower > 0 && t.upper*4 <= n: // camel case
			words += n
		default:
			others += n
		}
	}
	return strings.ContainsAny(v, "-_./:@") && others*4 < words
}

func isHex(v string) bool { return strings.Trim(v, "0123456789abcdefABCDEF") == "" }

// isHash reports whether a value may be a hash or an id: hexadecimal, with the
// hyphens of a UUID or not.
func isHash(v string) bool {
	_, after, ok := strings.Cut(v, ":")
	if ok && len(after) >= 32 {
		v = after
	}
	if i := strings.IndexByte(v, '-'); i >= 3 && i <= 6 && strings.HasPrefix(v, "sha") {
		return true // the integrity of a package
	}
	return isHex(strings.ReplaceAll(v, "-", ""))
}

// isGenerated reports whether a value has nothing but letters and digits that look
// generated, and the few signs that keys have.
func isGenerated(v string) bool {
	if strings.Trim(v, alnum+"_-=.:|%~+/") != "" || strings.Contains(v, "/") && (strings.ContainsAny(v, ".:") || isPath(v)) || strings.HasPrefix(v, "sha") {
		return false
	}
	t := count(v)
	if t.digit == len(v) {
		return len(v) == 16 || len(v) == 18
	}
	return isRandom(v) || !isWordy(v) && (t.digit*6 >= len(v) && t.upper+t.lower > 0 || len(v) >= 30 && t.digit > 0)
}
