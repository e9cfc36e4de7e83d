package cli

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/entry"
	"pigrep/query/filter"
	"pigrep/query/sessions"
)

type showOptions struct {
	sharedOptions
	pagerOptions
	target string
	around number
	leaf   string
	tree   bool
	all    bool
	full   bool
	raw    bool
	source bool

	filter query.Request
}

// defaultAround is the default of --around.
const defaultAround = 3

func (o *showOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	addFlag(f, "around", "C", "N", "show N entries on each side of ENTRY (default 3)", &o.around)
	addFlag(f, "context", "", "N", "the same as --around", &o.around)
	f.Lookup("context").Hidden = true // its name in search and grep
	addFlag(f, "leaf", "", "ENTRY", "show the branch that ends at ENTRY, not the active one", &o.leaf)
	addFlag(f, "tree", "", "", "show the tree: branches, labels and the current leaf", &o.tree)
	addFlag(f, "all", "", "", "show all branches, in file order", &o.all)
	addFlag(f, "full", "", "", "fold nothing: show all thinking, results and arguments", &o.full)
	addFlag(f, "source", "", "", "show Markdown as it was written; on a terminal it is rendered", &o.source)
	addFlag(f, "raw", "", "", "print the JSON of the entries as it is in the file", &o.raw)
	o.pagerOptions.addFlags(f)
	o.addShared(cmd, []flagGroup{groupFilter, groupWhere, groupAnswer, groupOutput}, sessionFilters...)
}

func newShowCommand(a *App) *cobra.Command {
	o := &showOptions{}
	cmd := &cobra.Command{
		Use:   "show {SESSION[:ENTRY] | ENTRY | -}",
		Short: "Read a conversation, or the entries around a hit",
		Long: `Read a conversation as pi would restore it: the branch that ends at the last
entry. SESSION is the path of a session file, a session id, or the start of one.
With an entry id, or the start of one, only the entries around it are shown. "-"
reads hits as JSON lines from stdin and shows the entries around each. Filters
hide all other entries; --branch abandoned shows abandoned branches, --branch
any shows all of them.

Edits are shown as diffs: the one that the tool recorded, else one computed from
the arguments of the call. Long diffs and tool results are cut to a few lines
and thinking to one; --full shows all of it. In entries from stdin, what the hit
matched is marked.

On a terminal Markdown is rendered, unless with --source or without colours, and
the output goes to a pager: $PIGREP_PAGER, $PAGER, or less.`,
		Example: `pigrep show 01a1f7de
pigrep show 01a1f7de:5e6f7a8b --around 5
pigrep show 01a1f7de --tree
pigrep show 01a1f7de --role user
pigrep show ./session.jsonl --full --no-pager
pigrep --jsonl connection timeout | pigrep show -`,
		Args:              oneSession,
		ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.target = args[0]
			return runShow(cmd.Context(), a, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *showOptions) check() error {
	switch {
	case o.tree && (o.raw || o.leaf != "" || o.around.given):
		return usagef("", "--tree shows the whole tree and cannot be combined with --raw, --leaf or --around")
	case o.all && o.leaf != "":
		return usagef("", "--all and --leaf cannot be combined")
	case o.raw && (o.json || o.jsonl):
		return usagef("--raw prints the entries as they are in the file, --json as pigrep reads them", "--raw and --json cannot be combined")
	}
	return nil
}

func runShow(ctx context.Context, a *App, o *showOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	out, err := o.printer(a)
	if err != nil {
		return err
	}
	out.Look.Source = o.source
	if o.filter, err = o.request(a); err != nil {
		return err
	}
	p, err := o.locate(a)
	if err != nil {
		return err
	}
	var hits namedHits
	if o.target == "-" {
		// Read stdin first: the pigrep that writes it may still use the index.
		a.final = true
		if hits, err = readHits(a.Streams.In); err != nil {
			return err
		}
		if len(hits.paths) == 0 {
			return errNothingFound
		}
	}
	x, err := o.open(ctx, a, p)
	if err != nil {
		return err
	}
	defer x.Close()
	if o.target == "-" {
		return o.showHits(ctx, a, x, out, hits)
	}
	t, err := findTarget(a, x, o.target)
	if err != nil {
		return err
	}
	defer t.Close()
	return a.paged(&o.pagerOptions, out, func() error {
		var focus []int
		if t.entry >= 0 {
			focus = []int{t.entry}
		}
		return o.show(ctx, a, x, t, out, focus, nil)
	})
}

// showHits shows the entries around every hit on stdin.
func (o *showOptions) showHits(ctx context.Context, a *App, x *snapshot, out *printer.Printer, hits namedHits) error {
	if o.json && len(hits.paths) > 1 {
		return usagef("use --jsonl, which prints one object per line", "--json prints one object, but the input names %d sessions", len(hits.paths))
	}
	return a.paged(&o.pagerOptions, out, func() error {
		failed := false
		for i, path := range hits.paths {
			err := o.showOne(ctx, a, x, out, path, hits.entries[path], i > 0)
			if p, ok := errors.AsType[*problem](err); ok {
				a.warn("%v", p)
				failed = true
				continue
			}
			if err != nil {
				return err
			}
		}
		if failed {
			return errIncomplete
		}
		return nil
	})
}

func (o *showOptions) showOne(ctx context.Context, a *App, x *snapshot, out *printer.Printer, path string, hits []hitLine, again bool) error {
	t, err := openTarget(a, x, path, "")
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
			if i = t.Tree.Find(h.EntryID); i < 0 {
				a.warn("%s: entry %s no longer exists", path, h.EntryID)
				continue
			}
		}
		if !slices.Contains(focus, i) {
			focus = append(focus, i)
		}
		marks[i] = append(marks[i], h.matched()...)
	}
	if len(hits) > 0 && len(focus) == 0 {
		return &problem{code: codeNotFound, message: path + " has none of these entries"}
	}
	if again && !o.json && !o.jsonl && !o.raw {
		if _, err := a.out.WriteString("\n"); err != nil {
			return err
		}
	}
	return o.show(ctx, a, x, t, out, focus, marks)
}

