package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"pigrep/internal/content"
	"pigrep/internal/files"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/engine/match"
	"pigrep/query/search"
	"pigrep/query/sessions"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/output"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/html"
	"pigrep/ui/printer"
	"pigrep/ui/show"
)

type showOptions struct {
	flags.Shared `takes:"filters files answer output from on wait reveal -agent -session -cwd -here -project -exclude"`
	pager.Options
	target, Leaf                 string
	Around, Last                 flags.Number
	Tree, All, Full, Raw, Source bool

	filter search.Request
}

func (o *showOptions) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	flags.Add(f, "context", "", "N", "the same as --around", &o.Around)
	f.Lookup("context").Hidden = true // its name in search and grep
}

func (o *showOptions) check() error {
	switch {
	case o.Tree && (o.Raw || o.Leaf != "" || o.Around.Given):
		return problem.Usagef("", "--tree shows the whole tree and cannot be combined with --raw, --leaf or --around")
	case o.Last.Given && (o.Tree || o.Around.Given || o.target == "-"):
		return problem.Usagef("", "--last cannot be combined with --tree, --around or hits from stdin")
	case o.All && o.Leaf != "":
		return problem.Usagef("", "--all and --leaf cannot be combined")
	case o.Raw && (o.JSON || o.JSONL):
		return problem.Usagef("--raw prints the entries as they are in the file, --json as pigrep reads them", "--raw and --json cannot be combined")
	}
	return nil
}

