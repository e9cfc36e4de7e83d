package audit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	Type      string       `json:"type"` // "call"
	Timestamp session.Time `json:"timestamp,omitzero"`
	session.EntryPlace
	Offset     int64  `json:"offset"` // of the entry
	Part       *int   `json:"part,omitempty"`
	Kind       string `json:"kind"` // call, nested, shell, missing
	Tool       string `json:"tool"`
	Action     string `json:"action"` // what it does: session.Deeds
	ToolCallID string `json:"toolCallId,omitempty"`
	Model      string `json:"model,omitempty"`

	Arguments string `json:"arguments" wire:"lines"` // on one line, or the shell command as typed
	Cut       bool   `json:"cut,omitempty"`
	Command   bool   `json:"command,omitempty"` // Arguments is a shell command

	Status        string      `json:"status"` // ok, error, rejected, no match, none (no result), or missing (no call)
	ResultEntryID string      `json:"resultEntryId,omitempty"`
	ShortResultID string      `json:"shortResultEntryId,omitempty"` // as ShortEntryID
	ResultOffset  *int64      `json:"resultOffset,omitempty"`
	ExitCode      *int32      `json:"exitCode,omitempty" wire:"signed"`
	Duration      *int32      `json:"durationMs,omitempty" wire:"signed"`
	Bytes         int64       `json:"outputBytes"`
	Programs      []string    `json:"programs,omitempty"`
	Unparsed      bool        `json:"unparsed,omitempty"` // the shell command cannot be parsed
	Rules         []string    `json:"rules,omitempty"`
	Matches       []RuleMatch `json:"matches,omitempty"`             // of the rules, the most severe first
	Result        []string    `json:"result,omitempty" wire:"lines"` // its first lines, with Request.Results
	LastLine      string      `json:"lastLine,omitempty"`            // of the result, which says more than an exit code if there is one, with Request.Results
}

