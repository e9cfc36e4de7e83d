package audit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/index/record"
	"pigrep/internal/session"
	"pigrep/query"
	"pigrep/query/entry"
	"pigrep/query/filter"
	"pigrep/query/rank"
)

// auditor visits the facts of all sessions that pass the filters of a request.
type auditor struct {
	ctx      context.Context
	r        *index.Reader
	req      *Request
	facts    *record.FactSet
	files    []file   // the oldest header first
	ids      []uint32 // of the files
	filter   *filter.Filter
	branch   *branchTest       // nil for any branch
	matched  map[location]bool // calls that the text picks; nil for all
	entries  firsts
	results  *entrySet // results that a visited call has; nil until a result without a call comes
	coverage Coverage
	warnings []string

	visitCopy callVisitor // gets the duplicates of calls; nil to count them only
}

// file is a session file of an audit.
type file struct {
	*session.Summary
	wanted bool // the session passes the filters
}

// location is where the document of a call is.
type location struct {
	file   uint32
	offset int64
	part   int
}

func newAuditor(ctx context.Context, r *index.Reader, req *Request, parts record.FactParts) (*auditor, error) {
	if err := req.checkRules(); err != nil {
		return nil, err
	}
	facts, err := r.Facts(ctx, parts)
	if err != nil {
		return nil, err
	}
	x := &auditor{ctx: ctx, r: r, req: req, facts: facts, filter: req.Spec.Compile()}
	if name := x.filter.Branch(); name != "" {
		x.branch = &branchTest{r: r, name: name}
	}
	x.listFiles()
	return x, nil
}

// listFiles lists the files in the order in which duplicates are resolved, and tests
// which pass the filters.
func (x *auditor) listFiles() {
	summaries := x.r.Summaries()
	x.files = make([]file, 0, len(summaries))
	for i := range summaries {
		s := &summaries[i]
		f := file{Summary: s, wanted: x.filter.Session(s)}
		if f.wanted && (s.Version != 0 || s.Messages > 0) {
			x.coverage.addSession(s)
		}
		x.files = append(x.files, f)
	}
	// Stable: files with equal headers stay ordered by path.
	slices.SortStableFunc(x.files, func(a, b file) int { return session.CompareHeaders(&a.Header, &b.Header) })
	for i := range x.files {
		x.ids = append(x.ids, x.files[i].File)
	}
}

// matchText restricts the auditor to the calls that the text of the request picks, if
// it has one.
func (x *auditor) matchText(a adapter.Adapter, src entry.Source) error {
	if strings.TrimSpace(x.req.Text) == "" {
		return nil
	}
	req := query.Request{Text: x.req.Text, Spec: x.req.Spec, Env: x.req.Env}
	req.Kinds = []session.Kind{session.KindCall, session.KindShell}
	// The facts decide these, and know more than the documents do.
	req.Tools, req.Models, req.Error = nil, nil, false
	req.Since, req.Until = time.Time{}, time.Time{}
	in, err := req.Resolve(x.ctx, x.r, a, src)
	if err != nil {
		return err
	}
	x.matched = make(map[location]bool)
	all, err := rank.Every(x.ctx, in, func(file uint32, offset int64, part int) {
		x.matched[location{file, offset, part}] = true
	})
	x.warnings = in.Plan.Warnings
	if !all {
		x.warnings = append(x.warnings, "not every phrase could be verified: some calls may be missing")
	}
	return err
}

// timeOf returns the time of a fact, or that of the file when the fact has none.
func (f *file) timeOf(ms int64) time.Time {
	return f.TimeOf(&session.Node{Time: ms})
}

// eachPiece visits the facts of the files in the order of x.files.
func (x *auditor) eachPiece(visit func(f *file, p *record.Piece) error) error {
	for p, err := range x.facts.All(x.ids) {
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

// eachUsage visits the uses of tokens that pass the filters, each once.
func (x *auditor) eachUsage(visit func(f *file, u *session.UsageFact)) error {
	return x.eachPiece(func(f *file, p *record.Piece) error {
		for k := range p.Usages {
			u := &p.Usages[k]
			first := x.entries.isFirst(u.Copy, p.File, u.Offset)
			if !f.wanted || !x.passesTime(f, u.Time) || !x.passesModel(u.Model) {
				continue
			}
			if ok, err := x.branch.passes(f, u.Offset); err != nil {
				return err
			} else if !ok {
				continue
			}
			if first {
				visit(f, u)
			} else {
				x.coverage.Copies++
			}
		}
		return nil
	})
}

// A callVisitor gets a call and its number among the calls of its file.
type callVisitor func(f *file, number int, c *session.CallFact)

// eachCall visits the calls that pass the filters, each once, and the results
// without a call.
func (x *auditor) eachCall(visit callVisitor) error {
	return x.eachPiece(func(f *file, p *record.Piece) error { return x.visitCalls(f, p, visit) })
}

// visitCalls is eachCall for one piece.
func (x *auditor) visitCalls(f *file, p *record.Piece, visit callVisitor) error {
	for k := range p.Calls {
		c := &p.Calls[k]
		first := x.entries.isFirst(c.Copy, p.File, c.Offset)
		switch {
		case c.Kind == session.CallMissing && c.Copy != 0:
			// When a fork copies only the result of a call, the call is in the parent.
			if err := x.collectResults(p.File, p.Number+k); err != nil {
				return err
			}
			first = x.results.add(c.Copy) && first
		case x.results != nil:
			x.results.addResult(c)
		}
		if !f.wanted || !x.passesCall(f, c) {
			continue
		}
		if ok, err := x.branch.passes(f, c.Offset); err != nil {
			return err
		} else if !ok {
			continue
		}
		if first {
			visit(f, p.Number+k, c)
		} else if x.visitCopy != nil {
			x.visitCopy(f, p.Number+k, c)
		} else {
			x.coverage.Copies++
		}
	}
	return nil
}

// collectResults fills x.results with the results of all calls before call number of
// a file, unless it was filled before. Only results without a call need it, which few
// sessions have.
func (x *auditor) collectResults(file, number int) error {
	if x.results != nil {
		return nil
	}
	x.results = &entrySet{}
	for p, err := range x.facts.All(x.ids[:file+1]) {
		if err := cmp.Or(err, x.ctx.Err()); err != nil {
			return err
		}
		for k := range p.Calls {
			if p.File < file || p.Number+k < number {
				x.results.addResult(&p.Calls[k])
			}
		}
	}
	return nil
}

// passesCall applies the filters on calls.
func (x *auditor) passesCall(f *file, c *session.CallFact) bool {
	switch {
	case (x.req.Failed || x.req.Error) && !c.Failed,
		x.req.Commands && len(c.Programs) == 0 && !c.Broken && !c.Shell,
		len(x.req.Tools) > 0 && !slices.ContainsFunc(x.req.Tools, func(t string) bool { return strings.EqualFold(t, c.Tool) }),
		!x.passesModel(c.Model), !x.passesTime(f, c.Time):
		return false
	}
	return x.matched == nil || x.matched[location{f.File, c.Offset, c.Part}]
}

func (x *auditor) passesTime(f *file, ms int64) bool {
	return !x.filter.TestsTime() || x.filter.Time(f.timeOf(ms).UnixMilli())
}

func (x *auditor) passesModel(model string) bool {
	return len(x.req.Models) == 0 || filter.IsModel(model, x.req.Models)
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