// show prints the entries of one session. marks are the texts to mark in those in focus.
func (o *showOptions) show(ctx context.Context, a *App, x *snapshot, t *target, out *printer.Printer, focus []int, marks map[int][]string) error {
	t.Redact = o.redact
	facts, err := t.facts(ctx, a, x)
	if err != nil {
		return indexProblem(err)
	}
	pass := filter.EntryTest(t.Record, o.filter.Spec)
	if o.tree && pass != nil {
		return usagef("drop --tree, or the filters", "--tree shows the whole tree and cannot be combined with filters")
	}
	if o.tree {
		return readProblem(ctx, out.Print(&printer.Tree{Session: facts, Rows: untilDone(ctx, t.TreeRows(o.all || o.full))}))
	}
	list, whole, err := o.choose(a, x, t, focus)
	if err != nil {
		return err
	}
	entries := readEntries(ctx, t, list, pass)
	whole = whole && !entries.filtered
	if o.raw {
		var header []byte
		if whole && t.Record.Version != 0 {
			if header, err = readHeader(t); err != nil {
				return err
			}
		}
		return entries.end(ctx, a, printer.RawEntries(a.out, header, entries.all, a.Streams.OutTTY))
	}
	s := &printer.Show{Session: facts, Entries: entries.all, Focus: map[int]bool{}, Full: o.full, Whole: whole, Branches: o.allBranches(), Marks: marks}
	for _, i := range focus {
		s.Focus[i] = true
	}
	if len(focus) > 1 {
		s.Gaps = gaps(t, list)
	}
	return entries.end(ctx, a, out.Print(s))
}

