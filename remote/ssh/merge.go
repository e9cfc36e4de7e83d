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
