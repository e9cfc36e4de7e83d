package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	rules "pigrep/internal/audit"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query"
	"pigrep/query/entry"
	"pigrep/query/filter"
	"pigrep/query/rank"
)

// Request asks what tools did and what it cost. Of the Spec it takes the filters
// on sessions, tools, models, times and branches, and Error. The text, where there is
// one, picks calls: those whose words are all there.
type Request struct {
	Text string
	filter.Spec
	Env    filter.Env // what fields in the text are read with
	Limit  int        // calls that are listed; 0: all
	Redact bool       // what looks like a secret is masked in what is shown

	Location *time.Location // in which days begin
	By       []string       // what rows are made of, from Dimensions
	Failed   bool           // only calls that failed; the same as Error
	Risky    bool           // only calls that match a rule
	Rules    []string       // only calls that match one of these rules
	Args     []ArgTest      // all must hold
	Commands bool           // only calls that run shell commands
}

// Dimensions are what the rows of an audit can be made of.
var Dimensions = []string{"tool", "day", "week", "month", "model", "project", "session"}

// ArgTest is a pattern of one argument of a call.
type ArgTest struct {
	Name  string
	Match func(value string) bool
}

// Coverage says what an audit has looked at.
type Coverage struct {
	Sessions     int          `json:"sessions"`
	First        session.Time `json:"first,omitzero"` // the oldest and
	Last         session.Time `json:"last,omitzero"`  // the newest entry in them
	SkippedLines int          `json:"skippedLines"`
	Copies       int          `json:"copies"`  // calls, or uses of tokens, that are copies of ones in other places and counted there
	Changed      int          `json:"changed"` // files that were rewritten, or grew, since they were indexed
	Vanished     int          `json:"vanished"`
	New          int          `json:"new"` // files that are not indexed yet
}

// auditor reads the facts of all sessions.
type auditor struct {
	ctx     context.Context
	r       *index.Reader
	req     *Request
	set     *index.FactSet
	files   []file // the oldest header first
	filter  *filter.Filter
	branch  *branch // nil for any branch
	place   *time.Location
	matched map[callPlace]bool // calls that the text picks; nil for all
	ids     []uint32           // of the files
	claimed claims
	joined  *entrySet // results with a call so far; nil until there is one without
	periods map[string]period
	cover   Coverage

	warnings []string
}

// file is a session file of an audit.
type file struct {
	*session.Summary
	wanted bool
}

// callPlace addresses the document of a call.
type callPlace struct {
	file   uint32
	offset int64
	part   int
}

func newAuditor(ctx context.Context, r *index.Reader, a adapter.Adapter, src entry.Source, req *Request, parts index.FactParts) (*auditor, error) {
	x := &auditor{ctx: ctx, r: r, req: req, place: req.Location}
	if x.place == nil {
		x.place = time.UTC
	}
	for _, id := range req.Rules {
		if !slices.ContainsFunc(rules.Rules, func(r rules.Rule) bool { return r.ID == id }) {
			return nil, fmt.Errorf("there is no rule %q", id)
		}
	}
	if strings.TrimSpace(req.Text) != "" {
		if err := x.search(a, src); err != nil {
			return nil, err
		}
	}
	var err error
	if x.set, err = r.Facts(ctx, parts); err != nil {
		return nil, err
	}
	return x, x.listFiles()
}

// listFiles puts the files in the order in which copies are looked for, and
// works out which are wanted.
func (x *auditor) listFiles() error {
	x.filter = x.req.Spec.Compile()
	if name := x.filter.Branch(); name != "" {
		x.branch = &branch{branch: name}
	}
	summaries := x.r.Summaries()
	x.files = make([]file, 0, len(summaries))
	for i := range summaries {
		s := &summaries[i]
		f := file{Summary: s, wanted: x.filter.Session(s)}
		if f.wanted && (s.Version != 0 || s.Messages > 0) {
			x.cover.Sessions++
			x.cover.SkippedLines += s.Skipped
			if !s.Oldest.IsZero() && (x.cover.First.IsZero() || s.Oldest.Before(x.cover.First.Time)) {
				x.cover.First = session.Time{Time: s.Oldest}
			}
			if s.Newest.After(x.cover.Last.Time) {
				x.cover.Last = session.Time{Time: s.Newest}
			}
		}
		x.files = append(x.files, f)
	}
	slices.SortStableFunc(x.files, func(a, b file) int { return session.CompareHeaders(&a.Header, &b.Header) }) // by path before
	for i := range x.files {
		x.ids = append(x.ids, x.files[i].File)
	}
	return nil
}

