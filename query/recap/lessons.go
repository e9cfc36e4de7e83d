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

	Repairs []Repair `json:",omitempty"` // with Request.Together, instead of Lessons
	Held    []uint64 `json:",omitempty"` // as of Response
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
	SessionPath string       `json:"sessionPath" wire:"session"`
	SessionID   string       `json:"sessionId"`
	ShortID     string       `json:"-" wire:"name"`
	Host        string       `json:"host,omitempty" wire:"host"` // that has the session, if not this one
	CWD         string       `json:"cwd"`
	Timestamp   session.Time `json:"timestamp,omitzero"` // of the failure
	Error       string       `json:"error"`
	Failed      Pass         `json:"failed"`
	Repair      Pass         `json:"repair"`
	Passed      Pass         `json:"passed"`
}

// A Repair is a deed between the last failure of a command and its success.
type Repair struct {
	RepairKey
	Rank   int    // of the kind of the deed: a smaller one explains more
	Copy   uint64 // of the failure
	Family int    // the first of the files of the index that are forks and copies of the session
	Evidence
}

// A RepairKey identifies a repair of an error.
type RepairKey struct {
	Words string `wire:"exact"` // of the error
	Deed  string `wire:"exact"` // the same for deeds that do the same
	Means Means
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
		t.repairs = append(t.repairs, Repair{RepairKey: RepairKey{words, deed, means}, Rank: rank, Copy: first.Copy, Evidence: Evidence{
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

// changedPaths returns the files that a call changed.
func changedPaths(c *session.CallFact) (list []string) {
	for _, f := range changed(c) {
		list = append(list, f.Path)
	}
	return list
}

func passOf(f *Fact) *Pass {
	return &Pass{EntryName: f.EntryName, Line: f.Line, Offset: f.Offset, Text: f.Text}
}

// Learn returns the errors that came back in several of the sessions that pass, and were repaired in
// the same way in each. Forks and copies of a session count as one.
func Learn(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req Request) (*Lessons, error) {
	resp, err := gather(ctx, r, a, src, req, true)
	if err != nil {
		return nil, err
	}
	l := &Lessons{Total: resp.Total, About: search.About{Index: resp.Index}, Held: resp.Held}
	for _, s := range resp.Sessions {
		l.Repairs = append(l.Repairs, s.repairs...)
	}
	if !req.Together {
		l.learn()
	}
	entry.NewNaming(r).NameAll(l, "")
	if req.Redact {
		redact.Strings(l)
	}
	return l, nil
}

// JoinLessons learns from the repairs of several indexes, which answered a request with Together.
func JoinLessons(list []*Lessons) *Lessons {
	l, held := &Lessons{}, make(search.Identities)
	for i, one := range list {
		l.Total += one.Total - held.Again(one.Held)
		for _, r := range one.Repairs {
			r.Family = r.Family*len(list) + i
			l.Repairs = append(l.Repairs, r)
		}
	}
	l.learn()
	return l
}

// learn turns the repairs into lessons.
func (l *Lessons) learn() {
	groups := group(l.Repairs)
	type of struct {
		error  string
		family int
	}
	told := make(map[of]bool) // errors that have a lesson with evidence from a family of sessions
	for _, g := range groups {
		news := 0
		for family := range g.of {
			if !told[of{g.Words, family}] {
				news++
			}
		}
		if news < LessonSessions {
			continue
		}
		for family := range g.of {
			told[of{g.Words, family}] = true
		}
		l.Lessons = append(l.Lessons, g.lesson())
	}
	l.Repairs = nil
}

// A repairGroup is the same repair of the same error.
type repairGroup struct {
	RepairKey
	rank int             // the smallest
	of   map[int]*Repair // by family of sessions: the latest
}

// group returns the groups of repairs, the most frequent first.
func group(list []Repair) (groups []*repairGroup) {
	known := make(map[RepairKey]*repairGroup)
	families := make(map[uint64]int) // of the first session with a failure
	for i := range list {
		r := &list[i]
		family := r.Family
		if first, ok := families[r.Copy]; ok && r.Copy != 0 {
			family = first
		} else {
			families[r.Copy] = family
		}
		g := known[r.RepairKey]
		if g == nil {
			g = &repairGroup{r.RepairKey, r.Rank, make(map[int]*Repair)}
			known[r.RepairKey] = g
			groups = append(groups, g)
		}
		g.rank = min(g.rank, r.Rank)
		if old := g.of[family]; old == nil || !r.Timestamp.Before(old.Timestamp.Time) {
			g.of[family] = r
		}
	}
	slices.SortFunc(groups, func(a, b *repairGroup) int {
		return cmp.Or(cmp.Compare(len(b.of), len(a.of)), cmp.Compare(a.rank, b.rank), strings.Compare(a.Words, b.Words), strings.Compare(a.Deed, b.Deed))
	})
	return groups
}

func (g *repairGroup) lesson() Lesson {
	l := Lesson{Type: "lesson", By: g.Means, Sessions: len(g.of)}
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