// RuleMatch is a rule that a call matches, with the part of it that does.
type RuleMatch struct {
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Clause   string `json:"clause" wire:"lines"` // of the shell command, or the file
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

// CallList is the answer of Calls. Each must be called once. Before that, all fields are final but
// Warnings, where Each adds the files that it cannot read.
type CallList struct {
	Each  func(ctx context.Context, visit func(*CallRow) error) error `json:"-"`      // the latest call first
	Total int                                                         `wire:"signed"` // before the limit; -1 when only Each finds out
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
	calls, runs, err := x.listCalls(entries)
	if err != nil {
		return nil, err
	}
	list := &CallList{Covered: x.covered(), Total: len(calls)}
	if len(req.Args) > 0 {
		list.Total = -1
	}
	list.Each = func(ctx context.Context, visit func(*CallRow) error) error {
		defer func() {
			entries.Use(nil)
			for i, r := range runs {
				if r.warning != "" && (i == 0 || runs[i-1].callFile != r.callFile) {
					list.Warnings = append(list.Warnings, r.warning)
				}
			}
		}()
		left := req.Limit
		for _, c := range calls {
			run := runs[c.run]
			row, err := run.row(ctx, &req, int(c.number))
			if err != nil {
				return err
			}
			// What was loaded is forgotten when all of the run, or of the file, has been visited.
			if run.left--; run.left == 0 {
				run.facts = nil
			}
			if run.callFile.left--; run.callFile.left == 0 {
				run.outline = nil
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
				break
			}
		}
		return nil
	}
	return list, nil
}

// listedCall is a call of the list.
type listedCall struct {
	at     int64 // Unix milliseconds
	run    int32 // its number
	number int32 // of the call, in the piece of the run
}

// listCalls returns the calls that pass the filters, the latest first, and the runs that they are in.
func (x *auditor) listCalls(entries *entry.Reader) (calls []listedCall, runs []*callRun, err error) {
	evaluator := shellcmd.NewEvaluator()
	read := x.facts.WithoutDetails
	if x.req.Commands { // a shell command may be known by its details only
		read = x.facts.All
	}
	var of *callFile
	err = x.eachPiece(read, func(f *file, p *record.Piece) error {
		var run *callRun
		return x.visitCalls(f, p, func(i int) {
			if of == nil || of.file != f {
				of = &callFile{file: f, x: x, entries: entries, rules: evaluator}
			}
			if run == nil {
				run = &callRun{callFile: of, piece: p.Index}
				runs = append(runs, run)
			}
			run.left++
			of.left++
			calls = append(calls, listedCall{f.millis(p.Calls.Time.At(i)), int32(len(runs) - 1), int32(i)})
		})
	})
	slices.SortFunc(calls, func(a, b listedCall) int {
		if a.at != b.at { // most
			return cmp.Compare(b.at, a.at)
		}
		x, y := runs[a.run], runs[b.run]
		return cmp.Or(cmp.Compare(x.Path, y.Path), cmp.Compare(y.piece, x.piece), cmp.Compare(b.number, a.number))
	})
	return calls, runs, err
}

// newCallRow returns the row of a call as far as its facts say.
func newCallRow(f *file, c *session.CallFact) *CallRow {
	row := &CallRow{
		Type: "call", Timestamp: session.Time{Time: f.timeOf(c.Time)}, EntryPlace: f.EntryPlace(""),
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

// callFile is a session whose calls are listed. It reads entries of the session file.
type callFile struct {
	*file
	x       *auditor
	entries *entry.Reader
	rules   *shellcmd.Evaluator
	left    int             // calls that were not visited yet
	outline *record.Outline // nil while no run is loaded, and when the file has no record
	warning string          // why an entry could not be read, "" when all could
}

// callRun is the listed calls of one piece of a session's facts. Only the runs between
// whose first and last call the list has arrived are in memory.
type callRun struct {
	*callFile
	piece int                // its index
	left  int                // calls that were not visited yet
	facts []session.CallFact // of the piece; nil until the first call is visited
}

// load reads the facts of the piece, and the outline of the session.
func (r *callRun) load(ctx context.Context) error {
	var factsErr, outlineErr error
	r.facts, factsErr = r.x.pieceCalls(r.file, r.piece)
	if r.outline == nil {
		r.outline, outlineErr = r.x.r.Outline(r.File, nil)
	}
	if err := errors.Join(ctx.Err(), factsErr, outlineErr); err != nil {
		return fmt.Errorf("%s: %w", r.Path, err)
	}
	return nil
}

// row returns the row of a call of the piece, nil when its arguments do not pass.
func (r *callRun) row(ctx context.Context, req *Request, number int) (*CallRow, error) {
	if r.facts == nil {
		if err := r.load(ctx); err != nil {
			return nil, err
		}
	}
	if len(req.Args) > 0 && !r.passesArgs(number, req.Args) {
		return nil, nil
	}
	c := &r.facts[number]
	row := newCallRow(r.file, c)
	if row.Rules = shellcmd.RuleSet(c.Rules).IDs(); row.Rules != nil {
		row.Matches = r.matches(number)
	}
	row.EntryID = entryID(r.outline, c.Offset)
	r.x.names.Name(r.Path, &row.EntryName)
	if c.HasResult {
		result := session.EntryName{EntryID: entryID(r.outline, c.Result)}
		r.x.names.Name(r.Path, &result)
		row.ResultEntryID, row.ShortResultID = result.EntryID, result.ShortEntryID
	}
	if req.Results && c.HasResult {
		row.Result, row.LastLine = r.result(c)
	}
	return row, nil
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
	if f.warning != "" {
		return
	}
	err := entry.ErrChanged
	if f.outline != nil {
		n, ok := f.outline.At(offset)
		if !ok {
			return
		}
		f.entries.Use(f.Summary)
		err = f.entries.View(entry.RefOf(&n.Node, n.Context), entry.Identity{ID: n.ID}, visit)
	}
	if err != nil {
		f.warn(err)
	}
}

func (f *callFile) warn(err error) { f.warning = fmt.Sprintf("%s: %v", f.Path, err) }

// result returns the first lines of a call's result, and the last one that says more than an exit code.
func (f *callFile) result(c *session.CallFact) (lines []string, last string) {
	want := session.KindResult
	if c.Kind == session.CallShell {
		want = session.KindShell
	} else if c.Kind == session.CallNested && c.Result == c.Offset {
		return nil, "" // session files do not keep it
	}
	f.entry(c.Result, func(_ *session.Entry, v *session.View) {
		for _, b := range v.Blocks {
			if b.Kind != want {
				continue
			}
			for line := range bytes.Lines(b.Text) {
				if text := strings.TrimRight(string(line), "\r\n"); len(lines) < resultLines && text != "" {
					lines = append(lines, text)
				}
				if text := bytes.TrimSpace(line); len(text) > 0 && (last == "" || !shellcmd.IsExit(text)) {
					last = string(session.Cut(text, adapter.MaxPrompt))
				}
			}
		}
	})
	return lines, last
}

// matches returns the rules that a call matches, each with the part that matches. A command
// is read again if the facts have only its beginning.
func (r *callRun) matches(number int) []RuleMatch {
	c := &r.facts[number]
	command := c.Line
	if c.Shell && c.Cut {
		r.block(number, func(b *session.Block) {
			if b.Shell != nil {
				command = b.Shell.Command
			} else {
				command = string(b.Call.Command)
			}
		})
	}
	cwd := r.CWD
	if r.outline != nil {
		if n, ok := r.outline.At(c.Offset); ok {
			cwd = cmp.Or(n.Context.CWD, cwd)
		}
	}
	r.rules.Rules(c, command, cwd, r.CWD)
	return BySeverity(lists.Map(r.rules.Found(), func(f shellcmd.Found) RuleMatch {
		return RuleMatch{f.Rule.ID, f.Rule.Severity.String(), f.Clause}
	}))
}

// passesArgs reports whether the arguments of a call pass all tests.
func (r *callRun) passesArgs(number int, tests []ArgTest) (ok bool) {
	r.block(number, func(b *session.Block) {
		if b.Shell != nil {
			ok = len(tests) == 1 && tests[0].Name == "command" && tests[0].Match.MatchString(b.Shell.Command)
			return
		}
		ok = !slices.ContainsFunc(tests, func(t ArgTest) bool {
			return !slices.ContainsFunc(b.Call.Arguments, func(a session.Argument) bool {
				return a.Name == t.Name && t.Match.MatchString(string(a.Value))
			})
		})
	})
	return ok
}

// block visits the block of a call, read from its session file: its Call, or the Shell
// of a command that the user ran.
func (r *callRun) block(number int, visit func(*session.Block)) {
	c := &r.facts[number]
	nth, err := r.nth(number)
	if err != nil {
		r.warn(err)
		return
	}
	r.entry(c.Offset, func(_ *session.Entry, v *session.View) {
		for i := range v.Blocks {
			b := &v.Blocks[i]
			switch {
			case b.Shell != nil && c.Kind == session.CallShell:
				visit(b)
				return
			case b.Call == nil || b.Call.Nested != (c.Kind == session.CallNested):
			case nth > 0:
				nth--
			default:
				visit(b)
				return
			}
		}
	})
}

// nth returns how many calls of the same kind are before a call in its entry, which may
// begin in an earlier piece.
func (r *callRun) nth(number int) (n int, err error) {
	c := &r.facts[number]
	calls := r.facts[:number]
	for piece := r.piece; ; {
		for _, before := range slices.Backward(calls) {
			if before.Offset != c.Offset {
				return n, nil
			}
			if before.Kind == c.Kind {
				n++
			}
		}
		if piece--; piece < 0 {
			return n, nil
		}
		if calls, err = r.x.pieceCalls(r.file, piece); err != nil {
			return 0, err
		}
	}
}
