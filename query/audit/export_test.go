package audit

import (
	"context"
	"unsafe"

	"pigrep/index"
	"pigrep/index/record"
)

// CountSummed returns how many pieces of calls a request reads, and of how many of these
// only the sums.
func CountSummed(r *index.Reader, req Request) (summed, all int, err error) {
	x, err := newAuditor(context.Background(), r, &req, record.CallFacts, record.CallSums)
	if err != nil {
		return 0, 0, err
	}
	table := newTable(&req, func([]string) *toolGroup { return nil })
	err = x.eachSum(table.samePeriod, func(_ *file, p *record.Piece) error {
		if all++; p.Summed {
			summed++
		}
		return nil
	})
	return summed, all, err
}

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
