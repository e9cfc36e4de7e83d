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
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"pigrep/adapter/agents"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/location"
	"pigrep/ui/web"
)

// BenchmarkWebTabs types queries into eight pages at once while a session is written. As in
// the browser, each key aborts the previous key's request, and facets are requested when
// typing pauses. It reports the time from a key to its answer, the keys without an answer,
// the time of the facets, the CPU time of a key, and the memory in use:
//
//	PIGREP_BENCH_SESSIONS=DIR PIGREP_BENCH_INDEX=DIR go test ./ui/cli -run '^$' -bench WebTabs -benchtime 1x
//
// The index must be up to date. The session is a file in DIR that is deleted afterwards. With
// PIGREP_BENCH_TABS there are so many pages.
func BenchmarkWebTabs(b *testing.B) {
	const pause = 200 * time.Millisecond // between keys
	tabs := 8
	if n, err := strconv.Atoi(os.Getenv("PIGREP_BENCH_TABS")); err == nil {
		tabs = n
	}
	defer debug.SetGCPercent(debug.SetGCPercent(usualGarbage))
	o := &webOptions{}
	o.SessionDir, o.IndexDir = []string{os.Getenv("PIGREP_BENCH_SESSIONS")}, os.Getenv("PIGREP_BENCH_INDEX")
	if o.IndexDir == "" {
		b.Skip("PIGREP_BENCH_SESSIONS and PIGREP_BENCH_INDEX are not set")
	}
	a := &app.App{
		Process: app.Process{Getenv: os.Getenv, Environ: os.Environ, PID: os.Getpid(), Now: time.Now},
		User:    app.User{Home: b.TempDir(), WorkDir: b.TempDir(), Zone: func() *time.Location { return time.UTC }},
		Agents:  agents.All(),
	}
	p, err := location.Find(&o.Shared, a)
	if err != nil {
		b.Fatal(err)
	}
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	d := newWebBackend(b.Context(), p)
	defer d.index.Close()
	server := web.New(listener.Addr().String(), d.options(o))
	ctx, stop := context.WithCancel(b.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { _ = server.Serve(ctx, listener) })
	running.Go(func() { writeSlowly(b, ctx, filepath.Join(o.SessionDir[0], "web-bench.jsonl")) })
	w, err := http.Get(server.Address("/"))
	if err != nil {
		b.Fatal(err)
	}
	w.Body.Close()
	cookie := w.Cookies()[0]
	ask := func(ctx context.Context, c *http.Client, text, part string) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+listener.Addr().String()+"/?"+url.Values{"q": {text}, "part": {part}}.Encode(), nil)
		if err != nil {
			return err
		}
		r.AddCookie(cookie)
		w, err := c.Do(r)
		if err != nil {
			return err
		}
		defer w.Body.Close()
		if w.StatusCode != http.StatusOK {
			return fmt.Errorf("%q: %s", text, w.Status)
		}
		_, err = io.Copy(io.Discard, w.Body)
		return err
	}
	heap := func() float64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return float64(m.HeapInuse) / 1e6
	}
	for _, part := range []string{"answer", "facets"} {
		if err := ask(ctx, http.DefaultClient, "warm up", part); err != nil {
			b.Fatal(err)
		}
	}
	before, used := heap(), cpuTime(b)
	var mu sync.Mutex
	took := make(map[string][]time.Duration)
	keys := 0
	for b.Loop() {
		var typing sync.WaitGroup
		for tab := range tabs {
			typing.Go(func() {
				c := &http.Client{Transport: &http.Transport{}}
				defer c.CloseIdleConnections()
				answered := func(ctx context.Context, text, part string) bool {
					start := time.Now()
					err := ask(ctx, c, text, part)
					d := time.Since(start)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err == nil:
						took[part] = append(took[part], d)
					case ctx.Err() == nil:
						b.Error(err)
					}
					return err == nil
				}
				for n := range typedQueries {
					text := typedQueries[(n+tab)%len(typedQueries)]
					for i := range text {
						last := i == len(text)-1
						next := time.Now().Add(pause)
						ctx, abort := context.WithDeadline(ctx, next)
						if last {
							ctx, abort = context.WithCancel(ctx)
						}
						if answered(ctx, text[:i+1], "answer") && last {
							time.Sleep(pause) // as the page does
							answered(ctx, text, "facets")
						}
						abort()
						time.Sleep(time.Until(next)) // as a user types, at a steady pace
						mu.Lock()
						keys++
						mu.Unlock()
					}
				}
			})
		}
		typing.Wait()
	}
	b.ReportMetric(float64((cpuTime(b)-used).Microseconds())/1000/float64(keys), "cpu-ms/key")
	b.ReportMetric(float64(keys), "keys")
	b.ReportMetric(float64(keys-len(took["answer"])), "unanswered")
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
