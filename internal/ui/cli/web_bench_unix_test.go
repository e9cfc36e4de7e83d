//go:build unix

package cli

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"pigrep/adapter/agents"
	"pigrep/internal/ui/web"
)

// BenchmarkWebTabs types queries into eight pages at once while a session is written, and
// says how long answers and facets take, and how much memory is in use before and after:
//
//	PIGREP_BENCH_SESSIONS=DIR PIGREP_BENCH_INDEX=DIR go test ./internal/ui/cli -run '^$' -bench WebTabs -benchtime 1x
//
// The index must be up to date. The session is a file in DIR that is deleted afterwards.
func BenchmarkWebTabs(b *testing.B) {
	const tabs, pause = 8, 200 * time.Millisecond // between keys
	o := &webOptions{}
	o.sessionDir, o.indexDir = []string{os.Getenv("PIGREP_BENCH_SESSIONS")}, os.Getenv("PIGREP_BENCH_INDEX")
	if o.indexDir == "" {
		b.Skip("PIGREP_BENCH_SESSIONS and PIGREP_BENCH_INDEX are not set")
	}
	a := &App{
		Getenv: os.Getenv, Environ: os.Environ, PID: os.Getpid(), Home: b.TempDir(), WorkDir: b.TempDir(), Now: time.Now,
		Zone: func() *time.Location { return time.UTC }, Agents: agents.All(),
	}
	p, err := o.locate(a)
	if err != nil {
		b.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	d := newWebBackend(b.Context(), a, o, p)
	defer d.index.Close()
	server := web.New(listener.Addr().String(), d.options(o))
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { _ = server.Serve(ctx, listener) })
	running.Go(func() { writeSlowly(b, ctx, filepath.Join(o.sessionDir[0], "web-bench.jsonl")) })
	w, err := http.Get(server.Address("/"))
	if err != nil {
		b.Fatal(err)
	}
	w.Body.Close()
	cookie := w.Cookies()[0]
	ask := func(text, part string) time.Duration {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener.Addr().String()+"/?"+url.Values{"q": {text}, "part": {part}}.Encode(), nil)
		if err != nil {
			b.Error(err)
			return 0
		}
		r.AddCookie(cookie)
		start := time.Now()
		w, err := http.DefaultClient.Do(r)
		if err != nil {
			b.Error(err)
			return 0
		}
		_, _ = io.Copy(io.Discard, w.Body)
		w.Body.Close()
		if w.StatusCode != http.StatusOK {
			b.Errorf("%q: %s", text, w.Status)
		}
		return time.Since(start)
	}
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse) / 1e6
	}
	ask("warm up", "answer")
	before := heap()
	var mu sync.Mutex
	took := make(map[string][]time.Duration)
	for b.Loop() {
		var typing sync.WaitGroup
		for tab := range tabs {
			typing.Go(func() {
				for n := range typedQueries {
					text := typedQueries[(n+tab)%len(typedQueries)]
					for i := range text {
						part := "answer"
						if i == len(text)-1 {
							part = "facets"
						}
						d := ask(text[:i+1], part)
						mu.Lock()
						took[part] = append(took[part], d)
						mu.Unlock()
						time.Sleep(pause) // as between two keys
					}
				}
			})
		}
		typing.Wait()
	}
	for part, list := range took {
		slices.Sort(list)
		b.ReportMetric(float64(list[len(list)/2].Microseconds())/1000, part+"-p50-ms")
		b.ReportMetric(float64(list[len(list)*95/100].Microseconds())/1000, part+"-p95-ms")
	}
	b.ReportMetric(before, "heap-before-MB")
	b.ReportMetric(heap(), "heap-after-MB")
}

// writeSlowly writes a session until the context ends, and deletes it.
func writeSlowly(b *testing.B, ctx context.Context, path string) {
	f, err := os.Create(path)
	if err != nil {
		b.Error(err)
		return
	}
	defer os.Remove(path)
	defer f.Close()
	fmt.Fprintln(f, `{"type":"session","version":3,"id":"web-bench","timestamp":"2026-03-01T10:00:00.000Z","cwd":"/p"}`)
	for i := 0; ctx.Err() == nil; i++ {
		fmt.Fprintf(f, `{"type":"message","id":"e%07d","parentId":null,"timestamp":"2026-03-01T10:00:00.000Z","message":{"role":"user","content":"connection timeout number %d"}}`+"\n", i, i)
		time.Sleep(100 * time.Millisecond) // as an agent writes
	}
}
