package price

import (
	"pigrep/internal/human"
	"pigrep/internal/session"
)

// Spent is what a session used, and what that cost.
type Spent struct {
	Tokens    int64   `json:"tokens,omitempty"`        // 0 if unknown
	Cost      float64 `json:"cost,omitempty"`          // 0 if unknown
	Estimated float64 `json:"estimatedCost,omitempty"` // part of Cost, from list prices: the files name no cost
	Unpriced  int     `json:"unpriced,omitempty"`      // uses of tokens without a price, which Cost lacks
}

// Spending returns what the files of a session say that it used, with what list prices say of the
// cost. It counts entries that were copied from another session.
func (l *Listed) Spending(s *session.Summary) Spent {
	spent := Spent{Tokens: s.UsedTokens, Cost: s.UsedCost}
	for i := range s.Unpriced {
		u := &s.Unpriced[i]
		p, complete := l.Of(u.Model, &u.Usage)
		if p != nil && u.NoCost {
			spent.Estimated += p.Cost(&u.Usage)
		}
		if !complete || !u.NoCost {
			spent.Unpriced += u.Uses
		}
	}
	spent.Cost += spent.Estimated
	return spent
}

// CostText writes the cost: ~$1.20 if a part of it is estimated, ≥ $1.20 if some models have no price, – if
// none has one; "" for no tokens.
func (s *Spent) CostText() string {
	switch {
	case s.Cost > 0:
		return human.When(s.Unpriced > 0, "≥ ") + human.When(s.Estimated > 0, "~") + human.Cents.Text(s.Cost)
	case s.Unpriced > 0:
		return human.None
	}
	return ""
}
