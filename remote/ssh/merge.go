package ssh

import (
	"cmp"
	"slices"

	"pigrep/query/search"
	"pigrep/query/sessions"
)

func addState(sum, x *search.IndexState) {
	sum.Files, sum.PendingFiles, sum.PendingBytes = sum.Files+x.Files, sum.PendingFiles+x.PendingFiles, sum.PendingBytes+x.PendingBytes
	sum.SkippedLines, sum.Complete, sum.Several = sum.SkippedLines+x.SkippedLines, sum.Complete && x.Complete, sum.Several || x.Several
}

func mergeSearch(req *search.Request, list []*search.Response) *search.Response {
	sum := list[0]
	for _, x := range list[1:] {
		sum.Hits, sum.Sessions = append(sum.Hits, x.Hits...), append(sum.Sessions, x.Sessions...)
		sum.SessionTotal, sum.Total, sum.TotalIn, sum.TotalAny = sum.SessionTotal+x.SessionTotal, sum.Total+x.Total, sum.TotalIn+x.TotalIn, sum.TotalAny+x.TotalAny
		sum.Folded, sum.Weak, sum.TotalIsExact = sum.Folded+x.Folded, sum.Weak+x.Weak, sum.TotalIsExact && x.TotalIsExact
		sum.Warnings = append(sum.Warnings, x.Warnings...)
		addState(&sum.Index, &x.Index)
	}
	slices.SortStableFunc(sum.Hits, func(a, b search.Hit) int { return cmp.Compare(b.Score, a.Score) })
	slices.SortStableFunc(sum.Sessions, func(a, b search.SessionHit) int { return cmp.Compare(b.Score, a.Score) })
	limit := req.Options().Limit
	if !req.Flat {
		sum.Sessions = sum.Sessions[:min(limit, len(sum.Sessions))]
		regroup(sum)
	} else {
		sum.Hits = sum.Hits[:min(limit, len(sum.Hits))]
	}
	for i := range sum.Hits {
		sum.Hits[i].Rank = i + 1
	}
	return sum
}

func mergeSessions(req *sessions.Request, list []*sessions.Response) *sessions.Response {
	sum := list[0]
	for _, x := range list[1:] {
		sum.Sessions, sum.Total, sum.TotalIsExact = append(sum.Sessions, x.Sessions...), sum.Total+x.Total, sum.TotalIsExact && x.TotalIsExact
		sum.Warnings = append(sum.Warnings, x.Warnings...)
		addState(&sum.Index, &x.Index)
	}
	slices.SortStableFunc(sum.Sessions, func(a, b sessions.Session) int { return b.Modified.Compare(a.Modified.Time) })
	if req.Text != "" {
		slices.SortStableFunc(sum.Sessions, func(a, b sessions.Session) int { return cmp.Compare(b.Score, a.Score) })
	}
	return sum
}
