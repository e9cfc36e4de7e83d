package snapshot

import (
	"context"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/location"
	"pigrep/ui/printer"
)

func Options(p *location.Location) indexer.Options {
	a := p.App
	opt := indexer.Options{
		Dir: p.IndexDir, Adapter: p.Agents, Roots: p.Roots, Now: a.Now, Logger: a.Logger(),
		PID: a.PID, Archive: p.Archive, Rules: p.Rules,
	}
	if isTight(a) {
		opt.Workers, opt.BatchBytes = 1, smallBatch
	}
	return opt
}

// updateToRead updates the index for a command that answers from it. If little is pending,
// it is indexed in memory and committed after the answer. If the command then finds the
// index damaged, Run rebuilds it. Commands that read the files themselves while there is no
// index do not wait for the first one.
func updateToRead(ctx context.Context, p *location.Location, wait bool) (*indexer.Result, error) {
	a := p.App
	opt := Options(p)
	opt.Yield, opt.Memory = true, true
	later := opt
	opt.Rebuild, opt.Await = a.Rebuild, wait
	res, err := Update(ctx, a, opt)
	a.MayRebuild = true
	a.Afterwards = func(ctx context.Context) error {
		err := res.Commit(ctx, later)
		WarnKeeping(a, res)
		if res.Keeping.Left > 0 {
			inBackground(p, "keep")
		}
		if res.Crowded {
			mergeInBackground(p)
		}
		return err
	}
	return res, err
}

func Update(ctx context.Context, a *app.App, opt indexer.Options) (*indexer.Result, error) {
	progress, end := Progress(a)
	defer end()
	memory := &memory{app: a}
	defer memory.restore()
	if opt.Compact {
		_ = memory.reads(large)
	}
	outer := ctx
	ctx, stop := context.WithCancelCause(outer)
	defer stop(nil)
	opt.Progress = func(p indexer.Progress) {
		if p.By == 0 {
			if err := memory.reads(p.BytesTotal); err != nil {
				stop(err)
			}
		}
		if progress != nil {
			progress(p)
		}
	}
	start := a.Now()
	res, err := indexer.Update(ctx, opt)
	a.Logger().Debug("index compared and updated", "dir", opt.Dir, "took", a.Now().Sub(start).String(),
		"files", len(res.Found.Files), "bytes", res.BytesRead, "entries", res.Entries)
	if outer.Err() != nil {
		a.Kept = KeptText(res)
	} else if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		tellAgents(a, res)
	}
	return res, err
}

// tellAgents says which agents' sessions a first run found, if there are several.
func tellAgents(a *app.App, res *indexer.Result) {
	if a.JSON || res.Reader == nil || res.Unwritten != nil || res.Changes[indexer.New] == 0 || res.Changes[indexer.New] < len(res.Found.Files) {
		return
	}
	var texts []string
	for i, x := range AgentCounts(a.Registry(), res.Reader) {
		count := human.Number(x.Sessions)
		if i == 0 {
			count = human.Plural(x.Sessions, "session", "sessions")
		}
		texts = append(texts, x.Label+" "+count)
	}
	if len(texts) > 1 {
		a.Warn("found %s", strings.Join(texts, ", "))
	}
}

// AgentCounts counts the sessions of the agents that have some, in the order of the registry.
func AgentCounts(agents *adapter.Registry, r *index.Reader) (list []printer.AgentCount) {
	counts := make(map[string]int)
	for i := range r.Summaries() {
		if s := &r.Summaries()[i]; s.IsSession() {
			counts[s.Agent]++
		}
	}
	for _, name := range agents.Names() {
		if n := counts[name]; n > 0 {
			list = append(list, printer.AgentCount{Agent: session.ShortAgent(name), Label: agents.Agent(name).Label(), Sessions: n})
		}
	}
	return list
}

// mergePause is how long the index must have been idle before a merge starts. So a merge
// that fails, because the disk is full or a segment is damaged, is not retried after
// every answer.
const mergePause = time.Minute

// Merge merges what a large update left. It needs no session files.
func Merge(ctx context.Context, p *location.Location) error {
	memory := &memory{app: p.App}
	_ = memory.reads(large)
	defer memory.restore()
	return indexer.Merge(ctx, Options(p))
}

// mergeInBackground starts `pigrep index --merge`, and does not wait for it. Merging is
// never needed for an answer: if it cannot be started, a later command tries again.
func mergeInBackground(p *location.Location) {
	a := p.App
	if pid, err := index.WriterPID(p.IndexDir); pid != 0 || err != nil {
		return
	}
	if last, err := index.LastWriter(p.IndexDir); err != nil || a.Now().Sub(last) < mergePause {
		return
	}
	inBackground(p, "index", "--merge", "--index-dir", p.IndexDir)
}

// UpdateInBackground starts `pigrep index` on the same sessions, and does not wait for it.
func UpdateInBackground(p *location.Location, dirs ...string) {
	args := []string{"index", "--index-dir", p.IndexDir}
	for _, dir := range dirs {
		args = append(args, "--session-dir", p.App.Absolute(dir))
	}
	inBackground(p, args...)
}

func inBackground(p *location.Location, args ...string) {
	a := p.App
	if a.Background == nil {
		return
	}
	program, err := a.Executable()
	if err == nil {
		err = a.Background(program, append(args, "--quiet")...)
	}
	a.Logger().Debug("start in the background", "command", args, "error", err)
}

// UsualWait is how long a command that was asked to write waits for another writer.
const UsualWait = time.Minute

// WaitFor makes an update wait for another writer. On a terminal it shows who that is.
func WaitFor(a *app.App, opt *indexer.Options, wait time.Duration) {
	opt.Wait = wait
	if a.Streams.ErrTTY && !a.Quiet {
		opt.Waiting = func(err error) { a.Warn("waiting: %v", err) }
	}
}
