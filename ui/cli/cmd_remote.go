package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/spf13/cobra"

	"pigrep/adapter"
	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/internal/timespec"
	"pigrep/query/engine/filter"
	"pigrep/remote/opensearch"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/help"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/remotes"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

type remoteOptions struct {
	flags.Shared `takes:"output -verbose -hyperlink"`
	remotes.Remote
	As, Before  string
	DryRun, Yes bool
	Repair      bool
	Shards      flags.Number
}

func newRemoteCommand(a *app.App) *cobra.Command {
	sub := func(use string, args cobra.PositionalArgs, run func(context.Context, *app.App, *remoteOptions, []string) error) *cobra.Command {
		cmd := &cobra.Command{Use: use, Args: args, ValidArgsFunction: completeArchive(a)}
		if cmd.Name() != "remote" {
			cmd.Annotations = map[string]string{help.Text: "remote-" + cmd.Name()}
		}
		return newCommand(a, &remoteOptions{}, cmd, run)
	}
	cmd := sub("remote", noArgs, runRemoteList)
	cmd.AddCommand(
		sub("add NAME URL", twoArgs, runRemoteAdd),
		sub("check NAME", oneArchive, runRemoteCheck),
		sub("forget NAME {SESSION | --before DATE}", nil, runRemoteForget),
		sub("init NAME", oneArchive, runRemoteInit),
		sub("list", noArgs, runRemoteList),
		sub("rm NAME", oneArchive, runRemoteRemove),
		sub("status NAME", oneArchive, runRemoteStatus),
	)
	return cmd
}

const usualPassword = "PIGREP_PASSWORD"

func oneArchive(cmd *cobra.Command, args []string) error {
	if len(args) == 1 {
		return nil
	}
	return problem.Usagef("`pigrep remote list` lists the archives", "%s takes the name of an archive", cmd.CommandPath())
}

func twoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 2 {
		return nil
	}
	return problem.Usagef("example: "+cmd.CommandPath()+" team https://search.example.com:9200", "%s takes a name and an address", cmd.CommandPath())
}

func completeArchive(a *app.App) complete {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		list, _ := remotes.Read(a) // an error has no completions
		return slices.Sorted(maps.Keys(list)), cobra.ShellCompDirectiveNoFileComp
	}
}

func (o *remoteOptions) tell(a *app.App, facts any, lines ...string) error {
	out, err := o.Printer(a)
	if err != nil {
		return err
	}
	return out.Print(&printer.Told{Command: "remote", Lines: lists.Map(lines, terminal.Clean), Facts: facts})
}

func runRemoteAdd(_ context.Context, a *app.App, o *remoteOptions, args []string) error {
	name := args[0]
	if err := remotes.CheckName(name); err != nil {
		return err
	}
	given := slices.DeleteFunc([]string{o.PasswordCommand, o.PasswordFile, o.PasswordEnv}, func(s string) bool { return s == "" })
	switch {
	case len(given) > 1:
		return problem.Usagef("the password comes from one place", "--password-command, --password-file and --password-env cannot be combined")
	case len(given) == 1 && o.User == "":
		return problem.Usagef("add --user NAME", "a password without a user")
	case len(given) == 0 && o.User != "":
		o.PasswordEnv = usualPassword
	}
	for _, path := range []*string{&o.CA, &o.PasswordFile} {
		if *path != "" {
			*path = a.Absolute(*path)
		}
	}
	o.URL, o.Host = strings.TrimRight(args[1], "/"), o.As
	if _, err := o.Remote.Open(a, name); err != nil {
		return remotes.Problem(err)
	}
	list, err := remotes.Read(a)
	if err != nil {
		return err
	}
	was := list[name]
	list[name] = &o.Remote
	if err := list.Write(a); err != nil {
		return &problem.Error{Code: problem.CodeIO, Message: "cannot write the list of archives", Err: err}
	}
	added := "added " + name
	if was != nil {
		added = "replaced " + name + ", which was " + was.URL
	}
	return o.tell(a, map[string]any{"added": name}, fmt.Sprintf("%s: %s; see whether it answers: pigrep remote status %s", added, o.URL, name))
}

func runRemoteRemove(_ context.Context, a *app.App, o *remoteOptions, args []string) error {
	list, err := remotes.Read(a)
	if err != nil {
		return err
	}
	was, err := list.Find(args[0])
	if err != nil {
		return err
	}
	delete(list, args[0])
	if err := list.Write(a); err != nil {
		return &problem.Error{Code: problem.CodeIO, Message: "cannot write the list of archives", Err: err}
	}
	return o.tell(a, map[string]any{"removed": args[0]}, "removed "+args[0]+", which was "+was.URL+", from the list; the archive itself is as it was")
}

