package audit

import (
	"cmp"
	"container/heap"
	"context"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/entry"
	"pigrep/query/search"
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

	Status        string      `json:"status"` // ok, error, none (no result), or missing (no call)
	ResultEntryID string      `json:"resultEntryId,omitempty"`
	ResultOffset  *int64      `json:"resultOffset,omitempty"`
	ExitCode      *int32      `json:"exitCode,omitempty"`
	Duration      *int32      `json:"durationMs,omitempty"`
	Bytes         int64       `json:"outputBytes"`
	Programs      []string    `json:"programs,omitempty"`
	Unparsed      bool        `json:"unparsed,omitempty"` // the shell command cannot be parsed
	Rules         []string    `json:"rules,omitempty"`
	Matches       []RuleMatch `json:"matches,omitempty"` // of the rules, the most severe first
	Result        []string    `json:"result,omitempty"`  // its first lines, with Request.Results
}

// RuleMatch is a rule that a call matches, with the part of it that does.
type RuleMatch struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Clause   string `json:"clause"` // of the shell command, or the file
}

// BySeverity sorts rules by their severity, the most severe first.
func BySeverity(list []RuleMatch) []RuleMatch {
	order := func(m RuleMatch) int {
		return slices.IndexFunc(shellcmd.Rules, func(r shellcmd.Rule) bool { return r.ID == m.Rule })
	}
	return slices.SortedFunc(slices.Values(list), func(a, b RuleMatch) int {
		i, j := order(a), order(b)
		return cmp.Or(cmp.Compare(shellcmd.Rules[i].Severity, shellcmd.Rules[j].Severity), cmp.Compare(i, j))
	})
}

// newMatches returns the rules that a call matches, the most severe first.
func newMatches(found []shellcmd.Found) []RuleMatch {
	var list []RuleMatch
	for _, f := range found {
		list = append(list, RuleMatch{f.Rule.ID, f.Rule.Severity.String(), f.Clause})
	}
	return BySeverity(list)
}

// CallList is the answer of Calls. Each must be called once. All fields are final before
// that, but Warnings, to which Each adds the files that it cannot read.
type CallList struct {
	Each     func(ctx context.Context, visit func(*CallRow) error) error // the latest call first
	Total    int                                                         // before the limit; -1 when only Each finds out
	Coverage Coverage
	Warnings []string
	Index    search.IndexState
}

// resultLines is how many lines of a result are shown.
const resultLines = 5

// Calls lists calls. The facts of a session are read when its latest call is
// reached, and kept in memory until its first one is listed; so are those of the
// sessions that ran meanwhile. With Request.Results it reads the first lines of each
// result from its session file.
func Calls(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*CallList, error) {
	x, err := newAuditor(ctx, r, &req, record.CallFacts, record.DetailFacts)
	if err != nil {
		return nil, err
	}
	if err := x.matchText(a, src); err != nil {
		return nil, err
	}
	list := &CallList{}
	entries := entry.NewReader(src, a)
	evaluator := shellcmd.NewEvaluator()
	var runs callRuns
	collect := func(f *file, p *record.Piece, i int, duplicate bool) {
		if n := len(runs); n == 0 || runs[n-1].file != f {
			runs = append(runs, &callRun{callFile: callFile{file: f, x: x, entries: entries, rules: evaluator}})
		}
		run := runs[len(runs)-1]
		run.calls = append(run.calls, timedCall{f.millis(p.Calls.Time.At(i)), int32(p.Number + i), duplicate})
	}
	ruled := req.Risky || len(req.Rules) > 0
	if ruled {
		x.visitCopy = func(f *file, p *record.Piece, i int) { collect(f, p, i, true) }
	}
	read := x.facts.WithoutDetails
	if req.Commands { // a shell command may be known by its details only
		read = x.facts.All
	}
	err = x.eachPiece(read, func(f *file, p *record.Piece) error {
		return x.visitCalls(f, p, func(i int) { collect(f, p, i, false) })
	})
	if err == nil && ruled {
		err = runs.applyRules(x, a, src)
		runs = slices.DeleteFunc(runs, func(r *callRun) bool { return len(r.calls) == 0 })
	}
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		list.Total += len(run.calls)
		slices.SortFunc(run.calls, func(a, b timedCall) int { // clocks can run backwards
			return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.number, a.number))
		})
	}
	if len(req.Args) > 0 {
		list.Total = -1
	}
	list.Coverage, list.Warnings, list.Index = x.coverage, x.warnings, search.StateOf(x.r)
	all := slices.Clone(runs)
	list.Each = func(ctx context.Context, visit func(*CallRow) error) error {
		defer func() {
			entries.Use(nil)
			for _, run := range all {
				if run.warning != "" {
					list.Warnings = append(list.Warnings, run.warning)
				}
			}
		}()
		return runs.each(ctx, &req, visit)
	}
	return list, nil
}

// applyRules removes the calls that match none of the rules that the request asks for,
// and all duplicates. Those that match are counted.
func (h callRuns) applyRules(x *auditor, a adapter.Adapter, src entry.Source) error {
	group, ctx := errgroup.WithContext(x.ctx)
	next, duplicates := atomic.Int64{}, atomic.Int64{}
	for range min(len(h), runtime.GOMAXPROCS(0)) {
		entries, evaluator := entry.NewReader(src, a), shellcmd.NewEvaluator()
		group.Go(func() error {
			defer entries.Use(nil)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(h) || ctx.Err() != nil {
					return ctx.Err()
				}
				run := *h[i]
				run.entries, run.rules = entries, evaluator
				if err := run.load(ctx, false); err != nil {
					return err
				}
				h[i].warning = run.warning
				h[i].calls = slices.DeleteFunc(run.calls, func(c timedCall) bool {
					if !x.req.asksFor(run.matchedRules(run.facts.Calls, int(c.number))) {
						return true
					}
					if c.duplicate {
						duplicates.Add(1)
					}
					return c.duplicate
				})
			}
		})
	}
	err := group.Wait()
	x.coverage.Copies += int(duplicates.Load())
	return err
}

// asksFor reports whether a request with rules asks for a call that matches these.
func (r *Request) asksFor(matched shellcmd.RuleSet) bool {
	if matched == 0 || len(r.Rules) == 0 {
		return matched != 0
	}
	return slices.ContainsFunc(matched.IDs(), func(id string) bool { return slices.Contains(r.Rules, id) })
}

// each visits the calls of all runs, the latest first, up to the limit of the request.
func (h *callRuns) each(ctx context.Context, req *Request, visit func(*CallRow) error) error {
	heap.Init(h)
	for left := req.Limit; h.Len() > 0; {
		run := (*h)[0]
		row, err := run.next(ctx, req)
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

// newCallRow returns the row of a call as far as its facts say.
func newCallRow(f *file, c *session.CallFact) *CallRow {
	row := &CallRow{
		Type: "call", Timestamp: session.Time{Time: f.timeOf(c.Time)}, SessionPath: f.Path, SessionID: f.ID, SessionName: f.Name, CWD: f.CWD,
		Offset: c.Offset, Kind: c.Kind.String(), Tool: c.Tool, ToolCallID: c.ID, Model: c.Model,
		Arguments: c.Line, Cut: c.Cut, Command: c.Shell, Status: status(c.Kind, c.HasResult, c.Failed), Bytes: c.Bytes,
		Programs: c.Programs, Unparsed: c.Broken,
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
func status(kind session.CallKind, hasResult, failed bool) string {
	switch {
	case kind == session.CallMissing:
		return "missing"
	case !hasResult:
		return "none"
	case failed:
		return "error"
	}
	return "ok"
}
