package pi

import (
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
)

// The fourth format is that of the agent library. Each line has a kind, and lines
// written together form one array.

// fourthKind returns the kind of a line in the fourth format, or "" for lines of other
// formats, which may also have a member "kind".
func fourthKind(typ, kind string) string {
	switch kind {
	case "entry", "record":
		if typ != typeUsage {
			return kind
		}
	case "lane", "fact", "value", "list", "usage":
		if typ == "" {
			return kind
		}
	}
	return ""
}

// isFourthKey reports whether lines of every kind have this key.
func isFourthKey(key []byte) bool { return entryKeys.has(key) || fourthKeys.has(key) }

// isTransaction reports whether v is an array of lines in the fourth format.
func (p *parser) isTransaction(v jsonl.Value) bool {
	if p.JSON.Kind(v) != '[' {
		return false
	}
	n := 0
	for e := p.JSON.Elements(v); e.Next(); n++ {
		m := p.JSON.Members(e.Val)
		if !m.Next() || string(m.Key) != "kind" {
			return false
		}
	}
	return n > 0
}

// fact reads the lines that name the session, label an entry or move the leaf.
func (p *parser) fact(all jsonl.Fields, kind string) {
	e := &p.Entry
	fact, namespace := p.JSON.Name(all.Find("fact")), p.JSON.Name(all.Find("namespace"))
	switch {
	case kind == "lane":
		e.TargetID = p.JSON.String(all.Find("leafId"))
	case kind == "fact" && fact == "name":
		e.Type = session.TypeSessionInfo
		p.title(all.Find("name"))
	case kind == "fact" && fact == "label":
		e.Type = session.TypeLabel
		p.label(all.Find("targetId"), all.Find("label"))
	case kind == "value" && namespace == "pi.session.name":
		e.Type = session.TypeSessionInfo
		p.title(all.Find("value"))
	case kind == "value" && namespace == "pi.entry.label":
		e.Type = session.TypeLabel
		p.label(all.Find("key"), all.Find("value"))
	default:
		p.notKnown(all, isFourthKey)
	}
}
