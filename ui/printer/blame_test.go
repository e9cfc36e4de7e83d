package printer

import (
	"bytes"
	"strings"
	"testing"

	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/lab/testkit"
	"pigrep/query/blame"
)

// However long the subject of a commit is, its line says when it was made and whether a session made it.
func TestSubjectsAreCut(t *testing.T) {
	long := strings.Repeat("Mend the ログイン of people who stay ", 9)
	origin := &blame.Origin{}
	origin.SessionID, origin.EntryID = "5fd1e58c", "a1"
	list := &Commits{Command: "log", Response: &blame.CommitResponse{Rows: []blame.CommitRow{
		{Hash: "0123456789", Subject: long, Match: "none", Committed: at(0)}, {Hash: "1123456789", Subject: long, Match: blame.Unread},
		{Hash: "2123456789", Subject: long, Match: blame.ByText, Share: 0.831, Origin: origin, Committed: session.Time{Time: now.AddDate(0, -2, 0)}},
	}}}
	for _, width := range []int{40, 80, 100, 140} {
		var b bytes.Buffer
		testkit.Check(t, New(&b, FormatText, Layout{Width: width, Now: now}).Print(list))
		for _, want := range []string{"… · now · no session\n", "… · not compared\n", "… · 2mo ago (2026-01-20)\n", "  5fd1e58c:a1 · wrote 83% of"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("at %d columns there is no %q:\n%s", width, want, b.String())
			}
		}
		for line := range strings.Lines(b.String()) {
			if w := terminal.Width(strings.TrimSpace(line)); w > width {
				t.Errorf("at %d columns a line has %d: %s", width, w, line)
			}
		}
	}
}
