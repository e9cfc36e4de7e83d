package adapter

import (
	"maps"
	"strings"

	"pigrep/internal/session"
)

// Keys is a set of the keys of members, or of other names.
type Keys map[string]bool

// NewKeys returns the set of names with spaces between them, and of those in other sets.
func NewKeys(names string, more ...Keys) Keys {
	k := make(Keys)
	for _, name := range strings.Fields(names) {
		k[name] = true
	}
	for _, m := range more {
		maps.Copy(k, m)
	}
	return k
}

// Has reports whether a key is in the set.
func (k Keys) Has(key []byte) bool { return k[string(key)] }

// Kinds returns the kind of each name, from the names of each kind with spaces between them.
func Kinds(lists map[session.Kind]string) map[string]session.Kind {
	m := make(map[string]session.Kind)
	for kind, names := range lists {
		for _, name := range strings.Fields(names) {
			m[name] = kind
		}
	}
	return m
}