func runRemoteList(_ context.Context, a *app.App, o *remoteOptions, _ []string) error {
	list, err := remotes.Read(a)
	if err != nil {
		return err
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(list)) {
		r := list[name]
		line := name + " " + r.URL
		if r.User != "" {
			from := "$" + r.PasswordEnv
			switch {
			case r.PasswordCommand != "":
				from = "the command " + r.PasswordCommand
			case r.PasswordFile != "":
				from = r.PasswordFile
			}
			line += " as " + r.User + ", password from " + from
		}
		lines = append(lines, line)
	}
	if err := o.tell(a, map[string]any{"archives": list}, lines...); err != nil || len(list) > 0 {
		return err
	}
	a.Explain("add one: pigrep remote add NAME URL", "no archives")
	return problem.ErrNothingFound
}

func (o *remoteOptions) archive(a *app.App, args []string) (*opensearch.Archive, error) {
	list, err := remotes.Read(a)
	if err != nil {
		return nil, err
	}
	return list.Open(a, args[0])
}

func runRemoteInit(ctx context.Context, a *app.App, o *remoteOptions, args []string) error {
	archive, err := o.archive(a, args)
	if err != nil {
		return err
	}
	changes, err := archive.Init(ctx, o.Shards.Or(1), o.DryRun)
	if err != nil {
		return remotes.Problem(err)
	}
	verb := "made"
	if o.DryRun {
		verb = "would make"
	}
	lines := lists.Map(changes, func(c string) string { return verb + " " + c })
	if len(lines) == 0 {
		lines = []string{args[0] + " is set up; nothing to do"}
	}
	return o.tell(a, map[string]any{"archive": args[0], "dryRun": o.DryRun, "changes": append([]string{}, changes...)}, lines...)
}

func runRemoteStatus(ctx context.Context, a *app.App, o *remoteOptions, args []string) error {
	archive, err := o.archive(a, args)
	if err != nil {
		return err
	}
	s, err := archive.Status(ctx)
	if err != nil {
		return remotes.Problem(err)
	}
	lines := []string{fmt.Sprintf("%s: %s, cluster %s, health %s", args[0], s.Engine, s.Cluster, s.Health)}
	if s.Ready == nil {
		lines = append(lines, fmt.Sprintf("%s from %s; %s gone from their machines", human.Plural(s.Sessions, "session file", "session files"), human.Plural(s.Hosts, "machine", "machines"), human.Number(s.Gone)))
	}
	if s.Refused > 0 {
		lines = append(lines, human.Plural(s.Refused, "document was", "documents were")+" not taken by the engine")
	}
	if len(s.Damaged) > 0 {
		list := s.Damaged[:min(len(s.Damaged), mostRefusals)]
		lines = append(lines, fmt.Sprintf("%s written by something else than pigrep, among them %s: delete them in the engine, and push again from the machines that sent them",
			human.Plural(len(s.Damaged), "document of a session file was", "documents of session files were"), strings.Join(list, " ")))
	}
	for _, m := range s.Months {
		lines = append(lines, fmt.Sprintf("%s: %s, %s", m.Index, human.Plural(int(m.Documents), "document", "documents"), human.Bytes(m.Bytes)))
	}
	for _, p := range s.Pushes {
		lines = append(lines, fmt.Sprintf("pushed %s by %s on %s: %s, %s", human.Ago(a.Now(), time.UnixMilli(p.Pushed)), p.User, p.Host, human.Plural(p.Sessions, "session file", "session files"), human.Bytes(p.Bytes)))
	}
	err = o.tell(a, struct {
		Archive string `json:"archive"`
		Ready   bool   `json:"ready"`
		*opensearch.Status
	}{args[0], s.Ready == nil, s}, lines...)
	if err == nil && s.Ready != nil {
		err = remotes.Problem(s.Ready)
	}
	return err
}

