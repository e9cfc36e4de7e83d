package opensearch

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"pigrep/adapter"
	"pigrep/adapter/agents"
	"pigrep/internal/session"
	"pigrep/lab/testkit"
	"pigrep/query/engine/entry"
	"pigrep/remote"
)

// disk has session files in memory.
type disk map[string]string

func (d disk) Open(path string) (entry.File, error) {
	text, ok := d[path]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
	return file{bytes.NewReader([]byte(text)), time.Unix(int64(len(text)), 0)}, nil
}

type file struct {
	*bytes.Reader
	time time.Time
}

func (f file) Close() error       { return nil }
func (f file) ModTime() time.Time { return f.time }

const header = `{"type":"session","version":3,"id":"s1","timestamp":"2026-03-02T09:15:00.000Z","cwd":"/home/dev/app"}` + "\n"

func message(n int, text string) string {
	return fmt.Sprintf(`{"type":"message","id":"e%d","parentId":null,"timestamp":"2026-03-02T09:15:%02d.000Z","message":{"role":"user","content":%q}}`+"\n", n, n%60, text)
}

// push pushes all files of a disk, as a process of its own would.
func push(t *testing.T, a *Archive, d disk, change ...func(*Push)) (*Report, error) {
	t.Helper()
	registry := adapter.NewRegistry(adapter.Environment{}, agents.All()...)
	p := Push{Host: "laptop", User: "me", Adapter: registry, Files: d, Replace: true, Now: func() time.Time { return time.Unix(1800000000, 0) }}
	for _, path := range slices.Sorted(maps.Keys(d)) {
		f, _ := d.Open(path)
		begin, err := adapter.Begin(registry, path, f)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := entry.ReadRecord(registry, path, bytes.NewReader([]byte(d[path])), f.ModTime())
		if err != nil {
			t.Fatal(err)
		}
		rec.Agent, rec.Size = begin.Header.Agent, f.Size()
		p.Sessions = append(p.Sessions, rec.Summary)
	}
	p.Vanished = func(path string) bool { _, ok := d[path]; return !ok }
	for _, c := range change {
		c(&p)
	}
	return a.Push(t.Context(), p)
}

