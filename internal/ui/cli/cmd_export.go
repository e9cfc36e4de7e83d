package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pigrep/internal/files"
	"pigrep/internal/ui/cli/app"
	"pigrep/internal/ui/cli/conversation"
	"pigrep/internal/ui/cli/flags"
	"pigrep/internal/ui/cli/location"
	"pigrep/internal/ui/cli/problem"
	"pigrep/internal/ui/cli/snapshot"
	"pigrep/internal/ui/html"
	"pigrep/internal/ui/printer"
	"pigrep/query"
	"pigrep/query/entry"
	"pigrep/query/filter"
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
	flags.Add(f, "format", "", "NAME", strings.Join(exportFormats, ", ")+"; the default comes from the extension of FILE, else "+exportFormats[0], &o.format)
	flags.Add(f, "output", "o", "FILE", "write to FILE instead of stdout", &o.output)
	flags.Add(f, "force", "", "", "overwrite FILE if it exists", &o.force)
	flags.Add(f, "open", "", "", "open FILE when it is written; without FILE, write a page to the directory for temporary files", &o.view)
	flags.Add(f, "all", "", "", "show all branches, in file order", &o.all)
	flags.Add(f, "leaf", "", "ENTRY", "show the branch that ends at ENTRY, not the active one", &o.leaf)
	flags.Add(f, "full-paths", "", "", "HTML: do not shorten the paths of the directory and the file", &o.full)
	// It fails only for an undefined flag.
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(exportFormats, cobra.ShellCompDirectiveNoFileComp))
	o.Add(cmd, []flags.Group{flags.GroupFilter, flags.GroupWhere, flags.GroupAnswer, flags.GroupOutput}, slices.Concat(flags.SessionFilters, []string{"max-bytes", "progress", "dates", "json", "jsonl", "color", "hyperlink"})...)
	flags.Ignore(cmd, []flags.Group{flags.GroupOutput}, "json", "jsonl")
	flags.Add(f, "json", "", "", "the same as --format json", &o.JSON)
}