// allBranches reports whether entries of all branches are candidates. --branch then
// filters them.
func (o *showOptions) allBranches() bool {
	return o.all || o.leaf == "" && o.filters.Branch != "" && o.filters.Branch != entry.BranchActive
}

// choose returns the entries to show, in order, and whether they are the whole
// conversation.
func (o *showOptions) choose(a *App, x *snapshot, t *target, focus []int) (list []int, whole bool, err error) {
	switch {
	case o.allBranches():
		for i := range t.Record.Nodes {
			list = append(list, i)
		}
	case o.leaf != "":
		leaf, err := sessions.FindEntry(t.Record, t.Tree, o.leaf)
		if err != nil {
			return nil, false, targetProblem(a, x, err)
		}
		list = t.Tree.Branch(leaf)
	default:
		list = t.Tree.Path()
	}
	if len(focus) == 0 {
		return list, true, nil
	}
	return neighbourhood(t, list, focus, o.around.or(defaultAround), o.allBranches() || o.leaf != ""), false, nil
}

// neighbourhood returns the entries around the ones in focus, each on its own branch.
// With fixed, only entries of the list are used.
func neighbourhood(t *target, list, focus []int, n int, fixed bool) []int {
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
func gaps(t *target, list []int) map[int]bool {
	found := make(map[int]bool)
	for k := 1; k < len(list); k++ {
		if t.Tree.Parent(list[k]) != list[k-1] {
			found[list[k]] = true
		}
	}
	return found
}

// chosenEntries is a sequence of entries, read lazily.
type chosenEntries struct {
	all      iter.Seq2[*entry.Entry, error]
	filtered bool // a filter applies
	passed   int  // entries that passed the filters so far
}

// readEntries reads the entries of the list that pass the filter; nil passes all.
func readEntries(ctx context.Context, t *target, list []int, pass func(*entry.Entry) bool) *chosenEntries {
	c := &chosenEntries{filtered: pass != nil}
	c.all = func(yield func(*entry.Entry, error) bool) {
		for _, i := range list {
			e, err := t.Read(i)
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && pass != nil && !pass(e) {
				continue
			}
			c.passed++
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
	return c
}

// count returns a filter that counts what it passes; nil for nil.
func (c *chosenEntries) count(pass func(*entry.Entry) bool) func(*entry.Entry) bool {
	if pass == nil {
		return nil
	}
	return func(e *entry.Entry) bool {
		ok := pass(e)
		if ok {
			c.passed++
		}
		return ok
	}
}

// end turns the result of printing the entries into the outcome of the command.
func (c *chosenEntries) end(ctx context.Context, a *App, err error) error {
	if err == nil && c.filtered && c.passed == 0 {
		if a.Streams.ErrTTY && !a.json {
			a.warn("no entry passes the filters; --branch any includes all branches")
		}
		return errNothingFound
	}
	return readProblem(ctx, err)
}

// untilDone ends a sequence with the error of the context when that is done.
func untilDone[T any](ctx context.Context, all iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for v, err := range all {
			if err == nil {
				err = ctx.Err()
			}
			if !yield(v, err) || err != nil {
				return
			}
		}
	}
}

// readHeader returns the header line of the session.
func readHeader(t *target) ([]byte, error) {
	end := t.Record.Checkpoint.Offset + t.Record.TailBytes
	if len(t.Record.Nodes) > 0 {
		if first := t.Record.Nodes[0].Offset; first > t.Record.Header.Offset {
			end = first
		}
	} else if t.Record.Size > 0 {
		end = t.Record.Size
	}
	return t.Header(end)
}

// readProblem adds hints to an error of reading a session file.
func readProblem(ctx context.Context, err error) error {
	switch {
	case err == nil, isClosedPipe(err):
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, entry.ErrChanged):
		return &problem{code: codeIO, message: err.Error(), hint: "run it again; without --no-update the index is updated first"}
	}
	return err
}
