package opensearch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"pigrep/query/grep"
	"pigrep/remote"
)

// Whoever may push can write any document. One that this package would not write is no session, and
// what it says goes into no request.
func TestForgedStates(t *testing.T) {
	f := newFake(t)
	a := f.archive()
	if _, err := push(t, a, disk{"/s/a.jsonl": header + message(1, "word")}); err != nil {
		t.Fatal(err)
	}
	states := f.indices[a.sessionsIndex("")]
	good := states[keyOf("laptop", "/s/a.jsonl")].source
	for i, change := range []map[string]any{
		{"offset": -1}, {"lines": -1}, {"lines": 1 << 40}, {"gen": 0}, {"month": "2026.03/_close?"}, {"month": ""}, {"file_key": "x&routing=y"}, {"path": "/s/b.jsonl"},
		{"host": ""}, {"host": "/home/dev"}, {"host": "C"}, {"host": "laptop:/s"},
	} {
		forged := make(map[string]any)
		for _, of := range []map[string]any{good, change} {
			for k, v := range of {
				forged[k] = v
			}
		}
		if host, ok := change["host"]; ok {
			forged["file_key"] = keyOf(host.(string), "/s/a.jsonl")
		}
		states[fmt.Sprint("forged", i)] = fakeDocument{source: forged}
	}
	f.requests = nil
	for _, q := range []Question{{}, {Text: "word", Wanted: 5}, {Brief: true}, {Facts: true}} {
		want := len(states) - 2 // beside the good one and the line about the push
		if q.Text != "" {       // who say that they are other files of the same session
			want = 5
		}
		if _, c, err := ask(t.Context(), a, q); err != nil || c.Sent != 1 || c.Damaged != want {
			t.Errorf("%+v: %+v, %v", q, c, err)
		}
	}
	for _, r := range f.requests {
		if strings.Contains(r, "_close") || strings.Contains(r, "routing=y") {
			t.Error(r)
		}
	}
}

// A state that something else has overwritten hides a session, and every answer says so until the next
// push writes it again.
func TestOverwrittenState(t *testing.T) {
	f := newFake(t)
	a := f.archive()
	d := disk{"/s/a.jsonl": header + message(1, "word")}
	if _, err := push(t, a, d); err != nil {
		t.Fatal(err)
	}
	key := keyOf("laptop", "/s/a.jsonl")
	expect := func(want remote.Coverage) {
		t.Helper()
		if _, c, err := ask(t.Context(), a, Question{Text: "word", Wanted: 5}); err != nil || c != want {
			t.Errorf("%+v, want %+v, %v", c, want, err)
		}
	}
	for field, value := range map[string]any{"facts": "none", "lines": "many", "file_key": "other", "path": []string{"/s"}} {
		f.indices[a.sessionsIndex("")][key].source[field] = value
		expect(remote.Coverage{Damaged: 1})
		if s, err := a.Status(t.Context()); err != nil || len(s.Damaged) != 1 || s.Damaged[0] != key || s.Sessions != 0 {
			t.Errorf("%s: status %+v, %v", field, s, err)
		}
		if report, err := push(t, a, d); err != nil || report.Damaged != 1 || report.Sessions != 1 {
			t.Errorf("%s: push %+v, %v", field, report, err)
		}
		expect(remote.Coverage{Sessions: 1, Sent: 1})
	}
}

// A line of another form spoils no other, and an answer says that it is missing.
func TestForgedLine(t *testing.T) {
	f := newFake(t)
	a := f.archive()
	if _, err := push(t, a, disk{"/s/a.jsonl": header + message(1, "word") + message(2, "word"), "/s/b.jsonl": header + message(1, "word")}); err != nil {
		t.Fatal(err)
	}
	documents := f.indices[a.monthly("2026.03")]
	key := keyOf("laptop", "/s/a.jsonl")
	documents[idOf(key, int64(len(header)), 0)].source["raw"] = 5
	for _, whole := range []bool{false, true} {
		lines := 0
		list, c, err := ask(t.Context(), a, Question{Text: "word", Wanted: 5})
		for _, s := range list {
			lines += len(s.lines) + strings.Count(string(s.text), "word")
		}
		if err != nil || c.Sent != 2 || c.Damaged != 1 || lines != 2 {
			t.Errorf("whole %t: %d lines, %+v, %v", whole, lines, c, err)
		}
		for _, id := range []string{recordID(key), outlineID(key)} {
			documents[id].source["record"] = 5
		} // then all of the file is read
	}
}

