package sessions

import (
	"strconv"
	"strings"

	"pigrep/internal/near"
	"pigrep/internal/session"
)

// FindEntry returns the index of the entry of a session with this id, or of the only
// one whose id begins with it. @ and a number is the entry at that offset; a number alone
// is too, if the entry has no id and no other id begins with it.
func FindEntry(rec *session.Record, t *session.Tree, name string) (int, error) {
	name = strings.TrimSpace(name)
	if i := t.Find(name); i >= 0 {
		return i, nil
	}
	if digits, ok := strings.CutPrefix(name, "@"); ok {
		if offset, err := strconv.ParseInt(digits, 10, 64); err == nil {
			if i := rec.NodeAt(offset); i >= 0 {
				return i, nil
			}
		}
	}
	var found, ids []string
	at := -1
	for i := range rec.Nodes {
		if t.Superseded(i) {
			continue
		}
		id := rec.Nodes[i].ID
		ids = append(ids, id)
		if near.HasPrefixFold(id, name) {
			found, at = append(found, id), i
		}
	}
	switch len(found) {
	case 1:
		return at, nil
	case 0:
		if i := t.Find("@" + name); i >= 0 {
			return i, nil
		}
		return -1, &NotFoundError{What: "entry", Name: name, Nearest: near.Nearest(ids, name)}
	}
	return -1, &AmbiguousError{What: "entry", Name: name, Entries: found}
}