// search finds the calls that the text picks.
func (x *auditor) search(a adapter.Adapter, src entry.Source) error {
	req := query.Request{Text: x.req.Text, Spec: x.req.Spec, Env: x.req.Env}
	req.Kinds = []session.Kind{session.KindCall, session.KindShell}
	req.Tools, req.Models, req.Error = nil, nil, false // of these the facts know more
	req.Since, req.Until = time.Time{}, time.Time{}
	in, err := req.Resolve(x.ctx, x.r, a, src)
	if err != nil {
		return err
	}
	x.matched = make(map[callPlace]bool)
	all, err := rank.Every(x.ctx, in, func(file uint32, offset int64, part int) {
		x.matched[callPlace{file, offset, part}] = true
	})
	x.warnings = in.Plan.Warnings
	if !all {
		x.warnings = append(x.warnings, "not every phrase could be verified: some calls may be missing")
	}
	return err
}

// entrySet holds entries by what they have in common with their copies. It is an
// open hash table: every entry with a call is looked up.
type entrySet struct {
	slots []uint64 // 0 is free
	used  int
}

// add reports whether the set did not have it.
func (s *entrySet) add(copy uint64) bool {
	if 2*s.used >= len(s.slots) {
		old := s.slots
		s.slots, s.used = make([]uint64, max(1<<14, 2*len(old))), 0
		for _, c := range old {
			if c != 0 {
				s.add(c)
			}
		}
	}
	mask := uint64(len(s.slots) - 1)
	for i := copy & mask; ; i = (i + 1) & mask {
		switch s.slots[i] {
		case 0:
			s.slots[i] = copy
			s.used++
			return true
		case copy:
			return false
		}
	}
}

// claims knows which entry is the first of its copies.
type claims struct {
	seen entrySet
	last struct {
		copy  uint64
		file  int
		at    int64
		first bool
	}
}

// first reports whether the entry at this place is the first of its copies. What
// is in one entry is asked for one after another.
func (c *claims) first(copy uint64, file int, offset int64) bool {
	if copy == 0 {
		return true
	}
	if l := &c.last; l.copy != copy || l.file != file || l.at != offset {
		l.copy, l.file, l.at, l.first = copy, file, offset, c.seen.add(copy)
	}
	return c.last.first
}

// timeOf returns a time of facts, that of the file when there is none.
func (f *file) timeOf(ms int64) time.Time {
	return f.TimeOf(&session.Node{Time: ms})
}

// eachUsage visits the uses of tokens that pass the filters, each once.
func (x *auditor) eachUsage(visit func(f *file, u *session.UsageFact)) error {
	return x.eachPiece(func(f *file, p *index.Piece) error {
		for k := range p.Usages {
			u := &p.Usages[k]
			first := x.claimed.first(u.Copy, p.File, u.Offset)
			if !f.wanted || !x.inTime(f, u.Time) || !x.ofModel(u.Model) {
				continue
			}
			if ok, err := x.onBranch(f, u.Offset); err != nil {
				return err
			} else if !ok {
				continue
			}
			if first {
				visit(f, u)
			} else {
				x.cover.Copies++
			}
		}
		return nil
	})
}

// eachCall visits the calls that pass the filters, each once. Results without a
// call are among them.
func (x *auditor) eachCall(visit callVisitor) error {
	return x.eachPiece(func(f *file, p *index.Piece) error { return x.callsOf(f, p, visit) })
}

// callVisitor is told a call, and its number among those of the file.
type callVisitor func(f *file, number int, c *session.CallFact)