func runRemoteCheck(ctx context.Context, a *app.App, o *remoteOptions, args []string) error {
	archive, err := o.archive(a, args)
	if err != nil {
		return err
	}
	lost, files, err := archive.Check(ctx)
	if err != nil {
		return remotes.Problem(err)
	}
	if o.Repair && len(lost) > 0 {
		push := &pushOptions{Shared: o.Shared}
		if err := runPush(ctx, a, push, args); err != nil && !errors.Is(err, problem.ErrIncomplete) {
			return err
		}
		if lost, files, err = archive.Check(ctx); err != nil {
			return remotes.Problem(err)
		}
	}
	lines := lists.Map(lost, func(l opensearch.Lost) string {
		return fmt.Sprintf("%s:%s lacks %s of %s", l.Host, l.Path, human.Plural(int(l.Lacks), "document", "documents"), l.Month)
	})
	if len(lost) == 0 {
		lines = []string{args[0] + " has all of " + human.Plural(files, "session file", "session files")}
	}
	facts := map[string]any{"archive": args[0], "sessions": files, "lost": append([]opensearch.Lost{}, lost...)}
	if err := o.tell(a, facts, lines...); err != nil || len(lost) == 0 {
		return err
	}
	hint := "send again what this machine has: pigrep remote check " + args[0] + " --repair"
	if o.Repair {
		hint = "run it on the machines that have them: pigrep remote check " + args[0] + " --repair"
	}
	a.Advise(hint, "%s lost parts of %s", args[0], human.Plural(len(lost), "session file", "session files"))
	return problem.ErrIncomplete
}

func runRemoteForget(ctx context.Context, a *app.App, o *remoteOptions, args []string) error {
	if len(args) < 1 || len(args) > 2 || (len(args) == 2) == (o.Before != "") {
		return problem.Usagef("examples: pigrep remote forget team 01a1f7de; pigrep remote forget team --before 2026-01-01", "remote forget takes an archive and a session, or --before DATE")
	}
	name, before := "", time.Time{}
	if o.Before != "" {
		var err error
		if before, err = timespec.ParseDays(o.Before, a.Now()); err != nil {
			return problem.Usagef("forms that work: "+strings.Join(timespec.DayExamples, ", "), "--before: %v", err)
		}
	} else {
		name = args[1]
	}
	archive, err := o.archive(a, args)
	if err != nil {
		return err
	}
	found, err := archive.Matching(ctx, name, before)
	if err != nil {
		return remotes.Problem(err)
	}
	var paths, names []string
	only := 0
	for _, f := range found {
		if f.Gone {
			only++
		}
		paths = append(paths, f.Path)
		if !slices.Contains(names, f.Session) {
			names = append(names, f.Session)
		}
	}
	if name != "" && len(names) > 1 {
		return &problem.Error{Code: conversation.CodeAmbiguous, Message: fmt.Sprintf("%q is the beginning or end of several ids", name), Hint: "use one of these", Candidates: names[:min(len(names), conversation.MaxCandidates)]}
	}
	lost := human.When(only > 0, human.Plural(only, "is", "are")+" gone from the machine that had it")
	facts := map[string]any{"archive": args[0], "dryRun": o.DryRun, "sessions": append([]string{}, paths...)}
	switch {
	case o.DryRun:
		facts["gone"] = only
		line := fmt.Sprintf("%s would be deleted from %s", human.Plural(len(paths), "session file", "session files"), args[0])
		return o.tell(a, facts, append(paths, human.Joined("; ", line, lost))...)
	case len(found) == 0 && name != "":
		a.Explain("`pigrep sessions --from "+args[0]+"` lists the sessions there", "no session %s in %s", name, args[0])
		return problem.ErrNothingFound
	default:
		if err := a.Confirm(o.Yes, fmt.Sprintf("delete %s from %s", human.Plural(len(paths), "session file", "session files"), args[0]), lost); err != nil {
			return err
		}
	}
	if name == "" {
		dropped, err := archive.DropMonths(ctx, before)
		if err != nil {
			return remotes.Problem(err)
		}
		facts["months"] = append([]string{}, dropped...)
	}
	if err := archive.Forget(ctx, found, userName(a), a.Now()); err != nil {
		return remotes.Problem(err)
	}
	return o.tell(a, facts, append(paths, fmt.Sprintf("deleted %s from %s; a search of the archive finds nothing of them", human.Plural(len(paths), "session file", "session files"), args[0]))...)
}

// pushOptions lack filters on parts of sessions: whole sessions are pushed.
type pushOptions struct {
	flags.Shared                      `takes:"filters files output -scope -kind -role -tool -model -error -branch -until"`
	name                              string
	Watch, DryRun, Reveal, Yes, Again bool
	Every                             time.Duration
	pushed                            uint64 // what the last push had to look at
}

func (o *pushOptions) AddFlags(cmd *cobra.Command) {
	o.Every = 5 * time.Second
}

