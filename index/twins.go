package index

import (
	"fmt"
	"strings"

	"github.com/cespare/xxhash/v2"

	"pigrep/internal/session"
)

// markOf returns what an entry has in common with the same entry in other files of its session.
func markOf(n *session.Node) uint64 {
	if strings.HasPrefix(n.ID, "@") {
		return xxhash.Sum64String(fmt.Sprintf("%s/%s\x00%d\x00%d", n.Type, n.Role, n.Time, n.Length))
	}
	return xxhash.Sum64String(fmt.Sprintf("%s\x00%d\x00%d", n.ID, n.Time, n.Length))
}

// mostBefore is how many entries outside the tree a file may begin with.
const mostBefore = 100

// begins is that of session.Twins.
func (r *Reader) begins(file uint32) (uint64, bool) {
	o, err := r.outline(file, nil)
	if err != nil || o == nil {
		return uint64(file), false
	}
	first, ok := o.First()
	if !ok {
		return uint64(file), false
	}
	mark, count := markOf(&first.Node), 0
	for e := range o.From(first.Offset) {
		if !e.Apart && !strings.HasPrefix(e.ID, "@") {
			return markOf(&e.Node), e.HasParent && e.ParentID != ""
		}
		if count++; count == mostBefore {
			break
		}
	}
	return mark, false
}

// lacks is that of session.Twins.
func (r *Reader) lacks(file uint32, others []uint32) (sums session.Sums) {
	files := append([]uint32{file}, others...)
	facts, err := r.RecordsToContinue(files)
	if err != nil {
		return sums
	}
	has := make(map[uint64]bool)
	for i, f := range files {
		rec, err := r.Record(f)
		if err != nil || rec == nil {
			continue
		}
		own, piece := make(map[int64]bool), "" // the offsets of what only this file has
		for k := range rec.Nodes {
			n := &rec.Nodes[k]
			mark := markOf(n)
			if has[mark] {
				continue
			}
			has[mark] = true
			if own[n.Offset] = true; i == 0 {
				continue
			}
			if sums.Entries++; n.IsMessage(piece) {
				sums.Messages++
			}
			if n.Message != "" && n.Step == session.Talk {
				piece = n.Message
			}
		}
		if i == 0 || facts[f] == nil || facts[f].Facts == nil || facts[f].Facts.Whole() != nil {
			continue
		}
		for _, u := range facts[f].Facts.Usages {
			if own[u.Offset] {
				sums.Tokens, sums.Cost = sums.Tokens+u.Tokens(), sums.Cost+u.Cost
			}
		}
	}
	return sums
}