// callsOf is eachCall for a piece.
func (x *auditor) callsOf(f *file, p *index.Piece, visit callVisitor) error {
	for k := range p.Calls {
		c := &p.Calls[k]
		first := x.claimed.first(c.Copy, p.File, c.Offset)
		switch {
		case c.Kind == session.CallMissing && c.Copy != 0:
			// A copy of a result alone is no call of its own.
			if err := x.findJoined(p.File, p.Number+k); err != nil {
				return err
			}
			first = x.joined.add(c.Copy) && first
		case x.joined != nil:
			x.joined.addResult(c)
		}
		if !f.wanted || !x.wants(f, c) {
			continue
		}
		if ok, err := x.onBranch(f, c.Offset); err != nil {
			return err
		} else if !ok {
			continue
		}
		if first {
			visit(f, p.Number+k, c)
		} else {
			x.cover.Copies++
		}
	}
	return nil
}

// findJoined makes the set of the results that are joined with a call before a
// call of this number in this file. Few sessions have results without a call,
// which alone need it.
func (x *auditor) findJoined(file, number int) error {
	if x.joined != nil {
		return nil
	}
	x.joined = &entrySet{}
	for p, err := range x.set.All(x.ids[:file+1]) {
		if err := cmp.Or(err, x.ctx.Err()); err != nil {
			return err
		}
		for k := range p.Calls {
			if p.File < file || p.Number+k < number {
				x.joined.addResult(&p.Calls[k])
			}
		}
	}
	return nil
}

// addResult adds the result that is joined with a call.
func (s *entrySet) addResult(c *session.CallFact) {
	if c.HasResult && c.Result != c.Offset && c.ResultCopy != 0 {
		s.add(c.ResultCopy)
	}
}

// eachPiece visits the facts of the files in the order in which copies are looked
// for.
func (x *auditor) eachPiece(visit func(f *file, p *index.Piece) error) error {
	for p, err := range x.set.All(x.ids) {
		f := &x.files[p.File]
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		if err := x.ctx.Err(); err != nil {
			return err
		}
		if err := visit(f, &p); err != nil {
			return err
		}
	}
	return nil
}

// branch knows which entries of the file at work lie on a branch.
type branch struct {
	branch string
	file   *file
	record *session.Record
	tree   *session.Tree
}

// onBranch reports whether the entry at an offset lies on the branch that is
// asked for.
func (x *auditor) onBranch(f *file, offset int64) (bool, error) {
	b := x.branch
	if b == nil {
		return true, nil
	}
	if b.file != f {
		rec, err := x.r.Record(f.File)
		if err != nil || rec == nil {
			return false, err
		}
		b.file, b.record, b.tree = f, rec, rec.Tree()
	}
	i := b.record.NodeAt(offset)
	return i >= 0 && entry.BranchOf(b.tree, i) == b.branch, nil
}

// wants applies the filters on calls.
func (x *auditor) wants(f *file, c *session.CallFact) bool {
	switch {
	case (x.req.Failed || x.req.Error) && !c.Failed,
		x.req.Risky && c.Rules == 0,
		x.req.Commands && len(c.Programs) == 0 && !c.Broken && !c.Shell,
		len(x.req.Tools) > 0 && !slices.ContainsFunc(x.req.Tools, func(t string) bool { return strings.EqualFold(t, c.Tool) }),
		len(x.req.Rules) > 0 && !slices.ContainsFunc(rules.RuleIDs(c.Rules), func(id string) bool { return slices.Contains(x.req.Rules, id) }),
		!x.ofModel(c.Model), !x.inTime(f, c.Time):
		return false
	}
	return x.matched == nil || x.matched[callPlace{f.File, c.Offset, c.Part}]
}

func (x *auditor) inTime(f *file, ms int64) bool {
	return !x.filter.TestsTime() || x.filter.Time(f.timeOf(ms).UnixMilli())
}

func (x *auditor) ofModel(model string) bool {
	return len(x.req.Models) == 0 || filter.IsModel(model, x.req.Models)
}

// key writes down what a row of the dimension is about.
func (x *auditor) key(by string, f *file, ms int64, tool, model string) string {
	switch by {
	case "tool":
		return tool
	case "model":
		return model
	case "project":
		return f.CWD
	case "session":
		return f.Path
	}
	return x.period(by, f.timeOf(ms))
}