func runPush(ctx context.Context, a *app.App, o *pushOptions, args []string) error {
	o.name = args[0]
	switch {
	case o.Reveal && !o.Yes:
		return problem.Usagef("everybody who may read the archive will see them; if that is meant: --reveal --yes", "--reveal sends secrets unmasked")
	case o.DryRun && o.Watch:
		return problem.Usagef("", "--dry-run and --watch cannot be combined")
	}
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	list, err := remotes.Read(a)
	if err != nil {
		return err
	}
	to, err := list.Find(o.name)
	if err != nil {
		return err
	}
	archive, err := to.Open(a, o.name)
	if err != nil {
		return err
	}
	host, err := to.HostName(a, o.name)
	if err != nil {
		return err
	}
	push := opensearch.Push{
		Host: host, User: userName(a), Adapter: q.Agents, Files: q.Disk(), Reveal: o.Reveal, DryRun: o.DryRun, Patient: o.Watch, Again: o.Again, Now: a.Now,
	}
	if o.Watch {
		push.Memory = &opensearch.Memory{}
	}
	for {
		err := o.pushOnce(ctx, q, archive, push)
		if !o.Watch || ctx.Err() != nil || err != nil && !errors.Is(err, problem.ErrIncomplete) {
			return o.ended(ctx, err)
		}
		select {
		case <-ctx.Done():
			return o.ended(ctx, ctx.Err())
		case <-time.After(o.Every):
		}
	}
}

func (o *pushOptions) ended(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil:
		return err
	case o.Watch:
		return interrupted(ctx)
	}
	return problem.ErrLeft
}

