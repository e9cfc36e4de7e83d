package audit

import (
	"context"

	"pigrep/index"
	"pigrep/index/record"
	"pigrep/internal/price"
	"pigrep/internal/session"
)

// Costs returns the tokens and the cost of sessions, by their paths, as Usage adds them up for each session.
// list has the summaries of whole sessions. Costs reads facts only for sessions that may share uses of
// tokens with others: a use counts in the session that had it first.
func Costs(ctx context.Context, r *index.Reader, list []*session.Summary) (map[string]price.Spent, error) {
	sharing, known := r.FilesWithDuplicates()
	chains := r.Chains()
	var prices price.Listed
	costs, read := make(map[string]price.Spent, len(list)), make(map[string]bool)
	for _, s := range list {
		known = known && !s.Delegated // only the facts of a whole family say which uses count elsewhere
		if spent := prices.Spending(s); known && !sharing[s.File] && len(chains.Session(s.Path)) == 1 {
			spent.Cost, spent.Estimated = Rounded(spent.Cost), Rounded(spent.Estimated)
			costs[s.Path] = spent
		} else {
			costs[s.Path], read[s.Path] = price.Spent{}, true
		}
	}
	if len(read) == 0 {
		return costs, nil
	}
	req := Request{By: []string{"session"}, only: func(s *session.Summary) bool { return read[chains.Head(s.Path)] }}
	if !known {
		t, err := Usage(ctx, r, req)
		if err != nil {
			return nil, err
		}
		for i := range t.Rows {
			costs[t.Rows[i].SessionPath] = t.Rows[i].spent()
		}
		return costs, nil
	}
	req.sharing = sharing
	x, err := newAuditor(ctx, r, &req, record.UsageFacts)
	if err != nil {
		return nil, err
	}
	b := &usageBuild{auditor: x}
	sums := make(map[*file]*usageGroup)
	err = x.visitPieces(x.facts.All(x.ids), func(f *file, p *record.Piece) error {
		g := sums[f.sessionFile()]
		if g == nil {
			g = b.group(nil)
			sums[f.sessionFile()] = g
		}
		return b.visitUsages(f, p, func(i int) {
			u := b.newUse(p.Usages.At(i), p.Usages.Model.At(i), 0)
			g.count(f, f, &u)
		})
	})
	for f, g := range sums {
		if f.wanted {
			row := g.finish("", Key{})
			costs[f.Path] = row.spent()
		}
	}
	return costs, err
}

func (r *UsageRow) spent() price.Spent {
	return price.Spent{Tokens: r.Tokens, Cost: r.Cost, Estimated: r.ListedCost, Unpriced: r.Unpriced}
}