// A record that is small only while it is compressed does not take more memory than an answer may.
func TestForgedRecord(t *testing.T) {
	f := newFake(t)
	a := f.archive()
	d := make(disk)
	for i := range 40 {
		d[fmt.Sprintf("/s/%d.jsonl", i)] = strings.Replace(header, "s1", fmt.Sprint("s", i), 1) + message(1, "word")
	}
	if _, err := push(t, a, d); err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := z.EncodeAll(make([]byte, 8<<20), nil)
	for id, document := range f.indices[a.monthly("2026.03")] {
		if strings.HasSuffix(id, ":record") || strings.HasSuffix(id, ":outline") {
			document.source["record"] = bomb
		}
	}
	for _, q := range []Question{{Text: "word", Wanted: 100}, {Text: "word"}, {Facts: true}} {
		f.requests = nil
		if _, c, err := ask(t.Context(), a, q); !errors.Is(err, remote.ErrDamaged) || len(f.requests) > len(d)/2 {
			t.Errorf("%+v: %+v after %d requests, %v", q, c, len(f.requests), err)
		}
	}
}

// An answer of very many small values takes much more memory than its text: it is refused unread.
// So is one that is nested deeper than any of the engine's.
func TestHugeAnswers(t *testing.T) {
	for _, text := range []string{
		`{"index_templates":[{}` + strings.Repeat(`,{}`, mostMemory/24/2) + `]}`, `{"Index_Templates":[` + strings.Repeat(`{},`, mostMemory/24/2) + `{}]}`,
		strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), `{"x":"` + strings.Repeat("x", mostAnswer) + `"}`,
	} {
		a := answering(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, text)
		})
		if err := a.check(t.Context()); !errors.Is(err, ErrNotEngine) {
			t.Errorf("%.30s: %v", text, err)
		}
	}
}

// However an engine stops talking, the question ends in time: before its answer, in the middle of it,
// with bytes that come one by one, and with one that is to be asked again and again.
func TestSilentEngines(t *testing.T) {
	hang := func(r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // without it nobody notices that the client is gone
		<-r.Context().Done()
	}
	for name, serve := range map[string]func(http.ResponseWriter, *http.Request){
		"silent": func(_ http.ResponseWriter, r *http.Request) { hang(r) },
		"stuck": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"index_templates":[`)
			w.(http.Flusher).Flush()
			hang(r)
		},
		"drip": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.Copy(io.Discard, r.Body)
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, " "); err != nil {
					return
				}
				w.(http.Flusher).Flush()
			}
		},
		"busy": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
	} {
		t.Run(name, func(t *testing.T) {
			a := answering(t, serve)
			a.config.Wait, a.pause = 50*time.Millisecond, time.Hour
			_, _, err := ask(t.Context(), a, Question{Text: "x", Wanted: 1})
			if !errors.Is(err, ErrSilent) && !errors.Is(err, ErrNotEngine) || !strings.HasPrefix(err.Error(), "archive team: ") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// The wait holds for all requests up to the first part of an answer together.
func TestSlowEngine(t *testing.T) {
	f := newFake(t)
	a := f.archive()
	if _, err := push(t, a, disk{"/s/a.jsonl": header + message(1, "word")}); err != nil {
		t.Fatal(err)
	}
	a.config.Wait = 300 * time.Millisecond
	f.before = func(http.ResponseWriter, *http.Request) bool {
		<-time.After(a.config.Wait / 2)
		return false
	}
	question := func() error {
		_, _, err := ask(t.Context(), a, Question{Text: "word", Wanted: 1})
		return err
	}
	if err := question(); !errors.Is(err, ErrSilent) || err.Error() != "archive team: no answer in 300ms" {
		t.Errorf("got %v", err)
	}
	f.mu.Lock()
	a.config.Wait, f.before = time.Minute, nil
	f.mu.Unlock()
	if err := question(); err != nil {
		t.Error(err)
	}
}

// However many parts of an answer come, it ends.
func TestEndlessParts(t *testing.T) {
	a := &Archive{config: Config{Name: "team", Wait: time.Millisecond}}
	ctx, stop, err := a.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for ctx.Err() == nil {
		progress(ctx)
	}
	if err := context.Cause(ctx); !errors.Is(err, ErrSilent) || !strings.HasPrefix(err.Error(), "archive team: no answer") {
		t.Errorf("got %v", err)
	}
}

// An engine that repeats its pages, or makes up new ones for ever, is asked for some of them.
func TestEndlessPages(t *testing.T) {
	for name, last := range map[string]func(request int) string{
		"one page":  func(int) string { return "1" },
		"two pages": func(n int) string { return fmt.Sprint(n % 2) },
		"endless":   func(n int) string { return fmt.Sprint(n) },
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			a := answering(t, func(w http.ResponseWriter, _ *http.Request) {
				requests++
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"hits":{"hits":[{"sort":[%s]}]},"aggregations":{"files":{"after_key":{"file":"x"},"buckets":[%s{"key":{"file":"%010s"}}]}}}`, last(requests), strings.Repeat(`{"key":{"file":"a"}},`, pageSize-1), last(requests))
			})
			err := pages(t.Context(), a, "x", "", object{"size": 1}, func(*hit[struct{}]) error { return nil })
			if !errors.Is(err, ErrNotEngine) || requests > mostPages+1 {
				t.Errorf("%d requests, %v", requests, err)
			}
			requests = 0
			if _, err := a.files(t.Context(), object{}); !errors.Is(err, ErrNotEngine) || requests > 3 {
				t.Errorf("files: %d requests, %v", requests, err)
			}
		})
	}
}

