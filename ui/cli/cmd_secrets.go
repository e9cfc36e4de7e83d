package cli

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"pigrep/internal/human"
	"pigrep/internal/redact"
	"pigrep/internal/session"
	"pigrep/query/engine/entry"
	"pigrep/query/engine/filter"
	"pigrep/remote/opensearch"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/pager"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/remotes"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

// secretsOptions lack some filters: secrets are looked for in all text.
type secretsOptions struct {
	flags.Shared `takes:"filters files output dates format -scope -kind -role -tool -model -error -branch" ignores:"answer"`
	pager.Options
}

// foundSecret is a secret in a session, and how far in the file its last entry stands.
type foundSecret struct {
	printer.Secret
	value  string
	offset int64
}

func runSecrets(ctx context.Context, a *app.App, o *secretsOptions, _ []string) error {
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	x, err := snapshot.Open(ctx, q.Location, q.Named)
	if err != nil {
		return err
	}
	defer x.Close()
	list := slices.Clone(x.Reader.Summaries())
	selected := q.Request.Spec.Compile()
	list = slices.DeleteFunc(list, func(s session.Summary) bool { return !selected.Session(&s) })
	slices.SortFunc(list, func(a, b session.Summary) int { return a.Created().Compare(b.Created()) }) // what forks copy comes first
	found, naming := make([][]*foundSecret, len(list)), entry.NewNaming(x.Reader)
	unread := make([]error, len(list))
	group, each := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range list {
		group.Go(func() error {
			found[i], unread[i] = secretsOf(each, x, &list[i], q.Request.Spec)
			return each.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	sent := sentBy(ctx, a, q)
	var all printer.Secrets
	failed, seen := 0, make(map[string]bool)
	for i, of := range found {
		if unread[i] != nil {
			failed++
			a.Warn("not read: %s: %s", list[i].Path, snapshot.Reason(unread[i]))
		}
		for _, s := range of {
			key := s.EntryID + "\x00" + s.Kind + "\x00" + s.value
			if s.EntryID != "" && seen[key] {
				continue // a fork has copied the entry
			}
			seen[key] = true
			s.Sent = sent(&list[i], s.offset)
			naming.Name(list[i].Path, &s.EntryName)
			all = append(all, s.Secret)
		}
	}
	slices.SortStableFunc(all, func(a, b printer.Secret) int { return b.Time.Compare(a.Time.Time) })
	redact.Strings(&all)
	x.Know(&q.Out.Layout)
	if err := pager.ShowIfLong(a, &o.Options, q.Out, all); err != nil {
		return err
	}
	if len(all) > 0 {
		return problem.ErrNothingFound // the exit code says that there are some
	}
	if failed > 0 || !x.State.Complete {
		return problem.ErrIncomplete
	}
	a.Explain("", "no secrets in %s", human.Plural(len(list), "session file", "session files"))
	return nil
}

// secretsOf returns the secrets of a session file, each value once.
func secretsOf(ctx context.Context, x *snapshot.Snapshot, s *session.Summary, spec filter.Spec) (all []*foundSecret, err error) {
	rec, err := x.Reader.Record(s.File)
	if err != nil || rec == nil {
		return nil, err
	}
	f, err := x.Source().Open(s.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	nodes := make([]int, len(rec.Nodes))
	for i := range nodes {
		nodes[i] = i
	}
	known := make(map[string]*foundSecret)
	for e, err := range entry.NewConversation(x.Agents, rec, f).Entries(nodes, nil, entry.AllSteps) {
		if err != nil || ctx.Err() != nil {
			return all, err
		}
		if e.Time.Before(spec.Since) || !spec.Until.IsZero() && !e.Time.Before(spec.Until) {
			continue
		}
		for i := range e.Parts {
			text := string(bytes.ToValidUTF8(e.Parts[i].Text, []byte("?")))
			spans := redact.Find(text)
			if len(spans) == 0 {
				continue
			}
			masked, move := redact.Apply(text, spans)
			for _, span := range spans {
				key := span.Rule + "\x00" + text[span.Start:span.End]
				now := known[key]
				if now == nil {
					now = &foundSecret{value: text[span.Start:span.End]}
					known[key], all = now, append(all, now)
				}
				from, to := move(span.Start, span.End)
				now.Secret = printer.Secret{
					Kind: span.Rule, Time: session.Time{Time: e.Time}, EntryPlace: s.EntryPlace(e.ID), Part: string(e.Parts[i].Kind), Times: now.Times + 1, Text: around(masked, from, to),
				}
				now.offset = e.Offset
			}
		}
	}
	return all, nil
}

// around returns what stands around a place on its line.
func around(text string, from, to int) string {
	const most = 40
	before, after := text[:from], text[to:]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	after, _, _ = strings.Cut(after, "\n")
	if len(before) > most {
		before = "…" + strings.ToValidUTF8(before[len(before)-most:], "")
	}
	if len(after) > most {
		after = strings.ToValidUTF8(after[:most], "") + "…"
	}
	return strings.TrimSpace(before + text[from:to] + after)
}

// sentBy asks the archives that the user has named what this machine has sent them. The result names
// those that have what stands at a place of a session file.
func sentBy(ctx context.Context, a *app.App, q *asking.Command) func(s *session.Summary, offset int64) []string {
	list, err := remotes.Read(a)
	if err != nil {
		a.Warn("%v", err)
	}
	ctx, stop := context.WithTimeout(ctx, flags.StandardWait*time.Duration(max(len(list), 1)))
	defer stop()
	var names []string
	has := make(map[string]func(*session.Summary) int64)
	for name, to := range list {
		var archive *opensearch.Archive
		host, err := to.HostName(a, name)
		if err == nil {
			archive, err = to.Open(a, name)
		}
		if err == nil {
			has[name], err = archive.Sent(ctx, host)
		}
		if err != nil {
			a.Warn("what was sent to %s is not known: %v", name, remotes.Problem(err))
			continue
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return func(s *session.Summary, offset int64) []string {
		to := []string{}
		for _, name := range names {
			if has[name](s) > offset {
				to = append(to, name)
			}
		}
		return to
	}
}
