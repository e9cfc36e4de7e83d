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

// Calls lists calls. Of each it keeps the time and the place. The facts are read piece
// by piece when the latest call of a piece is reached, and forgotten when its earliest one
// has been listed. With Request.Results it reads the first lines of each result from its
// session file.
func Calls(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*CallList, error) {
	x, err := newAuditor(ctx, r, &req, record.CallFacts, record.DetailFacts)
	if err != nil {
		return nil, err
	}
	if err := x.matchText(a, src); err != nil {
		return nil, err
	}
	entries := entry.NewReader(src, a)
	files, err := x.callFiles(entries)
	if err == nil && req.ruled() {
		err = x.applyRules(files, a, src)
	}
	if err != nil {
		return nil, err
	}
	list := &CallList{Coverage: x.coverage, Warnings: x.warnings, Index: search.StateOf(x.r)}
	runs, total := sortedRuns(files)
	if list.Total = total; len(req.Args) > 0 {
		list.Total = -1
	}
	list.Each = func(ctx context.Context, visit func(*CallRow) error) error {
		defer func() {
			entries.Use(nil)
			for _, f := range files {
				if f.warning != "" {
					list.Warnings = append(list.Warnings, f.warning)
				}
			}
		}()
		return runs.each(ctx, &req, visit)
	}
	return list, nil
}

// ruled reports whether the request asks only for calls that match rules.
func (r *Request) ruled() bool { return r.Risky || len(r.Rules) > 0 }

// callFiles returns the sessions with calls that pass the filters. If rules are to be
// applied, the duplicates are among the calls.
func (x *auditor) callFiles(entries *entry.Reader) (files []*callFile, err error) {
	evaluator := shellcmd.NewEvaluator()
	collect := func(f *file, p *record.Piece, i int, duplicate bool) {
		if n := len(files); n == 0 || files[n-1].file != f {
			files = append(files, &callFile{file: f, x: x, entries: entries, rules: evaluator})
		}
		last := files[len(files)-1]
		if n := len(last.runs); n == 0 || last.runs[n-1].piece != p.Index {
			last.runs = append(last.runs, &callRun{callFile: last, piece: p.Index})
		}
		run := last.runs[len(last.runs)-1]
		run.calls = append(run.calls, timedCall{f.millis(p.Calls.Time.At(i)), int32(i), duplicate})
	}
	if x.req.ruled() {
		x.visitCopy = func(f *file, p *record.Piece, i int) { collect(f, p, i, true) }
	}
	read := x.facts.WithoutDetails
	if x.req.Commands { // a shell command may be known by its details only
		read = x.facts.All
	}
	err = x.eachPiece(read, func(f *file, p *record.Piece) error {
		return x.visitCalls(f, p, func(i int) { collect(f, p, i, false) })
	})
	return files, err
}

// applyRules removes the calls that match none of the rules that the request asks for,
// and all duplicates. Those that match are counted.
func (x *auditor) applyRules(files []*callFile, a adapter.Adapter, src entry.Source) error {
	group, ctx := errgroup.WithContext(x.ctx)
	next, duplicates := atomic.Int64{}, atomic.Int64{}
	for range min(len(files), runtime.GOMAXPROCS(0)) {
		entries, evaluator := entry.NewReader(src, a), shellcmd.NewEvaluator()
		group.Go(func() error {
			defer entries.Use(nil)
			for {
				i := int(next.Add(1)) - 1
				if i >= len(files) || ctx.Err() != nil {
					return ctx.Err()
				}
				f := *files[i]
				f.entries, f.rules = entries, evaluator
				copies, err := f.applyRules(ctx)
				if err != nil {
					return err
				}
				duplicates.Add(int64(copies))
				files[i].warning = f.warning
			}
		})
	}
	err := group.Wait()
	x.coverage.Copies += int(duplicates.Load())
	return err
}

// applyRules is auditor.applyRules for one session. It returns how many duplicates match.
func (f *callFile) applyRules(ctx context.Context) (duplicates int, err error) {
	for _, run := range f.runs {
		loaded := callRun{callFile: f, piece: run.piece}
		if err := loaded.load(ctx, false); err != nil {
			return 0, err
		}
		run.calls = slices.DeleteFunc(run.calls, func(c timedCall) bool {
			if !f.x.req.asksFor(loaded.matchedRules(int(c.number))) {
				return true
			}
			if c.duplicate {
				duplicates++
			}
			return c.duplicate
		})
	}
	return duplicates, nil
}

// sortedRuns returns the runs that have calls, with these in the order of the list, and
// the number of all calls.
func sortedRuns(files []*callFile) (runs callRuns, calls int) {
	for _, f := range files {
		for _, run := range f.runs {
			if len(run.calls) == 0 {
				continue
			}
			slices.SortFunc(run.calls, func(a, b timedCall) int { // clocks can run backwards
				return cmp.Or(cmp.Compare(b.at, a.at), cmp.Compare(b.number, a.number))
			})
			f.unread++
			calls += len(run.calls)
			runs = append(runs, run)
		}
		f.runs = nil
	}
	heap.Init(&runs)
	return runs, calls
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
	for left := req.Limit; h.Len() > 0; {
		run := (*h)[0]
		row, err := run.next(ctx, req)
		if err != nil {
			return err
		}
		if run.calls = run.calls[1:]; len(run.calls) == 0 {
			heap.Pop(h)
			run.release()
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
