package audit

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/record"
	"pigrep/index/segment"
	"pigrep/internal/session"
	"pigrep/internal/shellcmd"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/rank"
	"pigrep/query/search"
)

// auditor visits the facts of all sessions that pass the filters of a request.
type auditor struct {
	ctx      context.Context
	r        *index.Reader
	names    *entry.Naming
	req      *Request
	facts    *record.FactSet
	files    []file   // the oldest header first
	ids      []uint32 // of the files
	filter   *filter.Filter
	branch   *branchTest                // nil for any branch
	matched  map[uint32]map[callAt]bool // calls that the text picks, by file; nil for all
	entries  firsts
	answers  entrySet // the results of calls so far, and those without a call
	families families
	coverage Coverage
	warnings []string
	trimmed  int64            // facts.Read when the pages were last released
	rules    shellcmd.RuleSet // a call must match one of them; 0: no matter
}

// file is a session file of an audit.
type file struct {
	*session.Summary
	wanted bool // the session passes the filters
	shares bool // duplicates of its entries may be in other files, or in itself

	session *file // of a session of several files, the one that stands for it; nil for other sessions
}

// sessionFile returns the file that stands for the session.
func (f *file) sessionFile() *file { return cmp.Or(f.session, f) }

// callAt is where the document of a call is in its file.
type callAt struct {
	offset int64
	part   int
}

func newAuditor(ctx context.Context, r *index.Reader, req *Request, kinds ...record.FactKind) (*auditor, error) {
	rules, err := req.rules()
	if err != nil {
		return nil, err
	}
	facts, err := r.Facts(ctx, append(kinds, record.BareFacts)...)
	if err != nil {
		return nil, err
	}
	x := &auditor{ctx: ctx, r: r, names: entry.NewNaming(r), req: req, rules: rules, facts: facts, filter: req.Spec.Compile()}
	if name := x.filter.Branch(); name != "" {
		x.branch = &branchTest{r: r, name: name}
	}
	x.listFiles()
	if req.sharing != nil {
		return x, nil
	}
	return x, x.findSharing()
}

// covered returns what the answer says beside its rows.
func (x *auditor) covered() Covered {
	c := Covered{Coverage: x.coverage, About: search.About{Warnings: x.warnings, Index: search.StateOf(x.r)}}
	for i := range x.files {
		if f := &x.files[i]; x.req.Together && f.wanted && f.ID != "" && !f.Notes {
			c.Held = append(c.Held, search.Held{ID: f.Identity(), Size: f.Size})
		}
	}
	return c
}

// listFiles lists the files in the order that resolves duplicates, and tests which pass the
// filters.
func (x *auditor) listFiles() {
	summaries := x.r.Summaries()
	x.files = make([]file, 0, len(summaries))
	for i := range summaries {
		s := &summaries[i]
		if x.req.sharing != nil && !x.req.sharing[s.File] && !x.req.only(s) {
			continue
		}
		f := file{Summary: s, wanted: x.filter.Session(s) && (x.req.only == nil || x.req.only(s)) && !x.req.IsWithout(s.Identity()), shares: x.req.sharing[s.File]}
		x.files = append(x.files, f)
	}
	slices.SortFunc(x.files, func(a, b file) int {
		if c := session.CompareStarts(a.Timestamp, b.Timestamp); c != 0 { // most: paths are compared only where they decide
			return c
		}
		return cmp.Compare(a.Path, b.Path)
	})
	x.findParts()
	for i := range x.files {
		x.ids = append(x.ids, x.files[i].File)
		x.cover(&x.files[i])
	}
}

// findParts finds the sessions of several files.
func (x *auditor) findParts() {
	if !x.r.Chains().Any() {
		return
	}
	chains, heads := x.r.Chains(), make(map[string][]*file)
	for i := range x.files {
		f := &x.files[i]
		if head := chains.Head(f.Path); head != f.Path {
			heads[head] = append(heads[head], f)
		}
	}
	for i := range x.files {
		head := &x.files[i]
		if parts := heads[head.Path]; len(parts) > 0 {
			for _, f := range append(parts, head) {
				f.session = head
			}
		}
	}
}

// cover counts a session that passes the filters, or an earlier part of one.
func (x *auditor) cover(f *file) {
	if !f.wanted || !f.IsSession() {
		return
	}
	c := &x.coverage
	if f.sessionFile() == f {
		c.Sessions++
	}
	c.SkippedLines += f.Skipped
	if !f.Oldest.IsZero() && (c.First.IsZero() || f.Oldest.Before(c.First.Time)) {
		c.First = session.Time{Time: f.Oldest}
	}
	if f.Newest.After(c.Last.Time) {
		c.Last = session.Time{Time: f.Newest}
	}
}

