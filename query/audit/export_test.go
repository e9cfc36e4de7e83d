package audit

import (
	"context"

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
