package blame

import (
	"cmp"
	"slices"
)

// Join joins the answers of several indexes: each line belongs to the call with the best claim to it. A line
// in the file itself is a better claim than a line in another file, the same text a better one than similar
// text, and an earlier call a better one than a later call. Lines that say little go with the lines around them.
func Join(req *Request, list []*Response) *Response {
	from, to := req.bounds()
	best := make([]*Block, max(to-from+1, 0))
	for _, r := range list {
		at := from
		for k := range r.Blocks {
			b := &r.Blocks[k]
			for at = max(at, b.From); at <= min(b.To, to); at++ {
				if other := &best[at-from]; *other == nil || req.compare(b, *other) < 0 {
					*other = b
				}
			}
		}
	}
	keys := make([]string, len(req.Lines))
	for i, text := range req.Lines {
		keys[i] = squeezed(text)
	}
	tell := telling(req.Lines, keys)
	follow := func(i, neighbour int) {
		if b := best[neighbour]; !tell[from+i-1] && b != nil && b.Origin != nil && b.From <= from+i && from+i <= b.To {
			best[i] = b
		}
	}
	for i := len(best) - 2; i >= 0; i-- {
		follow(i, i+1)
	}
	resp := &Response{}
	for i := range best {
		if i > 0 {
			follow(i, i-1)
		}
		if best[i] == nil { // an answer without the line
			best[i] = &Block{Why: Untouched}
		}
		by, line := best[i], from+i
		if keys[line-1] != "" {
			if resp.Total++; by.Origin != nil {
				resp.Written++
			}
		}
		if n := len(resp.Blocks) - 1; n >= 0 && (best[i-1] == by || by.Origin == nil && resp.Blocks[n].Origin == nil && (by.Why == Filtered) == (resp.Blocks[n].Why == Filtered)) {
			last := &resp.Blocks[n]
			if last.To, last.Lines = line, append(last.Lines, req.Lines[line-1]); last.Why == Short {
				last.Why = by.Why
			}
			continue
		}
		b := *by
		b.Type, b.Path, b.From, b.To, b.Lines = "blame", req.Path, line, line, req.Lines[line-1:line:line]
		if b.Origin == nil {
			b.Match, b.Closeness = None, 0
		}
		resp.Blocks = append(resp.Blocks, b)
	}
	req.mask(resp)
	return resp
}

// reasons lists why no session is said to have written a line. If indexes differ, the first one holds.
var reasons = []string{Filtered, Other, Untouched, Before, Short}

// compare compares the claims of two blocks of different indexes to a line: the better one is less.
func (r *Request) compare(a, b *Block) int {
	claim := func(x *Block) []int {
		if x.Origin == nil {
			return []int{1, slices.Index(reasons, x.Why)}
		}
		how := slices.Index([]string{Exact, Space, Alike}, x.Match)
		return []int{0, max(how-1, 0), r.rank(cmp.Or(x.Wrote, r.Path)), how}
	}
	order := slices.Compare(claim(a), claim(b))
	if order != 0 || a.Origin == nil {
		return order
	}
	return a.Timestamp.Compare(b.Timestamp.Time)
}

// JoinCommits joins the answers of several indexes: a commit belongs to the session that printed its hash
// first, or else to the session that wrote most of its lines.
func JoinCommits(req *CommitRequest, list []*CommitResponse) *CommitResponse {
	resp := &CommitResponse{}
	order := []string{ByHash, ByText, Unread, None}
	compare := func(a, b *CommitRow) int {
		way := cmp.Or(cmp.Compare(slices.Index(order, a.Match), slices.Index(order, b.Match)), cmp.Compare(b.Share, a.Share))
		switch {
		case way != 0 || a.Origin == nil:
			return way
		case a.Match == ByText: // as in one index, the last one
			a, b = b, a
		}
		return a.Timestamp.Compare(b.Timestamp.Time)
	}
	rows := len(req.Commits)
	if req.Pull != "" {
		rows = 1
	}
	for i := range rows {
		best := CommitRow{Match: None}
		for _, r := range list {
			if i >= len(r.Rows) {
				continue
			}
			row := r.Rows[i]
			if (row.Origin != nil) == slices.Contains(order[:2], row.Match) && slices.Contains(order, row.Match) && compare(&row, &best) < 0 {
				best = row
			}
		}
		resp.add(req, i, best)
	}
	return resp
}
