package recap

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/internal/lists"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/entry"
	"pigrep/query/fix"
	"pigrep/query/search"
)

// LessonSessions is in how many sessions an error must have been repaired in the same way.
const LessonSessions = 3

// Lessons are the errors that came back.
type Lessons struct {
	Lessons []Lesson // the one of most sessions first
	Total   int      // sessions that were looked at
	search.About
}

// Lesson is an error that came back in several sessions, and what repaired it in each. Its JSON is documented in "pigrep help json": fields are only ever added.
type Lesson struct {
	Type     string     `json:"type"`   // "lesson"
	Error    string     `json:"error"`  // what the command printed, the last time
	Repair   string     `json:"repair"` // a command as it was typed, or the path of a file
	By       Means      `json:"by"`
	Sessions int        `json:"sessions"`
	Evidence []Evidence `json:"evidence"` // of each session, the latest first
}

// Means are what a repair is made with.
type Means string

// The means of a repair.
const (
	ByCommand Means = "command" // a shell command ran
	ByFile    Means = "file"    // a file was changed
)

// Evidence is where a session failed, was repaired, and succeeded.
type Evidence struct {
	SessionPath string       `json:"sessionPath"`
	SessionID   string       `json:"sessionId"`
	CWD         string       `json:"cwd"`
	Timestamp   session.Time `json:"timestamp,omitzero"` // of the failure
	Error       string       `json:"error"`
	Failed      Pass         `json:"failed"`
	Repair      Pass         `json:"repair"`
	Passed      Pass         `json:"passed"`
}

// A repair is a deed between the last failure of a command and its success.
type repair struct {
	repairKey
	rank int    // of the kind of the deed: a smaller one explains more
	copy uint64 // of the failure
	Evidence
}

// A repairKey is the same for the same repair of the same error.
type repairKey struct {
	error string // its words
	deed  string // the same for deeds that do the same
	means Means
}

// The ranks of repairs.
const (
	aChange   = iota // of a file
	aStep            // a command between the failure and the success
	aVariant         // a command of the call that succeeded, which the one that failed did not have
	aSpelling        // the call that succeeded, which only differs as a text: in its environment, for example
)

// learn notes what was done between the last failure of a command, which is the first call, and its
// success, which is the last one.
func (t *teller) learn(f *Fact, calls []session.CallFact) {
	words, names := fix.Identity(f.Error)
	first, last := &calls[0], &calls[len(calls)-1]
	before, hidden := fix.NewAction(first).Steps()
	after, piped := fix.NewAction(last).Steps()
	if words == "" || interruption().MatchString(f.Error) || piped && !hidden { // a pipe hides whether it succeeded
		return
	}
	add := func(rank int, means Means, deed string, offset int64, text string) {
		place := t.newFact(Failed, offset, clipped(text))
		t.repairs = append(t.repairs, repair{repairKey: repairKey{words, deed, means}, rank: rank, copy: first.Copy, Evidence: Evidence{
			SessionPath: t.of.Path, SessionID: t.of.ID, CWD: t.record.CWD, Timestamp: f.Timestamp, Error: f.Error,
			Failed: *passOf(f), Repair: *passOf(&place), Passed: *f.Passed,
		}})
	}
	for i := range calls[1:] {
		c := &calls[1+i]
		if c.Offset < first.Result || !c.HasResult || !c.Succeeded() { // it was made before the failure was known
			continue
		}
		for _, name := range changedPaths(c) {
			whole := path.Clean(session.Slashed(name))
			end := path.Join(path.Base(path.Dir(whole)), path.Base(whole)) // a project may lie in several directories
			add(aChange, ByFile, end+names, c.Offset, name)                // of an error about the same things
		}
		if !c.Shell || c == last {
			continue
		}
		steps, _ := fix.NewAction(c).Steps()
		for _, s := range steps {
			if !slices.Contains(before, s) {
				add(aStep, ByCommand, s, c.Offset, c.Line)
			}
		}
	}
	news := false
	for _, s := range after {
		if !slices.Contains(before, s) {
			news = true
			add(aVariant, ByCommand, s, last.Offset, last.Line)
		}
	}
	if !news && !piped && !last.Cut && clipped(first.Line) != clipped(last.Line) {
		add(aSpelling, ByCommand, clipped(last.Line), last.Offset, last.Line)
	}
}

