package audit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/entry"
)

// callFile is a session whose calls are listed. It reads entries of the session file.
type callFile struct {
	*file
	x       *auditor
	entries *entry.Reader
	rules   *shellcmd.Evaluator
	runs    []*callRun
	unread  int             // runs of these whose calls were not all visited
	outline *record.Outline // nil while no run is loaded, and when the file has no record
	warning string          // why an entry could not be read, "" when all could
}

// callRun is the listed calls of one piece of a session's facts. Only the runs between
// whose first and last call the list has arrived are in memory.
type callRun struct {
	*callFile
	piece int                // its index
	calls []timedCall        // not yet visited, the latest first
	facts []session.CallFact // of the piece; nil until the first call is visited
}

// timedCall is a call of a piece.
type timedCall struct {
	at     int64 // Unix milliseconds
	number int32 // among the calls of the piece
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

// release forgets what was loaded, when all calls of the run have been visited.
func (r *callRun) release() {
	r.facts = nil
	if r.unread--; r.unread == 0 {
		r.outline = nil
	}
}

// next returns the row of the first call that was not visited yet, nil when its
// arguments do not pass.
func (r *callRun) next(ctx context.Context, req *Request) (*CallRow, error) {
	if r.facts == nil {
		if err := r.load(ctx); err != nil {
			return nil, err
		}
	}
	number := int(r.calls[0].number)
	if len(req.Args) > 0 && !r.passesArgs(number, req.Args) {
		return nil, nil
	}
	c := &r.facts[number]
	row := newCallRow(r.file, c)
	if row.Rules = shellcmd.RuleSet(c.Rules).IDs(); row.Rules != nil {
		row.Matches = r.matches(number)
	}
	row.EntryID = entryID(r.outline, c.Offset)
	if c.HasResult {
		row.ResultEntryID = entryID(r.outline, c.Result)
	}
	if req.Results && c.HasResult {
		row.Result = r.result(c)
	}
	return row, nil
}

// callRuns is a heap of runs: the one with the latest call first, ties by path, and in a
// session the later piece first.
type callRuns []*callRun

func (h callRuns) Len() int      { return len(h) }
func (h callRuns) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *callRuns) Push(any)     {} // all runs are known from the start

func (h callRuns) Less(i, j int) bool {
	a, b := h[i], h[j]
	return cmp.Or(cmp.Compare(b.calls[0].at, a.calls[0].at), cmp.Compare(a.Path, b.Path), cmp.Compare(b.piece, a.piece)) < 0
}

func (h *callRuns) Pop() any {
	last := len(*h) - 1
	run := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return run
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
	r.rules.Rules(c, command, cwd)
	return newMatches(r.rules.Found())
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
