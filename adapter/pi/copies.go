package pi

import (
	"github.com/cespare/xxhash/v2"

	"pigrep/adapter/jsonl"
)

// copyHash returns what an entry has in common with its copies: all of it but
// what a copy may change.
func (p *parser) copyHash(all []member) uint64 {
	h := p.hash
	h.Reset()
	for _, m := range all {
		switch string(m.key) {
		case "id", "parentId", "targetId", "fromId", "firstKeptEntryId", "firstKeptEntryIndex":
			continue
		}
		h.Write(m.key)
		h.WriteString(":")
		p.hashCompact(h, p.obj.Raw(m.val))
		h.WriteString(",")
	}
	return max(h.Sum64(), 1)
}

// hashCompact hashes JSON without the white space outside its strings.
func (p *parser) hashCompact(h *xxhash.Digest, raw []byte) {
	if !p.scan.Spaced {
		h.Write(raw)
		return
	}
	jsonl.WriteCompact(h, raw)
}