// period is the name of a day, week or month, and when it is.
type period struct {
	from, to time.Time
	name     string
}

// period writes down the day, week or month of a time. Entries mostly follow
// one another: the last answer mostly serves again.
func (x *auditor) period(by string, t time.Time) string {
	if x.periods == nil {
		x.periods = make(map[string]period)
	}
	if p, ok := x.periods[by]; ok && !t.Before(p.from) && t.Before(p.to) {
		return p.name
	}
	t = t.In(x.place)
	from := time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, x.place)
	p := period{from: from, to: from.AddDate(0, 0, 1), name: t.Format("2006-01-02")}
	switch by {
	case "week":
		year, week := t.ISOWeek()
		p.name = fmt.Sprintf("%04d-W%02d", year, week)
	case "month":
		p.name = t.Format("2006-01")
	}
	x.periods[by] = p
	return p.name
}

// keys returns the key of every dimension of the request.
func (x *auditor) keys(into []string, f *file, ms int64, tool, model string) []string {
	into = into[:0]
	for _, by := range x.req.By {
		into = append(into, x.key(by, f, ms, tool, model))
	}
	return into
}

// sum adds floating point numbers without losing what is small.
type sum struct{ value, lost float64 }

func (s *sum) add(v float64) {
	t := s.value + v
	if abs(s.value) >= abs(v) {
		s.lost += s.value - t + v
	} else {
		s.lost += v - t + s.value
	}
	s.value = t
}

func (s *sum) total() float64 { return s.value + s.lost }

func abs(v float64) float64 {
	if v < 0 {
		return -v
	}
	return v
}

// percentile returns the smallest number that at least the share of the numbers
// do not exceed, and reorders them; session.Unknown when there are none.
func percentile(list []int32, share float64) int32 {
	if len(list) == 0 {
		return session.Unknown
	}
	rank := int(share*float64(len(list)) + 0.999999999)
	k := min(max(rank, 1), len(list)) - 1
	// What is to be found at k is between lo and hi.
	for lo, hi := 0, len(list)-1; lo < hi; {
		i, j, pivot := lo, hi, list[lo+(hi-lo)/2]
		for i <= j {
			for list[i] < pivot {
				i++
			}
			for list[j] > pivot {
				j--
			}
			if i <= j {
				list[i], list[j] = list[j], list[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return pivot
		}
	}
	return list[k]
}

// groups finds the group of some keys.
type groups[T any] struct {
	rows  []*T
	index map[string]int
}

func (g *groups[T]) of(keys []string, build func(keys []string) *T) *T {
	joined := keys[0]
	if len(keys) > 1 {
		joined = strings.Join(keys, "\x00")
	}
	if i, ok := g.index[joined]; ok {
		return g.rows[i]
	}
	if g.index == nil {
		g.index = make(map[string]int)
	}
	row := build(slices.Clone(keys))
	g.index[joined] = len(g.rows)
	g.rows = append(g.rows, row)
	return row
}

// fileSet counts distinct files that come one after another.
type fileSet struct {
	last uint32
	any  bool
	n    int
}

func (s *fileSet) add(file uint32) {
	if !s.any || s.last != file {
		s.any, s.last = true, file
		s.n++
	}
}

// byTime reports whether rows of the dimensions have an order of their own.
func byTime(by []string) bool {
	return len(by) > 0 && slices.Contains([]string{"day", "week", "month"}, by[0])
}

// sessionOf fills what rows say of a session.
func (x *auditor) sessionNames(path string) (id, name string) {
	list := x.r.Summaries()
	i := sort.Search(len(list), func(i int) bool { return list[i].Path >= path })
	if i < len(list) && list[i].Path == path {
		return list[i].ID, cmp.Or(list[i].Name, list[i].FirstPrompt)
	}
	return "", ""
}

// shown is a short text as it may be shown.
func (x *auditor) shown(s string) string {
	if !x.req.Redact {
		return s
	}
	return redact.Text(s)
}
