package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pigrep/internal/human"
	"pigrep/internal/shellcmd"
	"pigrep/internal/timespec"
	"pigrep/keep"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/asking"
	"pigrep/ui/cli/conversation"
	"pigrep/ui/cli/flags"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
	"pigrep/ui/cli/settings"
	"pigrep/ui/cli/snapshot"
	"pigrep/ui/printer"
)

type KeepOptions struct {
	flags.Shared               `takes:"files output"`
	Off, Yes                   bool
	Restore, Forget, OlderThan string
}

// RunKeep runs keep. root makes the command with all others, whose flags settings are about.
func RunKeep(ctx context.Context, a *app.App, o *KeepOptions, agents []string, root func() *cobra.Command) error {
	before, err := o.beforeTime(a.Now())
	given := len(slices.DeleteFunc([]string{strings.Join(agents, " "), o.Restore, o.Forget, o.OlderThan}, func(s string) bool { return s == "" }))
	switch {
	case given > 1:
		return problem.Usagef("", "keep takes agents, or one of --restore, --forget and --older-than")
	case err != nil:
		return err
	case o.Off && len(agents) == 0:
		return problem.Usagef("one of "+strings.Join(a.AgentNames(), ", "), "--off needs an agent")
	}
	if err := o.choose(ctx, a, agents, root); err != nil {
		return err
	}
	q, err := asking.Begin(a, &o.Shared)
	if err != nil {
		return err
	}
	if q.Archive == nil {
		return &problem.Error{Code: problem.CodeIO, Message: "no place for copies: this user has no data directory", Hint: "set $XDG_DATA_HOME"}
	}
	if !o.NoUpdate { // what a file has lost since it was copied is then all that is left
		res, err := snapshot.Update(ctx, a, snapshot.Options(q.Location))
		if res.Reader != nil {
			defer res.Reader.Close()
		}
		if err != nil {
			return problem.OfUpdate(err)
		}
		snapshot.WarnKeeping(a, res)
	}
	if given > 0 && len(agents) == 0 {
		x, err := snapshot.Open(ctx, q.Location, q.Named)
		if err != nil {
			return err
		}
		defer x.Close()
		if o.Restore != "" {
			return restore(q, x, o.Restore)
		}
		return o.forgetCopies(ctx, q, x, before)
	}
	x, err := archiveFacts(q.Location)
	if err != nil {
		return err
	}
	return q.Out.Print(x)
}

// choose writes the agents whose sessions are kept into the settings file.
func (o *KeepOptions) choose(ctx context.Context, a *app.App, agents []string, root func() *cobra.Command) error {
	chosen := slices.Clone(o.Keep)
	for _, name := range agents {
		if !slices.Contains(a.AgentNames(), name) {
			return problem.Usagef("one of "+strings.Join(a.AgentNames(), ", "), "keep: there is no agent %q", name)
		}
		chosen = slices.DeleteFunc(chosen, func(s string) bool { return s == name })
		if !o.Off {
			chosen = append(chosen, name)
		}
	}
	if slices.Equal(chosen, o.Keep) {
		return nil
	}
	o.Keep = append([]string{}, chosen...)
	return settings.Set(ctx, a, root, "keep", o.Keep)
}

// archiveFacts returns what the archive has of each agent.
func archiveFacts(p *location.Location) (*printer.Keep, error) {
	names := p.App.AgentNames()
	kinds, err := p.Archive.Kinds(names)
	if err != nil {
		return nil, &problem.Error{Code: problem.CodeIO, Err: err}
	}
	x := &printer.Keep{Dir: p.Archive.Dir, Limit: p.Rules.Limit}
	for _, k := range kinds {
		x.Size += k.Bytes
		x.Agents = append(x.Agents, printer.KeptOf(&k, slices.Contains(p.Rules.Agents, k.Agent)))
	}
	return x, nil
}

// copyOf returns the session that the user named, and its copy. The caller closes the session.
func copyOf(x *snapshot.Snapshot, name string) (*conversation.Target, *keep.Copy, error) {
	t, err := conversation.Find(x, name)
	if err != nil {
		return nil, nil, err
	}
	if c := x.Archive.Find(t.Record.Path); c != nil {
		return t, c, nil
	}
	t.Close()
	return nil, nil, &problem.Error{Code: conversation.CodeNotFound, Message: t.Record.Path + " is not kept", Hint: "`pigrep keep` says what is"}
}

