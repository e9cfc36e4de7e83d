package query

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/audit"
	"pigrep/internal/session"
)

// CallRow is one call of a tool.
type CallRow struct {
	Type        string `json:"type"` // "call"
	Timestamp   Time   `json:"timestamp,omitzero"`
	SessionPath string `json:"sessionPath"`
	SessionID   string `json:"sessionId,omitempty"`
	SessionName string `json:"sessionName,omitempty"`
	CWD         string `json:"cwd,omitempty"`
	EntryID     string `json:"entryId,omitempty"`
	Offset      int64  `json:"offset"` // of the entry
	Part        *int   `json:"part,omitempty"`
	Kind        string `json:"kind"` // call, nested, shell, missing
	Tool        string `json:"tool"`
	ToolCallID  string `json:"toolCallId,omitempty"`
	Model       string `json:"model,omitempty"`

	Arguments string `json:"arguments"` // on one line, or the shell command as typed
	Cut       bool   `json:"cut,omitempty"`
	Command   bool   `json:"command,omitempty"` // Arguments is a shell command

	Status        string   `json:"status"` // ok, error, none (no result), or missing (no call)
	ResultEntryID string   `json:"resultEntryId,omitempty"`
	ResultOffset  *int64   `json:"resultOffset,omitempty"`
	ExitCode      *int32   `json:"exitCode,omitempty"`
	Duration      *int32   `json:"durationMs,omitempty"`
	Bytes         int64    `json:"outputBytes"`
	Programs      []string `json:"programs,omitempty"`
	Unparsed      bool     `json:"unparsed,omitempty"` // the shell command is not one that can be parsed
	Rules         []string `json:"rules,omitempty"`
	Result        []string `json:"result,omitempty"` // its first lines, when they were asked for
}

// CallList is the answer to a request for calls. Each must be called once; Total
// and what follows are right before that, but for warnings that come with reading.
type CallList struct {
	Each     func(visit func(*CallRow) error) error // the latest call first
	Total    int                                    // before the limit; -1 when that takes reading the session files
	Coverage Coverage
	Warnings []string
	Index    IndexState
}

// resultLines is how many lines of a result are shown.
const resultLines = 5

// Calls lists calls. The facts of a session are read when its latest call is
// reached, and held in memory until its first one is; so are those of the sessions
// that ran meanwhile. With results it reads the first lines of each call's result
// from its session file.
func Calls(ctx context.Context, r *index.Reader, a adapter.Adapter, src Source, req AuditRequest, results bool) (*CallList, error) {
	x, err := newAuditor(ctx, r, a, src, &req, index.FactDetails)
	if err != nil {
		return nil, err
	}
	list := &CallList{}
	var runs callRuns
	err = x.eachCall(func(f *auditFile, number int, c *session.CallFact) {
		if n := len(runs); n == 0 || runs[n-1].auditFile != f {
			runs = append(runs, &callRun{callFile: callFile{auditFile: f, x: x, a: a, src: src}})
		}
		run := runs[len(runs)-1]
		run.calls = append(run.calls, timedCall{f.timeOf(c.Time).UnixMilli(), int32(number)})
		list.Total++
	})
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		slices.SortFunc(run.calls, func(a, b timedCall) int { // clocks run backwards
			return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.number, a.number))
		})
	}
	if len(req.Args) > 0 {
		list.Total = -1
	}
	list.Coverage, list.Warnings, list.Index = x.cover, x.warnings, x.state()
	list.Each = func(visit func(*CallRow) error) error {
		defer func() { list.Warnings = x.warnings }() // of files that cannot be read any more
		heap.Init(&runs)
		for left := req.Limit; len(runs) > 0; {
			run := runs[0]
			row, err := run.next(req.Args, results)
			if err != nil {
				return err
			}
			if run.calls = run.calls[1:]; len(run.calls) == 0 {
				heap.Pop(&runs)
			} else {
				heap.Fix(&runs, 0)
			}
			if row == nil {
				continue
			}
			if x.req.Redact {
				row.redact()
			}
			if err := visit(row); err != nil {
				return err
			}
			if left--; left == 0 {
				return nil
			}
		}
		return nil
	}
	return list, nil
}

// callRun is the calls of one session that are listed.
type callRun struct {
	callFile
	calls []timedCall // that are left, the latest first
	facts *session.Facts
}

