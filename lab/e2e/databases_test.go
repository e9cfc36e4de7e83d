package e2e

import (
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
	_ "modernc.org/sqlite"

	"pigrep/adapter"
	"pigrep/adapter/opencode"
	"pigrep/adapter/pi"
	"pigrep/index"
	"pigrep/indexer"
	"pigrep/internal/content"
	"pigrep/internal/jsonl"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
)

// The tables of OpenClaw with its sessions, and one that is never read.
const clawTables = `
CREATE TABLE session_nodes (session_key TEXT NOT NULL PRIMARY KEY, current_session_id TEXT NOT NULL, entry_json TEXT NOT NULL, label TEXT, display_name TEXT) STRICT;
CREATE TABLE session_windows (session_id TEXT NOT NULL PRIMARY KEY, session_key TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  transcript_updated_at INTEGER DEFAULT NULL, spawned_by TEXT, display_name TEXT) STRICT;
CREATE TABLE transcript_events (session_id TEXT NOT NULL, seq INTEGER NOT NULL, event_json TEXT, created_at INTEGER NOT NULL, event_zstd BLOB,
  event_utf8_bytes INTEGER, PRIMARY KEY (session_id, seq)) STRICT;
CREATE TABLE transcript_rewrite_watermarks (session_id TEXT NOT NULL PRIMARY KEY, generation TEXT NOT NULL, updated_at INTEGER NOT NULL) STRICT;
CREATE TABLE auth_profile_store (store_key TEXT NOT NULL PRIMARY KEY, store_json TEXT NOT NULL) STRICT;
INSERT INTO auth_profile_store VALUES ('k', '{"token":"secrettoken"}');
`

// claw is a database of OpenClaw that a test writes, as OpenClaw does: in a log, a transaction for each row.
type claw struct {
	t    *testing.T
	path string
	db   *sql.DB
	at   int64
	rows map[string]int
}

func newClaw(t *testing.T, home string) *claw {
	path := filepath.Join(home, ".openclaw", "agents", "main", "agent", "openclaw-agent.sqlite")
	testkit.Check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	c := &claw{t: t, path: path, db: openSQL(t, path), at: 1_790_000_000_000, rows: make(map[string]int)}
	c.do("PRAGMA journal_mode=wal")
	c.do("PRAGMA wal_autocheckpoint=0")
	c.do(clawTables)
	return c
}