// restore puts a session back, and says how to resume it.
func restore(q *asking.Command, x *snapshot.Snapshot, name string) error {
	t, c, err := copyOf(x, name)
	if err != nil {
		return err
	}
	defer t.Close()
	path, err := x.Archive.Restore(c)
	switch {
	case errors.Is(err, fs.ErrExist):
		return &problem.Error{Code: problem.CodeIO, Message: c.File.Path + " is there, and is not overwritten", Hint: "the copy can be read: pigrep show " + shellcmd.Here.Operand(name)}
	case err != nil:
		return &problem.Error{Code: problem.CodeIO, Message: "cannot restore the session", Err: err}
	}
	t.Record.Kept, t.Record.Path = false, path
	line := "restored " + human.Path(path, x.App.Home)
	how, err := (&conversation.Manner{Restored: true}).Plan(x.App, t)
	if err != nil {
		x.App.Warn("%v", err)
	} else {
		x.App.WarnAll(how.Warnings)
		line += "; resume it: " + how.Command
	}
	return q.Out.Print(&printer.Told{Command: "keep", Lines: []string{line}, Facts: printer.Done{Path: path}})
}

// beforeTime returns the time of --older-than.
func (o *KeepOptions) beforeTime(now time.Time) (before time.Time, err error) {
	if o.OlderThan != "" {
		if before, err = timespec.ParseDays(o.OlderThan, now); err != nil {
			err = problem.Usagef("forms that work: "+strings.Join(timespec.DayExamples, ", "), "--older-than: %v", err)
		}
	}
	return before, err
}

// forgetCopies deletes the copies of a session, or of all sessions that have not changed since a
// time, when the user has confirmed it.
func (o *KeepOptions) forgetCopies(ctx context.Context, q *asking.Command, x *snapshot.Snapshot, before time.Time) error {
	path := ""
	if o.Forget != "" {
		t, c, err := copyOf(x, o.Forget)
		if err != nil {
			return err
		}
		t.Close()
		path = c.File.Path
	}
	rows, err := q.Archive.Copies()
	if err != nil {
		return &problem.Error{Code: problem.CodeIO, Err: err}
	}
	var copies []keep.Copy
	var bytes int64
	only := 0
	oldest, newest := int64(math.MaxInt64), int64(math.MinInt64)
	for _, c := range rows {
		if c.State != keep.Kept || path != "" && c.File.Path != path || path == "" && c.Mtime >= before.UnixNano() {
			continue
		}
		copies, bytes = append(copies, c), bytes+c.Stored
		oldest, newest = min(oldest, c.Mtime), max(newest, c.Mtime)
		if c.Gone() || c.Lost() {
			only++
		}
	}
	if len(copies) > 0 {
		date := func(t int64) string { return time.Unix(0, t).In(q.App.Zone()).Format(time.DateOnly) }
		action := fmt.Sprintf("delete %s, %s, last changed %s", human.Plural(len(copies), "copy", "copies"), human.Bytes(bytes), date(oldest))
		if date(newest) != date(oldest) {
			action += " to " + date(newest)
		}
		if err := q.App.Confirm(o.Yes, action, human.When(only > 0, human.Plural(only, "is", "are")+" all that is left")); err != nil {
			return err
		}
	}
	n, size, err := q.Archive.Forget(ctx, copies)
	if err != nil {
		return &problem.Error{Code: problem.CodeIO, Message: "cannot delete copies", Err: err}
	}
	text := fmt.Sprintf("deleted %s, %s", human.Plural(n, "copy", "copies"), human.Bytes(size))
	return q.Out.Print(&printer.Told{Command: "keep", Lines: []string{text}, Facts: printer.Done{Copies: n, Bytes: size}})
}

// checkCopies warns of what is wrong with copies, and reports whether nothing is.
func checkCopies(p *location.Location, deep bool) bool {
	if p.Archive == nil {
		return true
	}
	rows, err := p.Archive.Copies()
	if err != nil {
		p.App.Warn("%v", err)
	}
	sound := err == nil
	for i := range rows {
		if c := &rows[i]; c.State == keep.Kept {
			if err := p.Archive.Check(c, deep); err != nil {
				p.App.Warn("the copy of %s: %v", c.Name(), err)
				sound = false
			}
		}
	}
	return sound
}