// changedPaths returns the files that a call changed, those that its shell command names too.
func changedPaths(c *session.CallFact) (list []string) {
	for _, f := range changed(c) {
		list = append(list, f.Path)
	}
	if c.Shell && !c.Cut && c.Dialect == session.DialectPOSIX {
		for _, e := range shellcmd.Effects(c.Line, c.Dir) {
			if e.Path != "" {
				list = append(list, e.Path)
			}
		}
	}
	return list
}

func passOf(f *Fact) *Pass {
	return &Pass{EntryID: f.EntryID, Line: f.Line, Offset: f.Offset, Text: f.Text}
}

// Learn returns the errors that came back in several of the sessions that pass, and were repaired in
// the same way in each. Forks and copies of a session count as one.
func Learn(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*Lessons, error) {
	resp, err := gather(ctx, r, a, src, req, true)
	if err != nil {
		return nil, err
	}
	l := &Lessons{Total: resp.Total, About: search.About{Index: resp.Index}}
	groups := group(resp.Sessions)
	type of struct {
		error  string
		family int
	}
	told := make(map[of]bool) // errors that have a lesson with evidence from a family of sessions
	for _, g := range groups {
		news := 0
		for family := range g.of {
			if !told[of{g.error, family}] {
				news++
			}
		}
		if news < LessonSessions {
			continue
		}
		for family := range g.of {
			told[of{g.error, family}] = true
		}
		l.Lessons = append(l.Lessons, g.lesson())
	}
	if req.Redact {
		for i := range l.Lessons {
			redact.Strings(&l.Lessons[i])
		}
	}
	return l, nil
}

// A repairGroup is the same repair of the same error.
type repairGroup struct {
	repairKey
	rank int             // the smallest
	of   map[int]*repair // by family of sessions: the latest
}

// group returns the groups of the repairs of sessions, the most frequent first.
func group(list []Session) (groups []*repairGroup) {
	known := make(map[repairKey]*repairGroup)
	families := make(map[uint64]int) // of the first session with a failure
	for i := range list {
		for k := range list[i].repairs {
			r := &list[i].repairs[k]
			family := list[i].family
			if first, ok := families[r.copy]; ok && r.copy != 0 {
				family = first
			} else {
				families[r.copy] = family
			}
			g := known[r.repairKey]
			if g == nil {
				g = &repairGroup{r.repairKey, r.rank, make(map[int]*repair)}
				known[r.repairKey] = g
				groups = append(groups, g)
			}
			g.rank = min(g.rank, r.rank)
			if old := g.of[family]; old == nil || !r.Timestamp.Before(old.Timestamp.Time) {
				g.of[family] = r
			}
		}
	}
	slices.SortFunc(groups, func(a, b *repairGroup) int {
		return cmp.Or(cmp.Compare(len(b.of), len(a.of)), cmp.Compare(a.rank, b.rank), strings.Compare(a.error, b.error), strings.Compare(a.deed, b.deed))
	})
	return groups
}

func (g *repairGroup) lesson() Lesson {
	l := Lesson{Type: "lesson", By: g.means, Sessions: len(g.of)}
	for _, r := range g.of {
		l.Evidence = append(l.Evidence, r.Evidence)
	}
	lists.Sort(l.Evidence, func(a, b Evidence) int {
		return cmp.Or(b.Timestamp.Compare(a.Timestamp.Time), strings.Compare(a.SessionPath, b.SessionPath))
	})
	l.Error, l.Repair = l.Evidence[0].Error, l.Evidence[0].Repair.Text
	for _, e := range l.Evidence { // the shortest: it is typed with the least beside it
		if len(e.Repair.Text) < len(l.Repair) {
			l.Repair = e.Repair.Text
		}
	}
	return l
}
