package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

type showOptions struct {
	flags.Shared
	pager.Options
	target string
	around flags.Number
	last   flags.Number
	leaf   string
	tree   bool
	all    bool
	full   bool
	raw    bool
	source bool

	filter search.Request
}

// defaultAround is the default of --around.
const defaultAround = 3

func (o *showOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	flags.Add(f, "around", "C", "N", "show N entries on each side of ENTRY (default 3)", &o.around)
	flags.Add(f, "context", "", "N", "the same as --around", &o.around)
	f.Lookup("context").Hidden = true // its name in search and grep
	flags.Add(f, "last", "", "N", "show only the last N entries", &o.last)
	flags.Add(f, "leaf", "", "ENTRY", "show the branch that ends at ENTRY, not the active one", &o.leaf)
	flags.Add(f, "tree", "", "", "show the tree: branches, labels and the current leaf", &o.tree)
	flags.Add(f, "all", "", "", "show all branches, in file order", &o.all)
	flags.Add(f, "full", "", "", "fold nothing: show all thinking, results and arguments", &o.full)
	flags.Add(f, "source", "", "", "show Markdown as it was written; on a terminal it is rendered", &o.source)
	flags.Add(f, "raw", "", "", "print the JSON of the entries as it is in the file", &o.raw)
	o.Options.AddFlags(f)
	o.Add(cmd, flags.SharedGroups, flags.SessionFilters...)
}

func (o *showOptions) check() error {
	switch {
	case o.tree && (o.raw || o.leaf != "" || o.around.Given):
		return problem.Usagef("", "--tree shows the whole tree and cannot be combined with --raw, --leaf or --around")
	case o.last.Given && (o.tree || o.around.Given || o.target == "-"):
		return problem.Usagef("", "--last cannot be combined with --tree, --around or hits from stdin")
	case o.all && o.leaf != "":
		return problem.Usagef("", "--all and --leaf cannot be combined")
	case o.raw && (o.JSON || o.JSONL):
		return problem.Usagef("--raw prints the entries as they are in the file, --json as pigrep reads them", "--raw and --json cannot be combined")
	}
	return nil
}

func runShow(ctx context.Context, a *app.App, o *showOptions, args []string) error {
	o.target = args[0]
	if err := o.check(); err != nil {
		return err
	}
	q, err := begin(a, &o.Shared)
	if err != nil {
		return err
	}
	out := q.out
	out.Layout.Source, o.filter = o.source, q.request
	var hits namedHits
	if o.target == "-" {
		// Read stdin first: the pigrep that writes it may still use the index.
		a.Final = true
		if hits, err = readHits(a.Streams.In); err != nil {
			return err
		}
		if len(hits.paths) == 0 {
			return problem.ErrNothingFound
		}
	}
	x, err := snapshot.Open(ctx, q.Location)
	if err != nil {
		return err
	}
	defer x.Close()
	v := &showing{o, x, out}
	if o.target == "-" {
		return v.showHits(ctx, hits)
	}
	t, err := conversation.Find(x, o.target)
	if err != nil {
		return err
	}
	defer t.Close()
	return pager.Show(a, &o.Options, out, func() error {
		var focus []int
		if t.Entry >= 0 {
			focus = []int{t.Entry}
		}
		return v.show(ctx, t, focus, nil)
	})
}

// showing is a show with the index open.
type showing struct {
	*showOptions
	x   *snapshot.Snapshot
	out *printer.Printer
}

// showHits shows the entries around every hit on stdin.
func (o *showing) showHits(ctx context.Context, hits namedHits) error {
	if o.JSON && len(hits.paths) > 1 {
		return problem.Usagef("use --jsonl, which prints one object per line", "--json prints one object, but the input names %d sessions", len(hits.paths))
	}
	return pager.Show(o.x.App, &o.Options, o.out, func() error {
		failed := false
		for i, path := range hits.paths {
			err := o.showOne(ctx, path, hits.entries[path], i > 0)
			if p, ok := errors.AsType[*problem.Error](err); ok {
				o.x.App.Warn("%v", p)
				failed = true
				continue
			}
			if err != nil {
				return err
			}
		}
		if failed {
			return problem.ErrIncomplete
		}
		return nil
	})
}

func (o *showing) showOne(ctx context.Context, path string, hits []hitLine, again bool) error {
	a := o.x.App
	t, err := conversation.Find(o.x, path)
	if err != nil {
		return err
	}
	defer t.Close()
	var focus []int
	marks := make(map[int][]string)
	for _, h := range hits {
		i := -1
		if h.Offset != nil {
			i = t.Record.NodeAt(*h.Offset)
		}
		if i < 0 || t.Record.Nodes[i].ID != h.EntryID {
			if i, err = sessions.FindEntry(t.Record, t.Tree, h.EntryID); err != nil {
				a.Warn("%s: entry %s no longer exists", path, h.EntryID)
				continue
			}
		}
		if !slices.Contains(focus, i) {
			focus = append(focus, i)
		}
		marks[i] = append(marks[i], h.matched()...)
	}
	if len(hits) > 0 && len(focus) == 0 {
		return &problem.Error{Code: conversation.CodeNotFound, Message: path + " has none of these entries"}
	}
	if again && !o.JSON && !o.JSONL && !o.raw {
		if _, err := a.Out.WriteString("\n"); err != nil {
			return err
		}
	}
	return o.show(ctx, t, focus, marks)
}

