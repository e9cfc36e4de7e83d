package snapshot

import (
	"context"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"pigrep/adapter"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/human"
	"pigrep/internal/session"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/location"
	"pigrep/ui/cli/problem"
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
// index damaged, Run rebuilds it. opened may be nil; see indexer.Options.
func updateToRead(ctx context.Context, p *location.Location, opened func(*index.Reader) func()) (*indexer.Result, error) {
	a := p.App
	opt := Options(p)
	opt.Yield, opt.Memory = true, true
	later := opt
	opt.Rebuild, opt.Opened = a.Rebuild, opened
	opt.Trust = opened != nil // grep needs the list of the files
	opt.Await = opened != nil // and reads them itself while there is no index
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
		"files", res.Found.Len(), "bytes", res.BytesRead, "entries", res.Entries)
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
	if a.JSON || res.Reader == nil || res.Unwritten != nil || res.Changes[indexer.New] == 0 || res.Changes[indexer.New] < res.Found.Len() {
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

const (
	// large is the size in bytes from which an update runs with a lower GC
	// percent. Batches are short-lived: this saves a third of the memory of a first
	// build at almost no cost in time. Small updates end too soon to benefit.
	large         = 8 << 20
	updateGarbage = 50

	// usualMemory is the memory from which on garbage is collected at once. Only lines of
	// hundreds of megabytes come near it.
	usualMemory = 700 << 20

	// With less than roomyMemory one worker indexes small batches. With less than
	// leastMemory, the heap may not grow by even one of its arenas.
	roomyMemory = 3 << 29
	leastMemory = arena + 16<<20
	arena       = 64 << 20
	smallBatch  = 8 << 20

	// Indexing maps all segments, of a third of the bytes that it reads, and more.
	mappedMemory = 48 << 20
)

// LimitMemory makes the process collect its garbage within half of what limits leave to
// it. The other half is for mapped files, and for what cannot be collected in time. It
// fails if a limit leaves too little to do anything.
func LimitMemory(a *app.App) error {
	limit, m := min(debug.SetMemoryLimit(-1), usualMemory), a.Memory
	if m.Limit == 0 {
		debug.SetMemoryLimit(limit)
		return nil
	}
	if m.Hard && m.Left < leastMemory {
		return problem.OfMemory(m, leastMemory, "pigrep")
	}
	debug.SetMemoryLimit(min(limit, max(m.Left, leastMemory)/2))
	if m.Space {
		// This reserves addresses for the heap. If mapped files took them all, the next
		// allocation would end the process; a file that cannot be mapped is only an error.
		runtime.KeepAlive(make([]byte, max(arena, min(m.Left/4, usualMemory))))
	}
	return nil
}

func isTight(a *app.App) bool { return a.Memory.Limit > 0 && a.Memory.Left < roomyMemory }

// memory is the memory of an update. It is not safe for concurrent use.
type memory struct {
	app     *app.App
	large   bool
	percent int // as it was before
}

// reads is called with the number of bytes the update has to read. It fails if that needs
// more memory than there is.
func (m *memory) reads(bytes int64) error {
	if m.large || bytes < large {
		return nil
	}
	m.large = true
	m.percent = debug.SetGCPercent(updateGarbage)
	if !isTight(m.app) {
		return nil
	}
	limit := m.app.Memory
	if needs := mappedMemory + bytes/3; limit.Space && limit.Left < needs {
		return problem.OfMemory(limit, needs, "pigrep index")
	}
	m.app.Warn("%s: indexing saves memory and takes longer", problem.LimitText(limit))
	return nil
}

func (m *memory) restore() {
	if m.large {
		debug.SetGCPercent(m.percent)
	}
}
