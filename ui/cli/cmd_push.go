package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"strings"
	"time"

	"github.com/cespare/xxhash/v2"
	"github.com/spf13/cobra"

	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/internal/lists"
	"pigrep/internal/session"
	"pigrep/internal/terminal"
	"pigrep/query/engine/filter"
	"pigrep/remote/opensearch"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/remotes"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

type pushOptions struct {
	flags.Shared
	name                       string
	Watch, DryRun, Reveal, Yes bool
	Every                      time.Duration
	pushed                     uint64 // what the last push had to look at
}

// noPushFilters are the filters on parts of sessions: whole sessions are pushed.
var noPushFilters = []string{"scope", "kind", "role", "tool", "model", "error", "branch", "until"}

func (o *pushOptions) AddFlags(cmd *cobra.Command) {
	o.Every = 5 * time.Second
	o.Add(cmd, []flags.Group{flags.GroupFilter, flags.GroupWhere, flags.GroupOutput}, noPushFilters...)
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
		Host: host, User: userName(a), Adapter: q.Agents, Files: q.Disk(), Reveal: o.Reveal, DryRun: o.DryRun, Patient: o.Watch, Now: a.Now,
	}
	for {
		err := o.once(ctx, q, archive, push)
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

// ended is the outcome of a push.
func (o *pushOptions) ended(ctx context.Context, err error) error {
	switch {
	case ctx.Err() == nil:
		return err
	case o.Watch:
		return interrupted(ctx)
	}
	return problem.ErrLeft
}

// once pushes what is new.
func (o *pushOptions) once(ctx context.Context, q *asking.Command, archive *opensearch.Archive, push opensearch.Push) error {
	x, err := snapshot.Open(ctx, q.Location)
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
		return errors.Is(err, fs.ErrNotExist) && vanished(q, path)
	}
	end := func() {}
	if a := q.App; a.Streams.ErrTTY && !a.Quiet {
		var bar func(indexer.Progress)
		bar, end = snapshot.Bar(a, "pushing")
		began := a.Now()
		push.Progress = func(p opensearch.Progress) {
			at := indexer.Progress{Bytes: p.Bytes, Committed: p.Bytes, BytesTotal: p.BytesTotal}
			at.Left = time.Duration(float64(a.Now().Sub(began)) * float64(p.BytesTotal-p.Bytes) / float64(max(1, p.Bytes)))
			bar(at)
		}
	}
	report, err := archive.Push(ctx, push)
	end()
	if report != nil && (err == nil || report.Documents > 0) {
		if failed := o.tell(q, report); failed != nil {
			return failed
		}
	}
	if err != nil {
		return remotes.Problem(err)
	}
	if len(report.Refused)+len(report.Failed)+report.TooLong > 0 {
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

// vanished reports whether the directory of a session file that is gone is still looked at.
func vanished(q *asking.Command, path string) bool {
	for _, r := range q.Roots {
		if _, err := os.Stat(r.Path); err == nil && strings.HasPrefix(path, strings.TrimRight(r.Path, `/\`)+string(os.PathSeparator)) {
			return true
		}
	}
	return false
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

// userName is who this process belongs to; "" if unknown.
func userName(a *app.App) string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return a.Getenv("USER")
}

// mostRefusals is how many refusals are listed one by one.
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
	if err := q.Out.Print(&printer.Told{Command: "push", Lines: []string{o.line(r)}, Facts: facts}); err != nil {
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
	if r.Damaged > 0 {
		a.Advise("`pigrep remote status "+o.name+"` names them", "%s not written by pigrep; what is here was sent again",
			human.Plural(r.Damaged, "document about this machine in "+o.name+" was", "documents about this machine in "+o.name+" were"))
	}
	if r.TooLong > 0 {
		a.Advise("--max-line MB, or the setting max-line, reads longer lines", "%s left out: longer than max-line", human.Plural(r.TooLong, "line is", "lines are"))
	}
	return nil
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
		{r.Unchanged, "unchanged"}, {r.Rewritten, "rewritten"}, {r.Gone, "vanished here, kept there"}, {r.Retried, "documents sent again"}, {r.Newer, "documents newer there"},
	} {
		if part.n > 0 {
			text += fmt.Sprintf("; %s %s", human.Number(part.n), part.text)
		}
	}
	return text
}
