package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/internal/files"
	"pigrep/internal/ui/html"
	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/entry"
	"pigrep/query/filter"
)

// exportFormats are the formats of export, the default first.
var exportFormats = []string{"md", "html", "json", "txt"}

type exportOptions struct {
	sharedOptions
	target string
	format string
	output string
	force  bool
	view   bool // --open
	all    bool
	leaf   string
	full   bool // paths
}

func (o *exportOptions) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	addFlag(f, "format", "", "NAME", strings.Join(exportFormats, ", ")+"; the default comes from the extension of FILE, else "+exportFormats[0], &o.format)
	addFlag(f, "output", "o", "FILE", "write to FILE instead of stdout", &o.output)
	addFlag(f, "force", "", "", "overwrite FILE if it exists", &o.force)
	addFlag(f, "open", "", "", "open FILE when it is written; without FILE, write a page to the directory for temporary files", &o.view)
	addFlag(f, "all", "", "", "show all branches, in file order", &o.all)
	addFlag(f, "leaf", "", "ENTRY", "show the branch that ends at ENTRY, not the active one", &o.leaf)
	addFlag(f, "full-paths", "", "", "HTML: do not shorten the paths of the directory and the file", &o.full)
	// It fails only for an undefined flag.
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(exportFormats, cobra.ShellCompDirectiveNoFileComp))
	o.addShared(cmd, []flagGroup{groupFilter, groupWhere, groupAnswer, groupOutput}, slices.Concat(sessionFilters, []string{"max-bytes", "progress", "dates", "json", "jsonl", "color", "hyperlink"})...)
	ignoreShared(cmd, []flagGroup{groupOutput}, "json", "jsonl")
	addFlag(f, "json", "", "", "the same as --format json", &o.json)
}