func (o *pushOptions) pushOnce(ctx context.Context, q *asking.Command, archive *opensearch.Archive, push opensearch.Push) error {
	x, err := snapshot.Open(ctx, q.Location, q.Named)
	if err != nil {
		return err
	}
	defer x.Close()
	push.Sessions = chosen(x, q.Request.Spec)
	seen := fingerprint(push.Sessions)
	if o.Watch && seen == o.pushed { // the archive need not be asked
		return nil
	}
	push.Vanished = func(path string) bool {
		_, err := os.Lstat(path)
		return errors.Is(err, fs.ErrNotExist) && slices.ContainsFunc(q.Roots, func(r adapter.Root) bool { // it is still looked at
			_, err := os.Stat(r.Path)
			return err == nil && strings.HasPrefix(path, strings.TrimRight(r.Path, `/\`)+string(os.PathSeparator))
		})
	}
	end := func() {}
	if a := q.App; a.Streams.ErrTTY && !a.Quiet {
		var bar func(indexer.Progress)
		bar, end = snapshot.Bar(a, "pushing")
		began := a.Now()
		push.Progress = func(done, total int64) {
			left := float64(a.Now().Sub(began)) * float64(total-done) / float64(max(1, done))
			bar(indexer.Progress{Bytes: done, Committed: done, BytesTotal: total, Left: time.Duration(left)})
		}
	}
	push.Replace = o.Yes
	report, err := archive.Push(ctx, push)
	if end(); err == nil && report.NotReplaced > 0 && !o.Watch && !o.DryRun {
		if q.App.Confirm(false, "replace "+notReplaced(report), "text that only "+o.name+" has may be lost") == nil {
			before := *report
			push.Replace = true
			report, err = archive.Push(ctx, push)
			if report != nil {
				report.Sessions, report.Documents, report.Bytes, report.Gone = report.Sessions+before.Sessions, report.Documents+before.Documents, report.Bytes+before.Bytes, before.Gone
			}
		}
	}
	if report != nil && (err == nil || report.Documents > 0) {
		if failed := o.tell(q, report); failed != nil {
			return failed
		}
	}
	if err != nil {
		return remotes.Problem(err)
	}
	if len(report.Refused)+len(report.Failed)+report.TooLong+report.NotReplaced > 0 {
		return problem.ErrIncomplete
	}
	o.pushed = seen
	return nil
}

// fingerprint changes with what a push would send of sessions.
func fingerprint(list []session.Summary) uint64 {
	hash := xxhash.New()
	for i := range list {
		s := &list[i]
		fmt.Fprintln(hash, s.Path, s.Size, s.Mtime, s.Name)
	}
	return hash.Sum64()
}

// chosen returns the session files that pass the filters, those first that were changed last. A
// file with names of sessions has none of what filters test.
func chosen(x *snapshot.Snapshot, spec filter.Spec) (list []session.Summary) {
	only := spec.WithAllKinds()
	f := only.Compile()
	for i := range x.Reader.Summaries() {
		s := &x.Reader.Summaries()[i]
		if !f.Session(s) || !spec.Since.IsZero() && s.Modified().Before(spec.Since) {
			continue
		}
		list = append(list, *s)
	}
	lists.Sort(list, func(a, b session.Summary) int { return b.Modified().Compare(a.Modified()) })
	return list
}

func userName(a *app.App) string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return a.Getenv("USER")
}

const mostRefusals = 5

// tell prints a report, and warns of what is missing. A watch tells only what it did.
func (o *pushOptions) tell(q *asking.Command, r *opensearch.Report) error {
	a := q.App
	if o.Watch && r.Sessions+r.Gone+len(r.Refused)+len(r.Failed) == 0 {
		return nil
	}
	facts := struct {
		Archive string `json:"archive"`
		DryRun  bool   `json:"dryRun"`
		*opensearch.Report
	}{o.name, o.DryRun, r}
	lines := []string{o.line(r)}
	for _, p := range r.Projects {
		lines = append(lines, fmt.Sprintf("%s: %s, %s", cmp.Or(terminal.Clean(p.CWD), "without a directory"), human.Plural(p.Sessions, "session file", "session files"), human.Bytes(p.Bytes)))
	}
	masked := lists.Map(slices.Sorted(maps.Keys(r.Masked)), func(kind string) string { return terminal.Clean(kind) + " " + human.Number(r.Masked[kind]) })
	if len(masked) > 0 {
		lines = append(lines, "secrets that would be masked: "+strings.Join(masked, ", "))
	}
	if err := q.Out.Print(&printer.Told{Command: "push", Lines: lines, Facts: facts}); err != nil {
		return err
	}
	if o.Watch {
		_ = a.Out.Flush() // a closed pipe ends the next print
	}
	if a.JSON {
		return nil
	}
	for i, refused := range r.Refused {
		if i == mostRefusals {
			a.Warn("%s more", human.Number(len(r.Refused)-i))
			break
		}
		a.Warn("set aside: the archive does not take %s", terminal.Clean(refused.Document+": "+refused.Reason))
	}
	for _, text := range r.Failed {
		a.Warn("%s", terminal.Clean(text))
	}
	if r.NotReplaced > 0 {
		a.Advise("replace it: pigrep push "+o.name+" --yes", "not sent: %s; text that only %s has may be lost", notReplaced(r), o.name)
	}
	if r.Deleted > 0 {
		a.Advise("send them again: pigrep push "+o.name+" --again", "not sent: %s from %s", human.Plural(r.Deleted, "session file that was deleted", "session files that were deleted"), o.name)
	}
	if r.Lost > 0 {
		a.Advise("`pigrep remote check "+o.name+"` names them", "%s lost parts of %s, which this push does not send", o.name, human.Plural(r.Lost, "session file of this machine", "session files of this machine"))
	}
	if r.Damaged > 0 {
		a.Advise("`pigrep remote status "+o.name+"` names them", "%s not written by pigrep; what is here was sent again",
			human.Plural(r.Damaged, "document about this machine in "+o.name+" was", "documents about this machine in "+o.name+" were"))
	}
	if r.TooLong > 0 {
		a.Advise("--max-line MB, or the setting max-line, reads longer lines", "%s left out: longer than max-line", human.Plural(r.TooLong, "line is", "lines are"))
	}
	return nil
}

func notReplaced(r *opensearch.Report) string {
	return human.Plural(r.NotReplaced, "session file that was", "session files that were") + " rewritten or cut off here"
}

func (o *pushOptions) line(r *opensearch.Report) string {
	verb := "pushed"
	if o.DryRun {
		verb = "would push"
	}
	text := fmt.Sprintf("%s %s (%s, %s) to %s", verb, human.Plural(r.Sessions, "session file", "session files"), human.Plural(r.Documents, "document", "documents"), human.Bytes(r.Bytes), o.name)
	if r.Sessions == 0 {
		text = "nothing new for " + o.name
	}
	for _, part := range []struct {
		n    int
		text string
	}{
		{r.Unchanged, "unchanged"}, {r.Rewritten, "rewritten"}, {r.Gone, "vanished here, kept there"}, {r.Repaired, "repaired: parts were lost there"}, {r.Retried, "documents sent again"}, {r.Newer, "newer there"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf("; %s %s", human.Number(part.n), part.text)
		}
	}
	return text
}
