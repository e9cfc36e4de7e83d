package audit

import (
	"bytes"
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/record"
	rules "pigrep/internal/audit"
	"pigrep/internal/session"
	"pigrep/query"
	"pigrep/query/entry"
)

// CallRow is one call of a tool.
type CallRow struct {
	Type        string       `json:"type"` // "call"
	Timestamp   session.Time `json:"timestamp,omitzero"`
	SessionPath string       `json:"sessionPath"`
	SessionID   string       `json:"sessionId,omitempty"`
	SessionName string       `json:"sessionName,omitempty"`
	CWD         string       `json:"cwd,omitempty"`
	EntryID     string       `json:"entryId,omitempty"`
	Offset      int64        `json:"offset"` // of the entry
	Part        *int         `json:"part,omitempty"`
	Kind        string       `json:"kind"` // call, nested, shell, missing
	Tool        string       `json:"tool"`
	ToolCallID  string       `json:"toolCallId,omitempty"`
	Model       string       `json:"model,omitempty"`

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
	Unparsed      bool     `json:"unparsed,omitempty"` // the shell command cannot be parsed
	Rules         []string `json:"rules,omitempty"`
	Result        []string `json:"result,omitempty"` // its first lines, with Request.Results
}

// CallList is the answer of Calls. Each must be called once. All fields are final before
// that, but Warnings, to which Each adds the files that it cannot read.
type CallList struct {
	Each     func(visit func(*CallRow) error) error // the latest call first
	Total    int                                    // before the limit; -1 when only Each finds out
	Coverage Coverage
	Warnings []string
	Index    query.IndexState
}

// resultLines is how many lines of a result are shown.
const resultLines = 5

// Calls lists calls. The facts of a session are read when its latest call is
// reached, and kept in memory until its first one is listed; so are those of the
// sessions that ran meanwhile. With Request.Results it reads the first lines of each
// result from its session file.
func Calls(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*CallList, error) {
	x, err := newAuditor(ctx, r, &req, record.FactDetails)
	if err != nil {
		return nil, err
	}
	if err := x.matchText(a, src); err != nil {
		return nil, err
	}
	list := &CallList{}
	entries := entry.NewReader(src, a)
	var runs callRuns
	err = x.eachCall(func(f *file, number int, c *session.CallFact) {
		if n := len(runs); n == 0 || runs[n-1].file != f {
			runs = append(runs, &callRun{callFile: callFile{file: f, x: x, entries: entries}})
		}
		run := runs[len(runs)-1]
		run.calls = append(run.calls, timedCall{f.timeOf(c.Time).UnixMilli(), int32(number)})
		list.Total++
	})
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		slices.SortFunc(run.calls, func(a, b timedCall) int { // clocks can run backwards
			return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.number, a.number))
		})
	}
	if len(req.Args) > 0 {
		list.Total = -1
	}
	list.Coverage, list.Warnings, list.Index = x.coverage, x.warnings, query.StateOf(x.r)
	list.Each = func(visit func(*CallRow) error) error {
		defer func() {
			entries.Use(nil)
			list.Warnings = x.warnings
		}()
		return runs.each(&req, visit)
	}
	return list, nil
}