// show prints the entries of one session. marks are the texts to mark in those in focus.
func (o *showing) show(ctx context.Context, t *conversation.Target, focus []int, marks map[int][]string) error {
	a := o.x.App
	t.Redact, t.Raw = o.Redact, o.raw
	facts, err := t.Facts(ctx, o.x)
	if err != nil {
		return problem.OfIndex(err)
	}
	pass := filter.EntryTest(t.Record, o.filter.Spec)
	if o.tree && pass != nil {
		return problem.Usagef("drop --tree, or the filters", "--tree shows the whole tree and cannot be combined with filters")
	}
	if o.tree {
		return conversation.ReadProblem(ctx, o.out.Print(&printer.Tree{Session: facts, Rows: conversation.UntilDone(ctx, t.TreeRows(o.all || o.full))}))
	}
	list, whole, err := o.choose(o.x, t, focus)
	if err != nil {
		return err
	}
	if o.last.Given {
		if len(focus) > 0 {
			return problem.Usagef("leave out one of them", "--last shows the end of a session, not the surroundings of an entry")
		}
		whole = false
		if list, err = lastOf(ctx, t, list, pass, o.last.N); err != nil {
			return conversation.ReadProblem(ctx, err)
		}
	}
	entries := conversation.ReadEntries(ctx, t, list, pass)
	whole = whole && !entries.Filtered
	if o.raw {
		var header []byte
		if whole && t.Record.Version != 0 {
			if header, err = conversation.ReadHeader(t); err != nil {
				return err
			}
		}
		return entries.End(ctx, a, printer.RawEntries(a.Out, header, entries.All, a.Streams.OutTTY))
	}
	s := &printer.Show{Session: facts, Entries: entries.All, Focus: map[int]bool{}, Full: o.full, Whole: whole, Branches: o.allBranches(), Marks: marks}
	for _, i := range focus {
		s.Focus[i] = true
	}
	if len(focus) > 1 {
		s.Gaps = gaps(t, list)
	}
	return entries.End(ctx, a, o.out.Print(s))
}

// lastOf returns the end of a list, from the n-th last entry that passes.
func lastOf(ctx context.Context, t *conversation.Target, list []int, pass func(*entry.Entry) bool, n int) ([]int, error) {
	from := len(list)
	for ; from > 0 && n > 0; from-- {
		if pass != nil {
			e, err := t.Read(list[from-1])
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return nil, err
			}
			if !pass(e) {
				continue
			}
		}
		n--
	}
	return list[from:], nil
}

// allBranches reports whether entries of all branches are candidates. --branch then
// filters them.
func (o *showOptions) allBranches() bool {
	branch := o.Filters.Value(filter.Branch)
	return o.all || o.leaf == "" && branch != "" && branch != entry.BranchActive
}

// choose returns the entries to show, in order, and whether they are the whole
// conversation.
func (o *showOptions) choose(x *snapshot.Snapshot, t *conversation.Target, focus []int) (list []int, whole bool, err error) {
	switch {
	case o.allBranches():
		for i := range t.Record.Nodes {
			list = append(list, i)
		}
	case o.leaf != "":
		leaf, err := sessions.FindEntry(t.Record, t.Tree, o.leaf)
		if err != nil {
			return nil, false, conversation.Problem(x, err)
		}
		list = t.Tree.Branch(leaf)
	default:
		list = t.Tree.Path()
	}
	if len(focus) == 0 {
		return list, true, nil
	}
	return neighbourhood(t, list, focus, o.around.Or(defaultAround), o.allBranches() || o.leaf != ""), false, nil
}

// neighbourhood returns the entries around the ones in focus, each on its own branch.
// With fixed, only entries of the list are used.
func neighbourhood(t *conversation.Target, list, focus []int, n int, fixed bool) []int {
	var chosen []int
	have := make(map[int]bool)
	for _, f := range focus {
		branch := list
		if !fixed {
			branch = t.Through(list, f)
		} else if !slices.Contains(list, f) {
			branch = []int{f}
		}
		from, to := t.Around(branch, f, n)
		for _, i := range branch[from:to] {
			if !have[i] {
				have[i] = true
				chosen = append(chosen, i)
			}
		}
	}
	slices.Sort(chosen)
	return chosen
}

// gaps returns the entries of a list whose parent is not the entry before them.
func gaps(t *conversation.Target, list []int) map[int]bool {
	found := make(map[int]bool)
	for k := 1; k < len(list); k++ {
		if t.Tree.Parent(list[k]) != list[k-1] {
			found[list[k]] = true
		}
	}
	return found
}