// timedCall is a call of a session by its number, and when it was, in
// milliseconds since 1970.
type timedCall struct {
	at     int64
	number int32
}

// next returns the first call that is left, nil when the arguments do not match.
func (r *callRun) next(args []ArgTest, results bool) (*CallRow, error) {
	if r.facts == nil {
		r.facts = &session.Facts{}
		var outlineErr error
		r.outline, outlineErr = r.x.r.Outline(r.File, nil)
		if err := errors.Join(r.x.ctx.Err(), outlineErr, r.x.set.Of(r.File, r.facts)); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Path, err)
		}
	}
	number := int(r.calls[0].number)
	if len(args) > 0 && !r.passes(r.facts.Calls, number, args) {
		return nil, nil
	}
	c := &r.facts.Calls[number]
	row := r.x.row(r.auditFile, c)
	row.EntryID = entryID(r.outline, c.Offset)
	if c.HasResult {
		row.ResultEntryID = entryID(r.outline, c.Result)
	}
	if results && c.HasResult {
		row.Result = r.result(c)
	}
	return row, nil
}

// callRuns is a heap of sessions: the one with the latest call comes first, of
// equals the first by path.
type callRuns []*callRun

func (h callRuns) Len() int      { return len(h) }
func (h callRuns) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *callRuns) Push(any)     {} // runs are all there from the start

func (h callRuns) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(cmp.Compare(b.calls[0].at, a.calls[0].at), cmp.Compare(a.Path, b.Path)) < 0
}

func (h *callRuns) Pop() any {
	last := len(*h) - 1
	run := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return run
}

func (x *auditor) row(f *auditFile, c *session.CallFact) *CallRow {
	row := &CallRow{
		Type: "call", Timestamp: Time{f.timeOf(c.Time)}, SessionPath: f.Path, SessionID: f.ID, SessionName: f.Name, CWD: f.CWD,
		Offset: c.Offset, Kind: c.Kind.String(), Tool: c.Tool, ToolCallID: c.ID, Model: c.Model,
		Arguments: c.Line, Cut: c.Cut, Command: c.Shell, Status: "ok", Bytes: c.Bytes,
		Programs: c.Programs, Unparsed: c.Broken, Rules: audit.RuleIDs(c.Rules),
	}
	if c.Part >= 0 {
		row.Part = &c.Part
	}
	if c.HasResult {
		row.ResultOffset = &c.Result
	}
	switch {
	case c.Kind == session.CallMissing:
		row.Status = "missing"
	case !c.HasResult:
		row.Status = "none"
	case c.Failed:
		row.Status = "error"
	}
	if c.Exit != session.Unknown {
		row.ExitCode = &c.Exit
	}
	if c.Duration != session.Unknown {
		row.Duration = &c.Duration
	}
	return row
}

// callFile reads entries of a session file again.
type callFile struct {
	*auditFile
	x       *auditor
	a       adapter.Adapter
	src     Source
	outline *index.Outline // nil when the file has no record
	broken  bool
}

// entryID returns the id of the entry at an offset, "" when there is none.
func entryID(o *index.Outline, offset int64) string {
	if o == nil {
		return ""
	}
	e, _ := o.At(offset)
	return e.ID
}

// entry reads the entry at an offset, and hands it over. What cannot be read any
// more is left out, and said once.
func (f *callFile) entry(offset int64, visit func(*session.Entry, *session.View)) {
	if f.broken {
		return
	}
	fail := func(err error) {
		f.broken = true
		f.x.warnings = append(f.x.warnings, fmt.Sprintf("%s: %v", f.Path, err))
	}
	if f.outline == nil {
		fail(ErrChanged)
		return
	}
	n, ok := f.outline.At(offset)
	if !ok {
		return
	}
	data, err := readFrom(f.src, f.Path, n.Offset, n.Length)
	if err != nil {
		fail(err)
		return
	}
	found := false
	line := adapter.Line{Data: data, Raw: data, Offset: n.Offset, Number: n.Line, Ended: true}
	adapter.View(f.a, adapter.State{Path: f.Path, Header: f.Header}, line, func(e *session.Entry, v *session.View) {
		if e.ID == n.ID {
			found = true
			visit(e, v)
		}
	})
	if !found {
		fail(ErrChanged)
	}
}

