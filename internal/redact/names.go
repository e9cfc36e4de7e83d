package redact

import (
	"slices"
	"strings"
)

// What a name says about its value.
type class int

const (
	noSecret class = iota
	service        // the name of a service: a secret if it looks generated
	key            // a key of some kind: a secret if it looks generated and is no hash or id
	token          // a token or key: a secret if it looks generated
	pass           // as password, if it has a digit or a symbol: it may be a verdict or a count
	password       // a secret if it is no placeholder, sentence or path
	phrase         // a secret if it is a list of words
)

// lastWords maps the last word of a name to the class of the name.
var lastWords = make(map[string]class)

// classNames are the classes by the names of their lists.
var classNames = map[string]class{"class.password": password, "class.pass": pass, "class.token": token, "class.key": key, "class.phrase": phrase}

var nameSeparators = setOf("_-. :/$[]'")

// maxSegments is how many words at the end of a name are looked at.
const maxSegments = 6

// segments splits the end of a name into words in lower case, the last one first.
func segments(name string, words *[maxSegments + 1]string) (n int) {
	end := len(name)
	for i := len(name) - 1; i >= -1 && n < maxSegments; i-- {
		cut := i < 0 || nameSeparators[name[i]]
		camel := i > 0 && end > i && isUpper(name[i]) && (isLower(name[i-1]) || isDigit(name[i-1]) || isUpper(name[i-1]) && i+1 < end && isLower(name[i+1]))
		if !cut && !camel {
			continue
		}
		from := i
		if cut {
			from = i + 1
		}
		if from < end {
			words[n] = strings.ToLower(name[from:end])
			n++
		}
		end = i
	}
	return n
}

// classify returns the class of a name, which decides how its value is judged.
func classify(name string) class {
	var words [maxSegments + 1]string
	n := segments(name, &words)
	i := 0
	for i < n-1 && (lists.Suffixes.has(words[i]) || isNumber(words[i])) && lastWords[words[i]] == noSecret {
		i++
	}
	last, before := strings.TrimRight(words[i], digits), words[i+1]
	c := lastWords[last]
	switch {
	case c == noSecret && i == 0 && (last == "secretid" || last == "id" && (before == "secret" || before == "key" && (words[2] == "access" || words[2] == "private"))),
		last == "sid" && before == "connect":
		return token
	case c == noSecret:
		c = ending(last)
	}
	if i > 0 && c != password && c != token && last != "key" {
		c = noSecret // primary, test, default alone
	}
	switch {
	case c == pass && before != "", last == "phrase" && before == "pass":
		return password
	case (last == "session" || last == "sess" || last == "sid") && lists.SessionWords.has(before):
		return key
	case last == "auth" && before != "" && before != "docker" && before != "redis" && before != "rediscli":
		return noSecret // decided by what is around it
	case c == key && last == "key" && (lists.KeyWords.has(before) || isService(before)):
		return token
	case (c == token || c == key) && lists.NotBefore.has(before):
		return noSecret
	case c == key && last == "key" && before != "" && isVariable(name):
		return token
	}
	if c == noSecret && !lists.ServiceNot.has(words[0]) && hasService(name, words[:n]) {
		return service
	}
	return c
}

func ofService(name string) bool {
	var words [maxSegments + 1]string
	return hasService(name, words[:segments(name, &words)])
}

func hasService(name string, words []string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(words, isService) || slices.ContainsFunc(lists.ServicePhrases.words, func(s string) bool { return strings.Contains(name, s) })
}

func isNumber(s string) bool {
	s = strings.TrimPrefix(s, "v")
	return s != "" && strings.Trim(s, digits) == ""
}

func isService(word string) bool {
	return lists.Services.has(word) || slices.ContainsFunc(lists.ServiceEndings.words, func(end string) bool {
		w, ok := strings.CutSuffix(word, end)
		return ok && lists.Services.has(w)
	})
}

func ending(word string) class {
	isEnding := func(end string) bool { return strings.HasSuffix(word, end) }
	switch {
	case slices.ContainsFunc(lists.PasswordEndings.words, isEnding):
		return password
	case slices.ContainsFunc(lists.TokenEndings.words, isEnding):
		return token
	}
	return noSecret
}
