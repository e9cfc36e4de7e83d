package search

import (
	"pigrep/internal/human"
	"pigrep/query/engine/rank"
)

// Counts are the numbers of hits of a request. Every answer, list, facet and chart counts in
// the same way:
//
//	hits         have every word; words that say little may be missing
//	looser ones  lack a word; they are counted apart, and folded if there are enough hits
//	weak ones    have none of the words that matter; they are neither counted nor listed beside others
type Counts = rank.Counts

// Counts returns the numbers of hits in the response.
func (r *Response) Counts() Counts {
	return Counts{
		Total: r.Total, TotalAny: r.TotalAny, Weak: r.Weak, Listed: r.TotalAny - r.Weak - r.Folded,
		TotalSessions: r.TotalIn, ListedSessions: r.SessionTotal, Inexact: !r.TotalIsExact,
	}
}

func (r *Response) Looser() int { return r.TotalAny - r.Weak - r.Total }

// Found says how many hits there are, "15 hits in 4 sessions", or if there are only looser
// ones, how many of those: "452 looser hits in 9 sessions".
func Found(n Counts) string {
	atLeast := ""
	if n.Inexact {
		atLeast = "at least "
	}
	if n.Total == 0 && n.Looser() > 0 {
		return atLeast + human.Plural(n.Looser(), "looser hit", "looser hits") + in(n.ListedSessions)
	}
	return atLeast + human.Plural(n.Total, "hit", "hits") + in(n.TotalSessions)
}

func in(sessions int) string {
	if sessions == 0 {
		return ""
	}
	return " in " + human.Plural(sessions, "session", "sessions")
}

// Apart says how many looser hits there are besides those of Found: "452 looser ones"; "" if
// there are none.
func Apart(n Counts) string {
	if n.Total == 0 || n.Looser() == 0 {
		return ""
	}
	return human.Plural(n.Looser(), "looser one", "looser ones")
}
