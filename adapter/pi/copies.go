package pi

import "pigrep/internal/jsonl"

// copyHash returns a hash that an entry and its copies have in common. It covers all
// members except those that copying may change.
func (p *parser) copyHash(all jsonl.Fields) uint64 {
	h := uint64(0)
	for _, m := range all {
		switch string(m.Key) {
		case "id", "parentId", "targetId", "fromId", "firstKeptEntryId", "firstKeptEntryIndex":
			continue
		}
		h += p.json.HashMember(m)
	}
	return max(h, 1)
}
