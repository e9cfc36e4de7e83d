package fix

import (
	"cmp"
	"math"
	"path"
	"slices"
	"strings"

	"pigrep/internal/session"
)

// An event is something that happened on a branch.
type event struct {
	what      what
	place     Place
	call      int     // its number among the calls, -1 for none
	closeness float64 // of an occurrence
	ends      bool    // of a reply: it makes no calls
}

type what uint8

const (
	called   what = iota // a call was made
	answered             // its result arrived
	occurred             // the error, in a result or elsewhere
	replied              // an answer of the model, possibly without text
	prompted
)

// An episode is the occurrences of the error up to the success of the call that failed,
// or of one like it.
type episode struct {
	outcome     Outcome
	last        Place
	closeness   float64
	occurrences int
	later       int // occurrences after it
	calls       []event
	facts       []session.CallFact // of all calls on the branch
	failed      []int              // the calls in which it occurred
	reply       *Place
}

// compare orders the episodes of a session: the closest first, then those where the error
// was fixed, then the latest.
func (e *episode) compare(o *episode) int {
	return cmp.Or(
		cmp.Compare(math.Round(20*o.closeness), math.Round(20*e.closeness)),
		cmp.Compare(slices.Index(outcomes, e.outcome), slices.Index(outcomes, o.outcome)),
		cmp.Compare(o.last.Offset, e.last.Offset),
	)
}

// episodes divides the events of a branch into episodes.
func episodes(events []event, facts []session.CallFact) (list []episode) {
	for i := 0; i < len(events); i++ {
		if events[i].what != occurred {
			continue
		}
		e, end := newEpisode(events, i, facts)
		for _, x := range events[end:] {
			if x.what == occurred {
				e.later++
			}
		}
		list = append(list, e)
		i = max(i, end-1)
	}
	return list
}

// newEpisode returns the episode that begins with an occurrence, and the index of the
// first event after it.
func newEpisode(events []event, first int, facts []session.CallFact) (e episode, end int) {
	e.facts = facts
	last, otherwise, fixed := first, -1, -1
	for i := first; i < len(events) && fixed < 0; i++ {
		switch x := &events[i]; {
		case x.what == occurred:
			e.last = x.place
			e.closeness = max(e.closeness, x.closeness)
			e.occurrences++
			if x.call >= 0 {
				e.failed = append(e.failed, x.call)
			}
			last, otherwise = i, -1
		case x.what == answered && e.again(x.call):
			if !facts[x.call].Failed {
				fixed = i
			} else if otherwise < 0 {
				otherwise = i // it fails in another way now
			}
		case x.what == replied && e.last.Kind == session.KindError:
			fixed = i // the model answers again
		}
	}
	end, e.outcome = len(events), Unfixed
	stop := end // the calls after this do not concern the error
	switch {
	case otherwise >= 0:
		stop = otherwise
	case fixed >= 0:
		stop = fixed
	}
	if fixed >= 0 {
		e.outcome, end = Fixed, fixed+1
	} else if slices.ContainsFunc(events[last+1:], func(x event) bool {
		return x.what == answered && !facts[x.call].Failed || x.what == replied && x.ends && e.last.Kind == session.KindPrompt
	}) {
		e.outcome = Gone
	}
	from := stop // where the reply is looked for that concludes
	if stop == len(events) {
		from = last + 1
	}
	for i := from; i < len(events); i++ {
		x := &events[i]
		if x.what == replied && x.place.Text != "" {
			e.reply = &x.place
		}
		if x.what == prompted || x.what == replied && x.ends && x.place.Text != "" {
			stop = min(stop, i)
			break
		}
	}
	for _, x := range events[last+1 : min(stop+1, len(events))] {
		if x.what == called {
			e.calls = append(e.calls, x)
		}
	}
	return e, end
}

// again reports whether a call is one of those that failed, or like one of them.
func (e *episode) again(call int) bool {
	return slices.ContainsFunc(e.failed, func(f int) bool { return alike(&e.facts[call], &e.facts[f]) })
}

// alike reports whether two calls do the same kind of thing to the same things.
func alike(a, b *session.CallFact) bool {
	switch {
	case a.Shell != b.Shell, !a.Shell && a.Tool != b.Tool:
		return false
	case a.Shell:
		return a.Line == b.Line || overlap(programs(a), programs(b)) > 0 && overlap(operands(a.Line), operands(b.Line)) >= 0.5
	case len(a.Paths) > 0 && len(b.Paths) > 0:
		return slices.ContainsFunc(a.Paths, func(p string) bool {
			return slices.ContainsFunc(b.Paths, func(q string) bool { return base(p) == base(q) })
		})
	}
	return overlap(operands(a.Line), operands(b.Line)) >= 0.5
}

func base(p string) string { return path.Base(session.Slashed(p)) }

// overlap returns how much of the shorter list is in the longer one.
func overlap(a, b []string) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 0
	}
	n := 0
	for _, s := range a {
		if slices.Contains(b, s) {
			n++
		}
	}
	return float64(n) / float64(min(len(a), len(b)))
}

// helpers are programs that only prepare, show or shorten what others do.
var helpers = []string{
	"cd", "echo", "printf", "cat", "head", "tail", "grep", "rg", "sed", "awk", "wc", "sort", "uniq", "tee",
	"true", "false", "sleep", "export", "set", "source", "pushd", "popd", "xargs", "env", "time", "timeout",
	"ls", "pwd", "mkdir",
}

// programs returns the programs of a call, with their subcommands; the helpers only if
// there are no others.
func programs(c *session.CallFact) []string {
	list := slices.DeleteFunc(slices.Clone(c.Programs), func(p string) bool {
		name, _, _ := strings.Cut(p, " ")
		return slices.Contains(helpers, name)
	})
	if len(list) == 0 {
		return c.Programs
	}
	return list
}

// operands returns the words of a command or of arguments without flags and numbers;
// of paths the last element.
func operands(text string) (list []string) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r <= ' ' || strings.ContainsRune(`"'();|&<>=,`, r) })
	for _, w := range fields {
		if w[0] == '-' || isNumber([]byte(w)) || slices.Contains(helpers, w) {
			continue
		}
		if w = base(w); !slices.Contains(list, w) {
			list = append(list, w)
		}
	}
	return list
}

// session returns the session of an episode.
func (t *trail) session(e *episode) *Session {
	s := &t.record.Summary
	x := &Session{
		Type: "fix", Outcome: e.outcome, Closeness: math.Round(1000*e.closeness) / 1000,
		SessionPath: s.Path, SessionID: s.ID, SessionName: s.Name, FirstPrompt: s.FirstPrompt, CWD: s.CWD, Modified: session.Time{Time: s.Modified()},
		Error: e.last, Occurrences: e.occurrences, Later: e.later, Calls: []Call{}, Reply: e.reply,
	}
	for _, c := range e.calls {
		f := &e.facts[c.call]
		x.Calls = append(x.Calls, Call{
			EntryID: c.place.EntryID, Tool: f.Tool, Timestamp: c.place.Timestamp, Text: t.call(f), Status: status(f), Again: e.again(c.call),
		})
	}
	t.describe(x, s)
	return x
}

// status returns the outcome of a call.
func status(c *session.CallFact) string {
	switch {
	case !c.HasResult:
		return "none"
	case c.Failed:
		return "error"
	}
	return "ok"
}