// each visits the calls of all runs, the latest first, up to the limit of the request.
func (h *callRuns) each(req *Request, visit func(*CallRow) error) error {
	heap.Init(h)
	for left := req.Limit; h.Len() > 0; {
		run := (*h)[0]
		row, err := run.next(req)
		if err != nil {
			return err
		}
		if run.calls = run.calls[1:]; len(run.calls) == 0 {
			heap.Pop(h)
		} else {
			heap.Fix(h, 0)
		}
		if row == nil {
			continue
		}
		if req.Redact {
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

// callRun is the listed calls of one session.
type callRun struct {
	callFile
	calls []timedCall    // not yet visited, the latest first
	facts *session.Facts // nil until the first call is visited
}

// timedCall is a call of a session.
type timedCall struct {
	at     int64 // Unix milliseconds
	number int32 // among the calls of the session
}

// next returns the row of the first call that was not visited yet, nil when its
// arguments do not pass.
func (r *callRun) next(req *Request) (*CallRow, error) {
	if r.facts == nil {
		r.facts = &session.Facts{}
		var outlineErr error
		r.outline, outlineErr = r.x.r.Outline(r.File, nil)
		if err := errors.Join(r.x.ctx.Err(), outlineErr, r.x.facts.Decode(r.File, r.facts)); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Path, err)
		}
	}
	number := int(r.calls[0].number)
	if len(req.Args) > 0 && !r.passesArgs(r.facts.Calls, number, req.Args) {
		return nil, nil
	}
	c := &r.facts.Calls[number]
	row := newCallRow(r.file, c)
	row.EntryID = entryID(r.outline, c.Offset)
	if c.HasResult {
		row.ResultEntryID = entryID(r.outline, c.Result)
	}
	if req.Results && c.HasResult {
		row.Result = r.result(c)
	}
	return row, nil
}

// callRuns is a heap of sessions: the one with the latest call first, ties by path.
type callRuns []*callRun

func (h callRuns) Len() int      { return len(h) }
func (h callRuns) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *callRuns) Push(any)     {} // all runs are known from the start

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

// newCallRow returns the row of a call as far as its facts say.
func newCallRow(f *file, c *session.CallFact) *CallRow {
	row := &CallRow{
		Type: "call", Timestamp: session.Time{Time: f.timeOf(c.Time)}, SessionPath: f.Path, SessionID: f.ID, SessionName: f.Name, CWD: f.CWD,
		Offset: c.Offset, Kind: c.Kind.String(), Tool: c.Tool, ToolCallID: c.ID, Model: c.Model,
		Arguments: c.Line, Cut: c.Cut, Command: c.Shell, Status: status(c), Bytes: c.Bytes,
		Programs: c.Programs, Unparsed: c.Broken, Rules: rules.RuleIDs(c.Rules),
	}
	if c.Part >= 0 {
		row.Part = &c.Part
	}
	if c.HasResult {
		row.ResultOffset = &c.Result
	}
	if c.Exit != session.Unknown {
		row.ExitCode = &c.Exit
	}
	if c.Duration != session.Unknown {
		row.Duration = &c.Duration
	}
	return row
}

// status returns the outcome of a call.
func status(c *session.CallFact) string {
	switch {
	case c.Kind == session.CallMissing:
		return "missing"
	case !c.HasResult:
		return "none"
	case c.Failed:
		return "error"
	}
	return "ok"
}

// callFile reads entries of a session file.
type callFile struct {
	*file
	x       *auditor
	entries *entry.Reader
	outline *record.Outline // nil when the file has no record
	broken  bool            // an entry could not be read
}

// entryID returns the id of the entry at an offset, "" when there is none.
func entryID(o *record.Outline, offset int64) string {
	if o == nil {
		return ""
	}
	e, _ := o.At(offset)
	return e.ID
}

// entry visits the entry at an offset. A file that cannot be read is reported once, and
// not tried again.
func (f *callFile) entry(offset int64, visit func(*session.Entry, *session.View)) {
	if f.broken {
		return
	}
	err := entry.ErrChanged
	if f.outline != nil {
		n, ok := f.outline.At(offset)
		if !ok {
			return
		}
		f.entries.Use(f.Summary)
		err = f.entries.View(entry.RefOf(&n.Node), entry.Identity{ID: n.ID}, visit)
	}
	if err != nil {
		f.broken = true
		f.x.warnings = append(f.x.warnings, fmt.Sprintf("%s: %v", f.Path, err))
	}
}

// result returns the first lines of a call's result.
func (f *callFile) result(c *session.CallFact) (lines []string) {
	want := session.KindResult
	if c.Kind == session.CallShell {
		want = session.KindShell
	} else if c.Kind == session.CallNested {
		return nil // session files do not keep it
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

// passesArgs reports whether the arguments of a call pass all tests.
func (f *callFile) passesArgs(calls []session.CallFact, number int, tests []ArgTest) bool {
	c := &calls[number]
	nth := 0 // among the calls of the same kind in its entry
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