// findSharing finds out which files share entries: documents have duplicates, or entries
// without documents do.
func (x *auditor) findSharing() error {
	sharing, known := x.r.FilesWithDuplicates()
	owners := make(map[uint64]*file)
	err := x.visitPieces(x.facts.Bare(x.ids), func(f *file, p *record.Piece) error {
		known = known && !p.Bare.Orphan // of whose call nothing is known
		for i := range p.Bare.Len {
			copy := uint64(p.Bare.Copy.At(i))
			if copy == 0 {
				continue
			}
			if owner := owners[copy]; owner != nil {
				f.shares, owner.shares = true, true
			}
			owners[copy] = f
		}
		return nil
	})
	for i := range x.files {
		if f := &x.files[i]; !known || sharing[f.File] {
			f.shares = true
		}
	}
	return err
}

// matchText restricts the auditor to the calls that the text of the request picks, if
// it has one.
func (x *auditor) matchText(a adapter.Adapter, src entry.Source) error {
	if strings.TrimSpace(x.req.Text) == "" {
		return nil
	}
	req := x.req.Picks()
	in, err := req.Resolve(x.ctx, x.r, a, src)
	if err != nil {
		return err
	}
	x.matched = make(map[uint32]map[callAt]bool)
	all, err := rank.Every(x.ctx, in, func(file uint32, offset int64, part int) {
		calls := x.matched[file]
		if calls == nil {
			calls = make(map[callAt]bool)
			x.matched[file] = calls
		}
		calls[callAt{offset, part}] = true
	})
	x.warnings = in.Plan.Warnings
	if !all {
		x.warnings = append(x.warnings, "not every phrase could be verified: some calls may be missing")
	}
	return err
}

// timeOf returns the time of a fact, or the time of the file when the fact has none.
func (f *file) timeOf(ms int64) time.Time {
	return f.TimeOf(&session.Node{Time: ms})
}

// millis is timeOf in Unix milliseconds.
func (f *file) millis(ms int64) int64 {
	if ms != 0 {
		return ms
	}
	return f.timeOf(0).UnixMilli()
}

// timeAt returns the time of Unix milliseconds; no time for 0, and for the value that millis
// returns if the time is unknown.
func timeAt(ms int64) session.Time {
	if ms <= 0 {
		return session.Time{}
	}
	return session.Time{Time: time.UnixMilli(ms).UTC()}
}

// eachPiece visits facts in the order of x.files. A piece and its strings are valid until
// the next one.
func (x *auditor) eachPiece(read func(files []uint32) iter.Seq2[*record.Piece, error], visit func(f *file, p *record.Piece) error) error {
	defer x.trim()
	return x.visitPieces(read(x.toRead()), visit)
}

// toRead returns the ids of the files whose facts are needed, and NoFile in the place of
// the others. Files that share entries are always needed, to tell the first of duplicates.
func (x *auditor) toRead() []uint32 {
	ids := slices.Clone(x.ids)
	for i := range x.files {
		f := &x.files[i]
		if !f.shares && (!f.wanted || x.matched != nil && x.matched[f.File] == nil) {
			ids[i] = segment.NoFile
		}
	}
	return ids
}

// trimAfter is after how many bytes of facts the pages that were read are released: mapping
// them again for each of many small sessions takes longer than reading them.
const trimAfter = 16 << 20

func (x *auditor) trim() {
	x.trimmed = x.facts.Read()
	for _, s := range x.r.Segments() {
		s.Trim()
	}
}

// trimSometimes is called for each piece that is read.
func (x *auditor) trimSometimes() {
	if x.facts.Read()-x.trimmed >= trimAfter {
		x.trim()
	}
}

// pieceCalls reads the calls of one piece of a session's facts.
func (x *auditor) pieceCalls(f *file, piece int) ([]session.CallFact, error) {
	x.trimSometimes()
	facts, err := x.facts.PieceFacts(f.File, piece)
	return facts.Calls, err
}

func (x *auditor) visitPieces(pieces iter.Seq2[*record.Piece, error], visit func(f *file, p *record.Piece) error) error {
	for p, err := range pieces {
		x.trimSometimes()
		f := &x.files[p.File]
		if err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
		if err := x.ctx.Err(); err != nil {
			return err
		}
		if err := visit(f, p); err != nil {
			return err
		}
	}
	return nil
}

// visitUsages visits the uses of tokens in a piece that pass the filters, each once.
func (x *auditor) visitUsages(f *file, p *record.Piece, visit func(i int)) error {
	u := &p.Usages
	for i := range u.Len {
		copy := uint64(u.Copy.At(i))
		first := !f.shares || x.entries.isFirst(copy, p.File, u.Offset.At(i))
		if !f.wanted || x.filter.TestsTime() && !x.passesTime(f, u.Time.At(i)) || !x.passesModel(&u.Model, i) {
			continue
		}
		if ok, err := x.counts(f, u.Offset.At(i), first); err != nil {
			return err
		} else if ok {
			visit(i)
		}
	}
	return nil
}