func openSQL(t *testing.T, path string) *sql.DB {
	db, err := sql.Open("sqlite", path)
	testkit.Check(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	_, err = db.Exec("PRAGMA synchronous=off")
	testkit.Check(t, err)
	return db
}

func (c *claw) do(statement string, args ...any) {
	c.t.Helper()
	if _, err := c.db.Exec(statement, args...); err != nil {
		c.t.Fatalf("%s: %v", statement, err)
	}
}

// file returns the virtual file of a session.
func (c *claw) file(id string) string { return filepath.Join(c.path, id+".jsonl") }

func (c *claw) begin(id, key, caller, title string) {
	c.at++
	c.do("INSERT INTO session_windows VALUES (?, ?, ?, ?, ?, ?, NULL)", id, key, c.at, c.at, c.at, caller)
	c.do("INSERT OR REPLACE INTO session_nodes VALUES (?, ?, '{}', ?, NULL)", key, id, title)
	c.row(id, fmt.Sprintf(`{"type":"session","version":4,"id":"%s","timestamp":%d,"cwd":"/srv/claw"}`, id, c.at))
}

// row adds a line, every third one compressed.
func (c *claw) row(id, line string) {
	c.at += 7
	n := c.rows[id]
	c.rows[id]++
	var text, packed any = line, nil
	if n%3 == 2 {
		e, err := zstd.NewWriter(nil)
		testkit.Check(c.t, err)
		text, packed = nil, e.EncodeAll([]byte(line), nil)
	}
	tx, err := c.db.Begin()
	testkit.Check(c.t, err)
	_, err = tx.Exec("INSERT INTO transcript_events VALUES (?, ?, ?, ?, ?, ?)", id, n, text, c.at, packed, len(line))
	_, err2 := tx.Exec("UPDATE session_windows SET updated_at = ?, transcript_updated_at = ? WHERE session_id = ?", c.at, c.at, id)
	testkit.Check(c.t, errors.Join(err, err2, tx.Commit()))
}

func (c *claw) say(id, role, text string) {
	n := c.rows[id]
	c.row(id, fmt.Sprintf(`{"type":"message","id":"%s-%d","parentId":"%s-%d","timestamp":%d,"message":{"role":"%s","content":[{"type":"text","text":"%s"}],"usage":{"input":%d,"output":7}}}`,
		id, n, id, n-1, c.at, role, text, n))
}

// After every write of the agent, an index that follows it is the one that is made at once; no byte of the
// database or beside it changes but by its writer.
func TestDatabaseGrows(t *testing.T) {
	t.Parallel()
	h := newHome(t, pi.New(), pi.NewOpenClaw())
	c := newClaw(t, h.dir)
	step := func(change func()) *indexer.Result {
		t.Helper()
		change()
		before := everyByte(t, filepath.Dir(c.path))
		res := h.update(t)
		equalStates(t, "the next write", state(t, res.Reader), state(t, h.again(t).update(t).Reader))
		if diff := cmp.Diff(before, everyByte(t, filepath.Dir(c.path))); diff != "" {
			t.Fatalf("reading changed something: %s", diff)
		}
		return res
	}
	step(func() {})
	step(func() { c.begin("one", "main:one", "", "") })
	for i, word := range []string{"acerola", "babaco", "cherimoya", "durian", "emblica", "feijoa"} {
		step(func() { c.say("one", []string{"user", "assistant"}[i%2], "about the "+word) })
	}
	step(func() { c.begin("two", "main:one:helper", "main:one", "Fruit counter") })
	step(func() { c.say("two", "user", "count the feijoas") })
	step(func() { c.do("PRAGMA wal_checkpoint(PASSIVE)") })
	step(func() { c.say("one", "user", strings.Repeat("a long text about the guava, ", 300)) })
	step(func() { c.do("PRAGMA wal_checkpoint(TRUNCATE)") })
	res := step(func() { c.do("UPDATE session_nodes SET label = 'Jabuticaba counter'") })
	h.wantHits(t, res.Reader, map[string][]string{"acerola": {"prompt 2"}, "durian": {"reply 5"}, "guava": {"prompt 8"}, "jabuticaba": {"title 2", "title 2"}, "secrettoken": nil})
	for _, s := range res.Reader.Summaries() {
		if s.ID == "two" && (s.ParentSession != "one" || s.Relation != session.Spawned) {
			t.Errorf("the helper works for %q (%v)", s.ParentSession, s.Relation)
		}
	}
	// An undo takes rows away, and others come in their place.
	step(func() {
		c.do("DELETE FROM transcript_events WHERE session_id = 'one' AND seq > 3")
		c.rows["one"] = 4
	})
	res = step(func() { c.say("one", "user", "about the kumquat") })
	h.wantHits(t, res.Reader, map[string][]string{"durian": nil, "babaco": {"reply 3"}, "kumquat": {"prompt 5"}})
	res = step(func() {
		c.do("DELETE FROM transcript_events WHERE session_id = 'two'")
		c.do("DELETE FROM session_windows WHERE session_id = 'two'")
	})
	h.wantHits(t, res.Reader, map[string][]string{"feijoas": nil})
}

const openTables = `
CREATE TABLE session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, directory text NOT NULL, title text NOT NULL, version text NOT NULL, revert text,
  time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL, time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE INDEX message_session_time_created_id_idx ON message (session_id, time_created, id);
CREATE INDEX part_session_idx ON part (session_id);
CREATE TABLE account (id text PRIMARY KEY, access_token text NOT NULL);
INSERT INTO account VALUES ('a', 'secrettoken');
INSERT INTO session VALUES ('ses_one', 'p', NULL, '/srv/open', 'New session - 2026', '1.14.48', NULL, 1790000000000, 1790000000000);
`

// Rows of OpenCode are written again until they are complete. As long as the program only adds, the lines of a session only grow, and
// after every write the index is the one that is made at once.
func TestOpenCodeGrows(t *testing.T) {
	t.Parallel()
	h := newHome(t, pi.New(), opencode.New())
	path := filepath.Join(h.dir, ".local", "share", "opencode", "opencode.db")
	testkit.Check(t, os.MkdirAll(filepath.Dir(path), 0o700))
	db := openSQL(t, path)
	at := int64(1_790_000_000_000)
	do := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.Exec(statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	do("PRAGMA journal_mode=wal")
	do(openTables)
	message := func(id, data string) {
		at += 10
		do("INSERT INTO message VALUES (?, 'ses_one', ?, ?, ?)", id, at, at, strings.ReplaceAll(data, "AT", fmt.Sprint(at)))
	}
	part := func(message, id, data string) {
		at += 10
		do("INSERT OR REPLACE INTO part VALUES (?, ?, 'ses_one', ?, ?, ?)", id, message, at, at, strings.ReplaceAll(data, "AT", fmt.Sprint(at)))
	}
	const reply = `"role":"assistant","providerID":"p","modelID":"m","tokens":{"input":5,"output":7,"reasoning":2,"cache":{"read":1,"write":0}},"cost":0.5`
	file, text := filepath.Join(path, "ses_one.jsonl"), ""
	for i, change := range []func(){
		func() { message("msg_1", `{"role":"user","time":{"created":AT}}`) },
		func() { part("msg_1", "prt_1", `{"type":"text","text":"about the acerola"}`) },
		func() { part("msg_1", "prt_2", `{"type":"text","text":"Called the Read tool","synthetic":true}`) },
		func() { message("msg_2", `{`+reply+`,"time":{"created":AT}}`) },
		func() { part("msg_2", "prt_3", `{"type":"step-start","snapshot":"x"}`) },
		func() { part("msg_2", "prt_4", `{"type":"text","text":"","time":{"start":1790000000100}}`) },
		func() {
			part("msg_2", "prt_4", `{"type":"text","text":"I look for the babaco","time":{"start":1790000000100,"end":AT}}`)
		},
		func() {
			part("msg_2", "prt_5", `{"type":"tool","tool":"bash","callID":"c","state":{"status":"pending","input":{},"raw":""}}`)
		},
		func() {
			part("msg_2", "prt_5", `{"type":"tool","tool":"bash","callID":"c","state":{"status":"running","input":{"command":"ls cherimoya"},"time":{"start":1790000000120}}}`)
		},
		func() {
			part("msg_2", "prt_5", `{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{"command":"ls cherimoya"},"output":"durian\n","metadata":{"exit":2},"time":{"start":1790000000120,"end":AT}}}`)
		},
		func() { part("msg_2", "prt_6", `{"type":"step-finish","reason":"stop","cost":0.5}`) },
		func() {
			do("UPDATE message SET data = ?, time_updated = ? WHERE id = 'msg_2'", `{`+reply+`,"time":{"created":1790000000040,"completed":1790000000200},"finish":"stop"}`, at+1)
		},
		func() {
			do("UPDATE message SET data = ?, time_updated = ? WHERE id = 'msg_1'", `{"role":"user","time":{"created":1790000000010},"summary":{"diffs":[]}}`, at+2)
		},
		func() {
			part("msg_2", "prt_5", `{"type":"tool","tool":"bash","callID":"c","state":{"status":"completed","input":{"command":"ls cherimoya"},"output":"durian\n","metadata":{"exit":2},"time":{"start":1790000000120,"end":1790000000100,"compacted":AT}}}`)
		},
		func() { do("UPDATE session SET title = 'Fruit', time_updated = time_updated + 1") },
		func() { message("msg_3", `{"role":"user","time":{"created":AT}}`) },
	} {
		change()
		before := everyByte(t, filepath.Dir(path))
		res := h.update(t)
		equalStates(t, fmt.Sprint("write ", i), state(t, res.Reader), state(t, h.again(t).update(t).Reader))
		if diff := cmp.Diff(before, everyByte(t, filepath.Dir(path))); diff != "" {
			t.Fatalf("reading changed something: %s", diff)
		}
		now := textOf(t, file)
		if whole := text[:strings.LastIndexByte(text, '\n')+1]; !strings.HasPrefix(now, whole) {
			t.Errorf("write %d changed a line:\n%s\n%s", i, whole, now)
		}
		text = now
	}
	res := h.checked(t)
	h.wantHits(t, res.Reader, map[string][]string{
		"acerola": {"prompt 2"}, "babaco": {"reply 5"}, "cherimoya": {"call 6"}, "durian": {"result 7"}, "kind:system read": {"system 3"}, "secrettoken": nil, "fruit": {"title 2"},
	})
	// An undo takes rows away.
	do("DELETE FROM part WHERE message_id = 'msg_2'")
	do("DELETE FROM message WHERE id > 'msg_1'")
	h.wantHits(t, h.checked(t).Reader, map[string][]string{"acerola": {"prompt 2"}, "durian": nil})
}

// A watcher follows the writes to a database, which are in its log.
func TestWatchDatabase(t *testing.T) {
	t.Parallel()
	h := newHome(t, pi.New(), pi.NewOpenClaw())
	c := newClaw(t, h.dir)
	c.begin("one", "one", "", "")
	watchFor(t, h.opt)
	for i, word := range []string{"acerola", "babaco", "cherimoya"} {
		c.say("one", "user", "about the "+word)
		eventually(t, func() string {
			r, err := index.Open(h.opt.Dir)
			if err != nil {
				return err.Error()
			}
			defer r.Close()
			for _, s := range r.Summaries() {
				if s.ID == "one" && s.Messages == i+1 {
					return ""
				}
			}
			return "the watcher has not seen a write"
		})
	}
}

// A database that cannot be read is one error, and its sessions are neither new nor gone.
func TestUnreadableDatabase(t *testing.T) {
	t.Parallel()
	h := newHome(t, pi.New(), pi.NewOpenClaw())
	c := newClaw(t, h.dir)
	for _, id := range []string{"one", "two"} {
		c.begin(id, id, "", "")
		c.say(id, "user", "about the acerola")
	}
	c.do("PRAGMA journal_mode=delete")
	testkit.Check(t, c.db.Close())
	whole, err := os.ReadFile(c.path)
	testkit.Check(t, err)
	h.wantHits(t, h.update(t).Reader, map[string][]string{"acerola": {"prompt 2", "prompt 2"}})
	for what, damaged := range map[string][]byte{
		"other bytes": []byte(strings.Repeat("no database", 1000)), "half of it": whole[:len(whole)/2], "a page of zeros": append(make([]byte, 4096), whole[4096:]...),
	} {
		testkit.Check(t, os.WriteFile(c.path, damaged, 0o600))
		res := h.update(t)
		h.wantHits(t, res.Reader, map[string][]string{"acerola": nil}) // as no line can be read to be shown
		if len(res.Reader.Summaries()) != 2 || len(res.Found.Errors()) != 1 || res.Found.Errors()[0].Path != c.path {
			t.Errorf("%s: %d sessions, %v", what, len(res.Reader.Summaries()), res.Found.Errors())
		}
	}
	testkit.Check(t, os.WriteFile(c.path, whole, 0o600))
	h.wantHits(t, h.checked(t).Reader, map[string][]string{"acerola": {"prompt 2", "prompt 2"}})
}

// What is kept of a session in a database are its lines, which stay when it is deleted. Nothing is
// written into the database.
func TestKeepDatabase(t *testing.T) {
	// Not parallel: where this process finds copies is one for all tests.
	h := newHome(t, pi.New(), pi.NewOpenClaw())
	h.keeping(t, "openclaw")
	content.KeptAt(h.opt.Archive.Where)
	defer content.KeptAt(func(string) string { return "" })
	c := newClaw(t, h.dir)
	c.begin("one", "one", "", "")
	for _, word := range []string{"acerola", "babaco", "cherimoya"} {
		c.say("one", "user", "about the "+word)
		h.update(t)
		copied := h.opt.Archive.Find(c.file("one"))
		if copied == nil {
			t.Fatal("it is not kept")
		}
		kept, err := os.ReadFile(h.opt.Archive.Place(copied))
		testkit.Check(t, err)
		if text := textOf(t, c.file("one")); text != string(kept) {
			t.Errorf("kept %q of %q", kept, text)
		}
	}
	c.do("DELETE FROM transcript_events")
	c.do("DELETE FROM session_windows")
	res := h.update(t)
	h.wantHits(t, res.Reader, map[string][]string{"babaco": {"prompt 3"}})
	testkit.Check(t, c.db.Close())
	testkit.Check(t, os.Remove(c.path))
	if path, err := h.opt.Archive.Restore(h.opt.Archive.Find(c.file("one"))); err == nil {
		t.Errorf("restored to %s", path)
	}
	if _, err := os.Lstat(c.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something is where the database was: %v", err)
	}
}

// A text that is longer than what is in memory at a time can be read from any place.
func TestLongVirtualFile(t *testing.T) {
	t.Parallel()
	h := newHome(t, pi.New(), pi.NewOpenClaw())
	c := newClaw(t, h.dir)
	c.begin("one", "one", "", "")
	for i := range 12 {
		c.say("one", "user", strings.Repeat(fmt.Sprint("word", i, " "), 100_000))
	}
	text := textOf(t, c.file("one"))
	f, err := content.Open(c.file("one"), 0)
	testkit.Check(t, err)
	defer f.Close()
	for _, at := range []int{len(text) - 20, 5, 3 << 20, 1<<20 - 3, len(text) / 2} {
		b := make([]byte, 10)
		if n, err := f.ReadAt(b, int64(at)); string(b[:n]) != text[at:at+10] {
			t.Errorf("%q at %d: %v", b[:n], at, err)
		}
	}
}

func textOf(t *testing.T, path string) string {
	t.Helper()
	f, err := content.Open(path, 0)
	testkit.Check(t, err)
	defer f.Close()
	text, err := io.ReadAll(f.Text())
	testkit.Check(t, err)
	return string(text)
}

// everyByte returns the names, times and bytes below a directory.
func everyByte(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	testkit.Check(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		all[path] = fmt.Sprintf("%v %x", info.ModTime(), sha256.Sum256(data))
		return err
	}))
	return all
}