// restored returns the session files that the archive has.
func restored(t *testing.T, a *Archive) map[string]string {
	t.Helper()
	got := make(map[string]string)
	sent, _, err := ask(t.Context(), a, Question{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sent {
		got[s.Path] = string(s.text)
	}
	return got
}

// oddFiles has one of each file that is hard to send.
func oddFiles() disk {
	return disk{
		"/s/plain.jsonl":    header + message(1, "first") + message(2, "second"),
		"/s/headless.jsonl": message(1, "no header"),
		"/s/nameless.jsonl": strings.NewReplacer(`"id":"s1",`, "", `,"cwd":"/home/dev/app"`, "").Replace(header) + message(1, "no id, no cwd"),
		"/s/timeless.jsonl": strings.Replace(header, `"timestamp":"2026-03-02T09:15:00.000Z",`, "", 1) + "\n\n" + message(3, "blank lines before"),
		"/s/empty.jsonl":    "",
		"/s/torn.jsonl":     header + message(1, "whole") + `{"type":"message","id":"e2","mess`,
		"/s/unended.jsonl":  header + strings.TrimSuffix(message(1, "without newline"), "\n"),
		"/s/broken.jsonl":   header + "this is no JSON\n" + message(2, "after it"),
		"/s/" + strings.Repeat("n\x1b[31m\n", 60) + ".jsonl": header + message(1, "an odd name"),
	}
}

// What is pushed can be read back, line by line, and pushing it again sends nothing.
func TestPushIsWholeAndIdempotent(t *testing.T) {
	f, d := newFake(t), oddFiles()
	a := f.archive()
	report, err := push(t, a, d)
	if err != nil || report.Sessions != len(d) || len(report.Refused)+len(report.Failed) > 0 {
		t.Fatalf("the push: %+v, %v", report, err)
	}
	got := restored(t, a)
	for path, text := range d {
		want := strings.TrimRight(text, "\n")
		if path == "/s/torn.jsonl" { // the rest is not a line yet
			want = want[:strings.LastIndexByte(want, '\n')]
		}
		if strings.TrimRight(got[path], "\n") != want {
			t.Errorf("%q came back as\n%q, want\n%q", path, got[path], want)
		}
	}
	before := len(f.indices["pigrep-v2-2026.03"])
	report, err = push(t, a, d)
	if err != nil || report.Unchanged != len(d) || report.Documents > 0 || len(f.indices["pigrep-v2-2026.03"]) != before {
		t.Errorf("the second push: %+v, %v", report, err)
	}
}

// Secrets do not leave the machine, wherever they are: in texts, lines, names and prompts.
func TestPushMasks(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	f := newFake(t)
	d := disk{"/s/a.jsonl": header + message(1, "use "+secret) + `{"type":"session_info","id":"e9","parentId":"e1","name":"with ` + secret + `"}` + "\n"}
	if _, err := push(t, f.archive(), d); err != nil {
		t.Fatal(err)
	}
	for i, body := range f.bodies {
		if strings.Contains(body, secret) {
			t.Errorf("%s sends the secret: %s", f.requests[i], body)
		}
	}
	if got := restored(t, f.archive())["/s/a.jsonl"]; !strings.Contains(got, "[redacted:github-token]") && !strings.Contains(got, "[redacted:") {
		t.Errorf("the line lacks the mask: %s", got)
	}
	if _, err := push(t, f.archive(), disk{"/s/b.jsonl": d["/s/a.jsonl"]}, func(p *Push) { p.Reveal = true }); err != nil {
		t.Fatal(err)
	}
	if got := restored(t, f.archive())["/s/b.jsonl"]; !strings.Contains(got, secret) {
		t.Errorf("with Reveal it is masked: %s", got)
	}
}

// Wherever a string of a session file has a secret, or its path, nothing that is sent has it.
func TestPushMasksEveryPlace(t *testing.T) {
	d := make(disk)
	for name, text := range testkit.Planted(t) {
		d["/home/u/"+name] = text
	}
	d["/home/u/"+testkit.Secret+"/.pi/agent/sessions/a.jsonl"] = header + message(1, "one")
	if len(d) < 400 {
		t.Fatalf("there are only %d places", len(d))
	}
	f := newFake(t)
	report, err := push(t, f.archive(), d)
	if err != nil || len(report.Failed)+len(report.Refused) > 0 {
		t.Fatalf("the push: %+v, %v", report, err)
	}
	leaks := 0
	for _, docs := range f.indices {
		for id, doc := range docs {
			text, _ := json.Marshal(doc.source)
			if packed, ok := doc.source["record"].(string); ok {
				z, _ := unpacker()
				data, err := base64.StdEncoding.DecodeString(packed)
				if err == nil {
					data, err = z.DecodeAll(data, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				text = append(text, data...)
			}
			if at := bytes.Index(bytes.ToLower(text), []byte(strings.ToLower(testkit.Core)[:12])); at >= 0 {
				if leaks++; leaks <= 10 {
					t.Errorf("%s has the secret: %q", id, text[max(0, at-200):min(len(text), at+60)])
				}
			}
		}
	}
	for i, request := range f.requests {
		if strings.Contains(request+f.bodies[i], testkit.Core) {
			t.Fatalf("%s sends the secret", request)
		}
	}
	// A file with a masked path is there, is not sent again, and has not vanished.
	report, err = push(t, f.archive(), d)
	if err != nil || report.Unchanged != len(d) || report.Gone > 0 {
		t.Errorf("the second push: %+v, %v", report, err)
	}
}

// Of two files whose paths differ only in a secret, one is sent, and the other is named.
func TestPushOfMaskedNamesakes(t *testing.T) {
	other := strings.Replace(testkit.Secret, "0q1W", "9z8Y", 1)
	f := newFake(t)
	report, err := push(t, f.archive(), disk{"/s/" + testkit.Secret + "/a.jsonl": header + message(1, "one"), "/s/" + other + "/a.jsonl": header + message(1, "two")})
	if err != nil || report.Sessions != 1 || len(report.Failed) != 1 {
		t.Errorf("the push: %+v, %v", report, err)
	}
}

// Images and other data stay on the machine: nobody can search or mask them.
func TestPushLeavesDataOut(t *testing.T) {
	data := strings.Repeat("iVBORw0KGgo", 4000)
	d := disk{"/s/a.jsonl": header + `{"type":"message","id":"e1","message":{"role":"user","content":[{"type":"text","text":"look"},{"type":"image","mimeType":"image/png","data":"` + data + `"}]}}` + "\n"}
	f := newFake(t)
	if _, err := push(t, f.archive(), d); err != nil {
		t.Fatal(err)
	}
	if got := restored(t, f.archive())["/s/a.jsonl"]; !strings.Contains(got, "[44000 bytes of data left out]") || !strings.Contains(got, "look") {
		t.Errorf("got %s", got)
	}
}

// What the archive has of a file that was rewritten or cut off may be nowhere else: it is replaced only if
// that was asked for.
func TestPushReplacesOnlyIfAsked(t *testing.T) {
	f, d := newFake(t), disk{"/s/a.jsonl": header + message(1, "one") + message(2, "two"), "/s/b.jsonl": header + message(1, "other")}
	a := f.archive()
	if _, err := push(t, a, d); err != nil {
		t.Fatal(err)
	}
	had := restored(t, a)
	for name, text := range map[string]string{"rewritten": header + message(1, "ONE") + message(2, "two") + message(3, "three"), "cut off": header} {
		d["/s/a.jsonl"] = text
		report, err := push(t, a, d, func(p *Push) { p.Replace = false })
		if err != nil || report.NotReplaced != 1 || report.Rewritten != 0 || report.Sessions != 0 || report.Documents != 0 {
			t.Errorf("%s: %+v, %v", name, report, err)
		}
		if got := restored(t, a); got["/s/a.jsonl"] != had["/s/a.jsonl"] {
			t.Errorf("%s: the archive has\n%s, want\n%s", name, got["/s/a.jsonl"], had["/s/a.jsonl"])
		}
	}
	d["/s/c.jsonl"] = strings.Replace(header, "s1", "s3", 1)
	if report, err := push(t, a, d, func(p *Push) { p.Replace = false }); err != nil || report.Sessions != 1 || report.NotReplaced != 1 {
		t.Errorf("others are sent: %+v, %v", report, err)
	}
	if report, err := push(t, a, d, func(p *Push) { p.Replace, p.DryRun = false, true }); err != nil || report.NotReplaced != 1 {
		t.Errorf("counted: %+v, %v", report, err)
	}
}

// A file that grows is continued; one that is rewritten or cut off is sent again, and what was
// there of it is deleted; one that vanishes stays, and is marked.
func TestPushFollowsFiles(t *testing.T) {
	f, d := newFake(t), disk{"/s/a.jsonl": header + message(1, "one"), "/s/b.jsonl": header + message(1, "other")}
	a := f.archive()
	steps := []struct {
		change    func()
		documents int
		rewritten int
		gone      int
	}{
		{func() {}, 4, 0, 0},
		{func() { d["/s/a.jsonl"] += message(2, "two") }, 1, 0, 0},
		{func() { d["/s/a.jsonl"] = header + message(1, "ONE") + message(2, "two") + message(3, "three") }, 4, 1, 0},
		{func() { d["/s/a.jsonl"] = header }, 1, 1, 0},
		{func() { delete(d, "/s/b.jsonl") }, 0, 0, 1},
		{func() {}, 0, 0, 0},
	}
	last := ""
	for i, step := range steps {
		step.change()
		report, err := push(t, a, d)
		if err != nil || report.Documents != step.documents || report.Rewritten != step.rewritten || report.Gone != step.gone {
			t.Errorf("step %d: %+v, %v", i, report, err)
		}
		got := restored(t, a)
		if got["/s/a.jsonl"] != d["/s/a.jsonl"] {
			t.Errorf("step %d: the archive has\n%s, want\n%s", i, got["/s/a.jsonl"], d["/s/a.jsonl"])
		}
		last = got["/s/b.jsonl"]
	}
	if last == "" {
		t.Error("the vanished file is not in the archive")
	}
	if key := keyOf("laptop", "/s/a.jsonl"); len(f.find("pigrep", []byte(`{"query":{"term":{"file_key":"`+key+`"}}}`))) != 3 { // the header, the record and its outline
		t.Error("documents of earlier generations are left")
	}
}

// What the engine has no room for is sent again, as often as it takes, and nothing is claimed
// before.
func TestPushRetriesItems(t *testing.T) {
	f, d := newFake(t), oddFiles()
	a := f.archive()
	f.item = func(id string, try int) (int, string) {
		switch {
		case try < 4 && strings.HasSuffix(id, ":0"):
			return http.StatusTooManyRequests, "rejected_execution_exception"
		case try < 3:
			return http.StatusNotFound, "shard_not_found_exception"
		}
		return 0, ""
	}
	report, err := push(t, a, d)
	if err != nil || report.Retried == 0 || len(report.Refused) > 0 {
		t.Fatalf("%+v, %v", report, err)
	}
	if got := restored(t, a); got["/s/plain.jsonl"] != d["/s/plain.jsonl"] {
		t.Errorf("got %q", got["/s/plain.jsonl"])
	}
}

// What the engine will never take is named and counted, and the rest is sent.
func TestPushSetsAside(t *testing.T) {
	f, d := newFake(t), disk{"/s/a.jsonl": header + message(1, "one") + message(2, "two")}
	a := f.archive()
	bad := idOf(keyOf("laptop", "/s/a.jsonl"), int64(len(header)), 0)
	f.item = func(id string, _ int) (int, string) {
		if id == bad {
			return http.StatusBadRequest, "mapper_parsing_exception"
		}
		return 0, ""
	}
	report, err := push(t, a, d)
	if err != nil || len(report.Refused) != 1 || report.Refused[0].Document != bad || !strings.Contains(report.Refused[0].Reason, "mapper_parsing_exception: because") {
		t.Fatalf("%+v, %v", report, err)
	}
	s, err := a.Status(t.Context())
	if err != nil || s.Refused != 1 {
		t.Errorf("status %+v, %v", s, err)
	}
}

// A push that is killed after any batch goes on where it was, and loses and doubles nothing.
func TestPushGoesOnAfterKill(t *testing.T) {
	d := disk{"/s/a.jsonl": header}
	for i := range 200 {
		d["/s/a.jsonl"] += message(i+1, strings.Repeat(fmt.Sprint("word", i, " "), 4000))
	}
	f := newFake(t)
	a := f.archive()
	kills := 0
	for ; ; kills++ {
		ctx, kill := context.WithCancel(t.Context())
		seen := 0
		f.mu.Lock() // a request of the killed push may still be answered
		f.before = func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(f.bodies[len(f.bodies)-1], `"_index":"pigrep-sessions`) {
				if seen++; seen > 1 {
					kill()
				}
			}
			return false
		}
		f.mu.Unlock()
		registry := adapter.NewRegistry(adapter.Environment{}, agents.All()...)
		text := d["/s/a.jsonl"]
		_, err := a.Push(ctx, Push{Host: "laptop", Adapter: registry, Files: d, Now: time.Now, Sessions: []session.Summary{{Path: "/s/a.jsonl", Header: session.Header{Agent: "pi.sessions_jsonl.v1", ID: "s1"}, Checkpoint: session.Checkpoint{Stat: session.Stat{Size: int64(len(text))}}}}})
		kill()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) || kills > 100 {
			t.Fatal(err)
		}
	}
	f.mu.Lock()
	f.before = nil
	f.mu.Unlock()
	if kills == 0 {
		t.Error("no push was killed")
	}
	if got := restored(t, a)["/s/a.jsonl"]; got != d["/s/a.jsonl"] {
		t.Errorf("after %d kills the archive has %d bytes of %d", kills, len(got), len(d["/s/a.jsonl"]))
	}
	if n := len(f.indices["pigrep-v2-"+undated]); n != 203 { // with the record and its outline
		t.Errorf("%d documents", n)
	}
}

// Two machines with the same files and ids do not overwrite each other.
func TestPushFromTwoMachines(t *testing.T) {
	f, d := newFake(t), disk{"/s/a.jsonl": header + message(1, "one")}
	a := f.archive()
	for _, host := range []string{"laptop", "server"} {
		if _, err := push(t, a, d, func(p *Push) { p.Host = host }); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.indices["pigrep-v2-2026.03"]); n != 8 { // with two records and their outlines
		t.Errorf("%d documents, want 8", n)
	}
}

// A session that is forgotten leaves nothing, and a proof that finds something is an error.
func TestForget(t *testing.T) {
	f, d := newFake(t), disk{"/s/a.jsonl": header + message(1, "one"), "/s/b.jsonl": strings.Replace(header, "s1", "s2", 1) + message(1, "other")}
	a := f.archive()
	if _, err := push(t, a, d); err != nil {
		t.Fatal(err)
	}
	found, err := a.Matching(t.Context(), "s2", time.Time{})
	if err != nil || len(found) != 1 || found[0].Gone {
		t.Fatalf("%v, %v", found, err)
	}
	now := time.Unix(1800000000, 0)
	if err := a.Forget(t.Context(), found, "ann", now); err != nil {
		t.Fatal(err)
	}
	if got := restored(t, a); len(got) != 1 || got["/s/a.jsonl"] == "" {
		t.Errorf("left are %q", got)
	}
	f.before = func(w http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/_delete_by_query") {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{}`) // and deletes nothing
			return true
		}
		return false
	}
	if found, err = a.Matching(t.Context(), "s1", time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := a.Forget(t.Context(), found, "ann", now); err == nil || !strings.Contains(err.Error(), "4 documents in pigrep are left") {
		t.Errorf("the proof says %v", err)
	}
}

// A session of several files comes whole, whichever of them was asked for; that of another
// machine with the same id does not.
func TestSessionOfSeveralFiles(t *testing.T) {
	f := newFake(t)
	a := f.archive()
	d := disk{"/s/a.jsonl": header + message(1, "first"), "/s/b.jsonl": header + message(2, "second"), "/s/other.jsonl": strings.Replace(header, `"s1"`, `"s2"`, 1)}
	for _, host := range []string{"laptop", "desk"} {
		if _, err := push(t, a, d, func(p *Push) { p.Host = host }); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	_, err := a.Whole(t.Context(), remote.Named{Names: []string{"laptop:/s/a.jsonl"}}, func(s *remote.Session) error {
		got = append(got, s.Summary.Path)
		return nil
	})
	slices.Sort(got)
	if err != nil || !slices.Equal(got, []string{"laptop:/s/a.jsonl", "laptop:/s/b.jsonl"}) {
		t.Errorf("got %q, %v", got, err)
	}
}

// The clock of a machine may be wrong by a day: what is pushed, and what counts as pushed, does not
// depend on it.
func TestPushWithAnotherClock(t *testing.T) {
	f, d := newFake(t), oddFiles()
	a := f.archive()
	for i, skew := range []time.Duration{24 * time.Hour, -24 * time.Hour, 0} {
		report, err := push(t, a, d, func(p *Push) { p.Now = func() time.Time { return time.Unix(1800000000, 0).Add(skew) } })
		if err != nil || i > 0 && (report.Unchanged != len(d) || report.Documents > 0) {
			t.Errorf("%s: %+v, %v", skew, report, err)
		}
	}
}

// A push that only counts says what would be sent of which project, and which secrets are masked in it.
func TestDryRunSaysWhatWouldBeSent(t *testing.T) {
	const secret = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	f, d := newFake(t), disk{
		"/s/a.jsonl": header + message(1, "use "+secret+" and "+secret[:39]+"6"), "/s/b.jsonl": strings.Replace(header, "s1", "s2", 1) + message(1, "[redacted:github-token]"),
		"/s/c.jsonl": strings.NewReplacer("s1", "s3", "/home/dev/app", "/home/dev/lib").Replace(header) + message(1, strings.Repeat("long ", 500)),
	}
	report, err := push(t, f.archive(), d, func(p *Push) { p.DryRun = true })
	if err != nil || len(report.Projects) != 2 || report.Projects[0] != (Project{"/home/dev/lib", 1, int64(len(d["/s/c.jsonl"]))}) ||
		report.Projects[1] != (Project{"/home/dev/app", 2, int64(len(d["/s/a.jsonl"]) + len(d["/s/b.jsonl"]))}) {
		t.Errorf("%+v, %v", report, err)
	}
	if !maps.Equal(report.Masked, map[string]int{"github-token": 2}) {
		t.Errorf("masked are %v", report.Masked)
	}
}