// An address is not taken if it has what may be a password, which no message repeats.
func TestAddresses(t *testing.T) {
	for _, address := range []string{"http://me:geheim@127.0.0.1/", "http://127.0.0.1/?pw=geheim", "http://127.0.0.1/#geheim", "http://127.0.0.1/?pw=geheim#x", "http://me:geheim@/", "ftp://127.0.0.1/?geheim"} {
		if _, err := Open(Config{Name: "team", URL: address}); err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// What several goroutines ask for at the same time is one request, and each gets its own.
func TestReadsTogether(t *testing.T) {
	f := newFake(t)
	a := f.archive()
	d := make(disk)
	for i := range 20 {
		d[fmt.Sprintf("/s/%d.jsonl", i)] = strings.Replace(header, "s1", fmt.Sprint("s", i), 1) + message(1, fmt.Sprint("word", i)) + message(2, fmt.Sprint("other", i))
	}
	if _, err := push(t, a, d); err != nil {
		t.Fatal(err)
	}
	parts, err := a.Divide(t.Context(), &Question{Text: "word"})
	if err != nil {
		t.Fatal(err)
	}
	part := parts[0]
	sent, err := part.fetch(t.Context())
	if err != nil || len(sent.list) != len(d) {
		t.Fatalf("%+v, %v", sent, err)
	}
	sessions := sent.list
	first, all := make(chan bool), make(chan bool)
	requests := 0
	f.mu.Lock()
	f.before = func(http.ResponseWriter, *http.Request) bool {
		if requests++; requests == 1 { // it waits until all have asked
			close(first)
			<-all
		}
		return false
	}
	f.mu.Unlock()
	var asked sync.WaitGroup
	for i, s := range sessions {
		if i == 1 {
			<-first
		}
		asked.Go(func() {
			lines, err := part.line(t.Context(), s, 3)
			if err != nil || len(lines) != 1 || string(lines[0].Data) != strings.Split(d[s.Path], "\n")[2] {
				t.Errorf("%s: %+v, %v", s.Path, lines, err)
			}
		})
	}
	waiting := func() int {
		part.mu.Lock()
		defer part.mu.Unlock()
		if part.next == nil {
			return 0
		}
		return len(part.next.of)
	}
	for waiting() < len(sessions)-1 {
		runtime.Gosched()
	}
	close(all)
	asked.Wait()
	if requests != 2 {
		t.Errorf("%d requests for %d sessions", requests, len(sessions))
	}
}

// A question for all lines looks for their files once, and reads these in parts, in the order of their paths.
func TestAllLines(t *testing.T) {
	f := newFake(t)
	a := f.archive()
	d := make(disk)
	for i := range filesOfAll + 20 {
		d[fmt.Sprintf("/s/%d.jsonl", i)] = strings.Replace(header, "s1", fmt.Sprint("s", i), 1) + message(1, "word") + message(2, "word")
	}
	if _, err := push(t, a, d); err != nil {
		t.Fatal(err)
	}
	f.requests = nil
	parts, err := a.Divide(t.Context(), &Question{Text: "word", Order: grep.OrderPath})
	if err != nil || len(parts) != 2 {
		t.Fatalf("%d parts, %v", len(parts), err)
	}
	last := ""
	for i, p := range parts {
		s, err := p.fetch(t.Context())
		if err != nil || len(s.list) != []int{filesOfAll, 20}[i] {
			t.Fatalf("part %d: %d files, %v", i, len(s.list), err)
		}
		for _, c := range s.list {
			if len(c.lines) != 2 || c.Path <= last {
				t.Errorf("%s after %s: %d lines", c.Path, last, len(c.lines))
			}
			last = c.Path
		}
	}
	looked := 0
	for _, r := range f.requests {
		if strings.HasPrefix(r, "POST /pigrep,") {
			looked++
		}
	}
	if looked != 1 {
		t.Errorf("%d requests for files", looked)
	}
}