// databaseTruth is what an independent reader read in a session of a database.
type databaseTruth struct {
	Entries int                `json:"entries"`
	Text    string             `json:"text_sha256"`
	Kinds   map[string]int     `json:"parts_by_kind"`
	Types   map[string]int     `json:"types"`
	Tools   map[string]int     `json:"tools"`
	Results int                `json:"results"`
	Errors  int                `json:"error_results"`
	Usage   map[string]float64 `json:"usage"`
	Session struct {
		Header  struct{ ID, CWD string }
		ID, CWD string
		First   string `json:"first_prompt"`
	} `json:"session"`
	Phrases []struct{ Phrase, Kind string } `json:"phrases"`
}

// The databases of the real programs, in directories that are read-only, say what others read in them.
func TestDatabasesAsTheirTruth(t *testing.T) {
	t.Parallel()
	root := testkit.Fixtures()
	if root == "" {
		root = filepath.Join(testkit.Root(), "testdata")
	}
	seen := 0
	for _, from := range []string{"openclaw-sqlite/home", "opencode/home", "opencode/home-1.2.6", "opencode/home-1.3.2", "opencode/home-1.18-migrated"} {
		dir := filepath.Join(root, "agents", filepath.FromSlash(from))
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		h := newHome(t, pi.New(), pi.NewOpenClaw(), opencode.New())
		truths := copyHome(t, dir, h.dir)
		res := h.checked(t)
		byID := make(map[string]session.Summary)
		for _, s := range res.Reader.Summaries() {
			if !s.Notes {
				byID[s.ID] = s
			}
		}
		for name, truth := range truths {
			seen++
			if truth.Session.ID != "" {
				truth.Session.Header.ID, truth.Session.Header.CWD = truth.Session.ID, truth.Session.CWD
			}
			s, ok := byID[truth.Session.Header.ID]
			if !ok {
				t.Errorf("%s: not found", name)
				continue
			}
			compareTruth(t, h, s, name, truth)
			for _, p := range truth.Phrases {
				found := false
				for _, hit := range h.hits(t, res.Reader, strconv.Quote(p.Phrase)) {
					found = found || string(hit.Kind) == p.Kind // in another session if this is a fork
				}
				if !found && p.Kind != string(session.KindOther) {
					t.Errorf("%s: %s %q is not found", name, p.Kind, p.Phrase)
				}
			}
		}
	}
	if testkit.Fixtures() != "" && seen < 9 {
		t.Errorf("%d sessions", seen)
	}
}

