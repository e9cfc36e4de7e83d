package audit

import (
	"cmp"
	"container/heap"
	"context"
	"slices"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/record"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/entry"
)

// CallRow is one call of a tool.
type CallRow struct {
	Type        string       `json:"type"` // "call"
	Timestamp   session.Time `json:"timestamp,omitzero"`
	SessionPath string       `json:"sessionPath"`
	SessionID   string       `json:"sessionId,omitempty"`
	SessionName string       `json:"sessionName,omitempty"`
	Agent       string       `json:"agent,omitempty"` // as of session.ShortAgent
	Kept        bool         `json:"kept,omitempty"`  // its file is gone, and this is a copy
	Host        string       `json:"host,omitempty"`  // that has it, if not this one
	ShortID     string       `json:"-"`               // as of SessionFacts, if another machine has it
	CWD         string       `json:"cwd,omitempty"`
	EntryID     string       `json:"entryId,omitempty"`
	Offset      int64        `json:"offset"` // of the entry
	Part        *int         `json:"part,omitempty"`
	Kind        string       `json:"kind"` // call, nested, shell, missing
	Tool        string       `json:"tool"`
	Action      string       `json:"action"` // what it does: session.Deeds
	ToolCallID  string       `json:"toolCallId,omitempty"`
	Model       string       `json:"model,omitempty"`

	Arguments string `json:"arguments"` // on one line, or the shell command as typed
	Cut       bool   `json:"cut,omitempty"`
	Command   bool   `json:"command,omitempty"` // Arguments is a shell command

	Status        string      `json:"status"` // ok, error, rejected, no match, none (no result), or missing (no call)
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
		return slices.IndexFunc(shellcmd.Rules(), func(r shellcmd.Rule) bool { return r.ID == m.Rule })
	}
	list = slices.Clone(list)
	lists.Sort(list, func(a, b RuleMatch) int {
		i, j := order(a), order(b)
		return cmp.Or(cmp.Compare(shellcmd.Rules()[i].Severity, shellcmd.Rules()[j].Severity), cmp.Compare(i, j))
	})
	return list
}

// newMatches returns the rules that a call matches, the most severe first.
func newMatches(found []shellcmd.Found) []RuleMatch {
	return BySeverity(lists.Map(found, func(f shellcmd.Found) RuleMatch {
		return RuleMatch{f.Rule.ID, f.Rule.Severity.String(), f.Clause}
	}))
}

// CallList is the answer of Calls. Each must be called once. All fields are final before
// that, but Warnings, to which Each adds the files that it cannot read.
type CallList struct {
	Each  func(ctx context.Context, visit func(*CallRow) error) error `json:"-"` // the latest call first
	Total int                                                         // before the limit; -1 when only Each finds out
	Covered
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
	if err != nil {
		return nil, err
	}
	list := &CallList{Covered: x.covered()}
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

// callFiles returns the sessions with calls that pass the filters.
func (x *auditor) callFiles(entries *entry.Reader) (files []*callFile, err error) {
	evaluator := shellcmd.NewEvaluator()
	read := x.facts.WithoutDetails
	if x.req.Commands { // a shell command may be known by its details only
		read = x.facts.All
	}
	err = x.eachPiece(read, func(f *file, p *record.Piece) error {
		return x.visitCalls(f, p, func(i int) {
			if n := len(files); n == 0 || files[n-1].file != f {
				files = append(files, &callFile{file: f, x: x, entries: entries, rules: evaluator})
			}
			last := files[len(files)-1]
			if n := len(last.runs); n == 0 || last.runs[n-1].piece != p.Index {
				last.runs = append(last.runs, &callRun{callFile: last, piece: p.Index})
			}
			run := last.runs[len(last.runs)-1]
			run.calls = append(run.calls, timedCall{f.millis(p.Calls.Time.At(i)), int32(i)})
		})
	})
	return files, err
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
		Type: "call", Timestamp: session.Time{Time: f.timeOf(c.Time)}, SessionPath: f.Path, SessionID: f.ID, SessionName: f.Name, Agent: session.ShortAgent(f.Agent), Kept: f.Kept, CWD: f.CWD,
		Offset: c.Offset, Kind: c.Kind.String(), Tool: c.Tool, Action: c.Deed.String(), ToolCallID: c.ID, Model: c.Model,
		Arguments: c.Line, Cut: c.Cut, Command: c.Shell, Status: status(record.FlagsOf(c)), Bytes: c.Bytes,
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
func status(f record.CallFlags) string {
	switch {
	case f.Kind() == session.CallMissing:
		return "missing"
	case !f.HasResult():
		return "none"
	case f.Failed():
		return "error"
	case f.Rejected():
		return "rejected"
	case f.NoMatch():
		return "no match"
	}
	return "ok"
}