// result returns the first lines of a call's result.
func (f *callFile) result(c *session.CallFact) (lines []string) {
	want := session.KindResult
	if c.Kind == session.CallShell {
		want = session.KindShell
	} else if c.Kind == session.CallNested {
		return nil // sessions do not keep it
	}
	f.entry(c.Result, func(_ *session.Entry, v *session.View) {
		for _, b := range v.Blocks {
			if b.Kind != want {
				continue
			}
			for line := range bytes.Lines(b.Text) {
				if len(lines) == resultLines {
					return
				}
				if text := strings.TrimRight(string(line), "\r\n"); text != "" {
					lines = append(lines, text)
				}
			}
		}
	})
	return lines
}

// passes reports whether a call has the arguments.
func (f *callFile) passes(calls []session.CallFact, number int, tests []ArgTest) bool {
	c := &calls[number]
	nth := 0 // of the calls of its entry and kind
	for i := number - 1; i >= 0 && calls[i].Offset == c.Offset; i-- {
		if calls[i].Kind == c.Kind {
			nth++
		}
	}
	ok := false
	f.entry(c.Offset, func(_ *session.Entry, v *session.View) {
		for _, b := range v.Blocks {
			if b.Shell != nil && c.Kind == session.CallShell {
				ok = len(tests) == 1 && tests[0].Name == "command" && tests[0].Match(b.Shell.Command)
				return
			}
			if b.Call == nil || b.Call.Nested != (c.Kind == session.CallNested) {
				continue
			}
			if nth > 0 {
				nth--
				continue
			}
			ok = !slices.ContainsFunc(tests, func(t ArgTest) bool {
				return !slices.ContainsFunc(b.Call.Arguments, func(a session.Argument) bool {
					return a.Name == t.Name && t.Match(string(a.Value))
				})
			})
			return
		}
	})
	return ok
}

// CommandRow is a program that shell commands ran, with its subcommand.
type CommandRow struct {
	Type     string `json:"type"` // "command"
	Program  string `json:"program"`
	Runs     int    `json:"runs"`   // as often as it stands in a command
	Calls    int    `json:"calls"`  // commands that run it
	Failed   int    `json:"failed"` // of these
	Sessions int    `json:"sessions"`
	Risky    int    `json:"risky"` // of the calls, those that match a rule
	Last     Time   `json:"lastUsed,omitzero"`
}

// CommandTable is the answer to a request for the programs that were run.
type CommandTable struct {
	Rows     []CommandRow
	Calls    int // shell commands
	Unparsed int // of these, those that cannot be parsed; of each the first word counts
	Coverage Coverage
	Warnings []string
	Index    IndexState
}

type commandGroup struct {
	row   CommandRow
	files fileSet
	last  int64
	call  int
}

// Commands counts what shell commands ran.
func Commands(ctx context.Context, r *index.Reader, a adapter.Adapter, src Source, req AuditRequest) (*CommandTable, error) {
	req.Commands = true
	x, err := newAuditor(ctx, r, a, src, &req, index.FactCalls)
	if err != nil {
		return nil, err
	}
	t := &CommandTable{}
	var table groups[commandGroup]
	var key [1]string
	err = x.eachCall(func(f *auditFile, _ int, c *session.CallFact) {
		t.Calls++
		if c.Broken {
			t.Unparsed++
		}
		for _, p := range c.Programs {
			key[0] = p
			g := table.of(key[:], func(keys []string) *commandGroup {
				return &commandGroup{row: CommandRow{Type: "command", Program: keys[0]}}
			})
			g.row.Runs++
			if g.call == t.Calls {
				continue
			}
			g.call = t.Calls
			g.row.Calls++
			if c.Failed {
				g.row.Failed++
			}
			if c.Rules != 0 {
				g.row.Risky++
			}
			g.files.add(f.File)
			g.last = max(g.last, f.timeOf(c.Time).UnixMilli())
		}
	})
	if err != nil {
		return nil, err
	}
	for _, g := range table.rows {
		g.row.Sessions, g.row.Last = g.files.n, Time{time.UnixMilli(g.last).UTC()}
		t.Rows = append(t.Rows, g.row)
	}
	slices.SortFunc(t.Rows, func(a, b CommandRow) int {
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Program, b.Program))
	})
	t.Coverage, t.Warnings, t.Index = x.cover, x.warnings, x.state()
	return t, nil
}
