package pi

import "pigrep/internal/jsonl"

// copyHash returns a hash that an entry and its copies have in common. It covers all
// members except those that copying may change.
func (p *parser) copyHash(all jsonl.Fields) uint64 {
	h := p.hash
	h.Reset()
	for _, m := range all {
		switch string(m.Key) {
		case "id", "parentId", "targetId", "fromId", "firstKeptEntryId", "firstKeptEntryIndex":
			continue
		}
		h.Write(m.Key)
		h.WriteString(":")
		p.json.WriteCompact(h, m.Val)
		h.WriteString(",")
	}
	return max(h.Sum64(), 1)
}
