package audit

import (
	"context"
	"unsafe"

	"pigrep/index"
	"pigrep/index/record"
)

// UsageGroupSize is how many bytes a row of usage has while it is made.
const UsageGroupSize = unsafe.Sizeof(usageGroup{})

// Releases returns how often the pages of the segments are released while the facts of all
// calls are read, piece after piece.
func Releases(r *index.Reader) (n int, err error) {
	req := Request{}
	x, err := newAuditor(context.Background(), r, &req, record.CallFacts, record.DetailFacts)
	if err != nil {
		return 0, err
	}
	last := x.trimmed
	err = x.visitPieces(x.facts.All(x.ids), func(*file, *record.Piece) error {
		if x.trimmed != last {
			last, n = x.trimmed, n+1
		}
		return nil
	})
	return n, err
}
