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

// callRun is the listed calls of one session.
type callRun struct {
	callFile
	calls []timedCall    // not yet visited, the latest first
	facts *session.Facts // nil until the first call is visited
}

// timedCall is a call of a session.
type timedCall struct {
	at        int64 // Unix milliseconds
	number    int32 // among the calls of the session
	duplicate bool
}

// load reads the facts of the session, and its outline if that is asked for or a command
// must be read from the session file.
func (r *callRun) load(ctx context.Context, outline bool) error {
	var factsErr, outlineErr error
	r.facts, factsErr = r.x.facts.Facts(r.File)
	if outline || factsErr == nil && slices.ContainsFunc(r.facts.Calls, isCutCommand) {
		r.outline, outlineErr = r.x.r.Outline(r.File, nil)
	}
	if err := errors.Join(ctx.Err(), factsErr, outlineErr); err != nil {
		return fmt.Errorf("%s: %w", r.Path, err)
	}
	return nil
}

// isCutCommand reports whether the facts of a call have only the beginning of its command.
func isCutCommand(c session.CallFact) bool { return c.Shell && c.Cut }

// next returns the row of the first call that was not visited yet, nil when its
// arguments do not pass.
func (r *callRun) next(ctx context.Context, req *Request) (*CallRow, error) {
	if r.facts == nil {
		if err := r.load(ctx, true); err != nil {
			return nil, err
		}
	}
	number := int(r.calls[0].number)
	if len(req.Args) > 0 && !r.passesArgs(r.facts.Calls, number, req.Args) {
		return nil, nil
	}
	c := &r.facts.Calls[number]
	row := newCallRow(r.file, c)
	row.Rules = r.matchedRules(r.facts.Calls, number).IDs()
	row.Matches = newMatches(r.rules.Found())
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

// callFile reads entries of a session file.
type callFile struct {
	*file
	x       *auditor
	entries *entry.Reader
	rules   *shellcmd.Evaluator
	outline *record.Outline // nil when the file has no record
	warning string          // why an entry could not be read, "" when all could
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
		err = f.entries.View(entry.RefOf(&n.Node), entry.Identity{ID: n.ID}, visit)
	}
	if err != nil {
		f.warning = fmt.Sprintf("%s: %v", f.Path, err)
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

// matchedRules returns the rules that a call matches. A command is read again where the
// facts hold its beginning only.
func (f *callFile) matchedRules(calls []session.CallFact, number int) shellcmd.RuleSet {
	c := &calls[number]
	command := c.Line
	if isCutCommand(*c) {
		f.block(calls, number, func(b *session.Block) {
			if b.Shell != nil {
				command = b.Shell.Command
			} else {
				command = string(b.Call.Command)
			}
		})
	}
	return f.rules.Rules(c, command, f.CWD)
}

// passesArgs reports whether the arguments of a call pass all tests.
func (f *callFile) passesArgs(calls []session.CallFact, number int, tests []ArgTest) (ok bool) {
	f.block(calls, number, func(b *session.Block) {
		if b.Shell != nil {
			ok = len(tests) == 1 && tests[0].Name == "command" && tests[0].Match(b.Shell.Command)
			return
		}
		ok = !slices.ContainsFunc(tests, func(t ArgTest) bool {
			return !slices.ContainsFunc(b.Call.Arguments, func(a session.Argument) bool {
				return a.Name == t.Name && t.Match(string(a.Value))
			})
		})
	})
	return ok
}

// block visits the block of a call, read from its session file: its Call, or the Shell
// of a command that the user ran.
func (f *callFile) block(calls []session.CallFact, number int, visit func(*session.Block)) {
	c := &calls[number]
	nth := 0 // among the calls of the same kind in its entry
	for i := number - 1; i >= 0 && calls[i].Offset == c.Offset; i-- {
		if calls[i].Kind == c.Kind {
			nth++
		}
	}
	f.entry(c.Offset, func(_ *session.Entry, v *session.View) {
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
