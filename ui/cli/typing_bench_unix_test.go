//go:build unix

package cli

import (
	"os"
	"slices"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"pigrep/adapter/agents"
	"pigrep/ui/cli/app"
	"pigrep/ui/cli/location"
	"pigrep/ui/tui"
)

// typedQueries are typed key by key.
var typedQueries = []string{
	"connection timeout", "docker compose build failed", "enumerable", "src/auth/login.ts", "kind:call rm -rf", "\"exit code\" error", "getUserName",
	"why does the test fail", "checkerboard localname",
}

// BenchmarkTyping types queries into the interface over an index that is there,
// and says how long after a key its answer is on the screen:
//
//	PIGREP_BENCH_SESSIONS=DIR PIGREP_BENCH_INDEX=DIR go test ./ui/cli -run '^$' -bench Typing -benchtime 1x
//
// The index must be up to date. Beside the time there is the CPU time, which on
// a busy machine says more.
func BenchmarkTyping(b *testing.B) {
	o := &tuiOptions{}
	o.SessionDir, o.IndexDir = []string{os.Getenv("PIGREP_BENCH_SESSIONS")}, os.Getenv("PIGREP_BENCH_INDEX")
	if o.IndexDir == "" {
		b.Skip("PIGREP_BENCH_SESSIONS and PIGREP_BENCH_INDEX are not set")
	}
	a := &app.App{
		Process: app.Process{Getenv: os.Getenv, Environ: os.Environ, PID: os.Getpid(), Now: time.Now},
		User:    app.User{Home: b.TempDir(), WorkDir: b.TempDir()},
		Agents:  agents.All(),
	}
	p, err := location.Find(&o.Shared, a)
	if err != nil {
		b.Fatal(err)
	}
	d := newTUIBackend(b.Context(), o, p)
	defer d.index.Close()
	var wall, cpu, echo []time.Duration
	for b.Loop() {
		m := tui.New(b.Context(), tui.Options{Backend: d.functions(), Now: a.Now})
		settle(m, m.Init())
		_, cmd := m.Update(tea.WindowSizeMsg{Width: 120, Height: 40})
		settle(m, cmd) // more sessions, to fill the screen
		for _, text := range typedQueries {
			for i, r := range text {
				start, used := time.Now(), cpuTime(b)
				_, cmd := m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
				m.View()
				echo = append(echo, time.Since(start))
				if cmd == nil { // a space asks for nothing new
					continue
				}
				_, next := m.Update(cmd()) // the search
				m.View()
				wall, cpu = append(wall, time.Since(start)), append(cpu, cpuTime(b)-used)
				if testing.Verbose() {
					b.Logf("%-30q %v CPU", text[:i+len(string(r))], cpu[len(cpu)-1])
				}
				settle(m, next) // the preview
			}
			_, cmd := m.Update(tea.KeyPressMsg{Code: tea.KeyEscape})
			settle(m, cmd)
		}
	}
	for _, x := range []struct {
		name  string
		times []time.Duration
	}{{"answer", wall}, {"answer-cpu", cpu}, {"echo", echo}} {
		slices.Sort(x.times)
		at := func(share int) float64 { return float64(x.times[(len(x.times)-1)*share/100].Microseconds()) / 1000 }
		b.ReportMetric(at(50), x.name+"-p50-ms")
		b.ReportMetric(at(95), x.name+"-p95-ms")
		b.ReportMetric(at(100), x.name+"-max-ms")
	}
}

func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