func runShow(ctx context.Context, a *app.App, o *showOptions, args []string) error {
	o.target = args[0]
	if err := o.check(); err != nil {
		return err
	}
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	out := q.Out
	out.Layout.Source, o.filter = o.Source, q.Request
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
	askForNamed(q, append(hits.paths, o.target)...)
	x, err := snapshot.Open(ctx, q.Location, q.Named)
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

// latestElsewhere is among how many sessions of an archive the last one is looked for.
const latestElsewhere = 20

// askForNamed makes other machines and archives send only the sessions that the user named.
func askForNamed(q *asking.Command, targets ...string) {
	for _, target := range targets {
		name, _ := sessions.SplitTarget(target)
		switch {
		case strings.HasPrefix(name, sessions.Last):
			q.Named.Latest = latestElsewhere
		case name != "-":
			q.Named.Names = append(q.Named.Names, name)
		}
	}
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
	marks := make(map[int][]match.Mark)
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
	if again && !o.JSON && !o.JSONL && !o.Raw {
		_ = a.Out.WriteByte('\n') // the end of the run reports errors
	}
	return o.show(ctx, t, focus, marks)
}

// show prints the entries of one session. marks are for those in focus.
func (o *showing) show(ctx context.Context, t *conversation.Target, focus []int, marks map[int][]match.Mark) error {
	a := o.x.App
	t.Redact, t.Raw = o.Redact, o.Raw
	facts, err := t.Facts(ctx, o.x)
	if err != nil {
		return problem.OfIndex(err)
	}
	pass := filter.EntryTest(t.Record, o.filter.Spec)
	if o.Tree && pass != nil {
		return problem.Usagef("drop --tree, or the filters", "--tree shows the whole tree and cannot be combined with filters")
	}
	if o.Tree {
		return conversation.ReadProblem(ctx, o.out.Print(&show.Tree{Session: facts, Rows: conversation.UntilDone(ctx, t.TreeRows(o.All || o.Full))}))
	}
	list, whole, err := o.choose(o.x, t, focus)
	if err != nil {
		return err
	}
	if o.Last.Given {
		if len(focus) > 0 {
			return problem.Usagef("leave out one of them", "--last shows the end of a session, not the surroundings of an entry")
		}
		whole = false
		if list, err = lastOf(ctx, t, list, pass, o.Last.N); err != nil {
			return conversation.ReadProblem(ctx, err)
		}
	}
	entries := conversation.ReadEntries(ctx, t, list, pass, o.unfolded(focus, o.Raw || o.JSON || o.JSONL))
	whole = whole && !entries.Filtered
	if o.Raw {
		var header []byte
		if whole && t.Record.Version != 0 && t.Record.Inherited == 0 {
			if header, err = conversation.ReadHeader(t); err != nil {
				return err
			}
		}
		return entries.End(ctx, a, show.RawEntries(a.Out, header, entries.All, a.Streams.OutTTY))
	}
	s := &show.Show{Session: facts, Entries: entries.All, Focus: map[int]bool{}, Full: o.Full, Whole: whole, Branches: o.allBranches(), Marks: marks, Lacks: o.x.Lacks}
	for _, i := range focus {
		s.Focus[i] = true
	}
	if len(focus) > 0 {
		s.Gaps = gaps(t, list, focus)
	}
	return entries.End(ctx, a, o.out.Print(s))
}

// unfolded decides which steps are shown: all for programs, or if the user asks for all or for kinds
// of text; otherwise those in focus.
func (o *showOptions) unfolded(focus []int, forPrograms bool) entry.Unfolded {
	if forPrograms || o.All || len(o.filter.Kinds) > 0 || o.filter.Scope != "" {
		return entry.AllSteps
	}
	return func(i, _ int) bool { return slices.Contains(focus, i) }
}

// lastOf returns the end of a list, from the n-th last entry of conversation that passes to the last. The
// pieces of a message count once.
func lastOf(ctx context.Context, t *conversation.Target, list []int, pass func(*entry.Entry) bool, n int) ([]int, error) {
	for len(list) > 0 && t.IsStep(list[len(list)-1]) {
		list = list[:len(list)-1]
	}
	from, below := len(list), &session.Node{}
	for ; from > 0; from-- {
		node := &t.Record.Nodes[list[from-1]]
		if node.Step != session.Talk || node.Continues(below) {
			continue
		}
		if n == 0 {
			break
		}
		if pass != nil {
			e, err := t.Read(list[from-1])
			if err = cmp.Or(err, ctx.Err()); err != nil {
				return nil, err
			}
			if !pass(e) {
				continue
			}
		}
		n, below = n-1, node
	}
	for from < len(list) && t.IsStep(list[from]) {
		from++
	}
	return list[from:], nil
}

// allBranches reports whether entries of all branches are candidates. --branch then
// filters them.
func (o *showOptions) allBranches() bool {
	branch := o.Filters.Value(filter.Branch)
	return o.All || o.Leaf == "" && branch != "" && branch != entry.BranchActive
}

// choose returns the entries to show, in order, and whether they are the whole
// conversation.
func (o *showOptions) choose(x *snapshot.Snapshot, t *conversation.Target, focus []int) (list []int, whole bool, err error) {
	switch {
	case o.allBranches():
		list = t.Tree.Shown()
	case o.Leaf != "":
		leaf, err := sessions.FindEntry(t.Record, t.Tree, o.Leaf)
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
	return o.neighbourhood(t, list, focus), false, nil
}

// neighbourhood returns the entries around the ones in focus, each on its own branch. If branches were
// chosen, only entries of the list are used.
func (o *showOptions) neighbourhood(t *conversation.Target, list, focus []int) []int {
	chosen := make(map[int]bool)
	for _, f := range focus {
		branch := list
		if !o.allBranches() && o.Leaf == "" {
			branch = t.Through(list, f)
		} else if !slices.Contains(list, f) {
			branch = []int{f}
		}
		for _, i := range t.Reading(branch, f, o.Around.Or(-1)) {
			chosen[i] = true
		}
		for _, i := range branch { // the result of a parallel call may stand behind those of others
			if n := &t.Record.Nodes[i]; n.Role == session.RoleToolResult && n.ParentID == t.Record.Nodes[f].ID && o.Around.Or(-1) != 0 {
				chosen[i] = true
			}
		}
	}
	return t.Tree.Together(slices.Sorted(maps.Keys(chosen)))
}

// gaps returns the entries of a list that follow the entry before them neither on the branch of an
// entry in focus nor as its child.
func gaps(t *conversation.Target, list, focus []int) map[int]bool {
	found, above := make(map[int]bool), make(map[int]int)
	for _, f := range focus {
		branch := t.Through(t.Tree.Path(), f)
		for at := 1; at < len(branch); at++ {
			above[branch[at]] = branch[at-1]
		}
	}
	for k := 1; k < len(list); k++ {
		before, ok := above[list[k]]
		if !ok {
			before = t.Tree.Parent(list[k])
		}
		if before != list[k-1] {
			found[list[k]] = true
		}
	}
	return found
}

// hitLine is the part of a hit or session on stdin that matters here.
type hitLine struct {
	Type        string          `json:"type"`
	SessionPath string          `json:"sessionPath"` // in text also another name
	EntryID     string          `json:"entryId"`
	Place       string          `json:"-"` // SESSION:ENTRY, in a line of text
	Offset      *int64          `json:"offset"`
	Hits        json.RawMessage `json:"hits"` // of an envelope; a number in a session
	Data        json.RawMessage `json:"data"` // of a message of grep
	Fragment    match.Fragment  `json:"fragment"`
	Submatches  []struct {
		Match struct {
			Text string `json:"text"`
		} `json:"match"`
	} `json:"submatches"` // of a match of grep
}

func (h *hitLine) matched() []match.Mark {
	marks := h.Fragment.Marks()
	for i := range h.Submatches {
		if text := h.Submatches[i].Match.Text; text != "" {
			marks = append(marks, match.Mark{Text: text, Anywhere: true})
		}
	}
	return marks
}

// namedHits are the sessions of hits on stdin in order, each with its entries in order.
type namedHits struct {
	paths   []string
	entries map[string][]hitLine
}

func (n *namedHits) add(h *hitLine) {
	var data hitLine
	if json.Unmarshal(h.Data, &data) == nil {
		n.add(&data)
	}
	var hits []hitLine
	if json.Unmarshal(h.Hits, &hits) == nil {
		for i := range hits {
			n.add(&hits[i])
		}
	}
	if h.SessionPath == "" {
		return
	}
	if _, ok := n.entries[h.SessionPath]; !ok {
		n.paths = append(n.paths, h.SessionPath)
		n.entries[h.SessionPath] = nil
	}
	if h.EntryID != "" {
		n.entries[h.SessionPath] = append(n.entries[h.SessionPath], *h)
	}
}

// place matches the beginning of a line of text: SESSION:ENTRY or SESSION, where SESSION is a
// name or a path.
var place = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([^\t]*?\.jsonl|[^\s:]+)(?::([^\s:]+))?`) })

func (n *namedHits) addPlace(line string) bool {
	at := place().FindStringSubmatch(line)
	if line == printer.GrepSeparator || at == nil {
		return line == printer.GrepSeparator
	}
	n.add(&hitLine{SessionPath: at[1], EntryID: at[2]})
	return true
}

// readHits reads hits: JSON lines with hits, sessions or lines of grep, a whole JSON answer, or
// lines of text that begin with a session and its entry.
func readHits(r io.Reader) (namedHits, error) {
	found := namedHits{entries: make(map[string][]hitLine)}
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		data, readErr := in.ReadBytes('\n')
		line := bytes.TrimSpace(data)
		if len(line) > 0 && line[0] != '{' && found.addPlace(string(line)) {
			line = nil
		}
		if len(line) > 0 {
			var h hitLine
			if err := json.Unmarshal(data, &h); err != nil {
				return found, &problem.Error{Code: problem.CodeUsage, Message: fmt.Sprintf("line %d of the input is not a hit", n), Err: err,
					Hint: "pipe hits to it: pigrep QUERY | pigrep show -"}
			}
			found.add(&h)
		}
		if errors.Is(readErr, io.EOF) {
			return found, nil
		}
		if readErr != nil {
			return found, fmt.Errorf("cannot read the hits: %w", readErr)
		}
	}
}

// exportFormats are the formats of export, the default first.
var exportFormats = []string{"md", "html", "json", "txt"}

type exportOptions struct {
	flags.Shared                 `takes:"filters files answer output from on wait reveal -agent -session -cwd -here -project -exclude -max-bytes -progress -dates -json -jsonl -color -hyperlink" ignores:"output -json -jsonl"`
	target, Format, Output, Leaf string
	Force, All, Open, FullPaths  bool
	find                         func(path string, force bool) (*files.Output, error) // of output; nil is findOutput
}

func (o *exportOptions) AddFlags(cmd *cobra.Command) {
	flags.Words(cmd, "format", exportFormats)
}

func (o *exportOptions) check() error {
	if o.JSON && (o.Format == "" || o.Format == "json") {
		o.Format = "json"
	} else if o.JSON {
		return problem.Usagef("", "--json and --format %s cannot be combined", o.Format)
	}
	if o.Format == "" && o.Open && o.Output == "" {
		o.Format = "html"
	}
	if o.Format == "" {
		ext := strings.TrimPrefix(strings.ToLower(filepath.Ext(o.Output)), ".")
		if ext != "" && !slices.Contains(exportFormats, ext) {
			return problem.Usagef("name the format with --format, or end the name in one of "+strings.Join(exportFormats, ", "), "no format has the extension .%s", ext)
		}
		o.Format = cmp.Or(ext, exportFormats[0])
	}
	switch {
	case o.Open && o.Output == "-":
		return problem.Usagef("", "--open needs a file, and - is stdout")
	case !slices.Contains(exportFormats, o.Format):
		return problem.Usagef("", "unknown format %q: use one of %s", o.Format, strings.Join(exportFormats, ", "))
	case o.All && o.Leaf != "":
		return problem.Usagef("", "--all and --leaf cannot be combined")
	}
	return nil
}

func runExport(ctx context.Context, a *app.App, o *exportOptions, args []string) error {
	o.target = args[0]
	if err := o.check(); err != nil {
		return err
	}
	if o.Open && o.Output == "" {
		// The same name each time, so that these pages do not pile up.
		name := "pigrep-" + strings.ReplaceAll(session.BaseName(content.Logical(o.target)), ":", "-") + "." + o.Format
		o.Output, o.Force, o.find = filepath.Join(a.TempDir, name), true, output.FindOwn
	}
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	askForNamed(q, o.target)
	x, err := snapshot.Open(ctx, q.Location, q.Named)
	if err != nil {
		return err
	}
	defer x.Close()
	t, err := conversation.Find(x, o.target)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := o.export(ctx, x, t, q.Request, a.Out); err != nil || o.toStdout() {
		return err
	}
	path := a.Absolute(o.Output)
	a.Warn("wrote %s", path)
	if o.Open {
		return output.Open(a, path)
	}
	return nil
}

func (o *exportOptions) toStdout() bool { return o.Output == "" || o.Output == "-" }

func (o *exportOptions) export(ctx context.Context, x *snapshot.Snapshot, t *conversation.Target, req search.Request, stdout io.Writer) error {
	a := x.App
	t.Redact = o.Redact
	facts, err := t.Facts(ctx, x)
	if err != nil {
		return problem.OfIndex(err)
	}
	choice := &showOptions{Shared: o.Shared, All: o.All, Leaf: o.Leaf, filter: req}
	list, _, err := choice.choose(x, t, nil)
	if err != nil {
		return err
	}
	pass := filter.EntryTest(t.Record, req.Spec)
	entries := conversation.ReadEntries(ctx, t, list, pass, choice.unfolded(nil, o.Format == "json"))
	write := func(w io.Writer) error {
		if o.Format == "html" {
			return entries.End(ctx, a, o.page(a, t, facts, list, entries.Count(pass)).Write(ctx, w))
		}
		s := &show.Show{Session: facts, Entries: entries.All, Whole: !entries.Filtered, Branches: choice.allBranches(), Zone: a.Now().Location()}
		return entries.End(ctx, a, show.Export(w, o.Format, s))
	}
	if o.toStdout() {
		return write(stdout)
	}
	find := output.Find
	if o.find != nil {
		find = o.find
	}
	path := a.Absolute(o.Output)
	out, err := find(path, o.Force)
	if err == nil && o.Open {
		err = output.Need("--open", path, out)
	}
	if err != nil {
		return err
	}
	return output.Write(ctx, out, write)
}

// page returns the conversation as HTML. It has all branches unless one was chosen.
func (o *exportOptions) page(a *app.App, t *conversation.Target, facts show.SessionFacts, list []int, pass func(*entry.Entry) bool) *html.Page {
	p := &html.Page{
		Session: facts, Conversation: t.Conversation, Pass: pass, AllSteps: o.All, MarkBranches: o.All || o.Filters.Value(filter.Branch) != "", Images: !o.Redact,
		FullPaths: o.FullPaths, Home: a.Home, Zone: a.Now().Location(),
	}
	if o.All || o.Leaf != "" || o.Filters.Value(filter.Branch) != "" {
		for _, i := range list {
			p.Steps = append(p.Steps, entry.Step{Entry: i})
		}
	} else {
		p.Steps = t.Steps()
	}
	return p
}