func newExportCommand(a *app.App) *cobra.Command {
	o := &exportOptions{}
	cmd := &cobra.Command{
		Use:   "export SESSION",
		Short: "Write a conversation to a standalone file",
		Long: `Write a conversation to a standalone file: Markdown, HTML without scripts or
network access, JSON, or plain text. Everything that was said is included, and
edits are diffs. Only HTML includes images. SESSION is the same as for show.
Filters hide all other entries.

The session may contain secrets, so only you can read the file.`,
		Example: `pigrep export 01a1f7de --open
pigrep export 01a1f7de -o login.html
pigrep export 01a1f7de --format md | less
pigrep export 01a1f7de --kind prompt,reply --format txt
pigrep export 01a1f7de --all --format json`,
		Args:              conversation.OneSession,
		ValidArgsFunction: completeSession(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.target = args[0]
			return runExport(cmd.Context(), a, o)
		},
	}
	o.addFlags(cmd)
	return cmd
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

func runExport(ctx context.Context, a *app.App, o *exportOptions) error {
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
	x, err := snapshot.Open(ctx, &o.Shared, a, p)
	if err != nil {
		return err
	}
	defer x.Close()
	t, err := conversation.Find(a, x, o.target)
	if err != nil {
		return err
	}
	defer t.Close()
	if err := o.export(ctx, a, x, t, req); err != nil || o.toStdout() {
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
func (o *exportOptions) export(ctx context.Context, a *app.App, x *snapshot.Snapshot, t *conversation.Target, req query.Request) error {
	t.Redact = o.Redact
	facts, err := t.Facts(ctx, a, x)
	if err != nil {
		return problem.OfIndex(err)
	}
	show := &showOptions{Shared: o.Shared, all: o.all, leaf: o.leaf}
	list, _, err := show.choose(a, x, t, nil)
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
		return write(a.Out)
	}
	find := findOutput
	if o.find != nil {
		find = o.find
	}
	path := a.Absolute(o.output)
	out, err := find(path, o.force)
	if err == nil && o.view {
		err = needFile("--open", path, out)
	}
	if err != nil {
		return err
	}
	return writeExport(ctx, out, write)
}

// page is the conversation as HTML. It has all branches unless one was chosen.
func (o *exportOptions) page(a *app.App, t *conversation.Target, facts printer.SessionFacts, list []int, pass func(*entry.Entry) bool) *html.Page {
	p := &html.Page{
		Session: facts, Conversation: t.Conversation, Pass: pass, MarkBranches: o.all || o.Filters.Branch != "", Images: !o.Redact,
		FullPaths: o.full, Home: a.Home, Zone: a.Now().Location(),
	}
	if o.all || o.leaf != "" || o.Filters.Branch != "" {
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
		return &problem.Error{Code: problem.CodeIO, Message: "open " + path, Err: err, Hint: "the file is complete: open it in a browser or viewer"}
	}
	return nil
}

// writeExport writes to an output.
func writeExport(ctx context.Context, out *files.Output, write func(io.Writer) error) error {
	var answered error
	err := out.Write(ctx, 0o600, func(f io.Writer) error {
		w := bufio.NewWriterSize(f, 1<<20)
		if answered = write(w); answered != nil {
			return answered
		}
		return w.Flush()
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case answered != nil:
		return answered
	}
	return outputProblem(err)
}

func outputProblem(err error) error {
	p := &problem.Error{Code: problem.CodeIO, Message: "write the file", Err: err}
	if errors.Is(err, fs.ErrNotExist) {
		p.Hint = "create the directory first, or name another file"
	}
	return p
}

// findOutput finds what a path of the user's leads to, and fails if it must not be written.
// Session files are never overwritten, not even with --force.
func findOutput(path string, force bool) (*files.Output, error) {
	out, err := files.FindOutput(path)
	if err != nil {
		return nil, outputProblem(err)
	}
	isSession := strings.EqualFold(filepath.Ext(path), ".jsonl") || strings.EqualFold(filepath.Ext(out.Path), ".jsonl")
	switch {
	case out.Kind == files.Directory:
		return nil, problem.Usagef("name a file in it", "%s is a directory", path)
	case out.Kind == files.Socket:
		return nil, problem.Usagef("choose another name", "%s is a socket", path)
	case out.Kind == files.File && isSession:
		return nil, problem.Usagef("choose another name", "%s exists and may be a session; it is not overwritten", path)
	case (out.Kind == files.File || out.Kind == files.Disk) && !force:
		return nil, problem.Usagef("choose another name, or use --force", "%s already exists", path)
	}
	out.Overwrite = force
	return out, nil
}

// findPlainFile is findOutput for a name that the user did not choose: only a file that is
// no link is overwritten.
func findPlainFile(path string, force bool) (*files.Output, error) {
	out, err := findOutput(path, force)
	if err == nil && (out.Linked || !isFile(out)) {
		err = notOverwritten(path, "is not a regular file")
	}
	return out, err
}

// findOwnFile is findPlainFile for a directory in which others may put files.
func findOwnFile(path string, force bool) (*files.Output, error) {
	out, err := findPlainFile(path, force)
	if err == nil && out.Foreign {
		err = notOverwritten(path, "belongs to another user")
	}
	return out, err
}

func notOverwritten(path, why string) error {
	return problem.Usagef("name another file with --output", "%s %s; it is not overwritten", path, why)
}

// isFile reports whether there is a file, or will be.
func isFile(out *files.Output) bool { return out.Kind == files.Missing || out.Kind == files.File }

// needFile fails if a flag needs a file and the path leads to something else.
func needFile(flag, path string, out *files.Output) error {
	if isFile(out) {
		return nil
	}
	return problem.Usagef("name a file with --output", "%s needs a file, and %s is none", flag, path)
}
