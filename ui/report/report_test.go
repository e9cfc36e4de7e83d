package report

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pigrep/internal/price"
	"pigrep/internal/session"
	"pigrep/query/audit"
	"pigrep/query/recap"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/ui/html"
)

const hostile = `</title></td></table><script>alert(1)</script><img src=x onerror=alert(2)><svg onload="alert(3)">` + "\x1b[31m\u202e"

var now = time.Date(2026, 3, 20, 12, 0, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

// answers is a source that answers with the same rows for every request, whatever they are grouped by.
func answers(name string, days int) *Source {
	key := func(by []string, i int) (k audit.Key) {
		at := now.AddDate(0, 0, -i)
		year, week := at.ISOWeek()
		for _, by := range by {
			switch by {
			case "day":
				k.Day = at.Format(time.DateOnly)
			case "week":
				k.Week = fmt.Sprintf("%04d-W%02d", year, week)
			case "tool":
				k.Tool = ptr(name + "tool")
			case "model":
				k.Model = ptr(name + "model")
			case "project":
				k.Project = ptr("/home/dev/" + name)
			case "session":
				k.SessionPath, k.SessionID, k.SessionName = "/s/"+name+".jsonl", name, name
			}
		}
		return k
	}
	rows := func(by []string) int {
		if by[0] == "day" {
			return days
		}
		return min(days, 1)
	}
	covered := audit.Coverage{Sessions: 1, First: session.Time{Time: now.AddDate(0, 0, -days)}, Last: session.Time{Time: now}}
	return &Source{
		Usage: func(_ context.Context, req audit.Request) (*audit.UsageTable, error) {
			t := &audit.UsageTable{By: req.By, Covered: audit.Covered{Coverage: covered}}
			for i := range rows(req.By) {
				t.Rows = append(t.Rows, audit.UsageRow{Key: key(req.By, i), Tokens: 1000, Cost: 1.5, Sessions: 1})
				t.Total.Cost += 1.5
			}
			return t, nil
		},
		Tools: func(_ context.Context, req audit.Request) (*audit.ToolTable, error) {
			t := &audit.ToolTable{By: req.By, Covered: audit.Covered{Coverage: covered}}
			for i := range rows(req.By) {
				t.Rows = append(t.Rows, audit.ToolRow{Key: key(req.By, i), Calls: 20, Errors: 3, P50: ptr(int32(90)), P95: ptr(int32(61_000)), Sessions: 1})
				t.Total.Calls, t.Total.Errors = t.Total.Calls+20, t.Total.Errors+3
			}
			return t, nil
		},
		Commands: func(context.Context, audit.Request) (*audit.CommandTable, error) {
			return &audit.CommandTable{Calls: 2, Rows: []audit.CommandRow{{Program: name, Runs: 2, Calls: 2}}}, nil
		},
		Files: func(context.Context, audit.Request) (*audit.FileTable, error) {
			return &audit.FileTable{Rows: []audit.FileRow{{Path: "/" + name, Reads: 3}}}, nil
		},
		Calls: func(_ context.Context, req audit.Request, visit func(*audit.CallRow) error) (int, error) {
			row := &audit.CallRow{
				Timestamp: session.Time{Time: now}, EntryPlace: session.EntryPlace{SessionPath: "/s/" + name + ".jsonl", SessionID: name, EntryName: session.EntryName{EntryID: "e1"}, CWD: "/home/dev/" + name}, Tool: name,
				Arguments: name + strings.Repeat("x", 3000), Status: "error", Result: []string{"", name, "more"}, Command: true,
			}
			if req.Risky {
				row.Matches = []audit.RuleMatch{{Rule: "superuser", Severity: "high", Clause: "sudo " + name}, {Rule: "credentials", Severity: "high", Clause: name}}
			}
			return 41, visit(row)
		},
	}
}

// render is a report with links to sessions.
func render(t *testing.T, src *Source, name string) string {
	t.Helper()
	v := &View{Home: "/home/dev", Now: now, Session: func(path, _, entry string) string {
		if strings.Contains(path, "javascript") {
			return "javascript:alert(1)"
		}
		return "week-sessions/s.html#" + entry
	}}
	page := &Report{Title: "Agent report: " + html.Line(name), Facts: []Fact{{Name: "Sessions", Value: "1"}, {Name: "Only project", Value: html.Line(name)}}, Coverage: html.Line(name)}
	usage, err := v.Usage(t.Context(), src, audit.Request{})
	if err != nil {
		t.Fatal(err)
	}
	tools, err := v.Audit(t.Context(), src, audit.Request{})
	if err != nil {
		t.Fatal(err)
	}
	hit := search.SessionHit{SessionFacts: search.SessionFacts{SessionPath: "/s/" + name + ".jsonl", SessionID: name, Title: name, CWD: "/home/dev/" + name, Modified: session.Time{Time: now}, Messages: 3, Spent: price.Spent{Cost: 1.5}}}
	facts := search.SessionFacts{SessionPath: "/s/" + name + ".jsonl", SessionID: name, Title: name, CWD: "/home/dev/" + name}
	done := &recap.Response{Total: 3, Sessions: []recap.Session{{SessionFacts: facts}, {SessionFacts: facts, Prompts: 2, Facts: []recap.Fact{
		{What: recap.Changed, EntryName: session.EntryName{EntryID: "e7"}, Text: "/home/dev/" + name + "/main.go", Edits: 3},
		{What: recap.Failed, EntryName: session.EntryName{EntryID: "e8"}, Text: "go test " + name, Error: name, Passed: &recap.Pass{EntryName: session.EntryName{EntryID: "e9"}}},
		{What: recap.Commit, EntryName: session.EntryName{EntryID: "e10"}, Text: name, Hash: "1507f8b"},
		{What: recap.Open, EntryName: session.EntryName{EntryID: "e11"}, Text: name, SessionPath: "/s/subagent.jsonl"},
		{What: recap.Closing, Offset: 7, Text: name},
	}}}}
	page.Sections = append(append(append(usage, v.Recap(done)), tools...), v.Sessions(&sessions.Response{Sessions: []sessions.Session{{SessionHit: hit}}}))
	var b strings.Builder
	if err := page.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A report has every section, with its figures.
func TestReport(t *testing.T) {
	out := render(t, answers("bash", 50), "week")
	for _, want := range []string{
		`<section class="part" id="usage">`, `<section class="part" id="tools">`, `<section class="part" id="failures">`, `<section class="part" id="risky">`, `<section class="part" id="commands">`, `<section class="part" id="files">`, `<section class="part" id="sessions">`,
		"Calendar of days", "Cost by day and model", "Tokens by day and model", "Calls by day", "1m01s",
		`<a href="#usage"><b>$1.50</b> cost</a>`, `<a href="#usage"><b>0</b> tokens</a>`, `<a href="#tools"><b>20</b> calls</a>`, `<a href="#failures"><b>41</b> failed</a>`, `<a href="#risky"><b>1</b> risky</a>`,
		`<section class="part" id="done">`, "Counted and quoted, the latest session first; 1 earlier session (pigrep recap)", "~/week · 2 turns", "1: main.go", "1 passed later: go test week", "1: 1507f8b week",
		`<a href="week-sessions/s.html#e7">changed</a>`, `<a href="week-sessions/s.html#">open</a>`, `<a href="week-sessions/s.html#">ends</a>`, `1 prompt without a reply: &#34;week&#34;`,
		"40 more calls", "worth a look, not proof of harm", "high: runs as another user", "<code>sudo bash</code>", `<span class="fact">also credentials</span>`,
		`<a href="week-sessions/s.html#e1">2026-03-20 12:00</a>`,
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(out, strings.Repeat("x", 2500)) {
		t.Error("a long argument is not cut")
	}
	empty := render(t, answers("", 0), "nothing")
	for _, want := range []string{"Nothing was used in this time.", "No tool was called in this time."} {
		if !strings.Contains(empty, want) {
			t.Errorf("an empty report does not say %q", want)
		}
	}
}

// What sessions say does nothing in a page, and the policy allows nothing but its style.
func TestHostile(t *testing.T) {
	out := render(t, answers(hostile+"javascript", 3), hostile)
	for _, bad := range []string{"<script", "<img", `<svg onload`, "javascript:", "\x1b", "\u202e", " style="} {
		if strings.Contains(strings.ToLower(out), bad) {
			t.Errorf("the page has %q", bad)
		}
	}
	m := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindAllStringSubmatch(out, -1)
	if len(m) != 1 {
		t.Fatalf("%d style sheets", len(m))
	}
	sum := sha256.Sum256([]byte(m[0][1]))
	if want := "style-src &#39;sha256-" + strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;") + "&#39;"; !strings.Contains(out, want) {
		t.Errorf("the policy does not allow the style sheet: %s", want)
	}
}

// An error of a source ends a report.
func TestSourceFails(t *testing.T) {
	broken := errors.New("damaged")
	src := answers("bash", 3)
	src.Files = func(context.Context, audit.Request) (*audit.FileTable, error) { return nil, broken }
	if _, err := (&View{Now: now}).Audit(t.Context(), src, audit.Request{}); !errors.Is(err, broken) {
		t.Errorf("Audit() = %v", err)
	}
}

// A page lists no more sessions than browsers can show, and says how many more there are.
func TestMostSessions(t *testing.T) {
	list := &sessions.Response{Sessions: make([]sessions.Session, mostSessions+7)}
	s := (&View{Now: time.Unix(0, 0)}).Sessions(list)
	if rows := s.Tables[0]; len(rows.Rows) != mostSessions || rows.More != "7 more sessions (pigrep sessions)" {
		t.Errorf("%d rows, and %q", len(rows.Rows), rows.More)
	}
	if s.Note != "1,007 sessions" {
		t.Errorf("note %q", s.Note)
	}
}
