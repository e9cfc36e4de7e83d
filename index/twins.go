package index

import "pigrep/internal/session"

// has is session.Twins.Has.
func (r *Reader) has(file uint32, entry string) bool {
	o, err := r.outline(file, nil)
	if err != nil || o == nil {
		return false
	}
	first, _ := o.First()
	for e := range o.From(first.Offset) {
		if e.ID == entry {
			return true
		}
	}
	return false
}

// lacks is session.Twins.Lacks. What cannot be read does not count.
func (r *Reader) lacks(file uint32, others []uint32) (messages, entries int) {
	seen := make(map[string]bool)
	for i, f := range append([]uint32{file}, others...) {
		rec, err := r.Record(f)
		if err != nil || rec == nil {
			continue
		}
		piece := "" // of a message
		for k := range rec.Nodes {
			n := &rec.Nodes[k]
			looks := n.Looks()
			if seen[looks] {
				continue
			}
			if seen[looks] = true; i == 0 {
				continue
			}
			if entries++; n.IsMessage(piece) {
				messages++
			}
			if n.Message != "" && n.Step == session.Talk {
				piece = n.Message
			}
		}
	}
	return messages, entries
}