func newExportCommand(a *App) *cobra.Command {
	o := &exportOptions{}
	cmd := &cobra.Command{
		Use:   "export SESSION",
		Short: "Write a conversation to a standalone file",
		Long: `Write a conversation to a standalone file: Markdown, HTML without scripts or
network access, JSON, or plain text. Everything that was said is included,
edits as diffs; images are in the HTML only. SESSION is the same as for show.
Filters hide all other entries.

The session may contain secrets, so only you can read the file.`,
		Example: `pigrep export 01a1f7de --open
pigrep export 01a1f7de -o login.html
pigrep export 01a1f7de --format md | less
pigrep export 01a1f7de --kind prompt,reply --format txt
pigrep export 01a1f7de --all --format json`,
		Args:              oneSession,
		ValidArgsFunction: a.completeSession,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.target = args[0]
			return runExport(cmd.Context(), a, o)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *exportOptions) check() error {
	if o.json && (o.format == "" || o.format == "json") {
		o.format = "json"
	} else if o.json {
		return usagef("", "--json and --format %s cannot be combined", o.format)
	}
	if o.format == "" && o.view && o.output == "" {
		o.format = "html"
	}
	if o.format == "" {
		ext := strings.TrimPrefix(strings.ToLower(filepath.Ext(o.output)), ".")
		if ext != "" && !slices.Contains(exportFormats, ext) {
			return usagef("name the format with --format, or end the name in one of "+strings.Join(exportFormats, ", "), "no format has the extension .%s", ext)
		}
		o.format = cmp.Or(ext, exportFormats[0])
	}
	switch {
	case o.view && o.output == "-":
		return usagef("", "--open needs a file, and - is stdout")
	case !slices.Contains(exportFormats, o.format):
		return usagef("", "unknown format %q: use one of %s", o.format, strings.Join(exportFormats, ", "))
	case o.all && o.leaf != "":
		return usagef("", "--all and --leaf cannot be combined")
	}
	return nil
}

func runExport(ctx context.Context, a *App, o *exportOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.view && o.output == "" {
		o.output, o.force = filepath.Join(a.TempDir, temporaryName(o.target, o.format)), true
	}
	req, err := o.request(a)
	if err != nil {
		return err
	}
	p, err := o.locate(a)
	if err != nil {
		return err
	}
	x, err := o.open(ctx, a, p)
	if err != nil {
		return err
	}
	defer x.Close()
	t, err := findTarget(a, x, o.target)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := o.export(ctx, a, x, t, req); err != nil || o.toStdout() {
		return err
	}
	path := a.absolute(o.output)
	a.warn("wrote %s", path)
	return o.opened(a, path)
}

func (o *exportOptions) toStdout() bool { return o.output == "" || o.output == "-" }

// export writes the conversation to the file of --output, or to stdout.
func (o *exportOptions) export(ctx context.Context, a *App, x *snapshot, t *target, req query.Request) error {
	t.Redact = o.redact
	facts, err := t.facts(ctx, a, x)
	if err != nil {
		return indexProblem(err)
	}
	show := &showOptions{sharedOptions: o.sharedOptions, all: o.all, leaf: o.leaf}
	list, _, err := show.choose(a, x, t, nil)
	if err != nil {
		return err
	}
	pass := filter.EntryTest(t.Record, req.Spec)
	entries := readEntries(ctx, t, list, pass)
	write := func(w io.Writer) error {
		if o.format == "html" {
			return entries.end(ctx, a, o.page(a, t, facts, list, entries.count(pass)).Write(ctx, w))
		}
		s := &printer.Show{Session: facts, Entries: entries.all, Whole: !entries.filtered, Branches: show.allBranches(), Zone: a.Now().Location()}
		return entries.end(ctx, a, printer.Export(w, o.format, s))
	}
	if o.toStdout() {
		return write(a.out)
	}
	return a.writeExport(a.absolute(o.output), o.force, write)
}

// page is the conversation as HTML. It has all branches unless one was chosen.
func (o *exportOptions) page(a *App, t *target, facts printer.SessionFacts, list []int, pass func(*entry.Entry) bool) *html.Page {
	p := &html.Page{
		Session: facts, Conversation: t.Conversation, Pass: pass, MarkBranches: o.all || o.filters.Branch != "", Images: !o.redact,
		FullPaths: o.full, Home: a.Home, Zone: a.Now().Location(),
	}
	if o.all || o.leaf != "" || o.filters.Branch != "" {
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

// opened opens the file that was written, if --open asks for it.
func (o *exportOptions) opened(a *App, path string) error {
	if !o.view {
		return nil
	}
	if err := a.Open(path); err != nil {
		return &problem{code: codeIO, message: "open " + path, err: err, hint: "the file is complete: open it in a browser or viewer"}
	}
	return nil
}

// writeExport writes a file atomically, unless checkExport objects.
func (a *App) writeExport(path string, force bool, write func(io.Writer) error) error {
	if err := checkExport(path, force); err != nil {
		return err
	}
	var answered error
	err := files.Replace(path, 0o600, func(f io.Writer) error {
		w := bufio.NewWriterSize(f, 1<<20)
		if answered = write(w); answered != nil {
			return answered
		}
		return w.Flush()
	})
	if answered != nil || err == nil {
		return answered
	}
	p := &problem{code: codeIO, message: "write the file", err: err}
	if errors.Is(err, fs.ErrNotExist) {
		p.hint = "create the directory first, or name another file"
	}
	return p
}

// checkExport fails for a file that must not be written. Session files are never
// overwritten, not even with --force.
func checkExport(path string, force bool) error {
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return &problem{code: codeIO, message: "write the file", err: err}
	case info.IsDir():
		return usagef("name a file in it", "%s is a directory", path)
	case strings.HasSuffix(path, ".jsonl"):
		return usagef("choose another name", "%s exists and may be a session; it is not overwritten", path)
	case !force:
		return usagef("choose another name, or use --force", "%s already exists", path)
	}
	return nil
}