func compareTruth(t *testing.T, h home, s session.Summary, name string, truth databaseTruth) {
	t.Helper()
	text := textOf(t, s.Path)
	if sum := fmt.Sprintf("%x", sha256.Sum256([]byte(text))); truth.Text != "" && sum != truth.Text {
		t.Errorf("%s: the text is another one", name)
	}
	kinds, tools, results, failed := make(map[string]int), make(map[string]int), 0, 0
	var usage session.Usage
	state := adapter.State{Path: s.Path, Header: session.Header{Agent: s.Agent}, Facts: true}
	parser := h.registry.Parse(state)
	for line := range jsonl.Lines([]byte(text)) {
		parser.Parse(line, func(e *session.Entry) {
			for _, p := range e.Parts {
				kinds[string(p.Kind)]++
			}
			if f := e.Facts; f != nil {
				for _, c := range f.Calls {
					tools[c.Tool]++
				}
				if f.IsResult {
					results++
				}
				if f.Failed {
					failed++
				}
				if f.HasUsage {
					usage.Input, usage.Output, usage.CacheRead, usage.Cost = usage.Input+f.Usage.Input, usage.Output+f.Usage.Output, usage.CacheRead+f.Usage.CacheRead, usage.Cost+f.Usage.Cost
				}
			}
		})
	}
	// The other reader has no details, and knows no reset and no call within a call.
	delete(kinds, string(session.KindDetails))
	delete(truth.Kinds, string(session.KindOther))
	delete(tools, session.ShellTool)
	if n := truth.Types["reset"]; n > 0 {
		truth.Kinds[string(session.KindMeta)] += n
	}
	got := []any{kinds, tools, results, failed, usage.Input, usage.Output, usage.CacheRead, fmt.Sprintf("%.6f", usage.Cost), s.CWD}
	u := truth.Usage
	if generated, ok := u["generated"]; ok {
		u["output"] = generated
	}
	want := []any{truth.Kinds, truth.Tools, truth.Results, truth.Errors, int64(u["input"]), int64(u["output"]), int64(u["cacheRead"]), fmt.Sprintf("%.6f", u["cost"]), truth.Session.Header.CWD}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// copyHome copies the files of an agent, and makes their directories read-only. It returns the truth of each session.
func copyHome(t *testing.T, from, to string) map[string]databaseTruth {
	truths := make(map[string]databaseTruth)
	var dirs []string
	testkit.Check(t, filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if d.IsDir() {
			dirs = append(dirs, filepath.Join(to, rel))
			return errors.Join(err, os.MkdirAll(filepath.Join(to, rel), 0o700))
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(path, ".truth.json") {
			var truth databaseTruth
			err := json.Unmarshal(data, &truth)
			truths[rel] = truth
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o400)
	}))
	for _, dir := range slices.Backward(dirs) {
		testkit.Check(t, os.Chmod(dir, 0o500))
		t.Cleanup(func() { os.Chmod(dir, 0o700) })
	}
	return truths
}