// counts reports whether an entry that passes the other filters is on the branch, and the first
// of its duplicates.
func (x *auditor) counts(f *file, offset int64, first bool) (bool, error) {
	if ok, err := x.branch.passes(f, offset); err != nil || !ok {
		return false, err
	}
	if !first {
		x.coverage.Copies++
	}
	return first, nil
}

// visitCalls visits the calls in a piece that pass the filters, each once, and the
// results without a call.
func (x *auditor) visitCalls(f *file, p *record.Piece, visit func(i int)) error {
	c, tested := &p.Calls, x.testsCalls()
	for i := range c.Len {
		copy := uint64(c.Copy.At(i))
		first := !f.shares || x.entries.isFirst(copy, p.File, c.Offset.At(i))
		switch {
		case !f.shares:
		case c.Flags(i).Kind() == session.CallMissing: // another file may have its call
			first = x.answers.add(copy) && first
		case c.Answered(i):
			x.answers.add(uint64(c.ResultCopy.At(i)))
		}
		if !f.wanted || tested && !x.passesCall(f, p, i) {
			continue
		}
		if ok, err := x.counts(f, c.Offset.At(i), first); err != nil {
			return err
		} else if ok {
			visit(i)
		}
	}
	return nil
}

// testsCalls reports whether passesCall may be false.
func (x *auditor) testsCalls() bool {
	r := x.req
	return r.Error || r.Rejected || x.rules != 0 || r.Commands || len(r.Tools) > 0 || len(r.Models) > 0 || x.filter.TestsTime() || x.matched != nil
}

// passesCall applies the filters on calls.
func (x *auditor) passesCall(f *file, p *record.Piece, i int) bool {
	c := &p.Calls
	switch {
	case x.req.Error && !c.Flags(i).Failed(), x.req.Rejected && !c.Flags(i).Rejected(),
		x.rules != 0 && x.rules&shellcmd.RuleSet(c.Rules.At(i)) == 0,
		x.req.Commands && c.Programs.Len(i) == 0 && !c.Flags(i).Broken() && !c.Flags(i).Unread() && (p.Details.Len == 0 || !p.Details.Shell(i)),
		!x.passesTool(&c.Tool, i), !x.passesModel(&c.Model, i), x.filter.TestsTime() && !x.passesTime(f, c.Time.At(i)):
		return false
	}
	return x.matched == nil || x.matched[f.File][callAt{c.Offset.At(i), int(c.Part.At(i))}]
}

func (x *auditor) passesTime(f *file, ms int64) bool {
	return x.filter.Time(f.millis(ms))
}

func (x *auditor) passesModel(models *record.Names, i int) bool {
	return len(x.req.Models) == 0 || filter.IsModel(models.At(i), x.req.Models)
}

func (x *auditor) passesTool(tools *record.Names, i int) bool {
	return len(x.req.Tools) == 0 || slices.ContainsFunc(x.req.Tools, func(t string) bool { return strings.EqualFold(t, tools.At(i)) })
}

// branchTest tests entries for a branch, one file after another.
type branchTest struct {
	r      *index.Reader
	name   string
	file   *file // whose record and tree are loaded
	record *session.Record
	tree   *session.Tree
}

// passes reports whether the entry at an offset is on the branch. A nil branchTest
// passes every entry.
func (b *branchTest) passes(f *file, offset int64) (bool, error) {
	if b == nil {
		return true, nil
	}
	if b.file != f {
		rec, err := b.r.Record(f.File)
		if err != nil || rec == nil {
			return false, err
		}
		b.file, b.record, b.tree = f, rec, rec.Tree()
	}
	i := b.record.NodeAt(offset)
	return i >= 0 && entry.BranchOf(b.tree, i) == b.name, nil
}

// entrySet is a set of entries by session.Entry.Copy, which duplicates share.
type entrySet map[uint64]struct{}

// add adds an entry, and reports whether the set did not contain it. An entry that cannot have
// duplicates has copy 0.
func (s *entrySet) add(copy uint64) bool {
	if copy == 0 {
		return true
	}
	if *s == nil {
		*s = make(entrySet)
	}
	before := len(*s)
	(*s)[copy] = struct{}{}
	return len(*s) > before
}

// firsts recognizes the first of the entries that are duplicates of one another.
type firsts struct {
	seen entrySet
	last struct { // the one that was asked for
		copy   uint64
		file   int
		offset int64
		first  bool
	}
}

// isFirst reports whether the entry at an offset is the first of its duplicates. All facts of an
// entry get the same answer, if they are asked for one after another.
func (c *firsts) isFirst(copy uint64, file int, offset int64) bool {
	if l := &c.last; copy == 0 || l.copy != copy || l.file != file || l.offset != offset {
		l.copy, l.file, l.offset, l.first = copy, file, offset, c.seen.add(copy)
	}
	return c.last.first
}
