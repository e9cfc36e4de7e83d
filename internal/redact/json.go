package redact

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"unsafe"

	"pigrep/internal/jsonl"
)

var oneLine = strings.NewReplacer(`"`, "_", "\n", "_", "\\", "_", "\x1b", "_")

// Named reports whether a value is a secret because of its name, such as the
// argument password of a call or the member api_key of an object.
func Named(name, value string) (rule string, ok bool) {
	if value == "" || len(name) > maxName || strings.ContainsAny(name, "\"\n") || !announces(name) {
		return "", false
	}
	text := name + `="` + oneLine.Replace(value) + `"`
	for _, s := range Find(text) {
		// A secret inside the value is found without the name, except after user:.
		start := s.Start - len(name) - len(`="`)
		if s.End >= len(text)-1 && (start == 0 || start > 0 && value[start-1] == ':' && !strings.ContainsAny(value, " /")) {
			return s.Rule, true
		}
	}
	return "", false
}

// announces reports whether a name may make a secret of its value: it has a word that does, or is
// encoded.
func announces(name string) bool {
	load()
	if special.until(name, 0) < len(name) || strings.Contains(name, "%") {
		return true
	}
	text := name + `="`
	for i := range name {
		p := twoBytes(lower(text[i]), lower(text[i+1]))
		for _, x := range allTriggers.list[allTriggers.first[p]:allTriggers.first[int(p)+1]] {
			if at := i - x.pair; at >= 0 && hasPrefixFold(text[at:], x.word) {
				return true
			}
		}
	}
	return false
}

// JSON returns a JSON text with the secrets in its strings masked, in the names of members
// too. Strings are decoded, masked and encoded again; everything else is unchanged. Text
// that is not JSON is masked as text.
//
// A string is a secret by itself, by the name of its member, by that of the member
// around it ({"password": {"value": X}}), by a member beside it ({"name": "password",
// "value": X}), and by the flag before it in a list.
func JSON(raw []byte) []byte {
	load()
	m := masker{raw: raw, scanner: scanners.Get().(*jsonl.Scanner)}
	defer scanners.Put(m.scanner)
	m.scanner.Reset(raw)
	v, err := m.scanner.Check(0)
	if err != nil || len(bytes.TrimSpace(raw[v.End:])) > 0 {
		return Bytes(raw)
	}
	m.value(v, "", false)
	if m.done == 0 {
		return raw
	}
	m.out.Write(raw[m.done:])
	return m.out.Bytes()
}

var scanners = sync.Pool{New: func() any { return new(jsonl.Scanner) }}

// masker masks the strings of a valid JSON text.
type masker struct {
	raw     []byte
	scanner *jsonl.Scanner
	done    int // how much of raw is in out
	out     bytes.Buffer
}

// value masks a value, which has a name if it is in an object. private says that the
// object is a JSON Web Key.
func (m *masker) value(v jsonl.Value, name string, private bool) {
	switch m.scanner.Kind(v) {
	case '{':
		m.object(v, name)
	case '[':
		m.list(v, name)
	case '"':
		if text := m.text(v); private && lists.JWKPrivate.has(name) && len(text) >= 8 {
			m.replace(v.Start, v.End, Mask("private-key"))
		} else {
			m.mask(v, text, name)
		}
	}
}

func (m *masker) object(v jsonl.Value, named string) {
	// What its members name, before their values are masked.
	var private bool
	about := "" // the name that this object gives to its value
	for name, each := range m.scanner.Members(v) {
		key := string(name)
		private = private || key == "kty"
		if m.scanner.Kind(each) == '"' && lists.NamingWords.has(strings.ToLower(key)) && classify(about) == noSecret {
			if text := m.text(each); classify(text) != noSecret || strings.EqualFold(text, "authorization") {
				about = text
			}
		}
	}
	end := v.Start // of what is before a member
	for name, each := range m.scanner.Members(v) {
		key := string(name)
		if !isPlainKey(key) {
			if masked := Text(key); masked != key {
				m.replace(end+bytes.IndexByte(m.raw[end:], '"'), bytes.LastIndexByte(m.raw[:each.Start], '"')+1, masked)
			}
		}
		end = each.End
		switch isValue := lists.ValueWords.has(strings.ToLower(key)); {
		case isValue && about != "":
			m.value(each, about, false)
		case isValue && classify(named) >= token:
			m.value(each, named, false)
		default:
			m.value(each, key, private)
		}
	}
}

// isPlainKey reports whether the name of a member is too plain to have a secret: it is short,
// without digits and signs. Nearly all names are.
func isPlainKey(key string) bool {
	const longest = 32
	return len(key) < shortest || len(key) < longest && plainKey.skip(key, 0) == len(key)
}

var plainKey = setOf(letters + "_-.$")

func (m *masker) list(v jsonl.Value, name string) {
	before := ""
	words := 0
	for each := range m.scanner.Elements(v) {
		if m.scanner.Kind(each) != '"' {
			before = ""
			m.value(each, name, false)
			continue
		}
		text, by := m.text(each), name
		switch {
		case strings.HasPrefix(before, "-") && classify(before) != noSecret && !strings.HasPrefix(text, "-"):
			by = strings.TrimLeft(before, "-")
		case words == 1 && (strings.EqualFold(before, "authorization") || classify(before) == token && isRandom(text)):
			by = before
		}
		m.mask(each, text, by)
		before = text
		words++
	}
}

// text returns the text of a string, which is valid as long as the scanner has this JSON.
func (m *masker) text(v jsonl.Value) string {
	text := m.scanner.Text(v)
	return unsafe.String(unsafe.SliceData(text), len(text))
}

func (m *masker) mask(v jsonl.Value, text, name string) {
	if rule, ok := Named(name, text); ok {
		m.replace(v.Start, v.End, Mask(rule))
	} else if masked := Text(text); masked != text {
		m.replace(v.Start, v.End, masked)
	}
}

// replace writes a text in place of the string from start to end.
func (m *masker) replace(start, end int, text string) {
	m.out.Write(m.raw[m.done:start])
	e := json.NewEncoder(&m.out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text)              // a string can always be encoded
	m.out.Truncate(m.out.Len() - 1) // the newline
	m.done = end
}
