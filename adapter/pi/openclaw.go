package pi

import (
	"cmp"
	_ "embed"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"pigrep/adapter"
	"pigrep/internal/content"
	"pigrep/internal/lite"
	"pigrep/internal/session"
)

// OpenClawName is the name of OpenClaw's sessions: files of lines, and since 2026.8 rows of a database for each of its agents.
const OpenClawName = "openclaw.sessions_jsonl.v1"

//go:embed stores_openclaw.txt
var openClawStores string

// OpenClaw runs pi's agent library behind channels of messages.
type OpenClaw struct{ Relative }

// NewOpenClaw returns the adapter for OpenClaw.
func NewOpenClaw() OpenClaw {
	return OpenClaw{Relative{family{&adapter.Profile{
		ID: OpenClawName, Title: "OpenClaw", Homes: "$OPENCLAW_STATE_DIR $OPENCLAW_HOME/.openclaw ~/.openclaw-$OPENCLAW_PROFILE ~/.openclaw ~/.clawdbot ~/.moltbot",
		Files: clawFiles, Kept: openClawStores, Deleting: "openclaw sessions delete KEY",
		Variables: []adapter.Variable{
			{Name: "OPENCLAW_STATE_DIR", Use: "OpenClaw's directory, in place of ~/.openclaw; the sessions of its agents are searched", Path: true},
			{Name: "OPENCLAW_HOME", Use: "the directory with OpenClaw's .openclaw, in place of the home directory"},
			{Name: "OPENCLAW_PROFILE", Use: "a profile of OpenClaw, whose ~/.openclaw-NAME is searched, too"},
		},
		// A message is needed: this one is sent.
		Resuming: adapter.Resuming{Program: "openclaw", Install: "npm install -g openclaw", Args: "agent --session-id ID --message continue", IsID: isID,
			Refuses: func(_ adapter.Environment, s *session.Summary, _ *adapter.ResumeRequest) (reason, hint string) {
				if !content.IsVirtual(s.Path) {
					return "its file is of an old version, or the session was deleted or reset", "run openclaw doctor --fix, which imports the files of old versions"
				}
				return "", ""
			}},
	}}}}
}

// Roots implements adapter.Agent.
func (a OpenClaw) Roots(env adapter.Environment) ([]adapter.Root, error) { return a.Profile.Roots(env) }

// Home implements adapter.Homed. Many directories have one named agents: OpenClaw's has its settings beside it, or the
// agent that there is without settings.
func (a OpenClaw) Home(has func(name string) bool) adapter.Layout {
	if !has("openclaw.json") && !has("agents/main/") {
		return nil
	}
	return a.Profile.Home(has)
}

// clawFiles are where sessions are: since 2026.8 in a database for each agent. A checkpoint is a copy of
// the beginning of a session, and a trajectory has another format.
const clawFiles = `
	agents/*/agent/openclaw-agent.sqlite database
	agents/*/sessions/*.trajectory.jsonl foreign
	agents/*/sessions/*.checkpoint.*.jsonl foreign
	agents/*/sessions/*.jsonl
	agents/*/sessions/*.jsonl.deleted.*
	agents/*/sessions/*.jsonl.reset.*
`

// The tables that are read. The database also holds credentials: no other table is.
const (
	clawEvents   = "transcript_events"
	clawWindows  = "session_windows"
	clawNodes    = "session_nodes"
	clawRewrites = "transcript_rewrite_watermarks"
)

// Owns implements content.Database.
func (OpenClaw) Owns(db *lite.DB) bool { return db.Has(clawEvents) }

// Sessions implements content.Database.
func (OpenClaw) Sessions(db *lite.DB) iter.Seq2[content.Session, error] {
	return func(yield func(content.Session, error) bool) {
		list, err := clawSessions(db)
		if err != nil {
			yield(content.Session{}, err)
			return
		}
		for _, s := range list {
			if !yield(*s, nil) {
				return
			}
		}
	}
}

func clawSessions(db *lite.DB) (map[string]*content.Session, error) {
	list := make(map[string]*content.Session)
	type window struct {
		*content.Session
		key, caller string
	}
	var windows []window
	titles, generations := make(map[string]string), make(map[string]string)
	last := make(map[string]int64)
	err := cmp.Or(
		eachRow(db, clawEvents, func(v []lite.Value) {
			id := v[0].String()
			if list[id] == nil {
				list[id] = &content.Session{ID: id}
			}
			last[id] = max(last[id], v[1].Int)
		}, "session_id", "seq"),
		eachRow(db, clawRewrites, func(v []lite.Value) { generations[v[0].String()] = v[1].String() }, "session_id", "generation"),
		eachRow(db, clawNodes, func(v []lite.Value) { titles[v[0].String()] = cmp.Or(v[1].String(), v[2].String()) }, "session_key", "label", "display_name"),
		eachRow(db, clawWindows, func(v []lite.Value) {
			if s := list[v[0].String()]; s != nil {
				s.Title, s.Begun = cmp.Or(titles[v[1].String()], v[2].String()), v[3].Int
				s.Time, s.Mark = v[5].Int, fmt.Sprint(v[5].Int)
				windows = append(windows, window{s, v[1].String(), v[4].String()})
			}
		}, "session_id", "session_key", "display_name", "created_at", "spawned_by", "transcript_updated_at"),
	)
	for _, w := range windows {
		// Of the sessions of its caller, it is of the last one that had begun before.
		var parent content.Session
		for _, other := range windows {
			if w.caller != "" && other.key == w.caller && other.Begun <= w.Begun && other.Begun >= parent.Begun {
				parent = *other.Session
			}
		}
		w.Parent = parent.ID
	}
	for id, s := range list {
		s.Size = (last[id] + 1) * usualRow
		s.Mark = fmt.Sprint(s.Mark, " ", last[id], " ", generations[id])
	}
	return list, err
}

// usualRow is about how long a line is.
const usualRow = 700

func eachRow(db *lite.DB, table string, visit func([]lite.Value), columns ...string) error {
	if !db.Has(table) {
		return nil
	}
	for row, err := range db.Rows(table, "", "", columns...) {
		if err != nil {
			return err
		}
		visit(row.Values)
	}
	return nil
}

// Lines implements content.Database: the rows as they are.
func (OpenClaw) Lines(db *lite.DB, id string) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		// The order is that of the index, which begins with the session and the number.
		last := int64(-1)
		for row, err := range db.Rows(clawEvents, "session_id", id, "event_json", "event_zstd", "seq") {
			var line []byte
			if err == nil {
				seq := row.Values[2].Int
				if line, err = clawLine(row.Values[0], row.Values[1]); seq <= last {
					err = fmt.Errorf("%w: the rows of %s have no order", lite.ErrUnsupported, clawEvents)
				}
				last = seq
			}
			if !yield(line, err) || err != nil {
				return
			}
		}
	}
}

func clawLine(text, packed lite.Value) (line []byte, err error) {
	if line = slices.Clip(text.Bytes); text.Kind == lite.Null {
		d := unpackers.Get().(*zstd.Decoder)
		defer unpackers.Put(d)
		if line, err = d.DecodeAll(packed.Bytes, nil); err != nil {
			return nil, fmt.Errorf("%w: %w", lite.ErrDamaged, err)
		}
	}
	return append(line, '\n'), nil
}

// unpackers unpack rows, of which each has at most 4 MiB of text.
var unpackers = sync.Pool{New: func() any {
	d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	if err != nil {
		panic(err) // the options are wrong
	}
	return d
}}
