package fix

import (
	"cmp"
	"math"
	"slices"

	"pigrep/internal/session"
	"pigrep/query/search"
)

// An event is something that happened on a branch.
type event struct {
	what  what
	place Place
	call  int   // its number among the calls, -1 for none
	match match // of an occurrence
	errs  bool  // of the result of a shell command: it has a line that says error
	ends  bool  // of a reply: it makes no calls
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
// or of one like it. An occurrence with more or fewer names of the error is another error.
type episode struct {
	outcome     Outcome
	last        Place
	closeness   float64  // of the last occurrence
	names       float64  // of all its occurrences: they are about the same things
	lacks       []string // as of match, of the last occurrence
	occurrences int
	later       int     // occurrences after it
	made        []event // calls after the last occurrence
	*calls              // all on the branch
	failed      []int   // the calls that failed with it, the last ones
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

// calls are the calls on a branch.
type calls struct {
	facts   []session.CallFact
	actions map[int]*Action
}

func (c *calls) action(call int) *Action {
	d, ok := c.actions[call]
	if !ok {
		d = NewAction(&c.facts[call])
		c.actions[call] = d
	}
	return d
}

// mostFailed is how many calls that failed with the error a later one is compared with.
const mostFailed = 20

// episodes divides the events of a branch into episodes.
func episodes(events []event, c *calls) (list []episode) {
	for i := 0; i < len(events); i++ {
		if events[i].what != occurred {
			continue
		}
		e, end := newEpisode(events, i, c)
		for _, x := range events[end:] {
			if x.what == occurred && x.match.names >= e.names {
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
func newEpisode(events []event, first int, c *calls) (e episode, end int) {
	e.calls, e.names = c, events[first].match.names
	last, otherwise, fixed := first, -1, -1
	end = len(events)
	for i := first; i < end && fixed < 0; i++ {
		switch x := &events[i]; {
		case x.what == occurred && x.match.names > e.names:
			end = i // another error, which is closer
		case x.what == occurred && x.match.names == e.names:
			e.last, e.closeness, e.lacks = x.place, x.match.closeness, x.match.lacks
			e.occurrences++
			if x.call >= 0 && c.facts[x.call].Failed {
				e.failed = append(e.failed[max(0, len(e.failed)-mostFailed+1):], x.call)
			}
			last, otherwise = i, -1
		case (x.what == answered || x.what == occurred && x.call >= 0) && e.isRepeated(x.call):
			if x.what == answered && c.facts[x.call].Succeeded() && !x.errs {
				fixed = i
			} else if otherwise < 0 && !c.facts[x.call].Rejected {
				otherwise = i // it fails in another way now
			}
		case x.what == replied && e.last.Kind == session.KindError:
			fixed = i // the model answers again
		}
	}
	bound := end
	e.outcome = Unfixed
	stop := end // the calls after this do not concern the error
	switch {
	case otherwise >= 0:
		stop = otherwise
	case fixed >= 0:
		stop = fixed
	}
	if fixed >= 0 {
		e.outcome, end = Fixed, fixed+1
	} else if slices.ContainsFunc(events[last+1:end], e.goesOn) {
		e.outcome = Gone
	}
	from := stop // where the closing reply is looked for
	if stop == bound {
		from = last + 1
	}
	if end := e.findReply(events[from:bound]); end >= 0 {
		stop = min(stop, from+end)
	}
	for _, x := range events[last+1 : min(stop+1, bound)] {
		if x.what == called {
			e.made = append(e.made, x)
		}
	}
	if otherwise >= 0 && fixed >= 0 { // and the one that worked at last
		for _, x := range events[stop+1 : fixed] {
			if x.what == called && x.call == events[fixed].call {
				e.made = append(e.made, x)
			}
		}
	}
	return e, end
}

// goesOn reports whether an event shows that the work went on after the error.
func (e *episode) goesOn(x event) bool {
	return x.what == answered && e.facts[x.call].Succeeded() ||
		x.what == replied && x.ends && e.last.Kind == session.KindPrompt
}

// findReply finds the reply that closes the episode, in the events after it was decided. It
// returns the index of the event at which the subject ends, -1 for none.
func (e *episode) findReply(events []event) int {
	interrupted := false // the next prompt goes on with the same task
	for i := range events {
		x := &events[i]
		if x.what == called {
			interrupted = !e.facts[x.call].HasResult
		}
		if x.what == replied && x.place.Text != "" {
			e.reply = &x.place
		}
		if x.what == prompted && !interrupted || x.what == replied && x.ends && x.place.Text != "" {
			return i
		}
	}
	return -1
}

// isRepeated reports whether a call does the same as one of those that failed.
func (e *episode) isRepeated(call int) bool {
	return slices.ContainsFunc(e.failed, func(f int) bool { return f != call && e.action(call).Repeats(e.action(f)) })
}

func (t *trail) session(e *episode) *Session {
	s := search.Describe(&t.record.Summary, t.req.Resume)
	if t.req.Redact {
		s.Redact()
	}
	x := &Session{
		Type: "fix", Outcome: e.outcome, Closeness: math.Round(1000*e.closeness) / 1000,
		SessionPath: s.SessionPath, SessionID: s.SessionID, SessionName: s.Name, FirstPrompt: s.FirstPrompt, Title: s.Title, Agent: s.Agent, Kept: s.Kept, CWD: s.CWD, Modified: s.Modified,
		Error: e.last, Lacks: e.lacks, Occurrences: e.occurrences, Later: e.later, Calls: []Call{}, Reply: e.reply, Resume: s.Resume,
	}
	if n := len(e.failed); n > 0 {
		x.failed = t.call(&e.facts[e.failed[n-1]])
	}
	changing := func(c event) bool { return e.isRepeated(c.call) || !e.action(c.call).reads() }
	// A read may have helped only if a read had failed, or if there is nothing else.
	all := slices.ContainsFunc(e.failed, func(f int) bool { return e.action(f).reads() }) || !slices.ContainsFunc(e.made, changing)
	for _, c := range e.made {
		if !all && !changing(c) {
			continue
		}
		f := &e.facts[c.call]
		step := Call{
			EntryName: c.place.EntryName, Tool: f.Tool, Timestamp: c.place.Timestamp, Text: t.call(f), Status: status(f), Again: e.isRepeated(c.call), Line: c.place.Line, Offset: c.place.Offset,
		}
		if n := len(x.Calls) - 1; n >= 0 && x.Calls[n].Tool == step.Tool && x.Calls[n].Text == step.Text && x.Calls[n].Status == step.Status {
			x.Calls[n].Times = max(x.Calls[n].Times, 1) + 1
		} else {
			x.Calls = append(x.Calls, step)
		}
	}
	return x
}

// status returns the outcome of a call.
func status(c *session.CallFact) string {
	switch {
	case !c.HasResult:
		return "none"
	case c.Failed:
		return "error"
	case c.Rejected:
		return "rejected"
	}
	return "ok"
}
