package e2e

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"pigrep/query/audit"
)

// spend is a row of usage by session.
type spend struct {
	Input, Output int64
	Cost          float64
	Entries       int
	Subagents     int
	SubagentCost  float64
}

// What subagents used counts once, wherever it is recorded: in sessions of their own, in
// the usage of a result, in its details, or in several of these. The sums are those of
// the replies in testdata/subagents, added up by hand.
func TestSubagents(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("testdata", "subagents"))
	if err != nil {
		t.Fatal(err)
	}
	r := update(t, filepath.Join(t.TempDir(), "index"), root).Reader
	near := gocmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9 })
	usage := func(req audit.Request) (map[string]spend, *audit.UsageTable) {
		t.Helper()
		req.By, req.Location = []string{"session"}, time.UTC
		table, err := audit.Usage(t.Context(), r, req)
		if err != nil {
			t.Fatal(err)
		}
		rows := make(map[string]spend)
		for _, row := range append(table.Rows, table.Total) {
			name := "total"
			if row.SessionPath != "" {
				name = strings.TrimPrefix(filepath.ToSlash(strings.TrimPrefix(row.SessionPath, root)), "/")
			}
			rows[name] = spend{row.Input, row.Output, row.Cost, row.Entries, row.Subagents, row.SubagentCost}
		}
		return rows, table
	}
	check := func(what string, want, got map[string]spend) {
		t.Helper()
		if diff := gocmp.Diff(want, got, near); diff != "" {
			t.Errorf("usage %s (-want +got):\n%s", what, diff)
		}
	}
	got, table := usage(audit.Request{})
	want := map[string]spend{
		"both.jsonl":                  {3000, 30, 3, 3, 0, 0}, // both of its results are in the sessions below
		"both/r1/run-0/session.jsonl": {100, 10, 0.1, 2, 0, 0},
		"both/r1/run-1/session.jsonl": {200, 20, 0.2, 1, 0, 0},
		"linked.jsonl":                {50, 5, 0.05, 1, 0, 0},
		"details.jsonl":               {1015, 15, 1.75, 2, 0, 0},
		"session.jsonl":               {1000, 10, 1, 1, 0, 0},
		"session/one.jsonl":           {10, 1, 0.01, 1, 0, 0},
		"session/one/two.jsonl":       {20, 2, 0.02, 1, 0, 0},
		"part.jsonl":                  {2209, 41, 2.201, 4, 0, 0}, // with the subagent that has no session, and the tool's own use
		"part/run.jsonl":              {100, 10, 0.1, 1, 0, 0},
		"forked.jsonl":                {1005, 15, 1.5, 2, 0, 0},
		"fork.jsonl":                  {700, 7, 0.7, 1, 0, 0},
		"total":                       {9409, 166, 10.631, 20, 0, 0},
	}
	check("of each session", want, got)
	if table.Repeated != 3 || table.Total.Sessions != 12 {
		t.Errorf("%d results repeat subagents in %d sessions, want 3 in 12", table.Repeated, table.Total.Sessions)
	}
	req := audit.Request{By: []string{"model"}}
	req.Sessions = []string{"sub-e"}
	byModel, err := audit.Usage(t.Context(), r, req)
	if err != nil || len(byModel.Rows) != 2 || *byModel.Rows[1].Model != "p/small" || byModel.Rows[1].Cost != 0.75 {
		t.Errorf("the model that the messages of subagents name: %v, %+v", err, byModel.Rows)
	}
	got, table = usage(audit.Request{Tree: true})
	want = map[string]spend{
		"both.jsonl":    {3350, 65, 3.35, 7, 3, 0.35},
		"details.jsonl": {1015, 15, 1.75, 2, 0, 0},
		"session.jsonl": {1030, 13, 1.03, 3, 2, 0.03},
		"part.jsonl":    {2309, 51, 2.301, 5, 1, 0.1},
		"forked.jsonl":  {1005, 15, 1.5, 2, 0, 0},
		"fork.jsonl":    {700, 7, 0.7, 1, 0, 0},
		"total":         {9409, 166, 10.631, 20, 6, 0.48},
	}
	check("with Tree", want, got)
	if table.Total.Sessions != 6 {
		t.Errorf("%d sessions with Tree, want 6", table.Total.Sessions)
	}
	// A filter on sessions takes the subagents along.
	req = audit.Request{Tree: true}
	req.Sessions = []string{"sub-a"}
	got, table = usage(req)
	check("of a session with Tree", map[string]spend{"both.jsonl": want["both.jsonl"], "total": want["both.jsonl"]}, got)
	if table.Coverage.Sessions != 4 {
		t.Errorf("it covers %d sessions, want 4", table.Coverage.Sessions)
	}
	req.Sessions, req.Tree = []string{"sub-d"}, false
	if got, _ = usage(req); got["total"].Input != 50 {
		t.Errorf("the subagent alone used %v, want 50", got["total"])
	}
}
