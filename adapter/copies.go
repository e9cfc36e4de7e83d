package adapter

import "github.com/cespare/xxhash/v2"

// copyHash returns what an entry has in common with its copies: all of it but
// what a copy may change.
func (p *piParser) copyHash(all []member) uint64 {
	h := p.hash
	h.Reset()
	for _, m := range all {
		switch string(m.key) {
		case "id", "parentId", "targetId", "fromId", "firstKeptEntryId", "firstKeptEntryIndex":
			continue
		}
		h.Write(m.key)
		h.WriteString(":")
		p.hashCompact(h, p.obj.raw(m.val))
		h.WriteString(",")
	}
	return max(h.Sum64(), 1)
}

// hashCompact hashes JSON without the white space outside its strings.
func (p *piParser) hashCompact(h *xxhash.Digest, raw []byte) {
	if !p.scan.spaced {
		h.Write(raw)
		return
	}
	from := 0
	for i := 0; i < len(raw); {
		switch {
		case raw[i] == '"':
			i = skipString(raw, i)
		case isSpace(raw[i]):
			h.Write(raw[from:i])
			for i < len(raw) && isSpace(raw[i]) {
				i++
			}
			from = i
		default:
			i++
		}
	}
	h.Write(raw[from:])
}
