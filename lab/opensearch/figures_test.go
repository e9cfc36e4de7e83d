//go:build unix

package opensearch

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"pigrep/lab/corpus"
)

// EnvFigures is how many MB of made sessions TestFigures pushes and asks; without it there are no
// figures.
const EnvFigures = "PIGREP_FIGURES"

// asked are questions of people and agents; the last one finds little.
var asked = []string{"search timeout", "search connection refused", `search "exit code 1"`, "search getUserName", "search -n 0 --flat migration", "sessions", "sessions retry", "grep -c panic"}

const (
	rounds  = 3 // of pushes
	warming = 5 // of questions before they are measured: an engine that has just started takes several times as long
)

// TestFigures measures what docs/teams.md says of pushing and asking, on one node and on three.
func TestFigures(t *testing.T) {
	mb, _ := strconv.Atoi(os.Getenv(EnvFigures))
	if mb == 0 { // it takes half an hour and promises nothing
		t.Skipf("a measurement: $%s says how many MB", EnvFigures)
	}
	sessions := t.TempDir()
	stats, err := corpus.Generate(sessions, corpus.Options{Seed: 1, Bytes: int64(mb) << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%+v", stats)
	for _, nodes := range []int{1, 3} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			c := Start(t, nodes)
			node := c.Nodes[0].URL
			bodies := recorded(t, node, sessions)
			m := newMachine(t, sessions)
			m.must("index", "--session-dir", sessions)
			var took [3][]spent // by pigrep, and by a bare client with one and with two requests at once
			for i := range 3 * rounds {
				who := (i + i/3) % 3 // in another order each time: the engine gets faster, and other programs run too
				name := fmt.Sprintf("r%d", i)
				by := newMachine(t, sessions)
				by.setUp(node, "--prefix", name)
				do := func() { replay(t, node, name, bodies, who) }
				if who == 0 {
					by.must("index", "--session-dir", sessions)
					do = func() { by.push() }
				}
				took[who] = append(took[who], c.measure(by, do))
				if i > 0 { // the first one is asked
					request(t, http.MethodDelete, node+"/"+name+"-*", "")
				}
			}
			for i, ours := range took[0] {
				t.Logf("pushed %d MB in %s; a bare client in %s, two requests at once in %s", mb, ours, took[1][i], took[2][i])
			}
			ours, one, two := median(took[0]), median(took[1]), median(took[2])
			t.Logf("medians %s, %s, %s: %.2f and %.2f of its rate", ours, one, two, one.Seconds()/ours.Seconds(), two.Seconds()/ours.Seconds())
			m.must("remote", "add", "team", node, "--prefix", "r0")
			disk := func() float64 { return sizeOf(t, node, "r0-v2-*") / float64(mb<<20) }
			post(t, node+"/r0/_flush?force=true", "") // what no commit has is kept twice, even by a merge
			before := disk()
			post(t, node+"/r0/_forcemerge?max_num_segments=1", "")
			post(t, node+"/r0/_refresh", "")          // what was merged is on disk until nobody reads it,
			post(t, node+"/r0/_flush?force=true", "") // and no commit has it
			t.Logf("%.2f bytes on disk for each of a session, %.2f once merged", before, disk())
			for range warming {
				for _, line := range asked {
					m.run(append(strings.Fields(line), "--from", "team")...)
				}
			}
			for _, line := range asked {
				args := strings.Fields(line)
				there, here := c.times(m, append(args, "--from", "team")), c.times(m, append(args, "--session-dir", sessions))
				t.Logf("%-32s %s; here %s", line, there, here)
			}
		})
	}
}

// spent is how long something took, and the processor time of pigrep and of all nodes.
type spent struct{ wall, ours, engine time.Duration }

func (s spent) String() string {
	return fmt.Sprintf("%s (CPU %s, engine %s)", s.wall.Round(time.Millisecond), s.ours.Round(time.Millisecond), s.engine)
}

func median(list []spent) time.Duration {
	slices.SortFunc(list, func(a, b spent) int { return cmp.Compare(a.wall, b.wall) })
	return list[len(list)/2].wall
}

func (c *Cluster) measure(m *machine, do func()) spent {
	ours, engine, begin := m.cpu, c.cpu(), time.Now()
	do()
	return spent{time.Since(begin), m.cpu - ours, c.cpu() - engine}
}

// times runs a command ten times. It says how long half of them took at most, and the longest, and
// the processor time of one.
func (c *Cluster) times(m *machine, args []string) string {
	const runs = 10
	var list []time.Duration
	all := c.measure(m, func() {
		for range runs {
			begin := time.Now()
			m.run(args...)
			list = append(list, time.Since(begin).Round(time.Millisecond))
		}
	})
	slices.Sort(list)
	return fmt.Sprintf("p50 %s most %s CPU %s engine %s", list[runs/2], list[runs-1], (all.ours / runs).Round(time.Millisecond), all.engine/runs)
}

// cpu is the processor time of all nodes so far; 0 where /proc does not say it.
func (c *Cluster) cpu() (sum time.Duration) {
	for _, n := range c.Nodes {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", n.cmd.Process.Pid))
		if fields := strings.Fields(string(stat)); len(fields) > 14 {
			for _, ticks := range fields[13:15] {
				n, _ := strconv.Atoi(ticks)
				sum += time.Duration(n) * 10 * time.Millisecond
			}
		}
	}
	return sum
}

// recorded pushes through a proxy, and returns the bodies of _bulk and what they name their index.
func recorded(t *testing.T, node, sessions string) (bodies [][]byte) {
	to, err := url.Parse(node)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "_bulk") {
			body, _ := io.ReadAll(r.Body)
			bodies = append(bodies, body)
			r.Body = io.NopCloser(bytes.NewReader(body))
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	m := newMachine(t, sessions)
	m.setUp(s.URL, "--prefix", "recorded")
	m.push()
	return bodies
}

// replay sends bodies to the indices of another prefix, some requests at once. Documents only: an
// engine need not create indices by itself.
func replay(t *testing.T, node, prefix string, bodies [][]byte, together int) {
	made := make(map[string]bool)
	var sending errgroup.Group
	sending.SetLimit(together)
	for _, body := range bodies {
		body = bytes.ReplaceAll(body, []byte(`{"index":{"_index":"recorded-`), []byte(`{"index":{"_index":"`+prefix+`-`))
		for _, name := range indexNames.FindAllSubmatch(body, -1) {
			if index := string(name[1]); !made[index] && !strings.Contains(index, "-sessions-") {
				put(t, node+"/"+index, `{}`)
				made[index] = true
			}
		}
		sending.Go(func() error {
			if answer := post(t, node+"/_bulk", string(body)); !strings.Contains(answer, `"errors":false`) {
				return fmt.Errorf("%.300s", answer)
			}
			return nil
		})
	}
	if err := sending.Wait(); err != nil {
		t.Fatal(err)
	}
}

var indexNames = regexp.MustCompile(`(?m)^{"index":{"_index":"([^"]+)"`)

// sizeOf returns the bytes of indices, without their copies.
func sizeOf(t *testing.T, node, indices string) (sum float64) {
	for _, n := range strings.Fields(get(t, node+"/_cat/indices/"+indices+"?bytes=b&h=pri.store.size")) {
		size, _ := strconv.ParseFloat(n, 64)
		sum += size
	}
	return sum
}
