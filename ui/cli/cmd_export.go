package cli

import (
	"cmp"
	"context"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/internal/files"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/query/search"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/html"
	"pigrep/ui/printer"
)

// exportFormats are the formats of export, the default first.
var exportFormats = []string{"md", "html", "json", "txt"}

type exportOptions struct {
	flags.Shared
	target string
	format string
	output string
	force  bool
	view   bool // --open
	all    bool
	leaf   string
	full   bool                                                 // paths
	find   func(path string, force bool) (*files.Output, error) // of output; nil is findOutput
}

func (o *exportOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	flags.AddWords(cmd, "format", "NAME", strings.Join(exportFormats, ", ")+"; the default comes from the extension of FILE, else "+exportFormats[0], exportFormats, &o.format)
	flags.Add(f, "output", "o", "FILE", "write to FILE instead of stdout", &o.output)
	flags.Add(f, "force", "", "", "overwrite FILE if it exists", &o.force)
	flags.Add(f, "open", "", "", "open FILE when it is written; without FILE, write a page to the directory for temporary files", &o.view)
	flags.Add(f, "all", "", "", "show all branches, in file order", &o.all)
	flags.Add(f, "leaf", "", "ENTRY", "show the branch that ends at ENTRY, not the active one", &o.leaf)
	flags.Add(f, "full-paths", "", "", "HTML: do not shorten the paths of the directory and the file", &o.full)
	o.Add(cmd, flags.SharedGroups, slices.Concat(flags.SessionFilters, []string{"max-bytes", "progress", "dates", "json", "jsonl", "color", "hyperlink"})...)
	flags.Ignore(cmd, []flags.Group{flags.GroupOutput}, "json", "jsonl")
	flags.Add(f, "json", "", "", "the same as --format json", &o.JSON)
}

func (o *exportOptions) check() error {
	if o.JSON && (o.format == "" || o.format == "json") {
		o.format = "json"
	} else if o.JSON {
		return problem.Usagef("", "--json and --format %s cannot be combined", o.format)
	}
	if o.format == "" && o.view && o.output == "" {
		o.format = "html"
	}
	if o.format == "" {
		ext := strings.TrimPrefix(strings.ToLower(filepath.Ext(o.output)), ".")
		if ext != "" && !slices.Contains(exportFormats, ext) {
			return problem.Usagef("name the format with --format, or end the name in one of "+strings.Join(exportFormats, ", "), "no format has the extension .%s", ext)
		}
		o.format = cmp.Or(ext, exportFormats[0])
	}
	switch {
	case o.view && o.output == "-":
		return problem.Usagef("", "--open needs a file, and - is stdout")
	case !slices.Contains(exportFormats, o.format):
		return problem.Usagef("", "unknown format %q: use one of %s", o.format, strings.Join(exportFormats, ", "))
	case o.all && o.leaf != "":
		return problem.Usagef("", "--all and --leaf cannot be combined")
	}
	return nil
}

func runExport(ctx context.Context, a *app.App, o *exportOptions, args []string) error {
	o.target = args[0]
	if err := o.check(); err != nil {
		return err
	}
	if o.view && o.output == "" {
		o.output, o.force, o.find = filepath.Join(a.TempDir, temporaryName(o.target, o.format)), true, findOwnFile
	}
	req, err := o.Request(a)
	if err != nil {
		return err
	}
	p, err := location.Find(&o.Shared, a)
	if err != nil {
		return err
	}
	x, err := snapshot.Open(ctx, p)
	if err != nil {
		return err
	}
	defer x.Close()
	t, err := conversation.Find(x, o.target)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := o.export(ctx, x, t, req, a.Out); err != nil || o.toStdout() {
		return err
	}
	path := a.Absolute(o.output)
	a.Warn("wrote %s", path)
	if o.view {
		return openFile(a, path)
	}
	return nil
}

func (o *exportOptions) toStdout() bool { return o.output == "" || o.output == "-" }

// export writes the conversation to the file of --output, or to stdout.
func (o *exportOptions) export(ctx context.Context, x *snapshot.Snapshot, t *conversation.Target, req search.Request, stdout io.Writer) error {
	a := x.App
	t.Redact = o.Redact
	facts, err := t.Facts(ctx, x)
	if err != nil {
		return problem.OfIndex(err)
	}
	show := &showOptions{Shared: o.Shared, all: o.all, leaf: o.leaf}
	list, _, err := show.choose(x, t, nil)
	if err != nil {
		return err
	}
	pass := filter.EntryTest(t.Record, req.Spec)
	entries := conversation.ReadEntries(ctx, t, list, pass)
	write := func(w io.Writer) error {
		if o.format == "html" {
			return entries.End(ctx, a, o.page(a, t, facts, list, entries.Count(pass)).Write(ctx, w))
		}
		s := &printer.Show{Session: facts, Entries: entries.All, Whole: !entries.Filtered, Branches: show.allBranches(), Zone: a.Now().Location()}
		return entries.End(ctx, a, printer.Export(w, o.format, s))
	}
	if o.toStdout() {
		return write(stdout)
	}
	out, err := o.findFile(a.Absolute(o.output))
	if err != nil {
		return err
	}
	return writeExport(ctx, out, write)
}

func (o *exportOptions) findFile(path string) (*files.Output, error) {
	find := findOutput
	if o.find != nil {
		find = o.find
	}
	out, err := find(path, o.force)
	if err == nil && o.view {
		err = needFile("--open", path, out)
	}
	return out, err
}

// page is the conversation as HTML. It has all branches unless one was chosen.
func (o *exportOptions) page(a *app.App, t *conversation.Target, facts printer.SessionFacts, list []int, pass func(*entry.Entry) bool) *html.Page {
	p := &html.Page{
		Session: facts, Conversation: t.Conversation, Pass: pass, MarkBranches: o.all || o.Filters.Value(filter.Branch) != "", Images: !o.Redact,
		FullPaths: o.full, Home: a.Home, Zone: a.Now().Location(),
	}
	if o.all || o.leaf != "" || o.Filters.Value(filter.Branch) != "" {
		for _, i := range list {
			p.Steps = append(p.Steps, entry.Step{Entry: i})
		}
	} else {
		p.Steps = t.Steps()
	}
	return p
}

// temporaryName is the name of the page that --open writes without FILE: the same each time,
// so that these pages do not pile up.
func temporaryName(target, format string) string {
	name := strings.TrimSuffix(filepath.Base(target), ".jsonl")
	return "pigrep-" + strings.ReplaceAll(name, ":", "-") + "." + format
}

// openFile opens a file that was written, for --open.
func openFile(a *app.App, path string) error {
	if err := a.Open(path); err != nil {
		return &problem.Error{Code: problem.CodeIO, Message: "cannot open " + path, Err: err, Hint: "the file is complete: open it in a browser or viewer"}
	}
	return nil
}
