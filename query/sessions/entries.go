package sessions

import (
	"context"
	"slices"
	"time"

	"pigrep/index"
	"pigrep/index/record"
)

// Entries are those of a session that may be in copies of it.
type Entries struct {
	Started time.Time `json:"started,omitzero"` // as its header says
	Path    string    `json:"path"`
	Copies  []uint64  `json:"copies"` // as of session.Entry
}

// EntriesOf returns the entries of the families of sessions, which are named by their identities.
func EntriesOf(ctx context.Context, r *index.Reader, identities []uint64) ([]Entries, error) {
	lineage, family := NewLineage(r), make(map[int]bool)
	for i, s := range r.Beginnings() {
		if !family[i] && slices.Contains(identities, s.Identity()) {
			for k := range lineage.Family(i) {
				family[k] = true
			}
		}
	}
	var list []Entries
	var files []uint32
	at := make(map[uint32]int)
	for i := range family {
		s := r.Summary(i)
		at[s.File], files = len(list), append(files, s.File)
		list = append(list, Entries{Started: s.Timestamp, Path: s.Path})
	}
	for _, seg := range r.Segments() {
		runs, err := seg.Files()
		if err != nil {
			return nil, err
		}
		for k, run := range runs {
			i, wanted := at[run.File]
			if !wanted {
				continue
			}
			var docs []uint32
			for doc := run.First; doc < min(runs.End(k), uint32(seg.Len())); doc++ {
				docs = append(docs, doc)
			}
			if err := seg.EntryHashes(docs, func(_ uint32, hash uint64) { list[i].Copies = append(list[i].Copies, hash) }); err != nil {
				return nil, err
			}
		}
	}
	facts, err := r.Facts(ctx, record.BareFacts) // of entries without documents
	if err != nil {
		return nil, err
	}
	for p, err := range facts.Bare(files) {
		if err != nil {
			return nil, err
		}
		for k := range p.Bare.Len {
			if hash := uint64(p.Bare.Copy.At(k)); hash != 0 {
				list[p.File].Copies = append(list[p.File].Copies, hash)
			}
		}
	}
	for i := range list {
		slices.Sort(list[i].Copies)
		list[i].Copies = slices.Compact(list[i].Copies)
	}
	return list, nil
}
