package redact

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Named reports whether a value is a secret because of its name, such as the
// argument password of a call or the member api_key of an object.
func Named(name, value string) (rule string, ok bool) {
	if value == "" || len(name) > maxName || strings.ContainsAny(name, "\"\n") {
		return "", false
	}
	text := name + `="` + strings.NewReplacer(`"`, "_", "\n", "_", "\\", "_", "\x1b", "_").Replace(value) + `"`
	for _, s := range Find(text) {
		// A secret inside the value is found without the name.
		if s.Start == len(name)+2 && s.End >= len(text)-1 {
			return s.Rule, true
		}
	}
	return "", false
}

// JSON returns a JSON text with the secrets in its strings masked. Strings are
// decoded, masked and encoded again; everything else is unchanged. Text that is
// not JSON is masked as text.
//
// A string is a secret by itself, by the name of its member, by that of the member
// around it ({"password": {"value": X}}), by a member beside it ({"name": "password",
// "value": X}), and by the flag before it in a list.
func JSON(raw []byte) []byte {
	if !json.Valid(raw) {
		return Bytes(raw)
	}
	m := masker{raw: raw}
	m.value(0, "", false)
	if m.done == 0 {
		return raw
	}
	m.out.Write(raw[m.done:])
	return m.out.Bytes()
}

// masker masks the strings of a valid JSON text.
type masker struct {
	raw  []byte
	done int // how much of raw is in out
	out  bytes.Buffer
}

// literal is a string in the text.
type literal struct {
	start, end int
	text       string
}

// value masks the value at i, which has a name if it is in an object, and returns its
// end. The strings of list say what its elements may be named by.
func (m *masker) value(i int, name string, private bool) int {
	i = m.space(i)
	switch m.raw[i] {
	case '{':
		return m.object(i, name)
	case '[':
		return m.list(i, name)
	case '"':
		l := m.literal(i)
		if private && jwkPrivate.has(name) && len(l.text) >= 8 {
			m.replace(l, Mask("private-key"))
		} else {
			m.text(l, name)
		}
		return l.end
	}
	for i < len(m.raw) && strings.IndexByte(",]} \t\r\n", m.raw[i]) < 0 {
		i++
	}
	return i
}

// jwkPrivate are the members of a JSON Web Key that are secret.
var jwkPrivate = wordSet{text: "d p q dp dq qi k"}

func (m *masker) object(i int, name string) int {
	// What its members name, before their values are masked.
	var private bool
	about := "" // the name that this object gives to its value
	m.members(i, func(key literal, at int) int {
		if key.text == "kty" {
			private = true
		}
		switch strings.ToLower(key.text) {
		case "name", "key", "k", "variable", "header", "option", "field", "parametername", "env", "property", "id", "username":
			if m.raw[at] == '"' && (about == "" || classify(about) == noSecret) {
				if l := m.literal(at); classify(l.text) != noSecret || strings.EqualFold(l.text, "authorization") {
					about = l.text
				}
			}
		}
		return m.skip(at)
	})
	return m.members(i, func(key literal, at int) int {
		if valueWords.has(strings.ToLower(key.text)) {
			if about != "" {
				return m.value(at, about, false)
			}
			if name != "" && classify(name) >= token {
				return m.value(at, name, false)
			}
		}
		return m.value(at, key.text, private)
	})
}

// members calls do for each member of the object at i, with the position of its
// value; do returns the end of the value.
func (m *masker) members(i int, do func(key literal, at int) int) int {
	for i = m.space(i + 1); m.raw[i] != '}'; i = m.space(i) {
		if m.raw[i] == ',' {
			i = m.space(i + 1)
		}
		key := m.literal(i)
		i = m.space(m.space(key.end) + 1) // the colon
		i = do(key, i)
	}
	return i + 1
}

func (m *masker) list(i int, name string) int {
	before := ""
	words := 0
	for i = m.space(i + 1); m.raw[i] != ']'; i = m.space(i) {
		if m.raw[i] == ',' {
			i = m.space(i + 1)
		}
		if m.raw[i] != '"' {
			before = ""
			i = m.value(i, name, false)
			continue
		}
		l := m.literal(i)
		switch {
		case strings.HasPrefix(before, "-") && classify(before) != noSecret && !strings.HasPrefix(l.text, "-"):
			m.text(l, strings.TrimLeft(before, "-"))
		case words == 1 && strings.EqualFold(before, "authorization"), words == 1 && classify(before) == token && isRandom(l.text):
			m.text(l, before)
		default:
			m.text(l, name)
		}
		before = l.text
		words++
		i = l.end
	}
	return i + 1
}

// text masks a string with a name.
func (m *masker) text(l literal, name string) {
	if rule, ok := Named(name, l.text); ok {
		m.replace(l, Mask(rule))
	} else if masked := Text(l.text); masked != l.text {
		m.replace(l, masked)
	}
}

func (m *masker) replace(l literal, text string) {
	m.out.Write(m.raw[m.done:l.start])
	m.out.Write(quoted(text))
	m.done = l.end
}

// skip returns the end of the value at i.
func (m *masker) skip(i int) int {
	depth := 0
	for {
		switch m.raw[i] {
		case '"':
			i = stringEnd(m.raw, i)
		case '{', '[':
			depth++
			i++
		case '}', ']':
			depth--
			i++
		default:
			i++
			for depth == 0 && i < len(m.raw) && strings.IndexByte(",]} \t\r\n", m.raw[i]) < 0 {
				i++
			}
		}
		if depth == 0 {
			return i
		}
	}
}

func (m *masker) space(i int) int {
	for i < len(m.raw) && strings.IndexByte(" \t\r\n", m.raw[i]) >= 0 {
		i++
	}
	return i
}

func (m *masker) literal(i int) literal {
	end := stringEnd(m.raw, i)
	var s string
	_ = json.Unmarshal(m.raw[i:end], &s) // it is valid
	return literal{i, end, s}
}

// stringEnd returns the end of the string that begins at i.
func stringEnd(raw []byte, i int) int {
	for i++; raw[i] != '"'; i++ {
		if raw[i] == '\\' {
			i++
		}
	}
	return i + 1
}

func quoted(s string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
